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
const OUTSIDE: [&str; 3] = ["dev/engine/Cargo.toml", "dev/benches/peers/Cargo.toml", "dev/render-peers/Cargo.toml"];

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
        if path.ends_with(BINDINGS) {
            let level = manifest.get("lints").and_then(|lints| lints.get("rust")?.get("unsafe_code")?.as_str());
            assert_eq!(level, Some("deny"), "{path}");
            continue;
        }
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
        assert_eq!(inherits, Some(true), "{path}: `[lints] workspace = true` is missing");
    }
    assert!(seen >= 12, "{seen} packages");
    for path in OUTSIDE {
        let manifest: toml::Table = fs::read_to_string(root().join(path))?.parse()?;
        let level = manifest.get("lints").and_then(|lints| lints.get("rust")?.get("unsafe_code")?.as_str());
        assert_eq!(level, Some("forbid"), "{path}");
    }
    let manifest: toml::Table = fs::read_to_string(root().join(EXPORTS))?.parse()?;
    let level = manifest.get("lints").and_then(|lints| lints.get("rust")?.get("unsafe_code")?.as_str());
    assert_eq!(level, Some("deny"), "{EXPORTS}");
    Ok(())
}

/// The package that exports functions to JavaScript: it may not forbid unsafe code, because the name of such a function takes an unsafe
/// attribute.
const EXPORTS: &str = "integrations/js/Cargo.toml";

/// The package whose macros write unsafe code: it may not forbid that, but its own code must have none.
const BINDINGS: &str = "integrations/python/Cargo.toml";

/// A version number as cargo writes it, in a form that can be compared.
fn version(text: &str) -> [u64; 3] {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

/// The packages that cargo knows, and what each depends on.
struct Graph<'m> {
    packages: BTreeMap<&'m str, &'m Value>,
    nodes: BTreeMap<&'m str, &'m Value>,
}

impl<'m> Graph<'m> {
    fn of(metadata: &'m Value) -> Result<Self, Failure> {
        let by_id = |list: &'m Value| -> Result<BTreeMap<&'m str, &'m Value>, Failure> {
            let items = list.as_array().ok_or("cargo gives no list")?;
            Ok(items.iter().filter_map(|item| Some((item["id"].as_str()?, item))).collect())
        };
        Ok(Self { packages: by_id(&metadata["packages"])?, nodes: by_id(&metadata["resolve"]["nodes"])? })
    }

    fn name(&self, id: &str) -> &'m str {
        self.packages[id]["name"].as_str().unwrap_or_default()
    }

    /// The packages that `roots` depend on, and the roots. `follow` gets each dependency's package and kinds.
    fn closure(&self, roots: Vec<&'m str>, follow: impl Fn(&'m Value, &[&'m Value]) -> bool) -> Vec<&'m Value> {
        let (mut open, mut seen) = (roots, BTreeMap::new());
        while let Some(id) = open.pop() {
            if seen.insert(id, self.packages[id]).is_some() {
                continue;
            }
            for dependency in self.nodes[id]["deps"].as_array().into_iter().flatten() {
                let Some(other) = dependency["pkg"].as_str() else { continue };
                let kinds: Vec<&Value> =
                    dependency["dep_kinds"].as_array().into_iter().flatten().map(|kind| &kind["kind"]).collect();
                if follow(self.packages[other], &kinds) {
                    open.push(other);
                }
            }
        }
        seen.into_values().collect()
    }
}

/// Covers the normal and build dependencies of published packages.
#[test]
fn nothing_that_is_published_needs_a_newer_compiler() -> Result<(), Failure> {
    let metadata = metadata()?;
    let graph = Graph::of(&metadata)?;
    let published = |id: &str| graph.packages[id]["publish"].is_null() && graph.packages[id]["source"].is_null();
    let roots: Vec<&str> = graph.packages.keys().copied().filter(|id| published(id)).collect();
    assert!(roots.len() >= 8, "{roots:?}");
    let (promised, mut newer) = ("1.88", Vec::new());
    let seen = graph.closure(roots, |_, kinds| kinds.iter().any(|kind| **kind != "dev"));
    for package in &seen {
        if package["source"].is_null() {
            assert_eq!(package["rust_version"].as_str(), Some(promised), "{}", package["id"]);
        } else if let Some(needs) = package["rust_version"].as_str()
            && version(needs) > version(promised)
        {
            newer.push(format!("{} needs Rust {needs}", package["id"]));
        }
    }
    assert!(newer.is_empty(), "{newer:?}");
    assert!(seen.len() > 30, "{} packages are too few", seen.len());
    Ok(())
}

/// `preserve_order` of serde_json changes the order of keys in the whole application. What an application links in order to
/// parse must not switch it on; rendering needs it.
#[test]
fn parsing_leaves_the_order_of_json_keys_alone() -> Result<(), Failure> {
    let metadata = metadata()?;
    let graph = Graph::of(&metadata)?;
    let asking = |name: &str| -> Result<Vec<&str>, Failure> {
        let root = graph.packages.keys().copied().find(|id| graph.name(id) == name).ok_or("no such package")?;
        // Macros and build scripts are compiled for the compiler, and their features stay there.
        let linked = |package: &Value, kinds: &[&Value]| {
            let targets = package["targets"].as_array().into_iter().flatten();
            let is_macro =
                targets.flat_map(|target| target["kind"].as_array()).flatten().any(|kind| kind == "proc-macro");
            kinds.iter().any(|kind| kind.is_null()) && !is_macro
        };
        let asks = |package: &&Value| {
            let dependencies = package["dependencies"].as_array().into_iter().flatten();
            let json = dependencies.filter(|one| one["name"] == "serde_json" && one["kind"].is_null());
            json.flat_map(|one| one["features"].as_array()).flatten().any(|feature| feature == "preserve_order")
        };
        let packages = graph.closure(vec![root], linked);
        Ok(packages.into_iter().filter(asks).filter_map(|package| package["name"].as_str()).collect())
    };
    for name in ["unjinja-runtime", "unjinja-grammar", "unjinja-generated", "unjinja"] {
        assert!(asking(name)?.is_empty(), "{name} links {:?}", asking(name)?);
    }
    assert_eq!(asking("unjinja-render")?, ["unjinja-render"], "the test finds what it looks for");
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

/// Packages that a build of all tests compiles twice, each for a reason and at little cost.
const TWICE: [(&str, &str); 7] = [
    ("derive_more", "a macro of a benchmark needs it too"),
    ("unjinja-dynamic", "what runs at build time takes no grammars"),
    ("rustix", "the tests of the builder need other features than the terminal"),
    ("unjinja", "the option `types` of the macros"),
    ("unjinja-build", "the option `types` of the macros"),
    ("unjinja-generated", "one model or all"),
    ("unjinja-testkit", "its features"),
];

/// A package is compiled once for each set of its features. If build scripts and tests ask for different features of serde_json,
/// for example, everything that uses it is compiled twice: the renderer, the analyzer, the grammars. The remedy is to name the
/// features that differ (`cargo tree --workspace --duplicates` shows the package) under `[build-dependencies]` of the root.
#[test]
fn no_package_is_compiled_twice_for_its_features() -> Result<(), Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--workspace", "--duplicates", "--edges", "normal,build,dev", "--depth", "0"]);
    command.args(["--prefix", "none", "--locked", "--offline", "--manifest-path"]).arg(root().join("Cargo.toml"));
    let output = command.output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // One line for each version and each set of features: `serde_json v1.0.154`.
    let text = String::from_utf8(output.stdout)?;
    let mut seen = BTreeMap::<&str, usize>::new();
    for line in text.lines().filter(|line| line.contains(" v")) {
        *seen.entry(line).or_default() += 1;
    }
    assert!(!seen.is_empty(), "cargo prints nothing");
    let twice = seen.iter().filter(|(_, count)| **count > 1).map(|(line, _)| line.split(' ').next().unwrap_or(line));
    let new: Vec<&str> = twice.filter(|name| !TWICE.iter().any(|(known, _)| known == name)).collect();
    assert!(new.is_empty(), "compiled twice, with different features: {new:?}");
    Ok(())
}
