//! What a lazy grammar begins with: the markers that announce a call.
//!
//! A marker that says so by itself is a word. Where it does not (it may also end the turn, it is punctuation, or a
//! call inside reasoning is none), a pattern says what must stand before and behind it; its group is where the grammar
//! begins.

use std::cmp::Reverse;

use unjinja_runtime::Trigger;
use unjinja_runtime::abi_2::{Action, CallShape, Confirm, Hole, Marker, Program, StateId};

use super::turn::Offered;

/// What begins calls.
pub(super) fn triggers(program: &Program, offered: &Offered) -> Vec<Trigger> {
    let text = program.content;
    let content = openers(program, text);
    let starting = openers(program, program.start);
    // Where the marker of something else begins like that of a call, no trigger can tell: the whole turn has to be held.
    let others = program.state(text).into_iter().flat_map(|state| state.arrows());
    let mut others = others.filter(|(m, step)| m.confirm != Confirm::End && !step.actions.contains(&Action::Speculate));
    if others.any(|(other, _)| content.iter().any(|(marker, _)| other.core.starts_with(&*marker.core))) {
        return Vec::new();
    }
    let inside = program.reasoning.map(|state| openers(program, state));
    // A call inside reasoning is none: the pattern has to skip it.
    let skip = match &inside {
        Some(inside) if content.iter().any(|(marker, _)| !inside.iter().any(|(m, _)| m.core == marker.core)) => {
            skip_reasoning(program)
        }
        _ => None,
    };
    let mut triggers: Vec<Trigger> = Vec::new();
    for (marker, next) in content.iter().chain(&starting) {
        let ends = program.states.iter().flat_map(|state| state.markers.list());
        let ambiguous = ends.clone().any(|other| other.core == marker.core && other.confirm == Confirm::End);
        let says_so = marker.core.starts_with(['<', '[']) && marker.core.len() > 2;
        let behind = match (ambiguous || !says_so || !marker.take, shape(program, *next)) {
            (false, _) => None,
            (true, Some(shape)) if shape.strict => Some(bare(marker, shape, offered)),
            (true, _) => forced(program, *next).map(|forced| format!("{}{forced}", escaped(&marker.core))),
        };
        let trigger = match (behind, &skip) {
            (None, None) => Trigger::Word(marker.core.clone()),
            (behind, skip) => {
                let behind = behind.unwrap_or_else(|| escaped(&marker.core));
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
fn openers(program: &Program, state: StateId) -> Vec<(&Marker, StateId)> {
    let Some(state) = program.state(state) else { return Vec::new() };
    state.arrows().filter(|(_, step)| step.does(&Action::Speculate)).map(|(marker, step)| (marker, step.next)).collect()
}

/// The shape of the call that is read in a state.
fn shape(program: &Program, state: StateId) -> Option<&CallShape> {
    match &program.state(state)?.hole {
        Some(Hole::Object(shape)) => Some(shape),
        _ => None,
    }
}

/// The markers that have to stand in a state, as a pattern.
fn forced(program: &Program, state: StateId) -> Option<String> {
    let node = program.state(state)?;
    if node.hole.is_some() || node.otherwise.is_some() || node.end.is_some() || node.markers.list().is_empty() {
        return None;
    }
    let cores: Vec<String> = node.markers.list().iter().map(|marker| escaped(&marker.core)).collect();
    Some(format!("\\s*(?:{})", cores.join("|")))
}

/// The beginning of a call that nothing but JSON announces, as a pattern.
fn bare(marker: &Marker, shape: &CallShape, offered: &Offered) -> String {
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
    let named = match &*shape.function_field {
        "" => format!("\"{}\"\\s*:\\s*\"{name}\"", field(&shape.name_field)),
        function => {
            format!("\"{}\"\\s*:\\s*\\{{\\s*\"{}\"\\s*:\\s*\"{name}\"", field(function), field(&shape.name_field))
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
fn skip_reasoning(program: &Program) -> Option<String> {
    let pick = |state: StateId, action: Action| {
        let mut both = program.state(state)?.arrows();
        both.find(|(_, step)| step.does(&action)).map(|(marker, _)| escaped(&marker.core))
    };
    let end = pick(program.reasoning?, Action::CloseReasoning)?;
    let start = pick(program.content, Action::OpenReasoning)?;
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
