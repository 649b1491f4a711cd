//! What only a round trip finds: the template writes a call, the parser that the analysis made reads it, and the arguments
//! are compared. A simple call must come back first, so that a finding is due to the value.

use serde_json::{Value, json};
use unjinja_render::{FieldPart, Origin, SourcePosition, Span};
use unjinja_runtime::abi::is_special_token;

use super::advice::advice;
use super::conversation::{Conversation, words};
use super::difference::around;
use super::finding::Finding;
use super::rules;
use super::subject::Subject;

/// Runs the rules of this file.
pub(super) fn run(subject: &Subject, findings: &mut Vec<Finding>) {
    // Calls that are not written cannot be read back either.
    let explained = [rules::CALL_DROPPED, rules::EMPTY_ARGUMENTS];
    if !findings.iter().any(|finding| explained.contains(&finding.rule)) {
        findings.extend(not_read_back(subject));
    }
    if comes_back(subject, &json!({words::KEY: words::VALUE})) == Some(true) {
        findings.extend(value_changed(subject));
        findings.extend(value_can_end(subject));
    }
}

fn not_read_back(subject: &Subject) -> Option<Finding> {
    let gap = subject.gap.as_ref()?;
    let reason = if gap.reason.is_empty() { String::new() } else { format!(" ({})", gap.reason) };
    let message = format!(
        "The analysis does not understand everything that the template writes: {}{reason}. Parsers and grammars that are made \
         from the template lack this.",
        gap.sentence.trim_end_matches('.')
    );
    let help = "`unjinja explain` shows what was compared; an overlay can supply what the template does not show";
    let finding = Finding::new(rules::NOT_READ_BACK, message, help);
    if gap.conversation.is_null() {
        return Some(finding);
    }
    Some(finding.with(subject.with_tokens(gap.conversation.clone()), gap.expected.clone(), gap.actual.clone()))
}

/// A question and a call with these arguments.
fn called(subject: &Subject, arguments: &Value) -> Option<Conversation> {
    let turn = subject.calls?.calls(std::slice::from_ref(arguments));
    Some(Conversation::of([subject.plain.user(), turn]).with_tools())
}

/// What the parser reads of a call with these arguments: the arguments of the first call, or a sentence.
fn read(subject: &Subject, conversation: &Conversation) -> Option<Result<Value, String>> {
    let message = subject.read_back(conversation)?;
    Some(match message.tool_calls.as_slice() {
        [call] if call.name == words::TOOL => serde_json::from_str(&call.arguments).map_err(|_| call.arguments.clone()),
        [] => Err(format!("no call; the content {:?}", message.content)),
        calls => Err(format!("{} calls, the first {:?}", calls.len(), calls[0].name)),
    })
}

fn comes_back(subject: &Subject, arguments: &Value) -> Option<bool> {
    Some(read(subject, &called(subject, arguments)?)? == Ok(arguments.clone()))
}

/// Values that templates change, each with what is special about it.
fn hard_values() -> [(Value, &'static str); 6] {
    let text = |value: &str| json!({words::KEY: value});
    [
        (text("  wait:\n    ebb()\n"), "White space at the ends of an argument is lost"),
        (text(""), "An empty text is lost"),
        (text("say \"ebb\" or 'flood' \\n \\"), "Quotes or backslashes in an argument change it"),
        (json!({words::KEY: words::VALUE, "details": {"moon": null, "hours": [1, 2.5]}}), "A nested value is changed"),
        (json!({words::KEY: words::VALUE, "spring": true}), "A boolean is changed"),
        (text("Øresund 🌊"), "Characters beyond ASCII are changed"),
    ]
}

fn value_changed(subject: &Subject) -> Option<Finding> {
    hard_values().into_iter().find_map(|(arguments, what)| {
        let conversation = called(subject, &arguments)?;
        let read = read(subject, &conversation)?;
        if read == Ok(arguments.clone()) {
            return None;
        }
        let text = subject.text(&conversation).ok()?;
        let before = Conversation { messages: conversation.messages[..1].to_vec(), ..conversation.clone() };
        let from = super::difference::common_prefix(&subject.text(&before).ok()?, &text);
        let message = format!(
            "{what}: the call that the template writes does not say what the message said, so a model that learns from it \
             and every parser lose it. The template writes {:?}.",
            around(&text[from..], 0)
        );
        let usual = "write texts as they are, and other values with `| tojson`";
        let help = advice(rules::VALUE_CHANGED, subject).unwrap_or(usual);
        let finding = Finding::new(rules::VALUE_CHANGED, message, help).at(writer(subject, &conversation));
        Some(finding.with(subject.context(&conversation), arguments.to_string(), told(&read)))
    })
}

fn told(read: &Result<Value, String>) -> String {
    match read {
        Ok(value) => value.to_string(),
        Err(sentence) => sentence.clone(),
    }
}

/// The statement that writes the first argument.
fn writer(subject: &Subject, conversation: &Conversation) -> Option<SourcePosition> {
    let labelled = subject.labelled(conversation)?;
    let is_value = |span: &&Span| {
        let Origin::Field(field) = &span.origin else { return false };
        field.path.contains(".arguments") && field.part == FieldPart::Value
    };
    let span = labelled.labels.spans().iter().find(is_value)?;
    labelled.labels.statement_at(span.range.start)
}

/// A value that contains all that comes after a value.
fn value_can_end(subject: &Subject) -> Option<Finding> {
    let simple = called(subject, &json!({words::KEY: words::VALUE}))?;
    let text = subject.text(&simple).ok()?;
    let tail = text.get(text.rfind(words::VALUE)? + words::VALUE.len()..)?;
    let before_end = tail.split(subject.spec.as_ref()?.turn.end.trim()).next().unwrap_or(tail);
    if (0..before_end.len()).any(|at| is_special_token(&before_end.as_bytes()[at..])) {
        // Text that only looks like a special token is another token, so it closes nothing.
        return None;
    }
    let arguments = json!({words::KEY: format!("{}{tail} and so on", words::VALUE)});
    let conversation = called(subject, &arguments)?;
    let read = read(subject, &conversation)?;
    if read == Ok(arguments.clone()) {
        return None;
    }
    let message = format!(
        "The value of an argument is written without escapes. If it contains {tail:?}, as in a program that writes calls, it ends \
         there, and the rest becomes something else."
    );
    let help = "nothing, if the model was trained so; a new format should write values as JSON";
    let finding = Finding::new(rules::VALUE_CAN_END, message, help).at(writer(subject, &conversation));
    Some(finding.with(subject.context(&conversation), arguments.to_string(), told(&read)))
}
