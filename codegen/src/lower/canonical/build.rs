//! The building blocks of a plan: markers as literals, and sequences in which white space belongs to its neighbours.

use unjinja_runtime::abi::{Hole, InText, NameOf, RepeatedName, is_special_token};
use unjinja_spec::{ContentMode, MarkerKey, MarkerText, REPEATED_NAME, ReasoningMode, begins_tag};

use super::source::Source;
use crate::plan::{Expr, Literal, PlanPart, Role};

pub(in crate::lower) fn hole(reads: Hole) -> Expr {
    Expr::Hole(reads.into())
}

/// The plan without the names of its parts, and with all white space at the markers that it belongs to.
pub(in crate::lower) fn normalised(expr: Expr) -> Expr {
    let all = |items: Vec<Expr>| items.into_iter().map(normalised).collect();
    match expr {
        Expr::Part(_, item) => normalised(*item),
        // White space alone belongs to what comes before it or after it.
        Expr::Sequence(items) if items.iter().all(is_empty) => Expr::Sequence(flat(all(items))),
        Expr::Sequence(items) => sequence(all(items)),
        Expr::Choice(items) => Expr::Choice(all(items)),
        Expr::Repeat(item) => normalised(*item).repeated(),
        Expr::Option(item) => sequence(vec![normalised(*item)]).optional(),
        Expr::Tolerated(rule, item) => Expr::Tolerated(rule, Box::new(sequence(vec![normalised(*item)]))),
        other => other,
    }
}

/// These one after the other. A marker of white space alone becomes white space of its neighbours.
pub(in crate::lower) fn sequence(items: Vec<Expr>) -> Expr {
    // A marker of white space alone becomes layout of its neighbours.
    let mut out: Vec<Expr> = Vec::new();
    let mut layout = String::new();
    for item in flat(items) {
        match item {
            Expr::Literal(literal) if literal.core.is_empty() => match out.last_mut() {
                Some(last) if ends_in_marker(last) => add_layout(last, &literal.before),
                _ => layout.push_str(&literal.before),
            },
            Expr::Literal(mut literal) => {
                literal.before.insert_str(0, &layout);
                layout.clear();
                out.push(Expr::Literal(literal));
            }
            Expr::Option(inner) if is_empty(&inner) => {}
            Expr::Option(inner) => {
                layout.clear();
                out.push(Expr::Option(Box::new(sequence(vec![*inner]))));
            }
            other => {
                if !other.only_acts() {
                    layout.clear();
                }
                out.push(other);
            }
        }
    }
    if out.len() == 1
        && let Some(only) = out.pop()
    {
        return only;
    }
    Expr::Sequence(out)
}

fn flat(items: Vec<Expr>) -> Vec<Expr> {
    let parts = |item| match item {
        Expr::Sequence(inner) => inner,
        other => vec![other],
    };
    items.into_iter().flat_map(parts).collect()
}

/// Whether an expression ends in a marker, whatever is chosen.
fn ends_in_marker(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(literal) => !literal.core.is_empty(),
        Expr::Sequence(items) => items.last().is_some_and(ends_in_marker),
        Expr::Choice(choices) => !choices.is_empty() && choices.iter().all(ends_in_marker),
        _ => false,
    }
}

/// Adds white space after such an expression.
fn add_layout(expr: &mut Expr, layout: &str) {
    match expr {
        Expr::Literal(literal) if !literal.peek => literal.after.push_str(layout),
        Expr::Sequence(items) => items.iter_mut().rev().take(1).for_each(|last| add_layout(last, layout)),
        Expr::Choice(choices) => choices.iter_mut().for_each(|choice| add_layout(choice, layout)),
        _ => {}
    }
}

/// A marker as its parts, so that a model may leave out the white space between them. If other texts count as the marker
/// too, any of them is accepted.
pub(in crate::lower) fn marker(spec: &Source<'_>, key: MarkerKey, role: Role) -> Expr {
    let text = spec.marker(key);
    let others = spec.alternatives.get(&key).into_iter().flatten().map(String::as_str);
    let is_marker = |text: &&str| !MarkerText::new(text).is_layout();
    let texts = std::iter::once(text).chain(others).chain(spec.headers(key)).filter(is_marker);
    let choices: Vec<Expr> = texts.map(|text| sequence(vec![marker_parts(spec, key, text, role)])).collect();
    let marker = match (choices.len(), is_marker(&text)) {
        (0, _) | (1, true) => marker_parts(spec, key, text, role),
        (_, true) => Expr::Choice(choices),
        (_, false) => Expr::Choice(choices).optional(),
    };
    marker.named(PlanPart::Marker(key))
}

fn marker_parts(spec: &Source<'_>, key: MarkerKey, text: &str, role: Role) -> Expr {
    let mut pieces = Vec::new();
    let parts = if spec.is_whole(key) {
        vec![MarkerText::new(text)]
    } else if CLOSERS.contains(&key) {
        MarkerText::pieces(text).into_iter().flat_map(MarkerText::at_tags).collect()
    } else if key == MarkerKey::FunctionNameSuffix {
        MarkerText::pieces(text).into_iter().flat_map(before_repeated_name).collect()
    } else {
        MarkerText::pieces(text)
    };
    let last = parts.len().saturating_sub(1);
    for (index, piece) in parts.into_iter().enumerate() {
        let role = if index > 0 && role == Role::CallOpen { Role::Inner } else { role };
        let mut literal = literal(key, piece, role);
        // A wrapper of the answer that ends in a word needs the line break after it too. Otherwise a longer word would
        // be taken for it.
        if role == Role::ContentWrapper
            && index == last
            && literal.core.ends_with(char::is_alphanumeric)
            && literal.after.starts_with('\n')
        {
            literal.after.remove(0);
            literal.core.push('\n');
        }
        if index == 0 && !is_special_token(literal.core.as_bytes()) {
            literal.in_text = in_text(spec, key, role, &literal.core);
            literal.confirm = key == MarkerKey::ContentEnd;
        }
        pieces.push(Expr::from(literal));
    }
    // A part of white space alone is kept here; `sequence` moves it to its neighbour.
    Expr::Sequence(pieces)
}

/// A piece of what follows a function's name, cut before the place where the name is repeated: only after the first part it is
/// known where the name ends.
fn before_repeated_name(piece: MarkerText<'_>) -> Vec<MarkerText<'_>> {
    match piece.core.find(REPEATED_NAME) {
        Some(at) => {
            let (first, rest) = piece.core.split_at(at);
            vec![MarkerText { core: first, after: "", ..piece }, MarkerText { core: rest, before: "", ..piece }]
        }
        None => vec![piece],
    }
}

/// What a marker that is not a special token is where text comes before it. Many are written only directly after another marker,
/// or at the start of a turn; elsewhere they are prose.
fn in_text(spec: &Source<'_>, key: MarkerKey, role: Role, core: &str) -> InText {
    match role {
        // Models think more than once in a turn.
        Role::ReasoningStart => InText::Unmentioned,
        // It is what ends reasoning that has no end of its own.
        Role::ContentWrapper if key == MarkerKey::ContentStart && ends_reasoning(spec) => InText::Marker,
        Role::ContentWrapper if key == MarkerKey::ContentStart => InText::Text,
        // Where an answer is always closed, a call does not come after text. But models forget to close an answer, and what
        // follows a tag tells a call from prose.
        Role::CallOpen if spec.content.mode == ContentMode::AlwaysWrapped && !begins_tag(core) => {
            let is_closed = !spec.content.end.trim().is_empty() || spec.headers(MarkerKey::ContentEnd).next().is_some();
            if is_closed { InText::Text } else { InText::Marker }
        }
        _ => InText::Marker,
    }
}

/// Whether the marker of the answer is what ends reasoning.
fn ends_reasoning(spec: &Source<'_>) -> bool {
    spec.reasoning.mode != ReasoningMode::None && spec.reasoning.end.trim().is_empty()
}

/// Markers in which white space may come before each tag.
const CLOSERS: [MarkerKey; 4] =
    [MarkerKey::ArgumentsEnd, MarkerKey::FunctionClose, MarkerKey::CallEnd, MarkerKey::SectionEnd];

pub(in crate::lower) fn literal(key: MarkerKey, text: MarkerText<'_>, role: Role) -> Literal {
    let (core, repeats) = without_name(key, text.core);
    Literal {
        key,
        core,
        before: text.before.to_owned(),
        after: text.after.to_owned(),
        role,
        confirm: false,
        followed_by: Vec::new(),
        named_next: false,
        peek: false,
        line: false,
        in_text: InText::Marker,
        repeats,
        rule: None,
    }
}

/// The core of a marker without the name that it repeats, and where that name belongs.
pub(in crate::lower) fn without_name(key: MarkerKey, core: &str) -> (String, Option<RepeatedName>) {
    match core.split_once(REPEATED_NAME).filter(|_| key.may_repeat_name()) {
        Some((before, after)) => {
            ([before, after].concat(), Some(RepeatedName { of: NameOf::Function, at: before.len() }))
        }
        None => (core.to_owned(), None),
    }
}

/// The brace that opens the arguments. It is left for the reader of the arguments.
pub(in crate::lower) fn opening_brace() -> Expr {
    Expr::from(Literal { peek: true, ..literal(MarkerKey::ArgumentsPunctuation, MarkerText::new("{"), Role::Inner) })
}

pub(in crate::lower) fn symbol(text: &str, role: Role) -> Expr {
    Expr::from(literal(MarkerKey::CallPunctuation, MarkerText::new(text), role))
}

pub(in crate::lower) fn is_empty(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(literal) => literal.core.is_empty(),
        Expr::Sequence(items) => items.iter().all(is_empty),
        Expr::Option(item) => is_empty(item),
        Expr::Choice(items) => items.iter().all(is_empty),
        Expr::Part(_, item) | Expr::Tolerated(_, item) => is_empty(item),
        _ => false,
    }
}

/// Whether an expression begins with a tag that is so long that prose hardly contains it by chance.
pub(in crate::lower) fn is_tag(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(literal) => begins_tag(&literal.core) && literal.core.len() >= 4,
        Expr::Sequence(items) => items.first().is_some_and(is_tag),
        Expr::Choice(items) => items.iter().all(is_tag),
        Expr::Part(_, item) => is_tag(item),
        _ => false,
    }
}

/// A marker of white space with a line break in it as a literal: the line break, and the white space next to it. `None` if
/// the marker is anything else.
pub(in crate::lower) fn line_break(spec: &Source<'_>, key: MarkerKey) -> Option<Literal> {
    let text = spec.marker(key);
    let (before, after) = text.split_once('\n').filter(|_| MarkerText::new(text).is_layout())?;
    Some(literal(key, MarkerText { core: "\n", before, after }, Role::Inner))
}

/// The markers of these keys, each recognised but not consumed, where names confirm them too.
pub(in crate::lower) fn seen_ahead(spec: &Source<'_>, keys: &[MarkerKey]) -> Expr {
    let first = |key: &MarkerKey| {
        let text = MarkerText::pieces(spec.marker(*key)).into_iter().next().filter(|text| !text.is_layout())?;
        let literal = literal(*key, text, Role::Inner);
        Some(Expr::from(Literal { confirm: true, named_next: true, peek: true, after: String::new(), ..literal }))
    };
    Expr::Choice(keys.iter().filter_map(first).collect())
}

/// Makes the first literal count only if something follows that may come after it.
pub(in crate::lower) fn confirmed(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(literal) => Expr::from(Literal { confirm: true, ..*literal }),
        Expr::Sequence(mut items) => {
            if let Some(first) = items.first_mut() {
                *first = confirmed(std::mem::replace(first, Expr::empty()));
            }
            Expr::Sequence(items)
        }
        Expr::Choice(items) => Expr::Choice(items.into_iter().map(confirmed).collect()),
        Expr::Part(part, item) => confirmed(*item).named(part),
        other => other,
    }
}
