//! The executor: reads an output in pieces and divides it into the regions of a response template's fields, as
//! transformers' `ResponseParser` does.
//!
//! At each moment one field is open, or the field that takes the rest, or none. In a field with a marker at its start, only
//! the marker at its end is looked for: fields do not nest. Elsewhere all starting markers are looked for, and the end of the
//! field that takes the rest. Text that could be the beginning of a marker is held back until more text settles it.

use std::ops::Range;

use serde_json::Value as Json;

use super::content;
use super::error::{ErrorKind, ReadError};
use super::pattern::{Match, RanAway};
use super::schema::{Anchor, Content, Field, ResponseTemplate};
use super::tool_types::ToolTypes;
use super::value::{Dict, Value};

/// How many empty markers may follow each other at one place.
const MOST_STALLED: u32 = 64;

/// What happens while an output is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A region begins.
    Open {
        /// Its field.
        field: String,
    },
    /// A region continues.
    Chunk {
        /// Its field.
        field: String,
        /// The text.
        text: String,
        /// The text only becomes a value when the region ends.
        is_dirty: bool,
    },
    /// A region ends.
    Close {
        /// Its field.
        field: String,
        /// What it held.
        value: Value,
    },
}

/// Which marker was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Boundary {
    Open,
    Close,
}

/// A marker that was found: whether it opens or closes, the field, and where it is.
type Marker = (Boundary, usize, Match);

/// The first marker that is certain, and the place up to which the text is settled.
type Scan = (Option<Marker>, usize);

/// Reads one output.
///
/// ```
/// use unjinja_export::response_template::{Executor, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(&serde_json::json!({
///     "start_anchor": "<assistant>",
///     "fields": {"reasoning_content": {"open": "<think>", "close": "</think>"}, "content": {"close": "<end>"}}
/// }))?;
/// let mut executor = Executor::new(&template, "<user>Hi<assistant><think>", &[])?;
/// executor.feed("Well.</thi")?;
/// executor.feed("nk>Hello!<end>")?;
/// let (message, _) = executor.finish()?;
/// assert_eq!(message.to_string(), r#"{"reasoning_content": "Well.", "content": "Hello!"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Executor<'t> {
    template: &'t ResponseTemplate,
    tools: ToolTypes,
    buffer: String,
    /// Up to here the text is settled.
    at: usize,
    output: Dict,
    /// The open field.
    current: Option<usize>,
    captures: Vec<(String, String)>,
    body: String,
    /// The region of the field has begun. The field that takes the rest begins with its first character.
    is_open: bool,
    initial: Vec<Event>,
}

impl<'t> Executor<'t> {
    /// Starts after a prompt, of which the part after the last start anchor is read. Without a prompt, the output begins at the
    /// start of a turn. The tools, in OpenAI's form, say of which types arguments are.
    ///
    /// # Errors
    ///
    /// The prompt itself cannot be read.
    pub fn new(template: &'t ResponseTemplate, prompt: &str, tools: &[Json]) -> Result<Self, ReadError> {
        let start = match last_match(&template.start_anchor, prompt) {
            Ok(start) => start,
            Err(RanAway) => return Err(ReadError::ran_away("`start_anchor_pattern`")),
        };
        let buffer = prompt[start..].to_owned();
        let mut executor = Self {
            template,
            tools: ToolTypes::new(tools),
            buffer,
            at: 0,
            output: template.defaults.clone(),
            current: template.implicit,
            captures: Vec::new(),
            body: String::new(),
            is_open: false,
            initial: Vec::new(),
        };
        if !executor.buffer.is_empty() {
            let mut initial = Vec::new();
            executor.process(&mut initial, false)?;
            executor.initial = initial;
        }
        Ok(executor)
    }

    /// What was found in the prompt.
    #[must_use]
    pub fn initial_events(&self) -> &[Event] {
        &self.initial
    }

    /// Reads more of the output.
    ///
    /// # Errors
    ///
    /// A region cannot be read.
    pub fn feed(&mut self, text: &str) -> Result<Vec<Event>, ReadError> {
        self.buffer.push_str(text);
        let mut events = Vec::new();
        self.process(&mut events, false)?;
        Ok(events)
    }

    /// Ends the output: the message, and the last events.
    ///
    /// # Errors
    ///
    /// A region cannot be read, or a field that is not optional is missing.
    pub fn finish(mut self) -> Result<(Dict, Vec<Event>), ReadError> {
        let mut events = Vec::new();
        self.process(&mut events, true)?;
        let fields = self.template.fields.iter();
        let missing: Vec<&str> = fields
            .filter(|field| !field.optional && self.output.get(&field.name).is_none())
            .map(|field| field.name.as_str())
            .collect();
        if !missing.is_empty() {
            let message = format!("the output has no {}, which the template requires", missing.join(", "));
            return Err(ReadError::new(ErrorKind::Value, message));
        }
        let defaults = &self.template.defaults;
        self.output.retain(|key, value| defaults.get(key).is_some() || !value.is_empty());
        Ok((self.output, events))
    }

    fn process(&mut self, events: &mut Vec<Event>, is_end: bool) -> Result<(), ReadError> {
        let mut stalled = 0;
        loop {
            let (best, hold) = self.scan(is_end)?;
            let Some((boundary, field, found)) = best else {
                let settled = if is_end { self.buffer.len() } else { hold };
                if settled > self.at {
                    self.accumulate(events, self.at..settled);
                    self.at = settled;
                }
                if is_end {
                    self.close(events)?;
                }
                return Ok(());
            };
            // Markers that match nothing open and close a region at one place without end. The readers do that too, and hang.
            stalled = if found.range.end > self.at { 0 } else { stalled + 1 };
            if stalled > MOST_STALLED {
                let message = "its markers match an empty text at one place for ever";
                return Err(ReadError::new(ErrorKind::RanAway, message).in_field(&self.template.fields[field].name));
            }
            if found.range.start > self.at {
                self.accumulate(events, self.at..found.range.start);
            }
            self.at = found.range.end;
            match boundary {
                Boundary::Open => {
                    self.close(events)?;
                    self.open(events, field, found);
                }
                Boundary::Close => {
                    let had_text = self.is_open;
                    let is_empty = found.range.is_empty();
                    self.capture(found.captures);
                    self.close(events)?;
                    // An empty match in a region that holds nothing would be found again and again.
                    if !had_text && is_empty {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The markers that count now.
    fn watched(&self) -> Vec<(Boundary, usize, &'t Anchor)> {
        let fields = &self.template.fields;
        let close = |at: usize| Some((Boundary::Close, at, fields[at].close.as_ref()?));
        match self.current {
            Some(at) if self.current != self.template.implicit => close(at).into_iter().collect(),
            _ => {
                let opens = fields
                    .iter()
                    .enumerate()
                    .filter_map(|(at, field)| Some((Boundary::Open, at, field.open.as_ref()?)));
                opens.chain(self.template.implicit.and_then(close)).collect()
            }
        }
    }

    /// The first marker that is certain, and the place up to which the text is settled.
    fn scan(&self, is_end: bool) -> Result<Scan, ReadError> {
        let mut hold = self.buffer.len();
        let mut best: Option<Marker> = None;
        for (boundary, at, anchor) in self.watched() {
            let field = &self.template.fields[at];
            let key = if boundary == Boundary::Open { "`open_pattern`" } else { "`close_pattern`" };
            let ran_away = |_: RanAway| ReadError::ran_away(key).in_field(&field.name);
            let Some(found) = anchor.pattern.search(&self.buffer, self.at).map_err(ran_away)? else {
                if !is_end {
                    let begins = anchor.pattern.search_beginning(&self.buffer, self.at).map_err(ran_away)?;
                    hold = begins.map_or(hold, |begins| hold.min(begins));
                }
                continue;
            };
            if !is_end && self.can_grow(anchor, &found).map_err(ran_away)? {
                hold = hold.min(found.range.start);
                continue;
            }
            let key = |boundary: Boundary, at: usize, found: &Match| {
                let name = self.template.fields[at].name.as_str();
                (found.range.start, usize::MAX - found.range.len(), boundary, name.to_owned())
            };
            let is_better = best.as_ref().is_none_or(|(other, other_at, other_found)| {
                key(boundary, at, &found) < key(*other, *other_at, other_found)
            });
            if is_better {
                best = Some((boundary, at, found));
            }
        }
        // A marker that is not settled yet may be the one that counts, if it begins no later.
        Ok((best.filter(|(_, _, found)| found.range.start < hold), hold))
    }

    /// Whether a match may become another one with more text.
    fn can_grow(&self, anchor: &Anchor, found: &Match) -> Result<bool, RanAway> {
        if found.range.end == self.buffer.len() {
            return Ok(found.range.is_empty() || anchor.literals.is_none() || anchor.can_extend);
        }
        if anchor.literals.is_some() {
            return Ok(false);
        }
        // A character that is neither a line break nor the end: does the match lean on the end of the text?
        let longer = format!("{}\0", self.buffer);
        Ok(anchor.pattern.search(&longer, found.range.start)?.as_ref() != Some(found))
    }

    /// Adds the groups of a closing marker to those of the marker that opened the region.
    fn capture(&mut self, closing: Vec<(String, String)>) {
        for (name, text) in closing {
            match self.captures.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = text,
                None => self.captures.push((name, text)),
            }
        }
    }

    /// Adds text to the open region. Without a field that takes the rest, it is dropped.
    fn accumulate(&mut self, events: &mut Vec<Event>, range: Range<usize>) {
        let Some(current) = self.current else { return };
        let field = &self.template.fields[current];
        if !self.is_open {
            events.push(Event::Open { field: field.name.clone() });
            self.is_open = true;
        }
        let text = &self.buffer[range];
        self.body.push_str(text);
        if !text.is_empty() {
            let is_dirty = !matches!(
                field.content,
                Content::Text { .. } | Content::Int { .. } | Content::Float { .. } | Content::Bool { .. }
            );
            events.push(Event::Chunk { field: field.name.clone(), text: text.to_owned(), is_dirty });
        }
    }

    fn open(&mut self, events: &mut Vec<Event>, field: usize, found: Match) {
        self.current = Some(field);
        self.captures = found.captures;
        self.body.clear();
        self.is_open = true;
        events.push(Event::Open { field: self.template.fields[field].name.clone() });
    }

    /// Ends the open region, if there is one, and goes back to the field that takes the rest.
    fn close(&mut self, events: &mut Vec<Event>) -> Result<(), ReadError> {
        let open = self.current.filter(|_| self.is_open);
        self.current = self.template.implicit;
        self.is_open = false;
        let body = std::mem::take(&mut self.body);
        let captures = std::mem::take(&mut self.captures);
        let Some(at) = open else { return Ok(()) };
        let field = &self.template.fields[at];
        let value = self.value(field, &body, &captures).and_then(|value| {
            self.keep(field, value.clone())?;
            Ok(value)
        });
        let value = value.map_err(|error| error.in_field(&field.name))?;
        events.push(Event::Close { field: field.name.clone(), value });
        Ok(())
    }

    fn value(&self, field: &Field, body: &str, captures: &[(String, String)]) -> Result<Value, ReadError> {
        let mut value = content::of_field(body, field, captures)?;
        if !self.tools.is_empty() {
            self.tools.give(&mut value)?;
        }
        if field.join.is_some() && value.as_text().is_none() {
            let message = format!("`join` needs texts, but there is a {}", value.type_name());
            return Err(ReadError::new(ErrorKind::Value, message));
        }
        Ok(value)
    }

    /// Puts the value of a region into the message.
    fn keep(&mut self, field: &Field, value: Value) -> Result<(), ReadError> {
        let known = self.output.get_mut(&field.name);
        let clash = |kind, found: &Value| {
            let message = format!("the default of the field is a {}, so nothing can be added", found.type_name());
            Err(ReadError::new(kind, message))
        };
        match (&field.join, known) {
            (Some(_), None | Some(Value::Null)) => self.output.set(&field.name, value),
            (Some(join), Some(Value::Text(known))) => {
                known.push_str(join);
                known.push_str(value.as_text().unwrap_or_default());
            }
            (Some(_), Some(other)) => return clash(ErrorKind::Type, other),
            (None, Some(Value::List(items))) if field.repeats => items.push(value),
            (None, None) if field.repeats => self.output.set(&field.name, Value::List(vec![value])),
            (None, Some(other)) if field.repeats => return clash(ErrorKind::Attribute, other),
            (None, _) => self.output.set(&field.name, value),
        }
        Ok(())
    }
}

/// Where the last match of the start anchor ends; 0 without a match.
fn last_match(anchor: &Anchor, prompt: &str) -> Result<usize, RanAway> {
    Ok(anchor.pattern.search_all(prompt)?.last().map_or(0, |found| found.range.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_that_match_nothing_do_not_hang() -> Result<(), Box<dyn std::error::Error>> {
        let json = serde_json::json!({"start_anchor": "<a>", "fields": {
            "tool_calls": {"open_pattern": "(?=x)", "close_pattern": "(?=x)"}, "content": {}
        }});
        let template = ResponseTemplate::from_json(&json)?;
        let mut executor = Executor::new(&template, "", &[])?;
        assert_eq!(executor.feed("ab x y").map_err(|error| error.kind), Err(ErrorKind::RanAway));
        Ok(())
    }

    /// The error names the key whose pattern takes too many steps.
    #[test]
    fn a_pattern_that_runs_away_is_named() -> Result<(), Box<dyn std::error::Error>> {
        const SLOW: &str = r"(?:\w|[a-z]|\s|.)*$x(?<=(a|b)*)";
        let open = serde_json::json!({"tool_calls": {"open_pattern": SLOW, "close": "</c>"}, "content": {}});
        let close = serde_json::json!({"content": {"close_pattern": SLOW}});
        for (fields, key) in [(open, "`open_pattern`"), (close, "`close_pattern`")] {
            let json = serde_json::json!({"start_anchor": "<a>", "fields": fields});
            let template = ResponseTemplate::from_json(&json)?;
            let mut executor = Executor::new(&template, "", &[])?;
            let error = executor.feed(&"abcdefgh ".repeat(20)).err().ok_or("it does not run away")?;
            assert!(error.kind == ErrorKind::RanAway && error.to_string().contains(key), "{error}");
        }
        Ok(())
    }
}
