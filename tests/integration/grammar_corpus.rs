//! Grammars of the committed models accept the outputs of the corpus that another implementation constrained by a grammar, and
//! the turns that the released templates render.

use crate::support::grammar::{load, refuses, rendered};
use crate::support::{Failure, corpus, models};
use unjinja_grammar::GrammarExt;
use unjinja_render::Template;
use unjinja_testkit::grammars::Case;
use unjinja_testkit::{sample, share};

#[test]
fn every_output_that_a_peer_held_to_a_grammar_is_accepted() -> Result<(), Failure> {
    let Some(cases) = Case::all()? else { return Ok(()) };
    let models = models()?;
    let mut problems = Vec::new();
    let (mut grammars, mut accepted) = (0, 0);
    for case in cases {
        let Some(model) = models.iter().find(|model| model.is_for(&case.template)) else { continue };
        let compiled = unjinja_generated::by_file(&case.template).ok_or("the spec is not compiled in")?;
        let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&case.tools), &case.options);
        if compiled.grammar(&case.tools, &case.options) != grammar {
            problems.push(format!("{}: the compiled parser and the interpreter make different grammars", case.id));
        }
        let grammar = grammar.map_err(|error| format!("{}: {error}", case.id))?;
        if grammar.text.is_empty() {
            if case.held {
                problems.push(format!("{}: no grammar", case.id));
            }
            continue;
        }
        grammars += 1;
        let rules = load(&grammar).map_err(|error| format!("{}: {error}", case.id))?;
        if !case.held {
            continue;
        }
        // Also with the grammar for any tool, if the grammar is for calls.
        let any = unjinja_grammar::grammar(model.parser.program(), None, &case.options)?;
        let mut refused = refuses(&grammar, &rules, &case.output)?;
        if refused.is_none() && grammar.lazy {
            refused = refuses(&any, &load(&any)?, &case.output)?.map(|why| format!("for any tool: {why}"));
        }
        match refused {
            Some(why) => problems.push(format!("{} ({}): {why}", case.id, case.template)),
            None => accepted += 1,
        }
    }
    assert!(problems.is_empty(), "of {grammars} grammars, {accepted} accepted:\n{}", problems.join("\n"));
    assert!(accepted >= 100, "{accepted} accepted");
    Ok(())
}

#[test]
fn every_turn_that_a_released_template_renders_is_accepted() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let mut problems = Vec::new();
    let (mut calls, mut texts) = (0, 0);
    for model in sample(models()?, 10) {
        let text = unjinja_testkit::released_template(&corpus, &model.spec.template.sha256)?;
        let template = Template::parse(&model.spec.template.file, &text)?;
        let (c, t) = rendered(&model, &template, &mut problems)?;
        calls += c;
        texts += t;
    }
    assert!(problems.is_empty(), "of {calls} turns with calls and {texts} without:\n{}", problems.join("\n"));
    assert!(calls.min(texts) > share(150, 4), "{calls} turns with calls and {texts} without");
    Ok(())
}
