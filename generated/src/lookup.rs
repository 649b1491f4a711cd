//! Finds a model by one of its names: the name of its spec, an id on the Hugging Face Hub, or a template's file name.
//!
//! This module compares names and nothing else. It must not guess: a name that fits several models is an error, and only a name that
//! is certainly misspelled, or cut short, gets a suggestion, because a model with a similar name may have another format.

use std::borrow::Cow;
use std::fmt;

/// How many models are suggested for the beginning of their names.
const SUGGESTED: usize = 8;

/// The names of one model, for [`find_among`].
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    /// The name of its spec.
    pub spec: &'n str,
    /// Where its template comes from, for people; often an id on the Hub.
    pub source: &'n str,
    /// Ids on the Hub of the models that have this template. `{size}` in one stands for a size, such as `8B` or `30B-A3B`.
    pub hub_ids: &'n [&'n str],
    /// File names of the template.
    pub files: &'n [Cow<'n, str>],
}

/// Why a name finds no parser.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// The name fits several models.
    Ambiguous {
        /// The name that was looked up.
        name: String,
        /// The names of their specs, any of which is unambiguous.
        candidates: Vec<String>,
    },
    /// The name fits no model that is compiled in.
    Unknown {
        /// The name that was looked up.
        name: String,
        /// Names of the specs that were probably meant: the name is misspelled, or has another owner. Possibly none.
        near: Vec<String>,
    },
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous { name, candidates } => {
                write!(f, "{name:?} is the name of several models: use one of {}", candidates.join(", "))
            }
            Self::Unknown { name, near } if near.is_empty() => write!(f, "no supported model is called {name:?}"),
            Self::Unknown { name, near } => {
                write!(f, "no supported model is called {name:?}; did you mean {}?", near.join(", "))
            }
        }
    }
}

impl std::error::Error for LookupError {}

/// The index of the model that a name finds, by the rules of [`find`](crate::find). For lists of models of one's own.
///
/// ```
/// use unjinja_generated::{Names, find_among};
///
/// let names = |spec, hub_ids| Names { spec, source: "", hub_ids, files: &[] };
/// let known = [names("robin_7b", &["acme/Robin-7B"]), names("wren", &[])];
/// assert_eq!(find_among("Robin-7B", &known)?, 0);
/// let error = find_among("robni-7b", &known).unwrap_err();
/// assert_eq!(error.to_string(), r#"no supported model is called "robni-7b"; did you mean robin_7b?"#);
/// # Ok::<(), unjinja_generated::LookupError>(())
/// ```
///
/// # Errors
/// If the name fits several models: the error lists them. If it fits none: the error says which was probably meant.
pub fn find_among(name: &str, known: &[Names<'_>]) -> Result<usize, LookupError> {
    let specs = |indices: &[usize]| indices.iter().map(|&index| known[index].spec.to_owned()).collect();
    match fitting(name, known)[..] {
        [index] => Ok(index),
        [] => Err(LookupError::Unknown { name: name.to_owned(), near: specs(&near(name, known)) }),
        ref several => Err(LookupError::Ambiguous { name: name.to_owned(), candidates: specs(several) }),
    }
}

/// The models that a name fits, as indices of `known`.
///
/// The kinds of names are tried in turn, and the first kind that fits any model decides: the spec's name, an id on the
/// Hub, a file name (with or without folders and `.jinja`), an id on the Hub without its owner; then the id of another size, or of
/// the same model with its numbers stored in another way, with and without its owner. So a spec's name always finds its spec,
/// whatever other models are called.
fn fitting(name: &str, known: &[Names<'_>]) -> Vec<usize> {
    let wanted = normal(name);
    if wanted.is_empty() {
        return Vec::new();
    }
    let wanted_file = normal_file(name.rsplit(['/', '\\']).next().unwrap_or(name));
    let kinds: [&dyn Fn(&Names<'_>) -> bool; 6] = [
        &|names| normal(names.spec) == wanted,
        &|names| normal(names.source) == wanted || names.hub_ids.iter().any(|id| normal(id) == wanted),
        &|names| names.files.iter().any(|file| normal_file(file) == wanted_file),
        &|names| names.hub_ids.iter().any(|id| normal(without_owner(id)) == wanted),
        &|names| names.hub_ids.iter().any(|id| is_of_family(name, id)),
        &|names| names.hub_ids.iter().any(|id| is_of_family(name, without_owner(id))),
    ];
    for fits in kinds {
        let found: Vec<usize> = (0..known.len()).filter(|&index| fits(&known[index])).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Whether a name is an id, where `{size}` stands for any size and the end may say how numbers are stored. Here a dot is no hyphen:
/// `Qwen3.5-2B` is no `Qwen3` of the size `5-2B`.
fn is_of_family(name: &str, id: &str) -> bool {
    let (name, id) = (form(name), form(id));
    let (name, id) = (without_storage(&name), without_storage(&id));
    let Some((before, after)) = id.split_once("{size}") else { return name == id };
    name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).is_some_and(is_size)
}

/// The form in which a dot is no hyphen.
fn form(name: &str) -> String {
    name.to_ascii_lowercase().replace(['/', '-'], "_")
}

/// Whether a text is a size: `8b`, `0.6b`, `30b_a3b`, `8x7b`, `e2b`.
fn is_size(text: &str) -> bool {
    let is_part = |part: &str| {
        let number = part.strip_suffix(['b', 'm', 't']).unwrap_or_default();
        let number = number.strip_prefix(['a', 'e']).unwrap_or(number);
        number.starts_with(|c: char| c.is_ascii_digit())
            && number.bytes().all(|c| c.is_ascii_digit() || c == b'.' || c == b'x')
    };
    text.split('_').all(is_part)
}

/// Words at the end of a name that say how the numbers of a model are stored, or in which file. They change no template.
const STORAGE: &[&str] = &[
    "4bit", "6bit", "8bit", "awq", "bf16", "bnb", "exl2", "exl3", "fp16", "fp4", "fp8", "gguf", "gptq", "int4", "int8",
    "mlx", "mxfp4", "nvfp4", "w4a16", "w8a16", "w8a8",
];

fn without_storage(name: &str) -> &str {
    let mut rest = name;
    while let Some((before, last)) = rest.rsplit_once('_')
        && STORAGE.contains(&last)
    {
        rest = before;
    }
    rest
}

/// The models that a name that fits none was probably meant for, as indices of `known`: those of that name with another owner, or
/// else the one that differs in few letters, or else those whose names begin with it. Numbers and versions must be the same: `v3` is no
/// misspelled `v2`.
fn near(name: &str, known: &[Names<'_>]) -> Vec<usize> {
    let wanted = normal(name);
    let same = |names: &Names<'_>| names.hub_ids.iter().any(|id| is_of_family(without_owner(name), without_owner(id)));
    let others: Vec<usize> = (0..known.len()).filter(|&index| same(&known[index])).collect();
    if !others.is_empty() {
        return others;
    }
    // More edits than this make another name.
    let allowed = wanted.len() / 8 + 1;
    let edits = |names: &Names<'_>| {
        let all = std::iter::once(names.spec).chain(names.hub_ids.iter().copied());
        let others = all.flat_map(|other| [normal(other), normal(without_owner(other))]);
        let alike = others.filter(|other| numbers(other) == numbers(&wanted) && is_variant(&wanted, other));
        alike.map(|other| distance(&wanted, &other)).min()
    };
    let closest = (0..known.len()).filter_map(|index| Some((edits(&known[index])?, index))).min();
    if let Some((_, index)) = closest.filter(|(edits, _)| *edits <= allowed) {
        return vec![index];
    }
    let start = format!("{}_", form(without_owner(name)));
    let begins = |names: &Names<'_>| names.hub_ids.iter().any(|id| form(without_owner(id)).starts_with(&start));
    (0..known.len()).filter(|&index| begins(&known[index])).take(SUGGESTED).collect()
}

/// The numbers of a name, in one, with a single letter before them: `v3` is a number, and of `qwen3` only the digit.
fn numbers(name: &str) -> String {
    let number = |word: &str| {
        let at = word.find(|c: char| c.is_ascii_digit())?;
        Some(word[if at == 1 { 0 } else { at }..].to_owned())
    };
    name.split('_').filter_map(number).collect()
}

/// Whether what follows the last number of two names can be the same words: a word more, or another one, is another model.
fn is_variant(a: &str, b: &str) -> bool {
    let (a, b) = (after_numbers(a), after_numbers(b));
    a.matches('_').count() == b.matches('_').count() && distance(a, b) * 2 <= a.len().max(b.len())
}

/// The words of a name after its last number.
fn after_numbers(name: &str) -> &str {
    let last = name.rfind(|c: char| c.is_ascii_digit()).unwrap_or(0);
    name[last..].find('_').map_or("", |at| &name[last + at..])
}

/// The form in which names are compared: in lower case, with `/`, `-`, `.` and `_` alike.
fn normal(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '/' | '-' | '.') { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// The same for a file name, without the ending `.jinja`.
fn normal_file(file: &str) -> String {
    let name = normal(file);
    name.strip_suffix("_jinja").map_or(name.clone(), str::to_owned)
}

fn without_owner(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, model)| model)
}

/// How many letters have to be inserted, deleted or replaced to make `a` into `b`. (`unjinja_spec::nearest` does the
/// same, but this crate depends on the runtime alone.)
fn distance(a: &str, b: &str) -> usize {
    // Names are short; a long text is not worth comparing.
    let b: Vec<char> = b.chars().take(128).collect();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(128).enumerate() {
        let mut row = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            row.push((last[j] + usize::from(from != to)).min(last[j + 1] + 1).min(row[j] + 1));
        }
        last = row;
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Names<'static>] = &[
        Names {
            spec: "acme_robin_7b",
            source: "acme/Robin-7B",
            hub_ids: &["acme/Robin-7B", "acme/Robin-7B.1-Chat"],
            files: &[Cow::Borrowed("acme-Robin-7B.jinja")],
        },
        Names {
            spec: "robin_7b",
            source: "other/Robin-7B (a copy)",
            hub_ids: &["other/Robin-7B"],
            files: &[Cow::Borrowed("tokenizer_config.json"), Cow::Borrowed("old robin.jinja")],
        },
        Names { spec: "wren", source: "", hub_ids: &[], files: &[Cow::Borrowed("tokenizer_config.json")] },
        Names { spec: "big_lark", source: "", hub_ids: &["acme/Lark"], files: &[] },
        Names { spec: "small_lark", source: "", hub_ids: &["other/lark"], files: &[] },
        Names { spec: "owl", source: "", hub_ids: &["acme/Owl-2-{size}-Chat", "acme/Owl-2-9B-BF16"], files: &[] },
        Names { spec: "old_owl", source: "", hub_ids: &["acme/Owl-2-3B-Chat"], files: &[] },
    ];

    /// A name, and the specs that it fits.
    const CASES: &[(&str, &[&str])] = &[
        ("acme_robin_7b", &["acme_robin_7b"]),
        ("ACME/robin.7b", &["acme_robin_7b"]),
        ("acme/Robin-7B", &["acme_robin_7b"]),
        ("acme/Robin-7B.1-Chat", &["acme_robin_7b"]),
        ("Robin_7B-1_chat", &["acme_robin_7b"]),
        ("acme-Robin-7B.jinja", &["acme_robin_7b"]),
        ("templates/acme-Robin-7B.jinja", &["acme_robin_7b"]),
        // A spec's name wins over an id without its owner.
        ("Robin-7B", &["robin_7b"]),
        ("other/Robin-7B", &["robin_7b"]),
        ("other/Robin-7B (a copy)", &["robin_7b"]),
        ("old robin", &["robin_7b"]),
        ("tokenizer_config.json", &["robin_7b", "wren"]),
        ("Lark", &["big_lark", "small_lark"]),
        ("other/Lark", &["small_lark"]),
        // Other sizes, and the same model in other numbers.
        ("acme/Owl-2-8B-Chat", &["owl"]),
        ("owl-2-0.6b-chat", &["owl"]),
        ("acme/Owl-2-30B-A3B-Chat-FP8", &["owl"]),
        ("acme/Owl-2-8x7B-Chat-GPTQ-Int4", &["owl"]),
        ("acme/Owl-2-9B", &["owl"]),
        ("acme/Owl-2-3B-Chat", &["old_owl"]),
        ("acme/Robin-7B-GGUF", &["acme_robin_7b"]),
        ("acme/Owl-2.5-8B-Chat", &[]),
        ("acme/Owl-2-5-8B-Chat", &[]),
        ("acme/Owl-2-Big-Chat", &[]),
        ("acme/Owl-2-Vision-8B-Chat", &[]),
        ("acme/Owl-2--Chat", &[]),
        ("another/Owl-2-8B-Chat", &[]),
        ("robin", &[]),
        ("", &[]),
    ];

    #[test]
    fn names_find_their_models() {
        for (name, expected) in CASES {
            let found: Vec<&str> = fitting(name, KNOWN).into_iter().map(|index| KNOWN[index].spec).collect();
            assert_eq!(&found, expected, "{name:?}");
        }
    }

    #[test]
    fn only_what_was_certainly_meant_is_suggested() {
        let cases: [(&str, &[&str]); 14] = [
            ("acme_robbin_7b", &["acme_robin_7b"]),
            ("acme/Robni-7B.1-Chat", &["acme_robin_7b"]),
            ("another/Owl-2-8B-Chat-AWQ", &["owl"]),
            // These may be models of another format.
            ("acme_robin_8b", &[]),
            ("acme/Robin-7B.2-Chat", &[]),
            ("acme/Owl-3-8B-Chat", &[]),
            ("acme/Owl-2-8B", &[]),
            // A word after the version is another model; a misspelled one is not.
            ("acme/Robin-7B-Exp", &[]),
            ("acme/Robin-7B.1-Chat-V", &[]),
            ("acme/Robin-7B.1-Base", &[]),
            ("acme/Robin-7B.1-Chatt", &["acme_robin_7b"]),
            ("acme/Robin7B", &["acme_robin_7b"]),
            ("robin", &["acme_robin_7b", "robin_7b"]),
            ("penguin-of-the-north", &[]),
        ];
        for (name, expected) in cases {
            let found: Vec<&str> = near(name, KNOWN).into_iter().map(|index| KNOWN[index].spec).collect();
            assert_eq!(found, expected, "{name:?}");
        }
    }

    #[test]
    fn errors_list_the_names() {
        let ambiguous = find_among("lark", KNOWN).unwrap_err();
        assert_eq!(ambiguous.to_string(), r#""lark" is the name of several models: use one of big_lark, small_lark"#);
        let unknown = find_among("x", KNOWN).unwrap_err();
        assert_eq!(unknown.to_string(), r#"no supported model is called "x""#);
    }
}
