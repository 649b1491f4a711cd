//! A marker in the middle of a sentence: an answer that mentions how a call or reasoning is written must come back as it is.
//! Special tokens are left out, because no tokenizer writes one by chance.
//!
//! What follows decides in two cases, by rule: text that fits a call to its end is a call, wherever it is; and a tag that opens
//! reasoning opens it, unless a blank or punctuation follows. So the words here are words, and [`opens_reasoning`] knows the
//! second rule.

use unjinja::abi::{InText, is_mention, is_special_token};
use unjinja::testing::{Cut, Transcript};
use unjinja::{Options, Unparsed};
use unjinja_spec::{ContentMode, FormatSpec, MarkerText, REPEATED_NAME, StartsIn};

use crate::models::{self, Model};

/// What may be written directly after a marker. Names of functions and line breaks are nearest to a call.
pub const AFTER: [&str; 9] =
    ["", "x", "get_weather", " get_weather", "get_weather ", "get_weather\n", "\n", "all\n", ": "];

/// The markers of a spec, and the parts of them that a parser may search for, that hold no special token. Where a marker
/// repeats the function's name, it has the name of an offered function.
pub fn markers(spec: &FormatSpec) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, text) in spec.markers() {
        let parts = MarkerText::pieces(text).into_iter().map(|piece| piece.core);
        for part in parts.chain([text.trim()]).map(|part| part.replace(REPEATED_NAME, models::NAMES[0])) {
            let has_special = (0..part.len()).any(|at| is_special_token(&part.as_bytes()[at..]));
            if !part.is_empty() && !has_special && !found.contains(&part) {
                found.push(part);
            }
        }
    }
    found
}

/// Whether a sentence opens reasoning by rule: it has an opener that is not mentioned, because models think more than once in a
/// turn.
pub fn opens_reasoning(model: &Model, sentence: &str) -> bool {
    let markers = model.parser.program().states.iter().flat_map(|state| state.markers.list().iter());
    let mut cores = markers.filter(|marker| marker.in_text == InText::Unmentioned).map(|marker| &*marker.core);
    let used = |core: &str| {
        let mut places = sentence.match_indices(core);
        places.any(|(at, _)| sentence.as_bytes().get(at + core.len()).is_some_and(|next| !is_mention(*next)))
    };
    cores.any(used)
}

/// Checks that a sentence comes back from an answer that holds nothing else.
///
/// # Errors
/// What came back in its place.
pub fn check(model: &Model, sentence: &str, cut: &Cut) -> Result<(), String> {
    let (options, turn) = answer(model, sentence);
    for (how, read) in [
        ("compiled, whole", Transcript::of(model.parser, turn.as_bytes(), &Cut::Whole, &options)),
        ("compiled, cut", Transcript::of(model.parser, turn.as_bytes(), cut, &options)),
        ("interpreted, cut", Transcript::of(&model.interpreter, turn.as_bytes(), cut, &options)),
    ] {
        let message = read.message;
        let others = message.reasoning_content.len() + message.unparsed.len() + message.tool_calls.len();
        if message.content != sentence || others > 0 {
            let name = &model.spec.template.name;
            return Err(format!("{how}: {name} reads {turn:?} as {message:#?}"));
        }
    }
    Ok(())
}

/// The output of a model that only answers with this sentence, and how to read it.
fn answer(model: &Model, sentence: &str) -> (Options, String) {
    let spec = &model.spec;
    let options = Options::new().tools(&models::TOOLS).thinking(false).unparsed(Unparsed::Separate);
    let prompts = || spec.generation_prompt.iter().zip(&*model.parser.program().entries);
    let entry = [Some(false), None].into_iter().find_map(|on| prompts().find(|(prompt, _)| prompt.thinking == on));
    let entry = entry.or_else(|| prompts().next());
    let mut turn = String::new();
    if entry.is_some_and(|(prompt, _)| prompt.starts_in == StartsIn::Reasoning) {
        turn.push_str(&spec.reasoning.end);
    }
    let wrapped = spec.content.mode == ContentMode::AlwaysWrapped;
    let parts = if wrapped { [&*spec.content.start, sentence, &*spec.content.end] } else { ["", sentence, ""] };
    parts.into_iter().for_each(|part| turn.push_str(part));
    // The prompt may have begun a marker that the model completes.
    let read = entry.map_or("", |(_, entry)| &*entry.read);
    if let Some(rest) = turn.strip_prefix(read) {
        turn = rest.to_owned();
    }
    (options, turn)
}

/// Any bytes as the choice of a model, one of its markers, and the words around it.
///
/// # Errors
/// As [`check`].
pub fn any(input: &[u8]) -> Result<(), String> {
    let Some((&[number, marker, after, cut], words)) = input.split_first_chunk() else { return Ok(()) };
    let model = models::chosen(usize::from(number));
    let markers = markers(&model.spec);
    let Some(marker) = markers.get(usize::from(marker) % markers.len().max(1)) else { return Ok(()) };
    let after = AFTER[usize::from(after) % AFTER.len()];
    let (before, behind) = words.split_at(words.len() / 2);
    let sentence = format!("Write{} {marker}{after}{} there.", spelled(before), spelled(behind));
    if opens_reasoning(model, &sentence) {
        return Ok(());
    }
    check(model, &sentence, &Cut::Random { seed: cut.into() })
}

/// Words of the bytes: letters and blanks.
fn spelled(bytes: &[u8]) -> String {
    let letter = |byte: &u8| if byte % 32 < 26 { char::from(b'a' + byte % 32) } else { ' ' };
    let words: String = bytes.iter().map(letter).collect();
    words.split_whitespace().fold(String::new(), |text, word| text + " " + word)
}
