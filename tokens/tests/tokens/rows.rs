//! What the tests of the oracles share: their lines, ranges, and a table of what was found. Nothing here knows an oracle.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unjinja_testkit::{expect, root, skip};
use unjinja_tokens::tokenizers::AddedToken;
use unjinja_tokens::{Encoded, Vocabulary};

use crate::Failure;

/// The folder of the oracles, if it has this file; see `dev/token-oracles/README.md`.
pub fn oracles(file: &str) -> Result<Option<PathBuf>, Failure> {
    let folder = std::env::var_os("UNJINJA_TOKEN_ORACLES").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.join(file).is_file());
    if folder.is_none() {
        let reason = format!("no {file} of other projects: UNJINJA_TOKEN_ORACLES names its folder");
        skip(reason, ("UNJINJA_ORACLES", "required"))?;
    }
    Ok(folder)
}

/// The lines of a file.
pub fn rows(path: &Path) -> Result<Vec<Value>, Failure> {
    fs::read_to_string(path)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The text of a member; empty if there is none.
pub fn text<'v>(row: &'v Value, name: &str) -> &'v str {
    row[name].as_str().unwrap_or_default()
}

/// A list of ids.
pub fn ids(value: &Value) -> Vec<u32> {
    let id = |id: &Value| id.as_u64().and_then(|id| u32::try_from(id).ok());
    value.as_array().into_iter().flatten().filter_map(id).collect()
}

/// For each of `count` places whether it is in one of the ranges `[start, end)`.
pub fn flags(ranges: &Value, count: usize) -> Vec<bool> {
    let mut flags = vec![false; count];
    for range in self::ranges(ranges) {
        flags.get_mut(range).into_iter().flatten().for_each(|flag| *flag = true);
    }
    flags
}

fn ranges(value: &Value) -> Vec<Range<usize>> {
    let number = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or_default();
    value.as_array().into_iter().flatten().map(|range| number(&range[0])..number(&range[1])).collect()
}

/// A tokenizer of a folder, and tokens that it lacks: each its text, or an object with the rules of an added token.
pub fn with_added(folder: &Path, added: &Value) -> Result<Vocabulary, Failure> {
    let mut tokenizer = Vocabulary::from_folder(folder)?.tokenizer().clone();
    let token = |token: &Value| {
        let flag = |name: &str| token[name].as_bool().unwrap_or_default();
        let (content, special) = match token.as_str() {
            Some(content) => (content, true),
            None => (token["content"].as_str().unwrap_or_default(), flag("special")),
        };
        let added = AddedToken::from(content, special).lstrip(flag("lstrip")).rstrip(flag("rstrip"));
        added.single_word(flag("single_word")).normalized(flag("normalized"))
    };
    let added: Vec<AddedToken> = added.as_array().into_iter().flatten().map(token).collect();
    tokenizer.add_tokens(&added);
    Ok(Vocabulary::new(tokenizer)?)
}

/// A part of a prompt: its text, its ids, and for each id whether the model writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OraclePart {
    pub text: String,
    pub ids: Vec<u32>,
    pub mask: Vec<bool>,
}

/// The parts of a prompt, each beginning with a token of `heads` or at the beginning. The mask has a flag for each id.
pub fn parts(vocabulary: &Vocabulary, ids: &[u32], mask: &[bool], heads: &dyn Fn(&str) -> bool) -> Vec<OraclePart> {
    let mut parts: Vec<(Vec<u8>, OraclePart)> = Vec::new();
    for (&id, &by_model) in ids.iter().zip(mask) {
        if parts.is_empty() || vocabulary.control_token(id).is_some_and(heads) {
            parts.push(Default::default());
        }
        if let Some((bytes, part)) = parts.last_mut() {
            bytes.extend(vocabulary.bytes(id).unwrap_or_default());
            part.ids.push(id);
            part.mask.push(by_model);
        }
    }
    let whole = |(bytes, part): (Vec<u8>, OraclePart)| OraclePart {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        ..part
    };
    parts.into_iter().map(whole).collect()
}

/// For each id whether its first byte has the flag.
pub fn flags_of_ids(encoded: &Encoded, of_bytes: &[bool]) -> Vec<bool> {
    encoded.ranges().iter().map(|range| of_bytes.get(range.start).copied().unwrap_or_default()).collect()
}

/// Places of a longest list of items that both have in this order.
pub fn common_places<T: PartialEq>(ours: &[T], theirs: &[T]) -> Vec<(usize, usize)> {
    let width = theirs.len() + 1;
    let mut lengths = vec![0_u32; (ours.len() + 1) * width];
    for (i, our) in ours.iter().enumerate().rev() {
        for (j, their) in theirs.iter().enumerate().rev() {
            let (down, right) = (lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
            lengths[i * width + j] = if our == their { lengths[(i + 1) * width + j + 1] + 1 } else { down.max(right) };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < ours.len() && j < theirs.len() {
        if ours[i] == theirs[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// The first tokens with another flag, for a message.
pub fn other_flags(encoded: &Encoded, theirs: &[bool]) -> String {
    let ours = encoded.assistant_mask();
    let differ = (0..ours.len()).filter(|&at| theirs.get(at) != ours.get(at));
    let token = |at: usize| {
        let range = encoded.ranges().get(at).cloned().unwrap_or_default();
        let text = encoded.text().get(range.clone()).unwrap_or_default();
        format!(
            "token {at} {text:?} at {range:?}, {} for us",
            if ours.get(at) == Some(&true) { "written" } else { "not written" }
        )
    };
    differ.take(4).map(token).collect::<Vec<_>>().join("; ")
}

/// What was found, by category, and what has none.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<String, (usize, String)>,
    unexplained: Vec<String>,
}

impl Tally {
    /// Counts one more of a category. The first example is kept.
    pub fn count(&mut self, category: &str, example: impl FnOnce() -> String) {
        let (count, first) = self.counts.entry(category.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            *first = example();
        }
    }

    /// Something that no category explains.
    pub fn unexplained(&mut self, problem: String) {
        self.unexplained.push(problem);
    }

    /// Prints the table. It is a failure if something is unexplained, or if the counts are not those of the file `expected/NAME.txt`.
    pub fn check(&self, name: &str) -> Result<(), Failure> {
        println!("{self}");
        if !self.unexplained.is_empty() {
            self.unexplained.iter().for_each(|problem| println!("? {problem}"));
            return Err(format!("{} are unexplained", self.unexplained.len()).into());
        }
        let line = |(category, (count, _)): (&String, &(usize, String))| format!("{count:6}  {category}\n");
        let found: String = self.counts.iter().map(line).collect();
        expect::file(&root().join("tokens/tests/tokens/expected").join(format!("{name}.txt")), &found)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.iter().try_for_each(|(name, (count, example))| writeln!(f, "{count:6}  {name}: {example:.600}"))
    }
}
