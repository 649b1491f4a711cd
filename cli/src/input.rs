//! Reads the inputs of the commands: templates, folders, JSON files and lines of JSON. Every error names the file.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use unjinja_build::{Source, SourceError};
use unjinja_dynamic::with_names;
use unjinja_runtime::Tools;
use unjinja_spec::Problem;

use crate::failure::{Done, Failure};

/// The templates that the paths name: all of a file or of a model in the Hub's cache, one of these (`FILE#NAME`), all of a folder, or
/// those in standard input (`-`). A file without a template gives its error in its place.
pub(crate) fn templates(paths: &[PathBuf]) -> Result<Vec<Result<Source, SourceError>>, Failure> {
    let mut templates = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = unjinja_build::sources_in(path).map_err(|e| Failure::Input(e.to_string()))?;
            if found.is_empty() {
                let kinds = "*.jinja, tokenizer_config.json, chat_template.json and *.gguf";
                return Err(Failure::file(path, format!("the folder holds no template; looked for {kinds}")));
            }
            templates.extend(found);
        } else {
            match Source::read(path) {
                Ok(found) => templates.extend(found.into_iter().map(Ok)),
                Err(error) => templates.push(Err(with_names(error))),
            }
        }
    }
    Ok(templates)
}

/// The one template that a path or an id names; `FILE#NAME` chooses one of several, `-` is standard input.
pub(crate) fn template(path: &Path) -> Result<Source, Failure> {
    Source::read_one(path).map_err(no_source)
}

/// An error about a template that cannot be read.
pub(crate) fn no_source(error: SourceError) -> Failure {
    Failure::Input(with_names(error).to_string())
}

/// Whether a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Fails if both inputs of a command are standard input.
pub(crate) fn one_stdin(template: Option<&Path>, other: &Path, what: &str) -> Done {
    if template.is_some_and(is_stdin) && is_stdin(other) {
        return Err(Failure::Input(format!(
            "standard input cannot be both the template and {what}: give one of them as a file"
        )));
    }
    Ok(())
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, error))?;
    String::from_utf8(bytes).map_err(|error| {
        Failure::file(path, format!("the file is not UTF-8: bad byte at offset {}", error.utf8_error().valid_up_to()))
    })
}

/// The JSON of a file.
pub(crate) fn json(path: &Path) -> Result<Value, Failure> {
    parse_json(&path.display().to_string(), &text(path)?)
}

/// Parses JSON. The error shows the place.
pub(crate) fn parse_json(name: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        // The frame shows the place, so the message need not.
        let whole = error.to_string();
        let cause = whole.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&whole);
        let cause = format!("this is not valid JSON: {cause}");
        Problem::at(name, text, (line, column), cause, "correct the marked place, or what comes before it").into()
    })
}

/// The tools of a file in OpenAI's form.
pub(crate) fn tools(path: &Path) -> Result<Tools, Failure> {
    Tools::from_openai(&json(path)?).map_err(|e| Failure::file(path, e))
}

/// Fails unless the path is a folder.
pub(crate) fn folder(path: &Path) -> Done {
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => Err(Failure::file(path, "expected a folder, but this is a file")),
        Err(error) => Err(Failure::file(path, error)),
    }
}

/// The path of a file that a line of input names. The name must not lead out of the folder.
pub(crate) fn in_folder(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let plain = Path::new(name).file_name().is_some_and(|file| file == name);
    if plain { Ok(folder.join(name)) } else { Err(format!("{name:?} is not a file name")) }
}

/// A line of an answer.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<T> {
    Answer {
        /// The id of the line that is answered; null if it has none.
        id: Value,
        #[serde(flatten)]
        fields: T,
    },
    Problem {
        id: Value,
        error: String,
    },
}

/// Answers each line of standard input with one line of standard output, in order. An error is answered with a line too.
pub(crate) fn lines<T: Serialize>(mut answer: impl FnMut(&Value) -> Result<T, String>) -> Done {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (id, result) = match serde_json::from_slice::<Value>(&line) {
            Ok(value @ Value::Object(_)) => (value.get("id").cloned().unwrap_or(Value::Null), answer(&value)),
            Ok(_) => (Value::Null, Err("the line is not a JSON object".to_owned())),
            Err(error) => (Value::Null, Err(format!("the line is not valid JSON: {error}"))),
        };
        let row = match result {
            Ok(fields) => Line::Answer { id, fields },
            Err(error) => Line::Problem { id, error },
        };
        serde_json::to_writer(&mut out, &row).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

/// A field of a line, which must be a string.
pub(crate) fn string<'v>(line: &'v Value, key: &str) -> Result<&'v str, String> {
    match line.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("`{key}` must be a string, but is {other}")),
        None => Err(format!("`{key}` is missing")),
    }
}
