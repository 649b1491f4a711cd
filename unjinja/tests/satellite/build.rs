//! Compiles some of the templates as a build script does, with types of tools.

use std::path::PathBuf;

use unjinja_build::Templates;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let folder = out.join("templates");
    std::fs::create_dir_all(&folder)?;
    // Without a tokenizer_config.json next to it: that would say which other token ends a text.
    for (from, file) in
        [(".", "tags.jinja"), ("corrected", "corrected.jinja"), ("corrected", "corrected.overlay.toml")]
    {
        std::fs::copy(format!("templates/{from}/{file}"), folder.join(file))?;
    }
    Templates::new(&folder).tools("typed_tools.json").types().compile(out.join("unjinja.rs"))?;
    Ok(())
}
