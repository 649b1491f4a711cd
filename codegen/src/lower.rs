//! From a format spec to a plan: markers are split into cores and layout, and put in the order in which they may
//! stand in a turn.

use std::borrow::Cow;

use unjinja_runtime::Channel;
use unjinja_runtime::abi_2::{Action, ArgumentKind, CallShape, Hole, Origin};
use unjinja_spec::{CallIdPosition, ContentMode, FormatSpec, ReasoningMode, ToolFormat};

use crate::plan::{self, Expr, Literal, Plan, Role};

/// The plan of a spec's turn.
pub(crate) fn plan(spec: &FormatSpec) -> Plan {
    let reasoning = &spec.reasoning;
    let reasons = reasoning.mode != ReasoningMode::None;
    let mut parts = Vec::new();
    let mut lead = Expr::empty();
    if reasons {
        let mut until = vec![Role::ReasoningEnd, Role::TurnEnd];
        if reasoning.ended_by_call {
            until.push(Role::CallOpen);
        }
        let hole = Expr::Hole(plan::Hole { reads: Hole::Text(Channel::Reasoning), until });
        let close = sequence(vec![
            marker(spec, "reasoning.end", &reasoning.end, Role::ReasoningEnd),
            Expr::Act(Action::CloseReasoning),
        ]);
        if reasoning.start.trim().is_empty() {
            lead = sequence(vec![hole, close.optional()]).optional();
        } else {
            let empty = marker(spec, "reasoning.empty", &reasoning.empty, Role::ReasoningEnd);
            if !is_empty(&empty) {
                lead = sequence(vec![empty]).optional();
            }
            parts.push(sequence(vec![
                marker(spec, "reasoning.start", &reasoning.start, Role::ReasoningStart),
                Expr::Act(Action::OpenReasoning),
                hole,
                close.optional(),
            ]));
        }
    }
    if spec.content.mode != ContentMode::Plain {
        parts.push(sequence(vec![marker(spec, "content.start", &spec.content.start, Role::ContentFrame)]));
        parts.push(sequence(vec![marker(spec, "content.end", &spec.content.end, Role::ContentFrame)]));
    }
    parts.push(Expr::Hole(plan::Hole {
        reads: Hole::Text(Channel::Content),
        until: vec![Role::ReasoningStart, Role::ContentFrame, Role::CallOpen, Role::TurnEnd],
    }));
    if spec.tools.format != ToolFormat::None {
        parts.push(calls(spec));
    }
    Plan { turn: sequence(vec![repeated_start(spec), lead, Expr::Choice(parts).repeated(), turn_end(spec)]) }
}

/// A model may write the start of its turn again, or the last tag of it.
fn repeated_start(spec: &FormatSpec) -> Expr {
    let core = spec.turn.assistant_start.trim();
    let last = core.rfind('<').filter(|_| core.ends_with('>')).map_or("", |at| &core[at..]);
    let mut starts: Vec<Expr> = Vec::new();
    for text in [core, last] {
        let literal = literal("turn.assistant_start", text, Role::Inner);
        let start = Expr::Literal(Literal { origin: Origin::Recovery, ..literal });
        if !is_empty(&start) && !starts.contains(&start) && is_tag(&start) {
            starts.push(start);
        }
    }
    if starts.is_empty() { Expr::empty() } else { Expr::Choice(starts).optional() }
}

/// The end of a turn: what a template writes there, or its first tag alone, which is what a model stops at.
fn turn_end(spec: &FormatSpec) -> Expr {
    let others = spec.alternatives.get("turn.end").into_iter().flatten();
    let mut ends: Vec<Expr> = Vec::new();
    for text in std::iter::once(&spec.turn.end).chain(others) {
        let core = text.trim();
        let first = core.find('>').map_or(core, |at| &core[..at + 1]);
        for core in [core, first] {
            let before = text[..text.len() - text.trim_start().len()].to_owned();
            let after = text[text.trim_end().len()..].to_owned();
            let end = Expr::Literal(Literal { before, after, ..literal("turn.end", core, Role::TurnEnd) });
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
    let section = marker(spec, "tools.section_start", &tools.section_start, Role::CallOpen);
    let section_end = marker(spec, "tools.section_end", &tools.section_end, Role::Inner);
    let start = marker(spec, "tools.per_call_start", &tools.per_call_start, Role::CallOpen);
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
    let end = marker(spec, "tools.per_call_end", &tools.per_call_end, Role::Inner);
    let ended = || Expr::Act(Action::EndCall);
    let hold = || Expr::Act(Action::Speculate);
    let body = sequence(vec![object.clone(), end.clone().optional(), ended()]);
    let closing = || symbol("]", Role::Inner).optional();
    if tools.tools_array_wrapped && !bare {
        let more = sequence(vec![hold(), symbol(",", Role::Inner), start.clone(), body.clone()]).repeated();
        let open = symbol("[", Role::Inner).optional();
        return sequence(vec![hold(), section, open, start, body, more, closing(), section_end.optional()]);
    }
    if bare {
        // One call, several after each other, or a list of them: nothing but the objects announces any.
        let opener = |core: &'static str, peek: bool| match symbol(core, Role::CallOpen) {
            // A bracket in prose is soon told from one that opens a call.
            Expr::Literal(literal) => Expr::Literal(Literal { peek, confirm: true, ..literal }),
            other => other,
        };
        let brace = opener("{", true);
        let more = sequence(vec![hold(), symbol(",", Role::Inner), body.clone()]).repeated();
        let list = sequence(vec![hold(), opener("[", false), body.clone(), more, closing()]);
        let separator = Expr::Choice(vec![symbol(",", Role::Inner), symbol(";", Role::Inner)]).optional();
        let next = sequence(vec![hold(), separator, brace.clone(), body.clone()]).repeated();
        return Expr::Choice(vec![list, sequence(vec![hold(), brace, body, next])]);
    }
    let separator = marker(spec, "tools.separator", &tools.separator, Role::Inner);
    let section = if is_tag(&start) { section.optional() } else { section };
    // Behind one opener a model may write a list.
    let more = sequence(vec![ended(), hold(), symbol(",", Role::Inner), object.clone()]).repeated();
    let open = symbol("[", Role::Inner).optional();
    let body = sequence(vec![open, object, more, closing(), end.optional(), ended()]);
    let first = sequence(vec![hold(), section, start.clone(), body.clone()]);
    let more = sequence(vec![hold(), separator, start, body]);
    sequence(vec![first, more.repeated(), section_end.optional()])
}

/// The keys that a template writes beside those that mean something.
fn other_keys(spec: &FormatSpec) -> Vec<Cow<'static, str>> {
    let tools = &spec.tools;
    let known = [&tools.function_field, &tools.name_field, &tools.args_field, &tools.id_field, &tools.gen_id_field];
    tools.parameter_order.iter().filter(|key| !known.contains(key)).map(|key| key.clone().into()).collect()
}

/// Calls whose name stands outside JSON.
fn tagged_calls(spec: &FormatSpec) -> Expr {
    let tools = &spec.tools;
    let (function, arguments, id) = (&tools.function, &tools.arguments, &tools.call_id);
    let section = marker(spec, "tools.section_start", &tools.section_start, Role::CallOpen);
    let section_end = marker(spec, "tools.section_end", &tools.section_end, Role::Inner);
    let start = marker(spec, "tools.per_call_start", &tools.per_call_start, Role::CallOpen);
    let prefix = marker(spec, "tools.function.name_prefix", &function.name_prefix, Role::CallOpen);
    let separator = marker(spec, "tools.separator", &tools.separator, Role::Inner);

    let id_value = |key_before, key_after| {
        sequence(vec![
            marker(spec, key_before, &id.prefix, Role::Inner),
            hole(Hole::Id),
            Expr::Act(Action::Id),
            marker(spec, key_after, &id.suffix, Role::Inner),
        ])
    };
    let id_at = |position: CallIdPosition| {
        if id.position == position { id_value("tools.call_id.prefix", "tools.call_id.suffix") } else { Expr::empty() }
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
    // A name's tag without what announces calls may be prose about it: then what follows must confirm it.
    let announced = !is_empty(&section) || !is_empty(&start);
    let alone = (start_is_optional && announced && tools.format != ToolFormat::CallExpression).then(|| prefix.clone());
    let header = sequence(vec![start, id_at(CallIdPosition::PreFuncName), prefix]);
    let name_suffix = marker(spec, "tools.function.name_suffix", &function.name_suffix, Role::Inner);
    // A model may leave this id out; what ends it ends the name then.
    let between = match id.position {
        CallIdPosition::BetweenFuncAndArgs => sequence(vec![
            sequence(vec![
                marker(spec, "tools.call_id.prefix", &id.prefix, Role::Inner),
                hole(Hole::Id),
                Expr::Act(Action::Id),
            ])
            .optional(),
            marker(spec, "tools.call_id.suffix", &id.suffix, Role::Inner),
        ]),
        _ => Expr::empty(),
    };
    let mut body = vec![hole(Hole::Name), Expr::Act(named), name_suffix.clone(), between];
    let args_start = marker(spec, "tools.arguments.start", &arguments.start, Role::Inner);
    let args_end = marker(spec, "tools.arguments.end", &arguments.end, Role::Inner);
    let close = marker(spec, "tools.function.close", &function.close, Role::Inner);
    let call_end = marker(spec, "tools.per_call_end", &tools.per_call_end, Role::Inner);
    if tools.format == ToolFormat::TagWithJson {
        let arguments = if tools.uses_python_dicts { Hole::Python } else { Hole::Json };
        let needs_brace = is_empty(&args_start)
            && function.name_suffix.trim().is_empty()
            && (id.position != CallIdPosition::BetweenFuncAndArgs || id.suffix.trim().is_empty());
        body.push(args_start);
        if needs_brace {
            body.push(Expr::Literal(Literal { peek: true, ..literal("tools.arguments", "{", Role::Inner) }));
        }
        body.extend([
            hole(arguments),
            args_end.optional(),
            close.optional(),
            id_at(CallIdPosition::PostArgs).optional(),
            call_end.optional(),
            Expr::Act(Action::EndCall),
        ]);
    } else {
        let argument = argument(spec);
        let separator = marker(spec, "tools.arguments.separator", &arguments.separator, Role::Inner);
        let list = if is_empty(&separator) {
            argument.repeated()
        } else {
            sequence(vec![argument.clone(), sequence(vec![separator, argument]).repeated()]).optional()
        };
        body.push(args_start.optional());
        body.push(list);
        body.push(args_end.optional());
        let end = || Expr::Act(Action::EndCall);
        let expression = tools.format == ToolFormat::CallExpression;
        let mut closings = Vec::new();
        if !is_empty(&close) {
            closings.push(sequence(vec![close, call_end.clone().optional(), end()]));
        }
        if !is_empty(&call_end) && !expression {
            closings.push(sequence(vec![call_end, end()]));
        }
        // The bracket that closes an expression is part of it; tags may be forgotten.
        if !expression {
            closings.push(Expr::Act(if closings.is_empty() { Action::EndCall } else { Action::EndCallIncomplete }));
        }
        body.push(Expr::Choice(closings));
    }
    let hold = || Expr::Act(Action::Speculate);
    let first = sequence([vec![section, header.clone()], body.clone()].concat());
    let first = match alone {
        Some(prefix) => {
            let mut body = body.clone();
            body[2] = confirmed(name_suffix);
            Expr::Choice(vec![sequence([vec![prefix], body].concat()), first])
        }
        None => first,
    };
    let first = sequence(vec![hold(), first]);
    let more = sequence([vec![hold(), separator, header], body].concat());
    sequence(vec![first, more.repeated(), section_end.optional()])
}

/// One argument with its name and value.
fn argument(spec: &FormatSpec) -> Expr {
    let tools = &spec.tools;
    let arguments = &tools.arguments;
    let inner = |key, text: &str| marker(spec, key, text, Role::Inner);
    let value = |kind, suffix_key, suffix: &str| {
        let reads = match kind {
            ArgumentKind::Literal => Hole::Literal(arguments.quote.clone().into()),
            _ => Hole::Value,
        };
        sequence(vec![
            Expr::Act(Action::Argument(kind)),
            inner(suffix_key, suffix),
            inner("tools.arguments.value_prefix", &arguments.value_prefix),
            hole(reads),
            Expr::Act(Action::EndArgument),
            confirmed(inner("tools.arguments.value_suffix", &arguments.value_suffix)),
        ])
    };
    let python = tools.uses_python_dicts;
    let suffix = |kind| value(kind, "tools.arguments.name_suffix", &arguments.name_suffix);
    let rest = if tools.format == ToolFormat::CallExpression {
        suffix(ArgumentKind::Literal)
    } else if arguments.other_name_suffix.is_empty() {
        suffix(ArgumentKind::BySchema { python })
    } else {
        let other = ArgumentKind::Other { python };
        let other = value(other, "tools.arguments.other_name_suffix", &arguments.other_name_suffix);
        Expr::Choice(vec![suffix(ArgumentKind::Text), other])
    };
    let name = inner("tools.arguments.name_prefix", &arguments.name_prefix);
    sequence(vec![name, hole(Hole::ArgumentName), rest])
}

/// Whether a marker is nothing but punctuation, which announces no call.
fn is_symbol(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace()) && text.trim().len() <= 2
}

// ----- pieces -----

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
    // A marker that is nothing but white space is layout of its neighbours.
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
                if !matches!(other, Expr::Act(_)) {
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

/// A marker as its pieces: it is cut where a template's white space separates two tags, so that a model may drop it.
/// Where the spec knows other texts that do the same, any of them.
fn marker(spec: &FormatSpec, key: &'static str, text: &str, role: Role) -> Expr {
    let others = spec.alternatives.get(key).map_or(&[][..], Vec::as_slice);
    if others.is_empty() {
        return pieces(key, text, role);
    }
    let texts = std::iter::once(text).chain(others.iter().map(String::as_str));
    let ways: Vec<Expr> =
        texts.filter(|text| !text.trim().is_empty()).map(|text| sequence(vec![pieces(key, text, role)])).collect();
    if text.trim().is_empty() { Expr::Choice(ways).optional() } else { Expr::Choice(ways) }
}

fn pieces(key: &'static str, text: &str, role: Role) -> Expr {
    let mut pieces = Vec::new();
    for (index, piece) in pieces_of(text).into_iter().enumerate() {
        let role = if index > 0 && role == Role::CallOpen { Role::Inner } else { role };
        let mut literal = literal(key, piece, role);
        // A frame that ends in a word needs its line to end too: a longer word is another frame.
        if role == Role::ContentFrame
            && literal.core.ends_with(char::is_alphanumeric)
            && literal.after.starts_with('\n')
        {
            literal.after.remove(0);
            literal.core.push('\n');
        }
        pieces.push(Expr::Literal(literal));
    }
    // Layout alone is kept: what it stands beside is known only to the sequence that it is put into.
    Expr::Sequence(pieces)
}

fn literal(key: &'static str, text: &str, role: Role) -> Literal {
    let core = text.trim();
    let (before, after) = match text.find(core) {
        Some(_) if core.is_empty() => (text, ""),
        Some(at) => (&text[..at], &text[at + core.len()..]),
        None => ("", ""),
    };
    Literal {
        key,
        core: core.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
        role,
        confirm: false,
        peek: false,
        origin: Origin::Canonical,
    }
}

fn symbol(text: &'static str, role: Role) -> Expr {
    Expr::Literal(literal("tools", text, role))
}

/// `text` cut after each run of white space that holds a newline or stands between two tags.
fn pieces_of(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let space = rest.len() - rest.trim_start().len();
        if space == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let before = text[start..at].trim();
        let after = rest.trim_start();
        let between_tags = before.ends_with(['>', ']']) && after.starts_with(['<', '[']);
        at += space;
        if !before.is_empty() && !after.is_empty() && (between_tags || rest[..space].contains('\n')) {
            pieces.push(&text[start..at]);
            start = at;
        }
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
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

/// Whether an expression begins with a marker that prose would not hold by chance.
fn is_tag(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(literal) => literal.core.starts_with(['<', '[']) && literal.core.len() >= 4,
        Expr::Sequence(items) => items.first().is_some_and(is_tag),
        Expr::Choice(items) => items.iter().all(is_tag),
        _ => false,
    }
}

/// The first literal of a closing marker counts only where what follows may follow.
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
