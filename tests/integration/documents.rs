//! The documents for people name files, tests and fuzz targets that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{Failure, files_below, root};

/// Documents whose file names are checked too. Of the others, only the links are.
const GUIDES: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

/// Extensions of files that a document names in backticks.
const EXTENSIONS: [&str; 9] = ["rs", "md", "toml", "json", "jinja", "tsv", "py", "yml", "svg"];

/// The text without fenced blocks, which show code and not links.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The targets of the links of a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// The texts in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The heading that a link's fragment names, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Whether a text in backticks names a file or a folder of the repository. Placeholders (`NAME.toml`, `*.expected`) do not.
fn is_path(text: &str) -> bool {
    let extension = Path::new(text).extension().unwrap_or_default().to_string_lossy().into_owned();
    let named = text.ends_with('/') || EXTENSIONS.contains(&extension.as_str());
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let placeholder =
        text.split(['/', '.']).any(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase()));
    text.contains('/') && named && plain && !text.starts_with("../") && (!placeholder || text.ends_with("README.md"))
}

#[test]
fn links_lead_to_files_and_headings() -> Result<(), Failure> {
    let (mut problems, mut seen) = (Vec::new(), 0);
    for path in files_below(root(), "md")? {
        let text = prose(&fs::read_to_string(&path)?);
        let name = path.strip_prefix(root())?.display().to_string();
        for link in links(&text).filter(|link| !link.contains("://")) {
            seen += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            if !target.exists() {
                problems.push(format!("{name}: the link {link} leads nowhere"));
            } else if !heading.is_empty() {
                let page = prose(&fs::read_to_string(&target)?);
                if !page.lines().any(|line| line.starts_with('#') && anchor(line) == heading) {
                    problems.push(format!("{name}: the link {link} names no heading"));
                }
            }
        }
    }
    assert!(seen > 40, "{seen} links are too few to show anything");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[test]
fn files_that_are_named_exist() -> Result<(), Failure> {
    let (mut problems, mut seen) = (Vec::new(), 0);
    for guide in GUIDES {
        let text = prose(&fs::read_to_string(root().join(guide))?);
        for path in quoted(&text).filter(|text| is_path(text)) {
            seen += 1;
            // What a tool writes is not there before it ran.
            if !path.starts_with("target/") && !root().join(path).exists() {
                problems.push(format!("{guide}: there is no {path}"));
            }
        }
    }
    assert!(seen > 80, "{seen} paths are too few to show anything");
    problems.dedup();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// The lists of tests below the promises of ARCHITECTURE.md.
#[test]
fn tests_that_hold_promises_exist() -> Result<(), Failure> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md"))?;
    let lists = text.split("\nTests: ").skip(1).map(|rest| rest.split("\n\n").next().unwrap_or_default());
    let named: BTreeSet<&str> = lists.flat_map(quoted).filter(|name| !is_path(name)).collect();
    assert!(named.len() > 35, "{} tests are too few to show anything", named.len());
    let sources = files_below(root(), "rs")?.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?.join("\n");
    let missing: Vec<&str> = named.into_iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names tests that do not exist: {}", missing.join(", "));
    let targets = text.split("The fuzz targets ").skip(1).map(|rest| rest.split(" read ").next().unwrap_or_default());
    for target in targets.flat_map(quoted) {
        assert!(root().join(format!("dev/fuzz/targets/{target}.rs")).is_file(), "there is no fuzz target {target}");
    }
    Ok(())
}

#[test]
fn a_path_is_told_from_other_code() {
    for path in ["spec/src/model.rs", "dev/fuzz/", "docs/json/README.md", "tests/cases/bare_json.toml"] {
        assert!(is_path(path), "{path}");
    }
    for other in
        ["README.md", "specs/NAME.toml", "owner/name", "a/*.rs", "../shared/corpus/", "cargo test", "</tool_call>"]
    {
        assert!(!is_path(other), "{other}");
    }
    assert_eq!(anchor("## 5. Commit it, and notice when it changes"), "5-commit-it-and-notice-when-it-changes");
}
