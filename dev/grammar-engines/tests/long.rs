//! Long texts: the time of the engines grows with the text and not with its square, and no limit of theirs is met.

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{All, Engines, Failure, models};
use unjinja_grammar::{GrammarOptions, ToolChoice};
use unjinja_runtime::{ChatParser, Options, Tools};

/// The argument that is made long.
const WORD: &str = "Lorem";
/// The bytes of the long argument, and of the short one.
const LONG: usize = 64_000;
const SHORT: usize = LONG / 16;

#[test]
fn long_arguments_and_long_texts_are_read() -> Result<(), Failure> {
    let engines = Engines::new()?;
    // The calls of the first tool have an argument that can be found, and are calls of the second tool with any other text in it.
    let tool = |schema: Value| {
        let parameters = json!({"type": "object", "properties": {"text": schema}, "required": ["text"], "additionalProperties": false});
        Tools::from_openai(&json!([{"type": "function", "function": {"name": "write", "parameters": parameters}}]))
    };
    let (known, tools) = (tool(json!({"enum": [WORD]}))?, tool(json!({"type": "string"}))?);
    let options = GrammarOptions::new().tool_choice(ToolChoice::Required).parallel_tool_calls(false);
    let (mut count, mut wrong, mut slowest) = (0, String::new(), [Duration::ZERO; 2]);
    for parser in &models()? {
        let name = &*parser.info().name;
        let Some(grammar) = All::make(&engines, parser, Some(&tools), &options)? else { continue };
        let calls = All::make(&engines, parser, Some(&known), &options)?.ok_or("no grammar")?;
        let turn = calls.sentences(3, 60).take(50).find(|turn| turn.matches(WORD).count() == 1);
        let turn = turn.ok_or_else(|| format!("{name}: no turn"))?;
        count += 1;
        let mut times = [[Duration::ZERO; 2]; 2];
        for (at, length) in [SHORT, LONG].into_iter().enumerate() {
            let words = "one two, three. ".repeat(length / 16);
            let text = turn.replace(WORD, &words);
            // The answer before the call is long too, if the turn begins with one.
            let answer = parser.parse(turn.as_str().into(), &Options::new().tools(&tools)).content;
            let begins = answer.chars().next().is_some_and(|first| turn.starts_with(first));
            let text = if begins { format!("{words}{text}") } else { text };
            for (engine, time) in times.iter_mut().enumerate() {
                let began = Instant::now();
                let accepted = match engine {
                    0 => Ok(grammar.xgrammar.read(&text)),
                    _ => grammar.llguidance.read(&text),
                };
                time[at] = began.elapsed();
                if accepted != Ok(unjinja_grammar_engines::Verdict::Complete) {
                    wrong.push_str(&format!("{name}: {length} bytes: {accepted:.300?} by {engine} of {turn:?}\n"));
                }
            }
        }
        for (engine, [short, long]) in times.into_iter().enumerate() {
            slowest[engine] = slowest[engine].max(long);
            // 16 times the text; a square would be 256 times the time.
            if long > Duration::from_millis(500) && long > short * 128 {
                wrong.push_str(&format!("{name}: {short:?} for {SHORT} bytes and {long:?} for {LONG}, by {engine}\n"));
            }
        }
    }
    println!(
        "{count} models: {LONG} bytes of text and {LONG} of argument take at most {slowest:?} (xgrammar, llguidance)"
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 20, "{count} models");
    Ok(())
}
