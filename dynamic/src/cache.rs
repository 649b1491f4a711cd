//! A folder of analysed specs, one file for each template. It saves the analysis and nothing else: overlays and names are
//! applied to what was read.
//!
//! A cache may fail at any time and must never be the reason that a model cannot be loaded. Several processes may share a
//! folder: a file appears under its name only when it is complete. Whoever can write to the folder decides how outputs are
//! read, so it must belong to the application.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use unjinja_analyzer::sha256;
use unjinja_source::{Source, SpecialTokens};
use unjinja_spec::{FormatSpec, SPEC_VERSION, TemplateInfo};

/// What a cache did for a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CacheUse {
    /// Nothing: there is no cache folder, or the spec was given.
    Unused,
    /// The spec was read from this file.
    Read(PathBuf),
    /// The template was analysed, and the spec was written to this file.
    Written(PathBuf),
    /// The template was analysed, and the spec could not be written. The model is the same; the next load takes as long.
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Arc<io::Error>,
    },
}

/// The first line of a file.
const PREAMBLE: &str = "# Written by unjinja-dynamic: the analysis of one template. It can be deleted at any time.\n";

/// The last line of a file. Most files that are cut off are valid TOML, so this line says that nothing is missing.
const END: &str = "\n# End of the analysis.\n";

/// The place of one template's spec in a cache folder.
pub(crate) struct Slot {
    path: PathBuf,
    sha256: String,
    tokens: SpecialTokens,
}

impl Slot {
    /// The file name says everything that an analysis depends on: the template, the special tokens and the versions.
    pub(crate) fn new(folder: &Path, source: &Source) -> Self {
        let (hash, tokens) = (sha256(&source.text), source.tokens.clone());
        let mut name = hash.clone();
        if tokens != SpecialTokens::default() {
            let of_tokens = sha256(&format!("{tokens:?}"));
            name.push('-');
            name.extend(of_tokens.chars().take(16));
        }
        let version = env!("CARGO_PKG_VERSION");
        let path = folder.join(format!("{name}-{version}-{SPEC_VERSION}.toml"));
        Self { path, sha256: hash, tokens }
    }

    /// The spec, if the file is there, complete and of this template. The names in it are not the caller's.
    pub(crate) fn read(&self) -> Option<(FormatSpec, CacheUse)> {
        let text = fs::read_to_string(&self.path).ok()?;
        let body = text.strip_prefix(PREAMBLE)?.strip_suffix(END)?;
        let spec = FormatSpec::from_toml(body, "").ok()?;
        let same = spec.template.sha256 == self.sha256
            && (&spec.tokens.bos, &spec.tokens.eos) == (&self.tokens.bos, &self.tokens.eos);
        same.then(|| (spec, CacheUse::Read(self.path.clone())))
    }

    /// Writes the spec, without the caller's names.
    pub(crate) fn write(&self, spec: &FormatSpec) -> CacheUse {
        let mut spec = spec.clone();
        spec.template = TemplateInfo {
            name: "template".to_owned(),
            file: "template.jinja".to_owned(),
            sha256: self.sha256.clone(),
            ..TemplateInfo::default()
        };
        let path = self.path.clone();
        match self.replace(&format!("{PREAMBLE}{}{END}", spec.to_toml())) {
            Ok(()) => CacheUse::Written(path),
            Err(error) => CacheUse::NotWritten { path, error: Arc::new(error) },
        }
    }

    /// Writes another file and gives it the name. No process ever sees half of it.
    fn replace(&self, text: &str) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut unfinished = self.path.clone();
        unfinished.set_extension(format!("{}-{}.tmp", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &self.path));
        if written.is_err() {
            // There is nothing to do about a file that cannot be removed.
            let _ = fs::remove_file(&unfinished);
        }
        written
    }
}
