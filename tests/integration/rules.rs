//! The rules that tolerate what models write: each is needed, is shown by a case, and is described on the page.

use std::fmt::Write as _;
use std::fs;

use unjinja::Interpreter;
use unjinja_codegen::{RULES, Rule};
use unjinja_testkit::expect;

use crate::support::{CorpusCase, Failure, own_cases, own_models, root};

/// The case that shows a rule.
fn case_of<'c>(rule: &Rule, cases: &'c [CorpusCase]) -> Result<Option<&'c CorpusCase>, Failure> {
    let Some((file, name)) = rule.case.split_once(": ") else { return Ok(None) };
    let shows =
        |case: &&CorpusCase| case.template == format!("{file}.jinja") && case.id.ends_with(&format!(": {name}"));
    Ok(Some(cases.iter().find(shows).ok_or_else(|| format!("{}: no case {:?}", rule.name, rule.case))?))
}

#[test]
fn a_case_fails_without_the_rule_that_it_shows() -> Result<(), Failure> {
    let (models, cases) = (own_models()?, own_cases()?);
    let (mut idle, mut shown) = (Vec::new(), 0);
    for rule in RULES {
        let Some(case) = case_of(rule, &cases)? else { continue };
        let model = models.iter().find(|model| model.is_for(&case.template)).ok_or("a parser without a spec")?;
        shown += 1;
        let parser = Interpreter::new(unjinja_codegen::program_without(&model.spec, rule.name)?);
        if case.case.check(&parser).is_ok() {
            idle.push(format!("{}: {:?} holds without it", rule.name, rule.case));
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
    assert!(shown > 45, "{shown} rules are shown by a case");
    Ok(())
}

#[test]
fn the_page_of_deviations_is_written_from_the_rules() -> Result<(), Failure> {
    let mut table =
        "| rule | what a model writes | how it is read | diagnostic | for example |\n|---|---|---|---|---|\n"
            .to_owned();
    for rule in RULES {
        let diagnostic = rule.diagnostic.map_or(String::new(), |name| format!("`{name}`"));
        let example = match rule.case.split_once(": ") {
            Some((file, name)) => example(&root().join("tests/cases").join(format!("{file}.toml")), name)?,
            None => String::new(),
        };
        writeln!(table, "| {} | {} | {} | {diagnostic} | {example} |", rule.name, cell(rule.written), cell(rule.read))?;
    }
    expect::part(&root().join("docs/deviations.md"), "rules", &table)
}

/// The output of a case, and its message.
fn example(file: &std::path::Path, name: &str) -> Result<String, Failure> {
    let cases: toml::Table = toml::from_str(&fs::read_to_string(file)?)?;
    let cases = cases.get("case").and_then(toml::Value::as_array).ok_or("no cases")?;
    let is_it = |case: &&toml::Value| case.get("name").and_then(toml::Value::as_str) == Some(name);
    let case = cases.iter().find(is_it).ok_or_else(|| format!("no case {name:?}"))?;
    let text = |of: &toml::Value, key: &str| of.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    let mut message: Vec<String> = Vec::new();
    for call in case.get("call").and_then(toml::Value::as_array).into_iter().flatten() {
        message.push(format!(
            "{}({})",
            text(call, "name"),
            [text(call, "arguments"), text(call, "text")].concat().trim()
        ));
    }
    for key in ["reasoning", "content", "unparsed"] {
        let part = text(case, key);
        if !part.is_empty() {
            message.push(format!("{key} {part:?}"));
        }
    }
    let output = text(case, "output");
    Ok(format!("{} → {}", code(output.trim()), code(&message.join(", "))))
}

/// A text as code in a cell of a table.
fn code(text: &str) -> String {
    let text = text.replace('\n', "⏎");
    let fence = if text.contains('`') { "````" } else { "`" };
    let blank = if text.contains('`') { " " } else { "" };
    format!("{fence}{blank}{}{blank}{fence}", cell(&text))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
