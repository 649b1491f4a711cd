//! The package `renderers`: its fixtures of stable prefixes, what its parsers read, and what its renderers take for written by the model,
//! beside ours. `dev/token-oracles/renderers_fixtures.py` and `renderers_parses.py` write them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unjinja_dynamic::{Conversation, Message, Model, Options, Tools};
use unjinja_spec::{FormatSpec, ReasoningMode, tags};
use unjinja_testkit::corpus;
use unjinja_tokens::Encoder;

use crate::Failure;
use crate::byte_level::of_bytes;
use crate::rows::{self, Tally, oracles, text, with_added};

/// The templates that renderers stand for.
struct Templates {
    corpus: PathBuf,
    trl: PathBuf,
    /// The name in a configuration, the class, and the path.
    list: Vec<[&'static str; 3]>,
}

impl Templates {
    fn new(corpus: PathBuf, oracles: &Path) -> Result<Self, Failure> {
        let mut list = Vec::new();
        for line in include_str!("renderers.tsv").lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            list.push(fields.try_into().map_err(|fields| format!("not three fields: {fields:?}"))?);
        }
        Ok(Self { corpus, trl: oracles.join("masks/templates"), list })
    }

    /// The path of a template, and its text.
    fn of(&self, is_it: impl Fn(&[&'static str; 3]) -> bool) -> Result<Option<(&'static str, String)>, Failure> {
        let Some([.., path]) = self.list.iter().find(|fields| is_it(fields)) else { return Ok(None) };
        let file = match path.strip_prefix("trl/") {
            Some(name) => self.trl.join(name),
            None => self.corpus.join(path),
        };
        Ok(Some((path, fs::read_to_string(file)?)))
    }
}

/// Whether a conversation only grows: `prefix_stability.json` of the package.
#[test]
fn prefixes_are_stable_where_renderers_are() -> Result<(), Failure> {
    let (Some(oracles), Some(corpus)) = (oracles("renderers/prefix_stability.jsonl")?, corpus()?) else {
        return Ok(());
    };
    let templates = Templates::new(corpus, &oracles)?;
    let mut tally = Tally::default();
    for row in rows::rows(&oracles.join("renderers/prefix_stability.jsonl"))? {
        let id = text(&row, "id");
        let name = text(&row["config"], "name");
        let name = if id.ends_with("-super") { "nemotron-3-super" } else { name };
        let Some((_, source)) = templates.of(|fields| fields[0] == name)? else {
            tally.count("no template", || id.to_owned());
            continue;
        };
        let added: Vec<_> = tags(&source).into_iter().map(|tag| (tag.to_owned(), true)).collect();
        let encoder = Encoder::new(Model::from_template(&source)?, of_bytes(&added)?.again()?);
        let list = |name: &str| row[name].as_array().cloned().unwrap_or_default();
        let (before, all) = (list("messages"), [list("messages"), list("append")].concat());
        let mut conversation = Conversation::new(all).tools(row["tools"].clone());
        for (name, value) in row["config"].as_object().into_iter().flatten().filter(|(name, _)| *name != "name") {
            conversation = conversation.variable(name, value.clone());
        }
        let rewrite = encoder.rewrite(&conversation)?;
        let done = conversation.clone().with_messages(before.clone()).generation_prompt(false);
        let done = encoder.model().render(&done)?;
        let grown = encoder.model().render(&conversation.clone().generation_prompt(false))?;
        let prompt = encoder.model().render(&conversation.with_messages(&before[..1]).generation_prompt(true))?;
        let (theirs, template) = (row["stable"] == true, grown.starts_with(&done));
        let example = || format!("{id}: {rewrite:?}");
        match &rewrite {
            None if theirs => tally.count("stable for both", example),
            Some(_) if !theirs => tally.count("rewritten for both", example),
            // The fixture renders whole turns alone.
            Some(rewrite) if template && !done.starts_with(&prompt) && rewrite.at < prompt.len() => {
                tally.count("rewritten for us alone: the prompt, which has another beginning of the turn", example);
            }
            _ if template != theirs && template == rewrite.is_none() => {
                tally.count(&format!("another template than that of the renderer: {id}"), example);
            }
            _ => tally.unexplained(format!("{}\n    {done:?}\n    {grown:?}", example())),
        }
    }
    tally.check("prefixes")
}

/// What a parser of the package reads of a turn, and what ours reads.
#[test]
fn turns_are_read_as_renderers_do() -> Result<(), Failure> {
    let (Some(oracles), Some(corpus)) = (oracles("renderers/parses.jsonl")?, corpus()?) else { return Ok(()) };
    let templates = Templates::new(corpus, &oracles)?;
    let (mut tally, mut encoders) = (Tally::default(), BTreeMap::new());
    for row in rows::rows(&oracles.join("renderers/parses.jsonl"))? {
        let renderer = text(&row, "renderer");
        let Some((path, source)) = templates.of(|fields| fields[1] == renderer)? else {
            tally.count("no template", || renderer.to_owned());
            continue;
        };
        let key = format!("{path} {} {}", row["tokenizer"], row["added"]);
        if !encoders.contains_key(&key) {
            let vocabulary = with_added(&oracles.join("tokenizers").join(text(&row, "tokenizer")), &row["added"])?;
            encoders.insert(key.clone(), Encoder::new(Model::from_template(&source)?, vocabulary));
        }
        let Some(encoder) = encoders.get(&key) else { continue };
        let mut options = Options::new();
        if let Ok(tools) = Tools::from_openai(&row["tools"]) {
            options = options.tools(&tools);
        }
        if let Some(prompt) = row["prompt"].as_str() {
            options = options.generation_prompt(prompt);
        }
        let decoded = encoder.decode(&rows::ids(&row["ids"]), &options).message;
        let (ours, theirs) = (of_message(&decoded), of_parsed(&row["parsed"]));
        let example = || {
            format!(
                "{} {:?} {:?} {:?}\n    ours {ours:?}\n    theirs {theirs:?}",
                row["test"],
                row["prompt"],
                text(&row, "text"),
                row["tools"]
            )
        };
        match reason(&row, encoder, &ours, &theirs) {
            Some(category) => tally.count(category, example),
            None => tally.unexplained(example()),
        }
    }
    tally.check("parses")
}

/// A turn as one of them reads it.
#[derive(Debug, PartialEq)]
struct Read {
    content: String,
    reasoning: String,
    calls: Vec<(String, Value)>,
}

impl Read {
    /// All text, without white space and tags of reasoning.
    fn letters(&self) -> String {
        letters(&format!("{}{}", self.reasoning, self.content))
    }
}

fn letters(text: &str) -> String {
    let mut rest = text.replace("</think", "<think");
    while let Some(start) = rest.find("<think") {
        let end = rest[start..].find('>').map_or(rest.len(), |end| start + end + 1);
        rest.replace_range(start..end, "");
    }
    rest.split_whitespace().collect()
}

/// What `text` has beyond the letters of `part`, in any order. `None` if a letter is missing.
fn beyond(text: &str, part: &str) -> Option<String> {
    let mut rest: Vec<char> = text.chars().collect();
    for letter in part.chars() {
        rest.remove(rest.iter().position(|other| *other == letter)?);
    }
    Some(rest.into_iter().collect())
}

/// Why a turn is read in another way.
fn reason(row: &Value, encoder: &Encoder, ours: &Read, theirs: &Read) -> Option<&'static str> {
    let (turn, prompt, spec) = (text(row, "text"), text(row, "prompt"), encoder.model().spec());
    let calls = row["parsed"]["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let flagged = calls.iter().any(|call| call["status"] != "ok");
    let same_calls = ours.calls == theirs.calls;
    let more_calls = theirs.calls.iter().all(|call| ours.calls.contains(call)) && !same_calls;
    let same_text = ours.content.trim() == theirs.content.trim() && ours.reasoning.trim() == theirs.reasoning.trim();
    let (our_letters, their_letters) = (ours.letters(), theirs.letters());
    // What comes before the model's text in our message is in the prompt.
    let of_prompt = |ours: &str, theirs: &str| {
        ours.trim().strip_suffix(theirs.trim()).is_some_and(|rest| letters(prompt).contains(&letters(rest)))
    };
    let begun = of_prompt(&ours.content, &theirs.content) && of_prompt(&ours.reasoning, &theirs.reasoning);
    let has_reasoning = spec.reasoning.mode != ReasoningMode::None;
    let moved = beyond(&our_letters, &their_letters).is_some_and(|rest| beyond(&letters(prompt), &rest).is_some());
    let cut = our_letters.strip_prefix(&their_letters).is_some_and(|rest| {
        let opener = |marker: &String| !letters(marker).is_empty() && rest.starts_with(&letters(marker));
        spec.tokens.preserved.iter().chain(&spec.tokens.other).any(opener)
    });
    let header = their_letters.strip_suffix(&our_letters).filter(|rest| !rest.is_empty());
    let is_harmony = text(row, "renderer") == "GptOssRenderer";
    Some(match () {
        () if ours == theirs => "the same",
        () if same_calls && same_text => "white space at the ends",
        () if flagged && more_calls && same_text => "a call that renderers flag is a call for us",
        () if same_calls && !prompt.is_empty() && begun => "what the prompt has of the turn is part of our message",
        () if !has_reasoning && format!("{prompt}{turn}").contains("<think>") => "a template without reasoning",
        () if prompt.is_empty() && same_calls && our_letters == their_letters && !turn.contains("<think>") => {
            "no prompt: the state is guessed"
        }
        () if is_harmony && turn.contains("<|start|>") => "a message of harmony without its beginning or its end",
        () if more_calls && theirs.calls.is_empty() => "a call in reasoning is a call for us",
        () if same_calls && moved && format!("{prompt}{turn}").contains("<think") => {
            "reasoning after text is reasoning for us"
        }
        () if same_calls && turn.matches("<|channel>").count() > 1 => "reasoning after text is reasoning for us",
        () if same_calls && cut => "a call without its end is text for us, and nothing for renderers",
        () if same_calls && header.is_some_and(|header| letters(turn).starts_with(header)) => {
            "the header of the turn is text for renderers"
        }
        () if prompt.is_empty() && same_calls && moved_markers(spec, ours, theirs) => "no prompt: the state is guessed",
        () if row["tools"].is_null() && ours.calls.is_empty() && our_letters.contains('{') && !has_reasoning => {
            "calls without markers are read only where tools are offered"
        }
        () if ours.calls.is_empty() && ours.reasoning.starts_with(theirs.reasoning.trim()) && has_reasoning => {
            "a call that follows open reasoning is reasoning for us"
        }
        () => return None,
    })
}

/// Whether the texts are the same but for markers of the format.
fn moved_markers(spec: &FormatSpec, ours: &Read, theirs: &Read) -> bool {
    let without = |read: &Read| {
        let markers = spec.tokens.preserved.iter().chain(&spec.tokens.other).filter(|marker| !marker.is_empty());
        markers.fold(read.letters(), |text, marker| text.replace(letters(marker).as_str(), ""))
    };
    beyond(&without(ours), &without(theirs)).is_some_and(|rest| rest.is_empty())
}

fn of_message(message: &Message) -> Read {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    let calls = message.tool_calls.iter().map(|call| (call.name.clone(), value(&call.arguments))).collect();
    Read { content: message.content.clone(), reasoning: message.reasoning_content.clone(), calls }
}

fn of_parsed(parsed: &Value) -> Read {
    let good = |call: &&Value| call["status"] == "ok";
    let calls = parsed["tool_calls"].as_array().into_iter().flatten().filter(good);
    let calls = calls.map(|call| (text(call, "name").to_owned(), call["arguments"].clone())).collect();
    Read { content: text(parsed, "content").to_owned(), reasoning: text(parsed, "reasoning_content").to_owned(), calls }
}
