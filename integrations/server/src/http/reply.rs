//! Writes what a turn of the parser says in the client's format: whole or streamed, of one of OpenAI's APIs or of Anthropic's.

use std::sync::Arc;

use serde_json::Value;
use unjinja_runtime::{Event, Message};

use super::memory::{Memory, Resolved};
use crate::anthropic::{EventWriter, ResponseBuilder};
use crate::error::ApiError;
use crate::finish::{Finish, Usage};
use crate::ids::unique_id;
use crate::openai::{ChatCompletion, ChunkWriter};
use crate::responses::{CalledTools, ResponseEvent, ResponseWriter, ResponsesRequest};
use crate::sse;
use unjinja_spec::CallIds;

/// The path of Anthropic's API.
pub(crate) const MESSAGES: &str = "/v1/messages";

/// The path of OpenAI's Responses API.
pub(crate) const RESPONSES: &str = "/v1/responses";

/// The API that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    OpenAi,
    Responses,
    Anthropic,
}

impl Api {
    /// The API that a path belongs to.
    pub(crate) fn of_path(path: &str) -> Self {
        match path {
            path if path.starts_with(MESSAGES) => Self::Anthropic,
            path if path.starts_with(RESPONSES) => Self::Responses,
            _ => Self::OpenAi,
        }
    }

    /// An error as JSON.
    pub(crate) fn error(self, error: &ApiError) -> String {
        match self {
            Self::OpenAi | Self::Responses => serde_json::to_string(error),
            Self::Anthropic => serde_json::to_string(&error.anthropic()),
        }
        .unwrap_or_default()
    }

    /// The event that keeps a silent stream open: proxies on the way close idle connections.
    pub(crate) fn ping(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Responses => ": ping\n\n",
            Self::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        }
    }
}

/// How an answer is to be written.
#[derive(Debug)]
pub(crate) struct ReplyOptions {
    pub api: Api,
    pub stream: bool,
    pub include_usage: bool,
    pub diagnostics: bool,
    /// What a request to responses says of its answer.
    pub responses: Option<Responses>,
    /// The custom tools of chat completions.
    pub custom: CalledTools,
    /// How many answers OpenAI's chat completions have.
    pub count: usize,
    /// Whether answers of OpenAI's APIs have the probabilities of their tokens.
    pub logprobs: bool,
}

/// What a request to responses says of its answer.
#[derive(Debug)]
pub(crate) struct Responses {
    pub request: ResponsesRequest,
    /// Where the answer is kept, and with what it answers.
    pub keep: Option<(Arc<Memory>, Resolved)>,
}

/// An answer in the client's format. What it writes is appended to a text.
#[derive(Debug)]
pub(crate) enum Reply {
    Chunks(Box<ChunkWriter>),
    Completion {
        model: String,
        call_ids: CallIds,
        diagnostics: bool,
        logprobs: Option<Vec<Value>>,
        custom: CalledTools,
    },
    Events(Box<EventWriter>),
    Response(Box<ResponseBuilder>),
    Items {
        writer: Box<ResponseWriter>,
        stream: bool,
        keep: Option<(Arc<Memory>, Resolved)>,
    },
}

impl Reply {
    /// The answers to a request.
    pub(crate) fn all(mut options: ReplyOptions, model: &str, call_ids: &CallIds) -> Vec<Self> {
        let (id, responses) = (unique_id("chatcmpl-"), options.responses.take());
        let one = |choice| Self::new(&options, (&id, choice), model.to_owned(), call_ids.clone());
        let Some(Responses { request, keep }) = responses else { return (0..options.count).map(one).collect() };
        let writer = ResponseWriter::new(model, call_ids.clone(), &request).diagnostics(options.diagnostics);
        let writer = writer.include_logprobs(options.logprobs);
        let (writer, stream) = (Box::new(writer.stored(keep.is_some())), options.stream);
        vec![Self::Items { writer, stream, keep }]
    }

    fn new(options: &ReplyOptions, (id, choice): (&str, usize), model: String, call_ids: CallIds) -> Self {
        let (stream, diagnostics) = (options.stream, options.diagnostics);
        match (options.api, stream) {
            (Api::OpenAi | Api::Responses, true) => {
                let writer = ChunkWriter::new(model, call_ids).include_usage(options.include_usage).id(id);
                let writer = writer.custom_tools(options.custom.clone());
                let writer =
                    writer.choice(u32::try_from(choice).unwrap_or(u32::MAX)).include_logprobs(options.logprobs);
                Self::Chunks(Box::new(writer.diagnostics(diagnostics)))
            }
            (Api::OpenAi | Api::Responses, false) => {
                let logprobs = options.logprobs.then(Vec::new);
                Self::Completion { model, call_ids, diagnostics, logprobs, custom: options.custom.clone() }
            }
            (Api::Anthropic, true) => {
                Self::Events(Box::new(EventWriter::new(model, call_ids).diagnostics(diagnostics)))
            }
            (Api::Anthropic, false) => {
                let writer = EventWriter::new(model, call_ids).diagnostics(diagnostics);
                Self::Response(Box::new(ResponseBuilder::new(writer)))
            }
        }
    }

    /// What tells a client that an answer comes.
    pub(crate) fn start(&mut self, out: &mut String) {
        match self {
            Self::Chunks(writer) => out.push_str(&writer.start().to_sse()),
            Self::Events(writer) => writer.start(None).iter().for_each(|event| out.push_str(&event.to_sse())),
            Self::Items { writer, stream: true, .. } => written(&writer.start(), out),
            Self::Completion { .. } | Self::Response(_) | Self::Items { .. } => {}
        }
    }

    /// The probabilities of the tokens that come next, in OpenAI's form.
    pub(crate) fn logprobs(&mut self, tokens: Vec<Value>) {
        match self {
            Self::Chunks(writer) => writer.logprobs(tokens),
            Self::Completion { logprobs: Some(all), .. } => all.extend(tokens),
            Self::Items { writer, .. } => writer.logprobs(tokens),
            _ => {}
        }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, out: &mut String) {
        match self {
            Self::Chunks(writer) => writer.event(event).iter().for_each(|chunk| out.push_str(&chunk.to_sse())),
            Self::Events(writer) => writer.event(event).iter().for_each(|event| out.push_str(&event.to_sse())),
            Self::Response(builder) => builder.event(event),
            Self::Items { writer, stream, .. } => {
                let events = writer.event(event);
                if *stream {
                    written(&events, out);
                }
            }
            // It is made of the message.
            Self::Completion { .. } => {}
        }
    }

    /// The end of an answer that failed.
    pub(crate) fn fail(self, error: &ApiError, out: &mut String) {
        match self {
            Self::Chunks(_) | Self::Completion { .. } => out.push_str(&sse::event(None, error)),
            Self::Events(_) | Self::Response(_) => out.push_str(&sse::event(Some("error"), &error.anthropic())),
            Self::Items { mut writer, .. } => written(&writer.fail(error), out),
        }
    }

    /// The end of the answer. `message` is what the events added up to, and `usage` is that of all answers until now. Returns a
    /// completion, to which others may belong.
    pub(crate) fn finish(
        self,
        message: Message,
        finish: &Finish,
        usage: Option<Usage>,
        is_last: bool,
        out: &mut String,
    ) -> Option<ChatCompletion> {
        match self {
            Self::Chunks(mut writer) => {
                let usage = usage.filter(|_| is_last);
                writer.finish(finish, usage).iter().for_each(|chunk| out.push_str(&chunk.to_sse()));
                if is_last {
                    out.push_str(sse::DONE);
                }
            }
            Self::Events(mut writer) => {
                let usage = usage.unwrap_or_default();
                writer.finish(finish, usage).iter().for_each(|event| out.push_str(&event.to_sse()));
            }
            Self::Completion { model, mut call_ids, diagnostics, logprobs, custom } => {
                let completion = ChatCompletion::new(model, message, &mut call_ids, finish);
                let mut completion = completion.custom_tools(&custom);
                if let Some(usage) = usage {
                    completion = completion.usage(usage);
                }
                if diagnostics {
                    completion = completion.diagnostics();
                }
                return Some(match logprobs {
                    Some(tokens) => completion.logprobs(tokens),
                    None => completion,
                });
            }
            Self::Response(builder) => {
                let response = builder.finish(finish, usage.unwrap_or_default());
                out.push_str(&serde_json::to_string(&response).unwrap_or_default());
            }
            Self::Items { mut writer, stream, keep } => {
                let events = writer.finish(finish, usage);
                let response = writer.response();
                if let Some((memory, request)) = keep {
                    memory.keep(request, &response);
                }
                match stream {
                    true => written(&events, out),
                    false => out.push_str(&response.to_string()),
                }
            }
        }
        None
    }
}

fn written(events: &[ResponseEvent], out: &mut String) {
    events.iter().for_each(|event| out.push_str(&event.to_sse()));
}
