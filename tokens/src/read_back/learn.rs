//! Learns from a template what it writes between the texts of two messages: by experiments with small conversations.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Value, json};
use unjinja_dynamic::{Clock, Conversation, LabelledPrompt, Model, Options};
use unjinja_render::{Encoding, Field, Origin};

use super::pattern::{Blank, Pattern, Segment, TextKind};

/// The conversations: `s`ystem, `u`ser, `a`nswer, `r`easoning and an answer, a `c`all, a `d`ouble call, a `t`ool's result.
const CONVERSATIONS: &[&str] = &[
    "u", "ua", "ur", "uau", "urua", "uaua", "uauau", "su", "sua", "suaua", "uct", "ucta", "uctr", "uctua", "ucu",
    "udtta", "sucta", "uctcta", "uaa", "usu", "aua",
];

/// Texts without a letter that a template would change.
fn text(index: usize) -> String {
    format!("text{index}of{index}")
}

/// Learns the patterns of a template.
pub(super) fn learn(model: &Model) -> Vec<Pattern> {
    let mut found: BTreeSet<(Pattern, bool)> = BTreeSet::new();
    for letters in CONVERSATIONS {
        for (offers_tools, prompts) in [(false, false), (false, true), (true, false), (true, true)] {
            found.extend(patterns_of(model, letters, offers_tools, prompts).unwrap_or_default());
        }
    }
    // The marker of a call or of reasoning is no header, if another turn shows which text is.
    let shown: BTreeSet<TextKind> = found
        .iter()
        .filter(|(pattern, sure)| *sure && pattern.to == TextKind::Assistant)
        .map(|(pattern, _)| pattern.from)
        .collect();
    let is_header = |pattern: &Pattern| pattern.to != TextKind::Assistant || !shown.contains(&pattern.from);
    let mut patterns: Vec<Pattern> =
        found.into_iter().filter(|(pattern, sure)| *sure || is_header(pattern)).map(|(pattern, _)| pattern).collect();
    patterns.dedup();
    patterns.extend(without_bos(model, &patterns));
    patterns
}

/// The patterns in one conversation, which may end in a generation prompt.
fn patterns_of(model: &Model, letters: &str, offers_tools: bool, prompts: bool) -> Option<Vec<(Pattern, bool)>> {
    if prompts && !letters.ends_with(['u', 't']) {
        return None;
    }
    // Two days that have no part in common, whatever day it is today: what both renders share is no date.
    let conversation = conversation(letters, offers_tools).generation_prompt(prompts).clock(Clock::default());
    let first = Rendered::new(model, letters, &conversation)?;
    let other_day = Clock { year: 2031, month: 12, day: 28, hour: 23, minute: 59, second: 58 };
    let second = Rendered::new(model, letters, &conversation.clock(other_day))?;
    let patterns = first.patterns(model, prompts)?;
    let others = second.patterns(model, prompts)?;
    let pairs = patterns.into_iter().zip(others);
    Some(pairs.filter_map(|((one, sure), (other, _))| Some((one.merged(&other)?, sure))).collect())
}

fn conversation(letters: &str, offers_tools: bool) -> Conversation {
    let function = json!({"name": "look_up", "arguments": {"place": "here"}});
    let call = |id: &str| json!({"type": "function", "id": id, "function": function});
    let mut ids = Vec::new();
    let mut messages = Vec::new();
    for (index, letter) in letters.chars().enumerate() {
        let text = text(index);
        let mut calls = |count: usize| {
            let new: Vec<String> = (0..count).map(|at| format!("call0000{}", index * 2 + at)).collect();
            ids.extend(new.clone());
            let calls: Vec<Value> = new.iter().map(|id| call(id)).collect();
            json!({"role": "assistant", "content": "", "tool_calls": calls})
        };
        messages.push(match letter {
            's' => json!({"role": "system", "content": text}),
            'u' => json!({"role": "user", "content": text}),
            'a' => json!({"role": "assistant", "content": text}),
            'r' => json!({"role": "assistant", "content": text, "reasoning_content": "thoughts"}),
            'c' => calls(1),
            'd' => calls(2),
            _ => {
                let id = if ids.is_empty() { String::new() } else { ids.remove(0) };
                json!({"role": "tool", "name": "look_up", "tool_call_id": id, "content": text})
            }
        });
    }
    let conversation = Conversation::new(messages).generation_prompt(false);
    if !offers_tools {
        return conversation;
    }
    let schema = json!({"type": "object", "properties": {"place": {"type": "string", "description": "Where."}}, "required": ["place"]});
    conversation.tools(
        json!([{"type": "function", "function": {"name": "look_up", "description": "Looks.", "parameters": schema}}]),
    )
}

/// A conversation as the template writes it, and where the texts of its messages are.
struct Rendered {
    prompt: LabelledPrompt,
    bodies: Vec<Body>,
}

/// The text of a message.
struct Body {
    letter: char,
    range: Range<usize>,
    json: bool,
}

impl Body {
    fn kind(&self) -> TextKind {
        match self.letter {
            's' => TextKind::System,
            'u' => TextKind::User,
            't' => TextKind::Tool,
            _ => TextKind::Assistant,
        }
    }
}

impl Rendered {
    fn new(model: &Model, letters: &str, conversation: &Conversation) -> Option<Self> {
        let prompt = model.render_labelled(conversation).ok()?;
        // The template may read no system message at that place; messages are then others.
        if !prompt.labels.is_complete() || prompt.context["messages"].as_array()?.len() != letters.chars().count() {
            return None;
        }
        let mut bodies: Vec<Body> = Vec::new();
        // From the last one on: a result may repeat the name of its call, and that is no part of the turn that calls.
        let letters: Vec<char> = letters.chars().collect();
        let mut end = prompt.text.len();
        for (index, letter) in letters.iter().enumerate().rev() {
            let body = body(&prompt, index, *letter, end)?;
            end = body.range.start;
            bodies.insert(0, body);
        }
        let in_order = bodies.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start);
        in_order.then_some(Self { prompt, bodies })
    }

    /// The patterns, and for each whether it is sure that it ends before the text of a message.
    fn patterns(&self, model: &Model, prompts: bool) -> Option<Vec<(Pattern, bool)>> {
        let mut patterns = Vec::new();
        let mut before = (TextKind::Start, 'x', 0..0);
        for body in &self.bodies {
            let header = if body.kind() == TextKind::Assistant {
                self.header_end(model, before.2.end..body.range.start)
            } else {
                None
            };
            let until = header.unwrap_or(body.range.start);
            let gap = self.segments(before.2.end..until)?;
            let sure = header.is_some() || !matches!(body.letter, 'r' | 'c' | 'd');
            patterns.push((self.pattern(model, (before.0, before.1), body.kind(), gap, &before.2, body.json)?, sure));
            before = (body.kind(), body.letter, body.range.clone());
        }
        let end = self.prompt.text.len();
        // The parser knows how a prompt ends, so all of it is header.
        let to = if prompts { TextKind::Assistant } else { TextKind::End };
        let gap = self.segments(before.2.end..end)?;
        if !gap.is_empty() || !prompts {
            patterns.push((self.pattern(model, (before.0, before.1), to, gap, &before.2, false)?, true));
        }
        Some(patterns)
    }

    /// Where the header of an assistant's turn ends: what comes before its first field may be a marker of reasoning or of a call.
    fn header_end(&self, model: &Model, gap: Range<usize>) -> Option<usize> {
        let start = &model.spec().turn.assistant_start;
        let at = self.prompt.text.get(gap.clone())?.rfind(start.as_str()).filter(|_| !start.trim().is_empty())?;
        Some(gap.start + at + start.len())
    }

    /// `gap` follows the text `before`.
    fn pattern(
        &self,
        model: &Model,
        (from, letter): (TextKind, char),
        to: TextKind,
        mut segments: Vec<Segment>,
        before: &Range<usize>,
        json: bool,
    ) -> Option<Pattern> {
        let mut kept = 0;
        if from == TextKind::Assistant {
            let end = model.spec().turn.end.trim();
            let first = match segments.first_mut() {
                Some(Segment::Text(text)) => text,
                _ => return Some(Pattern { from, to, segments, kept, json }),
            };
            match first.find(end).filter(|_| !end.is_empty()) {
                Some(at) => {
                    first.drain(..at);
                    kept = end.len();
                }
                None => {
                    let end = self.turn_end(model, letter, before, first);
                    let (closer, rest) = first.split_at_checked(end)?;
                    // Calls may close in several ways, so the pattern begins after that, if it can be told from text then.
                    if rest.trim().is_empty() {
                        kept = closer.len();
                    } else {
                        *first = rest.to_owned();
                    }
                }
            }
        }
        Some(Pattern { from, to, segments, kept, json })
    }

    /// How much of a text that follows a turn still belongs to the turn: as much as does not change how it is read.
    fn turn_end(&self, model: &Model, letter: char, before: &Range<usize>, after: &str) -> usize {
        let Some(text) = self.prompt.text.get(..before.end) else { return 0 };
        let start = &model.spec().turn.assistant_start;
        let begin =
            text.rfind(start.as_str()).filter(|_| !start.is_empty()).map_or(before.start, |at| at + start.len());
        let options = Options::new().generation_prompt(start.as_str());
        let read = |cut: usize| {
            let turn = format!("{}{}", text.get(begin..).unwrap_or_default(), after.get(..cut).unwrap_or_default());
            model.parse(turn.as_str(), &options)
        };
        let expected = match letter {
            'c' => 1,
            'd' => 2,
            _ => 0,
        };
        let good = |cut: &usize| {
            let message = read(*cut);
            message.tool_calls.len() == expected
                && (expected > 0 || message.content.trim().starts_with("text"))
                && message.content.trim().len() == read(0).content.trim().len()
        };
        (0..=after.len()).rev().filter(|cut| after.is_char_boundary(*cut)).find(good).unwrap_or(0)
    }

    /// What is between two texts.
    fn segments(&self, range: Range<usize>) -> Option<Vec<Segment>> {
        let mut segments: Vec<Segment> = Vec::new();
        let spans = self.prompt.labels.spans();
        let first = spans.partition_point(|span| span.range.end <= range.start);
        for span in spans.get(first..)?.iter().take_while(|span| span.range.start < range.end) {
            let part = span.range.start.max(range.start)..span.range.end.min(range.end);
            let text = self.prompt.text.get(part)?;
            let blank = match &span.origin {
                Origin::Template => None,
                Origin::Field(field) => blank_of(field),
            };
            match (blank, segments.last_mut()) {
                (None, Some(Segment::Text(last))) => last.push_str(text),
                (None, _) => segments.push(Segment::Text(text.to_owned())),
                (Some(blank), Some(Segment::Blank(last))) if *last == blank => {}
                (Some(Blank::Tools), _) => {
                    // The template's text between two fields of tools describes tools too.
                    if let Some(at) = segments.iter().position(|segment| *segment == Segment::Blank(Blank::Tools)) {
                        segments.truncate(at + 1);
                    } else {
                        segments.push(Segment::Blank(Blank::Tools));
                    }
                }
                (Some(blank), _) => segments.push(Segment::Blank(blank)),
            }
        }
        Some(segments)
    }
}

/// Where the text of a message is, before an offset.
fn body(prompt: &LabelledPrompt, index: usize, letter: char, before: usize) -> Option<Body> {
    let own = format!("messages[{index}]");
    let item = prompt.labels.items().iter().filter(|item| *item.path == *own);
    let item =
        item.map(|item| item.range.clone()).reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
    let is_inside =
        |range: &Range<usize>| item.as_ref().is_none_or(|item| item.start <= range.start && range.end <= item.end);
    let is_text = matches!(letter, 's' | 'u' | 't');
    let mut json = false;
    let mut range: Option<Range<usize>> = None;
    for span in prompt.labels.spans() {
        let Origin::Field(field) = &span.origin else { continue };
        let Some(rest) = field.path.strip_prefix(own.as_str()) else { continue };
        let wanted = if is_text {
            rest.starts_with(".content")
        } else {
            !rest.is_empty() && rest != ".role" && is_inside(&span.range)
        };
        if !wanted || span.range.is_empty() || span.range.end > before {
            continue;
        }
        json |= field.encodings.contains(&Encoding::Json);
        let so_far = range.get_or_insert_with(|| span.range.clone());
        *so_far = so_far.start.min(span.range.start)..so_far.end.max(span.range.end);
    }
    let range = range?;
    if !is_text {
        return Some(Body { letter, range, json: false });
    }
    let expected = text(index);
    let at = prompt.text.get(range.clone())?.find(&expected)?;
    let inner = range.start + at..range.start + at + expected.len();
    // The template writes the text once, and nothing of its own into it but quotes.
    (range.len() - inner.len() <= 2).then_some(Body { letter, range: inner, json })
}

fn blank_of(field: &Field) -> Option<Blank> {
    match field.path.split(['.', '[']).next().unwrap_or_default() {
        "tools" | "functions" => Some(Blank::Tools),
        // A quotation mark around a text.
        "messages" if field.path.ends_with(".role") || field.path.contains("].content") => None,
        "messages" if field.path.ends_with("id") => Some(Blank::Id),
        "messages" if field.path.ends_with(".name") => Some(Blank::Name),
        "messages" => Some(Blank::Other),
        _ => None,
    }
}

impl Pattern {
    /// What two renders on two days have in common: what differs is a place.
    fn merged(self, other: &Pattern) -> Option<Pattern> {
        if self == *other {
            return Some(self);
        }
        if self.segments.len() != other.segments.len() {
            return None;
        }
        let mut segments = Vec::new();
        for pair in self.segments.into_iter().zip(&other.segments) {
            match pair {
                (Segment::Text(one), Segment::Text(two)) if one != *two => {
                    let shared = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
                        pairs
                            .take_while(|(one, two)| one == two && !one.is_ascii_digit())
                            .map(|(one, _)| one.len_utf8())
                            .sum()
                    };
                    let before = shared(&mut one.chars().zip(two.chars()));
                    let after = shared(&mut one.chars().rev().zip(two.chars().rev()))
                        .min(one.len() - before)
                        .min(two.len() - before);
                    segments.push(Segment::Text(one.get(..before)?.to_owned()));
                    segments.push(Segment::Blank(Blank::Other));
                    segments.push(Segment::Text(one.get(one.len() - after..)?.to_owned()));
                }
                (one, two) if one == *two => segments.push(one),
                _ => return None,
            }
        }
        segments.retain(|segment| *segment != Segment::Text(String::new()));
        Some(Pattern { segments, ..self })
    }
}

/// The beginnings of a transcript whose first token, BOS, was left out.
fn without_bos(model: &Model, patterns: &[Pattern]) -> Vec<Pattern> {
    let Some(bos) = model.parsed_template().ok().and_then(|template| template.tokens().bos.clone()) else {
        return Vec::new();
    };
    let begins = patterns.iter().filter(|pattern| pattern.from == TextKind::Start && !bos.is_empty());
    let shorter = begins.filter_map(|pattern| {
        let mut pattern = pattern.clone();
        match pattern.segments.first_mut()? {
            Segment::Text(text) => *text = text.strip_prefix(bos.as_str())?.to_owned(),
            Segment::Blank(_) => return None,
        }
        Some(pattern)
    });
    shorter.collect()
}
