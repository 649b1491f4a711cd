//! Writes a turn as a spec describes it. This is the meaning of a spec: templates are checked against it, and two specs that write
//! every turn alike cannot be told apart by any render.

use serde_json::Value;
use unjinja_spec::{
    ArgumentOrder, CallIdPosition, ContentMode, FormatSpec, MarkerKey, REPEATED_NAME, ReasoningMode, ToolFormat, Tools,
};

/// A call in a turn.
#[derive(Clone, Debug)]
pub struct SaidCall {
    /// The function's name.
    pub name: String,
    /// The call's id.
    pub id: String,
    /// The arguments in order.
    pub arguments: Vec<(String, Value)>,
}

impl SaidCall {
    /// The arguments in the order in which a template writes them.
    pub fn in_order(&self, tools: &Tools) -> Vec<&(String, Value)> {
        let mut arguments: Vec<&(String, Value)> = self.arguments.iter().collect();
        match tools.argument_order {
            ArgumentOrder::Given => {}
            ArgumentOrder::Sorted => arguments.sort_by(|(one, _), (other, _)| one.cmp(other)),
            ArgumentOrder::SortedIgnoringCase => arguments.sort_by_key(|(name, _)| name.to_lowercase()),
        }
        arguments
    }
}

/// The assistant's message of a turn.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// A name for this kind of turn.
    pub label: &'static str,
    /// The reasoning.
    pub reasoning: Option<String>,
    /// The answer.
    pub content: String,
    /// The calls.
    pub calls: Vec<SaidCall>,
}

/// How the holes of a format are filled.
pub trait Ink {
    /// A whole call as one object.
    fn object(&self, tools: &Tools, call: &SaidCall, index: usize) -> String;
    /// The arguments of a call as one object.
    fn arguments(&self, tools: &Tools, call: &SaidCall) -> String;
    /// One value, with its quotes.
    fn value(&self, tools: &Tools, value: &Value) -> String;
    /// A text: reasoning, content, names, ids.
    fn text(&self, text: &str) -> String;
    /// The id of a call.
    fn id(&self, call: &SaidCall, _index: usize) -> String {
        self.text(&call.id)
    }
    /// Between the items of an array.
    fn glue(&self) -> &str;
}

/// The first alternative of a marker.
pub fn alternative(spec: &FormatSpec, key: MarkerKey) -> Option<&str> {
    spec.alternatives.get(&key).and_then(|texts| texts.first()).map(String::as_str)
}

/// A turn as the spec describes it, from the assistant's start to the turn's end. `absent` is written where there is no
/// reasoning.
pub fn turn(spec: &FormatSpec, said: &Said, absent: &str, ink: &dyn Ink) -> String {
    let mut out = spec.turn.assistant_start.clone();
    let reasoning = &spec.reasoning;
    let shows = match reasoning.mode {
        ReasoningMode::None => false,
        ReasoningMode::TagBased => true,
        ReasoningMode::ToolsOnly => !said.calls.is_empty(),
    };
    let thought = said.reasoning.as_ref().filter(|_| shows);
    match thought {
        Some(thought) => {
            out.push_str(&reasoning.start);
            out.push_str(&ink.text(thought));
            out.push_str(&reasoning.end);
        }
        None => out.push_str(absent),
    }
    if !said.calls.is_empty() && spec.content.after_calls {
        calls(&mut out, &spec.tools, &said.calls, ink);
    }
    if !said.content.is_empty() {
        let wrapped = match spec.content.mode {
            ContentMode::Plain => false,
            ContentMode::AlwaysWrapped => true,
            ContentMode::WrappedWithReasoning => thought.is_some(),
            ContentMode::WrappedWithCalls => !said.calls.is_empty(),
        };
        // An answer before a call may have markers of its own.
        let before_call = !said.calls.is_empty() && !spec.content.after_calls;
        let marker = |key| match alternative(spec, key).filter(|_| before_call) {
            Some(other) => other,
            None => spec.marker(key),
        };
        if wrapped {
            out.push_str(marker(MarkerKey::ContentStart));
        }
        out.push_str(&ink.text(&said.content));
        if wrapped {
            out.push_str(marker(MarkerKey::ContentEnd));
        }
    }
    if !said.calls.is_empty() && !spec.content.after_calls {
        calls(&mut out, &spec.tools, &said.calls, ink);
    }
    out.push_str(&spec.turn.end);
    out
}

fn calls(out: &mut String, tools: &Tools, calls: &[SaidCall], ink: &dyn Ink) {
    out.push_str(&tools.section_start);
    let array = tools.format == ToolFormat::JsonNative && tools.tools_array_wrapped;
    if array {
        out.push('[');
    }
    for (index, call) in calls.iter().enumerate() {
        if index > 0 {
            out.push_str(if array { ink.glue() } else { &tools.separator });
        }
        out.push_str(&tools.per_call_start);
        match tools.format {
            ToolFormat::None => {}
            ToolFormat::JsonNative => {
                // A name before the object as well as in it.
                let function = &tools.function;
                if !function.name_prefix.is_empty() || !function.name_suffix.is_empty() {
                    out.push_str(&[&*function.name_prefix, &ink.text(&call.name), &function.name_suffix].concat());
                }
                out.push_str(&ink.object(tools, call, index));
            }
            _ => tagged(out, tools, call, index, ink),
        }
        out.push_str(&tools.per_call_end);
    }
    if array {
        out.push(']');
    }
    out.push_str(&tools.section_end);
}

fn tagged(out: &mut String, tools: &Tools, call: &SaidCall, index: usize, ink: &dyn Ink) {
    let id = |out: &mut String, position| {
        if tools.call_id.position == position {
            out.push_str(&tools.call_id.prefix);
            out.push_str(&ink.id(call, index));
            out.push_str(&tools.call_id.suffix);
        }
    };
    id(out, CallIdPosition::PreFuncName);
    out.push_str(&tools.function.name_prefix);
    if tools.call_id.position == CallIdPosition::InName {
        out.push_str(&tools.call_id.prefix);
        out.push_str(&ink.text(&call.name));
        out.push_str(&format!("{}{index}", tools.call_id.suffix));
    } else {
        out.push_str(&ink.text(&call.name));
    }
    let again = |marker: &str| marker.replace(REPEATED_NAME, &ink.text(&call.name));
    out.push_str(&again(&tools.function.name_suffix));
    id(out, CallIdPosition::BetweenFuncAndArgs);
    let arguments = &tools.arguments;
    out.push_str(&arguments.start);
    if tools.format == ToolFormat::TagWithJson {
        out.push_str(&ink.arguments(tools, call));
    } else {
        for (number, (key, value)) in call.in_order(tools).into_iter().enumerate() {
            if number > 0 {
                out.push_str(&arguments.separator);
            }
            argument(out, tools, key, value, ink);
        }
    }
    out.push_str(&arguments.end);
    out.push_str(&again(&tools.function.close));
    id(out, CallIdPosition::PostArgs);
}

fn argument(out: &mut String, tools: &Tools, key: &str, value: &Value, ink: &dyn Ink) {
    let arguments = &tools.arguments;
    // A list is the same argument again, unless its items have a name of their own.
    if let (true, Value::Array(items)) = (arguments.nested && arguments.item.is_empty(), value) {
        return items.iter().for_each(|item| argument(out, tools, key, item, ink));
    }
    out.push_str(&arguments.name_prefix);
    out.push_str(&ink.text(key));
    if arguments.type_prefix.is_empty() {
        let other = !value.is_string() && !arguments.other_name_suffix.is_empty();
        out.push_str(if other { &arguments.other_name_suffix } else { &arguments.name_suffix });
    } else {
        out.push_str(&[&*arguments.type_prefix, kind(value), &arguments.type_suffix].concat());
    }
    out.push_str(&arguments.value_prefix);
    match value {
        Value::Object(members) if arguments.nested => {
            members.iter().for_each(|(key, value)| argument(out, tools, key, value, ink));
        }
        Value::Array(items) if arguments.nested => {
            items.iter().for_each(|item| argument(out, tools, &arguments.item, item, ink));
        }
        value => out.push_str(&ink.value(tools, value)),
    }
    if arguments.close_prefix.is_empty() {
        out.push_str(&arguments.value_suffix);
    } else {
        out.push_str(&[&*arguments.close_prefix, &ink.text(key), &arguments.close_suffix].concat());
    }
}

/// The JSON type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
