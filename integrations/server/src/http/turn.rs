//! One turn of the model: pieces of its output go through the parser into the client's format. No I/O.

use std::time::{Duration, Instant};

use unjinja_dynamic::{Model, ModelStream};
use unjinja_runtime::{Channel, DiagnosticKind, Event, Message, Options, Token};

use super::encoding::Encoding;
use super::models::ServedModel;
use super::output_tokens::OutputTokens;
use super::reply::Reply;
use super::upstream::Piece;
use crate::error::ApiError;
use crate::finish::{Finish, Usage};
use crate::openai::ChatCompletion;

/// A turn that is being read.
pub(crate) struct TurnReader {
    model: Model,
    options: Options,
    stream: ModelStream,
    reply: Reply,
    /// What the events add up to.
    message: Message,
    /// The stop texts of the client; others are ours, and it does not know them.
    client_stops: Vec<String>,
    /// The texts that end a turn of this model. The upstream does not send the one that it stopped at.
    model_stops: Vec<String>,
    /// The tokenizer, if the model has one.
    encoding: Option<Encoding>,
    /// The tokens of the output, once ids have come. If text comes before, the upstream gives none.
    tokens: Option<OutputTokens>,
    has_text: bool,
    /// The tokens of the prompt, if they are known here.
    input: Option<u64>,
    /// What the client began of the answer: it has that already.
    begun: Begun,
    finish: Finish,
    usage: Option<Usage>,
    own: Duration,
}

/// What is known of the other answers to the same request when one has ended.
pub(crate) struct Rest {
    /// The usage of those that ended before.
    pub usage: Option<Usage>,
    /// All others have ended.
    pub is_last: bool,
}

/// What is known of a turn when it has ended.
pub(crate) struct Ended {
    /// The kinds of diagnostics.
    pub diagnostics: Vec<DiagnosticKind>,
    /// The usage, with that of the answers that ended before.
    pub usage: Option<Usage>,
    /// Time that parser and writer took.
    pub own: Duration,
    /// The answer, where it is written together with others.
    pub completion: Option<ChatCompletion>,
}

impl TurnReader {
    pub(crate) fn new(
        served: &ServedModel,
        options: Options,
        reply: Reply,
        client_stops: Vec<String>,
        continues: bool,
    ) -> Self {
        Self {
            stream: served.model.stream(&options),
            model: served.model.clone(),
            options,
            reply,
            message: Message::default(),
            client_stops,
            model_stops: served.stops.clone(),
            encoding: served.encoding.clone(),
            tokens: None,
            has_text: false,
            input: None,
            begun: if continues { Begun::Unread } else { Begun::Over },
            finish: Finish::Stop,
            usage: None,
            own: Duration::ZERO,
        }
    }

    /// The number of tokens of the prompt: upstreams that report no usage do not say it.
    pub(crate) fn prompt_tokens(mut self, input: Option<u64>) -> Self {
        self.input = input;
        self
    }

    /// What tells the client that an answer comes.
    pub(crate) fn start(&mut self, out: &mut String) {
        self.reply.start(out);
    }

    /// Reads a piece, and appends to `out` what the client gets.
    pub(crate) fn push(&mut self, piece: Piece, out: &mut String) {
        let began = Instant::now();
        self.reads_ids(&piece);
        if !(piece.text.is_empty() && piece.ids.is_empty()) {
            self.read_begun(out);
        }
        let Self { stream, reply, message, begun, tokens, .. } = self;
        reply.logprobs(piece.logprobs);
        let mut emit = |token: Token<'_>| stream.push_token(token, |event| pass_on(event, begun, message, reply, out));
        match tokens {
            Some(tokens) => tokens.push(&piece.text, &piece.ids, &mut emit),
            None => stream.push(piece.text.as_str(), |event| pass_on(event, begun, message, reply, out)),
        }
        if let Some((finish, text)) = piece.finish {
            self.ends(finish, text, out);
        }
        self.usage = piece.usage.or(self.usage);
        self.own += began.elapsed();
    }

    /// If the first piece with a text has ids, the parser gets tokens.
    fn reads_ids(&mut self, piece: &Piece) {
        if let Some(encoding) = self.encoding.as_ref().filter(|_| self.tokens.is_none() && !self.has_text)
            && !piece.ids.is_empty()
        {
            self.options = encoding.options(&self.options);
            self.stream = self.model.stream(&self.options);
            self.tokens = Some(OutputTokens::new(encoding));
        }
        self.has_text |= !piece.text.is_empty();
    }

    /// The output is over; `text` ended it, if the upstream says so.
    fn ends(&mut self, finish: Finish, text: Option<String>, out: &mut String) {
        self.finish = match (finish, &text) {
            (finish @ (Finish::Length | Finish::ContentFilter), _) => finish,
            // The end of the turn is one, whether or not the client named it as well.
            (_, Some(text)) if self.client_stops.contains(text) && !self.model_stops.contains(text) => {
                Finish::StopSequence(text.clone())
            }
            // A server that does not say which text it was.
            (Finish::StopSequence(_), None) if !self.client_stops.is_empty() => Finish::StopSequence(String::new()),
            _ => Finish::Stop,
        };
        let Self { stream, reply, message, begun, tokens, .. } = self;
        let mut emit = |token: Token<'_>| stream.push_token(token, |event| pass_on(event, begun, message, reply, out));
        let is_special =
            |text: &str| tokens.as_ref().is_some_and(|tokens| tokens.encoding().control_id(text).is_some());
        // The parser gets the end of the turn all the same: the white space before it is then no part of the answer.
        let text = text.filter(|text| self.finish == Finish::Stop && self.model_stops.contains(text));
        let by_text =
            text.as_deref().map(|text| if is_special(text) { Token::special(text) } else { Token::text(text) });
        if let Some(tokens) = tokens {
            // A text of several tokens ended the output: their ids are no part of it.
            tokens.finish(text.is_some() || matches!(self.finish, Finish::StopSequence(_)), &mut emit);
        }
        by_text.into_iter().for_each(emit);
    }

    /// The reasoning, if the usage is known and does not say how many tokens it has.
    pub(crate) fn uncounted_reasoning(&self) -> Option<&str> {
        let is_uncounted = self.usage.is_some_and(|usage| usage.reasoning.is_none());
        Some(self.message.reasoning_content.as_str()).filter(|text| is_uncounted && !text.is_empty())
    }

    /// Counts the tokens of the reasoning, if the model has a tokenizer. Returns whether it has.
    pub(crate) fn counts_reasoning(&mut self) -> bool {
        let Some(encoding) = self.encoding.clone() else { return false };
        // This counts what is withheld until the end, too.
        let known =
            self.tokens.as_ref().filter(|tokens| tokens.is_exact()).map(|_| self.stream.token_counts().reasoning);
        let counted = || encoding.ids(&self.message.reasoning_content).map_or(0, |ids| ids.len());
        self.count_reasoning(known.unwrap_or_else(counted) as u64);
        true
    }

    pub(crate) fn count_reasoning(&mut self, tokens: u64) {
        if let Some(usage) = &mut self.usage {
            usage.reasoning = Some(tokens.min(usage.output));
        }
    }

    /// The output is complete.
    pub(crate) fn finish(mut self, rest: Rest, out: &mut String) -> Ended {
        let began = Instant::now();
        self.settle(out);
        let noticed = self.message.diagnostics.clone();
        self.message.note_missing(self.model.parser().program(), &self.options);
        for diagnostic in self.message.diagnostics.iter().filter(|one| !noticed.contains(one)) {
            self.reply.event(&Event::Diagnostic(diagnostic.clone()), out);
        }
        let diagnostics = self.kinds();
        let usage = self.usage.or_else(|| {
            let (input, tokens) = self.input.zip(self.tokens.as_ref())?;
            let reasoning = tokens.is_exact().then(|| self.stream.token_counts().reasoning as u64);
            Some(Usage { reasoning, ..Usage::new(input, tokens.count()) })
        });
        let Self { reply, message, finish, own, .. } = self;
        let usage = match (rest.usage, usage) {
            (Some(before), Some(usage)) => Some(before.and(usage)),
            (before, usage) => usage.or(before),
        };
        let completion = reply.finish(message, &finish, usage, rest.is_last, out);
        Ended { diagnostics, usage, own: own + began.elapsed(), completion }
    }

    /// The output was cut off. The client gets what the parser still withholds, and the error.
    pub(crate) fn cut_off(mut self, error: &ApiError, out: &mut String) -> Ended {
        self.settle(out);
        let ended = Ended { diagnostics: self.kinds(), usage: self.usage, own: self.own, completion: None };
        self.reply.fail(error, out);
        ended
    }

    /// Lets the parser read what the prompt has of the turn. The client does not get its text again. A call that it began is
    /// delivered whole: only then can it be made.
    fn read_begun(&mut self, out: &mut String) {
        let Self { stream, reply, message, begun, .. } = self;
        if !matches!(begun, Begun::Unread) {
            return;
        }
        stream.push("", |event| pass_on(event, begun, message, reply, out));
        *begun = Begun::Held(String::from_utf8_lossy(stream.held()).into_owned(), stream.channel());
    }

    fn settle(&mut self, out: &mut String) {
        self.read_begun(out);
        let Self { stream, reply, message, begun, .. } = self;
        stream.finish(|event| pass_on(event, begun, message, reply, out));
    }

    fn kinds(&self) -> Vec<DiagnosticKind> {
        self.message.diagnostics.iter().map(|diagnostic| diagnostic.kind).collect()
    }
}

/// What the client began of the answer, and the parser does not give yet.
enum Begun {
    /// All of it: the parser has not read it.
    Unread,
    /// The end of it, which waits for what follows, and the channel that it was read in.
    Held(String, Option<Channel>),
    /// Nothing.
    Over,
}

impl Begun {
    /// The part of a text that the client does not have.
    fn added<'t>(&mut self, text: &'t str, channel: Option<Channel>) -> &'t str {
        let Self::Held(held, of) = self else { return if matches!(self, Self::Over) { text } else { "" } };
        if channel.is_some() && of.is_some() && channel != *of {
            *self = Self::Over;
            return text;
        }
        // White space before a text may have been part of a marker.
        if !text.starts_with(char::is_whitespace) {
            *held = held.trim_start().to_owned();
        }
        let known = held.char_indices().zip(text.chars()).find(|((_, one), other)| one != other);
        let known = known.map_or(held.len().min(text.len()), |((at, _), _)| at);
        if known < held.len() && known == text.len() {
            held.drain(..known);
        } else {
            *self = Self::Over;
        }
        &text[known..]
    }
}

fn pass_on(event: Event<'_>, begun: &mut Begun, message: &mut Message, reply: &mut Reply, out: &mut String) {
    let event = match event {
        Event::Content(text) => Event::Content(begun.added(text, Some(Channel::Content))),
        Event::Reasoning(text) => Event::Reasoning(begun.added(text, Some(Channel::Reasoning))),
        Event::Unparsed(text) => Event::Unparsed(begun.added(text, None)),
        event => {
            if matches!(begun, Begun::Held(..)) && !matches!(event, Event::Diagnostic(_)) {
                *begun = Begun::Over;
            }
            event
        }
    };
    if matches!(event, Event::Content("") | Event::Reasoning("") | Event::Unparsed("")) {
        return;
    }
    message.apply(&event);
    reply.event(&event, out);
}
