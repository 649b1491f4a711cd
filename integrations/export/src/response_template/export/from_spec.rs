//! A response template made of a format spec: from markers to fields. Nothing here asks which model it is.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};
use unjinja_spec::{ContentMode, FormatSpec, MarkerKey, MarkerText, ReasoningMode, StartsIn};

use super::super::reading::REASONING;
use super::calls::{self, Means};
use super::loss::LossKind;
use super::mark::{self, Mark, escaped, mark_of};

/// A template, and what it is known not to express.
pub(crate) struct Draft {
    pub json: Json,
    pub losses: Vec<LossKind>,
}

/// The templates of a spec: those that may read more come first. `tails` is what prompts write after the result of a call.
pub(crate) fn drafts(spec: &FormatSpec, tails: &BTreeSet<&str>) -> Vec<Draft> {
    let (lists, patterns) = (draft(spec, Means::CallLists, tails), draft(spec, Means::Patterns, tails));
    if lists.json == patterns.json { vec![patterns] } else { vec![lists, patterns] }
}

fn draft(spec: &FormatSpec, means: Means, tails: &BTreeSet<&str>) -> Draft {
    let mut losses = Vec::new();
    let mut fields = Map::new();
    let ends = ends(spec);
    let calls = calls::field(spec, means, &ends);
    let (calls, of_calls) = calls.map_or((None, Vec::new()), |calls| (calls.field, calls.losses));
    if let Some(field) = reasoning(spec, &ends, calls.as_ref(), &mut losses) {
        fields.insert(REASONING.to_owned(), Json::Object(field));
    }
    losses.extend(of_calls);
    fields.extend(calls.map(|field| ("tool_calls".to_owned(), Json::Object(field))));
    fields.insert("content".to_owned(), Json::Object(content(spec, &ends)));
    if !spec.content.label.trim().is_empty() {
        losses.push(LossKind::Label);
    }
    let mut template = Map::new();
    template.insert("defaults".to_owned(), json!({"role": "assistant"}));
    let (key, anchor) = anchors(spec, tails);
    template.insert(key.to_owned(), anchor);
    template.insert("fields".to_owned(), Json::Object(fields));
    Draft { json: Json::Object(template), losses }
}

/// Where in the prompt the turn begins, also after the result of a call: the key and its value.
fn anchors(spec: &FormatSpec, tails: &BTreeSet<&str>) -> (&'static str, Json) {
    let (key, first) = anchor(spec);
    let results: BTreeSet<String> = tails.iter().filter_map(|tail| result_end(spec, tail)).collect();
    if results.is_empty() {
        return (key, first.into());
    }
    if key == "start_anchor" {
        return (key, std::iter::once(first).chain(results).collect());
    }
    (key, std::iter::once(first).chain(results.iter().map(|text| escaped(text))).collect::<Vec<_>>().join("|").into())
}

/// The text that ends the result of a call, where a prompt goes on after it without the start of a turn.
fn result_end(spec: &FormatSpec, tail: &str) -> Option<String> {
    let start = spec.turn.assistant_start.as_str();
    if start.is_empty() || tail.contains(start) {
        return None;
    }
    // What the prompt has of the turn belongs to the turn.
    let begun = spec.generation_prompt.iter().filter_map(|prompt| prompt.text.strip_prefix(start));
    let begun = begun.chain([spec.reasoning.start.as_str()]).filter(|text| !text.trim().is_empty());
    let rest = begun.filter_map(|text| tail.strip_suffix(text)).min_by_key(|rest| rest.len()).unwrap_or(tail);
    let last = MarkerText::new(rest).tags().last().and_then(|tag| rest.rfind(tag)).unwrap_or_default();
    rest.get(last..).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Where in the prompt the turn begins: the key and its value.
fn anchor(spec: &FormatSpec) -> (&'static str, String) {
    let start = spec.turn.assistant_start.as_str();
    let markers = [&spec.content.start, &spec.reasoning.start, &spec.tools.per_call_start, &spec.tools.section_start];
    let is_marker = |text: &&String| !text.is_empty() && MarkerText::new(text).core.starts_with(start.trim());
    let begun: BTreeSet<String> = spec
        .generation_prompt
        .iter()
        .filter(|prompt| !prompt.text.is_empty())
        .filter(|prompt| start.is_empty() || prompt.starts_in == StartsIn::Marker && markers.iter().any(is_marker))
        .map(|prompt| escaped(&prompt.text))
        .collect();
    if !begun.is_empty() {
        // The prompt begins a marker, which must be read: the turn begins before it and not after it.
        let texts = Vec::from_iter(begun);
        let texts = if let [one] = &*texts { one.clone() } else { format!("(?:{})", texts.join("|")) };
        // A prompt of another kind may write nothing of the turn.
        let writes_nothing = start.is_empty() && spec.generation_prompt.iter().any(|prompt| prompt.text.is_empty());
        let other = if writes_nothing { "|$" } else { "" };
        return ("start_anchor_pattern", format!("(?={texts}$){other}"));
    }
    match start {
        // The prompt ends where the output begins.
        "" => ("start_anchor_pattern", "$".to_owned()),
        start => ("start_anchor", start.to_owned()),
    }
}

/// The texts that end a turn: the marker, its first tag, at which servers stop, its alternatives, and the model's own token.
pub(crate) fn ends(spec: &FormatSpec) -> Vec<String> {
    let mut ends: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        if !text.is_empty() && !ends.iter().any(|known| known == text) {
            ends.push(text.to_owned());
        }
    };
    add(MarkerText::new(&spec.turn.end).core);
    add(MarkerText::new(&spec.turn.end).up_to_first_tag());
    for alternative in spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten() {
        add(MarkerText::new(alternative).core);
    }
    add(spec.tokens.eos.as_deref().unwrap_or_default());
    // Without a marker of its own, a turn ends where the next one begins.
    if spec.turn.end.trim().is_empty() && !MarkerText::new(&spec.turn.user_start).tags().is_empty() {
        add(MarkerText::new(&spec.turn.user_start).up_to_first_tag());
    }
    ends
}

/// The field of reasoning. Without a marker at its end, it ends where the next part of the turn begins.
fn reasoning(
    spec: &FormatSpec,
    ends: &[String],
    calls: Option<&Map<String, Json>>,
    losses: &mut Vec<LossKind>,
) -> Option<Map<String, Json>> {
    let reasoning = &spec.reasoning;
    let is_open = MarkerText::new(&reasoning.end).is_layout();
    let is_marked = |text: &str| !MarkerText::new(text).is_layout();
    if reasoning.mode == ReasoningMode::None
        || is_open && !(is_marked(&reasoning.start) && is_marked(&spec.content.start))
    {
        return None;
    }
    let mut field = Map::new();
    let opened = spec.generation_prompt.iter().filter(|prompt| prompt.starts_in == StartsIn::Reasoning);
    let opener = opened.filter_map(|prompt| prompt.text.strip_prefix(spec.turn.assistant_start.as_str())).next();
    match (MarkerText::new(&reasoning.start).is_layout(), opener.filter(|text| !text.trim().is_empty())) {
        (false, _) => {
            let mut openers = vec![mark_of(&reasoning.start)];
            // Reasoning in a message of its own, after another message.
            openers.extend(header_starts(spec, &spec.content.header.reasoning).map(Mark::Literal));
            mark::one_of(openers)?.put(&mut field, "open");
        }
        (true, Some(opener)) => mark_of(opener).put(&mut field, "open"),
        (true, None) => {
            losses.push(LossKind::UnopenedReasoning);
            let end = escaped(MarkerText::new(&reasoning.end).core);
            Mark::Pattern(format!("(?=[\\s\\S]*?{end})")).put(&mut field, "open");
        }
    }
    if is_open {
        next_part(spec, ends, calls)?.put(&mut field, "close");
        return Some(field);
    }
    let header = &spec.content.header;
    // A call that begins inside the reasoning ends it, and is left to be read.
    let call = calls.and_then(calls::opener).filter(|_| reasoning.ended_by_call && header.is_none());
    if let Some(call) = call {
        let end = mark_of(&reasoning.end).pattern();
        Mark::Pattern(format!("{end}|(?={call})")).put(&mut field, "close");
        return Some(field);
    }
    match header.is_none() || !MarkerText::new(&reasoning.end).core.starts_with(&header.message_end) {
        true => mark_of(&reasoning.end).put(&mut field, "close"),
        // The start of the next message belongs to the marker, but the output may end before it. It closes the answer.
        false => Mark::Literal(header.message_end.clone()).put(&mut field, "close"),
    }
    Some(field)
}

/// What begins the next part after reasoning: the marker of the answer, the end of the turn, or a call, which is left to be read.
fn next_part(spec: &FormatSpec, ends: &[String], calls: Option<&Map<String, Json>>) -> Option<mark::Anchor> {
    let texts = std::iter::once(spec.content.start.clone()).chain(turn_ends(spec, ends));
    let mut marks: Vec<Mark> = texts.map(|text| mark_of(&text)).collect();
    marks.extend(calls.and_then(calls::opener).map(|call| Mark::Pattern(format!("(?={call})"))));
    mark::one_of(marks)
}

/// The texts that end a turn, with the white space that the template writes around its own.
fn turn_ends<'s>(spec: &'s FormatSpec, ends: &'s [String]) -> impl Iterator<Item = String> + 's {
    let end = MarkerText::new(&spec.turn.end);
    ends.iter().map(move |text| match end.core == text {
        // White space is layout only next to the marker with which the template writes it.
        true => format!("{}{text}{}", end.before, end.after),
        false => text.clone(),
    })
}

/// The field of the answer. It takes what no other field takes; whatever is syntax in it closes it, and so is left out.
fn content(spec: &FormatSpec, ends: &[String]) -> Map<String, Json> {
    let mut texts: Vec<String> = turn_ends(spec, ends).collect();
    let wraps = match spec.content.mode {
        ContentMode::Plain => ["", ""],
        _ => [spec.content.start.as_str(), spec.content.end.as_str()],
    };
    let others = wraps.into_iter().chain([spec.reasoning.empty.as_str()]).chain(calls::after_calls(spec));
    // Servers cut off the token that ends the turn, also where it ends another marker.
    let without_end = |text: &str| {
        let rest =
            ends.iter().filter_map(|end| text.trim_end().strip_suffix(end.as_str())).min_by_key(|rest| rest.len());
        rest.filter(|rest| !MarkerText::new(rest).is_layout()).unwrap_or(text).to_owned()
    };
    texts.extend(others.filter(|text| !MarkerText::new(text).is_layout()).map(without_end));
    let mut marks: Vec<Mark> = apart(texts).iter().map(|text| mark_of(text)).collect();
    let header = &spec.content.header;
    if !header.is_none() {
        marks.extend(header_starts(spec, &header.answers).map(Mark::Literal));
        marks.extend(
            [&header.message_end, &header.start]
                .into_iter()
                .filter(|text| !text.is_empty())
                .map(|text| Mark::Literal(text.clone())),
        );
    }
    let mut field = Map::new();
    if let Some(close) = mark::one_of(marks) {
        close.put(&mut field, "close");
    }
    // Without this, what comes after a call would replace what comes before it.
    field.insert("repeats".to_owned(), Json::from(true));
    field.insert("join".to_owned(), Json::from(""));
    field
}

/// Removes from the start of each marker another marker that it begins with. When an output arrives in pieces, a
/// reader takes the shorter one, and the rest follows it.
fn apart(mut texts: Vec<String>) -> Vec<String> {
    loop {
        let rest = |text: &String| {
            let core = MarkerText::new(text).core;
            let mut rests = texts.iter().filter_map(|other| core.strip_prefix(MarkerText::new(other).core));
            let rest = rests.find(|rest| !rest.is_empty() && !MarkerText::new(rest).tags().is_empty())?;
            Some(format!("{}{}", rest.trim_start(), MarkerText::new(text).after))
        };
        let found = texts.iter().enumerate().find_map(|(at, text)| Some((at, rest(text)?)));
        match found {
            Some((at, rest)) => texts[at] = rest,
            None => return texts,
        }
    }
}

/// The headers of messages in some channels.
fn header_starts<'s>(spec: &'s FormatSpec, channels: &'s [String]) -> impl Iterator<Item = String> + 's {
    let header = &spec.content.header;
    channels.iter().map(move |channel| format!("{}{channel}{}", header.channel, header.end))
}

/// Whether a spec has no headers.
trait IsNone {
    fn is_none(&self) -> bool;
}

impl IsNone for unjinja_spec::Header {
    fn is_none(&self) -> bool {
        self.channel.is_empty() || self.end.is_empty()
    }
}
