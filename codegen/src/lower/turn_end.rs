//! The end of a turn.

use std::collections::BTreeSet;

use unjinja_runtime::abi::is_special_token;
use unjinja_spec::{END_OF_TEXT, MarkerKey, MarkerText, ToolFormat};

use super::build::{is_empty, literal, parts, sequence, tolerated};
use super::source::Source;
use crate::plan::{Expr, Literal, Role};

/// The end of a turn: the text that the template writes there, or the beginning of it up to one of its tags, because a server
/// may stop at any of them.
pub(super) fn turn_end(spec: &Source<'_>) -> Expr {
    let ends = ends_of_turn(spec);
    if ends.is_empty() && spec.tools.format == ToolFormat::None {
        return Expr::empty();
    }
    // Tokens that end a text may follow, or come alone where a call ends the turn.
    let is_end = |token: &&str| ends.iter().any(|end| matches!(end, Expr::Literal(end) if end.core == *token));
    // A model may begin the next turn with one of the other tokens: a server stops there. Where the template writes the end of the
    // turn only before the user's turn, that turn begins with it.
    let user =
        MarkerText::new(&spec.turn.user_start).tags().first().copied().filter(|_| spec.turn.end.trim().is_empty());
    let others = spec.tokens.other.iter().map(String::as_str).chain(user);
    let others = others.filter(|token| is_special_token(token.as_bytes()));
    let tokens: BTreeSet<&str> = ends_of_text(spec).into_iter().chain(others).filter(|token| !is_end(token)).collect();
    let tokens = tokens.into_iter();
    let tails = tokens.map(|token| Expr::Literal(tolerated(MarkerKey::TurnEnd, token, Role::TurnEnd)));
    let tails = Expr::Choice(tails.collect()).optional();
    let end = if ends.is_empty() { Expr::empty() } else { Expr::Choice(ends).optional() };
    sequence(vec![end, tails])
}

/// The texts that end a turn, as literals that count only at the end of the output.
pub(super) fn ends_of_turn(spec: &Source<'_>) -> Vec<Expr> {
    let others = spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten();
    let mut ends: Vec<Expr> = Vec::new();
    for text in std::iter::once(&spec.turn.end).chain(others) {
        let whole = MarkerText::new(text);
        for core in whole.beginnings() {
            let end = Expr::Literal(literal(MarkerKey::TurnEnd, MarkerText { core, ..whole }, Role::TurnEnd));
            if !is_empty(&end) && !ends.contains(&end) {
                ends.push(end);
            }
        }
    }
    ends
}

fn ends_of_text<'s>(spec: &'s Source<'_>) -> BTreeSet<&'s str> {
    let own = spec.tokens.eos.as_deref().map(str::trim).filter(|token| !token.is_empty());
    own.into_iter().chain(END_OF_TEXT).collect()
}

/// What ends the turn although more text follows: a special token that only the end of a turn has, the start of the user's turn, or
/// any other end of a turn with that start after it.
pub(super) fn before_more(spec: &Source<'_>) -> Vec<Literal> {
    let user = MarkerText::new(&spec.turn.user_start).core;
    let own = spec.tokens.eos.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let ends = || spec.markers().filter(|(key, _)| *key == MarkerKey::TurnEnd).map(|(_, text)| text).chain(own);
    let users = parts(user).into_iter().filter_map(|part| user.find(part).and_then(|at| user.get(at..)));
    let is_end = |text: &&str| !MarkerText::new(text).is_layout();
    // Where the spec has no end, the template leaves it to a token that is not known.
    let unknown = || ends_of_text(spec).into_iter().filter(|_| !ends().any(|text| is_end(&text)));
    let tokens = ends().flat_map(parts).chain(users.take(2)).chain(unknown());
    let cores = of_turn_alone(spec, tokens.filter(|core| is_special_token(core.as_bytes())));
    let others = ends().chain(unknown()).filter(|text| is_end(text) && !user.is_empty());
    let is_new = |end: &&str| cores.iter().all(|core| !end.contains(core));
    // The end may be that of other messages, too. With the user's start after it, it is that of the turn.
    let others: Vec<String> = others.map(str::trim_start).filter(is_new).map(|end| [end, user].concat()).collect();
    let others: Vec<String> =
        of_turn_alone(spec, others.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
    let end = |core: String| tolerated(MarkerKey::TurnEnd, &core, Role::AfterEnd);
    cores.into_iter().map(str::to_owned).chain(others).map(end).collect()
}

/// Those of these texts that no other marker has, each once.
fn of_turn_alone<'t>(spec: &Source<'_>, texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let is_other = |key: &MarkerKey| !matches!(key, MarkerKey::TurnEnd | MarkerKey::UserStart | MarkerKey::OtherToken);
    let others: Vec<&str> = spec.markers().filter(|(key, _)| is_other(key)).map(|(_, text)| text).collect();
    let mut found: Vec<&str> = Vec::new();
    for text in texts.filter(|text| others.iter().all(|other| !other.contains(text))) {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}
