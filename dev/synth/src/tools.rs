//! Random ways of writing calls.

use unjinja_spec::{ArgumentOrder, CallId, CallIdPosition, FormatSpec, ToolFormat, Tools};

use crate::around::{around, counted};
use crate::behaviour::{AcceptedArguments, Behaviour, Literals};
use crate::marker::{Alphabet, Markers};
use crate::names::{angle_or_wide, name_again, name_is_tag, name_tag, repeats_name};
use crate::rng::Rng;
use crate::tagged;

/// Draws how calls are written.
pub fn draw(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    let tools = &mut spec.tools;
    match markers.rng().below(14) {
        0 => {}
        1..=5 => json_native(markers, tools, behaviour),
        6..=8 => tag_with_json(markers, tools, behaviour),
        9..=11 => tagged::draw(markers, tools, behaviour),
        _ => call_expression(markers, tools, behaviour),
    }
    let closed = tools.section_start.trim().is_empty() || !tools.section_end.trim().is_empty();
    if tools.format != ToolFormat::None && closed && markers.rng().one_in(8) {
        spec.content.after_calls = true;
    } else if tools.format != ToolFormat::None && markers.rng().coin() {
        behaviour.lead = markers.rng().pick(&["\n", "\n\n"]).to_owned();
        let lead = behaviour.lead.clone();
        if let Some(first) = first_opener(tools) {
            first.insert_str(0, &lead);
        } else {
            behaviour.lead.clear();
        }
    }
}

/// The first marker of a turn of calls.
pub fn first_opener(tools: &mut Tools) -> Option<&mut String> {
    [&mut tools.section_start, &mut tools.per_call_start, &mut tools.function.name_prefix]
        .into_iter()
        .find(|marker| !marker.is_empty())
}

fn json_native(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    tools.format = ToolFormat::JsonNative;
    tools.tools_array_wrapped = markers.rng().one_in(3);
    match (tools.tools_array_wrapped, markers.rng().below(6)) {
        // Without any markers.
        (_, 0) => {
            if !tools.tools_array_wrapped {
                tools.separator = markers.rng().pick(&["\n", "; ", ";"]).to_owned();
            }
        }
        (true, _) => around(markers, tools, true, false),
        (false, 1) => around(markers, tools, true, true),
        (false, 2) => {
            around(markers, tools, true, false);
            tools.separator = markers.rng().pick(&["\n", ", ", ",", "; "]).to_owned();
        }
        (false, _) => {
            around(markers, tools, false, true);
            tools.separator = markers.rng().pick(&["", "\n", "\n", ", ", "\n\n"]).to_owned();
        }
    }
    json_object(markers, tools, behaviour);
    if !tools.fun_name_is_key
        && !tools.per_call_start.is_empty()
        && !tools.tools_array_wrapped
        && markers.rng().one_in(5)
    {
        // The name comes before the object, too.
        tools.per_call_start.truncate(tools.per_call_start.trim_end().len());
        let alphabet = markers.tags();
        tools.function.name_suffix = format!("{}{}", markers.single(alphabet), markers.rng().pick(&["", "\n"]));
    }
}

/// The object of a call: its keys, and how it is put together.
pub fn json_object(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    let rng = markers.rng();
    behaviour.array_glue = rng.pick(&[", ", ", ", ",", ",\n"]);
    tools.uses_python_dicts = rng.one_in(6);
    behaviour.by_hand = !tools.uses_python_dicts && rng.coin();
    behaviour.accepts = match (behaviour.by_hand, rng.below(4)) {
        (false, _) => AcceptedArguments::Object,
        (true, 0) => AcceptedArguments::Text,
        (true, 1) => AcceptedArguments::Object,
        (true, _) => AcceptedArguments::Both,
    };
    tools.fun_name_is_key = rng.one_in(7);
    if tools.fun_name_is_key {
        return;
    }
    if !tools.uses_python_dicts && rng.one_in(8) {
        tools.args_as_text = true;
        behaviour.accepts = AcceptedArguments::Both;
    }
    tools.name_field = rng.pick(&["name", "tool_name", "function", "tool", "fn"]).to_owned();
    tools.args_field = rng.pick(&["arguments", "parameters", "args", "input"]).to_owned();
    let mut keys = vec![tools.name_field.clone(), tools.args_field.clone()];
    if rng.one_in(3) {
        keys.reverse();
    }
    if rng.one_in(5) {
        tools.function_field = rng.pick(&["function_call", "call", "payload"]).to_owned();
        behaviour.inner_order = std::mem::replace(&mut keys, vec![tools.function_field.clone()]);
    }
    match rng.below(5) {
        0 => {
            tools.id_field = rng.pick(&["id", "call_id", "tool_call_id"]).to_owned();
            let at = rng.below(keys.len() + 1);
            keys.insert(at, tools.id_field.clone());
        }
        1 => {
            tools.gen_id_field = rng.pick(&["tool_call_id", "index", "number"]).to_owned();
            behaviour.first_id = rng.below(2);
            behaviour.id_is_text = rng.coin();
            let at = rng.below(keys.len() + 1);
            keys.insert(at, tools.gen_id_field.clone());
        }
        _ => {}
    }
    if rng.one_in(6) {
        behaviour.says_type = true;
        keys.insert(0, "type".to_owned());
    }
    tools.parameter_order = keys;
}

/// The forms of arguments that are one object.
pub fn accepted(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    tools.uses_python_dicts = markers.rng().one_in(8);
    behaviour.accepts = if tools.uses_python_dicts {
        AcceptedArguments::Object
    } else {
        markers.rng().pick(&[
            AcceptedArguments::Both,
            AcceptedArguments::Both,
            AcceptedArguments::Object,
            AcceptedArguments::Text,
        ])
    };
}

fn tag_with_json(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    tools.format = ToolFormat::TagWithJson;
    accepted(markers, tools, behaviour);
    let section = markers.rng().one_in(3);
    match markers.rng().below(4) {
        // The name in an attribute of a tag.
        0 => {
            let alphabet = angle_or_wide(markers.rng());
            around(markers, tools, section, false);
            name_tag(markers, tools, alphabet);
        }
        // Openers before the name, one marker after it, and perhaps a tag that has the name again.
        1 => {
            around(markers, tools, section, true);
            tools.per_call_start.truncate(tools.per_call_start.trim_end().len());
            let alphabet = markers.tags();
            tools.function.name_suffix = markers.single(alphabet);
            if markers.rng().one_in(3) {
                name_again(markers, tools);
            }
        }
        // The name is the tag.
        2 => {
            let each = markers.rng().one_in(3);
            around(markers, tools, section, each);
            name_is_tag(markers, tools);
        }
        // The name between tags of its own, or a line of its own.
        _ => {
            around(markers, tools, section, true);
            let alphabet = markers.tags();
            if markers.rng().coin() {
                (tools.function.name_prefix, tools.function.name_suffix) = markers.pair(alphabet);
            } else {
                tools.per_call_start.truncate(tools.per_call_start.trim_end().len());
                tools.function.name_suffix = "\n".to_owned();
            }
        }
    }
    if markers.rng().one_in(6) {
        let alphabet = markers.tags();
        (tools.arguments.start, tools.arguments.end) = if markers.rng().coin() {
            ("\n```json\n".to_owned(), "\n```".to_owned())
        } else {
            markers.laid_out(alphabet)
        };
    }
    tools.separator = markers.rng().pick(&["", "", "\n"]).to_owned();
    if markers.rng().one_in(8) {
        counted(markers, tools, behaviour);
    } else {
        call_id(markers, tools);
    }
}

fn call_id(markers: &mut Markers<'_>, tools: &mut Tools) {
    let positions = [
        CallIdPosition::None,
        CallIdPosition::None,
        CallIdPosition::PreFuncName,
        CallIdPosition::BetweenFuncAndArgs,
        CallIdPosition::PostArgs,
        CallIdPosition::InName,
    ];
    let position = markers.rng().pick(&positions);
    if position == CallIdPosition::InName && repeats_name(tools) {
        // The name would be a part of the id in one place and not in the other.
        return;
    }
    if position == CallIdPosition::PreFuncName && tools.section_start.is_empty() && tools.per_call_start.is_empty() {
        // The id's own marker would open the call, which the spec language cannot express.
        return;
    }
    let alphabet = markers.tags();
    let (prefix, suffix) = match position {
        CallIdPosition::None => return,
        CallIdPosition::InName => {
            (markers.rng().pick(&["functions.", "fn-", ""]).to_owned(), markers.rng().pick(&[":", "#"]).to_owned())
        }
        _ => markers.pair(alphabet),
    };
    tools.call_id = CallId { position, prefix, suffix };
    if position == CallIdPosition::BetweenFuncAndArgs {
        // The marker before the id ends the name.
        tools.function.name_suffix.truncate(tools.function.name_suffix.trim_end().len());
        if tools.function.name_prefix.is_empty() && markers.rng().coin() {
            tools.function.name_suffix.clear();
        }
    }
}

fn call_expression(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    tools.format = ToolFormat::CallExpression;
    behaviour.accepts = AcceptedArguments::Object;
    let each = markers.rng().coin();
    around(markers, tools, !each, each);
    if !each {
        tools.separator = markers.rng().pick(&[", ", ",", "; ", "\n"]).to_owned();
        if markers.rng().coin() {
            tools.section_start.push('[');
            tools.section_end.insert(0, ']');
        }
    }
    tools.function.name_prefix = markers.rng().pick(&["", "", "call:"]).to_owned();
    let arguments = &mut tools.arguments;
    let (open, sign, close) = markers.rng().pick(&[("(", "=", ")"), ("(", "=", ")"), ("{", ":", "}")]);
    tools.function.name_suffix = open.to_owned();
    tools.function.close = close.to_owned();
    arguments.name_suffix = sign.to_owned();
    arguments.separator = markers.rng().pick(&[", ", ","]).to_owned();
    behaviour.literals = markers.rng().pick(&[Literals::Json, Literals::Python]);
    if markers.rng().one_in(3) {
        let alphabet = markers.tags();
        arguments.quote = match alphabet {
            Alphabet::Angle | Alphabet::Pipe => "<|\"|>".to_owned(),
            _ => markers.single(alphabet),
        };
    }
}

/// Whether the template sorts arguments, and how.
pub fn argument_order(rng: &mut Rng, tools: &Tools, behaviour: &Behaviour) -> ArgumentOrder {
    let sorts = rng.one_in(5);
    match tools.format {
        ToolFormat::TagWithTagged if sorts && !tools.arguments.nested => ArgumentOrder::SortedIgnoringCase,
        ToolFormat::CallExpression if sorts => ArgumentOrder::SortedIgnoringCase,
        // What is text already, or is printed as Python does, cannot be sorted.
        ToolFormat::TagWithJson
            if sorts && !tools.uses_python_dicts && behaviour.accepts != AcceptedArguments::Text =>
        {
            ArgumentOrder::Sorted
        }
        _ => ArgumentOrder::Given,
    }
}
