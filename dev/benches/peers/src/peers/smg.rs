//! `tool-parser` and `reasoning-parser`: alone where the input needs one of them, else in a row as in their server,
//! which gives the text that the reasoning parser leaves to the tool parser.

use futures::executor::block_on;
use openai_protocol::common::Tool;
use reasoning_parser::ReasoningParser;
use tool_parser::ToolParser;
use tool_parser::types::{StreamingParseResult, ToolCallItem};

use super::run::{Clock, Run, Runner, Stop};
use crate::message::{Called, Heard};
use crate::turn::TurnInput;

pub fn runners(turn: &TurnInput) -> Result<Vec<Runner>, Stop> {
    let names = (turn.peers.reasoning_parser, turn.peers.tool_parser);
    let mut runners = Vec::new();
    match names {
        (_, Some(tool)) if !turn.reasons => {
            let called = format!("`{tool}` parse_incremental");
            let run = Box::new(Smg { reasoning: None, tool: Some(Tools::new(turn, tool)?) });
            runners.push(Runner { peer: "tool-parser", called, run });
        }
        (Some(reasoning), tool) if turn.reasons => {
            // What frames an answer is the tool parser's to read.
            if turn.meant.calls.is_empty() && !turn.framed {
                let called = format!("`{reasoning}` parse_reasoning_streaming_incremental");
                let run = Box::new(Smg { reasoning: Some(Reasoning::new(turn, reasoning)?), tool: None });
                runners.push(Runner { peer: "reasoning-parser", called, run });
            }
            if let Some(tool) = tool {
                let called = format!("`{reasoning}`, `{tool}` in a row");
                let reasoning = Some(Reasoning::new(turn, reasoning)?);
                let run = Box::new(Smg { reasoning, tool: Some(Tools::new(turn, tool)?) });
                runners.push(Runner { peer: "reasoning-parser, tool-parser", called, run });
            }
        }
        _ => {}
    }
    Ok(runners)
}

struct Smg {
    reasoning: Option<Reasoning>,
    tool: Option<Tools>,
}

struct Reasoning {
    parser: Box<dyn ReasoningParser>,
    opened: bool,
}

struct Tools {
    parser: Box<dyn ToolParser>,
    tools: Vec<Tool>,
}

impl Reasoning {
    fn new(turn: &TurnInput, name: &str) -> Result<Self, Stop> {
        let factory = reasoning_parser::ParserFactory::new();
        let parser = factory.registry().create_parser(name).ok_or_else(|| format!("no parser `{name}`"))?;
        Ok(Self { parser, opened: turn.opened })
    }
}

impl Tools {
    fn new(turn: &TurnInput, name: &str) -> Result<Self, Stop> {
        let factory = tool_parser::ParserFactory::new();
        let parser = factory.registry().create_parser(name).ok_or_else(|| format!("no parser `{name}`"))?;
        Ok(Self { parser, tools: serde_json::from_value(turn.tools.clone())? })
    }

    async fn push(&mut self, text: &str, heard: &mut Heard) -> Result<(), Stop> {
        let StreamingParseResult { normal_text, calls } = self.parser.parse_incremental(text, &self.tools).await?;
        heard.content.push_str(&normal_text);
        hear(calls, heard);
        Ok(())
    }
}

fn hear(items: Vec<ToolCallItem>, heard: &mut Heard) {
    for item in items {
        let call = heard.call(item.tool_index);
        if let Some(name) = item.name {
            call.name.push_str(&name);
        }
        call.arguments.push_str(&item.parameters);
    }
}

impl Run for Smg {
    fn ready(&mut self, _: &[&str]) -> Result<(), Stop> {
        if let Some(reasoning) = &mut self.reasoning {
            reasoning.parser.reset();
            if reasoning.opened {
                reasoning.parser.mark_reasoning_started();
                reasoning.parser.mark_think_start_stripped();
            }
        }
        if let Some(tool) = &mut self.tool {
            tool.parser.reset();
        }
        Ok(())
    }

    fn stream(&mut self, chunks: &[&str], mut clock: Clock, heard: &mut Heard) -> Result<(), Stop> {
        block_on(async {
            for chunk in chunks {
                clock.check()?;
                match (&mut self.reasoning, &mut self.tool) {
                    (None, Some(tool)) => tool.push(chunk, heard).await?,
                    (Some(reasoning), tool) => {
                        let result = reasoning.parser.parse_reasoning_streaming_incremental(chunk)?;
                        heard.reasoning.push_str(&result.reasoning_text);
                        match tool {
                            Some(tool) if !result.normal_text.is_empty() => {
                                tool.push(&result.normal_text, heard).await?;
                            }
                            _ => heard.content.push_str(&result.normal_text),
                        }
                    }
                    (None, None) => {}
                }
            }
            if let Some(reasoning) = &mut self.reasoning {
                let result = reasoning.parser.flush()?;
                heard.reasoning.push_str(&result.reasoning_text);
                match &mut self.tool {
                    Some(tool) if !result.normal_text.is_empty() => tool.push(&result.normal_text, heard).await?,
                    _ => heard.content.push_str(&result.normal_text),
                }
            }
            if let Some(tool) = &mut self.tool {
                hear(tool.parser.get_unstreamed_tool_args().unwrap_or_default(), heard);
                heard.content.push_str(&tool.parser.take_unstreamed_normal_text());
            }
            Ok(())
        })
    }

    fn batch(&mut self, output: &str, heard: &mut Heard) -> Result<(), Stop> {
        let mut content = None;
        if let Some(reasoning) = &mut self.reasoning {
            let result = reasoning.parser.detect_and_parse_reasoning(output)?;
            heard.reasoning = result.reasoning_text;
            content = Some(result.normal_text);
        }
        if let Some(tool) = &mut self.tool {
            let output = content.as_deref().unwrap_or(output);
            let (text, calls) = block_on(tool.parser.parse_complete_with_tools(output, &tool.tools))?;
            content = Some(text);
            let calls = calls.into_iter().map(|call| call.function);
            heard.calls = calls.map(|call| Called { name: call.name, arguments: call.arguments }).collect();
        }
        heard.content = content.unwrap_or_default();
        Ok(())
    }
}
