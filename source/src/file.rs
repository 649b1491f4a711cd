//! Reads the templates of one file: decides what kind of file it is, by its name or else by its first bytes, and passes
//! it to the reader of that kind.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::names::{self, STDIN};
use crate::source::{Source, SpecialTokens};
use crate::{gguf, json, text};

/// How many bytes of standard input are read. The metadata of a GGUF file, which comes before the weights, fits.
const PIPE_LIMIT: u64 = 64 << 20;

/// The file in which a model describes its tokenizer.
const CONFIG: &str = "tokenizer_config.json";
/// Special tokens that a config of older tokenizers lacks.
const MAP: &str = "special_tokens_map.json";

/// How many first bytes are looked at to tell the kind of a file whose name does not say it.
const SNIFFED: u64 = 64;

impl Source {
    /// Reads the templates from the bytes of a file with this name. No file is opened.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn from_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Vec<Source>, SourceError> {
        read_from(path.as_ref(), Cursor::new(bytes))
    }

    /// Whether the tokenizer's special tokens are known: the template's file gave them, or `tokenizer_config.json` did. A token
    /// that is absent from [`tokens`](Self::tokens) is then one that the tokenizer does not have.
    pub fn knows_tokens(&self) -> bool {
        self.tokens != SpecialTokens::default() || self.special_tokens.is_some()
    }

    /// Adds the special tokens of the model's `tokenizer_config.json`, whose text this is, unless the template's own file gave
    /// some. A text that is not JSON gives none.
    ///
    /// ```
    /// let source = unjinja_source::Source::from_text("chat_template.jinja", "{{ bos_token }}");
    /// assert!(!source.knows_tokens());
    /// let source = source.with_tokens_of(r#"{"bos_token": "<s>"}"#);
    /// assert_eq!(source.tokens.bos.as_deref(), Some("<s>"));
    /// ```
    #[must_use]
    pub fn with_tokens_of(mut self, config: &str) -> Source {
        if self.tokens == SpecialTokens::default()
            && let Some((tokens, special_tokens)) = json::tokens(config)
        {
            self.tokens = tokens;
            self.special_tokens = self.special_tokens.or(special_tokens);
        }
        self
    }
}

/// The templates of a file. If it gives no special tokens, those of the `tokenizer_config.json` next to it are used.
pub(crate) fn read_file(path: &Path) -> Result<Vec<Source>, SourceError> {
    let file = File::open(path).map_err(|error| SourceError::unreadable(path, error))?;
    let sources = read_from(path, BufReader::new(file))?;
    let has_tokens = |source: &Source| source.tokens != SpecialTokens::default();
    // Any `.jinja` file in a model's folder is a template for this model.
    let has_model = names::is_of_model(path) || names::is_jinja(path);
    let is_config = path.file_name().is_some_and(|name| name == CONFIG);
    let is_complete = if is_config { !sibling(path, MAP).is_file() } else { sources.iter().any(has_tokens) };
    if !has_model || is_complete {
        return Ok(sources);
    }
    let config = sibling_config(path);
    let with_tokens = |source: Source| {
        let own = if is_config { (SpecialTokens::default(), None) } else { (source.tokens, source.special_tokens) };
        Source { tokens: own.0, special_tokens: own.1, ..source }.with_tokens_of(&config)
    };
    Ok(sources.into_iter().map(with_tokens).collect())
}

pub(crate) fn read_stdin() -> Result<Vec<Source>, SourceError> {
    let path = Path::new(STDIN);
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(PIPE_LIMIT).read_to_end(&mut bytes);
    read.map_err(|error| SourceError::unreadable(path, error))?;
    read_from(path, Cursor::new(bytes.as_slice()))
}

fn read_from(path: &Path, mut input: impl Read + Seek) -> Result<Vec<Source>, SourceError> {
    let fail = |error: io::Error| SourceError::unreadable(path, error);
    let mut start = Vec::new();
    input.by_ref().take(SNIFFED).read_to_end(&mut start).map_err(fail)?;
    input.rewind().map_err(fail)?;
    match kind_of(path, &start) {
        FileKind::Gguf => gguf::read(path, input),
        FileKind::Json => json::read(path, &text::read(path, input)?),
        FileKind::Text => {
            let (variant, tokens) = (names::variant_of_file(path), SpecialTokens::default());
            Ok(vec![Source {
                path: path.to_owned(),
                variant,
                text: text::read(path, input)?,
                tokens,
                special_tokens: None,
            }])
        }
    }
}

/// What a file contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Gguf,
    Json,
    Text,
}

fn kind_of(path: &Path, start: &[u8]) -> FileKind {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("gguf") => return FileKind::Gguf,
        Some("json") => return FileKind::Json,
        Some("jinja" | "jinja2" | "j2") => return FileKind::Text,
        _ => {}
    }
    if start.starts_with(&gguf::MAGIC) {
        return FileKind::Gguf;
    }
    // A template can begin with `{` too, but then `{`, `%` or `#` follows. In JSON a key or `}` follows.
    let mut visible = start.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    match (visible.next(), visible.next()) {
        (Some(b'{'), Some(b'"' | b'}')) => FileKind::Json,
        _ => FileKind::Text,
    }
}

/// The text of the `tokenizer_config.json` of the same model, with what its `special_tokens_map.json` adds; empty if there are no such
/// files or they cannot be read, because the template is complete without its tokens.
fn sibling_config(path: &Path) -> String {
    let read = |name: &str| {
        let path = sibling(path, name);
        let file = File::open(&path).ok();
        file.and_then(|file| text::read(&path, file).ok()).unwrap_or_default()
    };
    let config = read(CONFIG);
    json::with_map(&config, &read(MAP)).unwrap_or(config)
}

/// A file of the same model.
fn sibling(path: &Path, name: &str) -> PathBuf {
    names::model_folder(path).join(name)
}
