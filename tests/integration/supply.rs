//! The manifests and the dependencies of the packages: no unsafe code, complete metadata of what is published, and no
//! dependency that needs a newer compiler than is promised.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Failure, root};
use serde_json::Value;

/// What cargo knows about the workspace and about everything that it depends on.
///
/// By default this is what `cargo test` itself has downloaded: the packages for this platform. Nothing is fetched, so that
/// the test passes on a machine without a network. Where `CI=true`, the packages of all other platforms are looked at too,
/// and cargo may download them.
fn metadata() -> Result<Value, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]).arg(root().join("Cargo.toml"));
    if !std::env::var("CI").is_ok_and(|ci| ci == "true") {
        command.args(["--offline", "--filter-platform", &host()?]);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The platform that the compiler runs on, as `x86_64-unknown-linux-gnu`.
fn host() -> Result<String, Failure> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("`rustc -vV` does not name its platform")?.to_owned())
}

/// The packages of the repository that are outside the workspace.
const OUTSIDE: [&str; 2] = ["dev/engine/Cargo.toml", "dev/benches/peers/Cargo.toml"];

#[test]
fn no_crate_of_ours_may_hold_unsafe_code() -> Result<(), Failure> {
    let workspace: toml::Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    assert_eq!(workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    let metadata = metadata()?;
    let members = metadata["workspace_members"].as_array().ok_or("no members")?;
    let mut seen = 0;
    for package in metadata["packages"].as_array().ok_or("no packages")? {
        if !members.contains(&package["id"]) {
            continue;
        }
        seen += 1;
        let path = package["manifest_path"].as_str().ok_or("no manifest")?;
        let manifest: toml::Table = fs::read_to_string(path)?.parse()?;
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
        assert_eq!(inherits, Some(true), "{path}: `[lints] workspace = true` is missing");
    }
    assert!(seen >= 12, "{seen} packages");
    for path in OUTSIDE {
        let manifest: toml::Table = fs::read_to_string(root().join(path))?.parse()?;
        let level = manifest.get("lints").and_then(|lints| lints.get("rust")?.get("unsafe_code")?.as_str());
        assert_eq!(level, Some("forbid"), "{path}");
    }
    Ok(())
}

/// A version number as cargo writes it, in a form that can be compared.
fn version(text: &str) -> [u64; 3] {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

/// Dependencies that need a newer compiler than is promised, and the optional feature that uses them. The promise holds
/// without that feature.
const NEWER: [(&str, &str); 1] = [("hf-hub", "the feature `fetch` of the command line")];

/// Covers the normal and build dependencies of published packages.
#[test]
fn nothing_that_is_published_needs_a_newer_compiler() -> Result<(), Failure> {
    let metadata = metadata()?;
    let packages: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()
        .ok_or("no packages")?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .ok_or("no graph")?
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let published = |id: &str| packages[id]["publish"].is_null() && packages[id]["source"].is_null();
    let mut open: Vec<&str> = packages.keys().copied().filter(|id| published(id)).collect();
    assert!(open.len() >= 8, "{open:?}");
    let mut seen: Vec<&str> = Vec::new();
    let (promised, mut newer) = ("1.88", Vec::new());
    while let Some(id) = open.pop() {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let package = packages[id];
        if package["source"].is_null() {
            assert_eq!(package["rust_version"].as_str(), Some(promised), "{id}");
        } else if let Some(needs) = package["rust_version"].as_str()
            && version(needs) > version(promised)
        {
            newer.push(format!("{id} needs Rust {needs}"));
        }
        for dependency in nodes[id]["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            let name = dependency["pkg"].as_str().map_or("", |id| packages[id]["name"].as_str().unwrap_or_default());
            if kinds.into_iter().any(|kind| kind["kind"] != "dev") && !NEWER.iter().any(|(newer, _)| *newer == name) {
                open.extend(dependency["pkg"].as_str());
            }
        }
    }
    assert!(newer.is_empty(), "{newer:?}");
    assert!(seen.len() > 30, "{} packages are too few", seen.len());
    Ok(())
}

/// What crates.io and docs.rs show about a package. `cargo package` checks only a part of it.
#[test]
fn every_published_package_describes_itself() -> Result<(), Failure> {
    let metadata = metadata()?;
    let members = metadata["workspace_members"].as_array().ok_or("no members")?;
    let (mut missing, mut published) = (Vec::new(), 0);
    for package in metadata["packages"].as_array().ok_or("no packages")? {
        if !members.contains(&package["id"]) || !package["publish"].is_null() {
            continue;
        }
        published += 1;
        let name = package["name"].as_str().ok_or("no name")?;
        let folder = package["manifest_path"].as_str().and_then(|path| Path::new(path).parent()).ok_or("no folder")?;
        let text = |key: &str| package[key].as_str().is_some_and(|text| !text.trim().is_empty());
        // crates.io accepts at most five of each.
        let list = |key: &str| package[key].as_array().is_some_and(|list| (1..=5).contains(&list.len()));
        let checks = [
            ("description", text("description")),
            ("license", text("license")),
            ("repository", text("repository")),
            ("keywords", list("keywords")),
            ("categories", list("categories")),
            ("metadata.docs.rs", package["metadata"]["docs"]["rs"].is_object()),
            ("readme", package["readme"].as_str().is_some_and(|readme| folder.join(readme).is_file())),
        ];
        missing.extend(checks.iter().filter(|(_, holds)| !holds).map(|(what, _)| format!("{name}: {what}")));
    }
    assert!(published >= 11, "{published} packages");
    assert!(missing.is_empty(), "these manifests lack something:\n{}", missing.join("\n"));
    Ok(())
}
