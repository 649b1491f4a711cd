//! The linter on all templates of the corpus: how many have each finding, which is a table of `docs/lint.md`, and that faults
//! which other people published are found.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unjinja_lint::{Evidence, Finding, LintOptions, RULES, Severity, lint, syntax_error};
use unjinja_render::{RenderOptions, Template};
use unjinja_testkit::{corpus, expect, root};

type Failure = Box<dyn Error>;

/// The findings of each template, by its file name.
type FindingsByTemplate = BTreeMap<String, Vec<Finding>>;

fn templates(corpus: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for folder in ["templates", "wild/templates", "wide/templates"] {
        for entry in fs::read_dir(corpus.join(folder))? {
            paths.push(entry?.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Lints everything.
fn found(corpus: &Path) -> Result<FindingsByTemplate, Failure> {
    let mut found = FindingsByTemplate::new();
    for path in templates(corpus)? {
        let source = fs::read_to_string(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let findings = match Template::parse(&name, &source) {
            Ok(template) => lint(&template, &LintOptions::default()),
            Err(error) => vec![syntax_error(&error)],
        };
        if found.insert(name.clone(), findings).is_some() {
            return Err(format!("two templates are called {name}").into());
        }
    }
    Ok(found)
}

/// How many templates have a finding of each rule, as a table.
fn table(found: &FindingsByTemplate) -> String {
    let mut table =
        String::from("| rule | at worst | what it finds | errors | warnings | notes |\n|---|---|---|--:|--:|--:|\n");
    for rule in RULES {
        let count = |severity: Severity| {
            let has = |findings: &&Vec<Finding>| findings.iter().any(|f| f.rule == *rule && f.severity == severity);
            match found.values().filter(has).count() {
                0 => String::new(),
                count => count.to_string(),
            }
        };
        let counts = [Severity::Error, Severity::Warning, Severity::Note].map(count).join(" | ");
        let about = rule.about.trim_end_matches('.');
        table.push_str(&format!("| `{}` | {} | {about} | {counts} |\n", rule.id, rule.severity.name()));
    }
    let worst = |severity: Option<Severity>| {
        found.values().filter(|findings| findings.iter().map(|finding| finding.severity).max() == severity).count()
    };
    table.push_str(&format!(
        "\nOf {} templates, {} have an error, {} more have a warning, {} more have only notes, and {} have no finding.\n",
        found.len(),
        worst(Some(Severity::Error)),
        worst(Some(Severity::Warning)),
        worst(Some(Severity::Note)),
        worst(None),
    ));
    table
}

/// One test, because linting everything takes some seconds.
#[test]
fn findings_of_the_corpus() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let found = found(&corpus)?;
    findings_are_complete(&found);
    findings_can_be_repeated(&corpus, &found)?;
    changed_prefixes_are_found(&corpus, &found)?;
    published_faults_are_found(&found)?;
    expect::part(&root().join("docs/lint.md"), "rules", &table(&found))
}

/// Every finding says something, shows it, and is there once.
fn findings_are_complete(found: &FindingsByTemplate) {
    for (template, findings) in found {
        let mut known = BTreeSet::new();
        for finding in findings {
            let what = format!("{template}: {}: {}", finding.rule.id, finding.message);
            assert!(finding.severity <= finding.rule.severity, "{what}");
            assert!(finding.message.ends_with(['.', ')']) && !finding.message.contains('\n'), "{what}");
            // Some gaps are about what no turn shows.
            let shows_nothing =
                finding.rule.id == "syntax-error" || finding.message.contains("no small conversation shows it");
            assert!(finding.evidence.is_some() || shows_nothing, "{what}");
            assert!(known.insert((finding.rule.id, &finding.message)), "twice: {what}");
        }
    }
}

/// Rules whose `actual` is not a piece of the prompt that the conversation makes: it says what a parser reads of it, or what the
/// prompt is at another time.
const NO_PROMPT: &[&str] = &["not-read-back", "value-changed", "value-can-end-early", "date-dependent"];

/// Whoever renders the conversation of a finding with the template alone, as `unjinja render --as jinja2` does, sees what the linter saw.
fn findings_can_be_repeated(corpus: &Path, found: &FindingsByTemplate) -> Result<(), Failure> {
    let mut problems = String::new();
    let (mut repeated, mut placed) = (0, 0);
    for path in templates(corpus)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = fs::read_to_string(&path)?.replace("\r\n", "\n").replace('\r', "\n");
        let Ok(template) = Template::parse(&name, &source) else { continue };
        for finding in found.get(&name).into_iter().flatten() {
            let line = finding.line.map(|line| (line, source.lines().nth(line as usize - 1)));
            if let (Some((line, text)), Some(column)) = (line, finding.column) {
                // A text of white space may begin with the end of its line.
                let width = text.map(|text| text.chars().count() + 1);
                assert!(
                    width.is_some_and(|width| column as usize <= width),
                    "{name}:{line}:{column}: {}",
                    finding.rule.id
                );
                placed += 1;
            }
            let Some(Evidence::Conversation { conversation, actual, .. }) = &finding.evidence else { continue };
            let seen = actual.trim_start_matches('…').trim_end_matches('…');
            let rendered = template.render_with(conversation, &RenderOptions::new());
            let refused = rendered.refused_by_transformers.filter(|_| finding.rule.id == "transformers-refuses");
            let (is_same, rendered) = match rendered.result {
                // The error is that of transformers.
                Ok(_) if refused.is_some() => (refused.is_some_and(|why| actual.ends_with(&why)), actual.clone()),
                // Where a whole prompt is meant, it is between quotes.
                Ok(text) => {
                    let shows = text.contains(seen) || format!("{text:?}") == *actual;
                    (shows || NO_PROMPT.contains(&finding.rule.id), text)
                }
                Err(error) => {
                    let said = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
                    (seen.contains(said.chars().take(200).collect::<String>().trim_end_matches('.')), said)
                }
            };
            repeated += 1;
            if !is_same {
                let rule = finding.rule.id;
                problems.push_str(&format!("{name}: {rule}\n  {conversation}\n  saw {actual}\n  is  {rendered}\n"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
    println!("{repeated} findings have a conversation, and {placed} a place");
    assert!(repeated > 1000 && placed > 1000, "{repeated} {placed}");
    Ok(())
}

/// The test that TRL makes before it trains with tools: the text of a call must be the beginning of the text of the same call and
/// its result. `prefix-changes` finds every template that fails it.
fn changed_prefixes_are_found(corpus: &Path, found: &FindingsByTemplate) -> Result<(), Failure> {
    let calls = json!([{"type": "function", "function": {"name": "dummy", "arguments": {}}}]);
    let user = json!({"role": "user", "content": "dummy"});
    let call = json!({"role": "assistant", "content": "", "tool_calls": calls});
    let result = json!({"role": "tool", "name": "dummy", "content": "dummy"});
    let (mut failed, mut missed) = (0, Vec::new());
    for path in templates(corpus)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(template) = Template::parse(&name, &fs::read_to_string(&path)?) else { continue };
        let text = |messages: &[&Value], prompt: bool| {
            let tokens =
                json!({"messages": messages, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>"});
            template.render(&tokens)
        };
        let (Ok(short), Ok(long)) = (text(&[&user, &call], false), text(&[&user, &call, &result], true)) else {
            continue;
        };
        if long.starts_with(&short) {
            continue;
        }
        failed += 1;
        if !found.get(&name).is_some_and(|findings| findings.iter().any(|finding| finding.rule.id == "prefix-changes"))
        {
            missed.push(format!("{name}\n  {short:?}\n  {long:?}"));
        }
    }
    println!("{failed} templates fail TRL's test of the prefix, and {} of them are missed", missed.len());
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!(failed > 20, "{failed}");
    Ok(())
}

/// Faults that other people published: each line of the file names a template and a rule.
fn published_faults_are_found(found: &FindingsByTemplate) -> Result<(), Failure> {
    let published = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint/published.tsv"))?;
    for line in published.lines().filter(|line| !line.starts_with('#')) {
        let (template, rule) = line.split_once('\t').ok_or("two columns")?;
        let findings = found.get(template).ok_or_else(|| format!("no template {template}"))?;
        assert!(findings.iter().any(|finding| finding.rule.id == rule), "{template}: no {rule}");
    }
    Ok(())
}
