//! The table of models in `docs/models.md` is what the specs say.

use unjinja_testkit::{Failure, expect, root};

#[test]
fn the_table_of_models_is_up_to_date() -> Result<(), Failure> {
    let specs = unjinja_build::specs_in(root().join("generated/specs"))?;
    let table = unjinja_codegen::table(specs.iter().map(|(_, loaded)| loaded.entry()));
    expect::part(&root().join("docs/models.md"), "models", &table)
}
