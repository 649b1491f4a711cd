//! Compiles `templates/`, as any application's build script does. What is known of supported models is left out, because some of
//! these templates are like theirs.

use std::path::PathBuf;

use unjinja_build::{BuildError, Templates};

fn main() -> Result<(), BuildError> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(BuildError::NotABuildScript)?;
    Templates::new("templates").without_known_formats().write_specs(out.join("specs")).compile(out.join("unjinja.rs"))
}
