//! The tools of a request: functions of the client, tools that Anthropic describes and the client runs, and those that are offered once the
//! conversation names them. Tools that Anthropic runs are left out.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};
use unjinja_runtime::Tools;

use crate::error::ApiError;
use crate::media::Unread;
use crate::request::{read_tools, strict_tools};
use crate::request_value::RequestValue;

/// The tools that are offered, and the names of those whose arguments have to follow their schemas.
pub(super) fn offered(root: &RequestValue<'_>, unread: &mut Unread) -> Result<(Tools, Vec<String>), ApiError> {
    let given = root.get_list("tools")?;
    let mut changes = Changes::default();
    for message in root.get_list("messages")? {
        changes.read(&message.value["content"], unread);
    }
    // Nobody can search where Anthropic would: all tools are offered then.
    let searches = |kind: &str| kind.starts_with("tool_search_tool_");
    let is_searched = given.iter().any(|tool| tool.value["type"].as_str().is_some_and(searches));
    let mut list = Vec::new();
    for place in &given {
        let name = place.value["name"].as_str().unwrap_or_default();
        let tool = changes.defined.remove(name).unwrap_or(place.value);
        let waits = tool["defer_loading"] == true && !is_searched && !changes.found.contains(name);
        if !waits && !changes.removed.contains(name) {
            place.object()?;
            list.extend(function(tool, unread));
        }
    }
    let removed = &changes.removed;
    let defined = changes.defined.iter().filter(|(name, _)| !removed.contains(*name));
    list.extend(defined.filter_map(|(_, tool)| function(tool, unread)));
    let all = json!({"tools": list});
    Ok((read_tools(&all["tools"])?, strict_tools(&RequestValue::root(&all))?))
}

/// The function in the place of a tool; `None` for a tool that Anthropic runs, or of an unknown type.
fn function(tool: &Value, unread: &mut Unread) -> Option<Value> {
    let text = |says: &str| json!({"type": "string", "description": says});
    let mut edits = json!({
        "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert"]},
        "path": text("The file or folder."),
        "view_range": {"type": "array", "items": {"type": "integer"}, "description": "The first and the last line to view."},
        "file_text": text("create: the text of the file."),
        "old_str": text("str_replace: the text to replace, which the file has once."),
        "new_str": text("str_replace: the text in its place."),
        "insert_line": {"type": "integer", "description": "insert: the line after which to insert; 0 for the beginning."},
        "insert_text": text("insert: the text."),
    });
    let (says, properties, required) = match tool["type"].as_str().unwrap_or("custom") {
        "custom" => return Some(tool.clone()),
        "bash_20241022" | "bash_20250124" => (
            "Runs a command in a shell that stays open.",
            json!({"command": text("The command."), "restart": {"type": "boolean", "description": "Start the shell anew."}}),
            json!([]),
        ),
        "text_editor_20250728" => ("Views, creates and edits files.", edits, json!(["command", "path"])),
        "memory_20250818" => {
            edits["command"]["enum"] = json!(["view", "create", "str_replace", "insert", "delete", "rename"]);
            edits["path"] = text("The file or folder; rename has old_path and new_path.");
            edits["old_path"] = text("rename: the path.");
            edits["new_path"] = text("rename: the new path.");
            let says = "Views and changes the files below /memories, in which notes are kept between conversations.";
            (says, edits, json!(["command"]))
        }
        other => {
            unread.leave_out(other);
            return None;
        }
    };
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Some(json!({"name": tool["name"], "description": says, "input_schema": schema, "strict": tool["strict"]}))
}

/// What the conversation says of the tools, at its end.
#[derive(Default)]
struct Changes<'v> {
    /// The names of tools that a search found, or that were added.
    found: HashSet<&'v str>,
    removed: HashSet<&'v str>,
    /// The tools that the conversation describes, by their names.
    defined: BTreeMap<&'v str, &'v Value>,
}

impl<'v> Changes<'v> {
    /// Reads what a search found. Others write results, so nothing else in one changes the tools.
    fn search(&mut self, blocks: &'v Value, unread: &mut Unread) {
        for block in blocks.as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "tool_reference" => self.found.extend(block["tool_name"].as_str()),
                kind @ ("tool_addition" | "tool_removal") => unread.leave_out(kind),
                _ => {}
            }
        }
    }

    /// Reads the blocks of a content, or of what a block holds.
    fn read(&mut self, blocks: &'v Value, unread: &mut Unread) {
        for block in blocks.as_array().into_iter().flatten() {
            let tool = &block["tool"];
            let name = tool["name"].as_str().or_else(|| tool["definition"]["name"].as_str());
            match (block["type"].as_str().unwrap_or_default(), name) {
                ("tool_reference", _) => self.found.extend(block["tool_name"].as_str()),
                ("tool_result", _) => self.search(&block["content"], unread),
                ("tool_search_tool_result", _) => self.search(&block["content"]["tool_references"], unread),
                ("compaction", _) => self.read(&block["tool_changes"], unread),
                ("tool_addition", Some(name)) => {
                    self.removed.remove(name);
                    self.found.insert(name);
                    self.defined.extend(tool.get("definition").map(|tool| (name, tool)));
                }
                ("tool_removal", Some(name)) => {
                    self.found.remove(name);
                    self.removed.insert(name);
                }
                // Those of an MCP server.
                (kind @ ("tool_addition" | "tool_removal"), None) => unread.leave_out(kind),
                _ => {}
            }
        }
    }
}
