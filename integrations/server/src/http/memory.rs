//! Keeps responses for the requests that follow them: `previous_response_id`, items that are named by their ids, and responses that are
//! read again or deleted. What is kept takes no more than a set number of bytes; the oldest responses go first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::budget::estimate;
use crate::error::ApiError;
use crate::request_value::RequestValue;

/// The JSON of an item.
type Item = Arc<str>;

/// The responses that are kept.
#[derive(Debug)]
pub(crate) struct Memory {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    responses: HashMap<String, Response>,
    /// Their ids, the oldest first.
    order: VecDeque<String>,
    /// The items of the model, by their ids.
    items: HashMap<String, Item>,
    bytes: usize,
}

#[derive(Debug)]
struct Response {
    previous: Option<String>,
    /// The response without its items.
    head: Box<str>,
    /// The items of the request, and those of the model.
    items: Vec<Item>,
    /// How many of them are the request's.
    asked: usize,
    /// The ids of those of the model.
    ids: Vec<String>,
    bytes: usize,
}

/// What a request names, and what is to be kept of it.
#[derive(Debug)]
pub(crate) struct Named {
    own: Resolved,
    /// The items of the responses before it.
    before: Vec<Item>,
    /// Whether the request names anything: only then it is changed.
    any: bool,
    is_kept: bool,
}

/// A request whose references were resolved.
#[derive(Debug)]
pub(crate) struct Resolved {
    previous: Option<String>,
    /// The items that the request has itself.
    own: Vec<Item>,
}

impl Memory {
    /// A memory of at most `most` bytes; with 0, nothing is kept.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds what a request names. `longest` is the number of bytes that a conversation may have. `None` if nothing is kept here.
    pub(crate) fn named(&self, request: &Value, longest: usize) -> Result<Option<Named>, ApiError> {
        let Some(fields) = request.as_object().filter(|_| self.most > 0) else { return Ok(None) };
        let previous = RequestValue::root(request).get_text("previous_response_id")?.map(str::to_owned);
        let own: Vec<Item> = match fields.get("input") {
            Some(Value::String(text)) => vec![serde_json::json!({"role": "user", "content": text}).to_string().into()],
            Some(Value::Array(items)) => {
                let kept = self.kept();
                let named = |(at, item): (usize, &Value)| match referred(item) {
                    None => Ok(item.to_string().into()),
                    Some(id) => {
                        kept.items.get(id).cloned().ok_or_else(|| not_kept(&format!("input[{at}]"), "item", id))
                    }
                };
                items.iter().enumerate().map(named).collect::<Result<_, _>>()?
            }
            // A response that is kept may be all of the conversation.
            None | Some(Value::Null) if previous.is_some() => Vec::new(),
            _ => return Ok(None),
        };
        let before = previous.as_deref().map_or(Ok(Vec::new()), |id| self.before(id))?;
        let any = previous.is_some()
            || fields
                .get("input")
                .and_then(Value::as_array)
                .is_some_and(|items| items.iter().any(|item| referred(item).is_some()));
        let bytes = before.iter().chain(&own).map(|item| item.len()).sum::<usize>();
        if any && bytes > longest {
            let message = format!(
                "the conversation with the responses and items that it names has {bytes} bytes, and {longest} are allowed: \
                 name fewer"
            );
            return Err(ApiError::new(413, message));
        }
        let is_kept = fields.get("store").is_none_or(|store| store != &Value::Bool(false));
        Ok(Some(Named { own: Resolved { previous, own }, before, any, is_kept }))
    }

    /// The items of a response and of those before it.
    fn before(&self, id: &str) -> Result<Vec<Item>, ApiError> {
        let kept = self.kept();
        let (mut turns, mut next) = (Vec::new(), Some(id.to_owned()));
        while let Some(id) = next {
            let Some(response) = kept.responses.get(&id) else {
                return Err(not_kept("previous_response_id", "response", &id));
            };
            turns.push(response.items.clone());
            next = response.previous.clone();
        }
        Ok(turns.into_iter().rev().flatten().collect())
    }

    /// A response that is kept, as the client got it.
    pub(crate) fn get(&self, id: &str) -> Option<Value> {
        let (head, items) = {
            let kept = self.kept();
            let response = kept.responses.get(id)?;
            let head: Map<String, Value> = serde_json::from_str(&response.head).ok()?;
            (head, response.items.get(response.asked..)?.to_vec())
        };
        let output = items.iter().map(read).collect();
        Some(Value::Object(head.into_iter().chain([("output".to_owned(), output)]).collect()))
    }

    /// The items of the request that a response answers. Those without an id get one.
    pub(crate) fn asked(&self, id: &str) -> Option<Vec<Value>> {
        let items = {
            let kept = self.kept();
            let response = kept.responses.get(id)?;
            response.items.get(..response.asked)?.to_vec()
        };
        let named = |(at, item): (usize, &Item)| {
            let mut item = read(item);
            if let Some(fields) = item.as_object_mut() {
                fields.entry("id").or_insert_with(|| format!("{id}_{at}").into());
                fields.entry("type").or_insert_with(|| "message".into());
            }
            item
        };
        Some(items.iter().enumerate().map(named).collect())
    }

    /// Forgets a response. Returns whether it was kept. What continues it can no longer be continued.
    pub(crate) fn delete(&self, id: &str) -> bool {
        let mut kept = self.kept();
        kept.order.retain(|known| known != id);
        kept.forget(id)
    }

    /// Keeps a response.
    pub(crate) fn keep(&self, request: Resolved, response: &Value) {
        let Some(id) = response["id"].as_str() else { return };
        let Resolved { previous, own: mut items } = request;
        let others = response.as_object().into_iter().flatten().filter(|(key, _)| *key != "output");
        let head: Map<String, Value> = others.map(|(key, value)| (key.clone(), value.clone())).collect();
        let head = Value::Object(head).to_string().into_boxed_str();
        let (mut kept, asked, mut ids) = (self.kept(), items.len(), Vec::new());
        for item in response["output"].as_array().into_iter().flatten() {
            let text: Item = item.to_string().into();
            if let Some(id) = item["id"].as_str() {
                ids.push(id.to_owned());
                kept.items.insert(id.to_owned(), text.clone());
            }
            items.push(text);
        }
        let bytes = id.len() + head.len() + items.iter().map(|item| item.len() + size_of::<Item>()).sum::<usize>();
        kept.bytes += bytes;
        kept.order.push_back(id.to_owned());
        kept.responses.insert(id.to_owned(), Response { previous, head, items, asked, ids, bytes });
        while kept.bytes > self.most
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.forget(&oldest);
        }
    }
}

impl Named {
    /// About how many bytes the conversation takes while it is read; 0 if it is the request's own.
    pub(crate) fn estimate(&self) -> usize {
        let items = self.before.iter().chain(&self.own.own).filter(|_| self.any);
        items.map(|item| estimate(item.as_bytes())).sum()
    }

    /// Puts the items in the place of their names. `None` if the response to the request is not to be kept.
    pub(crate) fn put(self, request: &mut Value) -> Option<Resolved> {
        let fields = request.as_object_mut()?;
        if self.any {
            let input: Vec<Value> = self.before.iter().chain(&self.own.own).map(read).collect();
            fields.insert("input".to_owned(), input.into());
        }
        fields.remove("previous_response_id");
        self.is_kept.then_some(self.own)
    }
}

impl Kept {
    /// Returns whether there was such a response.
    fn forget(&mut self, id: &str) -> bool {
        let Some(response) = self.responses.remove(id) else { return false };
        self.bytes -= response.bytes;
        for id in &response.ids {
            self.items.remove(id);
        }
        true
    }
}

fn read(item: &Item) -> Value {
    serde_json::from_str(item).unwrap_or_default()
}

/// The id of the item that a reference names.
fn referred(item: &Value) -> Option<&str> {
    let is_reference = item.get("type").is_some_and(|kind| kind == "item_reference");
    item.get("id").and_then(Value::as_str).filter(|_| is_reference)
}

fn not_kept(place: &str, what: &str, id: &str) -> ApiError {
    let shown: String = id.chars().take(80).collect();
    let message =
        format!("{place}: no {what} with the id {shown:?} is kept here; send the whole conversation in `input`");
    ApiError::new(400, message)
        .of(place, if what == "response" { "previous_response_not_found" } else { "item_not_found" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(id: &str, text: &str) -> Value {
        json!({"id": id, "output": [{"id": format!("msg_{id}"), "type": "message", "content": text}]})
    }

    /// What a request asks after its names were resolved, and what has to be kept of it.
    fn resolved(memory: &Memory, mut request: Value) -> (Value, Option<Resolved>) {
        let resolved = memory.named(&request, 1_000).unwrap().and_then(|named| named.put(&mut request));
        (request, resolved)
    }

    #[test]
    fn a_request_continues_the_responses_before_it() {
        let memory = Memory::new(10_000);
        let (first, keep) = resolved(&memory, json!({"input": "One?"}));
        assert_eq!(first, json!({"input": "One?"}));
        memory.keep(keep.unwrap(), &response("a", "1"));
        let asked = json!({"input": [{"role": "user", "content": "Two?"}], "previous_response_id": "a"});
        let (_, keep) = resolved(&memory, asked);
        memory.keep(keep.unwrap(), &response("b", "2"));
        let asked =
            json!({"input": [{"type": "item_reference", "id": "msg_a"}], "previous_response_id": "b", "store": false});
        let (third, keep) = resolved(&memory, asked);
        assert!(keep.is_none());
        let said = |at: usize| &third["input"][at]["content"];
        assert_eq!([said(0), said(1), said(2), said(3), said(4)], ["One?", "1", "Two?", "2", "1"]);
        assert!(third.get("previous_response_id").is_none());
    }

    #[test]
    fn the_oldest_go_first_and_what_is_gone_is_named() {
        let memory = Memory::new(450);
        for id in ["a", "b", "c", "d", "e", "f"] {
            let (_, keep) = resolved(&memory, json!({"input": "Hello."}));
            memory.keep(keep.unwrap(), &response(id, "Hello."));
        }
        let kept = memory.kept();
        assert!(kept.bytes <= 450 && kept.responses.len() == kept.order.len() && kept.items.len() == kept.order.len());
        drop(kept);
        assert!(memory.named(&json!({"input": "?", "previous_response_id": "f"}), 1_000).is_ok());
        let error = memory.named(&json!({"input": "?", "previous_response_id": "a"}), 1_000).unwrap_err();
        assert_eq!(
            (error.status(), error.param(), error.code()),
            (400, Some("previous_response_id"), Some("previous_response_not_found"))
        );
        let error = memory.named(&json!({"input": [{"type": "item_reference", "id": "msg_a"}]}), 1_000).unwrap_err();
        assert_eq!((error.param(), error.code()), (Some("input[0]"), Some("item_not_found")));
    }

    #[test]
    fn a_response_is_read_again_and_deleted() {
        let memory = Memory::new(10_000);
        let (_, keep) = resolved(&memory, json!({"input": "One?"}));
        memory.keep(keep.unwrap(), &response("a", "1"));
        let (_, keep) = resolved(&memory, json!({"input": "Two?", "previous_response_id": "a"}));
        memory.keep(keep.unwrap(), &response("b", "2"));
        assert_eq!((memory.get("b"), memory.get("c")), (Some(response("b", "2")), None));
        assert!(memory.delete("a") && !memory.delete("a"));
        let kept = memory.kept();
        assert_eq!((kept.order.len(), kept.items.len(), kept.bytes), (1, 1, kept.responses["b"].bytes));
        drop(kept);
        assert!(memory.get("a").is_none() && memory.get("b").is_some());
        let error = memory.named(&json!({"input": "?", "previous_response_id": "b"}), 1_000).unwrap_err();
        assert_eq!(error.code(), Some("previous_response_not_found"));
        // What a response repeats of its request takes room, too.
        let (_, keep) = resolved(&memory, json!({"input": "Three?"}));
        let mut long = response("c", "3");
        long["instructions"] = json!("x".repeat(10_000));
        memory.keep(keep.unwrap(), &long);
        assert!(memory.get("c").is_none() && memory.kept().bytes == 0);
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let memory = Memory::new(0);
        let request = json!({"input": "?", "previous_response_id": "a"});
        let (same, keep) = resolved(&memory, request.clone());
        assert!(same == request && keep.is_none());
    }
}
