//! The structure of the source: no two files of a crate import each other in a cycle, and no file is too long.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Failure, files_below, root};

/// Lines that a hand-written file may have.
const MAX_LINES: usize = 600;

/// Generated code: not written by hand, so it may be long.
const GENERATED: &str = "generated/src/models";

/// The folders of all packages, relative to the root; the root itself is `""`.
fn packages() -> Result<Vec<String>, Failure> {
    let mut packages = vec![String::new()];
    for parent in ["", "dev", "examples", "integrations"] {
        for entry in fs::read_dir(root().join(parent))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let folder = Path::new(parent).join(&name);
            if root().join(&folder).join("Cargo.toml").is_file() {
                packages.push(folder.to_string_lossy().into_owned());
            }
        }
    }
    packages.sort();
    Ok(packages)
}

/// The source without comments, and with the contents of string literals removed.
fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(raw) = raw_string(rest) {
            raw
        } else if c == '"' {
            string(rest)
        } else if c == '\'' {
            character(rest)
        } else {
            code.push(c);
            c.len_utf8()
        };
        rest = rest.get(skipped..).unwrap_or("");
    }
    code
}

/// The length of a raw string at the start of the text.
fn raw_string(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner.get(hashes..)?.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(text.len() - body.len() + body.find(&close).map_or(body.len(), |end| end + close.len()))
}

/// The length of a string at the start of the text.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == '"' && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

/// The length of a character literal, or of the quote of a lifetime, at the start of the text.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => text.get(3..).and_then(|tail| tail.find('\'')).map_or(1, |end| end + 4),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// Words and punctuation of a piece of code.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(c) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        let (token, tail) = rest.split_at(length);
        tokens.push(token);
        rest = tail.trim_start();
    }
    tokens
}

/// The module of a file of a crate: `["value", "types"]` for `src/value/types.rs`, nothing for the crate's root.
fn module_of(source_folder: &Path, file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source_folder).unwrap_or(file).with_extension("");
    let mut module: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        module.pop();
    }
    module
}

/// Expands the groups of a path, `a::{b, c::d}`, from just after its first word. Adds the paths to `found` and returns how
/// many tokens they took.
fn expand(tokens: &[&str], prefix: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = 0;
    while tokens.get(at) == Some(&"::") {
        match tokens.get(at + 1) {
            Some(&"{") => {
                at += 2;
                while let Some(&token) = tokens.get(at) {
                    at += 1;
                    match token {
                        "}" => return at,
                        "," => {}
                        word => {
                            let mut inner = path.clone();
                            inner.push(word.to_owned());
                            at += expand(&tokens[at..], &inner, found);
                        }
                    }
                }
                return at;
            }
            // A glob, or the type parameters of a call.
            Some(&("*" | "<")) | None => break,
            Some(word) => path.push((*word).to_owned()),
        }
        at += 2;
    }
    found.push(path);
    at
}

/// The paths into its own crate that a file mentions, from the crate's root. `module` is the file's own.
///
/// Paths that start with `crate`, `super`, `self` or a module that the file declares are found, in `use` items and elsewhere. A
/// re-export (`pub use`) and a
/// declaration (`mod`) are no imports: they hand on what is below.
fn mentioned(source: &str, module: &[String]) -> Vec<Vec<String>> {
    let code = code_only(source);
    let tokens = tokens(&code);
    let declared: BTreeSet<&str> =
        tokens.windows(3).filter(|window| window[0] == "mod" && window[2] == ";").map(|window| window[1]).collect();
    let mut found = Vec::new();
    let mut at = 0;
    // How many `mod name {` are open, each with the depth of braces at which it closes.
    let mut inline: Vec<(usize, String)> = Vec::new();
    let mut braces = 0_usize;
    let mut test_module_ahead = false;
    while let Some(&token) = tokens.get(at) {
        let re_export = token == "use" && at > 0 && is_public(&tokens[..at]);
        at += 1;
        match token {
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                inline.pop_if(|(depth, _)| *depth == braces);
            }
            "cfg" if tokens.get(at..at + 3) == Some(&["(", "test", ")"]) => test_module_ahead = true,
            ";" => test_module_ahead = false,
            "mod" if tokens.get(at + 1) == Some(&"{") => {
                if test_module_ahead {
                    // Tests in the file may use anything.
                    at += skip_block(&tokens[at + 1..]) + 1;
                    test_module_ahead = false;
                } else {
                    inline.push((braces, tokens[at].to_owned()));
                }
            }
            "use" if re_export => at += tokens[at..].iter().position(|token| *token == ";").unwrap_or(0),
            "crate" | "super" | "self" if tokens.get(at) == Some(&"::") && is_path_start(&tokens[..at - 1]) => {
                let mut base: Vec<String> = module.iter().cloned().chain(inline.iter().map(|m| m.1.clone())).collect();
                match token {
                    "crate" => base.clear(),
                    "super" => drop(base.pop()),
                    _ => {}
                }
                while tokens.get(at..at + 2) == Some(&["::", "super"]) {
                    base.pop();
                    at += 2;
                }
                at += expand(&tokens[at..], &base, &mut found);
            }
            child if declared.contains(child) && tokens.get(at) == Some(&"::") && is_path_start(&tokens[..at - 1]) => {
                let base: Vec<String> = module.iter().cloned().chain([child.to_owned()]).collect();
                at += expand(&tokens[at..], &base, &mut found);
            }
            _ => {}
        }
    }
    found
}

/// Whether the tokens before a `use` make it a re-export: `pub`, `pub(crate)`, `pub(in …)`.
fn is_public(before: &[&str]) -> bool {
    match before.last() {
        Some(&"pub") => true,
        Some(&")") => {
            let open = before.iter().rposition(|token| *token == "(").unwrap_or(0);
            open > 0 && before.get(open - 1) == Some(&"pub")
        }
        _ => false,
    }
}

/// Whether a word after these tokens starts a path: not in `pub(in crate::x)`, and not within a longer path.
fn is_path_start(before: &[&str]) -> bool {
    !matches!(before.last(), Some(&("::" | "in" | "$")))
}

/// The tokens of a block in braces that starts here.
fn skip_block(tokens: &[&str]) -> usize {
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => open += 1,
            "}" => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Which files of a crate import which. The files below `source_folder` are given with their texts.
fn imports(source_folder: &Path, files: &[(PathBuf, String)]) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let modules: BTreeSet<Vec<String>> = files.iter().map(|(file, _)| module_of(source_folder, file)).collect();
    let mut graph = BTreeMap::new();
    for (file, source) in files {
        let module = module_of(source_folder, file);
        let edges: &mut BTreeSet<Vec<String>> = graph.entry(module.clone()).or_default();
        for mut path in mentioned(source, &module) {
            // The file is that of the longest prefix; the rest names items in it.
            while !modules.contains(&path) && path.pop().is_some() {}
            if path != module {
                edges.insert(path);
            }
        }
    }
    graph
}

/// One cycle of a graph, if it has one: each node imports the next, the last imports the first.
fn cycle(graph: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Option<Vec<String>> {
    fn visit<'g>(
        node: &'g Vec<String>,
        graph: &'g BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
        trail: &mut Vec<&'g Vec<String>>,
        done: &mut BTreeSet<&'g Vec<String>>,
    ) -> Option<Vec<String>> {
        if let Some(start) = trail.iter().position(|seen| *seen == node) {
            return Some(trail[start..].iter().map(|module| shown(module)).collect());
        }
        if !done.contains(node) {
            trail.push(node);
            for next in graph.get(node).into_iter().flatten() {
                if let Some(cycle) = visit(next, graph, trail, done) {
                    return Some(cycle);
                }
            }
            trail.pop();
            done.insert(node);
        }
        None
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|node| visit(node, graph, &mut Vec::new(), &mut done))
}

fn shown(module: &[String]) -> String {
    if module.is_empty() { "the crate's root".to_owned() } else { module.join("::") }
}

#[test]
fn files_do_not_import_each_other_in_cycles() -> Result<(), Failure> {
    let mut problems = Vec::new();
    for package in packages()? {
        let source_folder = root().join(&package).join("src");
        let files: Vec<(PathBuf, String)> = files_below(&source_folder, "rs")?
            .into_iter()
            .map(|path| Ok((path.clone(), fs::read_to_string(path)?)))
            .collect::<Result<_, Failure>>()?;
        if let Some(cycle) = cycle(&imports(&source_folder, &files)) {
            problems.push(format!("{package}: {} import each other in a cycle", cycle.join(" → ")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[test]
fn no_file_is_too_long() -> Result<(), Failure> {
    let mut problems = Vec::new();
    for path in files_below(root(), "rs")? {
        let name = path.strip_prefix(root())?.to_string_lossy().into_owned();
        let lines = fs::read_to_string(&path)?.lines().count();
        if lines > MAX_LINES && !name.starts_with(GENERATED) {
            problems.push(format!("{name} has {lines} lines; at most {MAX_LINES} are allowed: split it"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// In `render/`, only one file may know the parser that it borrows.
#[test]
fn one_file_knows_minijinja() -> Result<(), Failure> {
    let folder = root().join("render/src");
    let mut knowing = Vec::new();
    for path in files_below(&folder, "rs")? {
        if tokens(&code_only(&fs::read_to_string(&path)?)).contains(&"minijinja") {
            knowing.push(path.strip_prefix(&folder)?.to_string_lossy().into_owned());
        }
    }
    assert_eq!(knowing, ["syntax/parser.rs"]);
    Ok(())
}

/// The check itself: what it counts as an import, and that it finds a cycle.
#[test]
fn imports_are_found() {
    let source = r##"
        //! use crate::comment::X;
        pub use crate::re_exported::X;
        pub(crate) use self::re_exported::Y;
        use crate::a::{self, b::{C, D}, E};
        use super::sibling::F;
        mod inner { use super::own::G; fn f() { super::super::aunt::g(); } }
        fn f<'a>(x: &'a str) -> char { crate::called::function(x); "crate::string::x"; r#"crate::raw::x"#; '"' }
        pub(in crate::visible) struct S;
        #[cfg(test)]
        mod tests { use crate::tested::T; }
        type Last = crate::last::Type<crate::parameter::P>;
        mod child;
        use child::H;
    "##;
    let module = ["here".to_owned(), "file".to_owned()];
    let found: Vec<String> = mentioned(source, &module).iter().map(|path| path.join("::")).collect();
    let expected = [
        "a::self",
        "a::b::C",
        "a::b::D",
        "a::E",
        "here::sibling::F",
        "here::file::own::G",
        "here::aunt::g",
        "called::function",
        "last::Type",
        "parameter::P",
        "here::file::child::H",
    ];
    assert_eq!(found, expected);

    let file = |name: &str, source: &str| (PathBuf::from(format!("src/{name}.rs")), source.to_owned());
    let chain = [file("lib", "mod a; mod b; pub use a::A;"), file("a", "use crate::b::B;"), file("b/mod", "mod c;")];
    assert_eq!(cycle(&imports(Path::new("src"), &chain)), None);
    let closed = [chain.as_slice(), &[file("b/c", "use super::super::a;")], &[file("b", "use self::c::C;")]].concat();
    let found = cycle(&imports(Path::new("src"), &closed));
    assert_eq!(found, Some(vec!["a".to_owned(), "b".to_owned(), "b::c".to_owned()]));
}
