//! `dynamo-parsers-v2`: the unified parser of the format, and the tool-only one on inputs without reasoning.

use dynamo_parsers_v2::{
    Tool, ToolCallDelta, ToolParser, UnifiedParser, UnifiedParserEvent, UnifiedParserInit, UnifiedParserOutput,
    UnifiedParserStartingState, create_tool_parser_for_family, create_unified_parser_for_family,
};

use super::run::{Clock, Run, Runner, Stop};
use crate::message::Heard;
use crate::turn::TurnInput;

pub fn runners(turn: &TurnInput) -> Result<Vec<Runner>, Stop> {
    let functions = turn.tools.as_array().into_iter().flatten().map(|tool| &tool["function"]);
    let tools = functions.map(|function| Tool {
        name: function["name"].as_str().unwrap_or_default().into(),
        description: None,
        parameters: function["parameters"].clone(),
        strict: None,
    });
    let tools: Vec<Tool> = tools.collect();
    let mut runners = Vec::new();
    if let Some(family) = turn.peers.dynamo_v2_unified {
        let starting_state = match (turn.opened, turn.reasons) {
            (true, _) => UnifiedParserStartingState::Reasoning,
            (false, true) => UnifiedParserStartingState::None,
            // Where the format is not framed the prompt has opened the answer.
            (false, false) if !turn.framed => UnifiedParserStartingState::Response,
            (false, false) => UnifiedParserStartingState::None,
        };
        let init = UnifiedParserInit { starting_state, ..UnifiedParserInit::default() };
        let parser = create_unified_parser_for_family(family, &tools).map_err(|error| error.to_string())?;
        let called = format!("`{family}` unified parse_into");
        let run = Box::new(Unified { parser, init, out: UnifiedParserOutput::default() });
        runners.push(Runner { peer: "dynamo-parsers-v2", called, run });
    }
    if let (Some(family), false) = (turn.peers.dynamo_v2_tool, turn.reasons) {
        let called = format!("`{family}` tools only, push");
        let parser = create_tool_parser_for_family(family, &tools).map_err(|error| error.to_string())?;
        runners.push(Runner { peer: "dynamo-parsers-v2", called, run: Box::new(Only { family, tools, parser }) });
    }
    Ok(runners)
}

fn hear_call(call: ToolCallDelta, heard: &mut Heard) {
    let called = heard.call(call.tool_index);
    if let Some(name) = &call.name {
        called.name.push_str(name);
    }
    called.arguments.push_str(&call.arguments);
}

struct Unified {
    parser: Box<dyn UnifiedParser>,
    init: UnifiedParserInit,
    out: UnifiedParserOutput,
}

fn hear(out: &mut UnifiedParserOutput, heard: &mut Heard) {
    for event in out.events.drain(..) {
        match event {
            UnifiedParserEvent::Text(text) => heard.content.push_str(&text),
            UnifiedParserEvent::Reasoning(text) => heard.reasoning.push_str(&text),
            UnifiedParserEvent::ToolCall(call) => hear_call(call, heard),
            UnifiedParserEvent::MessageStart(_) | UnifiedParserEvent::MessageEnd => {}
        }
    }
}

impl Unified {
    fn push(&mut self, text: &str, heard: &mut Heard) -> Result<(), Stop> {
        self.parser.parse_into(text, &mut self.out).map_err(|error| error.to_string())?;
        hear(&mut self.out, heard);
        Ok(())
    }

    fn finish(&mut self, heard: &mut Heard) -> Result<(), Stop> {
        let mut out = self.parser.finish_at_eos().map_err(|error| error.to_string())?;
        hear(&mut out, heard);
        Ok(())
    }
}

impl Run for Unified {
    fn ready(&mut self, _: &[&str]) -> Result<(), Stop> {
        self.parser.reset();
        self.parser.initialize_request(self.init.clone()).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn stream(&mut self, chunks: &[&str], mut clock: Clock, heard: &mut Heard) -> Result<(), Stop> {
        for chunk in chunks {
            self.push(chunk, heard)?;
            clock.check()?;
        }
        self.finish(heard)
    }

    fn batch(&mut self, output: &str, heard: &mut Heard) -> Result<(), Stop> {
        self.push(output, heard)?;
        self.finish(heard)
    }
}

struct Only {
    family: &'static str,
    tools: Vec<Tool>,
    parser: Box<dyn ToolParser>,
}

impl Run for Only {
    fn ready(&mut self, _: &[&str]) -> Result<(), Stop> {
        // This interface has no reset.
        let parser = create_tool_parser_for_family(self.family, &self.tools).map_err(|error| error.to_string())?;
        self.parser = parser;
        Ok(())
    }

    fn stream(&mut self, chunks: &[&str], mut clock: Clock, heard: &mut Heard) -> Result<(), Stop> {
        for chunk in chunks {
            let result = self.parser.push(chunk).map_err(|error| error.to_string())?;
            heard.content.push_str(&result.normal_text);
            for call in result.calls {
                hear_call(call, heard);
            }
            clock.check()?;
        }
        let result = self.parser.finish().map_err(|error| error.to_string())?;
        heard.content.push_str(&result.normal_text);
        for call in result.calls {
            hear_call(call, heard);
        }
        Ok(())
    }

    fn batch(&mut self, output: &str, heard: &mut Heard) -> Result<(), Stop> {
        let result = self.parser.parse_complete(output).map_err(|error| error.to_string())?;
        heard.content.push_str(&result.normal_text);
        for call in result.calls {
            hear_call(call, heard);
        }
        Ok(())
    }
}
