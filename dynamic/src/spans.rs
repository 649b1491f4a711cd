//! Events, with the text of the output that they come from: for a server that passes on parts of the output as they were written, and for
//! those who show an output. Python and JavaScript share this.

use unjinja_runtime::{Channel, Event, OwnedEvent};

/// A piece of the output, and the events that it became. The texts of all spans together are the output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputSpan {
    /// The piece, as the model wrote it. Empty for an event that no text causes.
    pub text: String,
    /// At most one piece of text, or what happened at a marker. Empty for markup.
    pub events: Vec<OwnedEvent>,
    /// What is being read after the piece; `None` inside a call, between the parts of a turn, and after its end.
    pub channel: Option<Channel>,
}

/// A step that a [`SpanReader`] asks for.
#[derive(Clone, Copy, Debug)]
pub enum SpanStep<'t> {
    /// Push this text.
    Push(&'t str),
    /// The output is over.
    Finish,
}

/// Reads an output character by character, so that each event has its text. It keeps what is not settled; the stream is the caller's.
///
/// ```
/// use unjinja_dynamic::{Model, Options, SpanReader, SpanStep};
///
/// let model = Model::from_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}")?;
/// let mut stream = model.stream(&Options::new());
/// let spans = SpanReader::default().read("Hello!</>", true, |step, sink| {
///     match step {
///         SpanStep::Push(text) => stream.push(text, |event| sink(&event)),
///         SpanStep::Finish => stream.finish(|event| sink(&event)),
///     }
///     (stream.held().len(), stream.channel())
/// });
/// let texts: Vec<_> = spans.iter().map(|span| (&*span.text, span.events.len())).collect();
/// assert_eq!(texts, [("Hello!", 1), ("</>", 0)]);
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SpanReader {
    /// What was pushed and is not settled.
    unsettled: String,
}

/// What a span is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpanKind {
    /// Text that arrives as it was written.
    Text(Channel),
    /// Arguments of the call of this index.
    Arguments(usize),
    /// Markup, and white space around it.
    Markup,
    /// Anything else: such a span is not joined with its neighbours.
    Other,
}

/// A span that may grow.
struct GrowingSpan {
    kind: SpanKind,
    text: String,
    /// The text of the event, where it is another: JSON of arguments.
    json: String,
    events: Vec<OwnedEvent>,
    channel: Option<Channel>,
}

impl SpanReader {
    /// Reads a piece; `last` ends the turn after it. `run` does a step of the stream and passes on its events. It returns how many bytes
    /// the stream holds back after the step, and what is read then.
    pub fn read(
        &mut self,
        piece: &str,
        last: bool,
        mut run: impl FnMut(SpanStep<'_>, &mut dyn FnMut(&Event<'_>)) -> (usize, Option<Channel>),
    ) -> Vec<OutputSpan> {
        let mut parts: Vec<GrowingSpan> = Vec::new();
        let mut buffer = [0; 4];
        for char in piece.chars() {
            let text = char.encode_utf8(&mut buffer);
            self.unsettled.push_str(text);
            self.step(SpanStep::Push(text), &mut run, &mut parts);
        }
        if last {
            self.step(SpanStep::Finish, &mut run, &mut parts);
        }
        parts.into_iter().map(GrowingSpan::into_span).collect()
    }

    /// Forgets what is not settled.
    pub fn clear(&mut self) {
        self.unsettled.clear();
    }

    fn step(
        &mut self,
        step: SpanStep<'_>,
        run: &mut impl FnMut(SpanStep<'_>, &mut dyn FnMut(&Event<'_>)) -> (usize, Option<Channel>),
        parts: &mut Vec<GrowingSpan>,
    ) {
        let (mut kind, mut sent, mut events) = (SpanKind::Markup, String::new(), Vec::new());
        let (held, channel) = run(step, &mut |event| {
            kind = match *event {
                Event::Reasoning(text) => {
                    sent.push_str(text);
                    SpanKind::Text(Channel::Reasoning)
                }
                Event::Content(text) => {
                    sent.push_str(text);
                    SpanKind::Text(Channel::Content)
                }
                Event::ToolCallArguments { index, json } => {
                    sent.push_str(json);
                    SpanKind::Arguments(index)
                }
                _ => SpanKind::Other,
            };
            events.push(event.clone().into_owned());
        });
        let settled = self.settle(held);
        if events.len() > 1 || (matches!(kind, SpanKind::Text(_)) && sent != settled) {
            kind = SpanKind::Other;
        }
        if settled.is_empty() && events.is_empty() {
            return;
        }
        let grows = |part: &&mut GrowingSpan| part.kind == kind && part.channel == channel && kind != SpanKind::Other;
        if let Some(part) = parts.last_mut().filter(grows) {
            part.text.push_str(&settled);
            part.json.push_str(&sent);
            return;
        }
        parts.push(GrowingSpan { kind, text: settled, json: sent, events, channel });
    }

    /// The text that is settled now and was not before. What waits is the end of what was pushed; what the prompt wrote of the turn is
    /// not part of the output.
    fn settle(&mut self, held: usize) -> String {
        let at = self.unsettled.len() - held.min(self.unsettled.len());
        if self.unsettled.is_char_boundary(at) { self.unsettled.drain(..at).collect() } else { String::new() }
    }
}

impl GrowingSpan {
    fn into_span(self) -> OutputSpan {
        let events = match self.kind {
            SpanKind::Text(Channel::Reasoning) => vec![OwnedEvent::Reasoning(self.text.clone())],
            SpanKind::Text(_) => vec![OwnedEvent::Content(self.text.clone())],
            SpanKind::Arguments(index) => vec![OwnedEvent::ToolCallArguments { index, json: self.json }],
            SpanKind::Markup | SpanKind::Other => self.events,
        };
        OutputSpan { text: self.text, events, channel: self.channel }
    }
}
