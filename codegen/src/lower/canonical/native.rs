//! Calls that are JSON objects or Python dicts.

use std::borrow::Cow;

use unjinja_runtime::abi::{Action, CallShape, Hole};
use unjinja_spec::MarkerKey;

use super::build::{hole, is_empty, marker, opening_brace, symbol};
use super::source::Source;
use super::tagged::{all_calls, closer, end_of_call};
use crate::plan::{Expr, Literal, PlanPart, Role};

pub(super) fn calls(spec: &Source<'_>) -> Expr {
    let tools = &spec.tools;
    let section = marker(spec, MarkerKey::SectionStart, Role::CallOpen);
    let start = marker(spec, MarkerKey::CallStart, Role::CallOpen);
    let end = marker(spec, MarkerKey::CallEnd, Role::Inner);
    let bare = is_bare(spec);
    let object = Expr::sequence([hole(Hole::Object(shape(spec).into())).named(PlanPart::Object), end_of_call(end)]);
    if is_named(spec) {
        return named(spec, section, start, object);
    }
    if bare {
        return bare_calls(object);
    }
    if tools.tools_array_wrapped {
        let more = another(vec![symbol(",", Role::Inner), start.clone(), object.clone()]);
        let section_end = marker(spec, MarkerKey::SectionEnd, Role::Inner);
        let list = vec![
            symbol("[", Role::Inner).named(PlanPart::Closer),
            start,
            object,
            more,
            list_end(),
            closer(section_end),
        ];
        let list = Expr::Sequence(list).named(PlanPart::Objects).named(PlanPart::AfterSection);
        let calls = Expr::sequence([section, list]).named(PlanPart::Section);
        return Expr::sequence([Expr::Action(Action::Speculate), calls]);
    }
    let call = |opener: Vec<Expr>| {
        let object = object.clone().named(PlanPart::Objects).named(PlanPart::AfterOpener);
        Expr::Sequence([opener, vec![object]].concat())
    };
    let first = Expr::sequence([section.named(PlanPart::Wrapper), call(vec![start.clone()]).named(PlanPart::Opened)]);
    all_calls(spec, first.named(PlanPart::First), call(vec![start]).named(PlanPart::Opened).named(PlanPart::Next))
}

/// Whether only the objects themselves announce a call.
pub(in crate::lower) fn is_bare(spec: &Source<'_>) -> bool {
    let start = [MarkerKey::SectionStart, MarkerKey::CallStart].map(|key| marker(spec, key, Role::CallOpen));
    start.iter().all(is_empty)
}

/// Whether the name comes before the object too. Then it announces the call there.
pub(in crate::lower) fn is_named(spec: &Source<'_>) -> bool {
    let function = &spec.tools.function;
    [&function.name_prefix, &function.name_suffix].iter().any(|text| !text.trim().is_empty())
}

/// How a call is written as an object.
pub(in crate::lower) fn shape(spec: &Source<'_>) -> CallShape {
    let tools = &spec.tools;
    CallShape {
        function_field: tools.function_field.clone().into(),
        name_field: tools.name_field.clone().into(),
        args_field: tools.args_field.clone().into(),
        id_field: if tools.id_field.is_empty() { tools.gen_id_field.clone() } else { tools.id_field.clone() }.into(),
        keys: other_keys(spec).into(),
        name_is_key: tools.fun_name_is_key,
        python: tools.uses_python_dicts,
        strict: is_bare(spec) && !is_named(spec),
        announced: is_named(spec),
        args_as_text: tools.args_as_text,
    }
}

/// The keys that a template writes in a call in addition to those with a known meaning.
fn other_keys(spec: &Source<'_>) -> Vec<Cow<'static, str>> {
    let tools = &spec.tools;
    let known = [&tools.function_field, &tools.name_field, &tools.args_field, &tools.id_field, &tools.gen_id_field];
    tools.parameter_order.iter().filter(|key| !known.contains(key)).map(|key| key.clone().into()).collect()
}

/// Calls whose name is before the object and in it.
fn named(spec: &Source<'_>, section: Expr, start: Expr, object: Expr) -> Expr {
    let call = Expr::sequence([
        start,
        marker(spec, MarkerKey::FunctionNamePrefix, Role::CallOpen),
        hole(Hole::Name),
        Expr::Action(Action::StartCall),
        marker(spec, MarkerKey::FunctionNameSuffix, Role::Inner),
        opening_brace(),
        object,
    ]);
    let first = Expr::sequence([section.named(PlanPart::Wrapper), call.clone()]);
    all_calls(spec, first, call)
}

/// One call, several calls one after the other, or a list.
fn bare_calls(object: Expr) -> Expr {
    let opener = |core: &'static str, peek: bool| match symbol(core, Role::CallOpen) {
        // What follows decides whether a bracket opens a call or is prose.
        Expr::Literal(literal) => Expr::from(Literal { peek, confirm: true, ..*literal }),
        other => other,
    };
    let speculate = || Expr::Action(Action::Speculate);
    let brace = opener("{", true);
    let more = another(vec![symbol(",", Role::Inner), object.clone()]);
    let list = Expr::sequence([speculate(), opener("[", false), object.clone(), more, list_end()]);
    let separator = Expr::choice([symbol(",", Role::Inner), symbol(";", Role::Inner)]).optional();
    let next = another(vec![separator, brace.clone(), object.clone()]);
    Expr::choice([list, Expr::sequence([speculate(), brace, object, next])])
}

/// Any number of other calls that begin so.
fn another(items: Vec<Expr>) -> Expr {
    Expr::Sequence([vec![Expr::Action(Action::Speculate)], items].concat()).repeated()
}

/// The bracket that closes a list of calls.
fn list_end() -> Expr {
    symbol("]", Role::Inner).named(PlanPart::Closer).named(PlanPart::ListEnd)
}
