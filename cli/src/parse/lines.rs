//! `unjinja parse --jsonl`: reads cases, one per line, and writes the messages, one per line. Programs depend on the fields
//! of the lines, so they must not change.

use std::path::Path;

use serde_json::{Value, json};
use unjinja_runtime::{ChatParser, CutCalls, Message, Options, ToolCall, Tools, Unparsed};

use crate::failure::Done;
use crate::{input, parser_args, tool_choice};

/// Answers lines with the parsers of the supported models.
pub(super) fn of_models() -> Done {
    parser_args::lines_of_models(|line, parser| Ok(Case::read(line)?.answer(parser)))
}

/// Answers lines by analysing the templates of a folder and interpreting their specs.
pub(super) fn of_folder(folder: &Path) -> Done {
    parser_args::lines_of_folder(folder, |line, parser| Ok(Case::read(line)?.answer(parser)))
}

struct Case {
    output: String,
    chunk: Option<usize>,
    options: Options,
}

impl Case {
    fn read(line: &Value) -> Result<Self, String> {
        let flag = |key: &str, default: bool| match line.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(on)) => Ok(*on),
            Some(other) => Err(format!("`{key}` must be true or false, but is {other}")),
        };
        let output = input::string(line, "output")?.to_owned();
        let tools = line.get("tools").unwrap_or(&Value::Null);
        let tools = Tools::from_openai(tools).map_err(|e| format!("`tools`: {e}"))?;
        let mut options = Options::new()
            .tools(&tools)
            .parallel_tool_calls(flag("parallel_tool_calls", true)?)
            .extract_reasoning(flag("extract_reasoning", true)?)
            .json_response(line.get("json_schema").is_some_and(|schema| !schema.is_null()));
        options = tool_choice::kept(options, tool_choice::of_line(line)?);
        match line.get("unparsed").map(|value| value.as_str().unwrap_or_default()) {
            None | Some("content") => {}
            Some("separate") => options = options.unparsed(Unparsed::Separate),
            Some(_) => return Err(r#"`unparsed` must be "content" or "separate""#.to_owned()),
        }
        if let Some(value) = line.get("cut_calls") {
            let known = value.as_str().and_then(CutCalls::named);
            options = options.cut_calls(known.ok_or(r#"`cut_calls` must be "keep", "close" or "drop""#)?);
        }
        if let Some(Value::Bool(on)) = line.get("enable_thinking") {
            options = options.thinking(*on);
        }
        match line.get("generation_prompt") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => options = options.generation_prompt(text),
            Some(other) => return Err(format!("`generation_prompt` must be a string, but is {other}")),
        }
        let chunk = match line.get("chunk") {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_u64().and_then(|n| usize::try_from(n).ok()) {
                Some(n) if n > 0 => Some(n),
                _ => return Err(format!("`chunk` must be a number of bytes, at least 1, but is {value}")),
            },
        };
        Ok(Self { output, chunk, options })
    }

    fn answer(&self, parser: &dyn ChatParser) -> Value {
        let mut message = Message::default();
        match self.chunk {
            None => message = parser.parse(self.output.as_str().into(), &self.options),
            Some(chunk) => {
                let mut stream = parser.stream(&self.options);
                for piece in self.output.as_bytes().chunks(chunk) {
                    stream.push_bytes(piece, &mut |event| message.apply(&event));
                }
                stream.finish(&mut |event| message.apply(&event));
            }
        }
        message.note_missing(parser.program(), &self.options);
        answer_line(&message)
    }
}

/// The answer to a line. A call without an id has an empty one.
fn answer_line(message: &Message) -> Value {
    let call = |call: &ToolCall| json!({"id": call.id.as_deref().unwrap_or_default(), "name": call.name, "arguments": call.arguments});
    let mut line = json!({
        "content": message.content,
        "reasoning_content": message.reasoning_content,
        "tool_calls": message.tool_calls.iter().map(call).collect::<Value>(),
    });
    if !message.unparsed.is_empty() {
        line["unparsed"] = message.unparsed.as_str().into();
    }
    let diagnostics = message.diagnostics.iter().map(ToString::to_string);
    json!({"message": line, "diagnostics": diagnostics.collect::<Value>()})
}
