//! Runs `typify`, and adapts what it writes: where the code finds serde, the documentation, and structs without members
//! that take others.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use serde_json::{Map, Value};
use syn::{Attribute, Item};
use typify::{TypeSpace, TypeSpaceSettings};

use super::error::{TypesError, TypesProblem};
use super::names;
use super::schema::Definition;

/// The types of these definitions. `support` is the path of the module that holds serde and serde_json.
///
/// # Errors
/// A definition makes no type, or no valid one. Lists the first such place.
pub(super) fn types(definitions: &[Definition], support: &TokenStream) -> Result<TokenStream, TypesError> {
    let tokens = convert(definitions).map_err(|cause| place(definitions, cause))?;
    let mut file: syn::File = syn::parse2(tokens).map_err(|error| bug(error.to_string()))?;
    let by_name: BTreeMap<&str, &Definition> =
        definitions.iter().map(|definition| (definition.name.as_str(), definition)).collect();
    let serde = format!("{}::serde", names::path(support));
    let mut defined = BTreeSet::new();
    for item in &mut file.items {
        let (attributes, name, same) = match item {
            Item::Struct(item) => {
                (&mut item.attrs, item.ident.to_string(), twice(item.fields.iter().map(|f| &f.ident)))
            }
            Item::Enum(item) => {
                let names: Vec<_> = item.variants.iter().map(|variant| Some(variant.ident.clone())).collect();
                (&mut item.attrs, item.ident.to_string(), twice(names.iter()))
            }
            _ => continue,
        };
        let Some(definition) = by_name.get(name.as_str()).filter(|_| defined.insert(name.clone())) else {
            return Err(bug(format!("the type `{name}` was not asked for, or comes twice")));
        };
        if let Some(same) = same {
            let cause = format!("two names become `{same}` in Rust");
            return Err(problem(definition, "", cause, "rename one of them"));
        }
        adapt(attributes, definition, &serde);
    }
    if let Some(missing) = definitions.iter().find(|definition| !defined.contains(&definition.name)) {
        return Err(bug(format!("the type `{}` is missing", missing.name)));
    }
    Ok(redirect(file.into_token_stream(), support))
}

/// What typify makes of definitions; or why it makes nothing.
fn convert(definitions: &[Definition]) -> Result<TokenStream, String> {
    let schemas: Map<String, Value> =
        definitions.iter().map(|definition| (definition.name.clone(), definition.schema.clone())).collect();
    let made = catch_unwind(AssertUnwindSafe(|| {
        let mut settings = TypeSpaceSettings::default();
        settings.with_derive("PartialEq".to_owned());
        let mut space = TypeSpace::new(&settings);
        let schemas: BTreeMap<String, _> =
            serde_json::from_value(Value::Object(schemas)).map_err(|error| error.to_string())?;
        space.add_ref_types(schemas).map_err(|error| error.to_string())?;
        Ok(space.to_stream())
    }));
    made.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("the schema makes no Rust type: {}", text.unwrap_or("typify gave up")))
    })
}

/// Finds the place of a problem: the first member, in the order of the definitions, with which it comes up.
fn place(definitions: &[Definition], cause: String) -> TypesError {
    let members = |definition: &Definition| -> Vec<String> {
        let members = definition.schema.get("properties").and_then(Value::as_object);
        members.into_iter().flat_map(Map::keys).cloned().collect()
    };
    let mut tried: Vec<Definition> = definitions.to_vec();
    for definition in &mut tried {
        if let Some(members) = definition.schema.get_mut("properties").and_then(Value::as_object_mut) {
            members.clear();
        }
    }
    let next = "correct the schema, or do without `types`";
    for (index, definition) in definitions.iter().enumerate() {
        for member in members(definition) {
            let schema = definition.schema["properties"][&member].clone();
            tried[index].schema["properties"][&member] = schema;
            if let Err(cause) = convert(&tried) {
                return problem(definition, &format!(".properties.{member}"), cause, next);
            }
        }
    }
    bug(cause)
}

fn problem(definition: &Definition, below: &str, cause: String, next: &str) -> TypesError {
    TypesProblem::new(&definition.tool, format!("{}{below}", definition.path), cause, next).alone()
}

fn bug(cause: String) -> TypesError {
    TypesProblem::new("", "", cause, "report this as a bug, with the file of tools").alone()
}

/// The first name that comes twice.
fn twice<'n>(names: impl Iterator<Item = &'n Option<syn::Ident>>) -> Option<String> {
    let mut seen = BTreeSet::new();
    names.flatten().map(ToString::to_string).find(|name| !seen.insert(name.clone()))
}

/// Gives a type its documentation, and tells serde's derive where serde is.
fn adapt(attributes: &mut Vec<Attribute>, definition: &Definition, serde: &str) {
    attributes.retain(|attribute| {
        let closes = attribute.path().is_ident("serde")
            && attribute.meta.to_token_stream().to_string().contains("deny_unknown_fields");
        let goes = attribute.path().is_ident("doc") || closes && definition.open;
        !goes
    });
    let lines = definition.doc.lines();
    attributes.splice(0..0, lines.map(|line| syn::parse_quote!(#[doc = #line])));
    let derives = attributes.iter().any(|attribute| {
        attribute.path().is_ident("derive") && attribute.meta.to_token_stream().to_string().contains("serde")
    });
    if derives {
        attributes.push(syn::parse_quote!(#[serde(crate = #serde)]));
    }
}

/// Makes the paths of serde and serde_json lead into `support`, also those in texts of attributes. Makes names of the
/// standard library absolute that a type of the same name would hide.
fn redirect(tokens: TokenStream, support: &TokenStream) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon = |at: usize| matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let mut out = TokenStream::new();
    for (at, tree) in trees.iter().enumerate() {
        let after_path = at >= 2 && is_colon(at - 1) && is_colon(at - 2);
        match tree {
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), redirect(group.stream(), support));
                new.set_span(group.span());
                out.extend([TokenTree::Group(new)]);
            }
            // The colons before the name of a crate are part of the new path.
            TokenTree::Punct(_) if begins_crate_path(&trees, at) || at > 0 && begins_crate_path(&trees, at - 1) => {}
            TokenTree::Ident(ident) if after_path && begins_crate_path(&trees, at - 2) => {
                out.extend(quote!(#support::#ident));
            }
            TokenTree::Ident(ident) if !after_path && ident == "Default" && is_colon(at + 1) && is_colon(at + 2) => {
                out.extend(quote!(::std::default::Default));
            }
            TokenTree::Ident(ident) if !after_path && (ident == "Ok" || ident == "Err") && is_call(&trees, at) => {
                out.extend(quote!(::std::result::Result::#ident));
            }
            TokenTree::Literal(literal) => out.extend([TokenTree::Literal(redirect_text(literal, support))]),
            other => out.extend([other.clone()]),
        }
    }
    out
}

/// Whether `::serde` or `::serde_json` begins here. Typify writes no longer path that contains them.
fn begins_crate_path(trees: &[TokenTree], at: usize) -> bool {
    let is_colon = |at: usize| matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let is_crate =
        matches!(trees.get(at + 2), Some(TokenTree::Ident(ident)) if ident == "serde" || ident == "serde_json");
    is_crate && is_colon(at) && is_colon(at + 1)
}

fn is_call(trees: &[TokenTree], at: usize) -> bool {
    let defined = at > 0 && matches!(&trees[at - 1], TokenTree::Ident(before) if before == "struct");
    let called =
        matches!(trees.get(at + 1), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
    called && !defined
}

/// A text that is a path, as `skip_serializing_if` has it.
fn redirect_text(literal: &Literal, support: &TokenStream) -> Literal {
    match syn::parse_str::<syn::LitStr>(&literal.to_string()) {
        Ok(text) if text.value().starts_with("::serde_json::") => {
            Literal::string(&format!("{}{}", names::path(support), text.value()))
        }
        _ => literal.clone(),
    }
}
