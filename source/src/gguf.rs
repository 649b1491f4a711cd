//! Templates in the metadata of a GGUF file, versions 1 to 3, in both byte orders.
//!
//! Only what stands before the weights is read, and of that only what is asked for: everything else is skipped by its
//! length. No length is believed before the file is known to be that long, so a damaged file is an error with its
//! offset and never a large allocation, a long loop or a panic.

mod cursor;

use std::io::{Read, Seek};
use std::path::Path;

use self::cursor::{Cursor, Kind, Problem};
use super::{Source, SourceError, SpecialTokens};

/// How every file begins, in either byte order.
/// The longest template that is read, in bytes: more than the renderer takes.
const TEMPLATE_LIMIT: u64 = 2 << 20;

pub(super) const MAGIC: [u8; 4] = *b"GGUF";

const TEMPLATE: &str = "tokenizer.chat_template";
const TOKENS: &str = "tokenizer.ggml.tokens";
const BOS: &str = "tokenizer.ggml.bos_token_id";
const EOS: &str = "tokenizer.ggml.eos_token_id";
const ARCHITECTURE: &str = "general.architecture";
const PART: &str = "split.no";

/// Real files have some dozens of keys; more than this is a damaged count.
const MOST_KEYS: u64 = 1 << 16;

/// The format's own limit of a key.
const LONGEST_KEY: u64 = (1 << 16) - 1;

/// No special token, and no name of an architecture, is longer.
const LONGEST_TOKEN: u64 = 1 << 12;

/// Named templates in one file.
const MOST_TEMPLATES: usize = 64;

/// What the metadata says that is of use here.
#[derive(Default)]
struct Found {
    templates: Vec<(Option<String>, String)>,
    /// Where the array of tokens has its items, and how many.
    tokens: Option<(u64, u64)>,
    bos: Option<u64>,
    eos: Option<u64>,
    architecture: Option<String>,
    part: Option<u64>,
}

/// The templates of a GGUF file.
pub(super) fn read(path: &Path, input: impl Read + Seek) -> Result<Vec<Source>, SourceError> {
    let fail = |problem: Problem| SourceError::new(path, problem);
    let mut cursor = Cursor::new(input).map_err(fail)?;
    let (found, keys) = metadata(&mut cursor).map_err(fail)?;
    if found.templates.is_empty() {
        return Err(without(path, &found, keys));
    }
    let tokens = SpecialTokens {
        bos: token(&mut cursor, &found, found.bos).map_err(fail)?,
        eos: token(&mut cursor, &found, found.eos).map_err(fail)?,
    };
    // One template among named ones that has no name is the default.
    let is_alone = found.templates.len() == 1;
    let sources = found.templates.into_iter().map(|(name, text)| Source {
        path: path.to_owned(),
        variant: name.or_else(|| (!is_alone).then(|| "default".to_owned())),
        text,
        tokens: tokens.clone(),
    });
    let mut sources: Vec<Source> = sources.collect();
    sources.sort_by_key(|source| source.variant.as_deref() != Some("default"));
    if let Some((_, other)) = sources.split_first()
        && other.iter().any(|other| other.variant.as_deref() == Some("default"))
    {
        return Err(SourceError::new(
            path,
            format!("it holds two default templates: {TEMPLATE} and {TEMPLATE}.default"),
        ));
    }
    Ok(sources)
}

/// Reads all keys, and gives their number.
fn metadata<R: Read + Seek>(cursor: &mut Cursor<R>) -> Result<(Found, u64), Problem> {
    let mut found = Found::default();
    let keys = cursor.header(MAGIC, MOST_KEYS)?;
    for _ in 0..keys {
        let key = cursor.string(LONGEST_KEY, "a key")?;
        let kind = cursor.kind().map_err(|problem| problem.of(&key))?;
        value(cursor, &mut found, &key, kind).map_err(|problem| problem.of(&key))?;
    }
    Ok((found, keys))
}

/// Reads or skips the value of one key.
fn value<R: Read + Seek>(cursor: &mut Cursor<R>, found: &mut Found, key: &str, kind: Kind) -> Result<(), Problem> {
    match key {
        BOS => found.bos = cursor.whole_number(kind)?,
        EOS => found.eos = cursor.whole_number(kind)?,
        PART => found.part = cursor.whole_number(kind)?,
        ARCHITECTURE if kind == Kind::String => {
            found.architecture = Some(cursor.string(LONGEST_TOKEN, "the architecture's name")?);
        }
        TOKENS if kind == Kind::Array => {
            let (items, count) = cursor.array()?;
            if items != Kind::String {
                return Err(cursor.problem("it is no array of texts"));
            }
            found.tokens = Some((cursor.offset(), count));
            cursor.skip_items(items, count, 0)?;
        }
        _ => match key.strip_prefix(TEMPLATE) {
            Some("") => template(cursor, found, None, kind)?,
            Some(name) if name.len() > 1 && name.starts_with('.') => template(cursor, found, Some(&name[1..]), kind)?,
            // The list of the names, `tokenizer.chat_templates`, says nothing that the keys do not.
            _ => cursor.skip(kind)?,
        },
    }
    Ok(())
}

fn template<R: Read + Seek>(
    cursor: &mut Cursor<R>,
    found: &mut Found,
    name: Option<&str>,
    kind: Kind,
) -> Result<(), Problem> {
    if kind != Kind::String {
        return Err(cursor.problem(format!("a template is a text, but this is {}", kind.name())));
    }
    if found.templates.len() == MOST_TEMPLATES {
        return Err(cursor.problem(format!("it is one template more than {MOST_TEMPLATES}")));
    }
    if found.templates.iter().any(|(known, _)| known.as_deref() == name) {
        return Err(cursor.problem("the key is there twice"));
    }
    let text = cursor.string(TEMPLATE_LIMIT, "a template")?;
    found.templates.push((name.map(str::to_owned), text));
    Ok(())
}

/// The text of a token. An id that no token has stands for none in real files.
fn token<R: Read + Seek>(cursor: &mut Cursor<R>, found: &Found, id: Option<u64>) -> Result<Option<String>, Problem> {
    let (Some((at, count)), Some(id)) = (found.tokens, id) else { return Ok(None) };
    if id >= count {
        return Ok(None);
    }
    cursor.item(at, id, LONGEST_TOKEN).map(Some).map_err(|problem| problem.of(TOKENS))
}

/// That a file holds no template, and what it holds.
fn without(path: &Path, found: &Found, keys: u64) -> SourceError {
    let what = match &found.architecture {
        Some(architecture) => format!("a model of architecture `{architecture}` with {keys} keys"),
        None => format!("{keys} keys"),
    };
    let more = match found.part {
        Some(part) if part > 0 => "; this is a further part of a split model, the first part holds the template",
        _ if found.tokens.is_none() => "; it has no vocabulary either",
        _ => "",
    };
    SourceError::without_template(path, format!("it holds no `{TEMPLATE}`, but {what}{more}"))
}
