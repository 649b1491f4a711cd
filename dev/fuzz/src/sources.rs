//! Any bytes as a file that contains templates: GGUF, `tokenizer_config.json`, `.jinja`.

use unjinja_build::{Source, SourceExt};

/// The kinds of files, by their names.
pub const FILES: [&str; 4] = ["model.gguf", "tokenizer_config.json", "chat_template.json", "chat_template.jinja"];

/// Checks the property for a file.
///
/// # Errors
/// The property that does not hold.
pub fn check(file: &str, bytes: &[u8]) -> Result<(), String> {
    let sources = match Source::from_bytes(file, bytes) {
        Ok(sources) => sources,
        Err(error) => {
            let shown = error.to_string();
            return if shown.contains(file) { Ok(()) } else { Err(format!("an error without the file: {shown:?}")) };
        }
    };
    if sources.is_empty() {
        return Err("no template, and no error".to_owned());
    }
    for source in &sources {
        let name = source.name();
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(format!("{:?} gives a spec of the name {name:?}", source.file()));
        }
        if source.text.len() > bytes.len() {
            return Err(format!("a text of {} bytes in a file of {}", source.text.len(), bytes.len()));
        }
        // Either result is fine; it must only return.
        let _ = source.template();
    }
    Ok(())
}
