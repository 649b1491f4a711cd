//! Random ways of writing calls whose arguments are between markers one by one.

use unjinja_spec::{ToolFormat, Tools};

use crate::around::{around, counted};
use crate::behaviour::{AcceptedArguments, Behaviour, Literals};
use crate::marker::Markers;
use crate::names::{angle_or_wide, name_again, name_is_tag, name_tag};

/// Draws calls whose arguments are between markers one by one.
pub fn draw(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    tools.format = ToolFormat::TagWithTagged;
    let section = markers.rng().one_in(3);
    let alphabet = angle_or_wide(markers.rng());
    let in_tag = markers.rng().below(3) < 2;
    let is_tag = in_tag && markers.rng().one_in(6);
    let each = !in_tag || markers.rng().coin();
    around(markers, tools, section, each);
    if is_tag {
        name_is_tag(markers, tools);
    } else if in_tag {
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
        if markers.rng().one_in(4) {
            let alphabet = markers.tags();
            tools.function.name_suffix = markers.single(alphabet);
            name_again(markers, tools);
        }
    }
    arguments(markers, tools, behaviour);
    tools.separator = markers.rng().pick(&["", "\n"]).to_owned();
    if in_tag && markers.rng().one_in(8) {
        counted(markers, tools, behaviour);
    }
    if !tools.arguments.cdata && markers.rng().one_in(5) {
        token_before_tags(markers, tools, behaviour);
    }
}

/// The markers around arguments, and how values are written.
pub fn arguments(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    behaviour.accepts = AcceptedArguments::Object;
    let arguments = &mut tools.arguments;
    let line = markers.rng().pick(&["", "\n"]);
    match markers.rng().below(7) {
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
        4 | 5 => {
            // The argument's own name closes it.
            let prefix = if markers.rng().coin() { String::new() } else { format!("{}:", markers.word()) };
            arguments.name_prefix = format!("{line}<{prefix}");
            arguments.name_suffix = ">".to_owned();
            arguments.close_prefix = format!("</{prefix}");
            arguments.close_suffix = ">".to_owned();
            arguments.nested = !markers.rng().one_in(3);
            if arguments.nested && markers.rng().coin() {
                arguments.item = markers.rng().pick(&["item", "entry", "element", "li"]).to_owned();
            }
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
}

/// One token before each tag of a call, in brackets that face outwards.
fn token_before_tags(markers: &mut Markers<'_>, tools: &mut Tools, behaviour: &mut Behaviour) {
    let word = markers.word();
    let (left, right) = markers.rng().pick(&[(']', '['), (')', '('), ('}', '{')]);
    let token = format!("{left}<{left}{word}{right}>{right}");
    let Tools { function, arguments, call_id, .. } = tools;
    for marker in [
        &mut tools.section_start,
        &mut tools.section_end,
        &mut tools.per_call_start,
        &mut tools.per_call_end,
        &mut function.name_prefix,
        &mut function.name_suffix,
        &mut function.close,
        &mut arguments.name_prefix,
        &mut arguments.name_suffix,
        &mut arguments.value_prefix,
        &mut arguments.value_suffix,
        &mut arguments.close_prefix,
        &mut call_id.prefix,
        &mut call_id.suffix,
    ] {
        *marker = marker.replace('<', &format!("{token}<"));
    }
    behaviour.before_tags = token;
}
