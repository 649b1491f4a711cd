//! Writes what a turn of the parser says in the client's format: whole or streamed, of OpenAI or of Anthropic.

use unjinja_runtime::{Event, Message};

use crate::anthropic::{EventWriter, ResponseBuilder};
use crate::error::ApiError;
use crate::finish::{Finish, Usage};
use crate::openai::{ChatCompletion, ChunkWriter};
use crate::sse;
use unjinja_spec::CallIds;

/// The path of Anthropic's API.
pub(crate) const MESSAGES: &str = "/v1/messages";

/// The API that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    OpenAi,
    Anthropic,
}

impl Api {
    /// The API that a path belongs to.
    pub(crate) fn of_path(path: &str) -> Self {
        if path.starts_with(MESSAGES) { Self::Anthropic } else { Self::OpenAi }
    }

    /// An error as JSON.
    pub(crate) fn error(self, error: &ApiError) -> String {
        match self {
            Self::OpenAi => serde_json::to_string(error),
            Self::Anthropic => serde_json::to_string(&error.anthropic()),
        }
        .unwrap_or_default()
    }

    /// What says in a stream that the answer goes on: without it, proxies on the way give the connection up.
    pub(crate) fn ping(self) -> &'static str {
        match self {
            Self::OpenAi => ": ping\n\n",
            Self::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        }
    }

    /// An error in the middle of a stream.
    pub(crate) fn error_event(self, error: &ApiError) -> String {
        match self {
            Self::OpenAi => sse::event(None, error),
            Self::Anthropic => sse::event(Some("error"), &error.anthropic()),
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
}

/// An answer in the client's format. What it writes is appended to a text.
#[derive(Debug)]
pub(crate) enum Reply {
    Chunks(Box<ChunkWriter>),
    Completion { model: String, call_ids: CallIds, diagnostics: bool },
    Events(Box<EventWriter>),
    Response(Box<ResponseBuilder>),
}

impl Reply {
    pub(crate) fn new(options: &ReplyOptions, model: String, call_ids: CallIds) -> Self {
        let diagnostics = options.diagnostics;
        match (options.api, options.stream) {
            (Api::OpenAi, true) => {
                let writer = ChunkWriter::new(model, call_ids).include_usage(options.include_usage);
                Self::Chunks(Box::new(writer.diagnostics(diagnostics)))
            }
            (Api::OpenAi, false) => Self::Completion { model, call_ids, diagnostics },
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
            Self::Completion { .. } | Self::Response(_) => {}
        }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, out: &mut String) {
        match self {
            Self::Chunks(writer) => writer.event(event).iter().for_each(|chunk| out.push_str(&chunk.to_sse())),
            Self::Events(writer) => writer.event(event).iter().for_each(|event| out.push_str(&event.to_sse())),
            Self::Response(builder) => builder.event(event),
            // It is made of the message.
            Self::Completion { .. } => {}
        }
    }

    /// The end of the answer. `message` is what the events added up to.
    pub(crate) fn finish(self, message: Message, finish: &Finish, usage: Option<Usage>, out: &mut String) {
        match self {
            Self::Chunks(mut writer) => {
                writer.finish(finish, usage).iter().for_each(|chunk| out.push_str(&chunk.to_sse()));
                out.push_str(sse::DONE);
            }
            Self::Events(mut writer) => {
                let usage = usage.unwrap_or_default();
                writer.finish(finish, usage).iter().for_each(|event| out.push_str(&event.to_sse()));
            }
            Self::Completion { model, mut call_ids, diagnostics } => {
                let mut completion = ChatCompletion::new(model, message, &mut call_ids, finish);
                if let Some(usage) = usage {
                    completion = completion.usage(usage);
                }
                if diagnostics {
                    completion = completion.diagnostics();
                }
                out.push_str(&serde_json::to_string(&completion).unwrap_or_default());
            }
            Self::Response(builder) => {
                let response = builder.finish(finish, usage.unwrap_or_default());
                out.push_str(&serde_json::to_string(&response).unwrap_or_default());
            }
        }
    }
}
