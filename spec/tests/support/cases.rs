//! Runs a folder of cases: beside each `NAME.toml` stands `NAME.expected`, which `UPDATE_EXPECT=1` rewrites.

use std::error::Error;
use std::fs;
use std::path::Path;

/// Compares what `run` says of each case with what is expected of it.
pub fn run(folder: &str, run: impl Fn(&str, &str) -> String) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut differing = Vec::new();
    let mut count = 0;
    let mut paths: Vec<_> = fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    paths.sort_by_key(fs::DirEntry::file_name);
    for entry in paths {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        count += 1;
        let name = entry.file_name().to_string_lossy().into_owned();
        let found = run(&fs::read_to_string(&path)?, &name);
        let expected_path = path.with_extension("expected");
        if update {
            fs::write(&expected_path, &found)?;
            continue;
        }
        let expected = fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            differing.push(format!("== {name}\n-- expected\n{expected}\n-- found\n{found}"));
        }
    }
    assert!(count > 0, "no cases in the folder");
    assert!(
        differing.is_empty(),
        "{} of {count} cases differ; UPDATE_EXPECT=1 rewrites them\n{}",
        differing.len(),
        differing.join("\n")
    );
    Ok(())
}
