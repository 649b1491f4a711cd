//! Makes a tool of each schema in `dev/gbnf/tests/schemas`, and the types of all these tools. A tool has one argument,
//! `value`, with this schema.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use quote::quote;
use serde_json::{Value, json};
use unjinja_build::type_items;
use unjinja_runtime::Tools;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gbnf/tests/schemas").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rustc-env=SCHEMAS={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let (mut tools, mut refused) = (Vec::new(), String::new());
    for file in files {
        let keyword = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file)?)?;
        for (index, case) in cases.iter().enumerate() {
            let name = format!("{keyword}-{index}");
            let mut schema = case["schema"].clone();
            move_references(&mut schema);
            let parameters = json!({
                "type": "object",
                "properties": {"value": {"$ref": "#/$defs/it"}},
                "required": ["value"],
                "$defs": {"it": schema},
            });
            let tool = json!({"name": name, "parameters": parameters});
            match types(&json!([tool])) {
                Ok(_) => tools.push(tool),
                Err(error) => write!(refused, "({name:?}, {:?}),", error.to_string())?,
            }
        }
    }
    let types = types(&Value::from(tools))?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let refused = format!(
        "/// The tools that no types can be made of, and why.\npub const REFUSED: &[(&str, &str)] = &[{refused}];"
    );
    fs::write(out.join("types.rs"), format!("{types}\n{refused}\n"))?;
    Ok(())
}

fn types(tools: &Value) -> Result<String, Box<dyn Error + Send + Sync>> {
    let tools = Tools::from_json(&tools.to_string())?;
    Ok(type_items(&tools, &quote!(unjinja_runtime))?.to_string())
}

/// Lets references lead to the place where the schema is put.
fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (key, member) in members {
                match member.as_str().and_then(|text| text.strip_prefix('#')).filter(|_| key == "$ref") {
                    Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                        *member = format!("#/$defs/it{pointer}").into();
                    }
                    _ => move_references(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(move_references),
        _ => {}
    }
}
