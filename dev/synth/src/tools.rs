//! Random ways of writing calls.

use unjinja_spec::{ArgumentOrder, CallId, CallIdPosition, FormatSpec, ToolFormat, Tools};

use crate::behaviour::{AcceptedArguments, Behaviour, Literals};
use crate::marker::{Alphabet, Markers};
use crate::rng::Rng;

/// Draws how calls are written.
pub fn draw(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    let tools = &mut spec.tools;
    match markers.rng().below(14) {
        0 => {}
        1..=5 => json_native(markers, tools, behaviour),
        6..=8 => tag_with_json(markers, tools, behaviour),
        9..=11 => tag_with_tagged(markers, tools, behaviour),
        _ => call_expression(markers, tools, behaviour),
    }
    if tools.format != ToolFormat::None && markers.rng().coin() {
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

/// Markers around all calls, around each, or both.
fn around(markers: &mut Markers<'_>, tools: &mut Tools, section: bool, each: bool) {
    if section {
        let alphabet = markers.alphabet();
        (tools.section_start, tools.section_end) = markers.laid_out(alphabet);
        if markers.rng().one_in(6) && !each {
            // Only the end of the turn closes the section.
            tools.section_end = String::new();
        }
    }
    if each {
        let alphabet = markers.tags();
        (tools.per_call_start, tools.per_call_end) = markers.laid_out(alphabet);
    }
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
    if !tools.per_call_start.is_empty() && !tools.tools_array_wrapped && markers.rng().one_in(5) {
        // The name comes before the object, too.
        tools.per_call_start.truncate(tools.per_call_start.trim_end().len());
        let alphabet = markers.tags();
        tools.function.name_suffix = format!("{}{}", markers.single(alphabet), markers.rng().pick(&["", "\n"]));
    }
}

fn tag_with_json(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    tools.format = ToolFormat::TagWithJson;
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
    let section = markers.rng().one_in(3);
    match markers.rng().below(3) {
        // The name in an attribute of a tag.
        0 => {
            let alphabet = angle_or_wide(markers.rng());
            around(markers, tools, section, false);
            name_tag(markers, tools, alphabet);
        }
        // Openers before the name, one marker after it.
        1 => {
            around(markers, tools, section, true);
            tools.per_call_start.truncate(tools.per_call_start.trim_end().len());
            let alphabet = markers.tags();
            tools.function.name_suffix = markers.single(alphabet);
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

/// A number after the name that the template counts: an attribute of the name's tag, or between markers.
fn counted(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    behaviour.counts_calls = true;
    behaviour.first_id = markers.rng().below(2);
    let function = &mut tools.function;
    let attribute = function.name_suffix.starts_with('"');
    let (prefix, suffix) = if attribute {
        let word = markers.rng().pick(&["index", "number", "id"]);
        (format!("\" {word}=\""), std::mem::take(&mut function.name_suffix))
    } else {
        let alphabet = markers.tags();
        markers.pair(alphabet)
    };
    if !attribute {
        function.name_suffix.truncate(function.name_suffix.trim_end().len());
    }
    tools.call_id = CallId { position: CallIdPosition::BetweenFuncAndArgs, prefix, suffix };
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

/// `<f=NAME>` or `<f name="NAME">`, closed by `</f>`.
fn name_tag(markers: &mut Markers<'_>, tools: &mut Tools, alphabet: Alphabet) {
    let word = markers.word();
    let bar = if alphabet == Alphabet::Wide { "｜" } else { "" };
    let function = &mut tools.function;
    (function.name_prefix, function.name_suffix) = if markers.rng().coin() {
        (format!("<{bar}{word}="), ">".to_owned())
    } else {
        (format!("<{bar}{word} name=\""), "\">".to_owned())
    };
    function.close = format!("</{bar}{word}>");
    if markers.rng().coin() {
        function.name_suffix.push('\n');
        function.close.insert(0, '\n');
    }
}

fn tag_with_tagged(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    tools.format = ToolFormat::TagWithTagged;
    behaviour.accepts = AcceptedArguments::Object;
    let section = markers.rng().one_in(3);
    let alphabet = angle_or_wide(markers.rng());
    let in_tag = markers.rng().below(3) < 2;
    let each = !in_tag || markers.rng().coin();
    around(markers, tools, section, each);
    if in_tag {
        name_tag(markers, tools, alphabet);
        let space = markers.rng().pick(&["", "\n"]);
        tools.function.close = format!("{space}{}", tools.function.close.trim_start());
        tools.function.name_suffix.truncate(tools.function.name_suffix.trim_end().len());
    } else {
        tools.per_call_start.truncate(tools.per_call_start.trim_end().len());
        if markers.rng().coin() {
            let alphabet = markers.tags();
            (tools.function.name_prefix, tools.function.name_suffix) = markers.pair(alphabet);
        } else {
            tools.function.name_suffix = markers.rng().pick(&["", "\n"]).to_owned();
        }
    }
    let arguments = &mut tools.arguments;
    let line = markers.rng().pick(&["", "\n"]);
    match markers.rng().below(6) {
        0 => {
            let word = markers.word();
            arguments.name_prefix = format!("{line}<{word}=");
            arguments.name_suffix = ">".to_owned();
            arguments.value_suffix = format!("</{word}>");
        }
        1 => {
            let word = markers.word();
            arguments.name_prefix = format!("{line}<{word} name=\"");
            arguments.name_suffix = "\">".to_owned();
            arguments.value_suffix = format!("</{word}>");
        }
        2 => {
            let word = markers.word();
            let flag = markers.rng().pick(&["string", "text", "str"]);
            arguments.name_prefix = format!("{line}<{word} name=\"");
            arguments.name_suffix = format!("\" {flag}=\"true\">");
            arguments.other_name_suffix = format!("\" {flag}=\"false\">");
            arguments.value_suffix = format!("</{word}>");
        }
        3 => {
            let word = markers.word();
            let kind = markers.rng().pick(&["type", "kind"]);
            arguments.name_prefix = format!("{line}<{word} name=\"");
            arguments.type_prefix = format!("\" {kind}=\"");
            arguments.type_suffix = "\">".to_owned();
            arguments.value_suffix = format!("</{word}>");
        }
        4 => {
            // The argument's own name closes it.
            let prefix = if markers.rng().coin() { String::new() } else { format!("{}:", markers.word()) };
            arguments.name_prefix = format!("{line}<{prefix}");
            arguments.name_suffix = ">".to_owned();
            arguments.close_prefix = format!("</{prefix}");
            arguments.close_suffix = ">".to_owned();
            arguments.nested = prefix.is_empty() && line.is_empty() && markers.rng().coin();
        }
        _ => {
            let alphabet = markers.tags();
            let (open, close) = markers.pair(alphabet);
            arguments.name_prefix = format!("{line}{open}");
            arguments.name_suffix = close;
            let (open, close) = markers.pair(alphabet);
            arguments.value_prefix = format!("{line}{open}");
            arguments.value_suffix = close;
        }
    }
    let own_line = arguments.value_prefix.is_empty() && arguments.close_prefix.is_empty();
    if markers.rng().one_in(3) && own_line && arguments.type_prefix.is_empty() {
        // Values on lines of their own.
        arguments.name_suffix.push('\n');
        if !arguments.other_name_suffix.is_empty() {
            arguments.other_name_suffix.push('\n');
        }
        arguments.value_suffix.insert(0, '\n');
    }
    if line.is_empty() && markers.rng().one_in(5) {
        arguments.separator = "\n".to_owned();
    }
    arguments.cdata = !arguments.nested && markers.rng().one_in(6);
    behaviour.literals = markers.rng().pick(&[Literals::Json, Literals::Json, Literals::Python]);
    if arguments.nested {
        behaviour.literals = Literals::Json;
    }
    tools.uses_python_dicts = behaviour.literals == Literals::Python;
    tools.separator = markers.rng().pick(&["", "\n"]).to_owned();
    if in_tag && markers.rng().one_in(8) {
        counted(markers, tools, behaviour);
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

/// A random alphabet with tags, for formats whose markers hold names.
fn angle_or_wide(rng: &mut Rng) -> Alphabet {
    rng.pick(&[Alphabet::Angle, Alphabet::Angle, Alphabet::Wide])
}
