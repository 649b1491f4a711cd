//! What is missing from a spec, told for people: the smallest conversation that shows it, what was expected and what came
//! back, why, and what to do next.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use unjinja_render::{Template, with_big_stack};
use unjinja_runtime::Message;
use unjinja_spec::{Carrier, FormatSpec, ReasoningMode, Status, ToolFormat};

use crate::ask::{carriers, speaks_of_thinking};
use crate::continuations::Continuation;
use crate::conversation::AssistantMessage;
use crate::observed::MessagePart;
use crate::probe::Probe;
use crate::sentinels::SENTINELS;
use crate::settle::{NO_CALL, NO_REASONING};
use crate::small_turns::{small_turns, undescribed_turns};
use crate::smallest::smallest;
use crate::verify::{Failure, Lost, TrialOutcome, Trials, Verification, message_of};

/// Something that a spec does not describe, or that its parser reads wrongly.
///
/// [`Display`](fmt::Display) prints one line for each field that is not empty, without a line break at the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GapReport {
    /// What is missing, in a sentence.
    pub sentence: String,
    /// The smallest conversation that shows it, as `unjinja render` takes it: `messages`, `tools` if there are any, and the
    /// variables that the template needs. It was rendered, and shows what `reason` says. Null if no conversation was found that
    /// shows it; then the next three fields are empty.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, Value>>"))]
    pub conversation: Value,
    /// The assistant's turn as the template renders it; empty if it cannot, or if the conversation is a prompt.
    pub rendered: String,
    /// The message that must come back, as JSON.
    pub expected: String,
    /// The message that came back, as JSON, or why no message came back.
    pub actual: String,
    /// Why both differ, or why there is no conversation, in a sentence.
    pub reason: String,
    /// The command to run next.
    pub next: String,
}

impl fmt::Display for GapReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rendered = if self.rendered.is_empty() { String::new() } else { format!("{:?}", self.rendered) };
        let lines = [
            ("conversation", if self.conversation.is_null() { String::new() } else { self.conversation.to_string() }),
            ("rendered", rendered),
            ("expected", self.expected.clone()),
            ("actual", self.actual.clone()),
            ("reason", self.reason.clone()),
            ("next", self.next.clone()),
        ];
        f.write_str(&self.sentence)?;
        for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            write!(f, "\n  {name:12} {text}")?;
        }
        Ok(())
    }
}

/// What is missing from the spec of a template, or read wrongly by its parser. `verification` holds conversations that
/// failed, if some are known. `file` is the template as a command names it.
///
/// `None` if nothing is missing and no small conversation fails.
///
/// ```
/// use unjinja_analyzer::{Naming, Verification, analyze, gap_report};
/// use unjinja_render::Template;
///
/// let text = "{% if tools %}{{ tools | tojson }}{% endif %}\
///     {% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}";
/// let template = Template::parse("silent.jinja", text)?;
/// let spec = analyze(&template, &Naming::of_file("silent.jinja"))?;
/// let report = gap_report(&template, &spec, &Verification::default(), "silent.jinja").ok_or("nothing is missing")?;
/// assert_eq!(report.next, "unjinja analyze silent.jinja --suggest");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gap_report(
    template: &Template,
    spec: &FormatSpec,
    verification: &Verification,
    file: &str,
) -> Option<GapReport> {
    with_big_stack(|| report_here(template, spec, verification, file)).ok()?
}

fn report_here(template: &Template, spec: &FormatSpec, verification: &Verification, file: &str) -> Option<GapReport> {
    let sentence = match (spec.gaps.is_empty(), verification.failures.len()) {
        (false, _) => spec.gaps.join("; "),
        (true, 0) => "what follows a prompt is read wrongly".to_owned(),
        (true, failed) => {
            format!("{failed} of {} random conversations did not survive the round trip", verification.tried)
        }
    };
    let offers = spec.capabilities.tools && !spec.capabilities.tool_calls;
    let explain = || format!("unjinja explain {file}");
    let next = if offers { format!("unjinja analyze {file} --suggest") } else { explain() };
    let report = GapReport {
        sentence,
        conversation: Value::Null,
        rendered: String::new(),
        expected: String::new(),
        actual: String::new(),
        reason: String::new(),
        next,
    };
    let probe = Probe::new(template);
    let Ok(trials) = Trials::new(&probe, spec) else {
        let reason = "no parser can be made from what the analysis found".to_owned();
        return (spec.status != Status::Supported).then_some(GapReport { reason, ..report });
    };
    if let Some(failure) = smallest(&trials, &verification.failures)
        && let Some(shown) = of_failure(&trials, &failure)
    {
        return Some(GapReport { next: explain(), ..shown.over(report) });
    }
    if let Some(wrong) = verification.wrong_continuations().min_by_key(|one| one.output.len()) {
        return Some(GapReport { next: explain(), ..of_continuation(&trials, wrong).over(report) });
    }
    if spec.status == Status::Supported {
        return None;
    }
    let nothing = || Shown { reason: "no small conversation shows it".to_owned(), ..Shown::default() };
    Some(of_gap(trials, &probe, spec).unwrap_or_else(nothing).over(report))
}

/// A small conversation with something that the template renders and the spec does not describe, or else that the template
/// leaves out.
fn of_gap(mut trials: Trials<'_, '_>, probe: &Probe<'_>, spec: &FormatSpec) -> Option<Shown> {
    let usual = Carrier::Field(USUAL_FIELD.to_owned());
    let mut carriers = carriers(probe, &[]);
    if !carriers.contains(&usual) {
        carriers.insert(0, usual);
    }
    let offers = spec.capabilities.tools && !spec.capabilities.tool_calls;
    let mut turns = small_turns(spec);
    turns.extend(undescribed_turns(spec, &carriers));
    if offers {
        let (with_calls, others): (Vec<_>, Vec<_>) = turns.into_iter().partition(|turn| !turn.calls.is_empty());
        turns = with_calls;
        turns.extend(others);
    }
    let switches: Vec<&String> = probe.variables.iter().filter(|name| speaks_of_thinking(name)).collect();
    // Most templates render no reasoning, and many no calls. That is a gap only where they ask for it.
    let lacks = |what: &str| spec.gaps.iter().any(|gap| gap.ends_with(what));
    let (lacks_reasoning, lacks_calls) = (lacks(NO_REASONING), lacks(NO_CALL));
    let is_asked_for = |turn: &AssistantMessage| {
        let reasons = spec.reasoning.mode != ReasoningMode::None || !switches.is_empty() || lacks_reasoning;
        let calls = spec.tools.format != ToolFormat::None || offers || lacks_calls;
        (turn.reasoning.is_none() || reasons) && (turn.calls.is_empty() || calls)
    };
    let mut lost = None;
    for turn in &turns {
        let mut refused = None;
        let more = if turn.reasoning.is_some() { &switches[..] } else { &[] };
        for switch in std::iter::once(None).chain(more.iter().map(|switch| Some(switch.as_str()))) {
            trials.switch_on(switch);
            match trials.run(turn, message_of(turn)) {
                TrialOutcome::Failed(failure) => {
                    if let Some(shown) = of_failure(&trials, &failure) {
                        return Some(shown);
                    }
                }
                TrialOutcome::Lost(why) if is_asked_for(turn) => {
                    let shown = of_lost(&trials, turn, &why);
                    match why {
                        // With a switch it may be rendered.
                        Lost::Refused(_) => refused = refused.or(shown),
                        _ => lost = lost.or(shown),
                    }
                }
                TrialOutcome::Lost(_) | TrialOutcome::Held(_) => {}
            }
        }
        lost = lost.or(refused);
    }
    lost
}

/// The field of reasoning that most templates read.
const USUAL_FIELD: &str = "reasoning_content";

#[derive(Default)]
struct Shown {
    conversation: Value,
    rendered: String,
    expected: String,
    actual: String,
    reason: String,
}

impl Shown {
    fn over(self, report: GapReport) -> GapReport {
        let Self { conversation, rendered, expected, actual, reason } = self;
        GapReport { conversation, rendered, expected, actual, reason, ..report }
    }
}

/// A conversation whose turn the parser reads wrongly.
fn of_failure(trials: &Trials<'_, '_>, failure: &Failure) -> Option<Shown> {
    let shows = |conversation: &Value| trials.render(conversation).is_ok_and(|text| text.contains(&failure.rendered));
    Some(Shown {
        conversation: trials.conversations(&failure.turn).into_iter().find(shows)?,
        rendered: failure.rendered.clone(),
        expected: json!(failure.expected).to_string(),
        actual: json!(failure.parsed).to_string(),
        reason: difference(&failure.expected, &failure.parsed).to_owned(),
    })
}

/// A prompt after which the parser reads an output wrongly.
fn of_continuation(trials: &Trials<'_, '_>, wrong: &Continuation) -> Shown {
    Shown {
        conversation: trials.prompt(wrong.thinking),
        rendered: String::new(),
        expected: json!(wrong.expected).to_string(),
        actual: json!(wrong.parsed).to_string(),
        reason: format!("after the prompt {:?}, this output is read wrongly: {:?}", wrong.prompt, wrong.output),
    }
}

/// A conversation that the template refuses, or does not render as one whole turn.
fn of_lost(trials: &Trials<'_, '_>, turn: &AssistantMessage, why: &Lost) -> Option<Shown> {
    let rendered = why.rendered();
    let (actual, reason) = match why {
        Lost::Refused(error) => (format!("no message: {error}"), "the template refuses it"),
        Lost::Lacks(part, _) => {
            let reason = match part {
                MessagePart::Reasoning => "the template does not render the reasoning",
                MessagePart::Content => "the template does not render the answer",
                MessagePart::Value(..) => "the template writes a text without the quotes or escapes that it needs",
                _ => "the template does not render the call",
            };
            ("nothing to parse: the render lacks a part of the message".to_owned(), reason)
        }
        Lost::SeveralTurns(_) => {
            ("nothing to parse: the end of the turn is inside it".to_owned(), "the template writes several turns")
        }
        Lost::LikeReasoning(_) => (
            "nothing to parse: the answer looks like reasoning".to_owned(),
            "the template writes the answer as reasoning",
        ),
        Lost::Changes(_) => {
            ("the text that the template writes came back".to_owned(), "the template changes the text of the message")
        }
    };
    let others = trials.conversations(&with_other_text(turn, why));
    let shows = |(conversation, other): &(Value, Value)| match (trials.render(conversation), why) {
        (Err(_), Lost::Refused(_)) => true,
        (Err(_), _) | (Ok(_), Lost::Refused(_)) => false,
        // Another text in the place of what is lost changes nothing.
        (Ok(text), Lost::Lacks(..)) => {
            let mut changed = conversation.clone();
            changed["messages"] = other["messages"].clone();
            text.contains(rendered) && trials.render(&changed).is_ok_and(|other| other == text)
        }
        (Ok(text), _) => text.contains(rendered),
    };
    let (conversation, _) = trials.conversations(turn).into_iter().zip(others).find(shows)?;
    Some(Shown {
        conversation,
        rendered: rendered.to_owned(),
        expected: json!(message_of(turn)).to_string(),
        actual,
        reason: reason.to_owned(),
    })
}

/// The turn with another text in the place of the part that is lost.
fn with_other_text(turn: &AssistantMessage, why: &Lost) -> AssistantMessage {
    let (mut other, text) = (turn.clone(), SENTINELS.word.to_owned());
    match why {
        Lost::Lacks(MessagePart::Reasoning, _) => other.reasoning = other.reasoning.map(|(carrier, _)| (carrier, text)),
        Lost::Lacks(MessagePart::Content, _) => other.content = text,
        Lost::Lacks(MessagePart::Name(number), _) => {
            other.calls.iter_mut().skip(*number).take(1).for_each(|call| call.name.clone_from(&text));
        }
        _ => {}
    }
    other
}

/// How a message that came back differs from the one that was expected, in a sentence.
fn difference(expected: &Message, parsed: &Message) -> &'static str {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    let (wanted, read) = (&expected.tool_calls, &parsed.tool_calls);
    let pairs = || wanted.iter().zip(read);
    if read.is_empty() && !wanted.is_empty() {
        "the parser reads the call as text"
    } else if read.len() < wanted.len() {
        "the parser finds fewer calls than there are"
    } else if read.len() > wanted.len() {
        "the parser finds more calls than there are"
    } else if pairs().any(|(wanted, read)| wanted.name != read.name) {
        "the parser reads another function name"
    } else if pairs().any(|(wanted, read)| value(&wanted.arguments) != value(&read.arguments)) {
        "the parser reads other arguments"
    } else if expected.reasoning_content.trim() != parsed.reasoning_content.trim() {
        if parsed.reasoning_content.trim().is_empty() {
            "the parser reads the reasoning as part of the answer"
        } else {
            "the parser reads other reasoning"
        }
    } else if expected.content.trim() != parsed.content.trim() {
        "the parser reads another answer"
    } else {
        "the parser reads another call id"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Naming, analyze, verify};

    fn report(text: &str) -> Result<Option<GapReport>, Box<dyn std::error::Error>> {
        let template = Template::parse("t.jinja", text)?;
        let spec = analyze(&template, &Naming::of_file("t.jinja"))?;
        let verification = verify(&template, &spec, 64, 1);
        Ok(gap_report(&template, &spec, &verification, "t.jinja"))
    }

    #[test]
    fn a_report_says_what_to_look_at() -> Result<(), Box<dyn std::error::Error>> {
        // The arguments are written without anything that ends them.
        let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}\
                    <call>{{ c.function.name }}{% for k, v in c.function.arguments.items() %} {{ k }} {{ v }}{% endfor %}\
                    {% endfor %}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
        let report = report(text)?.ok_or("nothing is missing")?;
        assert_eq!(report.conversation["messages"][1]["tool_calls"].as_array().map(Vec::len), Some(1), "{report}");
        assert_eq!(report.reason, "the parser reads the call as text");
        assert_eq!(report.next, "unjinja explain t.jinja");
        let lines: Vec<String> = report.to_string().lines().map(|l| l.chars().take(14).collect()).collect();
        assert!(lines.iter().any(|line| line.starts_with("  expected")), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("  actual")), "{lines:?}");
        Ok(())
    }

    #[test]
    fn a_call_that_is_not_rendered_is_shown() -> Result<(), Box<dyn std::error::Error>> {
        let text = "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\
                    {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
        let report = report(text)?.ok_or("nothing is missing")?;
        assert_eq!(report.reason, "the template does not render the call");
        assert_eq!(report.rendered, "<assistant></>");
        assert_eq!(report.next, "unjinja analyze t.jinja --suggest");
        Ok(())
    }

    #[test]
    fn a_conversation_that_is_said_to_be_refused_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        // The second is refused only with a variable that is not needed.
        for condition in ["m.tool_calls", "m.tool_calls and datetime is defined"] {
            let text = format!(
                "{{% if tools %}}{{{{ tools | tojson }}}}{{% endif %}}{{% for m in messages %}}\
                 {{% if {condition} %}}{{{{ raise_exception('no calls') }}}}{{% endif %}}<{{{{ m.role }}}}>{{{{ m.content }}}}</>\
                 {{% endfor %}}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
            );
            let found = report(&text)?.ok_or("nothing is missing")?;
            assert_eq!((found.reason.as_str(), found.rendered.as_str()), ("the template refuses it", ""));
            assert!(found.actual.ends_with("no calls"), "{found}");
            assert!(Template::parse("t.jinja", &text)?.render(&found.conversation).is_err(), "{found}");
        }
        Ok(())
    }

    /// The answer comes back, so nothing is wrong with it.
    #[test]
    fn reasoning_that_is_switched_on_and_not_rendered_is_shown() -> Result<(), Box<dyn std::error::Error>> {
        let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% if enable_thinking %}(thoroughly) {% endif %}{% endif %}";
        let found = report(text)?.ok_or("nothing is missing")?;
        assert_eq!(found.reason, "the template does not render the reasoning");
        assert_eq!(found.rendered, "<assistant>Hello.</>");
        assert_eq!(found.conversation["messages"][1]["reasoning_content"], "I see.");
        Ok(())
    }

    #[test]
    fn the_conversation_has_the_variables_that_it_needs() -> Result<(), Box<dyn std::error::Error>> {
        // The arguments are written without anything that ends them.
        let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if calling %}\
                    {% for c in m.tool_calls or [] %}<call>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}\
                    {{ k }} {{ v }}{% endfor %}{% endfor %}{% endif %}</>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";
        let found = report(text)?.ok_or("nothing is missing")?;
        assert_eq!(found.reason, "the parser reads the call as text");
        assert_eq!(found.conversation["calling"], true, "{found}");
        assert!(Template::parse("t.jinja", text)?.render(&found.conversation)?.contains(&found.rendered), "{found}");
        Ok(())
    }

    #[test]
    fn a_report_without_a_conversation_says_so() -> Result<(), Box<dyn std::error::Error>> {
        let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";
        let template = Template::parse("t.jinja", text)?;
        let mut spec = analyze(&template, &Naming::of_file("t.jinja"))?;
        spec.add_gap(Status::Partial, "something is missing");
        let found = gap_report(&template, &spec, &verify(&template, &spec, 64, 1), "t.jinja").ok_or("no report")?;
        assert_eq!(found.conversation, Value::Null);
        let shown = "something is missing\n  reason       no small conversation shows it\n  next         unjinja explain t.jinja";
        assert_eq!(found.to_string(), shown);
        Ok(())
    }

    #[test]
    fn a_failure_is_shown_in_its_smallest_form() -> Result<(), Box<dyn std::error::Error>> {
        let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";
        let template = Template::parse("t.jinja", text)?;
        let mut spec = analyze(&template, &Naming::of_file("t.jinja"))?;
        assert_eq!(gap_report(&template, &spec, &verify(&template, &spec, 64, 1), "t.jinja"), None);
        // A parser that takes an ampersand for the end of reasoning.
        spec.reasoning.mode = unjinja_spec::ReasoningMode::TagBased;
        (spec.reasoning.start, spec.reasoning.end) = ("&".to_owned(), "&".to_owned());
        let verification = verify(&template, &spec, 64, 1);
        assert!(!verification.failures.is_empty());
        let report = gap_report(&template, &spec, &verification, "t.jinja").ok_or("nothing fails")?;
        assert!(report.rendered.len() < 24, "{report}");
        assert!(report.sentence.ends_with("of 64 random conversations did not survive the round trip"), "{report}");
        Ok(())
    }

    #[test]
    fn differences_are_told_apart() {
        let message = |calls: &[(&str, &str)], reasoning: &str, content: &str| {
            let calls = calls.iter().map(|(name, arguments)| unjinja_runtime::ToolCall::new(*name, *arguments));
            let mut message = Message::new(content, calls.collect());
            message.reasoning_content = reasoning.to_owned();
            message
        };
        let (none, one) = (message(&[], "", "x"), message(&[("f", "{}")], "", ""));
        let cases = [
            (&one, none.clone(), "the parser reads the call as text"),
            (&none, one.clone(), "the parser finds more calls than there are"),
            (&message(&[("f", "{}"), ("f", "{}")], "", ""), one.clone(), "the parser finds fewer calls than there are"),
            (&one, message(&[("g", "{}")], "", ""), "the parser reads another function name"),
            (&one, message(&[("f", "{\"a\":1}")], "", ""), "the parser reads other arguments"),
            (&message(&[], "r", "x"), none.clone(), "the parser reads the reasoning as part of the answer"),
            (&message(&[], "r", "x"), message(&[], "s", "x"), "the parser reads other reasoning"),
            (&none, message(&[], "", "y"), "the parser reads another answer"),
            (&none, none.clone(), "the parser reads another call id"),
        ];
        for (expected, parsed, sentence) in cases {
            assert_eq!(difference(expected, &parsed), sentence);
        }
    }
}
