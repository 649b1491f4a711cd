//! What a template does that its spec does not describe. It is drawn together with the spec, and the template is written
//! accordingly.

use crate::marker::Alphabet;

/// Which reasoning of earlier turns a template writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// Every turn's reasoning.
    #[default]
    Always,
    /// Reasoning after the last user message only.
    AfterLastUser,
    /// None: the template removes it from the content.
    Never,
}

/// What a template writes where a turn has no reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absent {
    /// Nothing.
    #[default]
    Nothing,
    /// An empty block.
    EmptyBlock,
    /// The closing marker alone.
    Closed,
}

/// The forms of a call's arguments that a template accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptedArguments {
    /// An object or JSON text.
    #[default]
    Both,
    /// An object; JSON text is an error or is written as a string.
    Object,
    /// JSON text; an object is an error.
    Text,
}

/// How literals are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Literals {
    /// As JSON.
    #[default]
    Json,
    /// As Python prints them.
    Python,
}

/// How many messages a turn is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Messages {
    /// One.
    #[default]
    One,
    /// Several; the header of each says whom it is for.
    Addressed,
    /// Several; the role of each says what it is. The end of the turn comes after answers only.
    ByRole,
    /// Several; the header of each names its channel.
    ByChannel,
    /// Several; the header of each has a line for its role and one for its recipient.
    InLines,
}

/// What a template does that its spec does not describe.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// The alphabet of most markers.
    pub alphabet: Option<Alphabet>,
    /// Text after a user message.
    pub user_end: String,
    /// Text before a system message; its end is that of a user message.
    pub system_start: String,
    /// Whether the template begins with `bos_token`.
    pub bos: bool,
    /// Whether the list of tools shows how a call is written.
    pub shows_example: bool,
    /// Which reasoning of earlier turns is written.
    pub history: History,
    /// What is written where there is no reasoning.
    pub absent: Absent,
    /// Which forms of arguments are accepted.
    pub accepts: AcceptedArguments,
    /// White space between an answer and calls, if there is an answer. In the spec it belongs to the first opener.
    pub lead: String,
    /// Whether a call's JSON is assembled from pieces.
    pub by_hand: bool,
    /// Keys of a nested function object, in order.
    pub inner_order: Vec<String>,
    /// Whether a call's object has `"type": "function"`.
    pub says_type: bool,
    /// The number of the first call, if calls are counted.
    pub first_id: usize,
    /// Whether a counted id is a string.
    pub id_is_text: bool,
    /// The separator in an array of calls.
    pub array_glue: &'static str,
    /// How values other than strings are written, or all values of call expressions.
    pub literals: Literals,
    /// Whether a template that writes one call only raises an error for more; else it ignores them.
    pub refuses: bool,
    /// Whether content is printed without checking that there is any.
    pub prints_null: bool,
    /// Whether the template counts the calls where the spec has an id between name and arguments, from `first_id`.
    pub counts_calls: bool,
    /// Whether a turn with calls has the markers of an answer even if there is no answer.
    pub empty_wrapper: bool,
    /// The token before each tag of a call, if there is one.
    pub before_tags: String,
    /// Whether a label comes before reasoning; else only an answer without reasoning has it.
    pub label_first: bool,
    /// How many messages a turn is.
    pub messages: Messages,
    /// Whether an answer is trimmed.
    pub trims: bool,
}

/// The fields from which templates take reasoning.
pub const FIELDS: [&str; 6] = ["reasoning_content", "reasoning", "thinking", "thought", "thoughts", "tool_plan"];

/// The field name for reasoning that is passed as a part of the content.
pub const PARTS: &str = "content.thinking";
