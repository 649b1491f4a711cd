//! Bytes that are not UTF-8, and cuts inside characters, in every part of a turn: the message is the same however the input
//! is cut, and a diagnostic says where bytes were replaced.

use crate::support::{Failure, own_cases, own_models, own_parser};
use unjinja::testing::{Cut, Transcript};
use unjinja::{DiagnosticKind, Options};
use unjinja_spec::REPEATED_NAME;

/// A complete character of four bytes, a truncated one, a lone byte, an overlong form, half of a surrogate pair.
const BYTES: [(&[u8], bool); 6] = [
    ("\u{1f980}".as_bytes(), true),
    (b"\xF0\x9F\xA6", false),
    (b"\xFF", false),
    (b"\xC0\xAF", false),
    (b"\xED\xA0\x80", false),
    ("e\u{301}\u{200d}".as_bytes(), true),
];

/// Found by fuzzing: when the input came in one piece, such an id was read up to the next brace, past the opener of another
/// call.
#[test]
fn a_call_behind_a_name_or_an_id_that_is_no_text_is_found_whatever_the_cut() -> Result<(), Failure> {
    let (mut tried, mut found) = (0, 0);
    for model in own_models()? {
        let (spec, name) = (&model.spec, &model.spec.template.name);
        let parser = own_parser(&spec.template.file)?;
        let (tools, id) = (&spec.tools, &spec.tools.call_id);
        let opener = [&*tools.section_start, &tools.per_call_start, &tools.function.name_prefix].concat();
        let call = [&opener, "now", &id.prefix, "a1", &id.suffix, &tools.function.name_suffix, &tools.arguments.start]
            .concat()
            .replace(REPEATED_NAME, "now")
            + "{}";
        let options = Options::new().generation_prompt(&spec.turn.assistant_start);
        for broken in ["na\u{FFFD}me", "now"] {
            let broken = [&opener, broken, &id.prefix, "call\u{FFFD}0"].concat();
            let text = [&*broken, &broken, "{", &call].concat();
            for lone in [b"\xFF".as_slice(), b"\xE2", b"\xF0\x9F", b"\xE2 "] {
                let text = replaced(&text, lone);
                let whole = Transcript::of(parser, &text, &Cut::Whole, &options);
                found += whole.message.tool_calls.len();
                let pieces = [1, 2, 3, 7].map(Cut::Chunks).into_iter().chain((0..text.len()).map(Cut::At));
                for cut in pieces {
                    tried += 1;
                    let other = Transcript::of(parser, &text, &cut, &options);
                    assert!(other == whole, "{name}, {cut}: {}: {other:?}, not {whole:?}", text.escape_ascii());
                }
            }
        }
    }
    assert!(tried > 5000 && found > 50, "{tried} texts, {found} calls: too few to show anything");
    Ok(())
}

/// A text with `bytes` wherever it has a replacement character.
fn replaced(text: &str, bytes: &[u8]) -> Vec<u8> {
    text.split('\u{FFFD}').map(str::as_bytes).collect::<Vec<_>>().join(bytes)
}

/// The same where a value is translated to JSON.
#[test]
fn no_byte_is_replaced_untold() -> Result<(), Failure> {
    let (mut tried, mut told) = (0, 0);
    for case in own_cases()? {
        let parser = own_parser(&case.template)?;
        for at in (0..case.output.len()).filter(|&at| case.output[at].is_ascii_alphanumeric()) {
            let mut text = case.output.clone();
            text[at] = 0xFF;
            let whole = Transcript::of(parser, &text, &Cut::Whole, &case.options);
            for cut in [Cut::Chunks(1), Cut::Chunks(4), Cut::At(at)] {
                let other = Transcript::of(parser, &text, &cut, &case.options);
                assert!(other == whole, "{}, {cut}: {}: {other:?}, not {whole:?}", case.id, text.escape_ascii());
            }
            let message = whole.message;
            let shown = format!("{:?}{:?}{:?}", message.content, message.reasoning_content, message.tool_calls);
            let kinds = [DiagnosticKind::InvalidUtf8, DiagnosticKind::MalformedArguments];
            let tells = message.diagnostics.iter().any(|told| kinds.contains(&told.kind));
            assert!(tells || !shown.contains('\u{FFFD}'), "{}: {}: {message:?}", case.id, text.escape_ascii());
            tried += 1;
            told += usize::from(tells);
        }
    }
    assert!(tried > 5000 && told > 2000, "{tried} texts, {told} diagnostics: too few to show anything");
    Ok(())
}

#[test]
fn bytes_that_are_no_characters_are_replaced_and_told_in_every_part() -> Result<(), Failure> {
    let mut tried = 0;
    for model in own_models()? {
        let (spec, name) = (&model.spec, &model.spec.template.name);
        let parser = own_parser(&spec.template.file)?;
        let tools = &spec.tools;
        let named = |marker: &str| marker.replace(REPEATED_NAME, "now");
        let (name_suffix, close) = (named(&tools.function.name_suffix), named(&tools.function.close));
        let call = [
            &tools.section_start,
            &tools.per_call_start,
            &tools.function.name_prefix,
            "now",
            &name_suffix,
            &tools.arguments.start,
            "{\"a\": \"b\"}",
            &tools.arguments.end,
            &close,
            &tools.per_call_end,
            &tools.section_end,
        ];
        let parts =
            [&[&spec.reasoning.start, "Hm.", &spec.reasoning.end, "Well."][..], &call, &[&spec.turn.end]].concat();
        let options = Options::new().generation_prompt(&spec.turn.assistant_start);
        for (bytes, is_text) in BYTES {
            for place in 0..=parts.len() {
                let (before, after) = parts.split_at(place);
                let text = [before.concat().as_bytes(), bytes, after.concat().as_bytes()].concat();
                let whole = Transcript::of(parser, &text, &Cut::Whole, &options);
                assert_eq!(whole.disorder(), None, "{name}: {}", text.escape_ascii());
                let told = whole.message.diagnostics.iter().any(|told| told.kind == DiagnosticKind::InvalidUtf8);
                assert!(!(told && is_text), "{name}: {}", text.escape_ascii());
                let shown = format!("{:?}", whole.message);
                assert!(is_text || told == shown.contains('\u{FFFD}'), "{name}: {}: {shown}", text.escape_ascii());
                let start = before.concat().len();
                let cuts = (start..=start + bytes.len()).map(Cut::At).chain([Cut::Chunks(1), Cut::Chunks(2)]);
                for cut in cuts {
                    tried += 1;
                    let other = Transcript::of(parser, &text, &cut, &options);
                    assert!(other == whole, "{name}, {cut}: {}: {other:?}, not {whole:?}", text.escape_ascii());
                }
            }
        }
    }
    assert!(tried > 5000, "{tried} texts are too few to show anything");
    Ok(())
}
