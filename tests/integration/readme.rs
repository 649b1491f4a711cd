//! The README's table of models is what the specs say.

use std::path::Path;

#[test]
fn the_table_of_models_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let table = unjinja_codegen::table(&root.join("generated/specs")).expect("the committed specs");
    let (from, to) = ("<!-- models -->\n", "<!-- end of models -->");
    let (before, rest) = readme.split_once(from).expect("a mark before the table");
    let (old, after) = rest.split_once(to).expect("a mark after the table");
    if old != table && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(root.join("README.md"), format!("{before}{from}{table}{to}{after}")).expect("write the README");
        return;
    }
    assert_eq!(old, table, "the table is out of date: UPDATE_EXPECT=1 cargo test --test readme writes it");
}
