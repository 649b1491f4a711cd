//! The turns of the corpus that call tools, and the grammars that must accept them. The engine of llama.cpp and our own
//! checker of grammars judge the same turns.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use unjinja::{Interpreter, Tools};
use unjinja_codegen::interpreter;
use unjinja_dynamic::{Input, Loader, Source};
use unjinja_grammar::{Grammar, Target, grammar};
use unjinja_spec::{FormatSpec, Status};

use crate::grammars::turn_options;
use crate::{Failure, analyses, sample};

/// The folders of templates, and their names in the turns.
const FOLDERS: [(&str, &str); 4] =
    [("templates", "templates"), ("wild", "wild/templates"), ("wide", "wide/templates"), ("late", "late/templates")];

/// Templates by folder and file: the text, and the spec, which is absent where a template cannot be analysed.
pub type Specs = BTreeMap<(String, String), (String, Option<FormatSpec>)>;

/// One in so many templates of the corpus is tried in the gate: by all tests the same, because analyses are kept.
pub const ONE_IN: usize = 8;

/// The specs of a sample, one in `n` templates, and of all where the tests run whole.
///
/// # Errors
///
/// The corpus cannot be read.
pub fn sampled_specs(corpus: &Path, n: usize) -> Result<Specs, Failure> {
    let mut sources = Vec::new();
    for (name, folder) in FOLDERS {
        for entry in fs::read_dir(corpus.join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jinja") {
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                sources.push(((name.to_owned(), file), fs::read_to_string(path)?));
            }
        }
    }
    sources.sort();
    let sources: Vec<_> = sample(sources, n).collect();
    let loader = Loader::new().without_known_formats().only_given_overlays().cache(analyses()?);
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Specs::new()));
    let work = || {
        while let Some((key, source)) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
            let input = Input::source(Source::from_text(&key.1, source));
            let spec = loader.load(input).ok().map(|loaded| loaded.spec);
            if let Ok(mut found) = found.lock() {
                found.insert(key.clone(), (source.clone(), spec));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    Ok(found.into_inner()?)
}

/// The turns of the corpus: a template, what it writes for a message, and the message.
///
/// # Errors
///
/// The corpus cannot be read.
pub fn turns(corpus: &Path) -> Result<Vec<Value>, Failure> {
    let mut rows = Vec::new();
    for file in ["turns.jsonl", "turns_late.jsonl"] {
        for line in fs::read_to_string(corpus.join(file))?.lines() {
            rows.push(serde_json::from_str(line)?);
        }
    }
    Ok(rows)
}

/// Templates whose grammar refuses some of the turns with calls that the template writes: how many at most, and why.
const REFUSED: &[(&str, usize, &str)] = &[
    (
        "command-a-reasoning-08-2025.jinja",
        1,
        "the template writes arguments given as text as a string, against the schema",
    ),
    (
        "deepseekr1-vllm-habanaai.jinja",
        60,
        "the template writes blanks between calls, which only `WhiteSpace::Free` allows",
    ),
    ("jamba-axolotl-3084.jinja", 20, "the same"),
    ("jamba-axolotl.jinja", 20, "the same"),
    (
        "jinjatemplates-js7-node-llama-cpp.jinja",
        1,
        "the template writes a text between quotes without escaping those in it",
    ),
];

/// What was found about the turns with calls.
#[derive(Debug, Default)]
pub struct Judged {
    /// The number of turns that are accepted.
    pub accepted: usize,
    /// The number of turns that are refused.
    pub refused: usize,
    /// Templates of which more turns are refused than is known.
    pub new: Vec<String>,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} turns with calls are accepted, {} refused", self.accepted, self.refused)
    }
}

/// Makes the grammar of turns with calls whose template is supported: of a sample of templates, and of all where the tests run whole. `refuses` says why a grammar does not accept an
/// output.
///
/// # Errors
///
/// The corpus cannot be read, or `refuses` fails.
pub fn judge(
    corpus: &Path,
    refuses: impl Fn(&Grammar, &str) -> Result<Option<String>, Failure>,
) -> Result<Judged, Failure> {
    judge_for(Target::Gbnf, corpus, refuses)
}

/// Like [`judge`], with grammars for this engine.
///
/// # Errors
///
/// The corpus cannot be read, or `refuses` fails.
pub fn judge_for(
    target: Target,
    corpus: &Path,
    refuses: impl Fn(&Grammar, &str) -> Result<Option<String>, Failure>,
) -> Result<Judged, Failure> {
    let parsers: BTreeMap<_, Interpreter> = sampled_specs(corpus, ONE_IN)?
        .into_iter()
        .filter(|(_, (_, spec))| spec.as_ref().is_some_and(|spec| spec.status == Status::Supported))
        .filter_map(|(key, (_, spec))| Some((key, interpreter(&spec?).ok()?)))
        .collect();
    let tools: Value = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let (mut judged, mut refused) = (Judged::default(), BTreeMap::<String, (usize, String)>::new());
    let with_calls =
        turns(corpus)?.into_iter().filter(|row| !row["expect"]["tool_calls"].as_array().is_none_or(Vec::is_empty));
    for row in with_calls {
        let [folder, file, output] = ["folder", "template", "output"].map(|key| row[key].as_str().unwrap_or(""));
        let Some(parser) = parsers.get(&(folder.to_owned(), file.to_owned())) else { continue };
        let offered = row["tools"].as_str().map_or(&row["tools"], |name| &tools[name]);
        let why =
            match grammar(parser.program(), Some(&Tools::from_openai(offered)?), &turn_options(&row).target(target)) {
                Err(error) => Some(error.to_string()),
                Ok(grammar) => refuses(&grammar, output)?,
            };
        match why {
            None => judged.accepted += 1,
            Some(why) => {
                judged.refused += 1;
                refused.entry(file.to_owned()).or_insert_with(|| (0, format!("{}: {why}", row["id"]))).0 += 1;
            }
        }
    }
    let most = |file: &str| REFUSED.iter().find(|(known, ..)| *known == file).map_or(0, |(_, most, _)| *most);
    let new = refused.iter().filter(|(file, (count, _))| *count > most(file));
    judged.new = new.map(|(file, (count, first))| format!("{file}: {count} turns, among them\n    {first}")).collect();
    Ok(judged)
}
