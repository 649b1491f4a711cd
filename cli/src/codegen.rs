//! `unjinja codegen`: the Rust of one spec on the screen, or the modules of a folder of specs in their files.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_build::{Build, Input};

use crate::failure::{Done, Failure};

/// The arguments of `codegen`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A template or a spec whose Rust is printed.
    #[arg(required_unless_present = "specs", conflicts_with = "specs")]
    path: Option<PathBuf>,
    /// Write the modules of all specs of this folder.
    #[arg(long, value_name = "DIR", requires = "out")]
    specs: Option<PathBuf>,
    /// The folder for the modules; the list of them is written beside it.
    #[arg(long, value_name = "DIR", requires = "specs")]
    out: Option<PathBuf>,
    /// Write nothing; end with 1 where a file is not what would be written.
    #[arg(long, requires = "specs")]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    if let (Some(specs), Some(out)) = (&arguments.specs, &arguments.out) {
        return write_all(specs, out, arguments.check);
    }
    let Some(path) = &arguments.path else { return Ok(()) };
    let input = if path.extension().is_some_and(|e| e == "toml") { Input::spec(path) } else { Input::template(path) };
    let spec = Build::new(input).spec().map_err(|e| Failure::Input(e.to_string()))?;
    let source = unjinja_codegen::source(&spec).map_err(|e| Failure::Found(e.to_string()))?;
    std::io::stdout().write_all(source.as_bytes())?;
    Ok(())
}

fn write_all(specs: &Path, out: &Path, check: bool) -> Done {
    let files = unjinja_codegen::sources(specs).map_err(|e| Failure::Input(e.to_string()))?;
    let mut stale = Vec::new();
    let list = out.with_extension("rs");
    let mut wanted = vec![(list, files.list)];
    wanted.extend(files.modules.into_iter().map(|(name, source)| (out.join(format!("{name}.rs")), source)));
    for entry in std::fs::read_dir(out).map_err(|e| Failure::file(out, e))? {
        let path = entry?.path();
        if !wanted.iter().any(|(wanted, _)| *wanted == path) {
            stale.push(path.clone());
            if !check {
                std::fs::remove_file(&path).map_err(|e| Failure::file(&path, e))?;
            }
        }
    }
    for (path, source) in &wanted {
        if std::fs::read_to_string(path).is_ok_and(|old| old == *source) {
            continue;
        }
        stale.push(path.clone());
        if !check {
            std::fs::write(path, source).map_err(|e| Failure::file(path, e))?;
        }
    }
    if check && !stale.is_empty() {
        let names: Vec<String> = stale.iter().map(|path| format!("  {}", path.display())).collect();
        return Err(Failure::Found(format!(
            "not up to date:\n{}\nrun `unjinja codegen --specs {} --out {}`",
            names.join("\n"),
            specs.display(),
            out.display(),
        )));
    }
    eprintln!("{} modules, {} written", wanted.len() - 1, if check { 0 } else { stale.len() });
    Ok(())
}
