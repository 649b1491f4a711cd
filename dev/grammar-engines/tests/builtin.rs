//! What our structural tags and those of xgrammar's own Python package accept of each other, for the models that the package
//! knows: the file `builtin.expected`. `docs/grammars.md` explains the differences.
//!
//! The test needs a Python with pydantic, and the unpacked package; `.ci/engines` provides both. Where they are not named, the test
//! is skipped.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};
use support::{Engines, Failure, models};
use unjinja_grammar::{GrammarExt, GrammarOptions, Target, ToolChoice};
use unjinja_grammar_engines::{Verdict, xgrammar::Compiled};
use unjinja_runtime::{ChatParser, Tools};
use unjinja_testkit::expect;
use unjinja_testkit::grammars::turn_options;
use unjinja_testkit::random::Random;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    model: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    key: String,
    names: Vec<String>,
}

/// How many texts are drawn from each built-in tag.
const DRAWN: usize = 12;

/// The built-in tags for these tools.
fn tags_of(key: &str, tools: &[Value], choice: &str) -> Result<Option<Vec<String>>, Failure> {
    let (Ok(python), Ok(package)) = (std::env::var("XGRAMMAR_PYTHON"), std::env::var("XGRAMMAR_PACKAGE")) else {
        return Ok(None);
    };
    let mut process = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/builtin_tags.py"))
        .arg(package)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let line = json!({"model": key, "tools": tools, "tool_choice": choice}).to_string();
    process.stdin.take().ok_or("no input")?.write_all(line.as_bytes())?;
    let output = process.wait_with_output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let tags: Vec<String> = serde_json::from_value(answer["tags"].clone())?;
    if tags.is_empty() { Err(format!("{key}: {}", answer["why"]).into()) } else { Ok(Some(tags)) }
}

/// What one of the tags accepts, and else the text from the last place on that any of them reaches.
fn refused_at(tags: &[Compiled<'_>], text: &str) -> Option<String> {
    let mut furthest = 0;
    for tag in tags {
        match tag.read(text) {
            Verdict::Complete => return None,
            Verdict::Unfinished => furthest = text.len(),
            Verdict::Refused(at) => furthest = furthest.max(at),
        }
    }
    let from = (0..=furthest.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before: String = text[..from].chars().rev().take(24).collect::<Vec<_>>().into_iter().rev().collect();
    let after: String = text[from..].chars().take(12).collect();
    Some(format!("{before:?} then {after:?}"))
}

#[test]
fn built_in_tags_and_ours() -> Result<(), Failure> {
    if std::env::var_os("XGRAMMAR_PYTHON").is_none() {
        eprintln!("SKIPPED: no package of xgrammar named; run .ci/engines");
        return Ok(());
    }
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let engines = Engines::new()?;
    let table: Table = toml::from_str(include_str!("builtin.toml"))?;
    let models = models()?;
    let offered: Value = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let turns = fs::read_to_string(corpus.join("turns.jsonl"))?;
    let rows: Vec<Value> = turns.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let (mut found, mut details, mut random) = (String::new(), String::new(), Random::new(23));
    for model in &table.model {
        for name in &model.names {
            let parser =
                models.iter().find(|known| known.info().name == *name).ok_or_else(|| format!("no model {name}"))?;
            let is_own = |row: &&Value| {
                row["folder"] == "templates" && parser.info().files.iter().any(|file| row["template"] == **file)
            };
            // The turns that the template writes.
            let mut built: BTreeMap<String, Vec<Compiled<'_>>> = BTreeMap::new();
            let (mut count, mut ours, mut theirs) = ([0, 0], [0, 0], [0, 0]);
            for row in rows.iter().filter(is_own) {
                let tools = row["tools"].as_str().map_or(&row["tools"], |name| &offered[name]);
                let Some(list) = tools.as_array().filter(|tools| !tools.is_empty()) else { continue };
                let text = row["output"].as_str().ok_or("no output")?;
                let kind = usize::from(row["expect"]["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()));
                count[kind] += 1;
                let options = turn_options(row).target(Target::XGrammar);
                let tag = parser.grammar(&Tools::from_openai(tools)?, &options)?.text;
                ours[kind] += usize::from(engines.xgrammar.compile(&tag)?.read(text) == Verdict::Complete);
                let key = tools.to_string();
                if !built.contains_key(&key) {
                    let tags = tags_of(&model.key, list, "auto")?.ok_or("no tags")?;
                    let tags = tags.iter().map(|tag| engines.xgrammar.compile(tag)).collect::<Result<_, _>>()?;
                    built.insert(key.clone(), tags);
                }
                match refused_at(&built[&key], text) {
                    None => theirs[kind] += 1,
                    Some(place) => writeln!(details, "{name}: the built-in tags refuse {place} of {}", row["id"])?,
                }
            }
            // Calls that the built-in tags allow where one is required.
            let tool = json!({"type": "function", "function": {"name": "get_weather", "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city", "days"],
                "additionalProperties": false
            }}});
            let required = GrammarOptions::new().tool_choice(ToolChoice::Required).target(Target::XGrammar);
            let tools = Tools::from_openai(&json!([tool.clone()]))?;
            let own: Vec<Compiled<'_>> = [None, Some(true), Some(false)]
                .into_iter()
                .filter_map(|thinking| {
                    let options = match thinking {
                        Some(on) => required.clone().thinking(on),
                        None => required.clone(),
                    };
                    parser.grammar(&tools, &options).ok()
                })
                .map(|grammar| engines.xgrammar.compile(&grammar.text))
                .collect::<Result<_, _>>()?;
            let (mut drawn, mut accepted, mut parsed) = (0, 0, 0);
            for tag in tags_of(&model.key, &[tool], "required")?.ok_or("no tags")? {
                let tag = engines.xgrammar.compile(&tag)?;
                for _ in 0..DRAWN {
                    let Ok(Some(text)) = tag.sample("", 8, |most| random.below(most)) else { continue };
                    drawn += 1;
                    parsed += usize::from(
                        !parser
                            .parse(text.as_str().into(), &unjinja_runtime::Options::new().tools(&tools))
                            .tool_calls
                            .is_empty(),
                    );
                    match refused_at(&own, &text) {
                        None => accepted += 1,
                        Some(place) => writeln!(details, "{name}: ours refuse {place}, drawn from a built-in tag")?,
                    }
                }
            }
            let [plain, calls] = count;
            writeln!(
                found,
                "{} {name}: of {calls} turns with calls, ours accept {}, built-in {}; of {plain} without, ours {}, built-in {}; \
                 of {drawn} drawn from built-in, ours accept {accepted}, the parser reads a call in {parsed}",
                model.key, ours[1], theirs[1], ours[0], theirs[0]
            )?;
        }
    }
    if let Some(path) = std::env::var_os("BUILTIN_DETAILS") {
        fs::write(path, details)?;
    }
    println!("{found}");
    expect::file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/builtin.expected"), &found)?;
    Ok(())
}
