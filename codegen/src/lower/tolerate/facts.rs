//! Facts of a spec that several rules ask for.

use unjinja_runtime::Channel;
use unjinja_runtime::abi::{Action, Hole, is_special_token};
use unjinja_spec::{CallIdPosition, END_OF_TEXT, MarkerKey, MarkerText, ToolFormat, begins_tag};

use super::adding::{part, tolerated};
use crate::lower::canonical::build::is_tag;
use crate::lower::canonical::source::{OPENERS, Source};
use crate::plan::{Expr, HoleRole, Literal, Openers, PlanHole, Role};

use std::collections::BTreeSet;

pub(super) fn is_special(core: &str) -> bool {
    is_special_token(core.as_bytes())
}

/// Whether a text is one tag or token and nothing else.
pub(super) fn is_one_tag(core: &str) -> bool {
    unjinja_spec::tags(core) == [core]
}

/// Whether a header is written in words, such as `### Assistant: `: whoever begins a text with it means the header.
pub(super) fn is_in_words(header: MarkerText<'_>) -> bool {
    let letters = header.core.chars().filter(|c| c.is_alphabetic()).count();
    !begins_tag(header.core) && letters > 1 && header.core.ends_with(|c: char| !c.is_alphanumeric())
}

/// The header of the user's messages, if it is written in words, and each stands on a line of its own.
pub(super) fn user_in_words<'s>(spec: &'s Source<'_>) -> Option<MarkerText<'s>> {
    let (end, header) = (&spec.turn.end, MarkerText::new(&spec.turn.user_start));
    let on_line = end.ends_with('\n') || header.before.ends_with('\n');
    (on_line && is_in_words(header)).then_some(header)
}

/// The core of a marker.
pub(super) fn core<'s>(spec: &'s Source<'_>, key: MarkerKey) -> &'s str {
    MarkerText::new(spec.marker(key)).core
}

/// The parts of a marker that identify it: its tags. Where there are words between them, all that has no white space in it.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let pieces = MarkerText::pieces(text).into_iter();
    pieces.flat_map(|piece| if piece.has_words() { vec![piece.core] } else { piece.tags() }).collect()
}

/// Says that this marker is missing.
pub(super) fn missing(core: &str) -> Expr {
    Expr::Action(Action::MissingMarker(core.to_owned().into())).tolerated()
}

/// Whether a call may open with this marker. One that has its id before its name may open with that of the id.
pub(super) fn is_opener(spec: &Source<'_>, key: MarkerKey) -> bool {
    let id_first = spec.tools.call_id.position == CallIdPosition::PreFuncName;
    OPENERS.contains(&key) || (key == MarkerKey::CallIdPrefix && id_first)
}

/// The tags with which a call may open, each once.
pub(super) fn openers(spec: &Source<'_>) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    for (key, text) in spec.markers().filter(|(key, _)| is_opener(spec, *key)) {
        for core in parts(text) {
            if found.iter().all(|other| other.core != core) {
                found.push(tolerated(key, core, Role::Broken));
            }
        }
    }
    found
}

/// The tags in the markers of these keys, each once.
pub(super) fn tags(spec: &Source<'_>, keys: &[MarkerKey]) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    if spec.tools.format == ToolFormat::None {
        return found;
    }
    for key in keys {
        for (_, text) in spec.markers().filter(|(other, _)| other == key) {
            for core in parts(text) {
                let tag = tolerated(*key, core, Role::Stray);
                let opens =
                    spec.markers().any(|(other, text)| (opens(other) || is_opener(spec, other)) && text.contains(core));
                // Without a call there is no name to repeat.
                let is_tag = tag.repeats.is_none() && is_tag(&Expr::from(tag.clone()));
                if is_tag && !opens && found.iter().all(|other| other.core != tag.core) {
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

/// The tokens that the template writes elsewhere, and that are in none of the markers.
pub(super) fn other_tokens(spec: &Source<'_>) -> impl Iterator<Item = Literal> {
    let in_marker = |token: &String| spec.markers().any(|(_, text)| text.contains(token.as_str()));
    let has_calls = spec.tools.format != ToolFormat::None;
    let others = spec.tokens.other.iter().filter(move |token| has_calls && !in_marker(token));
    others.map(|token| tolerated(MarkerKey::OtherToken, token, Role::Stray))
}

/// The tokens of all vocabularies that end a text, with that of the spec.
pub(super) fn ends_of_text<'s>(spec: &'s Source<'_>) -> BTreeSet<&'s str> {
    let own = spec.tokens.eos.as_deref().map(str::trim).filter(|token| !token.is_empty());
    // `collect` sorts, and each type that is sorted adds kilobytes to WebAssembly modules; inserting adds none. Other sets do the same.
    let mut ends = BTreeSet::new();
    ends.extend(own.into_iter().chain(END_OF_TEXT));
    ends
}

/// What ends the turn although more text follows: a special token that only the end of a turn has, the start of the user's turn, or
/// any other end of a turn with that start after it.
pub(super) fn ends_before_more(spec: &Source<'_>) -> Vec<Literal> {
    let user = MarkerText::new(&spec.turn.user_start).core;
    let own = spec.tokens.eos.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let ends = || spec.markers().filter(|(key, _)| *key == MarkerKey::TurnEnd).map(|(_, text)| text).chain(own);
    let users = parts(user).into_iter().filter_map(|part| user.find(part).and_then(|at| user.get(at..)));
    let is_end = |text: &&str| !MarkerText::new(text).is_layout();
    // Where the spec has no end, the template leaves it to a token that is not known.
    let unknown = || ends_of_text(spec).into_iter().filter(|_| !ends().any(|text| is_end(&text)));
    let tokens = ends().flat_map(parts).chain(users.take(2)).chain(unknown());
    let cores = of_turn_alone(spec, tokens.filter(|core| is_special(core)));
    let others = ends().chain(unknown()).filter(|text| is_end(text) && !user.is_empty());
    let is_new = |end: &&str| cores.iter().all(|core| !end.contains(core));
    // The end may be that of other messages, too. With the user's start after it, it is that of the turn.
    let others: Vec<String> = others.map(str::trim_start).filter(is_new).map(|end| [end, user].concat()).collect();
    let others: Vec<String> =
        of_turn_alone(spec, others.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
    let end = |core: String| tolerated(MarkerKey::TurnEnd, &core, Role::AfterEnd);
    let in_words = user_in_words(spec).filter(|_| MarkerText::new(&spec.turn.end).is_layout());
    let in_words = in_words.map(|header| on_its_line(spec, end(header.core.to_owned())));
    cores.into_iter().map(str::to_owned).chain(others).map(end).chain(in_words).collect()
}

/// A header that follows the end of a turn on a line of its own.
pub(super) fn on_its_line(spec: &Source<'_>, header: Literal) -> Literal {
    let end = &spec.turn.end;
    Literal { line: true, before: end[end.trim_end().len()..].to_owned(), ..header }
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

/// How a tag has a name: what is between the name of the tag and that name.
pub(super) const ATTRIBUTES: [&str; 5] = ["=\"", "=", " name=\"", "='", " name='"];

/// The tag before a name, and the way in which it has the name, if the tag ends directly after the name.
pub(super) fn tag_of_name<'t>(prefix: &'t str, suffix: &str) -> Option<(&'t str, &'static str)> {
    let core = MarkerText::new(prefix).core;
    let attribute =
        ATTRIBUTES.into_iter().filter(|attribute| core.ends_with(attribute)).max_by_key(|found| found.len())?;
    let tag = core.strip_suffix(attribute)?;
    let is_tag = tag.strip_prefix('<').is_some_and(|name| !name.contains(['<', '>', '=', ' ']));
    (is_tag && MarkerText::new(suffix).core.trim_start_matches(['"', '\'']) == ">").then_some((tag, attribute))
}

/// The bars of special tokens.
pub(super) const BARS: [char; 2] = ['|', '｜'];

/// The line that opens or closes a code fence begins with it.
pub(super) const FENCE: &str = "```";

pub(super) fn holds_fences(spec: &Source<'_>) -> bool {
    spec.markers().any(|(_, text)| text.contains(FENCE))
}

/// The beginning of a code fence where only JSON may come. Empty if the format's own markers hold fences.
pub(super) fn fence(spec: &Source<'_>) -> Expr {
    let begin = [format!("{FENCE}json"), FENCE.to_owned()].map(|core| part(MarkerKey::CodeFence, &core));
    if holds_fences(spec) { Expr::empty() } else { Expr::Choice(begin.into()).optional() }
}

/// The closers with which models of other formats end a call.
const FOREIGN_CLOSERS: [&str; 3] = ["</parameter>", "</function>", "</tool_call>"];

/// What may follow JSON and is no part of it: braces too many, closers of other formats, and the end of a code fence where one may have begun. It may come in any
/// order, so that one state reads all of it.
pub(super) fn after_json(spec: &Source<'_>, may_be_fenced: bool) -> Expr {
    let mut extras = Vec::new();
    let closes = |(key, text): (MarkerKey, &str)| {
        !is_opener(spec, key) && text.trim_start_matches([' ', '\n', ']', ')']).starts_with('}')
    };
    if !spec.markers().any(closes) {
        let brace = part(MarkerKey::CallPunctuation, "}");
        extras.push(Expr::sequence([brace, Expr::Action(Action::Unparsed)]));
    }
    if may_be_fenced {
        let is_new = |core: &&str| spec.markers().all(|(_, text)| !text.contains(core));
        let closer = |core| Expr::sequence([part(MarkerKey::CallPunctuation, core), Expr::Action(Action::Unparsed)]);
        extras.extend(FOREIGN_CLOSERS.into_iter().filter(is_new).map(closer));
    }
    if may_be_fenced && !holds_fences(spec) {
        // An answer may begin with a fence of its own.
        let end = tolerated(MarkerKey::CodeFence, FENCE, Role::Inner);
        extras.push(Expr::from(Literal { confirm: true, ..end }));
    }
    Expr::Choice(extras).repeated()
}

/// The markers that close a part of a call, the innermost first, and the one that closes reasoning.
const CLOSERS: [MarkerKey; 6] = [
    MarkerKey::ArgumentValueSuffix,
    MarkerKey::ArgumentsEnd,
    MarkerKey::FunctionClose,
    MarkerKey::CallEnd,
    MarkerKey::SectionEnd,
    MarkerKey::ReasoningEnd,
];

/// Markers of what is over already: a closer that is written twice, an outer closer that the template does not write, and the
/// end of reasoning that a call has ended.
pub(super) fn leftovers(spec: &Source<'_>) -> Expr {
    let inner = |tag: Literal| {
        let closes = (tag.key == MarkerKey::ReasoningEnd).then_some(Expr::Action(Action::CloseReasoning));
        let tag = Expr::from(Literal { role: Role::Inner, ..tag });
        Expr::Sequence([tag].into_iter().chain(closes).collect())
    };
    Expr::Choice(tags(spec, &CLOSERS).into_iter().map(inner).collect()).repeated()
}

/// Broken markup, up to an opener or a closer. An opener is left for what it opens. A closer is part of a broken call; after
/// a complete call it is left for that call.
pub(super) fn up_to(mut openers: Vec<Literal>, closers: Vec<Literal>, role: HoleRole) -> Expr {
    let peek = role != HoleRole::BrokenCall;
    openers.retain(|opener| closers.iter().all(|closer| closer.core != opener.core));
    let openers = openers.into_iter().map(|opener| Literal { peek: true, ..opener });
    let closers = closers.into_iter().map(|closer| Literal { peek, ..closer });
    let ends = openers.chain(closers).map(|end| Literal { role: Role::Broken, ..end });
    let ends = ends.map(|end| Expr::sequence([Expr::from(end), Expr::Action(Action::Unparsed)]));
    let (reads, until) = (Hole::Text(Channel::Unparsed), vec![Role::Broken]);
    let hole = PlanHole { reads, until, openers: Openers::Any, role };
    Expr::sequence([Expr::Hole(hole), Expr::Choice(ends.collect())])
}

/// What comes before a recipient, up to its equals sign, and the namespace that the template writes after that.
pub(super) fn recipient<'s>(spec: &'s Source<'_>) -> Option<(&'s str, &'s str)> {
    let recipient = spec.content.header.recipient.trim_end();
    recipient.rfind('=').map(|at| recipient.split_at(at + 1))
}

/// The special tokens with which a header begins.
pub(super) fn begins_of_headers<'s>(spec: &'s Source<'_>) -> Vec<&'s str> {
    let header = &spec.content.header;
    let mut tokens = first_tags([&header.channel, &header.start]);
    tokens.retain(|token| is_special(token));
    tokens
}

/// The tokens that announce a word in a header.
pub(super) fn types_of_header<'s>(spec: &'s Source<'_>) -> Vec<&'s str> {
    first_tags(&spec.content.header.types)
}

/// The first tag of each of these texts, each once.
fn first_tags<'s>(texts: impl IntoIterator<Item = &'s String>) -> Vec<&'s str> {
    let mut tags: Vec<&str> = Vec::new();
    for tag in texts.into_iter().filter_map(|text| MarkerText::new(text).tags().first().copied()) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}
