//! Templates in the metadata of a GGUF file, versions 1 to 3, in both byte orders.
//!
//! Only the metadata before the weights is read, and of the metadata only the few keys that matter here: other values are
//! skipped by their length. Every length is compared with the size of the file before it is used, so a damaged file gives
//! an error with an offset, and never a large allocation, a long loop or a panic.

mod cursor;

use std::io::{Read, Seek};
use std::path::Path;

use self::cursor::{Cursor, Problem, ValueType};
use crate::error::SourceError;
use crate::source::{Source, SpecialTokens};

/// The longest template that is read, in bytes. The renderer's own limit is lower.
const TEMPLATE_LIMIT: u64 = 2 << 20;

/// The first bytes of every GGUF file, in either byte order.
pub(crate) const MAGIC: [u8; 4] = *b"GGUF";

const TEMPLATE: &str = "tokenizer.chat_template";
const TOKENS: &str = "tokenizer.ggml.tokens";
const TOKEN_TYPES: &str = "tokenizer.ggml.token_type";
const BOS: &str = "tokenizer.ggml.bos_token_id";
const EOS: &str = "tokenizer.ggml.eos_token_id";
/// The keys of the other tokens, and the names that templates know them by. The format spells `seperator` so.
const OTHERS: [(&str, &str); 5] = [
    ("tokenizer.ggml.unknown_token_id", "unk_token"),
    ("tokenizer.ggml.seperator_token_id", "sep_token"),
    ("tokenizer.ggml.padding_token_id", "pad_token"),
    ("tokenizer.ggml.cls_token_id", "cls_token"),
    ("tokenizer.ggml.mask_token_id", "mask_token"),
];
const ARCHITECTURE: &str = "general.architecture";
const PART: &str = "split.no";

/// Real files have some dozens of keys; a larger count than this is damaged.
const MOST_KEYS: u64 = 1 << 16;

/// The limit of a key's length that the format itself sets, in bytes.
const LONGEST_KEY: u64 = (1 << 16) - 1;

/// The longest special token or architecture name that is read, in bytes.
const LONGEST_TOKEN: u64 = 1 << 12;

/// The type of a special token.
const CONTROL: u32 = 3;

/// How many special tokens are read. Vocabularies have some hundred.
const MOST_SPECIAL: usize = 1 << 13;

/// How many named templates are read from one file.
const MOST_TEMPLATES: usize = 64;

/// The metadata that matters here.
#[derive(Default)]
struct Metadata {
    templates: Vec<(Option<String>, String)>,
    /// The offset of the first item of the token array, and the number of items.
    tokens: Option<(u64, u64)>,
    /// The same for the types of the tokens.
    types: Option<(u64, u64)>,
    bos: Option<u64>,
    eos: Option<u64>,
    /// The ids of the other tokens, in the order of [`OTHERS`].
    others: [Option<u64>; OTHERS.len()],
    architecture: Option<String>,
    part: Option<u64>,
}

/// The templates of a GGUF file.
pub(crate) fn read(path: &Path, input: impl Read + Seek) -> Result<Vec<Source>, SourceError> {
    let fail = |problem: Problem| SourceError::invalid(path, problem);
    let mut cursor = Cursor::new(input).map_err(fail)?;
    let (found, keys) = metadata(&mut cursor).map_err(fail)?;
    if found.templates.is_empty() {
        return Err(without_template(path, &found, keys));
    }
    let mut tokens = SpecialTokens {
        bos: token(&mut cursor, &found, found.bos).map_err(fail)?,
        eos: token(&mut cursor, &found, found.eos).map_err(fail)?,
        ..SpecialTokens::default()
    };
    for ((_, name), id) in OTHERS.into_iter().zip(found.others) {
        if let Some(text) = token(&mut cursor, &found, id).map_err(fail)? {
            tokens.others.insert(name.to_owned(), text.into());
        }
    }
    let special_tokens = special_tokens(&mut cursor, &found).map_err(fail)?;
    // Where there are named templates, the one without a name is the default.
    let is_alone = found.templates.len() == 1;
    let sources = found.templates.into_iter().map(|(name, text)| Source {
        path: path.to_owned(),
        variant: name.or_else(|| (!is_alone).then(|| "default".to_owned())),
        text,
        tokens: tokens.clone(),
        special_tokens: special_tokens.clone(),
    });
    let mut sources: Vec<Source> = sources.collect();
    if let Some(at) = sources.iter().position(|source| source.variant.as_deref() == Some("default")) {
        let default = sources.remove(at);
        sources.insert(0, default);
    }
    if let Some((_, other)) = sources.split_first()
        && other.iter().any(|other| other.variant.as_deref() == Some("default"))
    {
        return Err(SourceError::invalid(
            path,
            format!("the file holds two default templates: {TEMPLATE} and {TEMPLATE}.default"),
        ));
    }
    Ok(sources)
}

/// Reads all keys. Returns what was found, and the number of keys.
fn metadata<R: Read + Seek>(cursor: &mut Cursor<R>) -> Result<(Metadata, u64), Problem> {
    let mut found = Metadata::default();
    let keys = cursor.header(MAGIC, MOST_KEYS)?;
    for _ in 0..keys {
        let key = cursor.string(LONGEST_KEY, "a key")?;
        let value_type = cursor.value_type().map_err(|problem| problem.of(&key))?;
        value(cursor, &mut found, &key, value_type).map_err(|problem| problem.of(&key))?;
    }
    Ok((found, keys))
}

/// Reads or skips the value of one key.
fn value<R: Read + Seek>(
    cursor: &mut Cursor<R>,
    found: &mut Metadata,
    key: &str,
    value_type: ValueType,
) -> Result<(), Problem> {
    if let Some(other) = OTHERS.iter().position(|(other, _)| *other == key) {
        found.others[other] = cursor.whole_number(value_type)?;
        return Ok(());
    }
    match key {
        BOS => found.bos = cursor.whole_number(value_type)?,
        EOS => found.eos = cursor.whole_number(value_type)?,
        PART => found.part = cursor.whole_number(value_type)?,
        ARCHITECTURE if value_type == ValueType::String => {
            found.architecture = Some(cursor.string(LONGEST_TOKEN, "the architecture's name")?);
        }
        TOKENS if value_type == ValueType::Array => {
            let (items, count) = cursor.array()?;
            if items != ValueType::String {
                return Err(cursor.problem("the value must be an array of strings"));
            }
            found.tokens = Some((cursor.offset(), count));
            cursor.skip_items(items, count, 0)?;
        }
        TOKEN_TYPES if value_type == ValueType::Array => {
            let (items, count) = cursor.array()?;
            found.types = matches!(items, ValueType::I32 | ValueType::U32).then(|| (cursor.offset(), count));
            cursor.skip_items(items, count, 0)?;
        }
        _ => match key.strip_prefix(TEMPLATE) {
            Some("") => template(cursor, found, None, value_type)?,
            Some(name) if name.len() > 1 && name.starts_with('.') => {
                template(cursor, found, Some(&name[1..]), value_type)?
            }
            // `tokenizer.chat_templates` lists the names, which the keys themselves give as well.
            _ => cursor.skip(value_type)?,
        },
    }
    Ok(())
}

fn template<R: Read + Seek>(
    cursor: &mut Cursor<R>,
    found: &mut Metadata,
    name: Option<&str>,
    value_type: ValueType,
) -> Result<(), Problem> {
    if value_type != ValueType::String {
        return Err(cursor.problem(format!("a template must be a string, but this is {}", value_type.name())));
    }
    if found.templates.len() == MOST_TEMPLATES {
        return Err(cursor.problem(format!("the file has more than {MOST_TEMPLATES} named templates")));
    }
    if found.templates.iter().any(|(known, _)| known.as_deref() == name) {
        return Err(cursor.problem("the key appears twice"));
    }
    let text = cursor.string(TEMPLATE_LIMIT, "a template")?;
    found.templates.push((name.map(str::to_owned), text));
    Ok(())
}

/// The text of a token. Real files mark an absent token by an id that no token has.
fn token<R: Read + Seek>(cursor: &mut Cursor<R>, found: &Metadata, id: Option<u64>) -> Result<Option<String>, Problem> {
    let (Some((at, count)), Some(id)) = (found.tokens, id) else { return Ok(None) };
    if id >= count {
        return Ok(None);
    }
    cursor.item(at, id, LONGEST_TOKEN).map(Some).map_err(|problem| problem.of(TOKENS))
}

/// The texts of the tokens that are marked as control tokens; `None` if the file has no types of tokens.
fn special_tokens<R: Read + Seek>(cursor: &mut Cursor<R>, found: &Metadata) -> Result<Option<Vec<String>>, Problem> {
    let (Some((at, count)), Some((types, typed))) = (found.tokens, found.types) else { return Ok(None) };
    let special = cursor.positions(types, typed.min(count), CONTROL, MOST_SPECIAL).map_err(|p| p.of(TOKEN_TYPES))?;
    let mut tokens = cursor.items(at, &special, LONGEST_TOKEN).map_err(|problem| problem.of(TOKENS))?;
    tokens.sort_unstable();
    tokens.dedup();
    Ok(Some(tokens))
}

/// The error for a file without a template: it says what the file is.
fn without_template(path: &Path, found: &Metadata, keys: u64) -> SourceError {
    let what = match &found.architecture {
        Some(architecture) => format!("a model of the architecture `{architecture}` with {keys} metadata keys"),
        None => format!("{keys} metadata keys"),
    };
    let more = match found.part {
        Some(part) if part > 0 => "; it is a later part of a split model: the first part holds the template",
        _ if found.tokens.is_none() => "; it has no vocabulary either",
        _ => "",
    };
    SourceError::no_template(path, format!("the file has no `{TEMPLATE}`; it holds {what}{more}"))
}
