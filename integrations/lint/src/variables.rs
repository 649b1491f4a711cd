//! The variables and the clock that a template reads.

use unjinja_render::{Clock, FieldPart, Origin, SourcePosition, Span};

use super::conversation::{Conversation, words};
use super::difference::{around, common_prefix, excerpts};
use super::experiment::one_line;
use super::finding::Finding;
use super::options::LintOptions;
use super::rules;
use super::subject::{Labelled, Subject};

/// What every renderer sets, or may leave out.
const KNOWN: &[&str] = &["messages", "tools", "documents", "add_generation_prompt"];

/// Runs the rules of this file.
pub(super) fn run(subject: &Subject, options: &LintOptions, findings: &mut Vec<Finding>) {
    findings.extend(undefined(subject));
    findings.extend(token_unset(subject, options));
    findings.extend(date(subject));
}

/// Conversations that together show most parts of a prompt.
fn conversations(subject: &Subject) -> Vec<Conversation> {
    let plain = subject.plain;
    let question = Conversation::of([plain.user()]).prompting();
    let mut all = vec![
        question.clone(),
        Conversation::of([plain.message("system", words::SYSTEM), plain.user()]).prompting(),
        question.clone().with_tools(),
        Conversation::of([plain.user(), plain.answer(), plain.message("user", words::USER2)]).prompting(),
    ];
    if let Some(manner) = subject.calls {
        all.push(Conversation::of([plain.user(), manner.call(), manner.result(0)]).with_tools().prompting());
    }
    all
}

/// A variable that is written although nothing sets it, and that no condition asks for.
fn undefined(subject: &Subject) -> Vec<Finding> {
    let is_other = |name: &&String| !KNOWN.contains(&name.as_str()) && !name.ends_with("_token");
    let all = conversations(subject);
    let of_variable = |name: &String| {
        if has_default(subject.source(), name) {
            return None;
        }
        all.iter().find_map(|conversation| {
            let without = subject.text(conversation).ok()?;
            let mut with = conversation.clone();
            with.variables.insert(name.clone(), "(a text)".into());
            let labelled = subject.labelled(&with)?;
            let written = labelled.fields().any(|(field, _)| *field.path == **name && field.part == FieldPart::Value);
            if !written || labelled.reads.decided().contains(name) || labelled.text == without {
                return None;
            }
            let message = format!(
                "The variable `{name}` is written into the prompt, and no renderer sets it unless the application does. \
                 Without it Jinja writes nothing, and says nothing."
            );
            let help = format!("set a default: `{{{{ {name} | default('…') }}}}`; or correct the name");
            let (expected, actual) = excerpts(&labelled.text, &without);
            let finding = Finding::new(rules::UNDEFINED, message, help).at(writer(&labelled, name));
            Some(finding.with(subject.context(conversation), expected, actual))
        })
    };
    subject.variables.iter().filter(is_other).filter_map(of_variable).collect()
}

/// The statement that writes a variable.
fn writer(labelled: &Labelled, name: &str) -> Option<SourcePosition> {
    let is_of = |span: &&Span| matches!(&span.origin, Origin::Field(field) if &*field.path == name);
    let span = labelled.labels.spans().iter().find(is_of)?;
    labelled.labels.statement_at(span.range.start)
}

/// Whether the source gives a variable a default.
fn has_default(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let rest = source[at + name.len()..].trim_start();
        rest.strip_prefix('|').is_some_and(|filter| filter.trim_start().starts_with(['d']))
    })
}

fn token_unset(subject: &Subject, options: &LintOptions) -> Vec<Finding> {
    if options.special_tokens.is_none() {
        // Nothing is known of the tokenizer.
        return Vec::new();
    }
    let given = subject.given_tokens();
    let unset = [("bos_token", given.bos.is_none()), ("eos_token", given.eos.is_none())];
    let of_token = |(name, _): (&str, bool)| {
        conversations(subject).into_iter().find_map(|conversation| {
            let labelled = subject.labelled(&conversation)?;
            let written = labelled.fields().any(|(field, _)| &*field.path == name);
            if !written || labelled.reads.decided().contains(name) {
                return None;
            }
            let (context, without) = subject.without_token(&conversation, name);
            let (what, actual) = match without {
                Ok(text) => ("nothing is written in its place", excerpts(&labelled.text, &text).1),
                Err(error) => ("the template fails", one_line(error.message())),
            };
            let message = format!("The template writes `{name}`, and the tokenizer's file does not set it: {what}.");
            let help = format!("write the token's text itself, or set `{name}` in tokenizer_config.json");
            let finding = Finding::new(rules::TOKEN_UNSET, message, help).at(writer(&labelled, name));
            Some(finding.with(context, format!("a text for `{name}`"), actual))
        })
    };
    unset.into_iter().filter(|(_, unset)| *unset).filter_map(of_token).collect()
}

fn date(subject: &Subject) -> Option<Finding> {
    let noon = Clock::default();
    let later = Clock { minute: 1, ..noon };
    let tomorrow = Clock { year: noon.year + 1, month: noon.month + 1, day: noon.day + 1, ..noon };
    conversations(subject).into_iter().find_map(|conversation| {
        let now = subject.text_at(&conversation, noon)?;
        let each_minute = subject.text_at(&conversation, later)? != now;
        let other = if each_minute { later } else { tomorrow };
        let then = subject.text_at(&conversation, other)?;
        if now == then {
            return None;
        }
        let how_often = if each_minute { "every minute" } else { "every day" };
        let message = format!(
            "The prompt contains the time and changes {how_often}. The server's cache of all conversations is then lost, \
             and renders cannot be repeated."
        );
        let help = "let the application pass the date, or write it after what seldom changes";
        let (expected, actual) = excerpts(&now, &then);
        let position = subject.statement(&conversation, common_prefix(&now, &then));
        Some(Finding::new(rules::DATE, message, help).at(position).with(subject.context(&conversation), expected, around(&actual, 0)))
    })
}
