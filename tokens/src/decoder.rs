//! The decoder: ids that a model wrote become a message, or events while they arrive. A control token is a marker by its id; text that
//! spells one is text.

use std::sync::Arc;

use unjinja_dynamic::ModelStream;
use unjinja_dynamic::authors::TokenPart;
use unjinja_runtime::trace::Taken;
use unjinja_runtime::{Event, Message, Options, Token, TokenCounts};
use unjinja_spec::END_OF_TEXT;

use crate::encoder::Encoder;
use crate::label::Label;
use crate::vocabulary::Vocabulary;

/// What a model wrote, by its ids.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// The message.
    pub message: Message,
    /// What each token is.
    pub labels: Vec<Label>,
}

/// A parser that is fed with ids. [`Encoder::stream`] makes it.
pub struct TokenStream {
    stream: ModelStream,
    vocabulary: Arc<Vocabulary>,
}

impl Encoder {
    /// Reads the ids of a turn that the model wrote. `options` are those of the text parser;
    /// [`special_tokens`](Options::special_tokens) is set here.
    ///
    /// An id that the vocabulary does not have is read as the character U+FFFD.
    ///
    /// ```no_run
    /// use unjinja_dynamic::Options;
    /// use unjinja_tokens::{Encoder, TokenPart};
    ///
    /// let encoder = Encoder::from_folder("models/qwen3")?;
    /// let decoded = encoder.decode(&[9707, 0, 151645], &Options::new());
    /// assert_eq!(decoded.message.content, "Hello!");
    /// assert_eq!(decoded.labels[2].part, TokenPart::Markup); // <|im_end|>
    /// # Ok::<(), unjinja_tokens::TokensError>(())
    /// ```
    pub fn decode(&self, ids: &[u32], options: &Options) -> Decoded {
        let mut stream = self.stream(options);
        let mut message = Message::default();
        for &id in ids {
            stream.push(id, |event| message.apply(&event));
        }
        stream.finish(|event| message.apply(&event));
        Decoded { message, labels: self.labels_of_turn(ids, options) }
    }

    /// A parser for the ids of one turn as they arrive.
    pub fn stream(&self, options: &Options) -> TokenStream {
        let options = self.options(options);
        TokenStream { stream: self.model().stream(&options), vocabulary: self.vocabulary().clone() }
    }

    /// The options of a text parser that is fed with [`Vocabulary::token`]: the same, with the control tokens of the vocabulary as
    /// [`special_tokens`](Options::special_tokens). So are the ends of a text that many vocabularies have (`</s>`) and this format has
    /// not: a text parser takes them for the end of a turn, but ordinary tokens that spell one are text.
    pub fn options(&self, options: &Options) -> Options {
        let spec = self.model().spec();
        let is_own = |end: &&str| {
            let mut own = spec.markers().map(|(_, text)| text).chain(spec.tokens.eos.as_deref());
            own.any(|text| text.contains(end))
        };
        let others = END_OF_TEXT.into_iter().filter(|end| !is_own(end));
        options.clone().special_tokens(self.vocabulary().control_tokens().map(|(_, text)| text).chain(others))
    }

    /// What each token of a turn is.
    fn labels_of_turn(&self, ids: &[u32], options: &Options) -> Vec<Label> {
        let vocabulary = self.vocabulary();
        let tokens = || ids.iter().map(|&id| vocabulary.token(id));
        let options = self.options(options);
        let spans = self.model().parser().read_tokens(tokens(), &options, true).spans;
        let (mut from, mut at) = (0, 0);
        let label = |token: Token<'_>| {
            let end = from + token.piece().as_bytes().len();
            while spans.get(at).is_some_and(|span| span.end <= from) {
                at += 1;
            }
            // A token is what it says first. White space before a text belongs to markup.
            let meeting = spans.iter().skip(at).take_while(|span| span.start < end);
            let parts = meeting.map(|span| part(span.taken));
            let part = parts.reduce(|first, next| if first == TokenPart::Markup { next } else { first });
            from = end;
            Label { message: None, part: part.unwrap_or(TokenPart::Markup), by_model: true }
        };
        tokens().map(label).collect()
    }
}

impl TokenStream {
    /// The model's next token.
    pub fn push(&mut self, id: u32, sink: impl FnMut(Event<'_>)) {
        self.stream.push_token(self.vocabulary.token(id), sink);
    }

    /// The output is over: text that was held back is settled, and everything that is open ends.
    pub fn finish(&mut self, sink: impl FnMut(Event<'_>)) {
        self.stream.finish(sink);
    }

    /// How many tokens became text of the answer, and of reasoning.
    pub fn token_counts(&self) -> TokenCounts {
        self.stream.token_counts()
    }

    /// The parser itself.
    pub fn inner(&self) -> &ModelStream {
        &self.stream
    }
}

impl Vocabulary {
    /// A token for a parser, [`ModelStream::push_token`]: a control token is special, and an id that the vocabulary does not have is the
    /// character U+FFFD.
    pub fn token(&self, id: u32) -> Token<'_> {
        match (self.control_token(id), self.bytes(id)) {
            (Some(text), _) => Token::special(text),
            (None, Some(bytes)) => Token::text(bytes),
            (None, None) => Token::text("\u{FFFD}"),
        }
    }
}

pub(crate) fn part(taken: Taken) -> TokenPart {
    match taken {
        Taken::Content | Taken::Unparsed | Taken::Held => TokenPart::Content,
        Taken::Reasoning => TokenPart::Reasoning,
        Taken::FunctionName | Taken::CallId | Taken::ArgumentName | Taken::Arguments => TokenPart::Call,
        Taken::Syntax(_) => TokenPart::Markup,
    }
}
