//! What a prompt ends in beyond the header of the assistant's turn, and whether that opens reasoning.
//!
//! What the template writes before past answers too is the header. What only the prompt ends in, and what looks like one half
//! of a pair, may be the opener of reasoning. A switch of thinking decides, if it adds or removes it; else the words in it do,
//! and they are weak: what they leave open is a gap.

use crate::ask::{Observed, Prompt, speaks_of_thinking};
use crate::text;

/// The opening half of a pair that a prompt ends in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptEnd {
    pub open: String,
    pub end: String,
    /// Whether it opens reasoning; otherwise nothing says what it opens.
    pub is_sure: bool,
}

const THINKING: [&str; 6] = ["think", "thinking", "thought", "thoughts", "reason", "reasoning"];
/// Words that may come with words of thinking and add nothing.
const STRUCTURE: [&str; 5] = ["start", "begin", "open", "of", "block"];
/// Words that make the opposite of the word next to them.
const NEGATIONS: [&str; 14] = [
    "no", "not", "non", "off", "skip", "without", "disable", "disabled", "hide", "hidden", "never", "false", "none",
    "empty",
];
const ANSWER: [&str; 9] = ["assistant", "model", "bot", "ai", "answer", "response", "output", "final", "message"];

impl PromptEnd {
    /// What this prompt ends in; `None` if it opens nothing.
    pub(crate) fn of(o: &Observed, prompt: &Prompt) -> Option<Self> {
        let tail = prompt.tail.as_str();
        let Some(rest) = beyond_header(o, tail) else {
            // A header that opens reasoning in every turn: what follows it in past turns is not known.
            let open =
                text::marks(tail).pop().filter(|open| Words::of(open).open && tail.trim_end().ends_with(open))?;
            let end = text::closing_tag(open)?;
            // Where the template never closes it, its model does.
            let is_sure = Words::of(open).only && !o.headers.iter().any(|header| header.contains(&end));
            return Some(Self::new(open, end, is_sure));
        };
        let ends: Vec<Self> = text::marks(rest).into_iter().rev().filter_map(|open| Self::at(o, rest, open)).collect();
        ends.iter().find(|end| end.is_sure).or(ends.first()).cloned().or_else(|| Self::unfinished(rest))
    }

    /// What this mark, which only prompts have, opens.
    fn at(o: &Observed, rest: &str, open: &str) -> Option<Self> {
        let after = rest[rest.rfind(open)? + open.len()..].trim();
        let end = text::closing_tag(open).filter(|end| !after.contains(end.as_str()))?;
        let words = Words::of(open);
        let is_last = after.is_empty();
        let is_sure = match switched(o, open) {
            Some(false) => return None,
            // A switch may choose another header.
            Some(true) => !words.answer,
            None if words.open => is_last || words.only,
            // The template's text names both halves, and past turns have none.
            None => is_last && !words.thinking && !words.answer && describes(o, &end),
        };
        if is_sure || words.thinking || is_last && !words.answer {
            return Some(Self::new(open, end, is_sure));
        }
        // A word after a token may name what it opens.
        let named = !after.contains(char::is_whitespace) && speaks_of_thinking(after);
        named.then(|| Self::new(&format!("{open}{after}"), end, false))
    }

    /// A mark about thinking that the model has to finish.
    fn unfinished(rest: &str) -> Option<Self> {
        let open = rest.split_whitespace().last()?;
        let open = &open[open.rfind(['<', '['])?..];
        let is_open = speaks_of_thinking(open) && !open.contains(['>', ']', '/']);
        is_open.then(|| Self::new(open, String::new(), false))
    }

    fn new(open: &str, end: String, is_sure: bool) -> Self {
        Self { open: open.to_owned(), end, is_sure }
    }

    /// The markers, if they are surely those of reasoning.
    pub(crate) fn surely(self) -> Option<(String, String)> {
        self.is_sure.then_some((self.open, self.end))
    }
}

/// Whether a mark at the end of a prompt may open reasoning whose closer is known: one of an answer or a header may only if it
/// is about thinking.
pub(super) fn may_open(o: &Observed, mark: &str) -> bool {
    speaks_of_thinking(mark) || !Words::of(mark).answer && !is_in_header(o, mark)
}

/// Whether the header of past turns has this mark.
pub(crate) fn is_in_header(o: &Observed, mark: &str) -> bool {
    o.headers.iter().any(|header| without_block(header).contains(mark))
}

/// The end of a prompt without the header of the turn; `None` if it ends in the header.
fn beyond_header<'p>(o: &Observed, tail: &'p str) -> Option<&'p str> {
    let headers: Vec<&str> = o.headers.iter().map(|header| without_block(header)).collect();
    let ends_in = |header: &&str| {
        let header = header.trim_end();
        let last = text::marks(header).pop().filter(|mark| header.ends_with(mark));
        let last = last.or_else(|| header.split_whitespace().last());
        last.is_some_and(|last| tail.trim_end().ends_with(last))
    };
    if headers.iter().any(ends_in) {
        return None;
    }
    let common = headers.iter().map(|header| text::common_prefix(tail, header)).max();
    Some(&tail[common.unwrap_or(0)..])
}

/// Whether the template names the closer of a pair elsewhere than in turns: it describes what the model writes.
fn describes(o: &Observed, end: &str) -> bool {
    let calls = o.calls.as_ref().map(|calls| &calls.one);
    let mut turns = [Some(&o.answer), o.past.as_ref(), calls].into_iter().flatten();
    o.candidates.iter().any(|text| text == end) && !o.encloses_user(end) && turns.all(|turn| !turn.text.contains(end))
}

/// A header without the block at its end: an opener and, some text later, its closer.
fn without_block(header: &str) -> &str {
    let opens = |mark: &&str| {
        let after = header.find(mark).map_or("", |at| &header[at + mark.len()..]);
        text::closing_tag(mark).is_some_and(|end| after.contains(&end))
    };
    let first = text::marks(header).into_iter().find(opens).and_then(|mark| header.find(mark));
    &header[..first.unwrap_or(header.len())]
}

/// Whether the prompt has this mark with thinking switched on, and not with thinking switched off; or the other way round.
fn switched(o: &Observed, mark: &str) -> Option<bool> {
    o.prompts.iter().find_map(|on| {
        let (name, _) = on.switch.as_ref().filter(|(name, on)| *on && speaks_of_thinking(name))?;
        let is_off = |(other, on): &(String, bool)| other == name && !on;
        let off = o.prompts.iter().find(|prompt| prompt.switch.as_ref().is_some_and(is_off))?;
        let [with, without] = [&on.tail, &off.tail].map(|tail| tail.contains(mark));
        // The variable may switch thinking off.
        let inverse = Words::of(name).negated;
        (with != without).then_some(with != inverse)
    })
}

/// What the words of a mark say.
struct Words {
    thinking: bool,
    /// It opens reasoning.
    open: bool,
    /// It opens reasoning and says nothing else.
    only: bool,
    /// Something is switched off.
    negated: bool,
    /// It is a header, or opens an answer.
    answer: bool,
}

impl Words {
    fn of(mark: &str) -> Self {
        let lower = mark.to_lowercase();
        let words = split(&lower);
        let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
        let (thinking, negated, answer) = (speaks_of_thinking(mark), has(&NEGATIONS), has(&ANSWER));
        let open = has(&THINKING) && !negated && !answer;
        // A name space does not count.
        let name = split(lower.rsplit(':').next().unwrap_or(&lower));
        let only = open && name.iter().all(|word| THINKING.contains(word) || STRUCTURE.contains(word));
        Self { thinking, open, only, negated, answer }
    }
}

fn split(name: &str) -> Vec<&str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}
