//! Grammars of our own templates: they load, accept what templates render, and what is drawn from them is read as
//! calls.

mod support;

use support::grammar::{load, rendered, sentences, wrong_calls};
use support::{Failure, Model, models, own_models, root};
use unjinja::grammar::{GrammarOptions, ToolChoice};
use unjinja::{Options, Tools, parse};
use unjinja_analyzer::render::Template;

/// How many sentences are drawn of each grammar.
const SENTENCES: usize = 200;

fn all_models() -> Result<Vec<Model>, Failure> {
    let mut all = models()?;
    all.extend(own_models()?);
    Ok(all)
}

fn tools() -> Result<Tools, Failure> {
    Ok(Tools::from_json(&std::fs::read_to_string(root().join("tests/cases/tools.json"))?)?)
}

fn has_calls(model: &Model) -> bool {
    model.spec.tools.format != unjinja_spec::ToolFormat::None
}

#[test]
fn every_constant_loads() -> Result<(), Failure> {
    let mut loaded = 0;
    for model in all_models()? {
        let grammar = model.lowered.grammar(&model.spec, None, &GrammarOptions::new())?;
        assert_eq!(grammar.text.is_empty(), !has_calls(&model), "{}", model.spec.template.name);
        assert_eq!(grammar.lazy, !grammar.triggers.is_empty(), "{}", model.spec.template.name);
        if has_calls(&model) {
            load(&grammar).map_err(|error| format!("{}: {error}", model.spec.template.name))?;
            loaded += 1;
        }
    }
    assert!(loaded > 60, "{loaded} grammars");
    Ok(())
}

/// The ways of asking for calls that are drawn from.
fn requests(tools: &Tools) -> Vec<(&'static str, Option<&Tools>, GrammarOptions)> {
    let options = GrammarOptions::new;
    vec![
        ("any tool", None, options()),
        ("any tool, required", None, options().tool_choice(ToolChoice::Required)),
        ("tools", Some(tools), options()),
        ("tools, required", Some(tools), options().tool_choice(ToolChoice::Required)),
        (
            "one tool, once",
            Some(tools),
            options().tool_choice(ToolChoice::Named("get_weather".to_owned())).parallel_tool_calls(false),
        ),
    ]
}

#[test]
fn what_is_drawn_is_read_as_calls() -> Result<(), Failure> {
    let tools = tools()?;
    let mut problems = Vec::new();
    let mut read = 0;
    for model in all_models()?.iter().filter(|model| has_calls(model)) {
        let name = &model.spec.template.name;
        for (number, (what, offered, request)) in requests(&tools).into_iter().enumerate() {
            let grammar = model.lowered.grammar(&model.spec, offered, &request);
            let grammar = grammar.map_err(|error| format!("{name}, {what}: {error}"))?;
            let rules = load(&grammar).map_err(|error| format!("{name}, {what}: {error}"))?;
            let bare = offered.is_none() && names_must_be_offered(model);
            if bare {
                continue;
            }
            let drawn = sentences(&rules, number as u64 + 1, SENTENCES);
            assert_eq!(drawn.len(), SENTENCES, "{name}, {what}");
            let options = match offered {
                Some(tools) => Options::new().tools(tools),
                None => Options::new(),
            };
            let mut wrong = 0;
            for sentence in drawn {
                read += 1;
                let message = parse(model.lowered.interpreter(&model.spec), &sentence, &options);
                let parallel = what != "one tool, once";
                if !grammar.lazy && !what.contains("required") && !what.contains("once") && message.tool_calls.is_empty() {
                    continue;
                }
                let problem = match wrong_calls(&message, offered) {
                    None if !parallel && message.tool_calls.len() > 1 => Some("several calls".to_owned()),
                    problem => problem,
                };
                if let Some(problem) = problem {
                    wrong += 1;
                    if wrong <= 2 {
                        problems.push(format!("{name}, {what}: {problem}\n    {sentence:?}"));
                    }
                }
            }
            if wrong > 0 {
                problems.push(format!("{name}, {what}: {wrong} of {SENTENCES}"));
            }
        }
    }
    assert!(problems.is_empty(), "of {read} sentences:\n{}", problems.join("\n"));
    Ok(())
}

/// Nothing but JSON announces a call: without offered names there is none.
fn names_must_be_offered(model: &Model) -> bool {
    let tools = &model.spec.tools;
    tools.section_start.trim().is_empty()
        && tools.per_call_start.trim().is_empty()
        && tools.function.name_prefix.trim().is_empty()
}

#[test]
fn what_templates_render_is_accepted() -> Result<(), Failure> {
    let mut problems = Vec::new();
    let (mut calls, mut texts) = (0, 0);
    for model in own_models()? {
        let path = root().join("templates").join(&model.spec.template.file);
        let file = &model.spec.template.file;
        let template = Template::parse(file, &std::fs::read_to_string(path)?)?;
        let (c, t) = rendered(&model, &template, &mut problems)?;
        calls += c;
        texts += t;
    }
    assert!(problems.is_empty(), "of {calls} turns with calls and {texts} without:\n{}", problems.join("\n"));
    assert!(calls > 500 && texts > 500, "{calls} turns with calls and {texts} without");
    Ok(())
}
