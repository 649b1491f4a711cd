//! Models by their ids on the Hugging Face Hub: which text is such an id, and where the Hub's clients keep the files that they
//! downloaded. Nothing is downloaded here.

use std::path::{Path, PathBuf};

use crate::names::is_file_name;

/// The folder of the Hub's clients: `HF_HOME`, or else `huggingface` in the cache folder of the user.
pub fn hub_home() -> Option<PathBuf> {
    let caches = || variable("XDG_CACHE_HOME").or_else(|| Some(std::env::home_dir()?.join(".cache")));
    variable("HF_HOME").or_else(|| Some(caches()?.join("huggingface")))
}

/// The folder in which the Hub's clients keep models: `HF_HUB_CACHE`, or else `hub` in [`hub_home`].
pub fn hub_cache() -> Option<PathBuf> {
    let set = variable("HF_HUB_CACHE").or_else(|| variable("HUGGINGFACE_HUB_CACHE"));
    set.or_else(|| Some(hub_home()?.join("hub")))
}

/// The folder with the files of a model in [`hub_cache`], as its branch `main` was when it was downloaded last.
pub fn hub_folder(id: &str) -> Option<PathBuf> {
    let model = is_hub_id(id).then(hub_cache)??.join(format!("models--{}", id.replace('/', "--")));
    let commit = std::fs::read_to_string(model.join("refs/main")).ok()?;
    let is_commit = commit.trim().bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(model.join("snapshots").join(commit.trim())).filter(|folder| is_commit && folder.is_dir())
}

/// Whether a text has the form of a model's id: `OWNER/NAME`. What exists as a path, and what looks like a mistyped path, does not.
///
/// ```
/// use unjinja_source::is_hub_id;
///
/// assert!(is_hub_id("Qwen/Qwen3-8B"));
/// assert!(!is_hub_id("models/qwen3.jinja") && !is_hub_id("./qwen3") && !is_hub_id("a/b/c"));
/// ```
pub fn is_hub_id(text: &str) -> bool {
    let Some((owner, name)) = text.split_once('/') else { return false };
    let is_part = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(is_plain)
    };
    let path = Path::new(text);
    is_part(owner) && is_part(name) && !is_file_name(path) && !path.exists() && !Path::new(owner).is_dir()
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}
