//! The cases of the corpus: outputs, and the grammars that were requested with them.

use fancy_regex::Regex;
use unjinja_engine::{Engine, Trigger};
use unjinja_generated::by_file;
use unjinja_grammar::{Grammar, GrammarExt};
use unjinja_runtime::ChatParser;
use unjinja_testkit::grammars::Case;

use super::Failure;

/// A case whose template has a parser.
pub struct Parsed {
    pub parser: &'static dyn ChatParser,
    pub case: Case,
}

/// The cases whose template has a parser; `None` if the corpus is absent and may be.
pub fn cases() -> Result<Option<Vec<Parsed>>, Failure> {
    let Some(cases) = Case::all()? else { return Ok(None) };
    let parsed = |case: Case| Some(Parsed { parser: by_file(&case.template)?, case });
    Ok(Some(cases.into_iter().filter_map(parsed).collect()))
}

impl Parsed {
    /// The grammars of a case, as far as they exist: with its tools, and for any tool.
    pub fn grammars(&self) -> Result<Vec<(&'static str, Grammar)>, Failure> {
        let Self { parser, case } = self;
        let with_tools = parser.grammar(&case.tools, &case.options).map_err(|e| format!("{}: {e}", case.id))?;
        let mut grammars = vec![("with the tools", with_tools)];
        if !case.tools.is_empty() {
            let for_any = parser.grammar_for_any(&case.options).map_err(|e| format!("{}: {e}", case.id))?;
            grammars.push(("for any tool", for_any));
        }
        grammars.retain(|(_, grammar)| !grammar.text.is_empty());
        Ok(grammars)
    }
}

/// The part of an output that a grammar constrains, without what the prompt already contains. For a lazy grammar it
/// begins where the engine starts the grammar; `None` if it never does.
pub fn constrained(engine: &Engine, grammar: &Grammar, output: &str) -> Result<Option<String>, Failure> {
    if !grammar.lazy {
        return Ok(Some(format!("{}{output}", grammar.prefill)));
    }
    // Any text may follow the trigger.
    let mut session = engine
        .load_lazy(r"root ::= [\x01-\U0010FFFF]*", &triggers(grammar))
        .map_err(|_| "the engine takes no trigger")?;
    for (at, char) in output.char_indices() {
        let end = at + char.len_utf8();
        session.accept(&output.as_bytes()[at..end]).map_err(|_| "a free text is refused")?;
        if !session.waits() {
            let start = start(grammar, &output[..end])?.ok_or("the engine sees a trigger that is not there")?;
            return Ok(Some(output[start..].to_owned()));
        }
    }
    Ok(None)
}

/// Where the first trigger in a text starts the grammar.
fn start(grammar: &Grammar, text: &str) -> Result<Option<usize>, Failure> {
    for trigger in &grammar.triggers {
        let found = match trigger {
            unjinja_runtime::Trigger::Word(word) => text.find(word.as_ref()),
            unjinja_runtime::Trigger::Pattern(pattern) => {
                let found = Regex::new(pattern)?.captures(text)?;
                found.and_then(|found| {
                    Some(found.iter().skip(1).flatten().find(|group| !group.as_str().is_empty())?.start())
                })
            }
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The triggers of a grammar, in the form of the engine.
pub fn triggers(grammar: &Grammar) -> Vec<Trigger> {
    let trigger = |trigger: &unjinja_runtime::Trigger| match trigger {
        unjinja_runtime::Trigger::Word(word) => Trigger::Word(word.to_string()),
        unjinja_runtime::Trigger::Pattern(pattern) => Trigger::Pattern(pattern.to_string()),
    };
    grammar.triggers.iter().map(trigger).collect()
}
