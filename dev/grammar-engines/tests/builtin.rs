//! What our structural tags and those of xgrammar's own Python package accept of each other, for the models that the package
//! knows. `builtin.toml` explains every difference; the figures are a part of `docs/lab/grammars.md`.
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
use support::{Engines, Failure, markers, models};
use unjinja_grammar::{GrammarError, GrammarExt, GrammarOptions, Target, ToolChoice, WhiteSpace};
use unjinja_grammar_engines::{Verdict, xgrammar::Compiled};
use unjinja_runtime::{ChatParser, Interpreter, Options, Tools};
use unjinja_testkit::expect;
use unjinja_testkit::grammars::turn_options;
use unjinja_testkit::random::Random;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    model: Vec<Model>,
    difference: Vec<Difference>,
}

/// A key of the package, and supported models that write its format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    key: String,
    names: Vec<String>,
    /// Markers of the key that neither the tag spells nor the models write: they help to draw texts.
    #[serde(default)]
    endings: Vec<String>,
}

/// Why a text is refused by one side and accepted by the other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    keys: Vec<String>,
    refused_by: Side,
    /// How the text before the refused place ends: one of these.
    #[serde(default)]
    before: Vec<String>,
    /// How the text after the refused place begins: one of these.
    #[serde(default)]
    after: Vec<String>,
    /// The refused place is before the first of one of these.
    #[serde(default)]
    until: Vec<String>,
    /// Whether the text ends there, and the tag demands more.
    ends: Option<bool>,
    why: String,
    #[serde(skip)]
    found: usize,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Side {
    #[serde(rename = "built-in")]
    BuiltIn,
    #[serde(rename = "ours")]
    Ours,
}

impl Difference {
    fn explains(&self, key: &str, side: Side, [before, after]: &[String; 2]) -> bool {
        self.keys.iter().any(|known| known == key)
            && self.refused_by == side
            && (self.before.is_empty() || self.before.iter().any(|end| before.ends_with(end)))
            && (self.after.is_empty() || self.after.iter().any(|begin| after.starts_with(begin)))
            && (self.until.is_empty() || self.until.iter().any(|end| after.contains(end) && !before.contains(end)))
            && self.ends.is_none_or(|ends| ends == after.is_empty())
    }
}

/// How many texts are drawn from each built-in tag.
const DRAWN: usize = 12;

/// Which built-in tags are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The model decides. Arguments in any order, any amount of white space: the most that the package accepts.
    Auto,
    /// A call is required. Arguments in the order of the schema and little white space, so that a text which is drawn from the
    /// tag shows other differences than these two.
    Required,
}

/// The built-in tags for these tools, for all settings of reasoning. `None` if no package is named.
fn built_in(key: &str, tools: &[Value], asked: Asked) -> Result<Option<Vec<String>>, Failure> {
    let (Ok(python), Ok(package)) = (std::env::var("XGRAMMAR_PYTHON"), std::env::var("XGRAMMAR_PACKAGE")) else {
        return Ok(None);
    };
    let mut process = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/builtin_tags.py"))
        .arg(package)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let options = match asked {
        Asked::Auto => json!({"tool_choice": "auto", "any_order": true, "max_whitespace_cnt": null}),
        Asked::Required => json!({"tool_choice": "required", "any_order": false, "max_whitespace_cnt": 1}),
    };
    let line = json!({"model": key, "tools": tools, "options": options}).to_string();
    process.stdin.take().ok_or("no input")?.write_all(line.as_bytes())?;
    let output = process.wait_with_output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let tags: Vec<String> = serde_json::from_value(answer["tags"].clone())?;
    if tags.is_empty() { Err(format!("{key}: {}", answer["why"]).into()) } else { Ok(Some(tags)) }
}

fn compiled<'e>(engines: &'e Engines, tags: &[String]) -> Result<Vec<Compiled<'e>>, String> {
    tags.iter().map(|tag| engines.xgrammar.compile(tag)).collect()
}

/// Where the tags refuse a text that none of them accepts: the text before and after that place. Of several places it is the
/// last one.
fn refused_at(side: Side, tags: &[Compiled<'_>], text: &str) -> Option<[String; 2]> {
    let mut furthest = None;
    for tag in tags {
        match tag.read(text) {
            Verdict::Complete => return None,
            // For some settings, the package has tags that demand reasoning. That they wait for its end says nothing about the text.
            Verdict::Unfinished if side == Side::BuiltIn => {}
            Verdict::Unfinished => furthest = Some(text.len()),
            Verdict::Refused(at) => furthest = furthest.max(Some(at)),
        }
    }
    let furthest = furthest.unwrap_or(text.len());
    let from = (0..=furthest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (before, after) = text.split_at(from);
    Some([before.to_owned(), after.to_owned()])
}

/// The texts that a tag spells after its beginning.
fn spelled(tag: &Value, texts: &mut Vec<String>) {
    match tag {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if ["end", "value", "separator"].contains(&&**name) => texts.push(text.clone()),
                    // Schemas are not texts.
                    value if name != "json_schema" => spelled(value, texts),
                    _ => {}
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| spelled(value, texts)),
        _ => {}
    }
}

/// What was found for a model.
struct Comparison<'t> {
    key: &'t str,
    endings: &'t [String],
    differences: &'t mut [Difference],
    /// Refusals that nothing explains.
    unexplained: String,
}

impl Comparison<'_> {
    /// Counts a text, and explains why it was refused. Whether it was accepted.
    fn accepted(&mut self, side: Side, tags: &[Compiled<'_>], text: &str) -> usize {
        let Some(place) = refused_at(side, tags, text) else { return 1 };
        match self.differences.iter_mut().find(|difference| difference.explains(self.key, side, &place)) {
            Some(difference) => difference.found += 1,
            None => {
                let [before, after] = &place;
                let _ = writeln!(self.unexplained, "{}: {side:?}: {before:?} then {after:?}", self.key);
            }
        }
        0
    }

    /// The turns that the template writes: with calls and without, and how many of each ours and the built-in tags accept.
    fn turns(&mut self, engines: &Engines, parser: &Interpreter, corpus: &Corpus) -> Result<[[usize; 3]; 2], Failure> {
        let mut built: BTreeMap<String, Vec<Compiled<'_>>> = BTreeMap::new();
        let mut counts = [[0; 3]; 2];
        for row in corpus.rows_of(parser) {
            let tools = row["tools"].as_str().map_or(&row["tools"], |name| &corpus.tools[name]);
            let Some(list) = tools.as_array().filter(|tools| !tools.is_empty()) else { continue };
            let text = row["output"].as_str().ok_or("no output")?;
            let calls = row["expect"]["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
            let [count, ours, theirs] = &mut counts[usize::from(!calls)];
            let own = parser.grammar(&Tools::from_openai(tools)?, &turn_options(row).target(Target::XGrammar))?.text;
            let key = tools.to_string();
            if !built.contains_key(&key) {
                let tags = built_in(self.key, list, Asked::Auto)?.ok_or("no tags")?;
                built.insert(key.clone(), compiled(engines, &tags)?);
            }
            *count += 1;
            *ours += self.accepted(Side::Ours, &compiled(engines, &[own])?, text);
            *theirs += self.accepted(Side::BuiltIn, &built[&key], text);
        }
        Ok(counts)
    }

    /// Calls that the built-in tags allow where one is required: how many were drawn, how many of them ours accept, and in how
    /// many the parser reads a call.
    fn drawn(&mut self, engines: &Engines, parser: &Interpreter, random: &mut Random) -> Result<[usize; 3], Failure> {
        let tool = json!({"type": "function", "function": {"name": "get_weather", "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
            "additionalProperties": false
        }}});
        let tools = Tools::from_openai(&json!([tool.clone()]))?;
        let required = GrammarOptions::new()
            .tool_choice(ToolChoice::Required)
            // By default ours allows less white space than any tag of the package.
            .white_space(WhiteSpace::Free)
            .target(Target::XGrammar);
        let prompts = [required.clone(), required.clone().thinking(true), required.thinking(false)];
        let own = prompts.iter().map(|options| Ok(parser.grammar(&tools, options)?.text));
        let own = compiled(engines, &own.collect::<Result<Vec<_>, GrammarError>>()?)?;
        let [mut drawn, mut ours, mut read] = [0; 3];
        for tag in built_in(self.key, &[tool], Asked::Required)?.ok_or("no tags")? {
            let mut endings = [markers(parser), self.endings.to_vec()].concat();
            spelled(&serde_json::from_str(&tag)?, &mut endings);
            let tag = engines.xgrammar.compile(&tag)?;
            for _ in 0..DRAWN {
                let Ok(Some(text)) = tag.sample("", 8, &endings, |most| random.below(most)) else { continue };
                drawn += 1;
                ours += self.accepted(Side::Ours, &own, &text);
                let message = parser.parse(text.as_str().into(), &Options::new().tools(&tools));
                read += usize::from(!message.tool_calls.is_empty());
            }
        }
        Ok([drawn, ours, read])
    }
}

/// The turns of the corpus, and the tools that they were offered.
struct Corpus {
    rows: Vec<Value>,
    tools: Value,
}

impl Corpus {
    fn read() -> Result<Option<Self>, Failure> {
        let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(None) };
        let turns = fs::read_to_string(corpus.join("turns.jsonl"))?;
        let rows = turns.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Some(Self { rows, tools: serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)? }))
    }

    fn rows_of(&self, parser: &Interpreter) -> impl Iterator<Item = &Value> {
        let files = &parser.info().files;
        self.rows
            .iter()
            .filter(move |row| row["folder"] == "templates" && files.iter().any(|file| row["template"] == **file))
    }
}

#[test]
fn every_difference_is_explained() -> Result<(), Failure> {
    if std::env::var_os("XGRAMMAR_PYTHON").is_none() {
        return unjinja_testkit::skip(
            "XGRAMMAR_PYTHON names no Python: run .ci/engines",
            ("UNJINJA_ENGINES", "required"),
        );
    }
    let Some(corpus) = Corpus::read()? else { return Ok(()) };
    let engines = Engines::new()?;
    let Table { model: asked, mut difference } = toml::from_str(include_str!("builtin.toml"))?;
    let (models, mut random, mut unexplained) = (models()?, Random::new(23), String::new());
    let mut figures = String::from(
        "\n| key | model | turns with calls | ours | built-in | turns without | ours | built-in | drawn from built-in | ours | read as calls |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for Model { key, names, endings } in &asked {
        for name in names {
            let parser = models.iter().find(|known| known.info().name == *name);
            let parser = parser.ok_or_else(|| format!("no model {name}"))?;
            let mut comparison = Comparison { key, endings, differences: &mut difference, unexplained: String::new() };
            let [calls, plain] = comparison.turns(&engines, parser, &corpus)?;
            let drawn = comparison.drawn(&engines, parser, &mut random)?;
            unexplained += &comparison.unexplained;
            let cells = [calls, plain, drawn].concat().iter().map(|count| format!(" {count} |")).collect::<String>();
            writeln!(figures, "| `{key}` | {} |{cells}", name.replace('_', "\\_"))?;
        }
    }
    figures.push_str("\n| refused by | keys | texts | why |\n|---|---|---|---|\n");
    for Difference { keys, refused_by, why, found, .. } in &difference {
        let side = if *refused_by == Side::Ours { "ours" } else { "built-in" };
        writeln!(figures, "| {side} | `{}` | {found} | {} |", keys.join("`, `"), why.replace('|', "\\|"))?;
        if *found == 0 {
            writeln!(unexplained, "this explains nothing: {why}")?;
        }
    }
    figures.push('\n');
    println!("{figures}");
    assert!(unexplained.is_empty(), "{} differences:\n{unexplained}", unexplained.lines().count());
    expect::part(&unjinja_testkit::root().join("docs/lab/grammars.md"), "built-in tags", &figures)
}
