//! Items of a conversation that change what the request says: its tools and its settings.

use serde_json::Value;

use crate::error::ApiError;
use crate::request_value::RequestValue;

/// The tools that items of the conversation add to those of the request.
pub(super) fn added_tools<'v>(root: &RequestValue<'v>) -> Result<Vec<RequestValue<'v>>, ApiError> {
    let Some(Ok(items)) = root.get("input").map(|input| input.list()) else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for item in &items {
        let kind = item.value.get("type").and_then(Value::as_str).unwrap_or_default();
        if ["additional_tools", "tool_search_output"].contains(&kind) {
            all.extend(item.get_list("tools")?);
        }
    }
    Ok(all)
}

/// A field of the request as the last `configuration_update` in the conversation left it.
pub(super) fn updated<'v>(root: &RequestValue<'v>, key: &str) -> Option<RequestValue<'v>> {
    let items = root.get("input").and_then(|input| input.list().ok()).unwrap_or_default();
    let updates =
        items.iter().rev().filter(|item| item.value.get("type").is_some_and(|kind| kind == "configuration_update"));
    updates.filter_map(|item| item.get(key)).next().or_else(|| root.get(key))
}
