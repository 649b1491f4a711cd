//! How values are written: Python where JSON is meant, escapes for HTML, and texts between quotes without escapes. All of it
//! is seen in the labels of a render, which say of which field a piece of text is and how it was written.

use serde_json::{Value, json};
use unjinja_render::{Encoding, Field, FieldPart, Origin};
use unjinja_spec::ArgumentsForm;
use unjinja_spec::ToolFormat;

use super::advice::advice;
use super::conversation::{Conversation, words};
use super::difference::around;
use super::finding::Finding;
use super::rules;
use super::severity::Severity;
use super::subject::{Labelled, Subject, is_python};

/// Runs the rules of this file.
pub(super) fn run(subject: &Subject, findings: &mut Vec<Finding>) {
    findings.extend(python_in_calls(subject));
    findings.extend(python_in_tools(subject));
    findings.extend(html_escape(subject));
    findings.extend(unescaped_quote(subject));
}

/// Whether a piece is Python's way to write a value that JSON writes otherwise.
fn is_python_only(field: &Field, piece: &str) -> bool {
    let of_a_constant = field.encodings.contains(&Encoding::Str) && matches!(piece, "None" | "True" | "False");
    of_a_constant && field.part == FieldPart::Value
        || is_python(field) && (matches!(piece, "None" | "True" | "False") || piece.contains('\''))
}

/// The first piece at or below a path that is Python: its offset and its text.
fn first_python(labelled: &Labelled, path: &str) -> Option<(usize, String)> {
    labelled.labels.spans().iter().find_map(|span| {
        let Origin::Field(field) = &span.origin else { return None };
        let piece = labelled.text.get(span.range.clone())?;
        (is_below(&field.path, path) && is_python_only(field, piece)).then(|| (span.range.start, piece.to_owned()))
    })
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn python_in_calls(subject: &Subject) -> Option<Finding> {
    let manner = subject.calls?.with_arguments(ArgumentsForm::Object);
    if subject.tool_format() == ToolFormat::CallExpression {
        // `f(a=True)` is Python by design.
        return None;
    }
    // One argument at a time, so that the conversation is small.
    for value in [json!(true), json!(null), json!({"moon": "new"}), json!(["north"])] {
        let conversation = Conversation::of([subject.plain.user(), manner.calls(&[json!({"details": value})])]);
        let with_tools = conversation.clone().with_tools();
        let mut asked = [conversation, with_tools].into_iter();
        let Some((conversation, labelled)) =
            asked.find_map(|asked| subject.labelled(&asked).map(|labelled| (asked, labelled)))
        else {
            continue;
        };
        let path = "messages[1].tool_calls[0].function.arguments";
        let Some((at, piece)) = first_python(&labelled, path) else { continue };
        let help = advice(rules::PYTHON_IN_CALLS, subject).unwrap_or("write the value with `| tojson`");
        let in_json = matches!(subject.tool_format(), ToolFormat::JsonNative | ToolFormat::TagWithJson);
        let message = if !piece.contains('\'') {
            format!(
                "The argument `{value}` is written as `{piece}`. Python prints it so, and it cannot be told from the text \
                 {piece:?}: the model learns from its own earlier calls to write something that is not JSON."
            )
        } else {
            "An argument that is an object or a list is written with single quotes, as Python prints it. That is not JSON, \
             and texts in it are escaped in another way: the model learns from its own earlier calls to write it."
                .to_owned()
        };
        let finding = Finding::new(rules::PYTHON_IN_CALLS, message, help).at(labelled.labels.statement_at(at)).with(
            subject.context(&conversation),
            format!("{value}"),
            around(&labelled.text, at),
        );
        return Some(if in_json { finding } else { finding.at_most(Severity::Warning) });
    }
    None
}

fn python_in_tools(subject: &Subject) -> Option<Finding> {
    let mut conversation = Conversation::of([subject.plain.user()]).prompting();
    let parameters = json!({
        "type": "object",
        "properties": {"spring": {"type": "boolean", "description": "Whether at new moon.", "default": true}},
        "required": ["spring"],
    });
    conversation.tools = Some(json!([{"type": "function", "function": {
        "name": words::TOOL, "description": words::ABOUT_TOOL, "parameters": parameters,
    }}]));
    let labelled = subject.labelled(&conversation)?;
    let (at, piece) = first_python(&labelled, "tools")?;
    let message = format!(
        "The offered tools are written with `{piece}`, as Python prints a value. The model reads schemas that are not JSON."
    );
    let expected = "schemas as JSON: \"type\": \"boolean\", \"default\": true";
    let help = "write the tool, or the part of it, with `| tojson`";
    Some(Finding::new(rules::PYTHON_IN_TOOLS, message, help).at(labelled.labels.statement_at(at)).with(
        subject.context(&conversation),
        expected,
        around(&labelled.text, at),
    ))
}

fn html_escape(subject: &Subject) -> Option<Finding> {
    let text = "Is 3 < 5 & 7 > 6?";
    let mut conversations = vec![
        Conversation::of([subject.plain.message("user", text)]).prompting(),
        Conversation::of([subject.plain.user(), subject.plain.message("assistant", text)]),
    ];
    if let Some(manner) = subject.calls {
        let call = manner.calls(&[json!({words::KEY: text})]);
        let mut result = manner.result(0);
        result["content"] = manner.message("tool", text)["content"].clone();
        conversations.push(Conversation::of([subject.plain.user(), call.clone()]).with_tools());
        conversations.push(Conversation::of([subject.plain.user(), manner.call(), result]).with_tools());
    }
    conversations.into_iter().find_map(|conversation| {
        let labelled = subject.labelled(&conversation)?;
        let at = labelled.labels.spans().iter().find_map(|span| match &span.origin {
            Origin::Field(field) if field.encodings.contains(&Encoding::Escape) => Some(span.range.start),
            _ => None,
        })?;
        let shown = labelled.text.get(at..)?;
        if !["&lt;", "&gt;", "&amp;", "&#"].iter().any(|entity| shown.contains(entity)) {
            return None;
        }
        let message = "Text of the conversation or of a tool is escaped as for HTML: the model reads `&lt;` or `&#34;` where \
                       `<` or a quote was written.";
        let help = "remove the filter `escape` (or `e`); a prompt is no HTML";
        let finding = Finding::new(rules::HTML_ESCAPE, message, help).at(labelled.labels.statement_at(at));
        Some(finding.with(subject.context(&conversation), text, around(&labelled.text, at)))
    })
}

/// A text with quotes and a backslash, and its place in a conversation.
fn unescaped_quote(subject: &Subject) -> Option<Finding> {
    let text = "the \"old\" pier";
    let in_calls = subject.calls.map(|manner| {
        let call = manner.calls(&[json!({words::KEY: text})]);
        let conversation = Conversation::of([subject.plain.user(), call]);
        (conversation, "messages[1].tool_calls[0].function.arguments", "an argument", Severity::Error)
    });
    let in_results = subject.calls.map(|manner| {
        let mut result = manner.result(0);
        result["content"] = manner.message("tool", text)["content"].clone();
        let conversation = Conversation::of([subject.plain.user(), manner.call(), result]);
        (conversation, "messages[2].content", "a tool result", Severity::Warning)
    });
    let in_tools = {
        let mut conversation = Conversation::of([subject.plain.user()]).prompting().with_tools();
        if let Some(tool) = conversation.tools.as_mut() {
            tool[0]["function"]["description"] = text.into();
        }
        Some((conversation, "tools[0].function.description", "the description of a tool", Severity::Warning))
    };
    [in_calls, in_results, in_tools].into_iter().flatten().find_map(|(conversation, path, what, severity)| {
        let with_tools = if conversation.tools.is_some() { None } else { Some(conversation.clone().with_tools()) };
        [Some(conversation), with_tools].into_iter().flatten().find_map(|conversation| {
            let labelled = subject.labelled(&conversation)?;
            let at = open_quote(&labelled, path, text)?;
            let message = format!(
                "The text of {what} is put between quotes, and quotes in it stay as they are: the first one ends the text \
                 for whoever reads it."
            );
            let usual = "write the text with `| tojson`, which adds the quotes and escapes what is in it";
            let in_call = path.contains(".arguments");
            let help = advice(rules::UNESCAPED_QUOTE, subject).filter(|_| in_call).unwrap_or(usual);
            let expected = Value::from(text).to_string();
            let finding = Finding::new(rules::UNESCAPED_QUOTE, message, help).at(labelled.labels.statement_at(at));
            Some(finding.with(subject.context(&conversation), expected, around(&labelled.text, at)).at_most(severity))
        })
    })
}

/// The place of a text between quotes of the template, after a colon or an equals sign, although it has quotes itself.
fn open_quote(labelled: &Labelled, path: &str, text: &str) -> Option<usize> {
    let spans = labelled.labels.spans();
    spans.iter().find_map(|span| {
        let Origin::Field(field) = &span.origin else { return None };
        if !is_below(&field.path, path)
            || field.part != FieldPart::Value
            || labelled.text.get(span.range.clone())? != text
        {
            return None;
        }
        let (before, after) = (&labelled.text[..span.range.start], &labelled.text[span.range.end..]);
        let outside = before.strip_suffix('"')?.trim_end();
        (after.starts_with('"') && outside.ends_with([':', '='])).then_some(span.range.start)
    })
}
