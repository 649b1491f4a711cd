//! Calls that are JSON objects or Python dicts.

use std::borrow::Cow;

use unjinja_runtime::abi::{Action, CallShape, Hole};
use unjinja_spec::MarkerKey;

use super::build::{hole, is_empty, is_tag, marker, opening_brace, sequence, symbol};
use super::lenient;
use super::source::Source;
use super::{fence, stray};
use crate::plan::{Expr, Literal, Role};

pub(super) fn calls(spec: &Source<'_>) -> Expr {
    let tools = &spec.tools;
    let section = marker(spec, MarkerKey::SectionStart, Role::CallOpen);
    let section_end = marker(spec, MarkerKey::SectionEnd, Role::Inner);
    let start = marker(spec, MarkerKey::CallStart, Role::CallOpen);
    let bare = is_empty(&section) && is_empty(&start);
    // The name may come before the object too. Then it announces the call there.
    let is_named =
        [&tools.function.name_prefix, &tools.function.name_suffix].iter().any(|text| !text.trim().is_empty());
    let shape = CallShape {
        function_field: tools.function_field.clone().into(),
        name_field: tools.name_field.clone().into(),
        args_field: tools.args_field.clone().into(),
        id_field: if tools.id_field.is_empty() { tools.gen_id_field.clone() } else { tools.id_field.clone() }.into(),
        keys: other_keys(spec).into(),
        name_is_key: tools.fun_name_is_key,
        python: tools.uses_python_dicts,
        strict: bare && !is_named,
        announced: is_named,
        args_as_text: tools.args_as_text,
    };
    let object = lenient::object(spec, shape, !bare);
    let end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    let end_call = || Expr::Action(Action::EndCall);
    let speculate = || Expr::Action(Action::Speculate);
    let body = sequence(vec![object.clone(), stray::end_of_call(spec, end.clone())]);
    let closing = || sequence(vec![symbol("]", Role::Inner), stray::after_json(spec, !bare)]).optional();
    if is_named {
        return named(spec, section, start, sequence(vec![object, stray::end_of_call(spec, end)]));
    }
    if tools.tools_array_wrapped && !bare {
        let more = sequence(vec![speculate(), symbol(",", Role::Inner), start.clone(), body.clone()]).repeated();
        let open = symbol("[", Role::Inner).optional();
        let call = sequence(vec![fence::begin(spec), open, start, body, more, closing(), section_end.optional()]);
        let call = stray::or_ended(spec, &section, call);
        return sequence(vec![speculate(), lenient::or_again(section, call)]);
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
        let calls = Expr::Choice(vec![list, sequence(vec![speculate(), brace, body, next])]);
        return stray::after_other_token(spec, calls);
    }
    let separator = marker(spec, MarkerKey::CallSeparator, Role::Inner);
    let section = if is_tag(&start) { section.optional() } else { section };
    // After one opener a model may write several objects, in a list, or one after the other if each has an opener of its own.
    let again = is_tag(&start).then(|| lenient::recovered(opening_brace()));
    let next = Expr::Choice([symbol(",", Role::Inner)].into_iter().chain(again).collect());
    let more = sequence(vec![end_call(), speculate(), next, object.clone()]).repeated();
    let open = symbol("[", Role::Inner).optional();
    let body = sequence(vec![fence::begin(spec), open, object, more, closing(), stray::end_of_call(spec, end)]);
    let body = match sequence(vec![start.clone()]) {
        Expr::Literal(opener) if is_tag(&start) => lenient::again(&opener, body),
        _ => body,
    };
    let first = sequence(vec![speculate(), section, start.clone(), body.clone()]);
    let more = sequence(vec![speculate(), separator, start, body]);
    stray::all_calls(spec, first, more)
}

/// Calls whose name is before the object and in it.
fn named(spec: &Source<'_>, section: Expr, start: Expr, body: Expr) -> Expr {
    let header = sequence(vec![
        start.clone(),
        marker(spec, MarkerKey::FunctionNamePrefix, Role::CallOpen),
        hole(Hole::Name),
        Expr::Action(Action::StartCall),
        marker(spec, MarkerKey::FunctionNameSuffix, Role::Inner),
        opening_brace(),
    ]);
    let section = if is_tag(&start) { section.optional() } else { section };
    let speculate = || Expr::Action(Action::Speculate);
    let separator = marker(spec, MarkerKey::CallSeparator, Role::Inner);
    let first = sequence(vec![speculate(), section, header.clone(), body.clone()]);
    let more = sequence(vec![speculate(), separator, header, body]);
    stray::all_calls(spec, first, more)
}

/// The keys that a template writes in a call in addition to those with a known meaning.
fn other_keys(spec: &Source<'_>) -> Vec<Cow<'static, str>> {
    let tools = &spec.tools;
    let known = [&tools.function_field, &tools.name_field, &tools.args_field, &tools.id_field, &tools.gen_id_field];
    tools.parameter_order.iter().filter(|key| !known.contains(key)).map(|key| key.clone().into()).collect()
}
