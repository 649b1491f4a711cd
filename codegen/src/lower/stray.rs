//! Markers that close nothing where they stand. Models write them; no template does.

use unjinja_runtime::abi_3::{Action, Channel, Hole, Origin, is_special_token};
use unjinja_spec::{MarkerKey, MarkerText, ToolFormat};

use super::build::{is_empty, is_tag, literal, marker, opening_brace, sequence};
use super::source::Source;
use crate::plan::{self, Expr, Literal, Role};

/// The markers that close a part of a call, the innermost first, and the one that closes reasoning.
const CLOSERS: [MarkerKey; 6] = [
    MarkerKey::ArgumentValueSuffix,
    MarkerKey::ArgumentsEnd,
    MarkerKey::FunctionClose,
    MarkerKey::CallEnd,
    MarkerKey::SectionEnd,
    MarkerKey::ReasoningEnd,
];

/// Markers of what is over already: a closer that stands twice, an outer closer that the template does not write, and the
/// end of reasoning that a call has ended.
pub(super) fn leftovers(spec: &Source<'_>) -> Expr {
    Expr::Choice(tags(spec, &CLOSERS).into_iter().map(Expr::Literal).collect()).repeated()
}

/// All special tokens among the markers, where they close nothing: broken markup. A tag that is no special token may be
/// prose.
pub(super) fn markers(spec: &Source<'_>) -> Vec<Expr> {
    let unparsed = |literal: Literal| Expr::Sequence(vec![Expr::Literal(literal), Expr::Action(Action::Unparsed)]);
    // The parts of a header are no markers by themselves.
    let is_marker = |key: &MarkerKey| *key != MarkerKey::UserStart && !key.as_str().starts_with("content.header.");
    let keys: Vec<MarkerKey> = MarkerKey::ALL.iter().copied().filter(is_marker).collect();
    let is_special = |tag: &Literal| is_special_token(tag.core.as_bytes());
    let mut all: Vec<Expr> = tags(spec, &keys).into_iter().filter(is_special).map(unparsed).collect();
    if spec.tools.format != ToolFormat::None {
        let stray = |token: &String| {
            let token = literal(MarkerKey::OtherToken, MarkerText::new(token), Role::Stray);
            let token = Expr::Literal(Literal { origin: Origin::Recovery, ..token });
            Expr::Sequence(vec![token, Expr::Action(Action::OtherToken)])
        };
        let is_marker = |token: &String| spec.markers().any(|(_, text)| text.contains(token.as_str()));
        all.extend(spec.tokens.other.iter().filter(|token| !is_marker(token)).map(stray));
    }
    all
}

/// A call that breaks off, from where it does not fit. Nothing leads here: a parser goes to this place where it gives up a
/// call. Up to the next closer or opener of a call, all of it is broken markup.
pub(super) fn broken_call(spec: &Source<'_>) -> Expr {
    let hole = plan::Hole { reads: Hole::Text(Channel::Unparsed), until: vec![Role::Broken], only_tokens: false };
    let ends = |literal: Literal| {
        Expr::Sequence(vec![Expr::Literal(Literal { role: Role::Broken, ..literal }), Expr::Action(Action::Unparsed)])
    };
    let keys = [MarkerKey::FunctionClose, MarkerKey::ArgumentsEnd, MarkerKey::CallEnd, MarkerKey::SectionEnd];
    let closers = tags(spec, &keys);
    let mut openers = openers(spec);
    openers.retain(|opener| closers.iter().all(|closer| closer.core != opener.core));
    // So does the header of another message.
    let mut headers: Vec<Literal> = Vec::new();
    for key in [MarkerKey::ReasoningStart, MarkerKey::ContentStart] {
        for text in std::iter::once(spec.marker(key)).chain(spec.headers(key)) {
            let core = MarkerText::new(text).core;
            let known = openers.iter().chain(&headers).chain(&closers).any(|other| other.core == core);
            if is_special_token(core.as_bytes()) && !known {
                let header = literal(key, MarkerText::new(core), Role::Broken);
                headers.push(Literal { origin: Origin::Recovery, ..header });
            }
        }
    }
    openers.extend(headers);
    // Each is left for what it opens.
    let openers = openers.into_iter();
    let openers = openers.map(|opener| ends(Literal { peek: true, ..opener }));
    let closers: Vec<Expr> = closers.iter().cloned().map(ends).collect();
    Expr::Sequence(vec![Expr::Hole(hole), Expr::Choice(openers.chain(closers).collect()), leftovers(spec)])
}

/// Text behind a call where only a closer or another call may stand. Up to one of them, it is broken markup.
pub(super) fn text_behind(spec: &Source<'_>, closers: &[MarkerKey]) -> Expr {
    let is_special = |tag: &Literal| is_special_token(tag.core.as_bytes());
    let closers: Vec<Literal> = tags(spec, closers).into_iter().filter(is_special).collect();
    // Without a marker before it, the next call is what may come.
    let before_call = [MarkerKey::CallSeparator, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let next_is_marked = before_call.iter().any(|key| !spec.marker(*key).trim().is_empty());
    if closers.is_empty() || !next_is_marked {
        return Expr::empty();
    }
    let openers = openers(spec).into_iter().filter(is_special);
    let openers = openers.filter(|opener| closers.iter().all(|closer| closer.core != opener.core));
    // Each is left for what follows.
    let ends = openers.chain(closers.iter().cloned()).map(|tag| {
        let tag = Expr::Literal(Literal { peek: true, role: Role::Broken, ..tag });
        Expr::Sequence(vec![tag, Expr::Action(Action::Unparsed)])
    });
    let hole = plan::Hole { reads: Hole::Text(Channel::Unparsed), until: vec![Role::Broken], only_tokens: false };
    Expr::Sequence(vec![Expr::Action(Action::HoldBack), Expr::Hole(hole), Expr::Choice(ends.collect())])
}

/// A marker. If it is one of these brackets and a special token announces the call, any of them is read.
pub(super) fn or_other_bracket(spec: &Source<'_>, key: MarkerKey, brackets: &[&str]) -> Expr {
    let own = marker(spec, key, Role::Inner);
    let openers = [MarkerKey::SectionStart, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let is_announced = openers.iter().any(|key| is_special_token(MarkerText::new(spec.marker(*key)).core.as_bytes()));
    let core = spec.marker(key).trim();
    if !is_announced || !brackets.contains(&core) || spec.tools.format != ToolFormat::CallExpression {
        return own;
    }
    // What follows the call may be a bracket, too.
    let follows = |bracket: &str| {
        [MarkerKey::CallEnd, MarkerKey::SectionEnd].iter().any(|key| spec.marker(*key).trim().starts_with(bracket))
    };
    let others = brackets.iter().filter(|bracket| **bracket != core && !follows(bracket)).map(|bracket| {
        let bracket = literal(key, MarkerText::new(bracket), Role::Inner);
        Expr::Literal(Literal { origin: Origin::Recovery, ..bracket })
    });
    Expr::Choice(std::iter::once(own).chain(others).collect())
}

/// Arguments with tags, or in their place one JSON object.
pub(super) fn or_object(spec: &Source<'_>, list: Expr) -> Expr {
    if spec.tools.format != ToolFormat::TagWithTagged
        || !MarkerText::new(&spec.tools.arguments.name_prefix).core.starts_with('<')
    {
        return list;
    }
    let brace = match opening_brace() {
        Expr::Literal(literal) => Expr::Literal(Literal { origin: Origin::Recovery, ..literal }),
        other => other,
    };
    let object = Expr::Hole(Hole::Json.into());
    Expr::Choice(vec![list, sequence(vec![brace, object])])
}

/// The end of a call expression whose bracket is missing: what closes the call or all calls, behind a special token.
pub(super) fn missing_bracket(spec: &Source<'_>, call_end: Expr) -> Expr {
    let own = MarkerText::new(&spec.tools.function.close);
    let is_special = |text: &str| is_special_token(MarkerText::new(text).core.as_bytes());
    if ![MarkerKey::SectionStart, MarkerKey::CallStart].iter().any(|key| is_special(spec.marker(*key))) {
        return Expr::Choice(Vec::new());
    }
    let mut cores: Vec<(MarkerKey, &str)> = Vec::new();
    for key in [MarkerKey::CallEnd, MarkerKey::SectionEnd] {
        let text = spec.marker(key);
        let first = MarkerText::pieces(text).into_iter().flat_map(MarkerText::at_tags).next().map(|piece| piece.core);
        for core in first.into_iter().chain(parts(text)) {
            if !core.is_empty() && core != own.core && cores.iter().all(|(_, other)| *other != core) {
                cores.push((key, core));
            }
        }
    }
    let end = |(key, core): (MarkerKey, &str)| {
        let closer = literal(key, MarkerText::new(core), Role::Inner);
        let closer = Expr::Literal(Literal { origin: Origin::Recovery, peek: true, ..closer });
        let missing = Expr::Action(Action::MissingMarker(own.core.to_owned().into()));
        sequence(vec![closer, missing, end_of_call(spec, call_end.clone())])
    };
    Expr::Choice(cores.into_iter().map(end).collect())
}

/// The rest of a header behind the name of a function. A model may write a word there that no template writes, alone or behind
/// the token that announces such a word.
pub(super) fn or_other_header(spec: &Source<'_>, own: Expr) -> Expr {
    let header = &spec.content.header;
    let end = MarkerText::new(&header.end).core;
    if header.recipient.trim().is_empty() || end.is_empty() {
        return own;
    }
    let tolerated = |core: &str| {
        let key = MarkerKey::FunctionNameSuffix;
        let literal = literal(key, MarkerText::new(""), Role::Inner);
        Expr::Literal(Literal { origin: Origin::Recovery, core: core.to_owned(), ..literal })
    };
    let word = || Expr::Sequence(vec![Expr::Hole(Hole::Id.into()), tolerated(end)]);
    let mut tokens: Vec<&str> = Vec::new();
    for token in header.types.iter().filter_map(|text| MarkerText::new(text).tags().first().copied()) {
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    let behind_token = || tokens.iter().map(|token| Expr::Sequence(vec![tolerated(token), word()]));
    let behind_blank = std::iter::once(own.clone()).chain(behind_token()).chain([word()]);
    let blank = Expr::Sequence(vec![tolerated(" "), Expr::Choice(behind_blank.collect())]);
    Expr::Choice(std::iter::once(own.clone()).chain(behind_token()).chain([blank]).collect())
}

/// The end of a call behind its arguments: its closer, or text that ends at the closer, or nothing.
pub(super) fn end_of_call(spec: &Source<'_>, closer: Expr) -> Expr {
    let end = || Expr::Action(Action::EndCall);
    let text = text_behind(spec, &[MarkerKey::CallEnd, MarkerKey::SectionEnd]);
    if is_empty(&closer) || is_empty(&text) {
        return sequence(vec![closer.optional(), end()]);
    }
    let closed = sequence(vec![closer.clone(), end()]);
    let behind_text = sequence(vec![end(), sequence(vec![text, closer.optional()]).optional()]);
    Expr::Choice(vec![closed, behind_text])
}

/// The calls of a turn: the first one, more of them, and the marker behind all of them.
pub(super) fn all_calls(spec: &Source<'_>, first: Expr, more: Expr) -> Expr {
    let text = || text_behind(spec, &[MarkerKey::SectionEnd]).optional();
    let more = sequence(vec![more, text()]).repeated();
    sequence(vec![first, text(), more, marker(spec, MarkerKey::SectionEnd, Role::Inner).optional()])
}

/// The special tokens with which another call opens where the name of a call was to come: that call is abandoned.
pub(super) fn next_opener(spec: &Source<'_>) -> Vec<Expr> {
    let is_special = |opener: &Literal| is_special_token(opener.core.as_bytes());
    let abandoned = |opener: Literal| {
        let opener = Literal { peek: true, role: Role::Inner, ..opener };
        Expr::Sequence(vec![Expr::Literal(opener), Expr::Action(Action::Unparsed)])
    };
    openers(spec).into_iter().filter(is_special).map(abandoned).collect()
}

/// The tags with which a call may open.
fn openers(spec: &Source<'_>) -> Vec<Literal> {
    let keys = [MarkerKey::SectionStart, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let mut found: Vec<Literal> = Vec::new();
    for (key, text) in spec.markers().filter(|(key, _)| keys.contains(key)) {
        for core in parts(text) {
            if found.iter().all(|other| other.core != core) {
                found.push(Literal { origin: Origin::Recovery, ..literal(key, MarkerText::new(core), Role::Broken) });
            }
        }
    }
    found
}

/// The tags in the markers of these keys, each once.
fn tags(spec: &Source<'_>, keys: &[MarkerKey]) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    if spec.tools.format == ToolFormat::None {
        return found;
    }
    for key in keys {
        for (_, text) in spec.markers().filter(|(other, _)| other == key) {
            for core in parts(text) {
                let tag = Literal { origin: Origin::Recovery, ..literal(*key, MarkerText::new(core), Role::Stray) };
                let opens = spec.markers().any(|(other, text)| opens(other) && text.contains(core));
                if is_tag(&Expr::Literal(tag.clone())) && !opens && found.iter().all(|other| other.core != tag.core) {
                    found.push(tag);
                }
            }
        }
    }
    found
}

/// Whether a marker opens something in an answer. Then it has a meaning there.
fn opens(key: MarkerKey) -> bool {
    matches!(
        key,
        MarkerKey::ReasoningStart
            | MarkerKey::ReasoningEmpty
            | MarkerKey::ContentStart
            | MarkerKey::ContentEnd
            | MarkerKey::SectionStart
            | MarkerKey::CallStart
            | MarkerKey::FunctionNamePrefix
    )
}

/// The opener of reasoning, which a model may write again although the prompt or the model itself has just written it, with
/// the start of the turn or without.
pub(super) fn repeated_opener(spec: &Source<'_>) -> Expr {
    let whole = MarkerText::new(&spec.reasoning.start);
    let mut again: Vec<Expr> = Vec::new();
    for (key, text) in
        [(MarkerKey::AssistantStart, &spec.turn.assistant_start), (MarkerKey::ReasoningStart, &spec.reasoning.start)]
    {
        for core in parts(text) {
            let text = MarkerText { core, before: "", after: whole.after };
            let tag = Expr::Literal(Literal { origin: Origin::Recovery, ..literal(key, text, Role::Inner) });
            let closes = MarkerText::new(&spec.reasoning.end).tags().contains(&core);
            if is_tag(&tag) && !closes && !again.contains(&tag) {
                again.push(tag);
            }
        }
    }
    if again.is_empty() { Expr::empty() } else { Expr::Choice(again).repeated() }
}

/// The parts of a marker that stand for it: its tags. Where there are words between them, all that has no white space in it.
fn parts(text: &str) -> Vec<&str> {
    let pieces = MarkerText::pieces(text).into_iter();
    pieces.flat_map(|piece| if piece.has_words() { vec![piece.core] } else { piece.tags() }).collect()
}
