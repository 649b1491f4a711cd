//! Which part of a prompt a message of the assistant is, where the loop over the messages does not tell: some templates first make a list
//! of their own and write that, and some write results among the calls that they answer. The template is asked what it writes between the
//! texts of two messages: in the prompt before the message, and in the conversation that ends with it. Nothing here knows ids.

use std::ops::Range;

use serde_json::Value;

use super::parts::PromptParts;
use crate::conversation::Conversation;
use crate::model::Model;
use crate::prompt::LabelledPrompt;

/// Tells `parts` where these messages are.
pub(super) fn tell_messages(model: &Model, prompt: &LabelledPrompt, parts: &mut PromptParts) {
    let messages = prompt.context["messages"].as_array().map(Vec::<Value>::as_slice).unwrap_or_default();
    for (index, _) in messages.iter().enumerate().filter(|(_, message)| message["role"] == "assistant") {
        if let Some(ranges) = Untold::of(index, parts).and_then(|untold| untold.ranges(model, prompt, parts)) {
            parts.tell(index, ranges);
        }
    }
}

/// Where the prompt of the first `count` messages ends, if this prompt begins with it.
pub(super) fn end_of(model: &Model, prompt: &LabelledPrompt, count: usize, generation: bool) -> Option<usize> {
    let asked = model.render(&conversation(prompt, count, generation)?).ok()?;
    prompt.text.starts_with(&asked).then_some(asked.len())
}

/// The first `count` messages.
fn conversation(prompt: &LabelledPrompt, count: usize, generation: bool) -> Option<Conversation> {
    let mut context = prompt.context.clone();
    context["messages"].as_array_mut()?.truncate(count);
    Some(Conversation::from_context(&context).generation_prompt(generation).clock(prompt.clock))
}

/// A message for which more must be known than what a loop wrote for it.
struct Untold {
    message: usize,
    /// What a loop wrote for it.
    written: Option<Range<usize>>,
    /// Its fields; those between which no field of another message is are together.
    fields: Vec<Range<usize>>,
    /// Whether a field of another message follows them.
    is_followed: bool,
}

impl Untold {
    fn of(message: usize, parts: &PromptParts) -> Option<Self> {
        let told = parts.of_message(message);
        let [whole] = told.as_slice() else { return None };
        let (mut fields, mut is_followed): (Vec<Range<usize>>, bool) = (Vec::new(), false);
        for (range, owner) in parts.owners(whole).filter_map(|(range, owner)| Some((range, owner?))) {
            if owner != message {
                is_followed = true;
                continue;
            }
            match fields.last_mut() {
                Some(last) if !is_followed => last.end = range.end,
                _ => fields.push(range.clone()),
            }
            is_followed = false;
        }
        let is_told = parts.is_told(message);
        let is_clear = is_told && !is_followed && fields.len() < 2;
        (!is_clear && !fields.is_empty()).then_some(Self {
            message,
            written: is_told.then(|| whole.clone()),
            fields,
            is_followed,
        })
    }

    /// What was written for it: all that the conversation has at its end if it ends with this message, or else its fields, with the
    /// template's text before and after them.
    fn ranges(self, model: &Model, prompt: &LabelledPrompt, parts: &PromptParts) -> Option<Vec<Range<usize>>> {
        let text = &prompt.text;
        // The end of a text that the template may have written in this range.
        let end_of = |written: &str, range: Range<usize>| {
            text.get(range.clone())?.starts_with(written).then_some(range.start + written.len())
        };
        let first = self.fields.first()?.start;
        let start = match &self.written {
            Some(range) => range.start,
            None => {
                let before = Asked::until(model, prompt, self.message, true);
                let before = before.and_then(|asked| end_of(asked.tail(), parts.end_before(first)..first));
                before.unwrap_or(first)
            }
        };
        let after = Asked::until(model, prompt, self.message + 1, false);
        let done = after.as_ref().and_then(|asked| end_of(asked.through(self.message), 0..text.len()));
        if let Some(end) = done.filter(|end| *end > first) {
            return Some(std::iter::once(start..end).collect());
        }
        let mut ranges = self.fields.clone();
        for range in &mut ranges {
            let next = parts.start_after(range.end).unwrap_or(text.len());
            range.end = after.as_ref().and_then(|asked| end_of(asked.tail(), range.end..next)).unwrap_or(range.end);
        }
        ranges.first_mut()?.start = start;
        // A name may be written again with a result, as a field of the message that calls: what a conversation without the result does
        // not have there is not this message's.
        let unlike = after.as_ref().and_then(|asked| asked.first_unlike(parts, text, first));
        if let (Some(end), [of_calls, ..]) = (unlike, ranges.as_mut_slice())
            && of_calls.contains(&end)
        {
            of_calls.end = end;
        }
        if let Some(written) = self.written.filter(|_| !self.is_followed) {
            ranges.last_mut()?.end = written.end;
        }
        Some(ranges)
    }
}

/// What the template writes of a part of the conversation.
struct Asked {
    text: String,
    parts: PromptParts,
}

impl Asked {
    /// The first `count` messages.
    fn until(model: &Model, prompt: &LabelledPrompt, count: usize, generation: bool) -> Option<Self> {
        let rendered = model.render_labelled(&conversation(prompt, count, generation)?).ok()?;
        let parts = PromptParts::new(&rendered.labels, &rendered.context);
        Some(Self { text: rendered.text, parts })
    }

    /// All up to the end of a message.
    fn through(&self, message: usize) -> &str {
        let told = self.parts.is_told(message).then(|| self.parts.of_message(message));
        let end = told.and_then(|ranges| Some(ranges.last()?.end)).unwrap_or(self.text.len());
        self.text.get(..end).unwrap_or_default()
    }

    /// Where the first field from an offset on begins that another text does not have there, if both are the same up to it.
    fn first_unlike(&self, parts: &PromptParts, text: &str, from: usize) -> Option<usize> {
        let all = from..self.text.len();
        let is_known = |(range, field)| parts.owners(range).any(|known| known == (range, field));
        let at = self.parts.owners(&all).find(|field| !is_known(*field))?.0.start;
        (text.get(..at)? == self.text.get(..at)?).then_some(at)
    }

    /// What the template writes after the last field.
    fn tail(&self) -> &str {
        self.text.get(self.parts.end_before(self.text.len())..).unwrap_or_default()
    }
}
