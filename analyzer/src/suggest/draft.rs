//! Writes the draft of an overlay.

use super::calls::{Calls, Shape};
use super::reasoning::Reasoning;

/// A draft: the passages as comments, then the keys, each with its reason.
pub(super) fn overlay(file: &str, calls: Option<&Calls>, reasoning: Option<&Reasoning>) -> String {
    let mut draft = Draft(String::new());
    draft.comment(&format!("A draft for {file}, which `unjinja analyze --suggest` read from the text of the prompt."));
    draft.comment(
        "No render confirms it: compare it with real outputs of the model before you use it. The prompt says:",
    );
    for quote in calls.map(|calls| &calls.quote).into_iter().chain(reasoning.map(|reasoning| &reasoning.quote)) {
        draft.comment("");
        quote.lines().for_each(|line| draft.comment(&format!("  {line}")));
    }
    draft.line("");
    if calls.is_some() {
        draft.key("status", "\"supported\"", "What was missing is described below.");
        draft.table("capabilities");
        draft.key("tool_calls", "true", "The prompt tells the model to call tools.");
        let several = calls.is_some_and(|calls| matches!(calls.shape, Shape::List { .. } | Shape::Python));
        if several {
            draft.key("parallel_tool_calls", "true", "The calls are the items of a list.");
        }
    }
    if let Some(reasoning) = reasoning {
        draft.table("reasoning");
        draft.key("mode", "\"tag_based\"", "The prompt tells the model to reason first.");
        draft.text("start", &reasoning.start, "Before the reasoning, as in the passage above.");
        draft.text("end", &reasoning.end, "After the reasoning, as in the passage above.");
    }
    if let Some(calls) = calls {
        tools(&mut draft, calls);
    }
    draft.0
}

fn tools(draft: &mut Draft, calls: &Calls) {
    let (before, after) = ("Before a call in the example.", "After a call in the example.");
    draft.table("tools");
    match &calls.shape {
        Shape::Object { name, arguments } => {
            draft.key("format", "\"json_native\"", "The example is one object with the name and the arguments.");
            draft.text("per_call_start", &calls.start, before);
            draft.text("per_call_end", &calls.end, after);
            draft.text("name_field", name, "The key of the name in the example.");
            draft.text("args_field", arguments, "The key of the arguments in the example.");
        }
        Shape::List { name, arguments, is_shown } => {
            draft.key("format", "\"json_native\"", "The prompt asks for a list of objects.");
            draft.text("section_start", &calls.start, "Before the list.");
            draft.text("section_end", &calls.end, "After the list.");
            let why =
                if *is_shown { "As in the example." } else { "The prompt does not say it; this is the usual key." };
            draft.text("name_field", name, why);
            draft.text("args_field", arguments, why);
            draft.key("tools_array_wrapped", "true", "The calls are the items of a list.");
        }
        Shape::Python => {
            draft.key("format", "\"call_expression\"", "The example is a Python call.");
            draft.text("section_start", &calls.start, "Before the calls in the example.");
            draft.text("section_end", &calls.end, "After the calls in the example.");
            draft.text("separator", ", ", "Between two calls, as in Python.");
            draft.table("tools.function");
            draft.text("name_suffix", "(", "As in Python.");
            draft.text("close", ")", "As in Python.");
            draft.table("tools.arguments");
            draft.text("name_suffix", "=", "As in Python.");
            draft.text("separator", ", ", "As in Python.");
        }
        Shape::Tagged(tagged) => {
            draft.key("format", "\"tag_with_tagged\"", "The example has a tag for each argument.");
            draft.text("per_call_start", &calls.start, before);
            draft.text("per_call_end", &calls.end, after);
            draft.table("tools.function");
            draft.text("name_prefix", &tagged.name_prefix, "Before the name in the example.");
            draft.text("name_suffix", &tagged.name_suffix, "After the name in the example.");
            draft.text("close", &tagged.close, "After the arguments in the example.");
            draft.table("tools.arguments");
            draft.text("name_prefix", &tagged.key_prefix, "Before an argument's name in the example.");
            draft.text("name_suffix", &tagged.key_suffix, "After an argument's name in the example.");
            draft.text("value_prefix", &tagged.value_prefix, "Before an argument's value in the example.");
            draft.text("value_suffix", &tagged.value_suffix, "After an argument's value in the example.");
        }
    }
}

struct Draft(String);

impl Draft {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A comment on one line, in which characters that TOML forbids are escaped.
    fn comment(&mut self, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
        self.line(format!("# {text}").trim_end());
    }

    fn table(&mut self, name: &str) {
        self.line(&format!("\n[{name}]"));
    }

    fn key(&mut self, key: &str, value: &str, why: &str) {
        self.line(&format!("{key} = {value} # {why}"));
    }

    /// A key whose value is a text; nothing if it is empty.
    fn text(&mut self, key: &str, value: &str, why: &str) {
        if !value.is_empty() {
            // A JSON string is a TOML string, except for one character.
            let value = serde_json::Value::from(value).to_string().replace('\u{7F}', "\\u007F");
            self.key(key, &value, why);
        }
    }
}
