//! The parts of a message in the order in which the model wrote them.

use super::{Event, Message, ToolCall};

/// A part of a message; see [`Message::parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part<'m> {
    /// Reasoning, up to the next part of another kind.
    Reasoning(&'m str),
    /// A stretch of the answer.
    Content(&'m str),
    /// A call.
    Call(&'m ToolCall),
    /// Broken markup, if it is kept apart.
    Unparsed(&'m str),
}

/// The order of the parts of a message, which [`Message::parts`] reads. It has no part in comparisons, because the same
/// message is often made in another way than from an output.
#[derive(Clone, Debug, Default)]
pub struct PartOrder {
    /// How much of which kind came, one after the other: bytes of text, or calls. Empty if the parts came in the usual order, so
    /// that usual messages allocate nothing for it.
    runs: Vec<(PartKind, usize)>,
}

impl PartialEq for PartOrder {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PartOrder {}

/// The kinds of parts, in their usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    Reasoning,
    Content,
    Call,
    Unparsed,
}

const PART_KINDS: [PartKind; 4] = [PartKind::Reasoning, PartKind::Content, PartKind::Call, PartKind::Unparsed];

/// How much of each kind a message has: bytes of text, and calls.
pub(super) type Amounts = [usize; 4];

impl PartOrder {
    /// An event is about to be added to a message that already has `before`.
    pub(super) fn note(&mut self, event: &Event<'_>, before: Amounts) {
        let (kind, amount) = match event {
            Event::Reasoning(text) => (PartKind::Reasoning, text.len()),
            Event::Content(text) => (PartKind::Content, text.len()),
            Event::Unparsed(text) => (PartKind::Unparsed, text.len()),
            Event::ToolCallStart { .. } => (PartKind::Call, 1),
            Event::ToolCallId { .. }
            | Event::ToolCallArguments { .. }
            | Event::ToolCallEnd { .. }
            | Event::Diagnostic(_) => return,
        };
        if self.runs.is_empty() {
            let last = before.iter().rposition(|&amount| amount > 0);
            if last.is_none_or(|last| last <= kind as usize) {
                return;
            }
            self.runs.extend(PART_KINDS.into_iter().zip(before).filter(|&(_, amount)| amount > 0));
        }
        match self.runs.last_mut() {
            Some((last, all)) if *last == kind => *all += amount,
            _ => self.runs.push((kind, amount)),
        }
    }
}

impl Message {
    /// The parts of the message in the order in which the model wrote them: a thought, a sentence, a call, another sentence.
    ///
    /// This is known of messages that were parsed, or collected from events. Others have their reasoning first, then the
    /// answer, the calls, and broken markup.
    ///
    /// ```
    /// use unjinja_runtime::{Event, Message, Part};
    ///
    /// let mut message = Message::default();
    /// for event in [
    ///     Event::Content("One moment."),
    ///     Event::ToolCallStart { index: 0, name: "now", id: None },
    ///     Event::ToolCallEnd { index: 0, complete: true },
    ///     Event::Content("Done."),
    /// ] {
    ///     message.apply(&event);
    /// }
    /// let parts: Vec<Part<'_>> = message.parts().collect();
    /// assert_eq!(parts.first(), Some(&Part::Content("One moment.")));
    /// assert!(matches!(parts[1], Part::Call(call) if call.name == "now"));
    /// assert_eq!(parts.last(), Some(&Part::Content("Done.")));
    /// ```
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let mut rest =
            Rest { texts: [&self.reasoning_content, &self.content, "", &self.unparsed], calls: &self.tool_calls };
        let mut parts = Vec::new();
        for &(kind, amount) in &self.order.runs {
            rest.take(kind, amount, &mut parts);
        }
        // What was added to the message by hand, or all of it.
        for kind in PART_KINDS {
            rest.take(kind, usize::MAX, &mut parts);
        }
        parts.into_iter()
    }

    /// How much there is of each kind.
    pub(super) fn amounts(&self) -> Amounts {
        [self.reasoning_content.len(), self.content.len(), self.tool_calls.len(), self.unparsed.len()]
    }
}

/// What no part was made of yet.
struct Rest<'m> {
    texts: [&'m str; 4],
    calls: &'m [ToolCall],
}

impl<'m> Rest<'m> {
    fn take(&mut self, kind: PartKind, amount: usize, parts: &mut Vec<Part<'m>>) {
        if kind == PartKind::Call {
            let (taken, rest) = self.calls.split_at(amount.min(self.calls.len()));
            self.calls = rest;
            parts.extend(taken.iter().map(Part::Call));
            return;
        }
        let text = &mut self.texts[kind as usize];
        // A text that was changed by hand may be shorter now, or have its characters elsewhere.
        let (taken, rest) = text.split_at_checked(amount).unwrap_or((text, ""));
        *text = rest;
        if taken.is_empty() {
            return;
        }
        parts.push(match kind {
            PartKind::Reasoning => Part::Reasoning(taken),
            PartKind::Unparsed => Part::Unparsed(taken),
            PartKind::Content | PartKind::Call => Part::Content(taken),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kinds: &str) -> Message {
        let mut message = Message::default();
        for (at, kind) in kinds.chars().enumerate() {
            let text = at.to_string();
            match kind {
                'r' => message.apply(&Event::Reasoning(&text)),
                'c' => message.apply(&Event::Content(&text)),
                'u' => message.apply(&Event::Unparsed(&text)),
                _ => message.apply(&Event::ToolCallStart { index: message.tool_calls.len(), name: &text, id: None }),
            }
        }
        message
    }

    fn shown(message: &Message) -> String {
        let show = |part| match part {
            Part::Reasoning(text) => format!("r{text}"),
            Part::Content(text) => format!("c{text}"),
            Part::Unparsed(text) => format!("u{text}"),
            Part::Call(call) => format!("t{}", call.name),
        };
        message.parts().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_come_in_the_order_of_the_events() {
        for (kinds, expected) in [
            ("", ""),
            ("rct", "r0 c1 t2"),
            ("rrcctt", "r01 c23 t4 t5"),
            ("crtc", "c0 r1 t2 c3"),
            ("tctrr", "t0 c1 t2 r34"),
            ("cuc", "c0 u1 c2"),
        ] {
            assert_eq!(shown(&message(kinds)), expected, "{kinds}");
        }
        assert!(message("rct").order.runs.is_empty());
    }

    #[test]
    fn messages_that_were_changed_have_all_their_parts() {
        let mut changed = message("ctc");
        changed.content = "é".to_owned();
        changed.reasoning_content = "why".to_owned();
        assert_eq!(shown(&changed), "cé t1 rwhy");
        assert_eq!(message("ct"), Message { order: PartOrder::default(), ..message("ct") });
    }
}
