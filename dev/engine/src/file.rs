//! A model file that exists until llama.cpp has loaded it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The file. It is removed when this is dropped.
pub(crate) struct ModelFile {
    path: PathBuf,
}

impl ModelFile {
    pub(crate) fn write(content: &[u8]) -> Result<Self, std::io::Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("unjinja-engine-{}-{}.gguf", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let file = Self { path: std::env::temp_dir().join(name) };
        fs::write(&file.path, content)?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ModelFile {
    fn drop(&mut self) {
        // It does no harm if a temporary file remains.
        let _ = fs::remove_file(&self.path);
    }
}
