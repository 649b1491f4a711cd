//! Reads a whole conversation back: from what a template wrote for it, with the turns that a model wrote.
//!
//! `learn` finds out what the template writes between two messages, `pattern` finds that in a transcript, and `alternatives` tries what
//! else the transcript could be. Turns of the assistant are read by the parser of the model.

mod alternatives;
mod learn;
mod pattern;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value, json};
use unjinja_dynamic::authors::TokenPart;
use unjinja_dynamic::{Clock, Conversation, Model, Options, Tools, local_time};
use unjinja_runtime::{Message, Token};

use crate::decoder;
use crate::encoder::Encoder;
use crate::vocabulary::Vocabulary;
use pattern::{Blank, FoundPattern, Pattern, Text, TextKind};

/// Reads conversations back. It has tried once what the template writes between messages, so keep it for many of them.
///
/// ```
/// use unjinja_dynamic::Model;
/// use unjinja_tokens::ConversationReader;
///
/// let model = Model::from_template("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
///     {% if add_generation_prompt %}<|assistant|>{% endif %}")?;
/// let read = ConversationReader::new(&model).read("<|user|>Hello<|end|><|assistant|>Good morning!<|end|>");
/// assert_eq!(read.messages[1].message["content"], "Good morning!");
/// assert_eq!((read.messages[0].text.clone(), read.difference), (8..13, None));
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
#[derive(Clone)]
pub struct ConversationReader {
    model: Model,
    vocabulary: Option<Arc<Vocabulary>>,
    patterns: Arc<[Pattern]>,
    /// The time that the template is told where a reading is compared with what it writes.
    clock: Clock,
}

/// A conversation that was read back. All ranges are bytes of the transcript.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadConversation {
    /// The messages, in order.
    pub messages: Vec<ReadMessage>,
    /// The tools that it offers, where the template describes them in JSON; else none.
    pub tools: Vec<Value>,
    /// Where tools are described, whether they could be read or not.
    pub tools_at: Option<Range<usize>>,
    /// It ends in a turn of the assistant that is not over, such as a generation prompt.
    pub open_turn: bool,
    /// What else the transcript can be.
    pub alternatives: Vec<Alternative>,
    /// The first byte that the template does not write for these messages: then something was lost, or the transcript was not written
    /// by this template. `None` if it writes the same text.
    pub difference: Option<usize>,
    /// What comes before the first message, where it is not what this template begins with.
    pub unread: Range<usize>,
    /// The transcript as text. Where ids are no UTF-8, it has U+FFFD.
    pub transcript: String,
}

/// A message of a [`ReadConversation`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReadMessage {
    /// The message in OpenAI's form.
    pub message: Value,
    /// All that was written for it, with its header. It ends where that of the next message begins.
    pub range: Range<usize>,
    /// Its text: for the assistant the whole turn with its markers.
    pub text: Range<usize>,
    /// What the bytes of [`text`](Self::text) are, in order.
    pub parts: Vec<(Range<usize>, TokenPart)>,
}

/// Other messages for which the template writes the same text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Alternative {
    /// The messages that they take the place of, as a range of [`ReadConversation::messages`].
    pub replaces: Range<usize>,
    /// The other messages; none if the template writes this text of its own accord.
    pub messages: Vec<Value>,
}

/// A message, and what comes before it.
#[derive(Clone)]
struct PlacedMessage<'p> {
    place: FoundPattern<'p>,
    /// Where its text ends.
    end: usize,
}

impl PlacedMessage<'_> {
    fn kind(&self) -> TextKind {
        self.place.pattern.to
    }

    fn text(&self) -> Range<usize> {
        self.place.range.end..self.end
    }
}

impl ConversationReader {
    /// Finds out what the template of a model writes between messages. A model without a template reads nothing.
    pub fn new(model: &Model) -> Self {
        Self { model: model.clone(), vocabulary: None, patterns: learn::learn(model).into(), clock: local_time() }
    }

    /// The time at which the transcripts were written, for templates that print the date: with another one,
    /// [`ReadConversation::difference`] is where the date is. The default is the local time when the reader was made.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Reads a transcript. In a text, whatever spells a marker is one: ids know better.
    pub fn read(&self, transcript: &str) -> ReadConversation {
        self.read_text(Text { text: transcript, control: None, tokens_of: &|_| Vec::new() })
    }

    fn read_text(&self, text: Text<'_>) -> ReadConversation {
        let (unread, mut steps) = self.steps(text);
        let mut read = self.messages(text, &steps, unread.clone());
        let mut written = self.write(&read);
        read.difference = difference(&read, written.as_deref());
        // What begins alike may be something else.
        if written.as_deref() != Some(text.text)
            && let Some(better) = self.better(text, &steps, &read)
        {
            steps = better;
            read = self.messages(text, &steps, unread);
            written = self.write(&read);
            read.difference = difference(&read, written.as_deref());
        }
        if let Some(written) = written {
            read.alternatives = self.alternatives(text, &steps, &read, &written);
        }
        read
    }

    /// The messages of these steps. What they say of alternatives and differences is still to come.
    fn messages(&self, text: Text<'_>, steps: &[PlacedMessage<'_>], unread: Range<usize>) -> ReadConversation {
        let with_tools = steps.iter().find_map(|step| {
            let blank = step.place.blanks.iter().find(|(blank, _)| *blank == Blank::Tools)?;
            Some((step.place.range.clone(), blank.1.clone()))
        });
        let tools = with_tools.as_ref().map(|(around, at)| tools_in(text.text, around.clone(), at)).unwrap_or_default();
        let tools_at = with_tools.map(|(_, at)| at);
        let mut messages: Vec<ReadMessage> = Vec::new();
        let mut open_turn = false;
        for step in steps {
            let start = step.place.range.start + step.place.pattern.kept;
            let (message, parts) = self.message(text, step, &tools);
            if step.kind() == TextKind::Assistant && step.end == text.text.len() {
                let is_empty = says_nothing(&message);
                open_turn = !self.is_over(text, step, is_empty);
                if open_turn && is_empty {
                    break; // the generation prompt
                }
            }
            if let Some(before) = messages.last_mut() {
                before.range.end = start;
            }
            messages.push(ReadMessage { message, range: start..text.text.len(), text: step.text(), parts });
        }
        let transcript = text.text.to_owned();
        let (alternatives, difference) = (Vec::new(), None);
        ReadConversation { messages, tools, tools_at, open_turn, alternatives, difference, unread, transcript }
    }

    /// The messages of a transcript, and what comes before them.
    fn steps<'p>(&'p self, text: Text<'_>) -> (Range<usize>, Vec<PlacedMessage<'p>>) {
        let begins = |pattern: &Pattern| pattern.from == TextKind::Start && pattern.to != TextKind::End;
        let mut next = self.at(text, 0, begins);
        if next.is_none() {
            next = self.find(text, 0, |pattern| begins(pattern) && pattern.is_marked());
        }
        let unread = next.as_ref().map_or(0..text.text.len(), |place| 0..place.range.start);
        let mut steps = Vec::new();
        while let Some(place) = next {
            next = self.next(text, place.pattern.to, place.range.end, Pattern::is_marked);
            let end = next.as_ref().map_or(text.text.len(), |next| next.range.start + next.pattern.kept);
            steps.push(PlacedMessage { place, end });
            next = next.filter(|next| next.pattern.to != TextKind::End);
        }
        (unread, steps)
    }

    /// What ends a text that begins at an offset.
    fn next(
        &self,
        text: Text<'_>,
        kind: TextKind,
        from: usize,
        may: impl Fn(&Pattern) -> bool,
    ) -> Option<FoundPattern<'_>> {
        let found =
            self.find(text, from, |pattern| pattern.from == kind && pattern.to != TextKind::End && may(pattern));
        let ends = self.patterns.iter().filter(|pattern| pattern.from == kind && pattern.to == TextKind::End);
        let ends = ends.filter_map(|pattern| {
            let start = text.text.len().checked_sub(pattern.weight()).filter(|start| *start >= from)?;
            pattern.at(text, start).filter(|place| place.range.end == text.text.len())
        });
        first(found.into_iter().chain(ends))
    }

    /// The first place from an offset on. It looks no further, so a long transcript is looked at once.
    fn find(&self, text: Text<'_>, from: usize, may: impl Fn(&Pattern) -> bool) -> Option<FoundPattern<'_>> {
        let letters = text.text.get(from..)?.char_indices();
        letters.map(|(at, _)| from + at).find_map(|at| self.at(text, at, &may))
    }

    fn at(&self, text: Text<'_>, at: usize, may: impl Fn(&Pattern) -> bool) -> Option<FoundPattern<'_>> {
        first(self.patterns.iter().filter(|pattern| may(pattern)).filter_map(|pattern| pattern.at(text, at)))
    }

    /// Whether a turn at the end of a transcript is over. Where nothing ends a turn, one that says something is.
    fn is_over(&self, text: Text<'_>, step: &PlacedMessage<'_>, is_empty: bool) -> bool {
        let end = self.model.spec().turn.end.trim();
        let turn = text.text.get(step.text()).unwrap_or_default().trim_end();
        if end.is_empty() { !is_empty } else { turn.ends_with(end) }
    }

    fn message(
        &self,
        text: Text<'_>,
        step: &PlacedMessage<'_>,
        tools: &[Value],
    ) -> (Value, Vec<(Range<usize>, TokenPart)>) {
        let own = text.text.get(step.text()).unwrap_or_default();
        let decoded = || serde_json::from_str::<String>(&format!("\"{own}\"")).ok();
        let content = if step.place.pattern.json { decoded() } else { None }.unwrap_or_else(|| own.to_owned());
        let part = if step.kind() == TextKind::Tool { TokenPart::ToolResult } else { TokenPart::Content };
        let parts = vec![(step.text(), part)];
        match step.kind() {
            TextKind::Assistant => {
                let (message, parts) = self.assistant(text, step, tools);
                (json!(message), parts)
            }
            TextKind::System => (json!({"role": "system", "content": content}), parts),
            TextKind::Tool => {
                let mut message = json!({"role": "tool", "content": content});
                for (blank, range) in &step.place.blanks {
                    let key = match blank {
                        Blank::Id => "tool_call_id",
                        Blank::Name => "name",
                        Blank::Tools | Blank::Other => continue,
                    };
                    message[key] = text.text.get(range.clone()).unwrap_or_default().into();
                }
                (message, parts)
            }
            _ => (json!({"role": "user", "content": content}), parts),
        }
    }

    /// Reads a turn of the assistant.
    fn assistant(
        &self,
        text: Text<'_>,
        step: &PlacedMessage<'_>,
        tools: &[Value],
    ) -> (Message, Vec<(Range<usize>, TokenPart)>) {
        let before = text.text.get(..step.place.range.end).unwrap_or_default();
        let mut options = Options::new().generation_prompt(self.model.turn_of(before));
        if let Ok(tools) = Tools::from_openai(&Value::from(tools.to_vec())) {
            options = options.tools(&tools);
        }
        if let Some(vocabulary) = &self.vocabulary {
            options = options.special_tokens(vocabulary.control_tokens().map(|(_, text)| text));
        }
        let range = step.text();
        let mut tokens = Vec::new();
        let mut at = range.start;
        for token in
            text.control.unwrap_or_default().iter().filter(|token| range.start <= token.start && token.end <= range.end)
        {
            tokens.push(Token::text(text.text.get(at..token.start).unwrap_or_default()));
            tokens.push(Token::special(text.text.get(token.clone()).unwrap_or_default()));
            at = token.end;
        }
        tokens.push(Token::text(text.text.get(at..range.end).unwrap_or_default()));
        let reading = self.model.parser().read_tokens(tokens, &options, true);
        let part = |span: &unjinja_runtime::trace::Span| {
            (range.start + span.start..range.start + span.end, decoder::part(span.taken))
        };
        let mut parts: Vec<(Range<usize>, TokenPart)> = Vec::new();
        for (range, part) in reading.spans.iter().map(part) {
            match parts.last_mut() {
                Some((last, of)) if *of == part && last.end == range.start => last.end = range.end,
                _ => parts.push((range, part)),
            }
        }
        (reading.message, parts)
    }

    /// What the template writes for a conversation.
    fn write(&self, read: &ReadConversation) -> Option<String> {
        let messages: Vec<Value> = read.messages.iter().map(|message| message.message.clone()).collect();
        self.write_messages(messages, read)
    }

    fn write_messages(&self, messages: Vec<Value>, read: &ReadConversation) -> Option<String> {
        let closed = read.messages.last().is_some_and(|last| last.message["role"] == "assistant");
        let conversation = Conversation::new(messages).clock(self.clock);
        let conversation = conversation.tools(read.tools.clone()).generation_prompt(read.open_turn && !closed);
        // Whether thinking was on is not in the messages.
        let switches: &[Option<bool>] =
            if self.model.spec().reasoning.switch.is_empty() { &[None] } else { &[None, Some(true), Some(false)] };
        let texts = switches.iter().filter_map(|thinking| {
            let asked = match thinking {
                Some(on) => conversation.clone().thinking(*on),
                None => conversation.clone(),
            };
            self.model.render(&asked).ok()
        });
        texts.max_by_key(|written| difference(read, Some(written)).unwrap_or(usize::MAX))
    }
}

impl Encoder {
    /// A reader of whole conversations by their ids: a control token is a marker by its id, and text that spells one is text.
    ///
    /// ```no_run
    /// # use unjinja_tokens::Encoder;
    /// let encoder = Encoder::from_folder("models/qwen3")?;
    /// let reader = encoder.conversation_reader();
    /// let read = reader.read_ids(&[151644, 872, 198, 9707, 151645, 198]); // <|im_start|>user\nHello<|im_end|>\n
    /// assert_eq!(read.expect("it has a vocabulary").messages[0].message["content"], "Hello");
    /// # Ok::<(), unjinja_tokens::TokensError>(())
    /// ```
    pub fn conversation_reader(&self) -> ConversationReader {
        ConversationReader { vocabulary: Some(self.vocabulary().clone()), ..ConversationReader::new(self.model()) }
    }
}

impl ConversationReader {
    /// Reads a transcript by its ids. Ids that the vocabulary does not have are the character U+FFFD. None if the reader has no
    /// vocabulary: [`Encoder::conversation_reader`] makes one that has.
    pub fn read_ids(&self, ids: &[u32]) -> Option<ReadConversation> {
        let vocabulary = self.vocabulary.as_ref()?;
        let (mut bytes, mut control) = (Vec::new(), Vec::new());
        let mut text = String::new();
        let flush = |bytes: &mut Vec<u8>, text: &mut String| {
            text.push_str(&String::from_utf8_lossy(bytes));
            bytes.clear();
        };
        for &id in ids {
            let Some(token) = vocabulary.control_token(id) else {
                bytes.extend_from_slice(vocabulary.bytes(id).unwrap_or("\u{FFFD}".as_bytes()));
                continue;
            };
            flush(&mut bytes, &mut text);
            control.push(text.len()..text.len() + token.len());
            text.push_str(token);
        }
        flush(&mut bytes, &mut text);
        let tokens_of = |literal: &str| {
            let pieces = vocabulary.encode(literal, &|_| true).unwrap_or_default();
            let pieces = pieces.into_iter().filter(|piece| vocabulary.control_token(piece.id).is_some());
            pieces.map(|piece| piece.range).collect()
        };
        Some(self.read_text(Text { text: &text, control: Some(&control), tokens_of: &tokens_of }))
    }
}

/// The first place. Of several at one offset, the one with most text of the template before it holds something of the request; then the
/// one that holds least.
fn first<'p>(places: impl Iterator<Item = FoundPattern<'p>>) -> Option<FoundPattern<'p>> {
    places.min_by_key(|place| {
        let blanks: Vec<usize> = place.blanks.iter().map(|(_, range)| range.end).collect();
        let (begin, weight) = (place.pattern.first().map(str::len), place.pattern.weight());
        (place.range.start, Reverse(begin), blanks, Reverse(weight), place.pattern.to.rank())
    })
}

/// Where a transcript is not what the template writes: at its beginning if that was not read, or if the template refuses the messages. A
/// turn that is not over may lack its end, and white space may lack at the end of a transcript.
fn difference(read: &ReadConversation, written: Option<&str>) -> Option<usize> {
    let Some(written) = written.filter(|_| read.unread.is_empty()) else { return Some(0) };
    let same = read.transcript.bytes().zip(written.bytes()).take_while(|(one, other)| one == other).count();
    let rest = written.as_bytes().get(same..).unwrap_or_default();
    let whole = same == read.transcript.len() && (read.open_turn || rest.trim_ascii().is_empty());
    (!whole).then_some(same)
}

/// Whether a turn of the assistant has no text and no call.
fn says_nothing(message: &Value) -> bool {
    let texts = [&message["content"], &message["reasoning_content"]];
    message["tool_calls"].is_null() && texts.iter().all(|text| text.as_str().unwrap_or_default().trim().is_empty())
}

/// The tools that are described in JSON at a place. The template itself may have written the beginning of the JSON, so it is looked for
/// `around` the place.
fn tools_in(text: &str, around: Range<usize>, place: &Range<usize>) -> Vec<Value> {
    let (mut tools, mut at) = (Vec::new(), around.start);
    while let Some(found) = text.get(at..around.end).and_then(|rest| rest.find(['{', '['])) {
        at += found;
        let mut values =
            serde_json::Deserializer::from_str(text.get(at..around.end).unwrap_or_default()).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            at += 1;
            continue;
        };
        let end = at + values.byte_offset();
        if at < place.end && place.start < end {
            let listed = match value {
                Value::Array(listed) => listed,
                value => vec![value],
            };
            tools.extend(listed.into_iter().filter_map(as_tool));
        }
        at = end;
    }
    tools
}

/// A tool in OpenAI's form.
fn as_tool(value: Value) -> Option<Value> {
    if value["function"]["name"].is_string() {
        return Some(value);
    }
    value["name"].is_string().then(|| json!({"type": "function", "function": value}))
}
