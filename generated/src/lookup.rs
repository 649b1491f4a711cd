//! Finds a model by one of its names: the name of its spec, an id on the Hugging Face Hub, or a template's file name.
//!
//! This module compares names and nothing else. It must not guess: a name that fits several models is an error.

use std::borrow::Cow;
use std::fmt;

/// The names of one model, for [`find_among`].
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    /// The name of its spec.
    pub spec: &'n str,
    /// Where its template comes from, for people; often an id on the Hub.
    pub source: &'n str,
    /// Ids on the Hub of the models that have this template.
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
        /// Names of specs that are similar; possibly none.
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
/// let error = find_among("rob", &known).unwrap_err();
/// assert_eq!(error.to_string(), r#"no supported model is called "rob"; did you mean robin_7b?"#);
/// # Ok::<(), unjinja_generated::LookupError>(())
/// ```
///
/// # Errors
/// If the name fits several models: the error lists them. If it fits none: the error suggests similar names.
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
/// Hub, a file name (with or without folders and `.jinja`), an id on the Hub without its owner. So a spec's name always
/// finds its spec, whatever other models are called.
fn fitting(name: &str, known: &[Names<'_>]) -> Vec<usize> {
    let wanted = normal(name);
    if wanted.is_empty() {
        return Vec::new();
    }
    let wanted_file = normal_file(name.rsplit(['/', '\\']).next().unwrap_or(name));
    let kinds: [&dyn Fn(&Names<'_>) -> bool; 4] = [
        &|names| normal(names.spec) == wanted,
        &|names| normal(names.source) == wanted || names.hub_ids.iter().any(|id| normal(id) == wanted),
        &|names| names.files.iter().any(|file| normal_file(file) == wanted_file),
        &|names| names.hub_ids.iter().any(|id| normal(without_owner(id)) == wanted),
    ];
    for fits in kinds {
        let found: Vec<usize> = (0..known.len()).filter(|&index| fits(&known[index])).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Models whose names are similar to one that fits none, as indices of `known`: the one with the fewest different
/// letters, or else up to four whose spec's name contains the given name.
fn near(name: &str, known: &[Names<'_>]) -> Vec<usize> {
    const MOST: usize = 4;
    // More edits than this make another name.
    let allowed = (name.chars().count() / 3).max(1);
    let wanted = normal(name);
    let edits = |names: &Names<'_>| {
        let all = std::iter::once(names.spec).chain(names.hub_ids.iter().copied());
        let others = all.flat_map(|other| [other, without_owner(other)]);
        others.map(|other| distance(&wanted, &normal(other))).min().unwrap_or(usize::MAX)
    };
    let closest = (0..known.len()).map(|index| (edits(&known[index]), index)).min();
    if let Some((edits, index)) = closest
        && edits <= allowed
    {
        return vec![index];
    }
    let letters = |name: &str| -> String { name.chars().filter(char::is_ascii_alphanumeric).collect() };
    let wanted = letters(&wanted);
    // Two letters are part of too many names.
    let contains = |&index: &usize| wanted.len() > 2 && letters(known[index].spec).contains(&wanted);
    let mut near: Vec<usize> = (0..known.len()).filter(contains).collect();
    near.sort_by_key(|&index| known[index].spec.len());
    near.truncate(MOST);
    near
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
    fn similar_names_are_suggested() {
        let cases: [(&str, &[&str]); 5] = [
            ("acme_robin_7c", &["acme_robin_7b"]),
            ("acme/Robni-7B.1-Chat", &["acme_robin_7b"]),
            ("lark", &["big_lark"]),
            ("robin", &["robin_7b", "acme_robin_7b"]),
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
