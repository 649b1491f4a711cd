//! `integrations/README.md` says which versions of foreign systems were tried. These are the versions that the files pin, and
//! every version that a script pins is on the page.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{Failure, root};

/// Files that pin versions for suites. What they pin exactly must be on the page.
const PINNING: [&str; 7] = [
    ".ci/engines",
    ".ci/getting",
    ".ci/python",
    ".ci/readers",
    ".ci/servers",
    "dev/engine/Cargo.toml",
    "dev/grammar-engines/Cargo.toml",
];

/// One row of the page.
struct Row {
    target: String,
    name: String,
    version: String,
    files: Vec<String>,
    suites: Vec<String>,
}

/// The texts in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of the table of versions.
fn rows() -> Result<Vec<Row>, Failure> {
    let page = fs::read_to_string(root().join("integrations/README.md"))?;
    let (_, table) = page.split_once("| target | pinned as |").ok_or("the page has no table of versions")?;
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [target, name, version, files, suites] = cells[..] else { return Err(format!("not five cells: {line}")) };
        Ok(Row {
            target: target.to_owned(),
            name: quoted(name).pop().ok_or_else(|| format!("{target}: it is pinned under no name"))?,
            version: version.trim_end_matches(" and later").to_owned(),
            files: quoted(files),
            suites: quoted(suites),
        })
    };
    Ok(lines.map(row).collect::<Result<_, _>>()?)
}

/// Whether a character may be a part of a package's name.
fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_".contains(c)
}

/// The versions that a text gives for a package, in any notation: `name==1.2`, `name@1.2`, `name = { version = "=1.2"`, `name 1.2`, and
/// the two lines of a lock file.
fn versions<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let begins = |(at, _): &(usize, &str)| !text[..*at].ends_with(in_name);
    let numbers = text.match_indices(name).filter(begins).filter_map(|(at, _)| {
        let rest = &text[at + name.len()..];
        // A longer name, such as `name-rs`, is another package.
        if rest.starts_with(in_name) {
            return None;
        }
        let rest = rest.trim_start_matches(|c: char| "=@{\"'<>~^[ \n".contains(c));
        let rest = rest.strip_prefix("version").unwrap_or(rest);
        let rest = rest.trim_start_matches(|c: char| "=\"'<>~^ ".contains(c));
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
        Some(&rest[..end]).filter(|number| number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.'))
    });
    numbers.collect()
}

/// The packages that a script or manifest pins exactly: `name==1.2` or `name = "=1.2"`.
fn pinned(text: &str) -> BTreeSet<&str> {
    let (scripts, manifests) = (text.match_indices("=="), text.match_indices("\"="));
    let pins = scripts.chain(manifests).filter_map(|(at, sign)| {
        let number = &text[at + sign.len()..];
        let number = number.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').map_or(number, |end| &number[..end]);
        let before = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        let before = if sign == "==" { before } else { before.split_once(" = ")?.0 };
        let name = &before[before.rfind(|c| !in_name(c)).map_or(0, |end| end + 1)..];
        let is_exact =
            number.starts_with(|c: char| c.is_ascii_digit()) && number.ends_with(|c: char| c.is_ascii_digit());
        (is_exact && !name.is_empty()).then_some(name)
    });
    pins.collect()
}

#[test]
fn the_versions_that_were_tried_are_those_that_are_pinned() -> Result<(), Failure> {
    let suites = fs::read_to_string(root().join(".ci/suites.tsv"))?;
    let suites: BTreeSet<&str> = suites.lines().filter_map(|line| line.split('\t').next()).collect();
    let rows = rows()?;
    assert!(rows.len() > 15, "{} rows are too few to show anything", rows.len());
    let mut problems = Vec::new();
    for Row { target, name, version, files, suites: tried } in &rows {
        for file in files {
            let text = fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
            let found = versions(&text, name);
            // A row may name two versions that are both tried.
            let said: BTreeSet<&str> = version.split(" and ").collect();
            if found.iter().copied().collect::<BTreeSet<_>>() != said {
                problems.push(format!("{target}: the page says {version}, {file} has {found:?} for {name}"));
            }
        }
        for suite in tried.iter().filter(|suite| !suites.contains(suite.as_str()) && !root().join(suite).exists()) {
            problems.push(format!("{target}: there is no suite and no file {suite}"));
        }
        if files.is_empty() || tried.is_empty() {
            problems.push(format!("{target}: no file pins it, or nothing tries it"));
        }
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
    for file in PINNING {
        let text = fs::read_to_string(root().join(file))?;
        let missing = pinned(&text).into_iter().filter(|name| !names.contains(name));
        problems.extend(missing.map(|name| format!("{file} pins {name}, which the page does not name")));
    }
    assert!(problems.is_empty(), "integrations/README.md:\n{}", problems.join("\n"));
    Ok(())
}

/// The check itself: the notations that it knows.
#[test]
fn versions_are_found_in_every_notation() {
    let script = "versions=(a==1.2.3 b-a==9.9)\nurl a 1.2.3 <<X\n'b-a==2.*' a-rs==7.1 \"a>=1.2.3\" a@1.2.3";
    assert_eq!(versions(script, "a"), ["1.2.3", "1.2.3", "1.2.3", "1.2.3"]);
    assert_eq!(pinned(script), BTreeSet::from(["a", "a-rs", "b-a"]));
    let manifest = "# a 0\na = { version = \"=0.1.160\", features = [] }\nb = \"=0.2\"\nc = \"1\"\n";
    assert_eq!(versions(manifest, "a"), ["0.1.160"]);
    assert_eq!(versions(manifest, "b"), ["0.2"]);
    assert_eq!(pinned(manifest), BTreeSet::from(["a", "b"]));
    assert_eq!(versions("name = \"a\"\nversion = \"4.5.6\"\n", "a"), ["4.5.6"]);
}
