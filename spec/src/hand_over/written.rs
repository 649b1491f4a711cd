//! Calls in the form of `[tools]`, for templates that write none: what the model would have written.

use std::ops::Range;

use serde_json::{Map, Value};

use super::forms::{arguments_object, big_integer};
use crate::model::{CallIdPosition, ToolFormat, Tools};
use crate::tag::REPEATED_NAME;

/// A call that is to be written.
struct WrittenCall<'c> {
    name: &'c str,
    id: Option<&'c str>,
    arguments: Map<String, Value>,
}

impl<'c> WrittenCall<'c> {
    fn of(call: &'c Value) -> Option<Self> {
        let function = &call["function"];
        let arguments = arguments_object(function["arguments"].clone());
        Some(Self { name: function["name"].as_str()?, id: call["id"].as_str(), arguments })
    }
}

/// The calls of a turn, written.
#[derive(Default)]
pub(super) struct Written {
    pub text: String,
    /// Where the markers of the spec are in it. What is between them comes from the conversation.
    pub markers: Vec<Range<usize>>,
}

impl Written {
    /// `None` if the spec does not say enough to write calls. Arguments that are no object are written as `{"arguments": "TEXT"}`.
    pub(super) fn of(tools: &Tools, calls: &[Value]) -> Option<Self> {
        let arguments = &tools.arguments;
        let is_open = arguments.nested || !arguments.quote.is_empty() || !arguments.type_prefix.is_empty();
        if is_open || tools.call_id.position != CallIdPosition::None || !tools.gen_id_field.is_empty() {
            return None;
        }
        let [open, separator, close] = match tools.tools_array_wrapped {
            true => ["[", if tools.separator.is_empty() { ", " } else { &tools.separator }, "]"],
            false => ["", &tools.separator, ""],
        };
        let mut written = Self::default();
        written.markers(&[&tools.section_start, open]);
        for (at, call) in calls.iter().enumerate() {
            written.markers(&[if at > 0 { separator } else { "" }, &tools.per_call_start]);
            written.call(tools, &WrittenCall::of(call)?)?;
            written.markers(&[&tools.per_call_end]);
        }
        written.markers(&[close, &tools.section_end]);
        Some(written)
    }

    fn markers(&mut self, texts: &[&str]) {
        let start = self.text.len();
        self.text.extend(texts.iter().copied());
        match self.markers.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = self.text.len(),
            None => self.markers.push(start..self.text.len()),
        }
    }

    /// A marker that may repeat the call's name. The name is no marker: a conversation may give it any text.
    fn marker_with_name(&mut self, marker: &str, name: &str) {
        for (at, piece) in marker.split(REPEATED_NAME).enumerate() {
            self.text.push_str(if at > 0 { name } else { "" });
            self.markers(&[piece]);
        }
    }

    fn call(&mut self, tools: &Tools, call: &WrittenCall<'_>) -> Option<()> {
        let (function, arguments) = (&tools.function, &tools.arguments);
        let python = tools.uses_python_dicts;
        if tools.format == ToolFormat::JsonNative {
            literal(&object(tools, call)?, python, &mut self.text);
            return Some(());
        }
        self.markers(&[&function.name_prefix]);
        self.text.push_str(call.name);
        self.marker_with_name(&function.name_suffix, call.name);
        self.markers(&[&arguments.start]);
        match tools.format {
            ToolFormat::None | ToolFormat::JsonNative => return None,
            ToolFormat::TagWithJson => literal(&Value::Object(call.arguments.clone()), python, &mut self.text),
            ToolFormat::TagWithTagged | ToolFormat::CallExpression => {
                for (at, (name, value)) in call.arguments.iter().enumerate() {
                    self.markers(&[if at > 0 { &arguments.separator } else { "" }]);
                    self.argument(tools, name, value);
                }
            }
        }
        self.markers(&[&arguments.end]);
        self.marker_with_name(&function.close, call.name);
        Some(())
    }

    fn argument(&mut self, tools: &Tools, name: &str, value: &Value) {
        let arguments = &tools.arguments;
        let suffix = match value {
            Value::String(_) => &arguments.name_suffix,
            _ if arguments.other_name_suffix.is_empty() => &arguments.name_suffix,
            _ => &arguments.other_name_suffix,
        };
        // A call as Python writes it has Python's values.
        let python = tools.uses_python_dicts || arguments.name_suffix.trim() == "=";
        self.markers(&[&arguments.name_prefix]);
        self.text.push_str(name);
        self.markers(&[suffix, &arguments.value_prefix]);
        match value {
            Value::String(text) if tools.format == ToolFormat::TagWithTagged => self.text.push_str(text),
            value => literal(value, python, &mut self.text),
        }
        self.markers(&[&arguments.value_suffix, &arguments.close_prefix]);
        if !arguments.close_prefix.is_empty() {
            self.text.push_str(name);
        }
        self.markers(&[&arguments.close_suffix]);
    }
}

/// A call as one object.
fn object(tools: &Tools, call: &WrittenCall<'_>) -> Option<Value> {
    let text = Value::Object(call.arguments.clone());
    let arguments = match tools.args_as_text {
        true => json_text(&text).into(),
        false => text,
    };
    if !tools.function.name_prefix.is_empty() || !tools.function.name_suffix.is_empty() {
        return None;
    }
    if tools.fun_name_is_key {
        return Some(Value::Object(Map::from_iter([(call.name.to_owned(), arguments)])));
    }
    let fields = [(&tools.name_field, Some(call.name.into())), (&tools.args_field, Some(arguments))];
    let mut inner = Map::new();
    for (key, value) in fields {
        inner.insert(key.clone(), value.filter(|_| !key.is_empty())?);
    }
    let id = call.id.filter(|_| !tools.id_field.is_empty()).map(|id| (tools.id_field.clone(), id.into()));
    if tools.function_field.is_empty() {
        inner.extend(id);
    } else {
        inner = Map::from_iter(id.into_iter().chain([(tools.function_field.clone(), inner.into())]));
    }
    // The order in which models were taught to write the keys.
    let known = tools.parameter_order.iter().filter_map(|key| inner.shift_remove_entry(key));
    let mut call = Map::from_iter(known);
    call.extend(inner);
    Some(Value::Object(call))
}

/// A value as `json.dumps` writes it, with all digits of integers beyond 64 bits; see [`big_integer`]. Models are used to its white space.
pub fn json_text(value: &Value) -> String {
    let mut text = String::new();
    literal(value, false, &mut text);
    text
}

/// Writes a value as JSON, or as a Python literal.
fn literal(value: &Value, python: bool, out: &mut String) {
    let word = match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                literal(item, python, out);
            }
            return out.push(']');
        }
        Value::Object(entries) => {
            if let Some(digits) = big_integer(entries) {
                return out.push_str(digits);
            }
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                literal(&Value::String(key.clone()), python, out);
                out.push_str(": ");
                literal(value, python, out);
            }
            return out.push('}');
        }
        Value::Bool(true) if python => "True",
        Value::Bool(false) if python => "False",
        Value::Null if python => "None",
        other => return out.push_str(&other.to_string()),
    };
    out.push_str(word);
}
