//! Calls whose name is outside JSON.

use unjinja_runtime::abi::{Action, Hole, Label};
use unjinja_spec::{CallIdPosition, MarkerKey, ToolFormat};

use super::arguments::{after_name, argument, name_ends_at_line, unknown_closer};
use super::build::{confirmed, hole, is_empty, is_tag, marker, opening_brace, sequence, tolerated};
use super::lenient;
use super::source::Source;
use super::{fence, stray, variants};
use crate::plan::{Expr, Role};

/// Calls whose name is outside JSON.
pub(super) fn calls(spec: &Source<'_>) -> Expr {
    let tools = &spec.tools;
    let (function, id) = (&tools.function, &tools.call_id);
    let section = marker(spec, MarkerKey::SectionStart, Role::CallOpen);
    let start = marker(spec, MarkerKey::CallStart, Role::CallOpen);
    let prefix = marker(spec, MarkerKey::FunctionNamePrefix, Role::CallOpen);
    let separator = marker(spec, MarkerKey::CallSeparator, Role::Inner);

    // The id may be the first that a call has.
    let opens = id.position == CallIdPosition::PreFuncName && is_empty(&section) && is_empty(&start);
    let id_value = || {
        sequence(vec![
            marker(spec, MarkerKey::CallIdPrefix, if opens { Role::CallOpen } else { Role::Inner }),
            hole(Hole::Id),
            Expr::Action(Action::Id),
            marker(spec, MarkerKey::CallIdSuffix, Role::Inner),
        ])
    };
    let id_at = |position: CallIdPosition| {
        if id.position == position { id_value() } else { Expr::empty() }
    };
    // Prose may have a tool's name between the same symbols.
    let by_name_alone =
        [&tools.section_start, &tools.per_call_start, &function.name_prefix].into_iter().all(|text| is_symbol(text));
    let between_symbols = by_name_alone && is_symbol(&function.name_suffix);
    let named = match id.position {
        CallIdPosition::InName => Action::StartLabelled(
            Label { prefix: id.prefix.clone().into(), separator: id.suffix.clone().into() }.into(),
        ),
        _ if by_name_alone => Action::StartOffered,
        _ => Action::StartCall,
    };
    let start_is_optional = is_tag(&prefix);
    let section_is_optional = is_tag(&start) || start_is_optional;
    // A tag with a name may be prose about the tag, unless an opener comes before it. So what follows must confirm it.
    let announced = !is_empty(&section) || !is_empty(&start);
    let alone = (start_is_optional && announced && tools.format != ToolFormat::CallExpression).then(|| prefix.clone());
    let name_suffix = match name_ends_at_line(spec) {
        Some(line) => Expr::Literal(line).optional(),
        None => lenient::or_other_bracket(spec, MarkerKey::FunctionNameSuffix, &["(", "{", "["]),
    };
    let name_suffix = lenient::or_other_header(spec, name_suffix);
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
    // What follows the name's suffix.
    let mut body = vec![between];
    let (mut split, mut bare) = (None, None);
    let args_start = marker(spec, MarkerKey::ArgumentsStart, Role::Inner);
    let args_end = marker(spec, MarkerKey::ArgumentsEnd, Role::Inner);
    let close = lenient::or_other_bracket(spec, MarkerKey::FunctionClose, &[")", "}", "]"]);
    let call_end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    // The bracket that closes an expression is required. Closing tags are not: models forget them.
    let expression = tools.format == ToolFormat::CallExpression || (is_symbol(&function.close) && !is_empty(&close));
    // A name between symbols that prose has too is a call only if an argument or the closer follows.
    let goes_on = between_symbols
        && tools.format == ToolFormat::TagWithTagged
        && !(expression || is_empty(&close) || tools.arguments.name_prefix.trim().is_empty());
    if tools.format == ToolFormat::TagWithJson {
        let arguments = if tools.uses_python_dicts { Hole::Python } else { Hole::Json };
        let needs_brace = is_empty(&args_start)
            && (between_symbols || function.name_suffix.trim().is_empty())
            && (id.position != CallIdPosition::BetweenFuncAndArgs || id.suffix.trim().is_empty());
        let rest = [
            sequence(vec![fence::begin(spec), hole(arguments), stray::after_json(spec, true)]),
            args_end.optional(),
            close.optional(),
            id_at(CallIdPosition::PostArgs).optional(),
            stray::end_of_call(spec, call_end.clone()),
        ];
        // A model may leave out what is between the name and the arguments.
        if !needs_brace && spec.is_announced() {
            let start = if id.position == CallIdPosition::InName { named.clone() } else { Action::StartOffered };
            let brace = vec![Expr::Action(start), lenient::recovered(opening_brace())];
            bare = Some(sequence([brace, rest.to_vec()].concat()));
        }
        body.push(args_start);
        if needs_brace {
            body.push(opening_brace());
        }
        body.extend(rest);
    } else {
        let argument = argument(spec);
        let separator = marker(spec, MarkerKey::ArgumentSeparator, Role::Inner);
        let list = if is_empty(&separator) && tools.format == ToolFormat::CallExpression {
            // Models write a comma where the template writes nothing between two literals.
            let comma = Expr::Literal(tolerated(MarkerKey::ArgumentSeparator, ",", Role::Inner)).optional();
            sequence(vec![argument.clone(), sequence(vec![comma, argument]).repeated()]).optional()
        } else if goes_on {
            sequence(vec![argument.clone(), sequence(vec![separator, argument]).repeated()])
        } else if is_empty(&separator) {
            argument.repeated()
        } else {
            let next = match lenient::ends_after_separator(spec) {
                Some(end) => Expr::Choice(vec![argument.clone(), end]),
                None => argument.clone(),
            };
            sequence(vec![argument, sequence(vec![separator, next]).repeated()]).optional()
        };
        let list = lenient::or_object(spec, list);
        let end = || Expr::Action(Action::EndCall);
        let mut closings = Vec::new();
        if !is_empty(&close) {
            closings.push(sequence(vec![close, stray::end_of_call(spec, call_end.clone())]));
        }
        if !is_empty(&call_end) && !expression {
            closings.push(sequence(vec![call_end.clone(), end()]));
        }
        if !expression {
            closings.extend(lenient::next_call(spec));
            // A closing tag other than these cannot begin an argument.
            let other = unknown_closer(spec);
            if !is_empty(&other) {
                closings.push(sequence(vec![other, Expr::Action(Action::EndCallIncomplete)]));
            }
            closings.push(Expr::Action(if closings.is_empty() { Action::EndCall } else { Action::EndCallIncomplete }));
        }
        if expression {
            closings.push(lenient::missing_bracket(spec, call_end.clone()));
        }
        let rest = if goes_on {
            let empty = sequence(vec![args_end.clone().optional(), closings[0].clone()]);
            vec![Expr::Choice(vec![sequence(vec![list, args_end.optional(), Expr::Choice(closings)]), empty])]
        } else {
            vec![list, args_end.optional(), Expr::Choice(closings)]
        };
        // A model may leave out the opener of the first argument's name.
        if tools.format == ToolFormat::TagWithTagged && tools.arguments.name_suffix.trim().starts_with("</") {
            split = Some(sequence([vec![Expr::Action(Action::StartSplit), after_name(spec)], rest.clone()].concat()));
        }
        body.push(args_start.optional());
        body.extend(rest);
    }
    let speculate = || Expr::Action(Action::Speculate);
    let named_call = |start: Action, suffix: Expr| {
        // After another bracket than the template's, only an offered name makes a call, if any was offered.
        let (own, others) = match tools.format {
            ToolFormat::CallExpression => lenient::own_and_others(suffix),
            _ => (suffix, Expr::empty()),
        };
        let call = |start: Action, suffix| sequence([vec![Expr::Action(start), suffix], body.clone()].concat());
        let other = (!is_empty(&others)).then(|| call(Action::StartKnown, others));
        let call = call(start.clone(), own);
        let closed = |end: &&str| {
            let end = Expr::Literal(tolerated(MarkerKey::FunctionNameSuffix, end, Role::Inner));
            sequence(vec![Expr::Action(start.clone()), end, stray::end_of_call(spec, call_end.clone())])
        };
        let empty = variants::self_closing(spec).iter().map(closed);
        let choices = std::iter::once(call)
            .chain(other)
            .chain(split.clone())
            .chain(bare.clone())
            .chain(empty)
            .chain(stray::next_opener(spec));
        sequence(vec![hole(Hole::Name), Expr::Choice(choices.collect())])
    };
    let needs_more = goes_on || (between_symbols && tools.format == ToolFormat::TagWithJson);
    let suffix = if needs_more { confirmed(name_suffix.clone()) } else { name_suffix.clone() };
    // A prefix that only models write may be prose about the tag: only an offered name makes a call, if any was offered.
    let (own, others) = lenient::own_and_others(prefix);
    let call = sequence(vec![own.clone(), named_call(named.clone(), suffix.clone())]);
    let call = if is_empty(&others) {
        call
    } else {
        Expr::Choice(vec![call, sequence(vec![others, named_call(Action::StartKnown, suffix)])])
    };
    let call = sequence(vec![id_at(CallIdPosition::PreFuncName), call]);
    let opened = |opener: Expr, is_optional: bool, call: Expr| {
        if is_empty(&opener) {
            return call;
        }
        let opened = lenient::or_objects(spec, opener, call.clone(), &call_end);
        if is_optional { Expr::Choice(vec![opened, call]) } else { opened }
    };
    let (first, call) = if is_empty(&start) {
        (opened(section, section_is_optional, call.clone()), call)
    } else {
        let call = opened(start, start_is_optional, call);
        let mut rest = stray::or_ended(spec, &section, call.clone());
        if lenient::is_told_by_suffix(spec) {
            // A model may leave out the marker of the first call.
            let known = if id.position == CallIdPosition::InName { named } else { Action::StartKnown };
            rest = Expr::Choice(vec![rest, sequence(vec![own, named_call(known, name_suffix.clone())])]);
        }
        let opened = sequence(vec![section.clone(), rest]);
        let first =
            if section_is_optional && !is_empty(&section) { Expr::Choice(vec![opened, call.clone()]) } else { opened };
        (first, call)
    };
    let first = match alone {
        // Without an opener before it, only an offered name makes a call, if any was offered.
        Some(prefix) => {
            let known = named_call(Action::StartKnown, confirmed(name_suffix.clone()));
            Expr::Choice(vec![sequence(vec![prefix, known]), first])
        }
        None => first,
    };
    // A recipient that the template does not write is a tool, if one of that name was offered. If not, its message is left out.
    let others = lenient::other_recipients(spec);
    let with_others = |call: Expr| match others.is_empty() {
        true => call,
        false => {
            let other =
                sequence(vec![Expr::Choice(others.clone()), named_call(Action::StartRecipient, name_suffix.clone())]);
            Expr::Choice(vec![call, other])
        }
    };
    let first = sequence(vec![speculate(), with_others(first)]);
    let next = with_others(call);
    let mut more = vec![sequence(vec![speculate(), separator, next.clone()])];
    more.extend(lenient::other_separators(spec).map(|other| sequence(vec![speculate(), other, next])));
    let more = Expr::Choice(more);
    let calls = stray::all_calls(spec, first, more);
    let other = lenient::other_message(spec, |rest, answer| match named_call(Action::StartRecipient, rest) {
        Expr::Sequence(mut parts) => {
            if let Some(Expr::Choice(choices)) = parts.last_mut() {
                choices.push(answer);
            }
            Expr::Sequence(parts)
        }
        other => other,
    });
    if is_empty(&other) { calls } else { Expr::Choice(vec![calls, other]) }
}

/// Whether a marker is at most two punctuation characters. Such a marker does not announce a call.
fn is_symbol(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace()) && text.trim().len() <= 2
}
