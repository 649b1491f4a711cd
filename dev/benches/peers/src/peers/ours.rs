//! Ours: a compiled model's parser.

use unjinja_runtime::abi::Machine;
use unjinja_runtime::{Event, Message, Options, Stream, Tools};

use super::run::{Clock, Run, Runner, Stop};
use crate::inputs::Input;
use crate::message::{Called, Heard};

struct Ours<M: Machine> {
    stream: Stream<M>,
    parse: fn(&str, &Options) -> Message,
    options: Options,
}

/// Each named model's parser, with its own type, as an application uses it.
macro_rules! models {
    ($name:expr, $options:expr, $($model:ident)*) => {
        match $name {
            $(stringify!($model) => Some(Box::new(Ours {
                stream: unjinja_generated::$model::stream(&$options),
                parse: |output, options| unjinja_generated::$model::parse(output, options),
                options: $options,
            }) as Box<dyn Run>),)*
            _ => None,
        }
    };
}

pub fn runners(input: &Input) -> Result<Vec<Runner>, Stop> {
    let tools = Tools::from_openai(&input.turn.tools)?;
    let prompt = input.format.prompt[usize::from(input.turn.reasons)];
    let options = Options::new().tools(&tools).generation_prompt(prompt);
    let run = models!(input.format.ours, options.clone(),
        cohereforai_c4ai_command_r7b_12_2024_tool_use
        deepseek_ai_deepseek_r1_distill_llama_8b
        deepseek_ai_deepseek_v3_1
        deepseek_ai_deepseek_v3_2
        fireworks_ai_llama_3_firefunction_v2
        glm_4_6
        glm_4_7_flash
        google_gemma_4_31b_it
        kimi_k2_thinking
        meta_llama_llama_3_1_8b_instruct
        minimax_m2
        mistralai_mistral_nemo_instruct_2407
        nvidia_nemotron_nano_v2
        openai_gpt_oss_120b
        qwen3_5_4b
        qwen_qwen3_0_6b
    );
    let run = run.ok_or_else(|| Stop::Failed(format!("no model `{}`", input.format.ours)))?;
    let called = format!("`{}::stream`", input.format.ours);
    Ok(vec![Runner { peer: "unjinja", called, run }])
}

fn hear(heard: &mut Heard, event: Event<'_>) {
    match event {
        Event::Reasoning(text) => heard.reasoning.push_str(text),
        Event::Content(text) => heard.content.push_str(text),
        Event::ToolCallStart { index, name, .. } => heard.call(index).name.push_str(name),
        Event::ToolCallArguments { index, json } => heard.call(index).arguments.push_str(json),
        _ => {}
    }
}

impl<M: Machine> Run for Ours<M> {
    fn ready(&mut self, _: &[&str]) -> Result<(), Stop> {
        self.stream.reset();
        Ok(())
    }

    fn stream(&mut self, chunks: &[&str], mut clock: Clock, heard: &mut Heard) -> Result<(), Stop> {
        for chunk in chunks {
            self.stream.push(*chunk, |event| hear(heard, event));
            clock.check()?;
        }
        self.stream.finish(|event| hear(heard, event));
        Ok(())
    }

    fn batch(&mut self, output: &str, heard: &mut Heard) -> Result<(), Stop> {
        let message = (self.parse)(output, &self.options);
        heard.reasoning = message.reasoning_content;
        heard.content = message.content;
        heard.calls =
            message.tool_calls.into_iter().map(|call| Called { name: call.name, arguments: call.arguments }).collect();
        Ok(())
    }
}
