//! Which calls a request allows: the flags `--tool-choice` and `--no-parallel`, and the field `tool_choice` of lines. A grammar lets a
//! model write no others; a parser takes others for broken markup.

use clap::Args;
use serde_json::Value;
use unjinja_grammar::ToolChoice;
use unjinja_runtime::Options;

/// The flags that say which calls a request allows.
#[derive(Args)]
pub(crate) struct ChoiceArgs {
    /// Which tools may be called: `auto` or `required` for all, `none`, or the name of one.
    #[arg(long, value_name = "CHOICE", default_value = "auto")]
    tool_choice: String,
    /// Allow at most one tool call.
    #[arg(long)]
    no_parallel: bool,
}

impl ChoiceArgs {
    /// What `--tool-choice` says.
    pub(crate) fn choice(&self) -> ToolChoice {
        choice(&self.tool_choice)
    }

    /// Whether there may be several calls.
    pub(crate) fn parallel(&self) -> bool {
        !self.no_parallel
    }
}

/// A choice that is one word: `auto`, `required`, `none`, or the name of a tool.
fn choice(text: &str) -> ToolChoice {
    match text {
        "auto" => ToolChoice::Auto,
        "required" => ToolChoice::Required,
        "none" => ToolChoice::None,
        name => ToolChoice::Named(name.to_owned()),
    }
}

/// The field `tool_choice` of a case, in one of OpenAI's forms.
pub(crate) fn of_line(line: &Value) -> Result<ToolChoice, String> {
    match line.get("tool_choice") {
        None | Some(Value::Null) => Ok(ToolChoice::Auto),
        Some(Value::String(text)) => Ok(choice(text)),
        Some(Value::Object(named)) => {
            let function = named.get("function").unwrap_or(&Value::Null);
            let name = function.get("name").or_else(|| named.get("name")).and_then(Value::as_str);
            Ok(ToolChoice::Named(name.ok_or("`tool_choice` names no function")?.to_owned()))
        }
        Some(other) => {
            Err(format!("`tool_choice` must be a string or an object that names a function, but is {other}"))
        }
    }
}

/// Options of a parser that take only the allowed calls for calls.
pub(crate) fn kept(options: Options, choice: ToolChoice) -> Options {
    match choice {
        ToolChoice::None => options.callable::<String>([]),
        ToolChoice::Named(name) => options.callable([name]).demands_call(true),
        ToolChoice::Required => options.demands_call(true),
        _ => options,
    }
}
