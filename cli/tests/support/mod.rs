//! Where the tests of the command line run it, and servers on loopback that it talks to.

#[cfg(feature = "fetch")]
pub mod hub;
#[cfg(all(feature = "serve", unix))]
pub mod serving;
#[cfg(all(feature = "serve", unix))]
pub mod upstream;
#[cfg(feature = "fetch")]
pub mod workflow;

use std::path::Path;

use unjinja_testkit::Failure;
use unjinja_testkit::commands::CommandFolder;

/// An empty folder for a test of this name, and the command to run there.
pub fn folder(suite: &str, name: &str) -> Result<CommandFolder, Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(suite).join(name);
    CommandFolder::new(&folder, Path::new(env!("CARGO_BIN_EXE_unjinja")))
}
