//! The tools of a request that are no plain functions: custom tools, whose input is a text, and the functions of a namespace. The
//! model sees a function in the place of each.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};
use unjinja_runtime::Tools;

use super::changes::added_tools;
use crate::error::ApiError;
use crate::media::Unread;
use crate::request::{in_namespace, read_tools};
use crate::request_value::RequestValue;

/// The argument that holds the input of a custom tool.
const INPUT: &str = "input";

/// How a client knows a tool that the model sees as a function.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolKind {
    /// A custom tool: its input is a text.
    Custom,
    /// A function of a namespace.
    InNamespace {
        /// The name of the namespace.
        namespace: String,
        /// The name of the function in it.
        name: String,
    },
}

/// How clients know the tools of a request, by the names that the model sees. Plain functions are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CalledTools(BTreeMap<String, ToolKind>);

impl CalledTools {
    /// How clients know the tool of this name; `None` for a plain function.
    pub fn get(&self, name: &str) -> Option<&ToolKind> {
        self.0.get(name)
    }

    /// Whether the tool of this name is a custom one.
    pub(crate) fn is_custom(&self, name: &str) -> bool {
        self.get(name) == Some(&ToolKind::Custom)
    }
}

/// The tools of a request.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    pub tools: Tools,
    pub called: CalledTools,
    /// The names of those whose arguments have to follow their schemas.
    pub strict: Vec<String>,
}

/// Reads the tools, also those that items of the conversation add. The model is not told of those that OpenAI runs.
pub(crate) fn offered(root: &RequestValue<'_>, unread: &mut Unread) -> Result<Offered, ApiError> {
    let mut reading = Reading::default();
    for tool in root.get_list("tools")? {
        reading.tool(&tool, unread)?;
    }
    reading.is_added = true;
    for tool in added_tools(root)? {
        reading.tool(&tool, unread)?;
    }
    reading.bare_names();
    Ok(Offered { tools: read_tools(&Value::Array(reading.list))?, ..reading.offered })
}

/// Tools that are being read.
#[derive(Default)]
struct Reading {
    offered: Offered,
    /// The functions that the model is told of.
    list: Vec<Value>,
    names: HashSet<String>,
    /// Items of the conversation add the tools that follow. They may repeat others.
    is_added: bool,
}

impl Reading {
    fn tool(&mut self, tool: &RequestValue<'_>, unread: &mut Unread) -> Result<(), ApiError> {
        tool.object()?;
        // Chat completions have what a tool is in a field of its own, and some clients write it so in the other API.
        let inner = |key: &str| tool.get(key).unwrap_or_else(|| tool.clone());
        match tool.get_text("type")?.unwrap_or("function") {
            "function" => {
                let function = inner("function");
                let name = function.get_text("name")?.unwrap_or_default();
                self.add(&function, name, None, tool.value.clone())
            }
            "custom" => {
                let tool = inner("custom");
                let name = tool.need("name", "the tool's name")?.text()?;
                self.add(&tool, name, Some(ToolKind::Custom), custom(&tool, name)?)
            }
            "namespace" => {
                let namespace = tool.need("name", "the name of the namespace")?.text()?;
                for inner in tool.get_list("tools")? {
                    let name = inner.need("name", "the function's name")?.text()?;
                    let shown = in_namespace(namespace, name);
                    let kind = ToolKind::InNamespace { namespace: namespace.to_owned(), name: name.to_owned() };
                    let mut function = inner.object()?.clone();
                    function.insert("name".to_owned(), shown.as_str().into());
                    self.add(&inner, &shown, Some(kind), Value::Object(function))?;
                }
                Ok(())
            }
            other => {
                unread.leave_out(other);
                Ok(())
            }
        }
    }

    /// Models leave the namespace out. Where one function fits, the name alone means it.
    fn bare_names(&mut self) {
        let mut bare: BTreeMap<String, Option<ToolKind>> = BTreeMap::new();
        for kind in self.offered.called.0.values() {
            if let ToolKind::InNamespace { name, .. } = kind {
                bare.entry(name.clone()).and_modify(|one| *one = None).or_insert_with(|| Some(kind.clone()));
            }
        }
        let meant = bare.into_iter().filter(|(name, _)| !self.names.contains(name));
        self.offered.called.0.extend(meant.filter_map(|(name, kind)| Some((name, kind?))));
    }

    /// Adds a function, which the model knows by this name.
    fn add(
        &mut self,
        place: &RequestValue<'_>,
        name: &str,
        kind: Option<ToolKind>,
        function: Value,
    ) -> Result<(), ApiError> {
        if !self.names.insert(name.to_owned()) && self.is_added {
            return Ok(());
        }
        if place.get_bool("strict")? == Some(true) {
            self.offered.strict.push(name.to_owned());
        }
        self.offered.called.0.extend(kind.map(|kind| (name.to_owned(), kind)));
        self.list.push(function);
        Ok(())
    }
}

/// A custom tool as a function with one text.
fn custom(tool: &RequestValue<'_>, name: &str) -> Result<Value, ApiError> {
    let mut says = tool.get_text("description")?.unwrap_or_default().to_owned();
    let format = tool.get("format").map(|format| format.get("grammar").unwrap_or(format));
    let definition = match &format {
        Some(format) => format.get_text("definition")?,
        None => None,
    };
    if let Some(definition) = definition {
        let syntax = format.as_ref().map_or(Ok(None), |format| format.get_text("syntax"))?.unwrap_or("given");
        says.push_str(&format!("\n\nThe input has to follow this {syntax} grammar:\n{definition}"));
    }
    let input = json!({"type": "string", "description": "The input of the tool, as it is."});
    let parameters = json!({"type": "object", "properties": {INPUT: input}, "required": [INPUT]});
    let function = json!({"name": name, "description": says.trim(), "parameters": parameters});
    Ok(json!({"type": "function", "function": function}))
}

/// The input of a custom tool in the arguments that the model wrote. If they are something else than the one text, all of them.
pub(crate) fn input_of(arguments: &str) -> String {
    let read: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
    match read.as_ref().and_then(|read| read.get(INPUT)).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => arguments.to_owned(),
    }
}

/// Arguments that hold the input of a custom tool.
pub(crate) fn arguments_of(input: &str) -> Map<String, Value> {
    Map::from_iter([(INPUT.to_owned(), input.into())])
}
