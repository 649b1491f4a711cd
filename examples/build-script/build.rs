//! Compiles every template of `templates/` into a module. Cargo runs this again when one of them changes.

fn main() -> Result<(), unjinja_build::BuildError> {
    unjinja_build::compile_templates("templates")
}
