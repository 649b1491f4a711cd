//! Makes names for templates from the paths of their files. A name depends on the path as it was given and on nothing
//! else, so that a spec gets the same name on every machine.

use std::path::{Component, Path, PathBuf};

/// The file names in which models publish their templates, the same for every model, in the order in which
/// `transformers` prefers them.
pub const MODEL_FILES: [&str; 3] = ["chat_template.jinja", "chat_template.json", "tokenizer_config.json"];

/// The path that means standard input.
pub(crate) const STDIN: &str = "-";

/// The folder next to `chat_template.jinja` with the model's named templates.
pub(crate) const ADDITIONAL: &str = "additional_chat_templates";

/// Names of folders that hold templates of several models, so that the folder does not name the model.
const OF_TEMPLATES: [&str; 2] = ["templates", "chat_templates"];

/// The variant that adds nothing to a name.
pub(crate) const DEFAULT: &str = "default";

/// Splits `PATH#NAME` into the path of a file and the name of one of its templates.
///
/// Without a `#`, and if a file with the whole text as its path exists, all of it is the path.
///
/// ```
/// use std::path::Path;
///
/// let (path, variant) = unjinja_source::split_variant(Path::new("model.gguf#rag"));
/// assert_eq!((path.as_path(), variant.as_deref()), (Path::new("model.gguf"), Some("rag")));
/// ```
pub fn split_variant(path: &Path) -> (PathBuf, Option<String>) {
    let whole = || (path.to_owned(), None);
    let Some(text) = path.to_str() else { return whole() };
    match text.rsplit_once('#') {
        Some((file, variant)) if !variant.is_empty() && !file.is_empty() && !path.exists() => {
            (file.into(), Some(variant.to_owned()))
        }
        _ => whole(),
    }
}

/// Whether the path can only mean a file: it says so by its ending or by its beginning.
pub(crate) fn is_file_name(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["jinja", "jinja2", "j2", "json", "gguf", "toml", "txt"].contains(&ending)
        || matches!(path.components().next(), Some(first) if !matches!(first, Component::Normal(_)))
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

pub(crate) fn is_jinja(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jinja")
}

/// Whether the file is called alike for every model, so that its folder names the model.
pub(crate) fn is_of_model(path: &Path) -> bool {
    MODEL_FILES.contains(&file_name(path)) || variant_of_file(path).is_some()
}

/// The template's own name, if the file is one of a model's named templates.
pub(crate) fn variant_of_file(path: &Path) -> Option<String> {
    let is_additional = path.parent().is_some_and(|folder| file_name(folder) == ADDITIONAL);
    (is_additional && is_jinja(path)).then(|| file_name(path).trim_end_matches(".jinja").to_owned())
}

/// The folder of the model that the file belongs to.
pub(crate) fn model_folder(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(Path::new(""));
    if variant_of_file(path).is_some() { folder.parent().unwrap_or(Path::new("")) } else { folder }
}

/// The model's name, from its folder. The cache of the Hub's clients has `models--ORG--MODEL/snapshots/REVISION/FILE`.
fn model(path: &Path) -> Option<String> {
    let folder = model_folder(path);
    let is_snapshot = folder.parent().is_some_and(|parent| file_name(parent) == "snapshots");
    let cached = folder.parent().and_then(Path::parent).and_then(|cache| file_name(cache).strip_prefix("models--"));
    if let (true, Some(id)) = (is_snapshot, cached) {
        return Some(id.replace("--", "-"));
    }
    let name = file_name(folder);
    (!name.is_empty() && !OF_TEMPLATES.contains(&name)).then(|| name.to_owned())
}

/// A file's name without the ending that says its kind.
fn stem(path: &Path) -> &str {
    let name = file_name(path);
    if let Some(stem) = name.strip_suffix(".gguf") {
        // A large model is split into files called `NAME-00001-of-00003.gguf`.
        let parts: Vec<&str> = stem.rsplitn(4, '-').collect();
        let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        return match parts[..] {
            [count, "of", number, name] if is_number(count) && is_number(number) => name,
            _ => stem,
        };
    }
    for own in MODEL_FILES {
        let before = name.strip_suffix(own).map(|before| before.trim_end_matches(['.', '-', '_']));
        if let Some(before) = before.filter(|before| !before.is_empty()) {
            return before;
        }
    }
    name.strip_suffix(".json").unwrap_or(name)
}

/// A name for the spec of a template.
pub(crate) fn name(path: &Path, variant: Option<&str>) -> String {
    let model = if is_of_model(path) { model(path) } else { None };
    let base = match &model {
        Some(model) => model,
        None if path == Path::new(STDIN) => "stdin",
        None if is_of_model(path) || is_jinja(path) => file_name(path).trim_end_matches(".json"),
        None => stem(path),
    };
    match variant {
        Some(variant) if variant != DEFAULT => name_of(&format!("{}_{variant}", base.trim_end_matches(".jinja"))),
        _ => name_of(base),
    }
}

/// The name of the file, with `#VARIANT` if the template has a name of its own.
pub(crate) fn file(path: &Path, variant: Option<&str>) -> String {
    let file =
        if path == Path::new(STDIN) { "stdin".into() } else { path.file_name().unwrap_or_default().to_string_lossy() };
    match variant {
        // A spec must not name folders.
        Some(variant) if variant_of_file(path).is_none() => format!("{file}#{}", variant.replace(['/', '\\'], "_")),
        _ => file.into_owned(),
    }
}

/// A spec's name, made from the file name of its template: lower-case letters, digits and `_`, beginning with a letter.
///
/// ```
/// assert_eq!(unjinja_source::name_of("Qwen-Qwen3-0.6B.jinja"), "qwen_qwen3_0_6b");
/// assert_eq!(unjinja_source::name_of("3b.jinja"), "t_3b");
/// ```
pub fn name_of(file: &str) -> String {
    let stem = file.strip_suffix(".jinja").unwrap_or(file);
    let mut name = String::new();
    for c in stem.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('_') && !name.is_empty() {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    if name.starts_with(|c: char| c.is_ascii_lowercase()) { name.to_owned() } else { format!("t_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path, variant, expected name, expected file.
    const CASES: [(&str, Option<&str>, &str, &str); 17] = [
        ("templates/Qwen-Qwen3-0.6B.jinja", None, "qwen_qwen3_0_6b", "Qwen-Qwen3-0.6B.jinja"),
        ("hermes.jinja", None, "hermes", "hermes.jinja"),
        ("odd.txt", None, "odd_txt", "odd.txt"),
        ("models/Qwen3-0.6B/tokenizer_config.json", None, "qwen3_0_6b", "tokenizer_config.json"),
        ("R+/tokenizer_config.json", Some("tool_use"), "r_tool_use", "tokenizer_config.json#tool_use"),
        ("R+/tokenizer_config.json", Some("default"), "r", "tokenizer_config.json#default"),
        ("Gemma.3/chat_template.json", None, "gemma_3", "chat_template.json"),
        ("Gemma.3/chat_template.jinja", None, "gemma_3", "chat_template.jinja"),
        ("templates/chat_template.jinja", None, "chat_template", "chat_template.jinja"),
        ("tokenizer_config.json", None, "tokenizer_config", "tokenizer_config.json"),
        ("Aya/additional_chat_templates/rag.jinja", Some("rag"), "aya_rag", "rag.jinja"),
        (
            "hub/models--Qwen--Qwen3-8B/snapshots/ab12/tokenizer_config.json",
            None,
            "qwen_qwen3_8b",
            "tokenizer_config.json",
        ),
        ("all/qwen3.tokenizer_config.json", None, "qwen3", "qwen3.tokenizer_config.json"),
        ("m/Qwen3-8B-Q4_K_M.gguf", None, "qwen3_8b_q4_k_m", "Qwen3-8B-Q4_K_M.gguf"),
        ("m/Big-00001-of-00003.gguf", Some("rag"), "big_rag", "Big-00001-of-00003.gguf#rag"),
        ("m/processor.json", None, "processor", "processor.json"),
        ("-", None, "stdin", "stdin"),
    ];

    #[test]
    fn names_come_from_paths() {
        for (path, variant, expected_name, expected_file) in CASES {
            let path = Path::new(path);
            let found = (name(path, variant), file(path, variant));
            assert_eq!(found, (expected_name.to_owned(), expected_file.to_owned()), "{}", path.display());
        }
    }

    #[test]
    fn a_variant_follows_a_hash() {
        let split = |text: &str| {
            let (path, variant) = split_variant(Path::new(text));
            (path.display().to_string(), variant)
        };
        assert_eq!(split("a/x.gguf#rag"), ("a/x.gguf".to_owned(), Some("rag".to_owned())));
        assert_eq!(split("x.gguf"), ("x.gguf".to_owned(), None));
        assert_eq!(split("x.gguf#"), ("x.gguf#".to_owned(), None));
        assert_eq!(split("#rag"), ("#rag".to_owned(), None));
    }
}
