//! Lowers a format spec to a plan: splits the markers into cores and layout, and puts them in the order in which they
//! may come in a turn.
//!
//! It must not look at the name of a model.

use std::borrow::Cow;

use unjinja_runtime::Channel;
use unjinja_runtime::abi_2::{Action, ArgumentKind, CallShape, Hole, Origin};
use unjinja_spec::{
    CallIdPosition, ContentMode, FormatSpec, MarkerKey, MarkerText, ReasoningMode, ToolFormat, begins_tag,
};

use crate::plan::{self, Expr, Literal, Plan, Role};

/// The plan of a spec's turn.
pub(crate) fn plan(spec: &FormatSpec) -> Plan {
    let reasoning = &spec.reasoning;
    let reasons = reasoning.mode != ReasoningMode::None;
    let mut parts = Vec::new();
    let mut first = Expr::empty();
    if reasons {
        let mut until = vec![Role::ReasoningEnd, Role::TurnEnd];
        if reasoning.ended_by_call {
            until.push(Role::CallOpen);
        }
        let hole = Expr::Hole(plan::Hole { reads: Hole::Text(Channel::Reasoning), until });
        let close = sequence(vec![
            marker(spec, MarkerKey::ReasoningEnd, Role::ReasoningEnd),
            Expr::Action(Action::CloseReasoning),
        ]);
        if reasoning.start.trim().is_empty() {
            first = sequence(vec![hole, close.optional()]).optional();
        } else {
            let empty = marker(spec, MarkerKey::ReasoningEmpty, Role::ReasoningEnd);
            if !is_empty(&empty) {
                first = sequence(vec![empty]).optional();
            }
            parts.push(sequence(vec![
                marker(spec, MarkerKey::ReasoningStart, Role::ReasoningStart),
                Expr::Action(Action::OpenReasoning),
                hole,
                close.optional(),
            ]));
        }
    }
    if spec.content.mode != ContentMode::Plain {
        parts.push(sequence(vec![marker(spec, MarkerKey::ContentStart, Role::ContentWrapper)]));
        parts.push(sequence(vec![marker(spec, MarkerKey::ContentEnd, Role::ContentWrapper)]));
    }
    parts.push(Expr::Hole(plan::Hole {
        reads: Hole::Text(Channel::Content),
        until: vec![Role::ReasoningStart, Role::ContentWrapper, Role::CallOpen, Role::TurnEnd],
    }));
    if spec.tools.format != ToolFormat::None {
        parts.push(calls(spec));
    }
    Plan { turn: sequence(vec![repeated_start(spec), first, Expr::Choice(parts).repeated(), turn_end(spec)]) }
}

/// A model may repeat the start of its turn, or the last tag of it.
fn repeated_start(spec: &FormatSpec) -> Expr {
    let start = MarkerText::new(&spec.turn.assistant_start);
    let last = start.tags().pop().filter(|tag| start.core.ends_with(tag)).unwrap_or_default();
    let mut starts: Vec<Expr> = Vec::new();
    for text in [start.core, last] {
        let literal = literal(MarkerKey::AssistantStart, MarkerText::new(text), Role::Inner);
        let start = Expr::Literal(Literal { origin: Origin::Recovery, ..literal });
        if !is_empty(&start) && !starts.contains(&start) && is_tag(&start) {
            starts.push(start);
        }
    }
    if starts.is_empty() { Expr::empty() } else { Expr::Choice(starts).optional() }
}

/// The end of a turn: the text that the template writes there, or only its first tag, because many models stop at that
/// tag.
fn turn_end(spec: &FormatSpec) -> Expr {
    let others = spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten();
    let mut ends: Vec<Expr> = Vec::new();
    for text in std::iter::once(&spec.turn.end).chain(others) {
        let whole = MarkerText::new(text);
        for core in [whole.core, whole.up_to_first_tag()] {
            let end = Expr::Literal(literal(MarkerKey::TurnEnd, MarkerText { core, ..whole }, Role::TurnEnd));
            if !is_empty(&end) && !ends.contains(&end) {
                ends.push(end);
            }
        }
    }
    if ends.is_empty() { Expr::empty() } else { Expr::Choice(ends).optional() }
}

/// All calls of a turn.
fn calls(spec: &FormatSpec) -> Expr {
    match spec.tools.format {
        ToolFormat::JsonNative => native_calls(spec),
        _ => tagged_calls(spec),
    }
}

/// Calls that are JSON objects.
fn native_calls(spec: &FormatSpec) -> Expr {
    let tools = &spec.tools;
    let section = marker(spec, MarkerKey::SectionStart, Role::CallOpen);
    let section_end = marker(spec, MarkerKey::SectionEnd, Role::Inner);
    let start = marker(spec, MarkerKey::CallStart, Role::CallOpen);
    let bare = is_empty(&section) && is_empty(&start);
    let object = hole(Hole::Object(Cow::Owned(CallShape {
        function_field: tools.function_field.clone().into(),
        name_field: tools.name_field.clone().into(),
        args_field: tools.args_field.clone().into(),
        id_field: if tools.id_field.is_empty() { tools.gen_id_field.clone() } else { tools.id_field.clone() }.into(),
        keys: other_keys(spec).into(),
        name_is_key: tools.fun_name_is_key,
        python: tools.uses_python_dicts,
        strict: bare,
    })));
    let end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    let end_call = || Expr::Action(Action::EndCall);
    let speculate = || Expr::Action(Action::Speculate);
    let body = sequence(vec![object.clone(), end.clone().optional(), end_call()]);
    let closing = || symbol("]", Role::Inner).optional();
    if tools.tools_array_wrapped && !bare {
        let more = sequence(vec![speculate(), symbol(",", Role::Inner), start.clone(), body.clone()]).repeated();
        let open = symbol("[", Role::Inner).optional();
        return sequence(vec![speculate(), section, open, start, body, more, closing(), section_end.optional()]);
    }
    if bare {
        // One call, several calls one after the other, or a list. Only the objects themselves announce a call.
        let opener = |core: &'static str, peek: bool| match symbol(core, Role::CallOpen) {
            // What follows decides whether a bracket opens a call or is prose.
            Expr::Literal(literal) => Expr::Literal(Literal { peek, confirm: true, ..literal }),
            other => other,
        };
        let brace = opener("{", true);
        let more = sequence(vec![speculate(), symbol(",", Role::Inner), body.clone()]).repeated();
        let list = sequence(vec![speculate(), opener("[", false), body.clone(), more, closing()]);
        let separator = Expr::Choice(vec![symbol(",", Role::Inner), symbol(";", Role::Inner)]).optional();
        let next = sequence(vec![speculate(), separator, brace.clone(), body.clone()]).repeated();
        return Expr::Choice(vec![list, sequence(vec![speculate(), brace, body, next])]);
    }
    let separator = marker(spec, MarkerKey::CallSeparator, Role::Inner);
    let section = if is_tag(&start) { section.optional() } else { section };
    // After one opener a model may write a list.
    let more = sequence(vec![end_call(), speculate(), symbol(",", Role::Inner), object.clone()]).repeated();
    let open = symbol("[", Role::Inner).optional();
    let body = sequence(vec![open, object, more, closing(), end.optional(), end_call()]);
    let first = sequence(vec![speculate(), section, start.clone(), body.clone()]);
    let more = sequence(vec![speculate(), separator, start, body]);
    sequence(vec![first, more.repeated(), section_end.optional()])
}

/// The keys that a template writes in a call besides those with a known meaning.
fn other_keys(spec: &FormatSpec) -> Vec<Cow<'static, str>> {
    let tools = &spec.tools;
    let known = [&tools.function_field, &tools.name_field, &tools.args_field, &tools.id_field, &tools.gen_id_field];
    tools.parameter_order.iter().filter(|key| !known.contains(key)).map(|key| key.clone().into()).collect()
}

/// Calls whose name is outside JSON.
fn tagged_calls(spec: &FormatSpec) -> Expr {
    let tools = &spec.tools;
    let (function, id) = (&tools.function, &tools.call_id);
    let section = marker(spec, MarkerKey::SectionStart, Role::CallOpen);
    let section_end = marker(spec, MarkerKey::SectionEnd, Role::Inner);
    let start = marker(spec, MarkerKey::CallStart, Role::CallOpen);
    let prefix = marker(spec, MarkerKey::FunctionNamePrefix, Role::CallOpen);
    let separator = marker(spec, MarkerKey::CallSeparator, Role::Inner);

    let id_value = || {
        sequence(vec![
            marker(spec, MarkerKey::CallIdPrefix, Role::Inner),
            hole(Hole::Id),
            Expr::Action(Action::Id),
            marker(spec, MarkerKey::CallIdSuffix, Role::Inner),
        ])
    };
    let id_at = |position: CallIdPosition| {
        if id.position == position { id_value() } else { Expr::empty() }
    };
    let named = match id.position {
        CallIdPosition::InName => {
            Action::StartLabelled { prefix: id.prefix.clone().into(), separator: id.suffix.clone().into() }
        }
        _ if is_symbol(&tools.section_start)
            && is_symbol(&tools.per_call_start)
            && is_symbol(&function.name_prefix) =>
        {
            Action::StartOffered
        }
        _ => Action::StartCall,
    };
    let start_is_optional = is_tag(&prefix);
    let section_is_optional = is_tag(&start) || start_is_optional;
    let start = if start_is_optional { start.optional() } else { start };
    let section = if section_is_optional { section.optional() } else { section };
    // A tag with a name may be prose about the tag, unless an opener comes before it. So what follows must confirm it.
    let announced = !is_empty(&section) || !is_empty(&start);
    let alone = (start_is_optional && announced && tools.format != ToolFormat::CallExpression).then(|| prefix.clone());
    let header = sequence(vec![start, id_at(CallIdPosition::PreFuncName), prefix]);
    let name_suffix = marker(spec, MarkerKey::FunctionNameSuffix, Role::Inner);
    // A model may leave out this id. Then the suffix of the id ends the name.
    let between = match id.position {
        CallIdPosition::BetweenFuncAndArgs => sequence(vec![
            sequence(vec![
                marker(spec, MarkerKey::CallIdPrefix, Role::Inner),
                hole(Hole::Id),
                Expr::Action(Action::Id),
            ])
            .optional(),
            marker(spec, MarkerKey::CallIdSuffix, Role::Inner),
        ]),
        _ => Expr::empty(),
    };
    let mut body = vec![hole(Hole::Name), Expr::Action(named), name_suffix.clone(), between];
    let args_start = marker(spec, MarkerKey::ArgumentsStart, Role::Inner);
    let args_end = marker(spec, MarkerKey::ArgumentsEnd, Role::Inner);
    let close = marker(spec, MarkerKey::FunctionClose, Role::Inner);
    let call_end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    if tools.format == ToolFormat::TagWithJson {
        let arguments = if tools.uses_python_dicts { Hole::Python } else { Hole::Json };
        let needs_brace = is_empty(&args_start)
            && function.name_suffix.trim().is_empty()
            && (id.position != CallIdPosition::BetweenFuncAndArgs || id.suffix.trim().is_empty());
        body.push(args_start);
        if needs_brace {
            body.push(Expr::Literal(Literal {
                peek: true,
                ..literal(MarkerKey::ArgumentsPunctuation, MarkerText::new("{"), Role::Inner)
            }));
        }
        body.extend([
            hole(arguments),
            args_end.optional(),
            close.optional(),
            id_at(CallIdPosition::PostArgs).optional(),
            call_end.optional(),
            Expr::Action(Action::EndCall),
        ]);
    } else {
        let argument = argument(spec);
        let separator = marker(spec, MarkerKey::ArgumentSeparator, Role::Inner);
        let list = if is_empty(&separator) {
            argument.repeated()
        } else {
            sequence(vec![argument.clone(), sequence(vec![separator, argument]).repeated()]).optional()
        };
        body.push(args_start.optional());
        body.push(list);
        body.push(args_end.optional());
        let end = || Expr::Action(Action::EndCall);
        let expression = tools.format == ToolFormat::CallExpression;
        let mut closings = Vec::new();
        if !is_empty(&close) {
            closings.push(sequence(vec![close, call_end.clone().optional(), end()]));
        }
        if !is_empty(&call_end) && !expression {
            closings.push(sequence(vec![call_end, end()]));
        }
        // The bracket that closes an expression is required. Closing tags are not: models forget them.
        if !expression {
            closings.push(Expr::Action(if closings.is_empty() { Action::EndCall } else { Action::EndCallIncomplete }));
        }
        body.push(Expr::Choice(closings));
    }
    let speculate = || Expr::Action(Action::Speculate);
    let first = sequence([vec![section, header.clone()], body.clone()].concat());
    let first = match alone {
        Some(prefix) => {
            let mut body = body.clone();
            body[2] = confirmed(name_suffix);
            Expr::Choice(vec![sequence([vec![prefix], body].concat()), first])
        }
        None => first,
    };
    let first = sequence(vec![speculate(), first]);
    let more = sequence([vec![speculate(), separator, header], body].concat());
    sequence(vec![first, more.repeated(), section_end.optional()])
}

/// One argument: its name and its value.
fn argument(spec: &FormatSpec) -> Expr {
    let tools = &spec.tools;
    let arguments = &tools.arguments;
    let inner = |key| marker(spec, key, Role::Inner);
    let value = |kind, suffix| {
        let reads = match kind {
            ArgumentKind::Literal => Hole::Literal(arguments.quote.clone().into()),
            _ => Hole::Value,
        };
        sequence(vec![
            Expr::Action(Action::Argument(kind)),
            inner(suffix),
            inner(MarkerKey::ArgumentValuePrefix),
            hole(reads),
            Expr::Action(Action::EndArgument),
            confirmed(inner(MarkerKey::ArgumentValueSuffix)),
        ])
    };
    let python = tools.uses_python_dicts;
    let suffix = |kind| value(kind, MarkerKey::ArgumentNameSuffix);
    let rest = if tools.format == ToolFormat::CallExpression {
        suffix(ArgumentKind::Literal)
    } else if arguments.other_name_suffix.is_empty() {
        suffix(ArgumentKind::BySchema { python })
    } else {
        let other = value(ArgumentKind::Other { python }, MarkerKey::OtherNameSuffix);
        Expr::Choice(vec![suffix(ArgumentKind::Text), other])
    };
    let name = inner(MarkerKey::ArgumentNamePrefix);
    sequence(vec![name, hole(Hole::ArgumentName), rest])
}

/// Whether a marker is at most two punctuation characters. Such a marker does not announce a call.
fn is_symbol(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace()) && text.trim().len() <= 2
}

// ----- building blocks -----

fn hole(reads: Hole) -> Expr {
    Expr::Hole(reads.into())
}

fn sequence(items: Vec<Expr>) -> Expr {
    let mut flat: Vec<Expr> = Vec::new();
    for item in items {
        match item {
            Expr::Sequence(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    // A marker of white space alone becomes layout of its neighbours.
    let mut out: Vec<Expr> = Vec::new();
    let mut layout = String::new();
    for item in flat {
        match item {
            Expr::Literal(literal) if literal.core.is_empty() => match out.last_mut() {
                Some(Expr::Literal(last)) if !last.core.is_empty() => last.after.push_str(&literal.before),
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
                if !matches!(other, Expr::Action(_)) {
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

/// A marker as its parts, so that a model may leave out the white space between them. If the spec lists alternatives
/// for it, any of them is accepted.
fn marker(spec: &FormatSpec, key: MarkerKey, role: Role) -> Expr {
    let text = spec.marker(key);
    let others = spec.alternatives.get(&key).map_or(&[][..], Vec::as_slice);
    if others.is_empty() {
        return marker_parts(key, text, role);
    }
    let texts = std::iter::once(text).chain(others.iter().map(String::as_str));
    let choices: Vec<Expr> = texts
        .filter(|text| !MarkerText::new(text).is_layout())
        .map(|text| sequence(vec![marker_parts(key, text, role)]))
        .collect();
    if MarkerText::new(text).is_layout() { Expr::Choice(choices).optional() } else { Expr::Choice(choices) }
}

fn marker_parts(key: MarkerKey, text: &str, role: Role) -> Expr {
    let mut pieces = Vec::new();
    for (index, piece) in MarkerText::pieces(text).into_iter().enumerate() {
        let role = if index > 0 && role == Role::CallOpen { Role::Inner } else { role };
        let mut literal = literal(key, piece, role);
        // A wrapper of the answer that ends in a word needs the line break after it too. Otherwise a longer word would
        // be taken for it.
        if role == Role::ContentWrapper
            && literal.core.ends_with(char::is_alphanumeric)
            && literal.after.starts_with('\n')
        {
            literal.after.remove(0);
            literal.core.push('\n');
        }
        pieces.push(Expr::Literal(literal));
    }
    // A part of white space alone is kept here; `sequence` moves it to its neighbour.
    Expr::Sequence(pieces)
}

fn literal(key: MarkerKey, text: MarkerText<'_>, role: Role) -> Literal {
    Literal {
        key,
        core: text.core.to_owned(),
        before: text.before.to_owned(),
        after: text.after.to_owned(),
        role,
        confirm: false,
        peek: false,
        origin: Origin::Canonical,
    }
}

fn symbol(text: &str, role: Role) -> Expr {
    Expr::Literal(literal(MarkerKey::CallPunctuation, MarkerText::new(text), role))
}

fn is_empty(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(literal) => literal.core.is_empty(),
        Expr::Sequence(items) => items.iter().all(is_empty),
        Expr::Option(item) => is_empty(item),
        Expr::Choice(items) => items.iter().all(is_empty),
        _ => false,
    }
}

/// Whether an expression begins with a tag that is so long that prose hardly contains it by chance.
fn is_tag(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(literal) => begins_tag(&literal.core) && literal.core.len() >= 4,
        Expr::Sequence(items) => items.first().is_some_and(is_tag),
        Expr::Choice(items) => items.iter().all(is_tag),
        _ => false,
    }
}

/// Makes the first literal count only if something follows that may come after it.
fn confirmed(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(literal) => Expr::Literal(Literal { confirm: true, ..literal }),
        Expr::Sequence(mut items) => {
            if let Some(first) = items.first_mut() {
                *first = confirmed(std::mem::replace(first, Expr::empty()));
            }
            Expr::Sequence(items)
        }
        Expr::Choice(items) => Expr::Choice(items.into_iter().map(confirmed).collect()),
        other => other,
    }
}
