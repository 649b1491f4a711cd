//! Puts the marks into a template, and shows that they are right.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use unjinja_dynamic::{Model, Template};
use unjinja_render::{RenderOptions, with_big_stack};

use super::conversations;
use super::obstacle::{MarkObstacle, ObstacleKind};
use super::renders::{Lines, MarkedRender, Renders, marked, statements};
use super::rewrite::rewritten;
use super::tree::{Leaf, LeafKind, leaves, tree};
use super::wrap::{Seen, wrapped};
use crate::tags::{TagKind, tags};

/// Random conversations that are tried.
const RANDOM: usize = 60;
/// How often statements may be taken apart.
const MOST_CHANGES: usize = 120;
/// How often a conversation that shows a fault may be taken into account.
const MOST_ROUNDS: usize = 12;

/// A template with `{% generation %}`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainingTemplate {
    /// Its source.
    pub source: String,
    /// The conversations that were rendered with both templates. All have the same text and the right marks.
    pub conversations: Vec<MarkedConversation>,
    /// Conversations that both templates refuse.
    pub refused: usize,
    /// What marks the template had before.
    pub before: KnownMarks,
}

/// A conversation that was tried.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MarkedConversation {
    /// The variables that the template got.
    pub context: Value,
    /// What the template writes.
    pub text: String,
    /// The bytes that the model writes, in order.
    pub by_model: Vec<Range<usize>>,
}

impl MarkedConversation {
    fn of(trial: MarkedRender) -> Option<Self> {
        let mut by_model: Vec<Range<usize>> = Vec::new();
        for at in trial.mask.iter().enumerate().filter(|(_, is)| **is).map(|(at, _)| at) {
            match by_model.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => by_model.push(at..at + 1),
            }
        }
        Some(Self { context: trial.context, text: trial.text?, by_model })
    }
}

/// The marks that a template had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownMarks {
    /// Whether it had `{% generation %}`.
    pub any: bool,
    /// In how many of the conversations they are what the model writes.
    pub right: usize,
    /// In how many they are not.
    pub wrong: usize,
}

/// Makes the template for training of a model's template. `further` are the variables of renders that are tried as well, such
/// as those of all rules of `unjinja-lint`.
///
/// # Errors
/// Marks cannot be put in so that they are right for all conversations that were tried.
pub fn mark_generation(model: &Model, further: Vec<Value>) -> Result<TrainingTemplate, Box<MarkObstacle>> {
    let nothing = |file: &str| {
        Box::new(MarkObstacle {
            kind: ObstacleKind::NotRendered,
            file: file.to_owned(),
            line: None,
            column: None,
            conversation: Value::Null,
            text: String::new(),
        })
    };
    let Ok(template) = model.parsed_template() else { return Err(nothing(model.name())) };
    with_big_stack(|| mark_here(model, template, further)).unwrap_or_else(|_| Err(nothing(template.name())))
}

fn mark_here(model: &Model, template: &Template, further: Vec<Value>) -> Result<TrainingTemplate, Box<MarkObstacle>> {
    let trials = Renders::new(model, template);
    let work = Work { trials: &trials };
    let mut working: Vec<MarkedRender> = Vec::new();
    let reasoning = &model.spec().reasoning;
    let mut kinds = conversations::of_each_kind();
    kinds.extend(conversations::with_inline_reasoning(&reasoning.start, &reasoning.end));
    add(&mut working, kinds.iter().filter_map(|conversation| trials.of(conversation)));
    let switched = conversations::with_switch(&kinds);
    add(&mut working, switched.iter().filter_map(|conversation| trials.of(conversation)));
    if !working.iter().any(|trial| trial.mask.contains(&true)) {
        return Err(Box::new(work.obstacle(ObstacleKind::NotRendered, None)));
    }
    let mut all = working.clone();
    let random = conversations::random(RANDOM);
    add(&mut all, random.iter().filter_map(|conversation| trials.of(conversation)));
    let switched = conversations::with_switch(&random);
    add(&mut all, switched.iter().step_by(3).filter_map(|conversation| trials.of(conversation)));
    add(&mut all, further.into_iter().map(|context| trials.of_context(context)));

    let before = work.known_marks(&all);
    let done = |source: String, all: Vec<MarkedRender>| {
        let tried = all.len();
        let conversations: Vec<MarkedConversation> = all.into_iter().filter_map(MarkedConversation::of).collect();
        let refused = tried - conversations.len();
        TrainingTemplate { source, conversations, refused, before }
    };
    if before.any && before.wrong == 0 {
        return Ok(done(template.source().to_owned(), all));
    }
    let plain = work.without_marks(&all);
    for _ in 0..MOST_ROUNDS {
        let source = work.marked_source(&plain, &working)?;
        match work.fault(&source, &all) {
            None => return Ok(done(source, all)),
            Some(fault) => {
                let Some(trial) = all.get(fault.trial) else { break };
                if working.iter().any(|known| known.context == trial.context) {
                    return Err(Box::new(work.obstacle(fault.kind, Some((trial, fault.at)))));
                }
                working.push(trial.clone());
            }
        }
    }
    Err(Box::new(work.obstacle(ObstacleKind::OtherMask, None)))
}

/// Adds those that are new.
fn add(list: &mut Vec<MarkedRender>, new: impl Iterator<Item = MarkedRender>) {
    for trial in new {
        if !list.iter().any(|known| known.context == trial.context) {
            list.push(trial);
        }
    }
}

/// The source with other tags, or none, in place of `{% generation %}`.
fn with_other_marks(source: &str, open: &str, close: &str) -> String {
    let mut text = source.to_owned();
    for tag in tags(source).into_iter().rev().filter(|tag| tag.kind == TagKind::Block) {
        let new = match tag.content(source) {
            "generation" => open,
            "endgeneration" => close,
            _ => continue,
        };
        text.replace_range(if new.is_empty() { tag.range } else { tag.content }, new);
    }
    text
}

/// What is wrong with a marked template.
struct Fault {
    kind: ObstacleKind,
    trial: usize,
    /// The first byte of the text that shows it.
    at: usize,
}

struct Work<'t, 'm> {
    trials: &'t Renders<'m>,
}

/// A statement, and what was seen of it.
struct Observed {
    leaf: Leaf,
    seen: Seen,
    /// A trial that shows text of both, or of the model, and the first byte of it.
    shown: Option<(usize, usize)>,
}

impl Work<'_, '_> {
    /// The source without the marks that it had. Variables that are set in a mark end with it, and so they do in `{% with %}`.
    fn without_marks(&self, all: &[MarkedRender]) -> String {
        let source = self.trials.template.source();
        let without = with_other_marks(source, "", "");
        let is_same = self
            .trials
            .template_of(&without)
            .is_some_and(|template| all.iter().all(|trial| template.render(&trial.context).ok() == trial.text));
        if is_same { without } else { with_other_marks(source, "with", "endwith") }
    }

    /// The source with marks that are right for these conversations.
    fn marked_source(&self, plain: &str, working: &[MarkedRender]) -> Result<String, Box<MarkObstacle>> {
        let mut source = plain.to_owned();
        for _ in 0..MOST_CHANGES {
            let nodes = tree(&source);
            let observed = self.observe(&source, leaves(&nodes), working)?;
            let mixed = observed.iter().find(|one| one.seen.by_model && one.seen.by_prompt);
            let captured = observed.iter().find(|one| one.seen.by_model && matches!(one.leaf.kind, LeafKind::Opaque));
            if let Some(one) = captured {
                return Err(Box::new(self.obstacle_of(ObstacleKind::Captured, one, working)));
            }
            let Some(mixed) = mixed else {
                let seen = observed.iter().map(|one| (one.leaf.range.start, one.seen)).collect::<BTreeMap<_, _>>();
                return Ok(wrapped(&source, &nodes, &seen));
            };
            let Some(next) = rewritten(self.trials, working, &source, &mixed.leaf) else {
                return Err(Box::new(self.obstacle_of(ObstacleKind::SharedStatement, mixed, working)));
            };
            source = next;
        }
        Err(Box::new(self.obstacle(ObstacleKind::SharedStatement, None)))
    }

    /// Which statements write text of the model, and which text of the prompt.
    fn observe(
        &self,
        source: &str,
        leaves: Vec<Leaf>,
        working: &[MarkedRender],
    ) -> Result<Vec<Observed>, Box<MarkObstacle>> {
        let other = |trial| Box::new(self.obstacle(ObstacleKind::OtherText, trial));
        let Some(template) = self.trials.template_of(source) else { return Err(other(None)) };
        let lines = Lines::new(source);
        let mut observed: Vec<Observed> =
            leaves.into_iter().map(|leaf| Observed { leaf, seen: Seen::default(), shown: None }).collect();
        for (number, trial) in working.iter().enumerate() {
            let Some(text) = &trial.text else { continue };
            let written = statements(&template, &lines, &trial.context).filter(|written| written.text == *text);
            let Some(written) = written else { return Err(other(Some((trial, 0)))) };
            for (at, (place, by_model)) in written.places.iter().zip(&trial.mask).enumerate() {
                let index = observed.partition_point(|one| one.leaf.range.end <= *place);
                let Some(one) = observed.get_mut(index).filter(|one| one.leaf.range.contains(place)) else { continue };
                let was_mixed = one.seen.by_model && one.seen.by_prompt;
                if *by_model {
                    one.seen.by_model = true;
                } else {
                    one.seen.by_prompt = true;
                }
                let is_mixed = one.seen.by_model && one.seen.by_prompt;
                if *by_model && one.shown.is_none() || is_mixed && !was_mixed {
                    one.shown = Some((number, at));
                }
            }
        }
        Ok(observed)
    }

    /// The first conversation that shows that a marked source is wrong.
    fn fault(&self, source: &str, all: &[MarkedRender]) -> Option<Fault> {
        let Some(template) = self.trials.template_of(source) else {
            return Some(Fault { kind: ObstacleKind::OtherText, trial: 0, at: 0 });
        };
        let (ranges, lines) = (marked(&tree(source)), Lines::new(source));
        all.iter().enumerate().find_map(|(number, trial)| {
            let fault = |kind, at| Some(Fault { kind, trial: number, at });
            let Some(text) = &trial.text else {
                let is_refused = template.render(&trial.context).is_err();
                return if is_refused { None } else { fault(ObstacleKind::OtherText, 0) };
            };
            let written = statements(&template, &lines, &trial.context).filter(|written| written.text == *text);
            let Some(written) = written else { return fault(ObstacleKind::OtherText, 0) };
            let at = first_difference(&written.places, &ranges, &trial.mask)?;
            fault(ObstacleKind::OtherMask, at)
        })
    }

    /// How the marks that the template has compare.
    fn known_marks(&self, all: &[MarkedRender]) -> KnownMarks {
        let source = self.trials.template.source();
        let (ranges, lines) = (marked(&tree(source)), Lines::new(source));
        let any = tags(source).iter().any(|tag| tag.word(source) == "generation");
        let mut known = KnownMarks { any, ..KnownMarks::default() };
        for trial in all.iter().filter(|trial| any && trial.text.is_some()) {
            let written = statements(self.trials.template, &lines, &trial.context);
            let is_right =
                written.is_some_and(|written| first_difference(&written.places, &ranges, &trial.mask).is_none());
            *if is_right { &mut known.right } else { &mut known.wrong } += 1;
        }
        known
    }

    fn obstacle_of(&self, kind: ObstacleKind, one: &Observed, working: &[MarkedRender]) -> MarkObstacle {
        let shown = one.shown.and_then(|(trial, at)| Some((working.get(trial)?, at)));
        self.obstacle(kind, shown)
    }

    fn obstacle(&self, kind: ObstacleKind, shown: Option<(&MarkedRender, usize)>) -> MarkObstacle {
        let template = self.trials.template;
        let file = template.name().to_owned();
        let Some((trial, at)) = shown else {
            return MarkObstacle {
                kind,
                file,
                line: None,
                column: None,
                conversation: Value::Null,
                text: String::new(),
            };
        };
        let labels = template.render_with(&trial.context, &RenderOptions::new().label(true)).labels;
        let position = labels.and_then(|labels| labels.statement_at(at));
        let text = trial.text.as_deref().map(|text| excerpt(text, at)).unwrap_or_default();
        MarkObstacle {
            kind,
            file,
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            conversation: trial.context.clone(),
            text,
        }
    }
}

/// The first byte that is marked and not the model's, or the other way round.
fn first_difference(places: &[usize], ranges: &[Range<usize>], mask: &[bool]) -> Option<usize> {
    let is_marked = |place: &usize| ranges.iter().any(|range| range.contains(place));
    places.iter().zip(mask).position(|(place, by_model)| is_marked(place) != *by_model)
}

/// A text around a byte.
fn excerpt(text: &str, at: usize) -> String {
    let near = |from: usize| (0..=from.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text.get(near(at.saturating_sub(30))..near(at + 30)).unwrap_or_default().to_owned()
}
