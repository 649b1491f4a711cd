//! Where the tests of the command line run it, and servers on loopback that it talks to.

#[cfg(feature = "fetch")]
pub mod hub;
#[cfg(all(feature = "serve", unix))]
pub mod upstream;
#[cfg(feature = "fetch")]
pub mod workflow;

use std::path::Path;

use unjinja_testkit::Failure;
use unjinja_testkit::commands::Place;

/// An empty folder for a test of this name, and the command to run there.
pub fn place(suite: &str, name: &str) -> Result<Place, Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(suite).join(name);
    Place::new(&folder, Path::new(env!("CARGO_BIN_EXE_unjinja")))
}
