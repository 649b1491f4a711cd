//! `dynamo-parsers`: its reasoning parser where the input has reasoning, then its tool-call jail over OpenAI chunks,
//! as its server has them.

use dynamo_parsers::reasoning::{ReasoningParser, ReasoningParserType, ReasoningParserWrapper};
use dynamo_parsers::tool_calling::ToolDefinition;
use dynamo_parsers::tool_calling::jail::{Annotated, JailedStream};
use dynamo_parsers::tool_calling::parsers::detect_and_parse_tool_call_with_recovery;
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason, Role,
};
use futures::StreamExt;
use futures::executor::block_on;

use super::run::{Clock, Run, Runner, Stop};
use crate::message::{Called, Heard};
use crate::turn::TurnInput;

type Item = Annotated<CreateChatCompletionStreamResponse>;

struct Dynamo {
    tool: &'static str,
    tools: Vec<ToolDefinition>,
    /// The reasoning parser's name, and whether the prompt has opened reasoning.
    reasoning: Option<(&'static str, bool)>,
    /// What `ready` made for the next stream.
    items: Vec<Item>,
    jail: Option<JailedStream>,
}

pub fn runners(turn: &TurnInput) -> Result<Vec<Runner>, Stop> {
    let peers = turn.peers;
    let (Some(tool), true) = (peers.dynamo_tool, !turn.reasons || peers.dynamo_reasoning.is_some()) else {
        return Ok(Vec::new());
    };
    let reasoning = peers.dynamo_reasoning.filter(|_| turn.reasons).map(|name| (name, turn.opened));
    let called = match reasoning {
        Some((name, _)) => format!("`{name}` parse_reasoning_streaming_incremental, `{tool}` JailedStream"),
        None => format!("`{tool}` JailedStream"),
    };
    let functions = turn.tools.as_array().into_iter().flatten().map(|tool| &tool["function"]);
    let tools = functions.map(|function| ToolDefinition {
        name: function["name"].as_str().unwrap_or_default().into(),
        parameters: Some(function["parameters"].clone()),
        strict: None,
    });
    let run = Box::new(Dynamo { tool, tools: tools.collect(), reasoning, items: Vec::new(), jail: None });
    Ok(vec![Runner { peer: "dynamo-parsers", called, run }])
}

/// One chunk of a response; the last has no text and ends the turn.
fn item(content: Option<&str>) -> Item {
    #[allow(deprecated, reason = "the field must be given")]
    let delta = ChatCompletionStreamResponseDelta {
        role: Some(Role::Assistant),
        content: content.map(|text| ChatCompletionMessageContent::Text(text.to_owned())),
        tool_calls: None,
        function_call: None,
        refusal: None,
        reasoning_content: None,
    };
    let finish_reason = content.is_none().then_some(FinishReason::Stop);
    Annotated {
        data: Some(CreateChatCompletionStreamResponse {
            id: "1".into(),
            choices: vec![ChatChoiceStream { index: 0, delta, finish_reason, logprobs: None }],
            created: 0,
            model: "m".into(),
            system_fingerprint: None,
            object: "chat.completion.chunk".into(),
            usage: None,
            service_tier: None,
        }),
        id: None,
        event: None,
        comment: None,
        error: None,
    }
}

impl Dynamo {
    fn reasoning_parser(&self) -> Option<ReasoningParserWrapper> {
        self.reasoning.map(|(name, opened)| {
            let mut parser = ReasoningParserType::get_reasoning_parser_from_name(name);
            if opened {
                parser.set_in_reasoning(true);
            }
            parser
        })
    }
}

/// Splits a chunk's text into reasoning and the rest, as the server's stage before the jail does. The last chunk
/// brings what the parser held back.
fn split(parser: &mut ReasoningParserWrapper, mut item: Item) -> Item {
    let delta = item.data.as_mut().and_then(|data| data.choices.first_mut()).map(|choice| &mut choice.delta);
    if let Some(delta) = delta {
        let result = match delta.content.take() {
            Some(ChatCompletionMessageContent::Text(text)) => parser.parse_reasoning_streaming_incremental(&text, &[]),
            _ => parser.finish_reasoning_stream(),
        };
        if !result.normal_text.is_empty() {
            delta.content = Some(ChatCompletionMessageContent::Text(result.normal_text));
        }
        if !result.reasoning_text.is_empty() {
            delta.reasoning_content = Some(result.reasoning_text);
        }
    }
    item
}

fn hear(item: Item, heard: &mut Heard) {
    for choice in item.data.into_iter().flat_map(|data| data.choices) {
        if let Some(text) = choice.delta.reasoning_content {
            heard.reasoning.push_str(&text);
        }
        if let Some(ChatCompletionMessageContent::Text(text)) = choice.delta.content {
            heard.content.push_str(&text);
        }
        for call in choice.delta.tool_calls.into_iter().flatten() {
            let called = heard.call(call.index as usize);
            if let Some(function) = call.function {
                called.name.push_str(function.name.as_deref().unwrap_or_default());
                called.arguments.push_str(function.arguments.as_deref().unwrap_or_default());
            }
        }
    }
}

impl Run for Dynamo {
    fn ready(&mut self, chunks: &[&str]) -> Result<(), Stop> {
        self.items = chunks.iter().map(|chunk| item(Some(chunk))).chain([item(None)]).collect();
        let mut builder = JailedStream::builder().tool_call_parser(self.tool).tool_definitions(self.tools.clone());
        if let Some((name, _)) = self.reasoning {
            builder = builder.reasoning_parser(name);
        }
        self.jail = Some(builder.build());
        Ok(())
    }

    fn stream(&mut self, _: &[&str], clock: Clock, heard: &mut Heard) -> Result<(), Stop> {
        let jail = self.jail.take().ok_or("not ready")?;
        let mut parser = self.reasoning_parser();
        let mut items = std::mem::take(&mut self.items).into_iter();
        let mut inner = clock;
        // A stream that ends early is how a jail is stopped from outside.
        let source = futures::stream::poll_fn(move |_| {
            if inner.late() {
                return std::task::Poll::Ready(None);
            }
            std::task::Poll::Ready(items.next().map(|item| match &mut parser {
                Some(parser) => split(parser, item),
                None => item,
            }))
        });
        block_on(async {
            let mut stream = std::pin::pin!(jail.apply(source));
            while let Some(item) = stream.next().await {
                hear(item, heard);
            }
        });
        clock.over()
    }

    fn batch(&mut self, output: &str, heard: &mut Heard) -> Result<(), Stop> {
        let mut output = std::borrow::Cow::Borrowed(output);
        if let Some(mut parser) = self.reasoning_parser() {
            let result = parser.detect_and_parse_reasoning(&output, &[]);
            heard.reasoning = result.reasoning_text;
            output = result.normal_text.into();
        }
        let parse = detect_and_parse_tool_call_with_recovery(&output, Some(self.tool), Some(&self.tools));
        let (calls, content) = block_on(parse).map_err(|error| error.to_string())?;
        heard.content = content.unwrap_or_default();
        let calls = calls.into_iter().map(|call| call.function);
        heard.calls = calls.map(|call| Called { name: call.name, arguments: call.arguments }).collect();
        Ok(())
    }
}
