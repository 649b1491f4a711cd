//! The committed specs with their overlays: what each must list for a server and for a registry.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use unjinja_spec::{FormatSpec, MarkerKey, Overlay, tags};

/// Every committed spec: as analysed, and with its overlay.
fn committed() -> Result<Vec<(FormatSpec, FormatSpec)>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../generated/specs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut specs = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        if name.ends_with(".overlay.toml") || !name.ends_with(".toml") {
            continue;
        }
        let spec = FormatSpec::from_toml(&fs::read_to_string(&path)?, &name)?;
        let overlay = path.with_extension("overlay.toml");
        let corrected = match fs::read_to_string(&overlay) {
            Ok(text) => Overlay::from_toml(&text, &overlay.display().to_string())?.apply(&spec)?,
            Err(_) => spec.clone(),
        };
        specs.push((spec, corrected));
    }
    assert!(specs.len() >= 62, "{} specs", specs.len());
    Ok(specs)
}

#[test]
fn every_tag_that_a_model_writes_is_preserved() -> Result<(), Box<dyn Error>> {
    let mut only_in_alternatives = 0;
    for (analysed, corrected) in committed()? {
        for spec in [&analysed, &corrected] {
            let name = &spec.template.name;
            // Told by the TOML alone, so that no code of this crate decides what a marker is.
            let table = toml::Table::try_from(spec)?;
            let mut found = BTreeSet::new();
            for part in ["reasoning", "content", "tools", "alternatives"] {
                table.get(part).into_iter().for_each(|value| texts(value, &mut found));
            }
            found.insert(spec.turn.assistant_start.clone());
            found.insert(spec.turn.end.clone());
            // A tag with the function's name in it is another one in each call, and no token.
            for tag in found.iter().flat_map(|text| tags(text)).filter(|tag| !tag.contains("${")) {
                assert!(spec.tokens.preserved.iter().any(|token| token == tag), "{name}: {tag} is not preserved");
            }
            assert!(spec.tokens.preserved.is_sorted(), "{name}");
        }
        let own: BTreeSet<&str> = MarkerKey::ALL.iter().flat_map(|key| tags(corrected.marker(*key))).collect();
        let others = corrected.alternatives.values().flatten().flat_map(|text| tags(text));
        only_in_alternatives += others.filter(|tag| !own.contains(tag)).count();
    }
    assert!(only_in_alternatives > 0, "some format has a token that only an alternative writes");
    Ok(())
}

/// All texts in a value.
fn texts(value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::String(text) => drop(found.insert(text.clone())),
        toml::Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        toml::Value::Table(table) => table.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

#[test]
fn no_model_has_two_specs() -> Result<(), Box<dyn Error>> {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for (_, spec) in committed()? {
        for model in &spec.template.models {
            let other = owners.insert(model.to_ascii_lowercase(), spec.template.name.clone());
            assert_eq!(other, None, "{model} is listed in two specs, one of them {}", spec.template.name);
        }
    }
    assert!(owners.len() > 80, "{} models", owners.len());
    Ok(())
}

#[test]
fn an_overlay_brings_the_tokens_of_its_markers() -> Result<(), Box<dyn Error>> {
    let base = FormatSpec::from_toml(include_str!("base.toml"), "base.toml")?;
    let overlay = "tools.per_call_start = '<call>' # a case\n\
                   [alternatives]\n'turn.end' = ['<|stop|>'] # a case\n'content.start' = ['[TEXT] <a> b'] # a case\n";
    let spec = Overlay::from_toml(overlay, "tokens.overlay.toml")?.apply(&base)?;
    let has = |token: &str| spec.tokens.preserved.iter().any(|known| known == token);
    assert!(["<call>", "<|stop|>", "[TEXT]", "<a>", "</tool_call>"].into_iter().all(has), "{:?}", spec.tokens);
    assert!(!has("<tool_call>"), "no marker holds it any more: {:?}", spec.tokens);
    Ok(())
}
