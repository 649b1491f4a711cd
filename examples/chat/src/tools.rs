//! The tool that the model may call. It reads files of the current folder only, because a model chooses the name.

use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::{Value, json};

/// The tools, as OpenAI has them.
pub fn offered() -> Value {
    json!([{
        "type": "function",
        "function": {
            "name": "count_words",
            "description": "Counts the words of a text file in the current folder.",
            "parameters": {
                "type": "object",
                "properties": {"file": {"type": "string", "description": "The name of the file."}},
                "required": ["file"],
            },
        },
    }])
}

#[derive(Deserialize)]
struct CountWords {
    file: String,
}

/// Runs a call. The result is for the model; so is what went wrong, because it may do better next time.
pub fn run(name: &str, arguments: &str) -> String {
    let result = match name {
        "count_words" => count_words(arguments),
        _ => Err("there is no such tool".to_owned()),
    };
    result.unwrap_or_else(|error| format!("error: {error}"))
}

fn count_words(arguments: &str) -> Result<String, String> {
    let CountWords { file } = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    let path = Path::new(&file);
    let parts: Vec<Component<'_>> = path.components().collect();
    if !matches!(parts[..], [Component::Normal(_)]) {
        return Err("only files of the current folder can be read".to_owned());
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
    Ok(text.split_whitespace().count().to_string())
}
