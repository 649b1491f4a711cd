//! The cases: templates of our own with outputs that show one thing each, and random texts made of their markers; the templates
//! that transformers ships, read from the installed package, with outputs of models. Each comes whole and in random pieces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use unjinja_analyzer::verify_after_results;
use unjinja_export::response_template::{attempts_after, export};
use unjinja_render::Template;
use unjinja_testkit::Failure;
use unjinja_testkit::random::Random;

use super::python::Reader;
use crate::exports::specs;

/// How many random texts each template of our own gets.
const RANDOM: usize = 100;
/// Of how many turns of the corpus one is taken.
const TURNS: usize = 39;

/// One output of one template.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub template: Json,
    pub prompt: String,
    pub chunks: Vec<String>,
    pub tools: Vec<Json>,
}

/// Turns after results of calls, with the exports of all supported models.
pub fn after_results() -> Result<Vec<Case>, Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(Vec::new()) };
    let mut cases = Vec::new();
    for spec in specs()? {
        let text = unjinja_testkit::released_template(&corpus, &spec.template.sha256)?;
        let verification = verify_after_results(&Template::parse(&spec.template.file, &text)?, &spec, 4, 1);
        let template = export(&spec, &verification)?.json;
        for attempt in verification.after_results.iter().flat_map(|after| attempts_after(&spec, after)) {
            let chunks = attempt.pieces.iter().map(|piece| (*piece).to_owned()).collect();
            let name = format!("{} after a result", spec.template.name);
            cases.push(Case { name, template: template.clone(), prompt: attempt.prompt, chunks, tools: attempt.tools });
        }
    }
    Ok(cases)
}

/// A template that must be refused.
#[derive(Deserialize)]
pub struct Refused {
    pub place: String,
    pub template: Json,
    /// Ours refuses it, the readers notice the mistake later or never.
    #[serde(default)]
    pub stricter: bool,
}

#[derive(Deserialize)]
struct File {
    tools: Vec<Json>,
    words: Vec<String>,
    templates: Vec<Own>,
    refused: Vec<Refused>,
    /// For which chat templates of the corpus transformers ships a template, by its name there.
    shipped: BTreeMap<String, Vec<String>>,
}

/// A template of our own.
#[derive(Deserialize)]
struct Own {
    name: String,
    template: Json,
    outputs: Vec<String>,
}

/// All cases.
pub struct Cases {
    tools: Vec<Json>,
    words: Vec<String>,
    own: Vec<Own>,
    corpus: Vec<(String, String, Vec<Json>)>,
}

fn file() -> Result<File, Failure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/cases.json");
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// The templates that must be refused.
pub fn refused() -> Result<Vec<Refused>, Failure> {
    Ok(file()?.refused)
}

/// For which chat templates of the corpus transformers ships a template.
pub fn shipped() -> Result<BTreeMap<String, Vec<String>>, Failure> {
    Ok(file()?.shipped)
}

impl Cases {
    pub fn load(reader: &mut Reader) -> Result<Self, Failure> {
        let File { tools, words, mut templates, .. } = file()?;
        let shipped = reader.ask(&json!("list"))?;
        for name in shipped["shipped"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            let template = reader.ask(&json!({"shipped": name}))?["template"].take();
            templates.push(Own { name: name.to_owned(), template, outputs: Vec::new() });
        }
        Ok(Self { tools, words, own: templates, corpus: corpus()? })
    }

    /// All cases: each output whole and in pieces.
    pub fn all(&self) -> Vec<Case> {
        let mut all = Vec::new();
        for (number, own) in self.own.iter().enumerate() {
            let random = &mut Random::new(number as u64);
            let pieces: Vec<String> = markers(&own.template).into_iter().chain(self.words.iter().cloned()).collect();
            let made = (0..RANDOM)
                .map(|_| (0..1 + random.below(10)).map(|_| random.pick(&pieces).as_str()).collect::<String>());
            let outputs: Vec<String> = own.outputs.iter().cloned().chain(made.collect::<Vec<String>>()).collect();
            for output in outputs {
                let prompt = if random.once_in(3) { format!("u<a>{}", random.pick(&pieces)) } else { String::new() };
                all.push(self.case(own, &prompt, vec![output.clone()]));
                all.push(self.case(own, &prompt, cut(&output, random)));
            }
            if own.outputs.is_empty() {
                for (id, output, tools) in &self.corpus {
                    let name = format!("{} {id}", own.name);
                    let case = |chunks| Case {
                        name: name.clone(),
                        chunks,
                        tools: tools.clone(),
                        ..self.case(own, "", Vec::new())
                    };
                    all.push(case(vec![output.clone()]));
                    all.push(case(cut(output, random)));
                }
            }
        }
        all
    }

    fn case(&self, own: &Own, prompt: &str, chunks: Vec<String>) -> Case {
        Case {
            name: own.name.clone(),
            template: own.template.clone(),
            prompt: prompt.to_owned(),
            chunks,
            tools: self.tools.clone(),
        }
    }
}

/// The outputs of the corpus, and some of its turns, with the tools that were offered.
fn corpus() -> Result<Vec<(String, String, Vec<Json>)>, Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(Vec::new()) };
    let named: Json = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let mut all = Vec::new();
    for (file, step) in [("outputs.jsonl", 1), ("turns.jsonl", TURNS)] {
        for line in fs::read_to_string(corpus.join(file))?.lines().step_by(step) {
            let row: Json = serde_json::from_str(line)?;
            let tools = match &row["tools"] {
                Json::String(name) => named[name].as_array().cloned(),
                tools => tools.as_array().cloned(),
            };
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            all.push((text("id"), text("output"), tools.unwrap_or_default()));
        }
    }
    Ok(all)
}

/// The markers of a template: its literal texts, and its patterns as plain text.
fn markers(template: &Json) -> Vec<String> {
    let mut all = BTreeSet::new();
    let mut add = |json: &Json| {
        for text in json.as_str().into_iter().chain(json.as_array().into_iter().flatten().filter_map(Json::as_str)) {
            for part in text.split('|').flat_map(|part| part.split("\\s*")) {
                let plain: String = part.replace("\\n?", "\n").replace("(?P<name>", "").replace("\\|", "|");
                let plain = plain
                    .replace("(?P=name)", "f")
                    .replace("\\w+", "f")
                    .replace("[^>\\n]+", "f")
                    .replace("[\\w.]+", "g.x");
                let plain: String = plain.chars().filter(|char| !"\\()?+*^$".contains(*char)).collect();
                all.insert(plain);
            }
        }
    };
    add(&template["start_anchor"]);
    for field in template["fields"].as_object().into_iter().flat_map(|fields| fields.values()) {
        for key in ["open", "open_pattern", "close", "close_pattern"] {
            add(&field[key]);
        }
        if let Some(pattern) = field.pointer("/content_args/tag_pattern").and_then(Json::as_str) {
            add(&json!(pattern.replace("(?P<key>", "").replace("(?P<value>.*?)", "|").replace("[^>\\n]+", "a")));
        }
    }
    all.into_iter().collect()
}

/// A text in random pieces.
fn cut(text: &str, random: &mut Random) -> Vec<String> {
    let longest = *random.pick(&[1, 3, 8, 40]);
    let (mut pieces, mut piece, mut left) = (Vec::new(), String::new(), 1 + random.below(longest));
    for char in text.chars() {
        piece.push(char);
        left -= 1;
        if left == 0 {
            pieces.push(std::mem::take(&mut piece));
            left = 1 + random.below(longest);
        }
    }
    pieces.push(piece);
    pieces
}
