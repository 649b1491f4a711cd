//! Compiles `templates/`, as any application's build script does.

fn main() -> Result<(), unjinja_build::BuildError> {
    unjinja_build::compile_templates("templates")
}
