//! Items of the tools that OpenAI's API has built in and that a client runs itself (shells, patches, a computer), and of tools of MCP
//! servers, whose results are in the item. The model sees a function in the place of each.

use std::collections::HashMap;

use serde_json::Value;
use unjinja_runtime::ToolCall;
use unjinja_spec::json_text;

use crate::error::ApiError;
use crate::media::{Unread, found, stand_in};
use crate::request::in_namespace;
use crate::request_value::RequestValue;

/// The calls of these tools.
pub(super) const CALLS: [&str; 5] =
    ["apply_patch_call", "computer_call", "local_shell_call", "shell_call", "tool_search_call"];

/// Their results.
pub(super) const RESULTS: [&str; 5] = [
    "apply_patch_call_output",
    "computer_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "tool_search_output",
];

/// The call that an item of [`CALLS`] is, without its id.
pub(super) fn call(place: &RequestValue<'_>, kind: &str) -> Result<ToolCall, ApiError> {
    let object = |key: &str| Ok::<_, ApiError>(place.need(key, "what is to be done")?.object()?.clone());
    let (name, arguments) = match kind {
        "local_shell_call" => ("local_shell", object("action")?.into_iter().filter(|(key, _)| key != "type").collect()),
        "shell_call" => ("shell", object("action")?),
        "apply_patch_call" => ("apply_patch", object("operation")?),
        "tool_search_call" => ("tool_search", object("arguments")?),
        _ => {
            let given = ["action", "actions"].map(|key| Some((key.to_owned(), place.get(key)?.value.clone())));
            ("computer", given.into_iter().flatten().collect())
        }
    };
    Ok(ToolCall::new(name, json_text(&arguments.into())))
}

/// The text of an item of [`RESULTS`].
pub(super) fn result(place: &RequestValue<'_>, kind: &str, unread: &mut Unread) -> Result<String, ApiError> {
    let output = || place.need("output", "the result of the call");
    Ok(match kind {
        "local_shell_call_output" => output()?.text()?.to_owned(),
        "shell_call_output" => {
            let commands: Vec<String> = output()?.list()?.iter().map(of_command).collect::<Result<_, _>>()?;
            commands.join("\n")
        }
        "apply_patch_call_output" => match place.get_text("output")? {
            Some(text) => text.to_owned(),
            None => place.need("status", "what came of the call")?.text()?.to_owned(),
        },
        "computer_call_output" => stand_in(&output()?, "An image", unread),
        _ => {
            let tools = place.get_list("tools")?;
            found(tools.iter().filter_map(|tool| tool.value.get("name")?.as_str()))
        }
    })
}

/// What a command of a shell wrote, and how it ended if that says something.
fn of_command(place: &RequestValue<'_>) -> Result<String, ApiError> {
    let mut parts = Vec::new();
    for key in ["stdout", "stderr"] {
        parts.extend(place.get_text(key)?.map(str::trim_end).filter(|text| !text.is_empty()).map(str::to_owned));
    }
    let outcome = place.get("outcome");
    match outcome.as_ref().and_then(|outcome| outcome.value.get("type")).and_then(Value::as_str) {
        Some("timeout") => parts.push("[It took too long and was ended.]".to_owned()),
        Some("exit") => {
            let code = outcome.as_ref().and_then(|outcome| outcome.value.get("exit_code")).and_then(Value::as_i64);
            parts.extend(code.filter(|code| *code != 0).map(|code| format!("[exit code {code}]")));
        }
        _ => {}
    }
    Ok(parts.join("\n"))
}

/// The call of a tool of an MCP server, and its result.
pub(super) fn of_mcp(place: &RequestValue<'_>) -> Result<(ToolCall, String), ApiError> {
    let text = |key: &str, what: &str| place.need(key, what)?.text();
    let name = in_namespace(text("server_label", "the label of the server")?, text("name", "the tool's name")?);
    let arguments = place.get_text("arguments")?.filter(|text| !text.trim().is_empty()).unwrap_or("{}");
    let mut call = ToolCall::new(name, arguments);
    call.id = Some(text("id", "the id of the call")?.to_owned());
    let error = place.get("error").map(|error| match error.value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let result = match (place.get_text("output")?, error) {
        (Some(output), _) => output.to_owned(),
        (None, Some(error)) => format!("Error: {error}"),
        (None, None) => String::new(),
    };
    Ok((call, result))
}

/// The ids of calls of a local shell, by the ids of their items.
pub(super) type LocalShells<'v> = HashMap<&'v str, &'v str>;

/// Finds the calls of a local shell.
pub(super) fn local_shells<'v>(items: &[RequestValue<'v>]) -> LocalShells<'v> {
    let calls = items.iter().map(|item| item.value).filter(|item| item["type"] == "local_shell_call");
    // Of several with the same id, the first one counts.
    calls.rev().filter_map(|item| Some((item["id"].as_str()?, item["call_id"].as_str()?))).collect()
}

/// The id of the call that an item of a local shell answers. Its `id` may be that of the call's item.
pub(super) fn answered(place: &RequestValue<'_>, shells: &LocalShells<'_>) -> Result<String, ApiError> {
    let given = match place.get_text("call_id")? {
        Some(id) => id,
        None => place.need("id", "the id of the call")?.text()?,
    };
    Ok((*shells.get(given).unwrap_or(&given)).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_of_a_local_shell_names_its_call_or_the_item_of_it() -> Result<(), ApiError> {
        let value = json!([
            {"type": "local_shell_call", "id": "ls_1", "call_id": "call_1"},
            {"id": "ls_1"}, {"id": "ls_2"}, {"id": "ls_1", "call_id": "call_2"},
        ]);
        let items = RequestValue::root(&value).list()?;
        let shells = local_shells(&items);
        let ids: Vec<String> = items[1..].iter().map(|item| answered(item, &shells)).collect::<Result<_, _>>()?;
        assert_eq!(ids, ["call_1", "ls_2", "call_2"]);
        Ok(())
    }
}
