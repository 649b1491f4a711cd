//! Whether a conversation only grows at its end. A server keeps what it computed for a prompt, and uses it again for the
//! next one as far as both begin alike.

use serde_json::Value;
use unjinja_spec::EmptyContent;

use super::conversation::{Conversation, words};
use super::difference::{common_prefix, excerpts};
use super::finding::Finding;
use super::rules;
use super::severity::Severity;
use super::subject::Subject;

/// Runs the rules of this file.
pub(super) fn run(subject: &Subject, findings: &mut Vec<Finding>) {
    // What message order says of system messages need not be said twice.
    let moves = findings.iter().any(|finding| finding.rule == rules::MESSAGE_ORDER);
    findings.extend(growth(subject, moves));
    findings.extend(reasoning_dropped(subject));
    findings.extend(no_generation_prompt(subject));
    let is_found = |rule| findings.iter().any(|finding| finding.rule == rule);
    if !is_found(rules::PREFIX_CHANGES) {
        // An answer that is lost, or loses its reasoning, is told there.
        let told = is_found(rules::MESSAGE_DROPPED) || is_found(rules::REASONING_DROPPED);
        findings.extend(turn_rewritten(subject, told));
    }
}

/// A prompt, and the next one.
struct PromptPair {
    before: Conversation,
    after: Conversation,
    /// What the prompt says of the past before the generation prompt.
    history: String,
    prompt: String,
    next: String,
}

/// How the next prompt continues a prompt.
enum Growth {
    Continues,
    /// The turn begins as in the history, and the generation prompt adds this text, which the history lacks.
    Adds(String),
    /// The turn begins otherwise than in the history.
    OtherBeginning,
    /// Equal to the history, except that markers of reasoning are missing.
    LessReasoning,
    /// A text of the past is another one.
    Earlier,
}

impl PromptPair {
    fn new(subject: &Subject, before: Conversation, added: &[Value]) -> Option<Self> {
        let history = subject.text(&before).ok()?;
        let before = before.prompting();
        let mut after = before.clone();
        after.messages.extend(added.iter().cloned());
        let (prompt, next) = (subject.text(&before).ok()?, subject.text(&after).ok()?);
        Some(Self { before, after, history, prompt, next })
    }

    fn growth(&self, subject: &Subject) -> Growth {
        let common = common_prefix(&self.prompt, &self.next);
        let continues_but = |removed: &[&str]| {
            let (prompt, next) = (without(&self.prompt, removed), without(&self.next, removed));
            next.starts_with(&prompt)
        };
        let reasoning = subject.spec.as_ref().map(|spec| [spec.reasoning.start.trim(), spec.reasoning.end.trim()]);
        let after_history = self.prompt.starts_with(&self.history) && common >= self.history.trim_end().len();
        if common == self.prompt.len() {
            Growth::Continues
        } else if after_history && !self.prompt[self.history.len().min(common)..common].trim().is_empty() {
            Growth::Adds(self.prompt[common..].to_owned())
        } else if after_history || continues_but(&[]) {
            Growth::OtherBeginning
        } else if reasoning.is_some_and(|markers| continues_but(&markers)) {
            Growth::LessReasoning
        } else {
            Growth::Earlier
        }
    }
}

/// A text without some markers, and without white space.
fn without(text: &str, markers: &[&str]) -> String {
    let text = markers.iter().filter(|marker| !marker.is_empty()).fold(text.to_owned(), |text, m| text.replace(m, ""));
    text.split_whitespace().collect()
}

/// Prompts and their next ones; those with a system message only if it does not move.
fn steps(subject: &Subject, system_moves: bool) -> Vec<PromptPair> {
    let plain = subject.plain;
    let question = Conversation::of([plain.user()]);
    let next = plain.message("user", words::USER2);
    let led = Conversation::of([plain.message("system", words::SYSTEM), plain.user()]);
    let mut steps = vec![
        PromptPair::new(subject, question.clone(), &[plain.answer(), next.clone()]),
        (!system_moves).then(|| PromptPair::new(subject, led, &[plain.answer(), next.clone()])).flatten(),
    ];
    if let Some(manner) = subject.calls {
        let asked = question.with_tools();
        let called = asked.clone().and(manner.call()).and(manner.result(0));
        steps.push(PromptPair::new(subject, asked.clone(), &[plain.answer(), next.clone()]));
        steps.push(PromptPair::new(subject, asked, &[manner.call(), manner.result(0)]));
        steps.push(PromptPair::new(subject, called, &[plain.answer(), next]));
    }
    steps.into_iter().flatten().collect()
}

fn growth(subject: &Subject, system_moves: bool) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for step in steps(subject, system_moves) {
        let (expected, actual) = excerpts(&step.prompt, &step.next);
        let finding = match step.growth(subject) {
            Growth::Continues => continue,
            Growth::Earlier => {
                let message = "The next prompt of a conversation does not begin with the prompt before it: the text of an \
                               earlier message changed or moved. The server computes everything from there again, in every \
                               turn.";
                Finding::new(rules::PREFIX_CHANGES, message, "write each message in the same way at every place")
            }
            Growth::LessReasoning => {
                let message = "A turn of the past is written with an empty block of reasoning in one prompt and without it in \
                               the next. The server computes the conversation from there again.";
                Finding::new(rules::REASONING_DROPPED, message, "write the block in all turns of the past, or in none")
            }
            Growth::Adds(text) => {
                let message = format!(
                    "The generation prompt ends with {text:?}, and turns of the past do not have that. What the model was \
                     given is not what the next prompt says, so the server computes the last turn again."
                );
                let help = "write the same into turns of the past; for reasoning that is left out, this is the price";
                Finding::new(rules::TURN_NOT_CONTINUED, message, help).at_most(Severity::Note)
            }
            Growth::OtherBeginning => {
                let message = "The generation prompt is not how the same turn begins in the history. The model is asked to \
                               continue a text that it never saw in a conversation, and the server computes the last turn \
                               again.";
                let help =
                    "let the generation prompt be the text that comes before the content of an assistant message";
                Finding::new(rules::TURN_NOT_CONTINUED, message, help)
            }
        };
        // A warning counts more than a note of the same rule.
        let known = findings.iter().position(|known| known.rule == finding.rule);
        let asked = step.before.messages.len();
        let finding = finding.with(
            subject.context(&step.after),
            format!("{expected} (the prompt after message {asked})"),
            actual,
        );
        match known {
            None => findings.push(finding),
            Some(at) if findings[at].severity < finding.severity => findings[at] = finding,
            Some(_) => {}
        }
    }
    findings
}

/// A turn of the model that is written in another way as soon as a message follows. Prompts do not show that: they end before a
/// turn, and never with one. Code that trains on conversations renders them at every length.
fn turn_rewritten(subject: &Subject, answers_are_told: bool) -> Option<Finding> {
    let plain = subject.plain;
    let mut turns = Vec::new();
    if let Some(manner) = subject.calls {
        let called = Conversation::of([plain.user(), manner.call()]);
        let next = [(called.clone(), manner.result(0)), (called.with_tools(), manner.result(0))];
        turns.extend(
            next.map(|(turn, next)| (turn, next, Severity::Warning, "the turn with a call", "the result of the tool")),
        );
    }
    if !answers_are_told {
        // To write answered questions in another way is usual, so that is a choice.
        let answered = Conversation::of([plain.user(), plain.answer()]);
        turns.push((
            answered,
            plain.message("user", words::USER2),
            Severity::Note,
            "an answer",
            "the next user message",
        ));
    }
    turns.into_iter().find_map(|(turn, next, severity, what, follows)| {
        let after = turn.clone().and(next);
        let (short, long) = (subject.text(&turn).ok()?, subject.text(&after).ok()?);
        if long.starts_with(&short) {
            return None;
        }
        let message = format!(
            "The template writes {what} in another way as soon as {follows} comes after it. Code that trains on a conversation turn by \
             turn needs a text that only grows, and refuses such a template or trains on a text that is never seen again."
        );
        let help = "let no condition on the turn look at later messages, as `loop.last` does; where reasoning of the past is left out, \
                    write an empty block in every turn or in none";
        let at = common_prefix(&short, &long);
        let (expected, actual) = excerpts(&short, &long);
        let finding = Finding::new(rules::PREFIX_CHANGES, message, help).at(subject.statement(&turn, at)).at_most(severity);
        Some(finding.with(subject.context(&after), format!("{expected} (without the last message)"), actual))
    })
}

/// Reasoning that an earlier prompt or turn had, and the next one does not.
fn reasoning_dropped(subject: &Subject) -> Option<Finding> {
    let field = subject.reasoning_field()?;
    let plain = subject.plain;
    let reasoned = |mut message: Value| {
        message[field] = words::REASONING.into();
        message
    };
    let question = Conversation { variables: subject.reasoning_on(), ..Conversation::of([plain.user()]) };
    let answered = question.clone().and(reasoned(plain.answer()));
    if !subject.text(&answered).ok()?.contains(words::REASONING) {
        return None;
    }
    let next = plain.message("user", words::USER2);
    let in_answer = answered.clone().and(next.clone()).prompting();
    let in_calls = subject.calls.map(|manner| {
        let call = reasoned(manner.with_empty(EmptyContent::Empty).call());
        let called = question.with_tools().and(call).and(manner.result(0));
        (called.clone().prompting(), called.and(plain.answer()).and(next).prompting())
    });
    let lost =
        |conversation: &Conversation| subject.text(conversation).is_ok_and(|text| !text.contains(words::REASONING));
    let shown =
        |conversation: &Conversation| subject.text(conversation).is_ok_and(|text| text.contains(words::REASONING));
    let (conversation, earlier) = match in_calls {
        _ if lost(&in_answer) => (in_answer, answered),
        Some((with, without)) if shown(&with) && lost(&without) => (without, with),
        _ => return None,
    };
    let message = "The prompt after the next user message leaves out the reasoning of earlier turns, which the server has \
                   computed. It computes the conversation from there again.";
    let help = "this is usual, and saves space; for agents offer a switch that keeps reasoning";
    let with = subject.text(&earlier).ok()?;
    let (expected, actual) = excerpts(&with, &subject.text(&conversation).ok()?);
    let position = with.rfind(words::REASONING).and_then(|at| subject.statement(&earlier, at));
    Some(Finding::new(rules::REASONING_DROPPED, message, help).at(position).with(
        subject.context(&conversation),
        expected,
        actual,
    ))
}

/// A generation prompt that is missing, or ends before the answer begins.
fn no_generation_prompt(subject: &Subject) -> Option<Finding> {
    let plain = subject.plain;
    let question = Conversation::of([plain.user()]);
    let history = subject.text(&question).ok()?;
    let prompt = subject.text(&question.clone().prompting()).ok()?;
    if history != prompt {
        return None;
    }
    let answered = subject.text(&question.clone().and(plain.answer())).ok()?;
    let header = answered.strip_prefix(&history)?;
    let header = &header[..header.find(words::ANSWER)?];
    if header.trim().is_empty() {
        return None;
    }
    let message = format!(
        "With `add_generation_prompt` the prompt ends where the user's message ends, although an answer begins with \
         {header:?}. The model has to write that itself, and may write another user message instead."
    );
    let help = format!("add `{{% if add_generation_prompt %}}` and {header:?} at the end");
    let expected = format!("a prompt that ends with {header:?}");
    let shown = super::difference::around(&prompt, prompt.len());
    let finding = Finding::new(rules::NO_GENERATION_PROMPT, message, help);
    Some(finding.with(subject.context(&question.prompting()), expected, shown).at_most(Severity::Warning))
}
