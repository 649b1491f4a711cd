//! HiddenHistory: whether the template splits past answers at a tag.

use serde_json::{Value, json};
use unjinja_render::RenderError;
use unjinja_spec::{Carrier, Messages};

use super::call_turns::CallTurns;
use super::marks::ANSWER;
use crate::conversation::{AssistantMessage, Call, Style, tools_for};
use crate::observed::{LabelledTurn, MessagePart};
use crate::probe::{Probe, Variable};
use crate::sentinels::SENTINELS;
use crate::text;

/// An answer with a possible closing marker of reasoning in its middle.
pub(crate) struct Split {
    pub tag: String,
    /// The tag before the reasoning; empty if the answer began with it.
    pub open: String,
    /// The tag with the white space with which the template looks for it.
    pub end: String,
    /// In which conversations it was tried; empty for an answer alone.
    pub with: &'static str,
    pub last: Result<LabelledTurn, RenderError>,
    pub past: Result<LabelledTurn, RenderError>,
}

/// HiddenHistory: answers with a candidate in the middle. If it ends reasoning, the template drops the first half. Some templates
/// do so only if the opening tag is there, too. No other candidate is tried after one that does.
pub(super) fn splits(probe: &Probe<'_>, style: Style, candidates: &[String]) -> Vec<Split> {
    let mut tried = Vec::new();
    for tag in candidates {
        for open in std::iter::once(String::new()).chain(openers(tag, candidates)) {
            let message = split_at(open.clone(), tag.clone());
            let split =
                |last, past| Split { tag: tag.clone(), open: open.clone(), end: tag.clone(), with: "", last, past };
            tried.push(split(probe.turn(&message, style, &[]), probe.past_turn(&message, style, &[])));
            if tried.last().is_some_and(Split::drops) {
                return tried;
            }
            // Or only before the last answer. This is asked of closing tags only: it takes two more renders.
            if text::opening_mark(tag).is_none() {
                continue;
            }
            tried.push(split(probe.turn(&message, style, &[]), probe.earlier_turn(&message, style)));
            if tried.last().is_some_and(Split::drops) {
                return tried;
            }
        }
    }
    tried
}

/// HiddenHistory for markers that the template looks for together with white space: answers that hold each form that is `written`
/// in the template, or reasoning as models write it, on lines of its own.
pub(super) fn laid_out_splits(
    probe: &Probe<'_>,
    style: Style,
    candidates: &[String],
    written: &[String],
) -> Option<Split> {
    let sought = probe.sought(ANSWER);
    let mut forms = closing_of(candidates, &sought)
        .flat_map(|tag| forms(tag, candidates, written).into_iter().map(move |form| (tag, form)));
    forms.find_map(|(tag, Form { open, close, end })| {
        let message = split_at(open.clone(), close);
        let (last, past) = (probe.turn(&message, style, &[]), probe.past_turn(&message, style, &[]));
        let open = open.trim().to_owned();
        Some(Split { tag: tag.clone(), open, end, with: "", last, past }).filter(Split::drops)
    })
}

/// Candidates that may be an opening tag, at most: a hostile template has many.
const MOST_OPENERS: usize = 256;

/// The tags that this one may close: by its form, or those of the template that it is the closing tag of.
fn openers(tag: &str, candidates: &[String]) -> Vec<String> {
    let by_form = text::opening_mark(tag);
    let is_opener =
        |open: &&String| text::closing_tag(open).is_some_and(|end| end == tag) && Some(*open) != by_form.as_ref();
    by_form.iter().chain(candidates.iter().take(MOST_OPENERS).filter(is_opener)).cloned().collect()
}

/// A way to write reasoning into an answer.
struct Form {
    open: String,
    close: String,
    /// The marker that this shows.
    end: String,
}

/// The ways to write a closing marker with white space around it.
fn forms(tag: &str, candidates: &[String], written: &[String]) -> Vec<Form> {
    let with_layout: Vec<&String> = written.iter().filter(|text| text.trim() == tag && *text != tag).collect();
    let open = openers(tag, candidates).into_iter().next().unwrap_or_default();
    let mut forms: Vec<Form> = with_layout
        .iter()
        .flat_map(|end| {
            ["", &open].map(|open| Form { open: open.to_owned(), close: (*end).clone(), end: (*end).clone() })
        })
        .collect();
    let on_lines = format!("\n{tag}\n\n");
    let end = with_layout.iter().find(|end| on_lines.contains(end.as_str())).map_or(tag, |end| end.as_str());
    forms.push(Form { open: format!("{open}\n"), close: on_lines.clone(), end: end.to_owned() });
    forms
}

/// HiddenHistory in other conversations: with tools, with a system message, with a call in the turn, with a switch on or off, and in
/// a turn long ago. A template may cut past answers only there.
pub(super) fn splits_elsewhere(
    probe: &Probe<'_>,
    style: Style,
    calls: Option<&CallTurns>,
    candidates: &[String],
    written: &[String],
    switches: &[String],
) -> Option<Split> {
    CutPlace::all(style, calls, switches).iter().find_map(|place| {
        // Where a text in no known marker is cut too, the template cuts for another reason.
        let usual = place.turn(probe, split_at(format!("<{NO_TAG}>"), format!("</{NO_TAG}>"))).ok()?;
        usual.first(MessagePart::Content).and(usual.first(MessagePart::Reasoning))?;
        let sought = probe.sought(&place.answer());
        closing_of(candidates, &sought).take(MOST_CLOSING).find_map(|tag| {
            let open = openers(tag, candidates).into_iter().next().unwrap_or_default();
            let mut forms = forms(tag, candidates, written);
            forms.insert(0, Form { open, close: tag.clone(), end: tag.clone() });
            forms.into_iter().find_map(|Form { open, close, end }| {
                let past = place.turn(probe, split_at(open.clone(), close));
                let (tag, open) = (tag.clone(), open.trim().to_owned());
                Some(Split { tag, open, end, with: place.with, last: past.clone(), past }).filter(Split::drops)
            })
        })
    })
}

/// The closing candidates that a template looks for, or whose openers it looks for.
fn closing_of<'c>(candidates: &'c [String], sought: &'c [String]) -> impl Iterator<Item = &'c String> {
    let is_sought = |tag: &String| sought.iter().any(|text| text.contains(tag.as_str()));
    let closing = candidates.iter().filter(|tag| text::is_closing_mark(tag));
    closing.filter(move |tag| is_sought(tag) || openers(tag, candidates).iter().any(is_sought))
}

/// The name of a tag that no template knows.
const NO_TAG: &str = "wimblethorp";

/// Closing markers that are tried in other conversations, at most.
const MOST_CLOSING: usize = 8;

/// A conversation with an answer in it.
struct CutPlace {
    with: &'static str,
    around: [Vec<Value>; 2],
    tools: Value,
    calls: Vec<Call>,
    style: Style,
    extra: Vec<Variable>,
}

impl CutPlace {
    fn all(style: Style, calls: Option<&CallTurns>, switches: &[String]) -> Vec<Self> {
        let s = &SENTINELS;
        let next = || vec![style.user(s.user2)];
        let place =
            |with, around| Self { with, around, tools: Value::Null, calls: Vec::new(), style, extra: Vec::new() };
        let system = json!({"role": "system", "content": style.content(s.word)});
        let answer = AssistantMessage::content(s.word).message(style);
        let longer = [next(), vec![answer.clone()], next(), vec![answer], next()].concat();
        let mut places = vec![
            Self { tools: tools_for(&[Call::probe(0)]), ..place("with tools", [Vec::new(), next()]) },
            place("with a system message", [vec![system], next()]),
            place("long ago", [Vec::new(), longer]),
        ];
        let call_style = calls.map_or(style, |calls| calls.style);
        let needs = Messages { reasoning_with_calls: true, ..call_style.needs };
        let call_style = Style { needs, ..call_style };
        let extra = calls.map_or_else(Vec::new, |calls| calls.extra.clone());
        let tools = call_style.offer(tools_for(&[Call::probe(0)]));
        let call = || vec![Call::probe(0)];
        places.push(Self {
            tools,
            calls: call(),
            style: call_style,
            extra,
            ..place("with a call", [Vec::new(), next()])
        });
        for (name, on) in switches.iter().flat_map(|name| [(name, false), (name, true)]) {
            let extra = vec![(name.clone(), on.into())];
            places.push(Self { extra, ..place("with a switch", [Vec::new(), next()]) });
        }
        places
    }

    /// The path of the answer.
    fn answer(&self) -> String {
        format!("messages[{}].content", self.around[0].len() + 1)
    }

    fn turn(&self, probe: &Probe<'_>, message: AssistantMessage) -> Result<LabelledTurn, RenderError> {
        let message = AssistantMessage { calls: self.calls.clone(), ..message };
        probe.turn_among(self.around.clone(), &message, &self.tools, self.style, &self.extra)
    }
}

/// An answer with reasoning in it, up to this tag.
fn split_at(open: String, tag: String) -> AssistantMessage {
    AssistantMessage::content(SENTINELS.content).with_reasoning(&Carrier::Tags(open, tag), SENTINELS.reasoning)
}

/// HiddenHistory for other forms of reasoning than the usual one: answers that hold it as a model writes it, with the tags on lines
/// of their own.
pub(super) fn other_splits<'t>(probe: &Probe<'_>, style: Style, tags: impl Iterator<Item = &'t String>) -> Vec<Split> {
    let split = |tag: &String| {
        let message = split_at(format!("{}\n", text::opening_tag(tag)?), format!("\n{tag}\n\n"));
        let (last, past) = (probe.turn(&message, style, &[]), probe.past_turn(&message, style, &[]));
        let open = text::opening_tag(tag)?;
        Some(Split { tag: tag.clone(), open, end: tag.clone(), with: "", last, past })
    };
    tags.filter_map(split).collect()
}

impl Split {
    /// Whether the template drops the text before the tag.
    pub(crate) fn drops(&self) -> bool {
        let drops = |turn: &LabelledTurn| {
            turn.first(MessagePart::Content).is_some() && turn.first(MessagePart::Reasoning).is_none()
        };
        self.turns().any(drops)
    }

    /// Whether the template takes the tag away: with the text before it, or in favour of the usual end of reasoning.
    pub(crate) fn is_removed(&self, usual: &str) -> bool {
        let reads = |turn: &LabelledTurn| {
            let Some(content) = turn.first(MessagePart::Content) else { return false };
            let between =
                turn.first(MessagePart::Reasoning).and_then(|thought| turn.text.get(thought.end..content.start));
            !turn.text.contains(self.tag.as_str()) && between.is_none_or(|text| text.contains(usual.trim()))
        };
        self.turns().any(reads)
    }

    fn turns(&self) -> impl Iterator<Item = &LabelledTurn> {
        [&self.last, &self.past].into_iter().flatten()
    }
}
