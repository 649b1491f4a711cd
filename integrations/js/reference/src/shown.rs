//! What Rust shows: explanations of templates and outputs, whose text each piece of a prompt is, and which piece of an output became
//! which events.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use unjinja_dynamic::explain::ExplainOptions;
use unjinja_dynamic::{Clock, Conversation, Input, Model, SpanReader, SpanStep, Tools};

use crate::known::{Done, OwnTemplate, case_options, cases_of, event_value, parser_options, stems};

/// How many cases of each template are explained.
const EXPLAINED: usize = 2;

/// Explanations: of each template with some of its cases, of which every other is not complete, and of a template that fails.
pub(crate) fn explanations(root: &Path, out: &mut impl Write) -> Done {
    for stem in stems(root)? {
        let own = OwnTemplate::read(&root.join("templates"), &stem)?;
        for (at, case) in cases_of(root, &stem)?.iter().take(EXPLAINED).enumerate() {
            let options = case_options(root, case)?;
            let (output, over) = (case["output"].as_str().unwrap_or_default(), at % 2 == 0);
            let tools = options.get("tools").map(Tools::from_openai).transpose()?;
            let mut wanted = ExplainOptions::new().output(output).over(over);
            let mut given = json!({"output": output, "over": over});
            if let Some(tools) = &tools {
                wanted = wanted.tools(tools);
                given["tools"] = options["tools"].clone();
            }
            if let Some(prompt) = case.get("generation_prompt").and_then(Value::as_str) {
                wanted = wanted.generation_prompt(prompt);
                given["generationPrompt"] = prompt.into();
            }
            let explanation = own.loader.explain(Input::text(own.text.as_str()), &wanted)?;
            let line = json!({"id": stem, "text": own.text, "load": own.options, "options": given, "explanation": explanation});
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// What is rendered: reasoning, a call, its result, and characters that JavaScript counts twice.
fn conversation() -> Value {
    let call = json!({"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Łódź 🌧"}}});
    json!([
        {"role": "user", "content": "Rain in Łódź 🌧?"},
        {"role": "assistant", "content": "I look 🔎.", "reasoning_content": "Clouds?", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "abcdefghi", "name": "get_weather", "content": "12 °C 🌡"},
        {"role": "assistant", "content": "It has 12 °C.", "reasoning_content": "So."},
        {"role": "user", "content": "Thanks! 👍"},
    ])
}

/// The pieces of a prompt of each template, with their texts.
pub(crate) fn prompts(root: &Path, out: &mut impl Write) -> Done {
    let tools: Value = serde_json::from_str(&std::fs::read_to_string(root.join("tests/cases/tools.json"))?)?;
    for stem in stems(root)? {
        let own = OwnTemplate::read(&root.join("templates"), &stem)?;
        let messages = conversation();
        let parts =
            parts(&own.model, &Conversation::new(messages.clone()).tools(tools.clone()).clock(Clock::default()));
        let parts = parts.map_or_else(|error| json!({ "error": error.to_string() }), Value::Array);
        let line = json!({
            "id": stem, "text": own.text, "load": own.options, "messages": messages, "tools": tools, "parts": parts,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn parts(model: &Model, conversation: &Conversation) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let prompt = model.render_labelled(conversation)?;
    let part = |piece: &unjinja_dynamic::authors::PromptPiece| {
        let text = &prompt.text[piece.range.clone()];
        json!({"text": text, "part": piece.part.name(), "message": piece.message, "byModel": piece.by_model})
    };
    Ok(model.prompt_pieces(&prompt)?.iter().map(part).collect())
}

/// The spans of the output of each case.
pub(crate) fn spans(root: &Path, out: &mut impl Write) -> Done {
    for stem in stems(root)? {
        let own = OwnTemplate::read(&root.join("templates"), &stem)?;
        for case in cases_of(root, &stem)? {
            let options = case_options(root, &case)?;
            let rust = parser_options(&own.model, &options)?;
            let output = case["output"].as_str().unwrap_or_default();
            let mut stream = own.model.stream(&rust);
            let read = SpanReader::default().read(output, true, |step, sink| {
                match step {
                    SpanStep::Push(text) => stream.push(text, |event| sink(&event)),
                    SpanStep::Finish => stream.finish(|event| sink(&event)),
                }
                (stream.held().len(), stream.channel())
            });
            let spans = read.iter().map(|span| {
                let events: Vec<Value> = span.events.iter().map(|event| event_value(&event.as_event())).collect();
                json!({"text": span.text, "events": events})
            });
            let line = json!({
                "id": format!("{stem}: {}", case["name"].as_str().unwrap_or_default()),
                "template": stem,
                "text": own.text,
                "load": own.options,
                "options": options,
                "output": output,
                "spans": spans.collect::<Vec<_>>(),
            });
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
