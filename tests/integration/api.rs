//! The public API of the published crates, as a list that is committed. A change of the list is a change that users see.
//!
//! The list is read from the sources: the items that a crate's root exports, their fields, variants and methods. What is hidden
//! in the documentation is left out, because only our own crates use it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

use crate::support::{Failure, root};

/// The published libraries: the folder, and the list.
const CRATES: [&str; 11] = [
    "unjinja",
    "runtime",
    "spec",
    "render",
    "source",
    "analyzer",
    "codegen",
    "builder",
    "grammar",
    "dynamic",
    "integrations/server",
];

/// What a crate's root exports: the names, each with the name that it has inside.
#[derive(Default)]
struct Exported {
    names: BTreeMap<String, String>,
    globs: Vec<String>,
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether an item is hidden, or exists in tests only.
fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        text.contains("hidden")
            || text.contains("cfg (test)")
            || text.contains("\"testing\"")
            || text.contains("\"trace\"")
    })
}

impl Exported {
    fn of(file: &syn::File) -> Self {
        let mut exported = Self::default();
        for item in &file.items {
            match item {
                Item::Use(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => exported.tree(&item.tree, ""),
                _ => {}
            }
        }
        exported
    }

    fn tree(&mut self, tree: &UseTree, path: &str) {
        match tree {
            UseTree::Path(inner) => self.tree(&inner.tree, &format!("{path}{}::", inner.ident)),
            UseTree::Name(name) => drop(self.names.insert(name.ident.to_string(), name.ident.to_string())),
            UseTree::Rename(name) => drop(self.names.insert(name.ident.to_string(), name.rename.to_string())),
            UseTree::Glob(_) => self.globs.push(format!("{path}*")),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, path)),
        }
    }
}

/// The text of tokens, on one line.
fn text(tokens: impl ToTokens) -> String {
    tokens.to_token_stream().to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fields(name: &str, fields: &Fields, all_public: bool, lines: &mut BTreeSet<String>) {
    for (index, field) in fields.iter().enumerate() {
        if (all_public || is_public(&field.vis)) && !is_hidden(&field.attrs) {
            let field_name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
            lines.insert(format!("{name}.{field_name}: {}", text(&field.ty)));
        }
    }
}

/// Adds the lines of the items of a file, as far as the root exports them or they are in the root.
fn add_items(list: &[Item], is_root: bool, exported: &Exported, lines: &mut BTreeSet<String>) {
    let named = |visibility: &Visibility, attributes: &[Attribute], name: &syn::Ident| {
        let known = exported.names.get(&name.to_string()).cloned();
        let here = is_public(visibility) && !is_hidden(attributes);
        known.or_else(|| is_root.then(|| name.to_string())).filter(|_| here)
    };
    for item in list {
        match item {
            Item::Struct(item) => {
                let Some(name) = named(&item.vis, &item.attrs, &item.ident) else { continue };
                lines.insert(format!("struct {name}{}", text(&item.generics)));
                fields(&name, &item.fields, false, lines);
            }
            Item::Enum(item) => {
                let Some(name) = named(&item.vis, &item.attrs, &item.ident) else { continue };
                lines.insert(format!("enum {name}{}", text(&item.generics)));
                for variant in &item.variants {
                    lines.insert(format!("{name}::{}", variant.ident));
                    fields(&format!("{name}::{}", variant.ident), &variant.fields, true, lines);
                }
            }
            Item::Trait(item) => {
                let Some(name) = named(&item.vis, &item.attrs, &item.ident) else { continue };
                lines.insert(format!("trait {name}{}: {}", text(&item.generics), text(&item.supertraits)));
                for inner in &item.items {
                    if let TraitItem::Fn(function) = inner
                        && !is_hidden(&function.attrs)
                    {
                        lines.insert(format!("{name}::{}", text(&function.sig)));
                    }
                }
            }
            Item::Fn(item) => {
                if let Some(name) = named(&item.vis, &item.attrs, &item.sig.ident) {
                    lines.insert(format!("{name}: {}", text(&item.sig)));
                }
            }
            Item::Type(item) => {
                if let Some(name) = named(&item.vis, &item.attrs, &item.ident) {
                    lines.insert(format!("type {name}{} = {}", text(&item.generics), text(&item.ty)));
                }
            }
            Item::Const(item) => {
                if let Some(name) = named(&item.vis, &item.attrs, &item.ident) {
                    lines.insert(format!("const {name}: {}", text(&item.ty)));
                }
            }
            Item::Impl(item) if item.trait_.is_none() && !is_hidden(&item.attrs) => {
                let whole = text(&item.self_ty);
                let inner = whole.split(['<', ' ']).next().unwrap_or_default();
                let Some(name) = exported.names.get(inner).cloned().or_else(|| is_root.then(|| inner.to_owned()))
                else {
                    continue;
                };
                for function in &item.items {
                    if let ImplItem::Fn(function) = function
                        && is_public(&function.vis)
                        && !is_hidden(&function.attrs)
                    {
                        lines.insert(format!("{name}::{}", text(&function.sig)));
                    }
                }
            }
            Item::Mod(module) => {
                if let Some((_, inner)) = &module.content
                    && !is_hidden(&module.attrs)
                {
                    add_items(inner, false, exported, lines);
                }
            }
            _ => {}
        }
    }
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

#[test]
fn the_public_api_is_the_one_that_was_committed() -> Result<(), Failure> {
    let (mut listing, mut count) = (String::new(), 0);
    for name in CRATES {
        let folder = root().join(name).join("src");
        let library = folder.join("lib.rs");
        let exported = Exported::of(&syn::parse_file(&fs::read_to_string(&library)?)?);
        assert!(exported.globs.is_empty(), "{name} exports what nobody lists: {:?}", exported.globs);
        let (mut sources, mut lines) = (Vec::new(), BTreeSet::new());
        files(&folder, &mut sources)?;
        for source in sources {
            let file = syn::parse_file(&fs::read_to_string(&source)?)?;
            add_items(&file.items, source == library, &exported, &mut lines);
        }
        lines.extend(exported.names.values().map(|name| format!("use {name}")));
        count += lines.len();
        listing += &format!("# {name}\n\n{}\n\n", lines.into_iter().collect::<Vec<_>>().join("\n"));
    }
    assert!(count > 500, "{count} lines are too few");
    unjinja_testkit::expect::file(&root().join("tests/api.txt"), &listing)
}
