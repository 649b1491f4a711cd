//! The cache that all clients of the Hub share. In `models--ORG--NAME`, `refs/REVISION` holds a commit, `snapshots/COMMIT/FILE` is
//! a file, and `.no_exist/COMMIT/FILE` says that there is none. A commit never changes. A cache that cannot be written to is not a
//! failure: the next run downloads the file again.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::manifest::{OnHub, is_inside};

/// Bytes that a file may have. The largest `tokenizer_config.json` files have a few megabytes.
pub(super) const LARGEST: u64 = 32 << 20;

/// The folder of files, and that of files which are missing.
const SNAPSHOTS: &str = "snapshots";
const MISSING: &str = ".no_exist";

/// The cache; empty without a folder for it.
#[derive(Debug)]
pub(super) struct Cache(pub Option<PathBuf>);

/// A model's file, and its commit.
pub(super) struct Cached {
    pub bytes: Vec<u8>,
    pub commit: String,
}

/// What the cache knows about a file.
pub(super) enum Kept {
    File(Cached),
    /// The model does not have it.
    Missing,
}

impl Cache {
    /// What is known of the commit that the revision was when it was last looked up.
    pub(super) fn read(&self, wanted: &OnHub, file: &str) -> Option<Kept> {
        let model = self.model(wanted)?;
        let commit = match is_commit(&wanted.revision) {
            true => wanted.revision.clone(),
            false => fs::read_to_string(reference(&model, &wanted.revision)?).ok()?.trim().to_owned(),
        };
        if in_commit(&model, MISSING, &commit, file)?.exists() {
            return Some(Kept::Missing);
        }
        let mut bytes = Vec::new();
        let opened = File::open(in_commit(&model, SNAPSHOTS, &commit, file)?).ok()?;
        opened.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
        Some(Kept::File(Cached { bytes, commit }))
    }

    /// Keeps a file that was downloaded.
    pub(super) fn keep(&self, wanted: &OnHub, file: &str, cached: &Cached) {
        self.write(wanted, SNAPSHOTS, file, &cached.commit, &cached.bytes);
    }

    /// Keeps that a commit does not have this file.
    pub(super) fn keep_missing(&self, wanted: &OnHub, file: &str, commit: &str) {
        self.write(wanted, MISSING, file, commit, b"");
    }

    fn write(&self, wanted: &OnHub, folder: &str, file: &str, commit: &str, bytes: &[u8]) {
        let Some(model) = self.model(wanted) else { return };
        let Some(path) = in_commit(&model, folder, commit, file) else { return };
        let written = write(&path, bytes);
        let reference = reference(&model, &wanted.revision).filter(|_| !is_commit(&wanted.revision));
        if let (Ok(()), Some(reference)) = (written, reference) {
            // See above: a failure to write is ignored.
            let _ = write(&reference, commit.as_bytes());
        }
    }

    fn model(&self, wanted: &OnHub) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(format!("models--{}", wanted.repo.replace('/', "--"))))
    }
}

/// Whether a revision is a commit: it then always is the same.
pub(super) fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Nothing for a name that would lead out of the folder.
fn reference(model: &Path, revision: &str) -> Option<PathBuf> {
    is_inside(revision).then(|| model.join("refs").join(revision))
}

/// Nothing for names that would lead out of the folder.
fn in_commit(model: &Path, folder: &str, commit: &str, file: &str) -> Option<PathBuf> {
    (is_commit(commit) && is_inside(file)).then(|| model.join(folder).join(commit).join(file))
}

/// Writes a file completely or not at all.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = folder.join(format!("{name}.{}.part", std::process::id()));
    fs::write(&part, bytes)?;
    fs::rename(&part, path)
}
