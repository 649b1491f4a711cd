//! What a lazy grammar begins with: the markers that announce a call.
//!
//! A marker that says so by itself is a word. Where it does not (it may also end the turn, it is punctuation, or a
//! call inside reasoning is none), a pattern says what must stand before and behind it; its group is where the grammar
//! begins.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::plan::{Act, Plan, Reads};
use super::turn::Offered;
use crate::call_object::CallShape;
use crate::machine::State;
use crate::markers::{Confirm, Marker};

/// What a lazy grammar begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// This text, wherever it stands; the grammar begins with it.
    Word(Cow<'static, str>),
    /// A regular expression (as ECMAScript has them) over all text that the model wrote so far. The grammar begins
    /// where its first group does.
    Pattern(Cow<'static, str>),
}

impl Trigger {
    /// A word.
    pub const fn of_word(word: &'static str) -> Self {
        Self::Word(Cow::Borrowed(word))
    }

    /// A pattern.
    pub const fn of_pattern(pattern: &'static str) -> Self {
        Self::Pattern(Cow::Borrowed(pattern))
    }

    /// `word` or `pattern`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Word(_) => "word",
            Self::Pattern(_) => "pattern",
        }
    }

    /// The text or the regular expression.
    pub fn value(&self) -> &str {
        match self {
            Self::Word(value) | Self::Pattern(value) => value,
        }
    }
}

/// What begins calls.
pub(super) fn triggers(plan: &Plan<'_>, offered: &Offered) -> Vec<Trigger> {
    let text = State(plan.content.0);
    let content = openers(plan, text);
    let starting = openers(plan, plan.start);
    // Where the marker of something else begins like that of a call, no trigger can tell: the whole turn has to be held.
    let others =
        plan.nodes.get(usize::from(text.0)).into_iter().flat_map(|node| node.markers.list.iter().zip(node.steps));
    let mut others = others.filter(|(m, step)| m.confirm != Confirm::End && !step.acts.contains(&Act::OpenCall));
    if others.any(|(other, _)| content.iter().any(|(marker, _)| other.core.starts_with(marker.core))) {
        return Vec::new();
    }
    let inside = plan.reasoning.map(|state| openers(plan, state));
    // A call inside reasoning is none: the pattern has to skip it.
    let skip = match &inside {
        Some(inside) if content.iter().any(|(marker, _)| !inside.iter().any(|(m, _)| m.core == marker.core)) => {
            skip_reasoning(plan)
        }
        _ => None,
    };
    let mut triggers: Vec<Trigger> = Vec::new();
    for (marker, next) in content.iter().chain(&starting) {
        let ends = plan.nodes.iter().flat_map(|node| node.markers.list);
        let ambiguous = ends.clone().any(|other| other.core == marker.core && other.confirm == Confirm::End);
        let says_so = marker.core.starts_with(['<', '[']) && marker.core.len() > 2;
        let behind = match (ambiguous || !says_so || !marker.take, shape(plan, *next)) {
            (false, _) => None,
            (true, Some(shape)) if shape.strict => Some(bare(marker, &shape, offered)),
            (true, _) => forced(plan, *next).map(|forced| format!("{}{forced}", escaped(marker.core))),
        };
        let trigger = match (behind, &skip) {
            (None, None) => Trigger::Word(marker.core.to_owned().into()),
            (behind, skip) => {
                let behind = behind.unwrap_or_else(|| escaped(marker.core));
                // The engine searches. It recurs for every character that a pattern repeats over: where nothing has to
                // be skipped, nothing must be, for the stack ends at some ten thousand.
                let pattern = match skip {
                    Some(skip) => format!("^{skip}({behind})"),
                    None => format!("({behind})"),
                };
                Trigger::Pattern(pattern.into())
            }
        };
        if !triggers.contains(&trigger) {
            triggers.push(trigger);
        }
    }
    // The engine takes the first that it finds. Where one is the end of another, both come to be at once, and the longer
    // is what was written.
    triggers.sort_by_key(|trigger| match trigger {
        Trigger::Word(word) => Reverse(word.len()),
        Trigger::Pattern(_) => Reverse(0),
    });
    triggers
}

/// The markers of a state that may open a call, and where they lead.
fn openers<'p>(plan: &Plan<'p>, state: State) -> Vec<(Marker<'p>, State)> {
    let Some(node) = plan.nodes.get(usize::from(state.0)) else { return Vec::new() };
    let both = node.markers.list.iter().zip(node.steps);
    both.filter(|(_, step)| step.acts.contains(&Act::OpenCall)).map(|(marker, step)| (*marker, step.next)).collect()
}

/// The shape of the call that stands in a state.
fn shape<'p>(plan: &Plan<'p>, state: State) -> Option<CallShape<'p>> {
    match plan.nodes.get(usize::from(state.0))?.reads {
        Reads::Object(shape) => Some(shape),
        _ => None,
    }
}

/// The markers that have to stand in a state, as a pattern.
fn forced(plan: &Plan<'_>, state: State) -> Option<String> {
    let node = plan.nodes.get(usize::from(state.0))?;
    if node.reads != Reads::Markers || node.otherwise.is_some() || node.end.is_some() || node.markers.list.is_empty() {
        return None;
    }
    let cores: Vec<String> = node.markers.list.iter().map(|marker| escaped(marker.core)).collect();
    Some(format!("\\s*(?:{})", cores.join("|")))
}

/// The beginning of a call that nothing but JSON announces, as a pattern.
fn bare(marker: &Marker<'_>, shape: &CallShape<'_>, offered: &Offered) -> String {
    let names: Vec<String> = match offered {
        Offered::Any => Vec::new(),
        Offered::These(tools) => tools
            .iter()
            .map(|tool| {
                let json = serde_json::Value::String(tool.name.clone()).to_string();
                escaped(&json[1..json.len() - 1])
            })
            .collect(),
    };
    let name = if names.is_empty() { "[^\"]+".to_owned() } else { format!("(?:{})", names.join("|")) };
    let list = if marker.core == "[" { "\\[\\s*" } else { "" };
    let field = |name: &str| escaped(name);
    let named = match shape.function_field {
        "" => format!("\"{}\"\\s*:\\s*\"{name}\"", field(shape.name_field)),
        function => {
            format!("\"{}\"\\s*:\\s*\\{{\\s*\"{}\"\\s*:\\s*\"{name}\"", field(function), field(shape.name_field))
        }
    };
    // Other keys may stand before the name.
    let others: Vec<String> =
        shape.keys.iter().chain(Some(&shape.id_field)).filter(|key| !key.is_empty()).map(|key| field(key)).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("(?:\"(?:{})\"\\s*:\\s*\"[^\"]*\"\\s*,\\s*)*", others.join("|")),
    };
    if shape.name_is_key {
        return format!("{list}\\{{\\s*\"{name}\"\\s*:\\s*\\{{");
    }
    format!("{list}\\{{\\s*{others}{named}")
}

/// Text in which all reasoning that is opened is closed.
fn skip_reasoning(plan: &Plan<'_>) -> Option<String> {
    let pick = |state: State, act: Act<'_>| {
        let node = plan.nodes.get(usize::from(state.0))?;
        let mut both = node.markers.list.iter().zip(node.steps);
        both.find(|(_, step)| step.acts.contains(&act)).map(|(marker, _)| escaped(marker.core))
    };
    let end = pick(plan.reasoning?, Act::CloseReasoning)?;
    let start = pick(plan.content, Act::OpenReasoning)?;
    Some(format!("(?:{start}[\\s\\S]*?{end}|(?!{start})[\\s\\S])*?"))
}

/// A text as a pattern that matches it.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => pattern.push_str("\\n"),
            '\t' => pattern.push_str("\\t"),
            '\r' => pattern.push_str("\\r"),
            '\\' | '^' | '$' | '.' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}' => {
                pattern.push('\\');
                pattern.push(char);
            }
            char => pattern.push(char),
        }
    }
    pattern
}
