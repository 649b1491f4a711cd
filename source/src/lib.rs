//! The one place that gets chat templates out of files: `.jinja`, `tokenizer_config.json`, `chat_template.json`, GGUF,
//! folders of those, and standard input.
//!
//! What a file is, its name says, or else its first bytes. It must never read a model's weights, hold more of a file
//! than its template needs, or guess which of several named templates is meant.

mod error;
mod folder;
mod gguf;
mod json;
mod names;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

pub use self::error::SourceError;
pub use self::folder::sources_in;
pub use self::names::{MODEL_FILES, name_of, split_variant};

/// More than this no template and no configuration has: reading ends here, with an error.
const TEXT_LIMIT: u64 = 32 << 20;

/// How much of standard input is read where it is a GGUF: what stands before the weights fits into it.
const PIPE_LIMIT: u64 = 64 << 20;

/// The path that means standard input.
const STDIN: &str = "-";

/// The texts of a model's special tokens, as its files say them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    /// `bos_token`, which begins a text.
    pub bos: Option<String>,
    /// `eos_token`, which ends one.
    pub eos: Option<String>,
}

/// A chat template and what the file that holds it says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// Which of the file's named templates this is (`default`, `tool_use`, `rag`); absent where it holds one without a
    /// name.
    pub variant: Option<String>,
    /// The template.
    pub text: String,
    /// The texts of `bos_token` and `eos_token`, where the file says them.
    pub tokens: SpecialTokens,
}

impl Source {
    /// The templates that a file holds. `PATH#NAME` is the named template of a file, `-` is standard input.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join("unjinja-source-doc");
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("tokenizer_config.json");
    /// std::fs::write(&path, r#"{
    ///     "eos_token": {"content": "</s>"},
    ///     "chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
    /// }"#)?;
    /// let sources = unjinja_source::Source::read(&path)?;
    /// assert_eq!(sources[1].text, "b");
    /// assert_eq!(sources[1].variant.as_deref(), Some("tool_use"));
    /// assert_eq!(sources[1].tokens.eos.as_deref(), Some("</s>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the file cannot be read, is damaged, or holds no template (then it says what it holds).
    pub fn read(path: impl AsRef<Path>) -> Result<Vec<Source>, SourceError> {
        let (path, variant) = split_variant(path.as_ref());
        let sources = if path == Path::new(STDIN) { read_stdin() } else { read_file(&path) }?;
        let Some(variant) = variant else { return Ok(sources) };
        match sources.iter().position(|source| source.variant.as_deref() == Some(&variant)) {
            Some(at) => Ok(sources.into_iter().skip(at).take(1).collect()),
            None => Err(error::no_variant(&path, &variant, &sources)),
        }
    }

    /// The one template that a file holds; of several named ones `PATH#NAME` says which.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and where the file holds several templates: the error names them.
    pub fn read_one(path: impl AsRef<Path>) -> Result<Source, SourceError> {
        let mut sources = Self::read(path)?;
        match (sources.pop(), sources.is_empty()) {
            (Some(source), true) => Ok(source),
            (Some(last), false) => {
                let path = last.path.clone();
                sources.push(last);
                Err(error::several(&path, &sources))
            }
            (None, _) => Err(SourceError::new(Path::new(STDIN), "it holds no chat template")),
        }
    }

    /// The templates in the bytes of a file of this name.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn from_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Vec<Source>, SourceError> {
        read_from(path.as_ref(), Cursor::new(bytes))
    }

    /// The file's name, with the template's own behind a `#` where it has one: what a spec records as `template.file`.
    pub fn file(&self) -> String {
        names::file(&self.path, self.variant.as_deref())
    }

    /// The spec's name: made from the file's name, or from the folder's where a model's file is called as those of all
    /// models are, and from the template's own.
    pub fn name(&self) -> String {
        names::name(&self.path, self.variant.as_deref())
    }

    /// The path, with the template's own name behind a `#`: what [`read_one`](Self::read_one) takes.
    pub fn place(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}#{variant}", self.path.display()),
            None => self.path.display().to_string(),
        }
    }

    /// The file of corrections that goes with the template, whether it exists or not: `FILE.overlay.toml` for
    /// `FILE.jinja`, `NAME.overlay.toml` in the same folder for templates in other files.
    pub fn overlay(&self) -> PathBuf {
        if names::is_jinja(&self.path) && !names::is_of_model(&self.path) {
            self.path.with_extension("overlay.toml")
        } else {
            self.path.with_file_name(format!("{}.overlay.toml", self.name()))
        }
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gguf,
    Json,
    Text,
}

/// What the name of a file says, or else its first bytes.
fn kind_of(path: &Path, start: &[u8]) -> Kind {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("gguf") => return Kind::Gguf,
        Some("json") => return Kind::Json,
        Some("jinja" | "jinja2" | "j2") => return Kind::Text,
        _ => {}
    }
    if start.starts_with(&gguf::MAGIC) {
        return Kind::Gguf;
    }
    // A template may begin with a brace too, but a key or nothing follows an object's.
    let mut first = start.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    match (first.next(), first.next()) {
        (Some(b'{'), Some(b'"' | b'}')) => Kind::Json,
        _ => Kind::Text,
    }
}

fn read_file(path: &Path) -> Result<Vec<Source>, SourceError> {
    let file = File::open(path).map_err(|error| SourceError::new(path, error))?;
    let mut sources = read_from(path, BufReader::new(file))?;
    let knows = |source: &Source| source.tokens != SpecialTokens::default();
    if names::is_of_model(path) && !sources.iter().any(knows) {
        let tokens = folder::tokens_beside(path);
        sources.iter_mut().for_each(|source| source.tokens = tokens.clone());
    }
    Ok(sources)
}

fn read_stdin() -> Result<Vec<Source>, SourceError> {
    let path = Path::new(STDIN);
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(PIPE_LIMIT).read_to_end(&mut bytes);
    read.map_err(|error| SourceError::new(path, error))?;
    read_from(path, Cursor::new(bytes.as_slice()))
}

fn read_from(path: &Path, mut input: impl Read + Seek) -> Result<Vec<Source>, SourceError> {
    let fail = |error: io::Error| SourceError::new(path, error);
    let mut start = Vec::new();
    input.by_ref().take(64).read_to_end(&mut start).map_err(fail)?;
    input.rewind().map_err(fail)?;
    let kind = kind_of(path, &start);
    if kind == Kind::Gguf {
        return gguf::read(path, input);
    }
    let text = text(path, input)?;
    if kind == Kind::Json {
        return json::read(path, &text);
    }
    let (variant, tokens) = (names::variant_of_file(path), SpecialTokens::default());
    Ok(vec![Source { path: path.to_owned(), variant, text, tokens }])
}

/// The text of a file.
fn text(path: &Path, input: impl Read) -> Result<String, SourceError> {
    let mut bytes = Vec::new();
    input.take(TEXT_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| SourceError::new(path, error))?;
    if bytes.len() as u64 > TEXT_LIMIT {
        return Err(SourceError::new(path, format!("the file is larger than {TEXT_LIMIT} bytes: it is no template")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        SourceError::new(path, format!("the file is not UTF-8: bad byte at offset {at}"))
    })
}
