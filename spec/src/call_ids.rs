//! Ids for calls. An id must not occur twice in a conversation, and some templates accept only ids of a certain shape.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::messages::CallIdForm;
use crate::model::{CallIdPosition, FormatSpec};

/// The shape that a template needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CallIdShape {
    /// Any text: the id has the form that the API itself uses, such as `call_` and 24 letters and digits.
    #[default]
    Free,
    /// Nine letters and digits. Templates that check ids accept these.
    Nine,
    /// A number that counts all calls of the conversation from 0, because the template counts them too.
    Counted,
    /// The function's name in the middle: `functions.NAME:0`. The number counts all calls of the conversation.
    Named {
        /// Text before the name.
        prefix: String,
        /// Text between the name and the number.
        suffix: String,
    },
}

impl CallIdShape {
    /// The shape for new ids: the one that the template accepts, or nine letters and digits where it writes ids, because models
    /// were trained with such ids.
    pub fn of(spec: &FormatSpec) -> Self {
        let tools = &spec.tools;
        let named = || {
            let (prefix, suffix) = spec.named_id();
            CallIdShape::Named { prefix: prefix.to_owned(), suffix: suffix.to_owned() }
        };
        match spec.messages.ids {
            CallIdForm::Nine => CallIdShape::Nine,
            CallIdForm::Counted => CallIdShape::Counted,
            CallIdForm::Named => named(),
            CallIdForm::Any if tools.call_id.position == CallIdPosition::InName => named(),
            CallIdForm::Any if tools.call_id.position != CallIdPosition::None || !tools.id_field.is_empty() => {
                CallIdShape::Nine
            }
            CallIdForm::Any if !tools.gen_id_field.is_empty() => CallIdShape::Counted,
            CallIdForm::Any => CallIdShape::Free,
        }
    }
}

impl ModelIds {
    /// When a model of this format writes ids.
    pub fn of(spec: &FormatSpec) -> Self {
        let tools = &spec.tools;
        let field = if tools.id_field.is_empty() { &tools.gen_id_field } else { &tools.id_field };
        let member = |key: &String| tools.parameter_order.iter().position(|one| one == key);
        match tools.call_id.position {
            CallIdPosition::PostArgs => ModelIds::AfterArguments,
            CallIdPosition::BetweenFuncAndArgs => ModelIds::BeforeArguments,
            CallIdPosition::None if !field.is_empty() => {
                match (member(field), member(&tools.args_field).or(member(&tools.function_field))) {
                    (Some(id), Some(arguments)) if id > arguments => ModelIds::AfterArguments,
                    _ => ModelIds::BeforeArguments,
                }
            }
            _ => ModelIds::WithName,
        }
    }
}

/// When a model of this format writes the id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelIds {
    /// Never, or together with the name. A call can be announced as soon as its name is known.
    #[default]
    WithName,
    /// Between the name and the arguments. A call is announced with its first argument.
    BeforeArguments,
    /// After the arguments. A call is announced when it ends, for an id cannot be changed once it was sent.
    AfterArguments,
}

/// How many letters and digits a free id has after its prefix.
const LENGTH: usize = 24;

/// How often a source of letters is asked for an id that is new.
const ATTEMPTS: usize = 100;

/// The ids of the calls of one turn.
///
/// ```
/// use unjinja_spec::{CallIds, CallIdShape};
///
/// let shape = CallIdShape::Named { prefix: "functions.".into(), suffix: ":".into() };
/// let mut ids = CallIds::new(shape).after(["functions.now:0"]);
/// assert_eq!(ids.next("now", None), "functions.now:1");
/// // An id that the model wrote is kept, unless the conversation has it already.
/// assert_eq!(ids.next("run", Some("functions.run:7")), "functions.run:7");
/// assert_eq!(ids.next("now", Some("functions.now:0")), "functions.now:3");
/// ```
#[derive(Debug, Clone)]
pub struct CallIds {
    shape: CallIdShape,
    model_ids: ModelIds,
    prefix: &'static str,
    source: IdSource,
    used: HashSet<String>,
    /// How many calls there are until now.
    calls: usize,
}

/// Where the letters and digits of ids come from; random ones without a source.
#[derive(Clone, Default)]
struct IdSource(Option<Arc<dyn Fn(usize) -> String + Send + Sync>>);

impl IdSource {
    fn letters(&self, length: usize) -> String {
        self.0.as_ref().map_or_else(|| random_text(length), |source| source(length))
    }
}

impl fmt::Debug for IdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "the caller's" } else { "random" })
    }
}

impl CallIds {
    /// Ids of this shape, for a conversation without calls.
    pub fn new(shape: CallIdShape) -> Self {
        Self {
            shape,
            model_ids: ModelIds::default(),
            prefix: "call_",
            source: IdSource::default(),
            used: HashSet::new(),
            calls: 0,
        }
    }

    /// Ids for calls of this format, for a conversation without calls.
    pub fn of(spec: &FormatSpec) -> Self {
        Self::new(CallIdShape::of(spec)).written(ModelIds::of(spec))
    }

    /// The same for a conversation with these ids. Calls without an id count as well; pass an empty text for them.
    pub fn after<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        for id in ids {
            self.used.insert(id.into());
            self.calls += 1;
        }
        self
    }

    /// The same for a conversation with these messages, as they are handed to the template.
    pub fn in_conversation(self, messages: Option<&Value>) -> Self {
        let messages = messages.and_then(Value::as_array).into_iter().flatten();
        let calls = messages.filter_map(|message| message["tool_calls"].as_array()).flatten();
        self.after(calls.map(|call| call["id"].as_str().unwrap_or_default()))
    }

    /// What [`CallIdShape::Free`] ids begin with: `call_` unless this says otherwise.
    pub fn prefix(mut self, prefix: &'static str) -> Self {
        self.prefix = prefix;
        self
    }

    /// Where the letters and digits of [`CallIdShape::Free`] and [`CallIdShape::Nine`] come from, if they are not to be
    /// random: `source(length)` returns `length` of them. For tests, and for servers that make their own ids. A source that
    /// repeats itself is asked again; if that does not help, the id is random.
    ///
    /// ```
    /// use unjinja_spec::{CallIdShape, CallIds};
    ///
    /// let mut ids = CallIds::new(CallIdShape::Free).source(|length| "7".repeat(length));
    /// assert_eq!(ids.next("now", None), "call_777777777777777777777777");
    /// assert_ne!(ids.next("now", None), "call_777777777777777777777777");
    /// ```
    pub fn source(mut self, source: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.source = IdSource(Some(Arc::new(source)));
        self
    }

    /// Adds a number to what all random letters of this process are made of, from now on. Only a platform that gives a program neither
    /// time nor random numbers needs it: WebAssembly without WASI, where the host has both. Without it, the ids of two instances
    /// there may be the same.
    ///
    /// ```
    /// use unjinja_spec::{CallIdShape, CallIds};
    ///
    /// CallIds::seed(0x5EED);
    /// assert_eq!(CallIds::new(CallIdShape::Nine).next("now", None).len(), 9);
    /// ```
    pub fn seed(number: u64) {
        SEED.store(number, Ordering::Relaxed);
    }

    /// When the model writes ids.
    pub fn written(mut self, model_ids: ModelIds) -> Self {
        self.model_ids = model_ids;
        self
    }

    /// When the model writes ids.
    pub fn model_ids(&self) -> ModelIds {
        self.model_ids
    }

    /// The id of the next call. `written` is the one that the model wrote; it is kept unless it is empty or was used before.
    pub fn next(&mut self, name: &str, written: Option<&str>) -> String {
        let number = self.calls;
        self.calls += 1;
        let mut id = written.unwrap_or_default().to_owned();
        let mut attempt = number;
        while id.is_empty() || self.used.contains(&id) {
            let source = if attempt - number < ATTEMPTS { &self.source } else { &IdSource(None) };
            id = match &self.shape {
                CallIdShape::Free => format!("{}{}", self.prefix, source.letters(LENGTH)),
                CallIdShape::Nine => source.letters(9),
                CallIdShape::Counted => attempt.to_string(),
                CallIdShape::Named { prefix, suffix } => format!("{prefix}{name}{suffix}{attempt}"),
            };
            attempt += 1;
        }
        self.used.insert(id.clone());
        id
    }
}

/// What the host gave for [`random_text`].
static SEED: AtomicU64 = AtomicU64::new(0);

/// Random letters and digits. The keys of [`RandomState`] come from the operating system, the counter tells calls of one
/// process apart, and the process tells those apart that were forked. Where there is no operating system, there is the seed.
fn random_text(length: usize) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let mut bits = RandomState::new().hash_one((count, SEED.load(Ordering::Relaxed), process()));
        // Ten letters hold 59 of the 64 bits.
        for _ in 0..10.min(length - text.len()) {
            text.push(char::from(LETTERS[usize::try_from(bits % 62).unwrap_or_default()]));
            bits /= 62;
        }
    }
    text
}

/// The time and the id of the process.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn process() -> (u128, u32) {
    use std::time::{SystemTime, UNIX_EPOCH};
    (SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()), std::process::id())
}

/// There is neither, and asking for them would stop the program.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn process() -> (u128, u32) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_across_turns_and_threads() {
        let turns = || (0..500).map(|_| CallIds::new(CallIdShape::Free).next("f", None)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(turns)).collect();
        let ids: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 2000);
        assert!(ids.iter().all(|id| id.len() == 29 && id.starts_with("call_")));
    }

    #[test]
    fn ids_take_the_shape_of_the_template() {
        let mut nine = CallIds::new(CallIdShape::Nine);
        let id = nine.next("f", None);
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert_eq!(nine.next("f", Some("abc")), "abc");
        assert_ne!(nine.next("f", Some("abc")), "abc");
        let mut counted = CallIds::new(CallIdShape::Counted).after(["0", "1"]);
        assert_eq!((counted.next("f", Some("0")), counted.next("f", None)), ("2".to_owned(), "3".to_owned()));
        assert!(CallIds::new(CallIdShape::Free).prefix("toolu_").next("f", Some("")).starts_with("toolu_"));
    }

    #[test]
    fn a_source_that_repeats_itself_is_left() {
        let mut ids = CallIds::new(CallIdShape::Nine).source(|length| "a".repeat(length));
        assert_eq!(ids.next("f", None), "aaaaaaaaa");
        let second = ids.next("f", None);
        assert!(second.len() == 9 && second != "aaaaaaaaa", "{second}");
    }

    #[test]
    fn a_number_that_is_taken_is_passed_over() {
        let shape = CallIdShape::Named { prefix: "functions.".into(), suffix: ":".into() };
        // One call until now, but its id has a later number.
        let mut ids = CallIds::new(shape).after(["functions.f:1"]);
        assert_eq!(ids.next("f", None), "functions.f:2");
    }
}
