//! The tools that a request offers: their names, and the types of their arguments.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::schema::{Arguments, member};

#[cfg(test)]
pub(crate) use crate::schema::References;
pub(crate) use crate::schema::SchemaPlace;
pub use crate::schema::Types;

/// The tools that a request offers. Cheap to clone.
///
/// ```
/// use unjinja_runtime::{Tools, Types};
///
/// let tools = Tools::from_json(r#"[{"type": "function", "function": {
///     "name": "get_weather",
///     "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}
/// }}]"#)?;
/// assert_eq!(tools.len(), 1);
/// assert_eq!(tools.argument_types("get_weather", "city"), Types::STRING);
/// # Ok::<(), unjinja_runtime::ToolsError>(())
/// ```
#[derive(Clone, Default)]
pub struct Tools {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    tools: Vec<Tool>,
    /// The positions in `tools` and `arguments`, ordered by name.
    by_name: Vec<usize>,
    arguments: Vec<Arguments>,
    /// Tools that have name and schema of an earlier one, by position.
    repeated: Vec<usize>,
}

/// One tool.
///
/// ```
/// use unjinja_runtime::{Tool, Tools};
///
/// let parameters = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// let tools = Tools::new(vec![Tool::new("get_weather", parameters), Tool::new("now", serde_json::json!({}))])?;
/// assert_eq!(tools.len(), 2);
/// # Ok::<(), unjinja_runtime::ToolsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name by which it is called.
    pub name: String,
    /// What the tool does, written for the model; may be empty.
    pub description: String,
    /// The JSON schema of the arguments. It is an object; if a request has none, `{"type": "object", "properties":
    /// {}}`.
    pub parameters: Value,
}

impl Tool {
    /// A tool of this name that takes these arguments.
    pub fn new(name: impl Into<String>, parameters: Value) -> Self {
        Self { name: name.into(), description: String::new(), parameters }
    }
}

impl Tools {
    /// No tools.
    pub fn empty() -> Self {
        Self::default()
    }

    /// These tools, in this order.
    ///
    /// # Errors
    /// If a name is empty, or is that of two tools with different schemas. The error lists all such places. Two tools with the
    /// same name and schema count as one; [`DiagnosticKind::RepeatedTool`](crate::DiagnosticKind::RepeatedTool) says so.
    pub fn new(tools: Vec<Tool>) -> Result<Self, ToolsError> {
        let mut problems = Vec::new();
        for (at, tool) in tools.iter().enumerate() {
            if tool.name.is_empty() {
                problems.push(ToolsProblem::new(format!("[{at}].name"), "the name is empty", GIVE_NAME));
            }
        }
        Self::build(tools, problems, &|at| format!("[{at}].name"))
    }

    /// The tools of a request: a list of `{"type": "function", "function": {"name", "description", "parameters"}}`, as
    /// OpenAI has it. Bare `{"name", "description", "parameters"}` objects are taken too, and `input_schema` for
    /// `parameters`. `null` means no tools.
    ///
    /// # Errors
    /// If the value is not such a list, a tool has no name, or two tools have the same name and different schemas.
    /// The error lists all such places.
    pub fn from_openai(tools: &Value) -> Result<Self, ToolsError> {
        let list = match tools {
            Value::Null => return Ok(Self::empty()),
            Value::Array(list) => list,
            Value::Object(request) if request.contains_key("tools") => {
                let next = "pass the list itself: the value of \"tools\"";
                return Err(ToolsProblem::new(String::new(), "this is an object that holds the tools", next).into());
            }
            other => {
                let found = format!("expected a list of tools, found {}", kind(other));
                let next = "pass a request's \"tools\": [{\"type\": \"function\", \"function\": {…}}]";
                return Err(ToolsProblem::new(String::new(), found, next).into());
            }
        };
        let mut problems = Vec::new();
        let mut read = Vec::with_capacity(list.len());
        let mut paths = Vec::with_capacity(list.len());
        for (at, value) in list.iter().enumerate() {
            let (tool, path) = read_tool(value, format!("[{at}]"), &mut problems);
            if let Some(tool) = tool {
                read.push(tool);
                paths.push(path);
            }
        }
        Self::build(read, problems, &|at| format!("{}.name", paths[at]))
    }

    /// The same from JSON text.
    ///
    /// # Errors
    /// As [`from_openai`](Self::from_openai), and if the text is not JSON.
    pub fn from_json(text: &str) -> Result<Self, ToolsError> {
        match serde_json::from_str(text) {
            Ok(value) => Self::from_openai(&value),
            Err(error) => {
                let next = "pass a request's \"tools\" as JSON text";
                Err(ToolsProblem::new(String::new(), format!("this is not JSON: {error}"), next).into())
            }
        }
    }

    fn build(
        tools: Vec<Tool>,
        mut problems: Vec<ToolsProblem>,
        path: &dyn Fn(usize) -> String,
    ) -> Result<Self, ToolsError> {
        let mut by_name: Vec<usize> = (0..tools.len()).collect();
        by_name.sort_unstable_by(|one, other| (&tools[*one].name, one).cmp(&(&tools[*other].name, other)));
        by_name.retain(|&at| !tools[at].name.is_empty());
        let mut firsts: Vec<usize> = (0..tools.len()).collect();
        for alike in by_name.chunk_by(|&a, &b| tools[a].name == tools[b].name) {
            alike.iter().for_each(|&at| firsts[at] = alike[0]);
        }
        let mut repeated = Vec::new();
        for (at, first) in firsts.into_iter().enumerate().filter(|(at, first)| at != first) {
            if tools[at].parameters == tools[first].parameters {
                repeated.push(at);
                continue;
            }
            let cause =
                format!("the name {:?} is that of {} already, with another schema", tools[at].name, path(first));
            problems.push(ToolsProblem::new(path(at), cause, "give every tool a name of its own"));
        }
        if !problems.is_empty() {
            return Err(ToolsError { problems });
        }
        by_name.retain(|at| !repeated.contains(at));
        let arguments = tools.iter().map(|tool| Arguments::of(&tool.parameters)).collect();
        Ok(Self { inner: Arc::new(Inner { tools, by_name, arguments, repeated }) })
    }

    /// The tools as OpenAI's API and templates have them, with no other fields than models were trained on: a list of
    /// `{"type": "function", "function": {"name", "description", "parameters"}}`.
    pub fn to_openai(&self) -> Value {
        let one = |tool: &Tool| {
            let mut function = serde_json::Map::new();
            function.insert("name".to_owned(), tool.name.as_str().into());
            function.insert("description".to_owned(), tool.description.as_str().into());
            function.insert("parameters".to_owned(), tool.parameters.clone());
            json!({"type": "function", "function": function})
        };
        self.iter().map(one).collect()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.inner.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.inner.tools.is_empty()
    }

    /// The tools, in the order given.
    pub fn iter(&self) -> std::slice::Iter<'_, Tool> {
        self.inner.tools.iter()
    }

    /// The names of tools that were offered before with the same schema.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = &str> {
        self.inner.repeated.iter().map(|&at| self.inner.tools[at].name.as_str())
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.inner.tools.get(self.position(name)?)
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let Inner { tools, by_name, .. } = &*self.inner;
        let found = by_name.binary_search_by(|&at| tools[at].name.as_str().cmp(name)).ok()?;
        Some(by_name[found])
    }

    /// The types that a tool's schema allows for an argument; [`Types::UNKNOWN`] if there is no such tool or its schema
    /// does not say. Schemas are analysed once, when the tools are read.
    pub fn argument_types(&self, tool: &str, argument: &str) -> Types {
        self.position(tool).map_or(Types::UNKNOWN, |tool| self.types_of(tool, argument))
    }

    /// The same, for the tool at a position.
    pub(crate) fn types_of(&self, tool: usize, argument: &str) -> Types {
        self.inner.arguments.get(tool).map_or(Types::UNKNOWN, |arguments| arguments.types(argument))
    }

    /// Whether the schema of the tool at a position names an argument, or names none at all.
    pub(crate) fn may_have(&self, tool: usize, argument: &str) -> bool {
        self.inner.arguments.get(tool).is_none_or(|arguments| arguments.may_have(argument))
    }

    /// Whether the schema of the tool at a position names an argument that begins with this text.
    pub(crate) fn begins_argument(&self, tool: usize, text: &[u8]) -> bool {
        self.inner.arguments.get(tool).is_some_and(|arguments| arguments.begins(text))
    }

    /// Whether a text is the name of a tool, and after white space the beginning of an argument that its schema names.
    pub(crate) fn begins_argument_of_function(&self, text: &[u8]) -> bool {
        let Some(space) = text.iter().position(u8::is_ascii_whitespace) else { return false };
        let (name, argument) = text.split_at(space);
        let tool = std::str::from_utf8(name).ok().and_then(|name| self.position(name));
        tool.is_some_and(|tool| self.begins_argument(tool, argument.trim_ascii_start()))
    }

    /// Whether the schema of the tool of this name names an argument.
    pub(crate) fn declares(&self, tool: &str, argument: &str) -> bool {
        let arguments = self.position(tool).and_then(|tool| self.inner.arguments.get(tool));
        arguments.is_some_and(|arguments| arguments.names(argument))
    }

    /// Whether the schema of the tool at a position has a place for an argument.
    pub(crate) fn has_place_for(&self, tool: usize, argument: &str) -> bool {
        self.inner.arguments.get(tool).is_none_or(|arguments| arguments.has_place_for(argument))
    }

    /// The place of an argument in the schema of the tool at a position.
    pub(crate) fn place_of(&self, tool: usize, argument: &str) -> SchemaPlace<'_> {
        let Inner { tools, arguments, .. } = &*self.inner;
        let tool = tools.get(tool).zip(arguments.get(tool));
        tool.map_or(SchemaPlace::UNKNOWN, |(tool, arguments)| {
            SchemaPlace::of(&tool.parameters, arguments.references()).member(argument)
        })
    }
}

impl<'a> IntoIterator for &'a Tools {
    type Item = &'a Tool;
    type IntoIter = std::slice::Iter<'a, Tool>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.inner.tools).finish()
    }
}

impl PartialEq for Tools {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.inner.tools == other.inner.tools
    }
}

const GIVE_NAME: &str = "give the function's name as a string that is not empty";

/// Reads one tool. Returns it if it is complete, and the path of the object that holds its name.
fn read_tool(value: &Value, mut path: String, problems: &mut Vec<ToolsProblem>) -> (Option<Tool>, String) {
    let Some(mut object) = value.as_object() else {
        let found = format!("expected a tool, found {}", kind(value));
        let next = "write it as {\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": …}}";
        problems.push(ToolsProblem::new(path.clone(), found, next));
        return (None, path);
    };
    match member(object, "function") {
        None => {}
        Some(Value::Object(function)) => {
            object = function;
            path.push_str(".function");
        }
        Some(other) => {
            let found = format!("expected an object, found {}", kind(other));
            let next = "write {\"name\": …, \"description\": …, \"parameters\": …}";
            problems.push(ToolsProblem::new(format!("{path}.function"), found, next));
            return (None, path);
        }
    }
    let before = problems.len();
    let name = match member(object, "name") {
        Some(Value::String(name)) if !name.is_empty() => name.clone(),
        found => {
            let cause = match found {
                None => "the name is missing".to_owned(),
                Some(Value::String(_)) => "the name is empty".to_owned(),
                Some(other) => format!("expected a string, found {}", kind(other)),
            };
            let hosted = member(object, "type").and_then(Value::as_str).filter(|&kind| kind != "function");
            let next = match hosted {
                Some(hosted) => format!("leave out tools of type {hosted:?}: only functions can be called"),
                None => GIVE_NAME.to_owned(),
            };
            problems.push(ToolsProblem::new(format!("{path}.name"), cause, next));
            String::new()
        }
    };
    let (key, schema) = ["parameters", "input_schema", "inputSchema"]
        .into_iter()
        .find_map(|key| Some((key, member(object, key)?)))
        .unwrap_or(("parameters", &Value::Null));
    let parameters = match schema {
        Value::Null => json!({"type": "object", "properties": {}}),
        Value::Object(_) => schema.clone(),
        other => {
            let found = format!("expected a JSON schema, found {}", kind(other));
            let next = "write {\"type\": \"object\", \"properties\": {…}}, or leave it out";
            problems.push(ToolsProblem::new(format!("{path}.{key}"), found, next));
            Value::Null
        }
    };
    let description = member(object, "description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let tool = (problems.len() == before).then_some(Tool { name, description, parameters });
    (tool, path)
}

/// What a value is, for an error message.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Everything that is wrong with a list of tools, in the order of the list.
///
/// ```
/// use unjinja_runtime::Tools;
///
/// let error = Tools::from_json(r#"[{"name": "now"}, {"name": 3}]"#).unwrap_err();
/// assert_eq!(error.problems()[0].path(), "tools[1].name");
/// println!("{error}"); // every problem, with its cause and what to do
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsError {
    problems: Vec<ToolsProblem>,
}

impl ToolsError {
    /// Every problem; there is at least one.
    pub fn problems(&self) -> &[ToolsProblem] {
        &self.problems
    }
}

impl From<ToolsProblem> for ToolsError {
    fn from(problem: ToolsProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for ToolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ToolsError {}

/// One thing that is wrong with a list of tools. It is displayed as `tools[1].function.name: cause; next step`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsProblem {
    path: String,
    cause: String,
    next: String,
}

impl ToolsProblem {
    fn new(path: String, cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self { path: format!("tools{path}"), cause: cause.into(), next: next.into() }
    }

    /// Where it is, as a JSON path: `tools[1].function.name`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong there.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// What to do about it.
    pub fn next_step(&self) -> &str {
        &self.next
    }
}

impl fmt::Display for ToolsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.cause, self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> Value {
        json!({"type": "function", "function": {"name": name, "description": "d", "parameters": {"type": "object"}}})
    }

    #[test]
    fn reads_every_form_of_a_tool() {
        let schema = json!({"type": "object"});
        for tool in [
            function("f"),
            json!({"function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}),
            json!({"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}}),
            json!({"name": "f", "description": "d", "input_schema": {"type": "object"}}),
            json!({"name": "f", "description": "d", "inputSchema": {"type": "object"}}),
        ] {
            let tools = Tools::from_openai(&json!([tool])).unwrap();
            assert_eq!(
                tools.get("f"),
                Some(&Tool { name: "f".into(), description: "d".into(), parameters: schema.clone() })
            );
        }
        assert!(Tools::from_openai(&Value::Null).unwrap().is_empty());
        assert!(Tools::from_json("[]").unwrap().is_empty());
        let bare = Tools::from_json(r#"[{"name": "f"}, {"name": "g", "parameters": null}]"#).unwrap();
        let names: Vec<_> = bare.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["f", "g"]);
        assert_eq!(bare.get("g").unwrap().parameters, json!({"type": "object", "properties": {}}));
        assert_eq!(bare.get("h"), None);
        assert_eq!(bare, bare.clone());
    }

    #[test]
    fn says_everything_that_is_wrong_at_once() {
        let error = Tools::from_openai(&json!([
            function("f"),
            7,
            {"type": "function", "function": {"name": ""}},
            {"type": "function", "function": {"description": "x"}},
            {"name": 1, "parameters": "{}"},
            {"type": "web_search"},
            {"type": "function", "function": "f"},
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "required": ["x"]}}},
        ]))
        .unwrap_err();
        let paths: Vec<_> = error.problems().iter().map(ToolsProblem::path).collect();
        assert_eq!(
            paths,
            [
                "tools[1]",
                "tools[2].function.name",
                "tools[3].function.name",
                "tools[4].name",
                "tools[4].parameters",
                "tools[5].name",
                "tools[6].function",
                "tools[7].function.name",
            ]
        );
        let text = error.to_string();
        for part in
            ["found a number", "is empty", "is missing", "found a string", "\"web_search\"", "[0].function.name"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(text.lines().count(), 8);
    }

    #[test]
    fn a_thing_that_is_no_list_is_refused() {
        for (text, says) in [
            (r#"{"tools": []}"#, "tools: this is an object that holds the tools; pass the list itself"),
            ("{}", "tools: expected a list of tools, found an object; pass"),
            ("3", "found a number"),
            ("[", "tools: this is not JSON: EOF"),
        ] {
            let error = Tools::from_json(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let other = json!({"type": "object"});
        let twice = vec![Tool::new("f", json!({})), Tool::new("", json!({})), Tool::new("f", other)];
        assert_eq!(Tools::new(twice).unwrap_err().problems().len(), 2);
        let same =
            Tools::new(vec![Tool::new("f", json!({})), Tool::new("g", json!({})), Tool::new("f", json!({}))]).unwrap();
        assert_eq!(same.repeated().collect::<Vec<_>>(), ["f"]);
        assert_eq!(same.position("f"), Some(0));
    }
}
