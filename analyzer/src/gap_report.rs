//! What is missing from a spec, told for people: the smallest conversation that shows it, what was expected and what came
//! back, why, and what to do next.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};
use unjinja_render::{Template, with_big_stack};
use unjinja_runtime::Message;
use unjinja_spec::{FormatSpec, Status};

use crate::conversation::AssistantMessage;
use crate::probe::Probe;
use crate::smallest::{small_turns, smallest};
use crate::verify::{Failure, Trial, Trials, Verification, conversation_for, message_of};

/// Something that a spec does not describe, or that its parser reads wrongly.
///
/// [`Display`](fmt::Display) prints one line for each field that is not empty, without a line break at the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GapReport {
    /// What is missing, in a sentence.
    pub sentence: String,
    /// The smallest conversation that shows it, as `unjinja render` takes it: `messages`, and `tools` if there are any.
    pub conversation: Value,
    /// The assistant's turn as the template renders it; empty if it cannot.
    pub rendered: String,
    /// The message that must come back, as JSON.
    pub expected: String,
    /// The message that came back, as JSON, or why there is none.
    pub actual: String,
    /// Why both differ, in a sentence.
    pub reason: String,
    /// The command to run next.
    pub next: String,
}

impl fmt::Display for GapReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rendered = if self.rendered.is_empty() { String::new() } else { format!("{:?}", self.rendered) };
        let lines = [
            ("conversation", self.conversation.to_string()),
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
        (true, failed) => {
            format!("{failed} of {} random conversations did not survive the round trip", verification.tried)
        }
    };
    let probe = Probe::new(template);
    let trials = Trials::new(&probe, spec);
    if let Some(trials) = &trials
        && let Some(failure) = smallest(trials, &verification.failures)
    {
        return Some(of_failure(sentence, trials, &failure, file));
    }
    if spec.status == Status::Supported {
        return None;
    }
    // Nothing is read wrongly: the template leaves something out, or there is no parser at all.
    let turns = small_turns(spec);
    let lost = trials.as_ref().and_then(|trials| {
        turns.iter().find_map(|turn| match trials.run(turn, message_of(turn)) {
            Trial::Lost(rendered) => Some((turn, rendered.unwrap_or_default())),
            Trial::Held(_) | Trial::Failed(_) => None,
        })
    });
    let (turn, rendered) = lost.or_else(|| Some((turns.first()?, String::new())))?;
    let (actual, reason) = match (&trials, rendered.is_empty()) {
        (None, _) => ("no message: there is no parser", "no parser can be made from what the analysis found"),
        (_, true) => ("no message: the template does not render this conversation", "the template refuses it"),
        _ => ("nothing to parse: the render lacks a part of the message", lacks(turn)),
    };
    let offers = spec.capabilities.tools && !spec.capabilities.tool_calls;
    Some(GapReport {
        sentence,
        conversation: conversation_for(turn),
        rendered,
        expected: json!(message_of(turn)).to_string(),
        actual: actual.to_owned(),
        reason: reason.to_owned(),
        next: if offers { format!("unjinja analyze {file} --suggest") } else { format!("unjinja explain {file}") },
    })
}

fn of_failure(sentence: String, trials: &Trials<'_, '_>, failure: &Failure, file: &str) -> GapReport {
    GapReport {
        sentence,
        conversation: trials.conversation(&failure.turn),
        rendered: failure.rendered.clone(),
        expected: json!(failure.expected).to_string(),
        actual: json!(failure.parsed).to_string(),
        reason: difference(&failure.expected, &failure.parsed).to_owned(),
        next: format!("unjinja explain {file}"),
    }
}

/// What the template leaves out of a turn.
fn lacks(turn: &AssistantMessage) -> &'static str {
    match (turn.calls.is_empty(), turn.reasoning.is_some()) {
        (false, _) => "the template does not render the call",
        (true, true) => "the template does not render the reasoning",
        (true, false) => "the template does not render the answer",
    }
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
        let call = |name: &str, arguments: &str| unjinja_runtime::ToolCall {
            id: None,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            complete: true,
        };
        let message = |calls: &[(&str, &str)], reasoning: &str, content: &str| {
            let tool_calls = calls.iter().map(|(name, arguments)| call(name, arguments)).collect();
            let (reasoning_content, content) = (reasoning.to_owned(), content.to_owned());
            Message { tool_calls, reasoning_content, content, ..Message::default() }
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
