//! Calls and their results: the form of a call, and ids that the template accepts.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::messages::CallIdForm;
use crate::model::FormatSpec;

/// Letters and digits of an id.
const ID_LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The calls of a conversation until here.
pub(super) struct Calls<'s> {
    spec: &'s FormatSpec,
    made: Vec<Made>,
    /// The calls by the id that their message had, those without a result first.
    by_id: HashMap<String, VecDeque<usize>>,
    /// The ids that the template gets.
    ids: HashSet<String>,
    /// Results without an id answer the calls from this one on.
    unanswered: usize,
}

/// A call, for the results that come after it.
struct Made {
    /// The id that the template gets.
    id: Option<String>,
    name: String,
    answered: bool,
}

impl<'s> Calls<'s> {
    pub(super) fn new(spec: &'s FormatSpec) -> Self {
        Self { spec, made: Vec::new(), by_id: HashMap::new(), ids: HashSet::new(), unanswered: 0 }
    }

    /// The calls of a message, as the template reads them.
    pub(super) fn handed(&mut self, calls: Vec<Value>) -> Vec<Value> {
        if !calls.is_empty() {
            // Earlier calls that have no result get none any more.
            self.unanswered = self.made.len();
        }
        calls.into_iter().map(|call| self.call(call)).collect()
    }

    fn call(&mut self, call: Value) -> Value {
        let Value::Object(mut call) = call else { return call };
        // A call as `{"name", "arguments"}`, or inside `function`.
        let mut function = match call.shift_remove("function") {
            Some(Value::Object(function)) => function,
            Some(name) => Map::from_iter([("name".to_owned(), name)]),
            None => std::mem::take(&mut call),
        };
        let given = [call.shift_remove("id"), function.shift_remove("id")].iter().flatten().find_map(id_text);
        let kind = [call.shift_remove("type"), function.shift_remove("type")].into_iter().flatten().next();
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = self.id(given.as_deref(), &name);
        let arguments = function.shift_remove("arguments").unwrap_or_default();
        function.insert("arguments".to_owned(), self.spec.messages.arguments(arguments));
        let mut handed = Map::new();
        handed.insert("type".to_owned(), kind.unwrap_or_else(|| "function".into()));
        if let Some(id) = &id {
            self.ids.insert(id.clone());
            handed.insert("id".to_owned(), id.as_str().into());
        }
        handed.insert("function".to_owned(), function.into());
        handed.extend(call);
        if let Some(given) = given {
            self.by_id.entry(given).or_default().push_back(self.made.len());
        }
        self.made.push(Made { id, name, answered: false });
        Value::Object(handed)
    }

    /// The id of the next call, in a form that the template accepts.
    fn id(&self, given: Option<&str>, name: &str) -> Option<String> {
        let number = self.made.len();
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let counted = |before: &str| {
            let id = |number: usize| format!("{before}{number}");
            let taken = |id: &String| self.ids.contains(id);
            // A number that is taken is passed over; there are at most as many as there are ids.
            (number..=number + self.ids.len()).map(id).find(|id| !taken(id)).unwrap_or_else(|| id(number))
        };
        let is_new = |id: &&str| !self.ids.contains(*id);
        let id = match self.spec.messages.ids {
            CallIdForm::Any => return given.map(str::to_owned),
            CallIdForm::Nine => match given {
                Some(id) if is_nine(id) => id.to_owned(),
                Some(id) => nine(id),
                None => nine(&format!("{name}:{number}")),
            },
            CallIdForm::Counted => {
                given.filter(|id| is_digits(id)).filter(is_new).map_or_else(|| counted(""), str::to_owned)
            }
            CallIdForm::Named => {
                let (prefix, suffix) = self.spec.named_id();
                let rest =
                    |id: &'_ str| Some(is_digits(id.strip_prefix(prefix)?.strip_prefix(name)?.strip_prefix(suffix)?));
                let fits = given.filter(|id| rest(id) == Some(true)).filter(is_new);
                fits.map_or_else(|| counted(&format!("{prefix}{name}{suffix}")), str::to_owned)
            }
        };
        Some(id)
    }

    /// Gives a result the id of its call, and the name if the template reads it.
    pub(super) fn result(&mut self, message: &mut Map<String, Value>) {
        let wanted = message.get("tool_call_id").and_then(id_text);
        let spec = self.spec;
        let Some(made) = self.answered_by(wanted.as_deref()) else {
            // No call has this id.
            if let (Some(id), CallIdForm::Nine) = (wanted.filter(|id| !is_nine(id)), spec.messages.ids) {
                message.insert("tool_call_id".to_owned(), nine(&id).into());
            }
            return;
        };
        if let Some(id) = made.id.as_ref().filter(|_| wanted.is_some() || spec.messages.ids != CallIdForm::Any) {
            message.insert("tool_call_id".to_owned(), id.as_str().into());
        }
        if spec.messages.result_name && !message.get("name").is_some_and(Value::is_string) {
            message.insert("name".to_owned(), made.name.as_str().into());
        }
    }

    /// The call that a result answers: the first one with its id that has none yet. A result without an id answers the calls
    /// in their order.
    fn answered_by(&mut self, id: Option<&str>) -> Option<&Made> {
        let at = match id {
            Some(id) => {
                let calls = self.by_id.get_mut(id)?;
                // The last one stays: a call may get several results.
                if calls.len() > 1 { calls.pop_front()? } else { *calls.front()? }
            }
            None => {
                while self.made.get(self.unanswered).is_some_and(|made| made.answered) {
                    self.unanswered += 1;
                }
                self.unanswered
            }
        };
        let made = self.made.get_mut(at)?;
        made.answered = true;
        Some(made)
    }
}

/// The id of a call as it was given.
pub(super) fn call_id(call: &Value) -> Option<String> {
    [call.get("id"), call.pointer("/function/id")].into_iter().flatten().find_map(id_text)
}

/// An id as a text: some clients write numbers.
pub(super) fn id_text(id: &Value) -> Option<String> {
    match id {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn is_nine(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Nine letters and digits that are always the same for the same id.
fn nine(id: &str) -> String {
    Sha256::digest(id.as_bytes()).iter().take(9).map(|byte| char::from(ID_LETTERS[usize::from(byte % 62)])).collect()
}
