//! HiddenHistory: whether the template splits past answers at a tag.

use unjinja_render::RenderError;
use unjinja_spec::Carrier;

use crate::conversation::{AssistantMessage, Style};
use crate::observed::{LabelledTurn, MessagePart};
use crate::probe::Probe;
use crate::sentinels::SENTINELS;
use crate::text;

/// An answer with a possible closing marker of reasoning in its middle.
pub(crate) struct Split {
    pub tag: String,
    pub last: Result<LabelledTurn, RenderError>,
    pub past: Result<LabelledTurn, RenderError>,
}

/// HiddenHistory: answers with a candidate in the middle. If it ends reasoning, the template drops the first half. Some templates
/// do so only if the opening tag is there, too. No other candidate is tried after one that does.
pub(super) fn splits(probe: &Probe<'_>, style: Style, candidates: &[String]) -> Vec<Split> {
    let mut tried = Vec::new();
    for tag in candidates {
        for open in [Some(String::new()), text::opening_tag(tag)].into_iter().flatten() {
            let message = split_at(open, tag.clone());
            let (last, past) = (probe.turn(&message, style, &[]), probe.past_turn(&message, style, &[]));
            tried.push(Split { tag: tag.clone(), last, past });
            if tried.last().is_some_and(Split::drops) {
                return tried;
            }
            // Or only before the last answer. This is asked of closing tags only: it takes two more renders.
            if text::opening_tag(tag).is_none() {
                continue;
            }
            let (last, past) = (probe.turn(&message, style, &[]), probe.earlier_turn(&message, style));
            tried.push(Split { tag: tag.clone(), last, past });
            if tried.last().is_some_and(Split::drops) {
                return tried;
            }
        }
    }
    tried
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
        Some(Split { tag: tag.clone(), last, past })
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
