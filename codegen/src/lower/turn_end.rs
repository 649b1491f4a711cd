//! The end of a turn.

use std::collections::BTreeSet;

use unjinja_runtime::abi_3::is_special_token;
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
    let tokens = ends_of_text(spec).into_iter().filter(|token| !is_end(token));
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

/// Tokens that end a text.
fn ends_of_text<'s>(spec: &'s Source<'_>) -> BTreeSet<&'s str> {
    let own = spec.tokens.eos.as_deref().map(str::trim).filter(|token| !token.is_empty());
    own.into_iter().chain(END_OF_TEXT).collect()
}

/// What ends the turn although more text follows: a special token that only the end of a turn has, or the start of the user's
/// turn.
pub(super) fn before_more(spec: &Source<'_>) -> Vec<Literal> {
    let ends = spec.markers().filter(|(key, _)| *key == MarkerKey::TurnEnd).flat_map(|(_, text)| parts(text));
    let user = MarkerText::new(&spec.turn.user_start).core;
    let users = parts(user).into_iter().filter_map(|part| user.find(part).and_then(|at| user.get(at..)));
    let own = spec.tokens.eos.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let all = ends.chain(own).chain(users.take(2)).filter(|core| is_special_token(core.as_bytes()));
    let end = |core| tolerated(MarkerKey::TurnEnd, core, Role::AfterEnd);
    let last = last_message(spec).into_iter();
    let last = last.map(|core| tolerated(MarkerKey::ContentEnd, &core, Role::AfterEnd));
    of_turn_alone(spec, all).into_iter().map(end).chain(last).collect()
}

/// What ends the last message of a turn, with the token after it that begins the header of another message. Messages before the last
/// end otherwise.
fn last_message(spec: &Source<'_>) -> Vec<String> {
    let header = &spec.content.header;
    let end = MarkerText::new(&spec.content.end).core;
    let other = MarkerText::new(&header.message_end).core;
    if other.is_empty() || other == end || !is_special_token(end.as_bytes()) {
        return Vec::new();
    }
    let begins = [&header.start, &header.channel].into_iter().filter_map(|text| parts(text).first().copied());
    begins.map(|token| [end, token].concat()).collect()
}

/// What ends the turn, whatever it looks like, where the start of the user's turn follows.
pub(super) fn before_user(spec: &Source<'_>) -> Vec<Literal> {
    let user = MarkerText::new(&spec.turn.user_start).core;
    let ends = spec.markers().filter(|(key, _)| *key == MarkerKey::TurnEnd).map(|(_, text)| MarkerText::new(text).core);
    let own = spec.tokens.eos.as_deref().map(str::trim).filter(|token| !token.is_empty());
    // Where the spec has neither, the template leaves the end of the turn to a token that is not known.
    let any = ends_of_text(spec).into_iter().filter(|_| spec.turn.end.trim().is_empty() && own.is_none());
    let special = before_more(spec);
    let is_new = |core: &&str| {
        let is_token = spec.tokens.other.iter().any(|token| token == core);
        !core.is_empty() && !is_token && special.iter().all(|other| other.core != *core)
    };
    let all = ends.chain(own).chain(any).filter(|core| is_new(core) && !user.is_empty() && !user.contains(*core));
    let end = |core| {
        let end = tolerated(MarkerKey::TurnEnd, core, Role::AfterEnd);
        Literal { followed_by: vec![user.to_owned()], ..end }
    };
    of_turn_alone(spec, all).into_iter().map(end).collect()
}

/// Those of these texts that no other marker has, each once.
fn of_turn_alone<'t>(spec: &Source<'_>, cores: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let is_other = |key: &MarkerKey| !matches!(key, MarkerKey::TurnEnd | MarkerKey::UserStart | MarkerKey::OtherToken);
    let others: Vec<&str> = spec.markers().filter(|(key, _)| is_other(key)).map(|(_, text)| text).collect();
    let mut found: Vec<&str> = Vec::new();
    for core in cores.filter(|core| others.iter().all(|other| !other.contains(core))) {
        if !found.contains(&core) {
            found.push(core);
        }
    }
    found
}
