//! Conditions that may tell which text the model writes: whether the message is the assistant's, and what the template itself asks.
//! An experiment decides which of them does.

use super::expression::asked_in;
use super::probe::{Surroundings, executions};
use super::renders::{MarkedRender, Renders};
use super::tree::Leaf;
use crate::expressions::{conditions, field_reads};
use crate::tags::{TagKind, tags};

/// More conditions than this are not tried at one place.
const MOST: usize = 200;

const KEYWORDS: &str = "if elif else endif for endfor in is not and or set endset loop macro endmacro true false none \
    generation";

/// The conditions that can be asked where a statement is, the most telling first.
pub(super) fn candidates(source: &str, leaf: &Leaf) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for item in leaf.items.iter().rev() {
        let styles = [format!("{item}['role']"), format!("{item}[\"role\"]"), format!("{item}.role")];
        let style = styles.iter().find(|style| source.contains(style.as_str()));
        found.extend(style.map(|style| format!("{style} == 'assistant'")));
    }
    // What decides how a prompt ends is asked at the end of a template.
    let asked = conditions(source).into_iter().map(|range| (range.start, &source[range]));
    let emitted = tags(source).into_iter().filter(|tag| tag.kind != TagKind::Comment).flat_map(|tag| {
        let from = if tag.kind == TagKind::Emit { Some(0) } else { tag.content(source).find('=').map(|at| at + 1) };
        let expression = from.filter(|_| tag.kind == TagKind::Emit || tag.word(source) == "set");
        let expression = expression.and_then(|from| tag.content(source).get(from..)).unwrap_or_default();
        asked_in(expression).into_iter().map(|test| (tag.range.start, test)).collect::<Vec<_>>()
    });
    let mut asked: Vec<(usize, &str)> = asked.chain(emitted).collect();
    asked.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (_, condition) in asked {
        found.push(condition.to_owned());
        for word in [" and ", " or "] {
            found.extend(condition.split(word).map(|part| part.trim().to_owned()).filter(|_| condition.contains(word)));
        }
    }
    let reads = field_reads(source).into_iter().filter(|read| !KEYWORDS.split(' ').any(|word| word == read.field));
    found.extend(reads.map(|read| source[read.range].to_owned()));
    let mut unique: Vec<String> = Vec::new();
    for condition in found {
        if !unique.contains(&condition) && unique.len() < MOST {
            unique.push(condition);
        }
    }
    unique
}

/// Those that can be asked in all runs of a statement.
pub(super) fn askable(
    trials: &Renders<'_>,
    tried: &[MarkedRender],
    around: &Surroundings,
    pieces: &[String],
    conditions: &[String],
) -> Vec<String> {
    if conditions.is_empty() || executions(trials, tried, around, pieces, conditions).is_some() {
        return conditions.to_vec();
    }
    if conditions.len() == 1 {
        return Vec::new();
    }
    let (first, second) = conditions.split_at(conditions.len() / 2);
    let mut found = askable(trials, tried, around, pieces, first);
    found.extend(askable(trials, tried, around, pieces, second));
    found
}

/// A condition that holds exactly in the wanted runs: one that was asked, its opposite, or two of them together. `answers` has for each
/// condition what it was in each run.
pub(super) fn telling(conditions: &[String], answers: &[Vec<bool>], wanted: &[bool]) -> Option<String> {
    // Each condition and its opposite, without those that tell nothing.
    let mut asked: Vec<(String, Vec<bool>)> = Vec::new();
    for (condition, answers) in conditions.iter().zip(answers) {
        if answers.iter().all(|answer| *answer) || !answers.contains(&true) {
            continue;
        }
        if asked.iter().any(|(_, known)| known == answers) {
            continue;
        }
        let opposite: Vec<bool> = answers.iter().map(|answer| !answer).collect();
        asked.push((condition.clone(), answers.clone()));
        asked.push((negated(condition), opposite));
    }
    if let Some((condition, _)) = asked.iter().find(|(_, answers)| answers == wanted) {
        return Some(condition.clone());
    }
    let pairs = |holds: fn(bool, bool) -> bool, word: &str| {
        asked.iter().enumerate().find_map(|(at, (first, a))| {
            let second = asked
                .iter()
                .skip(at + 1)
                .find(|(_, b)| a.iter().zip(b).zip(wanted).all(|((a, b), wanted)| holds(*a, *b) == *wanted));
            second.map(|(second, _)| format!("{} {word} {}", bracketed(first), bracketed(second)))
        })
    };
    pairs(|a, b| a && b, "and").or_else(|| pairs(|a, b| a || b, "or"))
}

fn bracketed(condition: &str) -> String {
    let is_simple = [" and ", " or ", " if ", "not "].iter().all(|word| !condition.contains(word));
    if is_simple { condition.to_owned() } else { format!("({condition})") }
}

fn negated(condition: &str) -> String {
    format!("not {}", bracketed(condition))
}

#[cfg(test)]
mod tests {
    use super::telling;

    #[test]
    fn the_condition_that_tells_is_found() {
        let conditions = ["a == 1", "b or c", "true"].map(str::to_owned);
        let answers = [vec![true, true, false, false], vec![true, false, true, false], vec![true; 4]];
        let find = |wanted: [bool; 4]| telling(&conditions, &answers, &wanted);
        assert_eq!(find([true, true, false, false]).as_deref(), Some("a == 1"));
        assert_eq!(find([false, true, false, true]).as_deref(), Some("not (b or c)"));
        assert_eq!(find([true, false, false, false]).as_deref(), Some("a == 1 and (b or c)"));
        assert_eq!(find([false, true, true, true]).as_deref(), Some("(not a == 1) or (not (b or c))"));
        assert_eq!(find([true, false, false, true]), None);
    }
}
