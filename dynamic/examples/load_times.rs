//! Prints how long it takes to load templates: with an analysis, and from a cache.
//!
//! `cargo run --release -p unjinja-dynamic --example load_times -- FOLDER`

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use unjinja_dynamic::{CacheUse, Loader, Model, ModelError};

/// How often each template is loaded; the fastest time counts.
const TIMES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: load_times FOLDER")?;
    let mut paths =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jinja"));
    paths.sort();
    let cache = std::env::temp_dir().join(format!("unjinja-load-times-{}", std::process::id()));
    // The reviewed specs of supported models would save their analysis.
    let fresh = Loader::new().without_known_formats();
    let cached = fresh.clone().cache(&cache);
    let (mut analysed, mut read, mut failed) = (Vec::new(), Vec::new(), 0);
    for path in &paths {
        if let Err(error) = cached.from_file(path) {
            println!("{error}");
            failed += 1;
            continue;
        }
        analysed.push((fastest(|| fresh.from_file(path))?, path));
        read.push((
            fastest(|| {
                let model = cached.from_file(path)?;
                assert!(matches!(model.cache(), CacheUse::Read(_)), "{}: {:?}", path.display(), model.cache());
                Ok(model)
            })?,
            path,
        ));
    }
    std::fs::remove_dir_all(cache)?;
    println!("{} templates, {failed} of them cannot be analysed", paths.len());
    print("analysis", analysed);
    print("from the cache", read);
    Ok(())
}

fn fastest(load: impl Fn() -> Result<Model, ModelError>) -> Result<Duration, ModelError> {
    let mut best = Duration::MAX;
    for _ in 0..TIMES {
        let begin = Instant::now();
        let model = load()?;
        best = best.min(begin.elapsed());
        drop(model);
    }
    Ok(best)
}

fn print(what: &str, mut times: Vec<(Duration, &PathBuf)>) {
    times.sort();
    let (Some((median, _)), Some((longest, path))) = (times.get(times.len() / 2), times.last()) else { return };
    println!("{what}: median {median:.2?}, longest {longest:.2?} ({})", path.display());
}
