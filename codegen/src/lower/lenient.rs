//! What models write within a call in place of what the template writes: other brackets, an object in place of tags, an unknown
//! word in a header. Each rule adds tolerated literals to what the template writes.

use unjinja_runtime::abi::{Action, CallShape, Hole, InText, Origin, is_special_token};
use unjinja_spec::{MarkerKey, MarkerText, ToolFormat, tags};

use super::build::{is_tag, marker, opening_brace, parts, sequence, tolerated};
use super::fence;
use super::source::Source;
use super::stray::{after_json, end_of_call};
use crate::plan::{Expr, Literal, Role};

/// A marker. If it is one of these brackets and a special token announces the call, any of them is read.
pub(super) fn or_other_bracket(spec: &Source<'_>, key: MarkerKey, brackets: &[&str]) -> Expr {
    let own = marker(spec, key, Role::Inner);
    let core = spec.marker(key).trim();
    if !spec.is_announced() || !brackets.contains(&core) || spec.tools.format != ToolFormat::CallExpression {
        return own;
    }
    // What follows the call may be a bracket, too.
    let follows = |bracket: &str| {
        [MarkerKey::CallEnd, MarkerKey::SectionEnd].iter().any(|key| spec.marker(*key).trim().starts_with(bracket))
    };
    let others = brackets.iter().filter(|bracket| **bracket != core && !follows(bracket));
    let others = others.map(|bracket| Expr::Literal(tolerated(key, bracket, Role::Inner)));
    Expr::Choice(std::iter::once(own).chain(others).collect())
}

/// The end of a call expression after a separator: models write one after the last argument too.
pub(super) fn ends_after_separator(spec: &Source<'_>) -> Option<Expr> {
    let keys = [MarkerKey::ArgumentsEnd, MarkerKey::FunctionClose];
    let key = keys.into_iter().find(|key| !spec.marker(*key).trim().is_empty()).filter(|_| spec.is_expression())?;
    Some(Expr::Literal(Literal { peek: true, ..tolerated(key, spec.marker(key).trim(), Role::Inner) }))
}

/// Arguments with tags or as in a call expression, or in their place one object.
pub(super) fn or_object(spec: &Source<'_>, list: Expr) -> Expr {
    let arguments = match spec.tools.format {
        ToolFormat::TagWithTagged if MarkerText::new(&spec.tools.arguments.name_prefix).core.starts_with('<') => {
            Hole::Json
        }
        _ if spec.is_expression() => Hole::Python,
        _ => return list,
    };
    let object = sequence(vec![recovered(opening_brace()), Expr::Hole(arguments.clone().into())]);
    // A brace may close a call expression.
    let object = match arguments {
        Hole::Json => sequence(vec![fence::begin(spec), object, after_json(spec, true)]),
        _ => object,
    };
    Expr::Choice(vec![list, object])
}

/// A literal that no template writes at this place.
pub(super) fn recovered(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(literal) => Expr::Literal(Literal { origin: Origin::Recovery, ..literal }),
        other => other,
    }
}

/// The form of a marker that the template writes, and those that only models write.
pub(super) fn own_and_others(marker: Expr) -> (Expr, Expr) {
    let Expr::Choice(forms) = marker else { return (marker, Expr::empty()) };
    let (others, own): (Vec<_>, Vec<_>) = forms.into_iter().partition(is_recovery);
    let one_of = |forms: Vec<Expr>| if forms.is_empty() { Expr::empty() } else { Expr::Choice(forms) };
    (one_of(own), one_of(others))
}

/// Whether this is a literal that no template writes at its place.
pub(super) fn is_recovery(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(Literal { origin: Origin::Recovery, .. }))
}

/// A call as one JSON object or as a Python dict, whichever of the two the template writes. `is_marked`: a marker comes before it.
pub(super) fn object(spec: &Source<'_>, shape: CallShape, is_marked: bool) -> Expr {
    let hole =
        |shape: CallShape| sequence(vec![Expr::Hole(Hole::Object(shape.into()).into()), after_json(spec, is_marked)]);
    // A Python dict may be JSON anyway.
    if shape.python || !is_marked {
        return hole(shape);
    }
    let quoted =
        |core| Expr::Literal(Literal { peek: true, ..tolerated(MarkerKey::CallPunctuation, core, Role::Inner) });
    let dict = CallShape { python: true, ..shape.clone() };
    let own = Expr::Choice(vec![sequence(vec![Expr::Choice(BEGIN_DICT.map(quoted).into()), hole(dict)]), hole(shape)]);
    // A brace too many before the object.
    let brace =
        Literal { followed_by: vec!["{".to_owned()], ..tolerated(MarkerKey::CallPunctuation, "{", Role::Inner) };
    sequence(vec![Expr::Literal(brace).optional(), own])
}

/// How a Python dict begins, if it is not JSON.
const BEGIN_DICT: [&str; 2] = ["{'", "{ '"];

/// A call that opens with `opener`, continued by `rest`. After a tag or a special token a model may write the call as a JSON
/// object, or several in a list.
pub(super) fn or_objects(spec: &Source<'_>, opener: Expr, rest: Expr, call_end: &Expr) -> Expr {
    // Where a call ends as it begins, what follows a tag does not tell which of the two it is.
    let closes = |core: &str| spec.marker(MarkerKey::CallEnd).contains(core);
    let is_whole = |literal: &Literal| {
        // The bracket may be that of a list.
        let core = literal.core.strip_suffix('[').unwrap_or(&literal.core);
        tags(core) == [core] && !closes(core)
    };
    let after = |literal: Literal, rest: Expr| {
        let objects = objects(spec, call_end.clone());
        let whole = MarkerText::new(spec.marker(literal.key));
        // A token without its words may come before the marker with them.
        let with_words = Literal { after: whole.after.to_owned(), ..tolerated(literal.key, whole.core, Role::Inner) };
        let with_words = (literal.origin == Origin::Recovery && whole.core.starts_with(&literal.core))
            .then(|| sequence(vec![Expr::Literal(with_words), rest.clone()]));
        let calls = Expr::Choice([rest, objects].into_iter().chain(with_words).collect());
        let calls = if literal.origin == Origin::Canonical { again(&literal, calls) } else { calls };
        sequence(vec![Expr::Literal(literal), calls])
    };
    match opener {
        Expr::Choice(choices) => {
            let call = |opener| or_objects(spec, opener, rest.clone(), call_end);
            Expr::Choice(choices.into_iter().map(call).collect())
        }
        Expr::Literal(literal) if is_whole(&literal) => after(literal, rest),
        Expr::Sequence(mut items) => match items.first() {
            Some(Expr::Literal(literal)) if is_whole(literal) => {
                let literal = literal.clone();
                let others = items.split_off(1);
                after(literal, sequence([others, vec![rest]].concat()))
            }
            _ => sequence(vec![Expr::Sequence(items), rest]),
        },
        other => sequence(vec![other, rest]),
    }
}

/// What follows the marker that opens a call. A model may write the marker twice; if it comes once more, no call opens before it.
pub(super) fn again(opener: &Literal, call: Expr) -> Expr {
    let layout = opener.after.clone();
    let second = Literal { after: layout, ..tolerated(opener.key, &opener.core, Role::Inner) };
    let third = Literal { peek: true, after: String::new(), ..second.clone() };
    let abandoned = Expr::Sequence(vec![Expr::Literal(third), Expr::Action(Action::Unparsed)]);
    let after = Expr::Choice(vec![call.clone(), abandoned]);
    Expr::Choice(vec![call, sequence(vec![Expr::Literal(second), after])])
}

/// A call after its opener, which a model may write twice if it is one tag.
pub(super) fn or_again(opener: Expr, call: Expr) -> Expr {
    match sequence(vec![opener]) {
        Expr::Literal(literal) if tags(&literal.core) == [literal.core.as_str()] => {
            let call = again(&literal, call);
            sequence(vec![Expr::Literal(literal), call])
        }
        Expr::Choice(forms) => Expr::Choice(forms.into_iter().map(|form| or_again(form, call.clone())).collect()),
        other => sequence(vec![other, call]),
    }
}

/// Calls as JSON objects in a format that writes them otherwise.
fn objects(spec: &Source<'_>, call_end: Expr) -> Expr {
    let symbol = |core, peek| Literal { peek, ..tolerated(MarkerKey::CallPunctuation, core, Role::Inner) };
    let object = || {
        let object = Expr::Hole(Hole::Object(CallShape::USUAL.into()).into());
        sequence(vec![object, after_json(spec, false)])
    };
    let next = vec![
        Expr::Action(Action::EndCall),
        Expr::Action(Action::Speculate),
        Expr::Literal(symbol(",", false)).optional(),
        Expr::Literal(symbol("{", true)),
        object(),
    ];
    sequence(vec![
        Expr::Literal(symbol("[", false)).optional(),
        Expr::Literal(symbol("{", true)),
        object(),
        sequence(next).repeated(),
        Expr::Literal(symbol("]", false)).optional(),
        end_of_call(spec, call_end),
    ])
}

/// The end of a call expression whose bracket is missing: what closes the call or all calls, after a special token.
pub(super) fn missing_bracket(spec: &Source<'_>, call_end: Expr) -> Expr {
    let own = MarkerText::new(&spec.tools.function.close);
    if !spec.is_announced() {
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
        let closer = Expr::Literal(Literal { peek: true, ..tolerated(key, core, Role::Inner) });
        let missing = Expr::Action(Action::MissingMarker(own.core.to_owned().into()));
        sequence(vec![closer, missing, end_of_call(spec, call_end.clone())])
    };
    Expr::Choice(cores.into_iter().map(end).collect())
}

/// The opener of the next call where the closers of a call are missing.
pub(super) fn next_call(spec: &Source<'_>) -> Option<Expr> {
    let core = |key: &MarkerKey| MarkerText::new(spec.marker(*key)).core;
    let closer = [MarkerKey::CallEnd, MarkerKey::FunctionClose].iter().map(core).find(|core| !core.is_empty())?;
    let openers = [MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let (key, opener) = openers.iter().map(|key| (*key, core(key))).find(|(_, core)| !core.is_empty())?;
    let opener = Expr::Literal(Literal { peek: true, ..tolerated(key, opener, Role::Inner) });
    let missing = Expr::Action(Action::MissingMarker(closer.to_owned().into()));
    is_tag(&opener).then(|| sequence(vec![opener, missing, Expr::Action(Action::EndCall)]))
}

/// Whether the special token after a name tells a call that lacks its own opener, after the special token that opens all calls.
pub(super) fn is_told_by_suffix(spec: &Source<'_>) -> bool {
    let tools = &spec.tools;
    let suffixes = [&tools.function.name_suffix, &tools.arguments.start];
    let first = suffixes.into_iter().map(|text| MarkerText::new(text).core).find(|core| !core.is_empty());
    let markers = [MarkerText::new(&tools.section_start).core, MarkerText::new(&tools.per_call_start).core];
    let all = markers.into_iter().chain(Some(first.unwrap_or_default()));
    tools.format == ToolFormat::TagWithJson && all.into_iter().all(|core| is_special_token(core.as_bytes()))
}

/// What models write between two call expressions where the template writes something else.
pub(super) fn other_separators(spec: &Source<'_>) -> Option<Expr> {
    let own = spec.marker(MarkerKey::CallSeparator).trim();
    let openers = [MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let is_marked = openers.iter().any(|key| !spec.marker(*key).trim().is_empty());
    let others = [",", ";"].into_iter().filter(|other| *other != own);
    let other = |core| Expr::Literal(tolerated(MarkerKey::CallPunctuation, core, Role::Inner));
    let is_expression = spec.tools.format == ToolFormat::CallExpression && !is_marked;
    is_expression.then(|| Expr::Choice(others.map(other).collect()))
}

/// The beginnings of headers with a recipient outside of the namespace that the template writes, up to its name.
pub(super) fn other_recipients(spec: &Source<'_>) -> Vec<Expr> {
    let header = &spec.content.header;
    let Some((own, _)) = recipient(spec).filter(|(_, namespace)| !namespace.is_empty()) else { return Vec::new() };
    let starts = [header.start.as_str(), ""];
    let names = header.calls.iter().map(String::as_str);
    let channels: Vec<String> = names.map(|name| [header.channel.as_str(), name].concat()).collect();
    let channels = || std::iter::once("").chain(channels.iter().map(String::as_str));
    let mut cores: Vec<String> = Vec::new();
    for core in starts.iter().flat_map(|start| channels().map(|channel| [*start, channel, own].concat())) {
        if is_special_token(core.as_bytes()) && !cores.contains(&core) {
            cores.push(core);
        }
    }
    cores.iter().map(|core| Expr::Literal(tolerated(MarkerKey::CallStart, core, Role::CallOpen))).collect()
}

/// What comes before a recipient, up to its equals sign, and the namespace that the template writes after that.
fn recipient<'s>(spec: &'s Source<'_>) -> Option<(&'s str, &'s str)> {
    let recipient = spec.content.header.recipient.trim_end();
    recipient.rfind('=').map(|at| recipient.split_at(at + 1))
}

/// A message with a channel or a sender that no template writes, or whose recipient comes first. With a recipient, `call` reads on
/// from its name up to what ends the header, or to the channel of the answer, which has no recipient. Without one, the header is broken
/// markup, and text follows.
pub(super) fn other_message(spec: &Source<'_>, call: impl Fn(Expr, Expr) -> Expr) -> Expr {
    let header = &spec.content.header;
    let end = MarkerText::new(&header.end).core;
    let Some((to, namespace)) = recipient(spec).filter(|_| !end.is_empty()) else { return Expr::empty() };
    let part = |core: &str| Expr::Literal(tolerated(MarkerKey::CallStart, core, Role::Inner));
    let word = |rest: Expr| sequence(vec![Expr::Hole(Hole::Id.into()), rest]);
    let types = types_of_header(spec);
    // What may come after a word, up to the end of the header, which does this.
    let rest = |then: &Expr, with_recipient: Option<Expr>| {
        let closes = || sequence(vec![part(end), then.clone()]);
        let more = || types.iter().map(|token| sequence(vec![part(token), word(closes())]));
        let after_blank = more().chain([word(closes())]).chain(with_recipient);
        let blank = sequence(vec![part(" "), Expr::Choice(after_blank.collect())]);
        Expr::Choice(more().chain([closes(), blank]).collect())
    };
    let to = |role| Literal { before: " ".to_owned(), ..tolerated(MarkerKey::CallStart, to.trim(), role) };
    let channels = begins_of_headers(spec);
    // Directly after a recipient's name, only a token continues the header.
    let tokens = channels.iter().map(|token| sequence(vec![part(token), word(rest(&Expr::empty(), None))]));
    let tokens =
        tokens.chain(types.iter().map(|token| sequence(vec![part(token), word(part(end))]))).chain([part(end)]);
    let is_broken = Expr::Action(Action::OtherToken);
    let answers = header.answers.iter().filter(|name| !header.calls.contains(name));
    let answers: Vec<String> = answers.map(|name| [header.channel.as_str(), name].concat()).collect();
    let answer = |core: &String| sequence(vec![part(core), rest(&is_broken, None)]);
    let call = call(Expr::Choice(tokens.collect()), Expr::Choice(answers.iter().map(answer).collect()));
    let named = |role| sequence(vec![Expr::Literal(to(role)), part(namespace).optional(), call.clone()]);
    let broken = rest(&is_broken, Some(named(Role::Inner)));
    let to_somebody = |core: &String| {
        let opener = Expr::Literal(tolerated(MarkerKey::CallStart, core, Role::CallOpen));
        sequence(vec![opener, Expr::Literal(to(Role::Inner)), word(rest(&is_broken, None))])
    };
    let opener = |token: &&str| Expr::Literal(tolerated(MarkerKey::CallStart, token, Role::CallOpen));
    let message = sequence(vec![Expr::Choice(channels.iter().map(opener).collect()), word(broken)]);
    let at_start = Expr::Literal(Literal { in_text: InText::Text, ..to(Role::CallOpen) });
    let to_call = sequence(vec![at_start, call.clone()]);
    let first = Expr::Choice(answers.iter().map(to_somebody).chain([message, to_call]).collect());
    sequence(vec![Expr::Action(Action::Speculate), first])
}

/// The end of a header without the header, before an answer.
pub(super) fn end_of_header(spec: &Source<'_>) -> Option<Expr> {
    let end = tolerated(MarkerKey::ContentStart, MarkerText::new(&spec.content.header.end).core, Role::ContentWrapper);
    let is_token = is_special_token(end.core.as_bytes());
    is_token.then_some(Expr::Literal(Literal { in_text: InText::Text, ..end }))
}

/// The special tokens with which a header begins.
fn begins_of_headers<'s>(spec: &'s Source<'_>) -> Vec<&'s str> {
    let header = &spec.content.header;
    let mut tokens = first_tags([&header.channel, &header.start]);
    tokens.retain(|token| is_special_token(token.as_bytes()));
    tokens
}

/// The tokens that announce a word in a header.
fn types_of_header<'s>(spec: &'s Source<'_>) -> Vec<&'s str> {
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

/// The rest of a header after the name of a function. A model may write a word there that no template writes, alone or after
/// the token that announces such a word.
pub(super) fn or_other_header(spec: &Source<'_>, own: Expr) -> Expr {
    let header = &spec.content.header;
    let end = MarkerText::new(&header.end).core;
    if header.recipient.trim().is_empty() || end.is_empty() {
        return own;
    }
    let part = |core: &str| Expr::Literal(tolerated(MarkerKey::FunctionNameSuffix, core, Role::Inner));
    let word = || Expr::Sequence(vec![Expr::Hole(Hole::Id.into()), part(end)]);
    let tokens = types_of_header(spec);
    let after_token = || tokens.iter().map(|token| Expr::Sequence(vec![part(token), word()]));
    // The arguments may follow without an end of the header.
    let brace = || recovered(opening_brace());
    let after_blank = std::iter::once(own.clone()).chain(after_token()).chain([word(), brace()]);
    let blank = Expr::Sequence(vec![part(" "), Expr::Choice(after_blank.collect())]);
    // The token may follow the channel without a blank.
    let channels = header.calls.iter().filter(|_| !tokens.is_empty()).map(|name| {
        let channel = part(&[header.channel.as_str(), name].concat());
        Expr::Sequence(vec![channel, Expr::Choice(after_token().collect())])
    });
    Expr::Choice(std::iter::once(own.clone()).chain(after_token()).chain([blank]).chain(channels).collect())
}
