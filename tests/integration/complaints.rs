//! Problems that users of other parsers reported. Each is one test, over every template of ours that can render the case.

use std::fs;

use crate::support::{Failure, Model, own_models, own_parser, root};
use serde_json::{Value, json};
use unjinja::testing::{Case, Cut, Transcript, bytes_looked_at};
use unjinja::{ChatParser, Event, Message, Options, Tools};
use unjinja_analyzer::render_calls;
use unjinja_render::Template;
use unjinja_spec::{Effect, REPEATED_NAME, ReasoningMode, StartsIn, ToolFormat, diff};

/// A template of ours that renders tool calls.
struct Format {
    model: Model,
    template: Template,
    parser: &'static dyn ChatParser,
}

/// A call to be rendered: its name, and its arguments as JSON.
type Call<'c> = (&'c str, &'c str);

fn tools() -> Result<Tools, Failure> {
    Ok(Tools::from_json(&fs::read_to_string(root().join("tests/cases/tools.json"))?)?)
}

impl Format {
    fn all() -> Result<Vec<Self>, Failure> {
        let mut all = Vec::new();
        for model in own_models()?.into_iter().filter(|model| model.spec.tools.format != ToolFormat::None) {
            let info = &model.spec.template;
            let template =
                Template::parse(&info.file, &fs::read_to_string(root().join("templates").join(&info.file))?)?;
            all.push(Self { parser: own_parser(&info.file)?, template, model });
        }
        assert!(all.len() >= 20, "{} templates are too few to show anything", all.len());
        Ok(all)
    }

    fn name(&self) -> &str {
        &self.model.spec.template.name
    }

    /// The model's output for these calls, after [`prompt`](Self::prompt).
    fn write(&self, calls: &[Call<'_>]) -> Option<String> {
        let body = render_calls(&self.template, &self.model.spec, calls)?;
        let written = self.prompt().strip_prefix(&self.model.spec.turn.assistant_start)?;
        Some(body.strip_prefix(written).unwrap_or(&body).to_owned())
    }

    /// A prompt after which the answer begins.
    fn prompt(&self) -> &str {
        let prompts = &self.model.spec.generation_prompt;
        let prompt = prompts.iter().find(|prompt| prompt.starts_in != StartsIn::Reasoning);
        prompt.map_or(&self.model.spec.turn.assistant_start, |prompt| &prompt.text)
    }

    fn options(&self) -> Result<Options, Failure> {
        Ok(Options::new().tools(&tools()?).generation_prompt(self.prompt()))
    }

    /// Reads an output, cut at every place, and expects these calls and no text.
    fn expect(&self, output: &str, calls: &[Call<'_>]) -> Result<(), Failure> {
        let mut case =
            Case::new(output).name(format!("{}: {output:?}", self.name())).options(&self.options()?).lenient();
        for (name, arguments) in calls {
            case = case.call(*name, serde_json::from_str::<Value>(arguments)?);
        }
        Ok(case.check(self.parser).map(drop)?)
    }

    /// The markers between the parts of a call. One that repeats the function's name is there with each name.
    fn markers(&self) -> Vec<String> {
        let tools = &self.model.spec.tools;
        let all = [
            &tools.section_start,
            &tools.section_end,
            &tools.per_call_start,
            &tools.per_call_end,
            &tools.function.name_prefix,
            &tools.function.name_suffix,
            &tools.function.close,
            &tools.arguments.start,
            &tools.arguments.end,
            &tools.arguments.name_prefix,
            &tools.arguments.name_suffix,
            &tools.arguments.value_suffix,
            &self.model.spec.reasoning.start,
            &self.model.spec.reasoning.end,
        ];
        let long = all.into_iter().filter(|marker| marker.trim().len() > 2);
        let named = |marker: &String| match marker.contains(REPEATED_NAME) {
            true => ["get_weather", "now", "run"].iter().map(|name| marker.replace(REPEATED_NAME, name)).collect(),
            false => vec![marker.clone()],
        };
        long.flat_map(named).collect()
    }
}

/// Runs a check on every template and reports all failures at once.
fn each(check: impl Fn(&Format) -> Result<bool, Failure>, at_least: usize) -> Result<(), Failure> {
    let (mut tried, mut failures) = (0, Vec::new());
    for subject in Format::all()? {
        match check(&subject) {
            Ok(applies) => tried += usize::from(applies),
            Err(error) => failures.push(format!("{}: {error}", subject.name())),
        }
    }
    assert!(failures.is_empty(), "{} templates:\n{}", failures.len(), failures.join("\n"));
    assert!(tried >= at_least, "{tried} templates were tried: too few to show anything");
    Ok(())
}

const PARIS: Call<'_> = ("get_weather", r#"{"city": "Paris", "days": 2}"#);
const NOW: Call<'_> = ("now", "{}");

#[test]
fn a_closer_without_the_line_break_of_its_template_closes() -> Result<(), Failure> {
    let check = |subject: &Format| {
        let calls = [PARIS, NOW];
        let calls = if subject.model.spec.capabilities.parallel_tool_calls { &calls[..] } else { &calls[..1] };
        let Some(output) = subject.write(calls) else { return Ok(false) };
        subject.expect(&output, calls)?;
        let mut bare = output.clone();
        for marker in subject.markers() {
            let core = marker.trim();
            if marker != core {
                bare = bare.replace(&marker, core);
            }
        }
        subject.expect(&bare, calls)?;
        Ok(bare != output)
    };
    each(check, 8)
}

#[test]
fn a_change_of_markers_is_told_and_breaks() -> Result<(), Failure> {
    for model in own_models()? {
        let mut changed = model.spec.clone();
        if model.spec.tools.per_call_end.trim().is_empty() {
            continue;
        }
        changed.tools.per_call_end = "</another>".to_owned();
        let changes = diff(&model.spec, &changed);
        let told = changes.iter().any(|change| change.key == "tools.per_call_end");
        assert!(told && unjinja_spec::worst(&changes) == Some(Effect::Breaking), "{}", model.spec.template.name);
        assert!(diff(&model.spec, &model.spec).is_empty());
    }
    Ok(())
}

#[test]
fn arguments_come_in_any_order() -> Result<(), Failure> {
    // The schema lists `city` first and requires it.
    let calls = [("get_weather", r#"{"days": 2, "city": "Paris"}"#)];
    let check = |subject: &Format| {
        let Some(output) = subject.write(&calls) else { return Ok(false) };
        subject.expect(&output, &calls)?;
        let message = subject.parser.parse((&output).into(), &subject.options()?);
        let arguments = &message.tool_calls[0].arguments;
        // Where the template sorts them, they stay sorted.
        let is_unsorted = |text: &str| text.find("days") < text.find("city");
        assert_eq!(is_unsorted(arguments), is_unsorted(&output), "{output:?}: {arguments}");
        Ok(is_unsorted(&output))
    };
    each(check, 20)
}

#[test]
fn a_call_in_reasoning_that_nothing_closed_is_a_call_and_prose_about_one_is_none() -> Result<(), Failure> {
    let check = |subject: &Format| {
        let (spec, options) = (&subject.model.spec, subject.options()?);
        let opener = [&spec.tools.section_start, &spec.tools.per_call_start].into_iter().find(|m| !m.trim().is_empty());
        let (Some(opener), true) = (opener, spec.reasoning.mode != ReasoningMode::None && spec.reasoning.ended_by_call)
        else {
            return Ok(false);
        };
        let Some(call) = subject.write(&[PARIS]) else { return Ok(false) };
        // The prompt may have written the beginning of the opener.
        let begun = spec.generation_prompt.iter().find(|prompt| prompt.starts_in == StartsIn::Marker);
        let call = [begun.map_or("", |prompt| prompt.text.as_str()), &call].concat();
        // Without the empty reasoning block that a template may write first.
        let call = &call[call.find(opener.trim()).ok_or("no opener in the render")?..];
        let start = &spec.reasoning.start;
        let open = format!("{start}I look it up.\n{call}");
        let message = subject.parser.parse((&open).into(), &options);
        assert_eq!(message.tool_calls.len(), 1, "{open:?}: {message:?}");
        assert_eq!(message.reasoning_content.trim(), "I look it up.", "{open:?}");

        let prose = format!("First {}, then the name, then more.", opener.trim());
        let output = format!("{start}{prose}{}Done.", spec.reasoning.end);
        let message = subject.parser.parse((&output).into(), &options);
        assert!(message.tool_calls.is_empty(), "{output:?}: {message:?}");
        assert_eq!(message.reasoning_content.trim(), prose, "{output:?}");
        Ok(true)
    };
    each(check, 8)
}

#[test]
fn no_cut_loses_anything_and_two_calls_may_come_in_one_delta() -> Result<(), Failure> {
    let check = |subject: &Format| {
        let calls = [PARIS, NOW];
        let calls = if subject.model.spec.capabilities.parallel_tool_calls { &calls[..] } else { &calls[..1] };
        let Some(mut output) = subject.write(calls) else { return Ok(false) };
        if !subject.model.spec.content.after_calls && subject.model.spec.content.mode == Default::default() {
            output = format!("Ça va 😀 < [ {{\n{output}");
        }
        let options = subject.options()?;
        let subject: &dyn ChatParser = subject.parser;
        // In one delta.
        let whole = Transcript::of(subject, output.as_bytes(), &Cut::Whole, &options);
        assert_eq!(whole.message.tool_calls.len(), calls.len(), "{output:?}: {:?}", whole.message);
        let cuts = (1..output.len()).map(Cut::At).chain((0..200).map(|seed| Cut::Random { seed }));
        for cut in cuts {
            let other = Transcript::of(subject, output.as_bytes(), &cut, &options);
            assert!(other == whole, "{output:?}, {cut}: {other:?}, not {whole:?}");
        }
        Ok(true)
    };
    each(check, 20)
}

#[test]
fn arguments_stream_as_they_are_written_whatever_types_there_are() -> Result<(), Failure> {
    // The schema says that it is a string, although it looks like an array.
    for text in ["Once upon a time, in a far country. ".repeat(40), "[1, 22, 333, ".repeat(120)] {
        let arguments = json!({"limit": 2, "check": true, "code": text}).to_string();
        each(|format| streams(format, &text, &arguments), 20)?;
    }
    Ok(())
}

/// Whether a string argument with this text comes back unchanged; `false` if the template cannot write it.
fn streams(format: &Format, text: &str, arguments: &str) -> Result<bool, Failure> {
    let Some(output) = format.write(&[("run", arguments)]) else { return Ok(false) };
    let mut stream = format.parser.stream(&format.options()?);
    let begins = output.find(&text[..10]).ok_or("the text is not in the render")?;
    let (mut told, mut before, mut most) = (0_usize, 0, 0);
    for (at, piece) in output.as_bytes().chunks(1).enumerate() {
        stream.push_bytes(piece, &mut |event| {
            if let Event::ToolCallArguments { json, .. } = event {
                told += json.len();
            }
        });
        if (begins..begins + text.len()).contains(&at) {
            most = most.max((at - begins).saturating_sub(told - before));
        } else if at < begins {
            before = told;
        }
    }
    // The key, and a possible beginning of a marker.
    assert!(most < 100, "{}: {most} bytes of a string were held back", format.name());
    assert!(told > text.len(), "{}: only {told} bytes of arguments were reported", format.name());
    Ok(true)
}

#[test]
fn a_closing_tag_in_a_string_closes_nothing() -> Result<(), Failure> {
    let check = |subject: &Format| {
        let mut tried = 0;
        for marker in subject.markers() {
            let code = format!("print('{}') # and on", marker.trim());
            let arguments = json!({"code": code, "limit": 3}).to_string();
            let calls = [("run", arguments.as_str())];
            let Some(output) = subject.write(&calls) else { continue };
            subject.expect(&output, &calls)?;
            tried += 1;
        }
        Ok(tried > 0)
    };
    each(check, 20)
}

#[test]
fn an_opening_marker_in_prose_silences_nothing() -> Result<(), Failure> {
    let check = |subject: &Format| {
        let tools = &subject.model.spec.tools;
        let opener = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
        let Some(opener) = opener.into_iter().find(|marker| !marker.trim().is_empty()) else { return Ok(false) };
        let start = &subject.model.spec.content.start;
        let prose = format!("Write {opener} to call a tool. ") + &"And so on, and so on. ".repeat(100);
        let mut stream = subject.parser.stream(&subject.options()?);
        stream.push(start, &mut |_| {});
        let (mut told, mut most) = (0, 0);
        for (at, piece) in prose.as_bytes().chunks(1).enumerate() {
            stream.push_bytes(piece, &mut |event| match event {
                Event::Content(text) | Event::Reasoning(text) => told += text.len(),
                event => panic!("{event:?}"),
            });
            most = most.max((at + 1).saturating_sub(told));
        }
        assert!(most <= 256 + opener.len(), "{most} bytes were held back after {opener:?}");
        Ok(true)
    };
    each(check, 18)
}

#[test]
fn digits_stay_a_string_and_a_number_keeps_its_spelling() -> Result<(), Failure> {
    let check = |subject: &Format| {
        let calls = [("run", r#"{"code": "5123123", "limit": 1.5}"#)];
        let Some(output) = subject.write(&calls) else { return Ok(false) };
        subject.expect(&output, &calls)?;
        let spelled = output.replace("1.5", "1.50");
        let message = subject.parser.parse((&spelled).into(), &subject.options()?);
        let arguments = &message.tool_calls[0].arguments;
        assert!(arguments.contains("\"5123123\"") && arguments.contains("1.50"), "{spelled:?}: {arguments}");
        Ok(true)
    };
    each(check, 20)
}

#[test]
fn a_name_may_begin_with_another() -> Result<(), Failure> {
    let check = |subject: &Format| {
        for arguments in [r#"{"password_file": "a", "password": "b"}"#, r#"{"password": "b", "password_file": "a"}"#] {
            let calls = [("login", arguments)];
            let Some(output) = subject.write(&calls) else { return Ok(false) };
            subject.expect(&output, &calls)?;
        }
        Ok(true)
    };
    each(check, 20)
}

#[test]
fn no_probe_of_the_analysis_is_in_any_spec() -> Result<(), Failure> {
    let source = include_str!("../../analyzer/src/sentinels.rs");
    let table = source.split("SENTINELS: Sentinels = Sentinels {").nth(1).and_then(|rest| rest.split("};\n").next());
    let table = table.ok_or("the table of sentinels")?;
    let words: Vec<&str> = table.split('"').skip(1).step_by(2).flat_map(|text| text.split(' ')).collect();
    assert!(words.len() > 12, "{words:?}");
    for model in own_models()?.into_iter().chain(crate::support::models()?) {
        let spec = model.spec.to_toml();
        let leaked = words.iter().find(|word| spec.contains(word.trim_matches(|c: char| c.is_ascii_punctuation())));
        assert_eq!(leaked, None, "{}", model.spec.template.name);
    }
    Ok(())
}

#[test]
fn one_marker_before_a_list_and_bare_lists_are_read() -> Result<(), Failure> {
    let list = |key: &str| {
        format!(r#"[{{"name": "now", "{key}": {{}}}}, {{"name": "get_weather", "{key}": {{"city": "Paris"}}}}]"#)
    };
    for (name, output) in [
        ("qwen3", format!("<tool_call>\n{}", list("arguments"))),
        ("functools", format!("functools{}", list("arguments"))),
        ("bare_json", list("parameters")),
        ("array_in_tag", format!("<TOOLCALL>{}", list("arguments"))),
    ] {
        let all = Format::all()?;
        let subject = all.iter().find(|subject| subject.name() == name).ok_or("no such template")?;
        let case = Case::new(&output).tools(&tools()?).thinking(false).lenient();
        case.call("now", json!({})).call("get_weather", json!({"city": "Paris"})).run(subject.parser);
    }
    Ok(())
}

#[test]
fn other_openers_of_reasoning_open_it_and_a_label_is_none_of_it() -> Result<(), Failure> {
    let mut tried = 0;
    for model in own_models()?.into_iter().chain(crate::support::models()?) {
        let spec = &model.spec;
        let others = spec.alternatives.get(&unjinja_spec::MarkerKey::ReasoningStart).into_iter().flatten();
        for opener in others.chain([&spec.reasoning.start]).filter(|opener| !opener.trim().is_empty()) {
            // With its white space, and without.
            for opener in [opener.as_str(), opener.trim()] {
                // Without an end of its own, the answer ends it.
                let (end, next) = (&spec.reasoning.end, &spec.content.start);
                let output = format!("{opener}Hm.{}Done.", if end.trim().is_empty() { next } else { end });
                let options = Options::new().generation_prompt(&spec.turn.assistant_start);
                let message = unjinja::parse(model.parser.clone(), &output, &options);
                assert_eq!(message.reasoning_content.trim(), "Hm.", "{}: {output:?}: {message:?}", spec.template.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "{tried} openers are too few to show anything");
    Ok(())
}

#[test]
fn what_does_not_fit_is_passed_on() -> Result<(), Failure> {
    let check = |subject: &Format| {
        let Some(output) = subject.write(&[PARIS]) else { return Ok(false) };
        for (from, to) in [("Paris", "Pa\u{0}\"ris]]}}"), ("get_weather", "get weather{"), ("2", "%%2%%")] {
            let output = output.replace(from, to);
            let message = subject.parser.parse((&output).into(), &subject.options()?);
            let told = |text: &str| text.contains(to.trim_matches('%')) || text.contains("Pa");
            let found = told(&message.content)
                || told(&message.reasoning_content)
                || message.tool_calls.iter().any(|call| told(&call.arguments) || told(&call.name));
            assert!(found, "{output:?}: {message:?}");
        }
        Ok(true)
    };
    each(check, 20)
}

#[test]
fn nothing_is_read_again_for_each_token() -> Result<(), Failure> {
    let code = "if a < b { x = [1, 2]; } // and \"so\" on\n".repeat(1600);
    let arguments = json!({"code": code}).to_string();
    let check = |subject: &Format| {
        let Some(output) = subject.write(&[("run", &arguments)]) else { return Ok(false) };
        let mut message = Message::default();
        let mut stream = subject.parser.stream(&subject.options()?);
        for piece in output.as_bytes().chunks(4) {
            stream.push_bytes(piece, &mut |event| message.apply(&event));
        }
        stream.finish(&mut |event| message.apply(&event));
        assert_eq!(message.tool_calls.len(), 1);
        let ratio = bytes_looked_at(&*stream) as f64 / output.len() as f64;
        assert!((1.0..2.5).contains(&ratio), "every byte was looked at {ratio:.2} times");
        Ok(true)
    };
    each(check, 20)
}

#[test]
fn a_repeated_turn_start_in_brackets_is_no_content() -> Result<(), Failure> {
    let all = Format::all()?;
    let subject = all.iter().find(|subject| subject.name() == "python_dict").ok_or("no such template")?;
    let start = subject.parser.info().assistant_start.trim();
    assert!(start.starts_with('['), "{start}");
    Case::new(format!("{start}Rain.")).content("Rain.").run(subject.parser);
    Ok(())
}
