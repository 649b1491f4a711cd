//! The values that options take. `option` is the name of the option in the language, for errors.

use serde_json::Value;
use unjinja_dynamic::{CutCalls, Options, ToolChoice, Unparsed};
use unjinja_server::Finish;
use unjinja_server::openai::ReasoningName;

use crate::failure::Failure;

/// Where broken markup goes.
///
/// # Errors
///
/// The word is unknown.
pub fn unparsed(given: &str) -> Result<Unparsed, Failure> {
    match given {
        "content" => Ok(Unparsed::Content),
        "separate" => Ok(Unparsed::Separate),
        other => Err(unknown("unparsed", other, "use \"content\" or \"separate\"")),
    }
}

/// What becomes of calls that are cut off.
///
/// # Errors
///
/// The word is unknown.
pub fn cut_calls(option: &str, given: &str) -> Result<CutCalls, Failure> {
    CutCalls::named(given).ok_or_else(|| unknown(option, given, "use \"keep\", \"close\" or \"drop\""))
}

/// What `tool_choice` may be.
pub const TOOL_CHOICES: &str =
    "use \"auto\", \"required\", \"none\" or {\"type\": \"function\", \"function\": {\"name\": …}}";

/// OpenAI's `tool_choice`; `None` if the value is none of [`TOOL_CHOICES`].
pub fn tool_choice(given: &Value) -> Option<ToolChoice> {
    match given.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("required") => Some(ToolChoice::Required),
        Some("none") => Some(ToolChoice::None),
        Some(_) => None,
        None if given.is_null() => Some(ToolChoice::Auto),
        None => {
            let name = given.get("function").and_then(|function| function.get("name")).and_then(Value::as_str);
            name.map(|name| ToolChoice::Named(name.to_owned()))
        }
    }
}

/// The options of a parser for outputs with this choice.
pub fn callable(options: Options, choice: ToolChoice) -> Options {
    match choice {
        ToolChoice::None => options.callable::<String>([]),
        ToolChoice::Named(name) => options.callable([name]).demands_call(true),
        ToolChoice::Required => options.demands_call(true),
        ToolChoice::Auto => options,
    }
}

/// The name of the field for reasoning.
///
/// # Errors
///
/// The name is unknown.
pub fn reasoning_name(given: &str) -> Result<ReasoningName, Failure> {
    let names = [ReasoningName::ReasoningContent, ReasoningName::Reasoning];
    let known = names.into_iter().find(|known| known.field() == given);
    known.ok_or_else(|| unknown("reasoning", given, "use \"reasoning_content\" or \"reasoning\""))
}

/// The words of engines for an output that ended by itself.
const STOPS: [&str; 7] = ["stop", "eos", "eos_token", "end_turn", "tool_calls", "tool_use", "function_call"];

/// Why the output ended, in the words of an engine.
///
/// # Errors
///
/// The word is unknown, or says that the engine gave up.
pub fn finish(option: &str, given: &str) -> Result<Finish, Failure> {
    if Finish::is_failure(given) {
        let text = format!("{option}: {given:?} says that the engine gave up; tell the client of an error");
        return Err(Failure::request(text));
    }
    match Finish::from_reason(given) {
        Finish::Stop if !STOPS.contains(&given) => {
            Err(unknown(option, given, "use \"stop\", \"length\" or \"content_filter\""))
        }
        finish => Ok(finish),
    }
}

fn unknown(option: &str, given: &str, next: &str) -> Failure {
    Failure::request(format!("{option}: {given:?} is unknown; {next}"))
}
