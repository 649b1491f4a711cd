//! Whether a template writes earlier turns anew as a conversation continues, and whether one condition repairs it.

use std::ops::Range;

use serde_json::Value;
use unjinja_dynamic::{Conversation, Loader, Model, Source, Template};
use unjinja_render::with_big_stack;
use unjinja_spec::FormatSpec;

use super::conversations;
use super::renders::Renders;
use crate::expressions::conditions;

/// Random conversations that are tried.
const RANDOM: usize = 24;

/// Whether a conversation only grows at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrefixState {
    /// Whatever follows a turn of the assistant, its text stays as it was.
    Stable,
    /// It does not, but with one condition changed it does. Nothing else changes than which reasoning is written.
    Repairable {
        /// The repaired source.
        source: String,
        /// The line of the condition, from 1.
        line: usize,
        /// The condition, and the constant that replaces it.
        change: (String, &'static str),
    },
    /// No change of one condition repairs it.
    Changes,
}

/// Tries whether earlier turns stay as they were written, and looks for the condition that does it.
///
/// ```
/// use unjinja_dynamic::Model;
/// use unjinja_export::training::{PrefixState, prefix_state};
///
/// let model = Model::from_template("{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content and loop.last %}<think>\
///     {{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<|end|>{% endfor %}\
///     {% if add_generation_prompt %}<|assistant|>{% endif %}")?;
/// let PrefixState::Repairable { change, .. } = prefix_state(&model) else { return Err("no repair".into()) };
/// assert_eq!(change, ("loop.last".to_owned(), "true"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prefix_state(model: &Model) -> PrefixState {
    with_big_stack(|| state(model)).unwrap_or(PrefixState::Changes)
}

/// The same for a template and its spec; without one, the template is analysed.
pub fn prefix_state_of(template: &Template, spec: Option<&FormatSpec>) -> PrefixState {
    let loader = Loader::new().tokens(template.tokens().clone()).limits(template.limits().clone());
    let loader = spec.map_or(loader.clone(), |spec| loader.committed_spec(spec.clone()));
    let model = loader.from_source(Source::from_text(template.name(), template.source()));
    model.map_or(PrefixState::Changes, |model| prefix_state(&model))
}

fn state(model: &Model) -> PrefixState {
    let Ok(template) = model.parsed_template() else { return PrefixState::Changes };
    let trials = Renders::new(model, template);
    let steps = continuations(&trials);
    if steps.iter().all(|step| step.grows(template)) {
        return PrefixState::Stable;
    }
    let markers = [&model.spec().reasoning.start, &model.spec().reasoning.end].map(|marker| squeezed(marker));
    let source = template.source();
    let mut best: Option<(usize, PrefixState)> = None;
    for range in parts_of_conditions(source) {
        for constant in ["true", "false"] {
            let condition = source.get(range.clone()).unwrap_or_default();
            let changed = format!("{}{constant}{}", &source[..range.start], &source[range.end..]);
            let Some(repaired) = trials.template_of(&changed) else { continue };
            if !steps.iter().all(|step| step.grows(&repaired)) {
                continue;
            }
            let differing = steps.iter().map(|step| step.differs(template, &repaired, &markers)).sum::<Option<usize>>();
            let Some(count) = differing.filter(|count| best.as_ref().is_none_or(|(best, _)| count < best)) else {
                continue;
            };
            let line = source[..range.start].matches('\n').count() + 1;
            let change = (condition.to_owned(), constant);
            best = Some((count, PrefixState::Repairable { source: changed, line, change }));
        }
    }
    best.map_or(PrefixState::Changes, |(_, state)| state)
}

/// The conditions of a source, and the parts of those with `and` and `or`.
fn parts_of_conditions(source: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for range in conditions(source) {
        found.push(range.clone());
        let condition = &source[range.clone()];
        for word in [" and ", " or "] {
            let mut from = 0;
            let parts: Vec<&str> = condition.split(word).collect();
            for part in parts.iter().filter(|_| parts.len() > 1) {
                let lead = part.len() - part.trim_start().len();
                let start = range.start + from + lead;
                let is_whole = part.matches('(').count() == part.matches(')').count();
                found.extend(is_whole.then_some(start..start + part.trim().len()));
                from += part.len() + word.len();
            }
        }
    }
    found
}

/// A conversation that ends with a turn of the assistant, and the same conversation later.
struct Continuation {
    short: Value,
    long: Value,
    /// The reasoning of all turns, without white space.
    reasoning: Vec<String>,
}

fn continuations(trials: &Renders<'_>) -> Vec<Continuation> {
    let mut found = Vec::new();
    for conversation in conversations::of_each_kind().into_iter().chain(conversations::random(RANDOM)) {
        let conversation = conversation.generation_prompt(false);
        let messages = conversation.messages().to_vec();
        let answers = (0..messages.len()).filter(|at| messages[*at]["role"] == "assistant");
        let reasoning: Vec<String> =
            messages.iter().filter_map(|message| message["reasoning_content"].as_str()).map(squeezed).collect();
        let of = |messages: &[Value]| -> Option<Value> {
            let conversation: Conversation = conversation.clone().with_messages(messages.to_vec());
            Some(trials.of(&conversation)?.context)
        };
        for end in answers.map(|at| at + 1).filter(|end| *end < messages.len()) {
            if let (Some(short), Some(long)) = (of(&messages[..end]), of(&messages)) {
                found.push(Continuation { short, long, reasoning: reasoning.clone() });
            }
        }
    }
    found
}

impl Continuation {
    fn grows(&self, template: &Template) -> bool {
        match (template.render(&self.short), template.render(&self.long)) {
            (Ok(short), Ok(long)) => long.starts_with(&short),
            // What cannot be rendered is not written anew.
            _ => true,
        }
    }

    /// How many of both texts differ; `None` if another text than reasoning does.
    fn differs(&self, before: &Template, after: &Template, markers: &[String; 2]) -> Option<usize> {
        let mut count = 0;
        for context in [&self.short, &self.long] {
            match (before.render(context), after.render(context)) {
                (Ok(before), Ok(after)) if before == after => {}
                (Err(_), Err(_)) => {}
                (Ok(before), Ok(after)) => {
                    let (was, is) = (squeezed(&before), squeezed(&after));
                    // Reasoning may only be added.
                    let lost = |part: &&String| was.contains(part.as_str()) && !is.contains(part.as_str());
                    self.reasoning.iter().find(lost).is_none().then_some(())?;
                    (self.bare(&before, markers) == self.bare(&after, markers)).then_some(())?;
                    count += 1;
                }
                _ => return None,
            }
        }
        Some(count)
    }

    /// A text without reasoning, its markers and white space.
    fn bare(&self, text: &str, markers: &[String; 2]) -> String {
        let removed = self.reasoning.iter().chain(markers).filter(|part| !part.is_empty());
        removed.fold(squeezed(text), |text, part| text.replace(part.as_str(), ""))
    }
}

/// A text without white space.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}
