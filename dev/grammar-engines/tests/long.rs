//! Long texts: the work of the engines grows with the text and not with its square, and no limit of theirs is met.
//!
//! Work is counted and not timed, so that the answer is the same on every machine. What the counts do not show is in
//! `docs/lab/grammars.md`.

mod support;

use serde_json::{Value, json};
use support::{All, Engines, Failure, models};
use unjinja_grammar::{GrammarOptions, ToolChoice};
use unjinja_grammar_engines::Verdict;
use unjinja_runtime::{ChatParser, Tools};

/// The argument that is made long.
const WORD: &str = "Lorem";
/// The bytes of the long argument, and of the short one.
const LONG: usize = 64_000;
const SHORT: usize = LONG / 16;
/// The maximum ratio of the work for the long text to the work for the short one. A square would be 256 times.
const GROWTH: usize = 17;

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
    let (mut count, mut wrong, mut most) = (0, String::new(), [0; 2]);
    for parser in &models()? {
        let name = &*parser.info().name;
        // Where a call is demanded, no long text comes before it.
        let free = GrammarOptions::new().parallel_tool_calls(false);
        let Some(grammar) = All::make(&engines, parser, Some(&tools), &free)? else { continue };
        let calls = All::make(&engines, parser, Some(&known), &options)?.ok_or("no grammar")?;
        let turn = calls.sentences(3, 60).take(50).find(|turn| turn.matches(WORD).count() == 1);
        let turn = turn.ok_or_else(|| format!("{name}: no turn"))?;
        // The answer or the reasoning before the call is long too, if text may come there.
        let begins = grammar.xgrammar.read(&format!("one two, three. {turn}")) == Verdict::Complete;
        let text = |length: usize| {
            let words = "one two, three. ".repeat(length / 16);
            format!("{}{}", if begins { &*words } else { "" }, turn.replace(WORD, &words))
        };
        let (short, long) = (text(SHORT), text(LONG));
        count += 1;
        let verdicts = [("xgrammar", Ok(grammar.xgrammar.read(&long))), ("llguidance", grammar.llguidance.read(&long))];
        for (by, verdict) in verdicts {
            if verdict != Ok(Verdict::Complete) {
                wrong.push_str(&format!("{name}: {verdict:.300?} by {by} of a long {turn:?}\n"));
            }
        }
        let work = |text: &str| -> Result<_, String> {
            Ok([("xgrammar", grammar.xgrammar.work(text)?), ("llguidance", grammar.llguidance.work(text)?)])
        };
        for (most, ((by, short), (_, more))) in most.iter_mut().zip(work(&short)?.into_iter().zip(work(&long)?)) {
            *most = (more / long.len()).max(*most);
            if more > short * GROWTH {
                wrong.push_str(&format!("{name}: {short} and {more} steps by {by}\n"));
            }
        }
    }
    println!(
        "{count} models: {LONG} bytes of text and {LONG} of argument take at most {most:?} steps for each byte (xgrammar, llguidance)"
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 20, "{count} models");
    Ok(())
}
