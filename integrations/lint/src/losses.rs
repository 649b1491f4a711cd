//! The parts of a conversation that do not reach the prompt, or reach it in another place.

use serde_json::Value;
use unjinja_render::FieldPart;
use unjinja_spec::EmptyContent;

use super::conversation::{Conversation, words};
use super::difference::{around, common_prefix, excerpts};
use super::finding::Finding;
use super::rules;
use super::subject::Subject;

/// Runs the rules of this file.
pub(super) fn run(subject: &Subject, findings: &mut Vec<Finding>) {
    findings.extend(message_dropped(subject));
    findings.extend(calls_dropped(subject));
    findings.extend(content_of_calls(subject));
    findings.extend(results(subject));
    findings.extend(content_twice(subject));
    findings.extend(message_order(subject));
    findings.extend(white_space(subject));
}

/// Three messages, of which the last is the user's.
fn two_turns(subject: &Subject) -> Conversation {
    let manner = subject.plain;
    Conversation::of([manner.user(), manner.answer(), manner.message("user", words::USER2)]).prompting()
}

fn message_dropped(subject: &Subject) -> Option<Finding> {
    let conversation = two_turns(subject);
    let text = subject.text(&conversation).ok()?;
    let lost = [words::USER, words::ANSWER, words::USER2].into_iter().find(|word| !text.contains(word))?;
    let message =
        format!("In a conversation of several turns {lost:?} is not in the prompt: the model does not know it.");
    let help = "loop over all messages, and write the content of each";
    let expected = format!("a prompt that contains {lost:?}");
    Some(Finding::new(rules::MESSAGE_DROPPED, message, help).with(
        subject.context(&conversation),
        expected,
        around(&text, 0),
    ))
}

/// Tools that are not offered, and calls that are offered but not written.
fn calls_dropped(subject: &Subject) -> Option<Finding> {
    let offered = Conversation::of([subject.plain.user()]).with_tools().prompting();
    if !subject.offers_tools() {
        let text = subject.text(&offered).ok()?;
        let message = "`tools` changes nothing: a model that is offered tools does not know of them. That is right for a \
                       model that cannot call tools.";
        let help = "if the model can call tools, write them into the system message";
        let expected = format!("a prompt that contains {:?}", words::TOOL);
        let context = subject.context(&offered);
        return Some(Finding::new(rules::TOOLS_IGNORED, message, help).with(context, expected, around(&text, 0)));
    }
    if subject.calls.is_some() {
        return None;
    }
    let manner = subject.plain.with_empty(EmptyContent::Empty);
    let conversation = Conversation::of([subject.plain.user(), manner.call()]).with_tools();
    let result = subject.text(&conversation);
    if let Ok(text) = &result
        && text.matches(words::TOOL).count() > subject.text(&offered).ok()?.matches(words::TOOL).count()
    {
        return None;
    }
    let message = "Tools are offered, but the calls that the model made are not written into the next prompt. The model does \
                   not see what it called, and may call again.";
    let help = "write `message.tool_calls` of assistant messages as the model is to write calls";
    let expected = format!("a turn with the call {}({}={:?})", words::TOOL, words::KEY, words::VALUE);
    let actual = match result {
        Ok(text) => {
            let before = subject.text(&Conversation::of([subject.plain.user()]).with_tools()).unwrap_or_default();
            around(&text, common_prefix(&before, &text))
        }
        Err(error) => super::experiment::one_line(error.message()),
    };
    Some(Finding::new(rules::CALL_DROPPED, message, help).with(subject.context(&conversation), expected, actual))
}

/// Content of turns with calls: dropped, or written as reasoning.
fn content_of_calls(subject: &Subject) -> Option<Finding> {
    let manner = subject.calls?;
    let mut call = manner.with_empty(EmptyContent::Empty).call();
    call["content"] = manner.message("assistant", words::PREAMBLE)["content"].clone();
    let smallest = Conversation::of([subject.plain.user(), call]);
    let conversation = [smallest.clone(), smallest.with_tools()].into_iter().find(|c| subject.text(c).is_ok())?;
    let text = subject.text(&conversation).ok()?;
    let Some(at) = text.find(words::PREAMBLE) else {
        let message = "An assistant message with content and calls loses its content: what the model said before it called \
                       is not in the next prompt.";
        let help = "write `message.content` also where `message.tool_calls` is set";
        let expected = format!("a turn that contains {:?}", words::PREAMBLE);
        let before =
            subject.text(&Conversation { messages: conversation.messages[..1].to_vec(), ..conversation.clone() });
        let shown = around(&text, common_prefix(&before.unwrap_or_default(), &text));
        return Some(Finding::new(rules::CONTENT_DROPPED, message, help).with(
            subject.context(&conversation),
            expected,
            shown,
        ));
    };
    let spec = subject.spec.as_ref()?;
    let opening = spec.reasoning.start.trim();
    let after_opening = !opening.is_empty() && text[..at].trim_end().ends_with(opening);
    if !after_opening && !same_as_reasoning(subject, &conversation, &text) {
        return None;
    }
    let message = "The content of an assistant message with calls is written at the place of reasoning. What the model said \
                   to the user becomes a hidden thought, and is left out where old reasoning is left out.";
    let help = "write the content as an answer that comes before the calls, and only `reasoning_content` as reasoning";
    let expected = format!("{:?} as an answer, not after {opening:?}", words::PREAMBLE);
    let shown = around(&text, at);
    let finding = Finding::new(rules::CONTENT_AS_REASONING, message, help).at(subject.statement(&conversation, at));
    Some(finding.with(subject.context(&conversation), expected, shown))
}

/// Whether the same text is written if the content is handed over as reasoning.
fn same_as_reasoning(subject: &Subject, conversation: &Conversation, text: &str) -> bool {
    let Some(field) = subject.reasoning_field() else { return false };
    let mut other = conversation.clone();
    if let Some(message) = other.messages.get_mut(1).and_then(Value::as_object_mut) {
        message.insert("content".to_owned(), "".into());
        message.insert(field.to_owned(), words::PREAMBLE.into());
    }
    subject.text(&other).is_ok_and(|other| other == text)
}

/// Results: not written at all, or not linked with their calls.
fn results(subject: &Subject) -> Option<Finding> {
    let manner = subject.calls?;
    let one = Conversation::of([subject.plain.user(), manner.call(), manner.result(0)]).with_tools().prompting();
    let text = subject.text(&one).ok()?;
    if !text.contains(words::RESULT) {
        let message = "The content of a `tool` message is not in the prompt: the model called a tool and does not learn what \
                       it returned.";
        let help = "write messages of the role `tool`";
        let expected = format!("a prompt that contains {:?}", words::RESULT);
        let asked = Conversation { messages: one.messages[..2].to_vec(), ..one.clone() };
        let before = subject.text(&asked).unwrap_or_default();
        let shown = around(&text, common_prefix(&before, &text));
        return Some(Finding::new(rules::RESULT_DROPPED, message, help).with(subject.context(&one), expected, shown));
    }
    let turn = [subject.plain.user(), manner.two_calls()];
    let in_order = Conversation::of(turn.clone()).and(manner.result(0)).and(manner.result(1));
    let reversed = Conversation::of(turn).and(manner.result(1)).and(manner.result(0));
    let (in_order, reversed) = match subject.text(&reversed) {
        Ok(_) => (in_order, reversed),
        Err(_) => (in_order.with_tools(), reversed.with_tools()),
    };
    let (first, second) = (subject.text(&in_order).ok()?, subject.text(&reversed).ok()?);
    let all_there = [words::RESULT, words::RESULT2].iter().all(|word| second.contains(word));
    // Without the results themselves, do both prompts say the same? Then nothing says which result is whose.
    let blank = |text: &str| text.replace(words::RESULT, "…").replace(words::RESULT2, "…");
    if !all_there || first == second || blank(&first) != blank(&second) {
        return None;
    }
    let message = "Two calls of one function, whose results come in another order: neither the prompt's order nor an id says \
                   which result belongs to which call, so the model takes one for the other.";
    let help = "write the results in the order of the calls, or write the ids of calls and results";
    let (expected, actual) = excerpts(&first, &second);
    let at = second.rfind(words::RESULT)?;
    let finding = Finding::new(rules::RESULT_NOT_LINKED, message, help).at(subject.statement(&reversed, at));
    Some(finding.with(subject.context(&reversed), expected, actual))
}

fn content_twice(subject: &Subject) -> Option<Finding> {
    let manner = subject.plain;
    let all = [
        Conversation::of([manner.user()]).prompting(),
        Conversation::of([manner.message("system", words::SYSTEM), manner.user()]).prompting(),
        Conversation::of([manner.user(), manner.answer()]),
        two_turns(subject),
    ];
    all.into_iter().find_map(|conversation| {
        let labelled = subject.labelled(&conversation)?;
        let twice = [words::SYSTEM, words::USER, words::ANSWER, words::USER2].into_iter().find(|word| {
            labelled.text.matches(word).count() > 1 && conversation.texts().iter().any(|text| text == word)
        })?;
        let message = format!("{twice:?} is sent once and is in the prompt twice.");
        let help = "write the content of a message in one place only";
        let at = labelled.text.rfind(twice)?;
        let finding = Finding::new(rules::CONTENT_TWICE, message, help).at(labelled.labels.statement_at(at));
        Some(finding.with(subject.context(&conversation), format!("{twice:?} once"), around(&labelled.text, at)))
    })
}

fn message_order(subject: &Subject) -> Option<Finding> {
    let manner = subject.plain;
    let mut all = vec![
        two_turns(subject),
        Conversation::of([
            manner.message("system", words::SYSTEM),
            manner.user(),
            manner.answer(),
            manner.message("user", words::USER2),
        ])
        .prompting(),
    ];
    if let Some(calls) = subject.calls {
        all.push(Conversation::of([subject.plain.user(), calls.call(), calls.result(0)]).with_tools().prompting());
    }
    all.into_iter().find_map(|conversation| {
        let labelled = subject.labelled(&conversation)?;
        let mut last = 0;
        for (field, piece) in labelled.fields().filter(|(field, _)| field.part == FieldPart::Value) {
            let Some(index) = message_of(&field.path).filter(|_| field.path.contains("content")) else { continue };
            if index < last && !piece.trim().is_empty() {
                let role = conversation.messages[index]["role"].as_str().unwrap_or_default();
                let message = format!(
                    "The text of the {role} message, which is number {}, comes after the text of message number {}. It \
                     moves with every turn, so the server's cache is lost at that place.",
                    index + 1,
                    last + 1
                );
                let help = "write the messages in the order in which they are sent";
                let at = labelled.text.rfind(piece)?;
                let shown = around(&labelled.text, at);
                let finding = Finding::new(rules::MESSAGE_ORDER, message, help).at(labelled.labels.statement_at(at));
                return Some(finding.with(subject.context(&conversation), "the messages in their order", shown));
            }
            last = last.max(index);
        }
        None
    })
}

/// The index in `messages[INDEX].…`.
fn message_of(path: &str) -> Option<usize> {
    path.strip_prefix("messages[")?.split(']').next()?.parse().ok()
}

fn white_space(subject: &Subject) -> Option<Finding> {
    let text = "  tide = flood\n    ebb = 7\n\n";
    let user = Conversation::of([subject.plain.message("user", text)]).prompting();
    let result = subject.calls.map(|manner| {
        let mut result = manner.result(0);
        result["content"] = manner.message("tool", text)["content"].clone();
        Conversation::of([subject.plain.user(), manner.call(), result]).with_tools().prompting()
    });
    [Some((user, "A user message")), result.map(|result| (result, "A tool result"))].into_iter().flatten().find_map(
        |(conversation, what)| {
            let prompt = subject.text(&conversation).ok()?;
            let written_as_json = Value::from(text).to_string();
            if prompt.contains(text) || prompt.contains(written_as_json.trim_matches('"')) {
                return None;
            }
            let at = prompt.find(text.trim())?;
            let message = format!(
                "{what} loses the white space at its ends. The first line of indented code then has another indentation \
                 than the lines after it."
            );
            let help = "write the content without `| trim` and `.strip()`";
            let finding = Finding::new(rules::WHITE_SPACE, message, help).at(subject.statement(&conversation, at));
            Some(finding.with(subject.context(&conversation), format!("{text:?}"), around(&prompt, at)))
        },
    )
}
