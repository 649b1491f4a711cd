//! The triggers of a lazy grammar: the markers that announce a call.
//!
//! If a marker is unmistakable, the trigger is a word. Otherwise it is a pattern that also says what must come before
//! and after the marker: if the marker may end the turn, if it is only punctuation, or if calls inside reasoning must
//! be skipped. The group of the pattern is where the grammar begins.

use unjinja_runtime::Trigger;
use unjinja_runtime::abi::{Action, CallShape, Hole, Marker, Origin, Program, StateId, Transition};

use crate::free_text::LAYOUTS;
use crate::syntax::{WhiteSpace, json_text};
use crate::turn::{Offered, indents, layouts};

/// A name or an id that is not known in advance, in a pattern. A grammar has no limit; std::regex recurses for every character.
const UNKNOWN: &str = r#"[^\x00-\x1f"'\\\x7f]{1,64}"#;

/// The triggers of a grammar; none if no trigger can announce the calls safely.
pub(super) fn triggers(program: &Program, offered: &Offered, white_space: WhiteSpace) -> Vec<Trigger> {
    let space = space(program, white_space);
    let text = program.content;
    let content = openers(program, text);
    let starting = openers(program, program.start);
    // If another marker begins with the text of a call's marker, no trigger can tell them apart. The grammar must then
    // hold for the whole turn.
    let others = program.state(text).into_iter().flat_map(|state| state.arrows());
    let mut others = others.filter(|(m, step)| !m.confirm.is_end() && !step.actions.contains(&Action::Speculate));
    if others.any(|(other, _)| content.iter().any(|(marker, _)| other.core.starts_with(&*marker.core))) {
        return Vec::new();
    }
    let inside = program.reasoning.map(|state| openers(program, state));
    // Text in reasoning that looks like a call is not a call. The pattern has to skip it.
    let skip = match &inside {
        Some(inside) if content.iter().any(|(marker, _)| !inside.iter().any(|(m, _)| m.core == marker.core)) => {
            skip_reasoning(program)
        }
        _ => None,
    };
    let mut triggers: Vec<Trigger> = Vec::new();
    for (marker, next) in content.iter().chain(&starting) {
        let ends = program.states.iter().flat_map(|state| state.markers.list().iter());
        let ambiguous = ends.clone().any(|other| other.core == marker.core && other.confirm.is_end());
        let says_so = marker.core.starts_with(['<', '[']) && marker.core.len() > 2;
        let pattern = match (ambiguous || !says_so || !marker.take, shape(program, *next)) {
            (false, _) => None,
            (true, Some(shape)) if shape.strict => Some(bare(marker, shape, offered, &space)),
            (true, _) => forced(program, *next, &space)
                .or_else(|| named(program, *next, offered, &space))
                .map(|forced| format!("{}{forced}", escaped(&marker.core))),
        };
        let trigger = match (pattern, &skip) {
            (None, None) => Trigger::Word(marker.core.clone()),
            (pattern, skip) => {
                let pattern = pattern.unwrap_or_else(|| escaped(&marker.core));
                // llama.cpp searches for the pattern with std::regex, which recurses for every repeated character and
                // overflows the stack after some ten thousand. So the pattern skips text only if it must.
                let pattern = match skip {
                    Some(skip) => format!("^{skip}({pattern})"),
                    None => format!("({pattern})"),
                };
                Trigger::Pattern(pattern.into())
            }
        };
        if !triggers.contains(&trigger) {
            triggers.push(trigger);
        }
    }
    // llama.cpp uses the first trigger that matches. If one word ends with another, both match at the same place, and
    // the longer one is right.
    let length = |trigger: &Trigger| match trigger {
        Trigger::Word(word) => word.len(),
        Trigger::Pattern(_) => 0,
    };
    let mut sorted: Vec<Trigger> = Vec::with_capacity(triggers.len());
    for trigger in triggers {
        let at = sorted.partition_point(|other| length(other) >= length(&trigger));
        sorted.insert(at, trigger);
    }
    sorted
}

/// The white space that the grammar allows between pieces of syntax, as a pattern: llama.cpp ends a request with an error where a trigger
/// matches what the grammar refuses.
fn space(program: &Program, white_space: WhiteSpace) -> String {
    if white_space == WhiteSpace::Free {
        return "[ \\t\\n\\r]{0,20}".to_owned();
    }
    let indentation = indents(program).then(|| "\\n(?:  ){1,8}".to_owned());
    optional(layouts(program).iter().map(|layout| escaped(layout)).chain(indentation))
}

/// One of these patterns, or nothing.
fn optional(patterns: impl Iterator<Item = String>) -> String {
    let patterns: Vec<String> = patterns.filter(|pattern| !pattern.is_empty()).collect();
    format!("(?:{})?", patterns.join("|"))
}

/// The markers of a state with which a template may open a call, and the states after them.
fn openers(program: &Program, state: StateId) -> Vec<(&Marker, StateId)> {
    let Some(state) = program.state(state) else { return Vec::new() };
    let opens = |step: &Transition| step.origin == Origin::Canonical && step.does(&Action::Speculate);
    state.arrows().filter(|(_, step)| opens(step)).map(|(marker, step)| (marker, step.next)).collect()
}

fn shape(program: &Program, state: StateId) -> Option<&CallShape> {
    match &program.state(state)?.hole {
        Some(Hole::Object(shape)) => Some(shape),
        _ => None,
    }
}

/// The markers of which one must come in a state, as a pattern.
fn forced(program: &Program, state: StateId, space: &str) -> Option<String> {
    let node = program.state(state)?;
    if node.hole.is_some() || !node.otherwise.is_empty() || node.end.is_some() || node.markers.list().is_empty() {
        return None;
    }
    let cores: Vec<String> = node.markers.list().iter().map(|marker| escaped(&marker.core)).collect();
    Some(format!("{space}(?:{})", cores.join("|")))
}

/// The name of an offered function, and a marker after it, as a pattern, if only such a name makes a call in a state.
fn named(program: &Program, state: StateId, offered: &Offered, space: &str) -> Option<String> {
    let Offered::These(tools) = offered else { return None };
    let node = program.state(state)?;
    if !node.needs_offered_name() {
        return None;
    }
    let names: Vec<String> = tools.iter().map(|tool| escaped(&tool.name)).collect();
    let cores: Vec<String> = node.markers.list().iter().map(|marker| escaped(&marker.core)).collect();
    Some(format!("{space}(?:{}){space}(?:{})", names.join("|"), cores.join("|")))
}

/// The beginning of a call that is announced by JSON alone, as a pattern.
fn bare(marker: &Marker, shape: &CallShape, offered: &Offered, space: &str) -> String {
    let names: Vec<String> = match offered {
        Offered::Any => Vec::new(),
        Offered::These(tools) => tools
            .iter()
            .map(|tool| {
                let json = json_text(&tool.name);
                escaped(&json[1..json.len() - 1])
            })
            .collect(),
    };
    let name = if names.is_empty() { UNKNOWN.to_owned() } else { format!("(?:{})", names.join("|")) };
    let list = if marker.core == "[" { ["\\[", space].concat() } else { String::new() };
    let first = optional(LAYOUTS.iter().map(|layout| escaped(layout)));
    let field = |name: &str| escaped(name);
    let named = match &*shape.function_field {
        "" => format!("\"{}\"{space}:{space}\"{name}\"", field(&shape.name_field)),
        function => {
            format!(
                "\"{}\"{space}:{space}\\{{{space}\"{}\"{space}:{space}\"{name}\"",
                field(function),
                field(&shape.name_field)
            )
        }
    };
    // Other keys may come before the name.
    let others: Vec<String> =
        shape.keys.iter().chain(Some(&shape.id_field)).filter(|key| !key.is_empty()).map(|key| field(key)).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("(?:\"(?:{})\"{space}:{space}\"{UNKNOWN}\"{space},{space})*", others.join("|")),
    };
    if shape.name_is_key {
        return format!("{list}\\{{{first}\"{name}\"{space}:{space}\\{{");
    }
    format!("{list}\\{{{first}{others}{named}")
}

/// Text in which every opened reasoning block is closed, as a pattern.
fn skip_reasoning(program: &Program) -> Option<String> {
    let pick = |state: StateId, action: Action| {
        let mut both = program.state(state)?.arrows();
        both.find(|(_, step)| step.does(&action)).map(|(marker, _)| escaped(&marker.core))
    };
    let end = pick(program.reasoning?, Action::CloseReasoning)?;
    let start = pick(program.content, Action::OpenReasoning)?;
    Some(format!("(?:{start}[\\s\\S]*?{end}|(?!{start})[\\s\\S])*?"))
}

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
