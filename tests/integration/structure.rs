//! The structure of the source: no two files of a crate import each other in a cycle, and no file is too long.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, ItemMod, ItemUse, UseTree, Visibility};

use crate::support::{Failure, files_below, root};

/// Lines that a hand-written file may have.
const MAX_LINES: usize = 600;

/// Generated code: not written by hand, so it may be long, and it imports the runtime only.
const GENERATED: [&str; 2] = ["generated/src/models", "generated/src/models.rs"];

/// A module, from the crate's root: `["value", "types"]` for `src/value/types.rs`, nothing for the root itself.
type Module = Vec<String>;

/// For each module of a crate, those that it imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The hand-written files of the project.
fn sources() -> Result<Vec<PathBuf>, Failure> {
    let mut files = files_below(root(), "rs")?;
    files.retain(|file| !GENERATED.iter().any(|folder| file.starts_with(root().join(folder))));
    Ok(files)
}

/// The files of each crate, by the folder of its root: the nearest folder above them that has a `lib.rs` or a `main.rs`.
fn crates() -> Result<BTreeMap<PathBuf, Vec<(PathBuf, String)>>, Failure> {
    let mut crates = BTreeMap::<PathBuf, Vec<(PathBuf, String)>>::new();
    for file in sources()? {
        let is_root = |folder: &&Path| ["lib.rs", "main.rs"].iter().any(|name| folder.join(name).is_file());
        if let Some(folder) = file.ancestors().skip(1).find(is_root) {
            let source = fs::read_to_string(&file)?;
            crates.entry(folder.to_owned()).or_default().push((file, source));
        }
    }
    Ok(crates)
}

/// The module of a file.
fn module_of(crate_folder: &Path, file: &Path) -> Module {
    let relative = file.strip_prefix(crate_folder).unwrap_or(file).with_extension("");
    let mut module: Module = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
        module.pop();
    }
    module
}

/// Collects the paths into its own crate that a file mentions, from the crate's root: those that start with `crate`, `super`,
/// `self` or a module that the file declares. A re-export (`pub use`) and a declaration (`mod`) are not imports: they pass on
/// what is below. Modules of tests may use anything.
struct Mentioned {
    /// The file's own module.
    file: Module,
    /// The module in which the visitor is: the file's, or one that is written inside the file.
    here: Module,
    /// The modules that the file declares, `mod name;`.
    declared: BTreeSet<String>,
    found: Vec<Module>,
}

impl Mentioned {
    fn by(source: &str, module: Module) -> Result<Self, Failure> {
        let file = syn::parse_file(source)?;
        let declared = file.items.iter().filter_map(|item| match item {
            Item::Mod(item) if item.content.is_none() => Some(item.ident.to_string()),
            _ => None,
        });
        let mut this = Self { file: module.clone(), here: module, declared: declared.collect(), found: Vec::new() };
        this.visit_file(&file);
        Ok(this)
    }

    /// Adds a path as it is written, if it leads into the own crate.
    fn add(&mut self, path: &[String]) {
        let mut names = path.iter().map(String::as_str).peekable();
        let mut base = match names.peek() {
            Some(&"crate") => Module::new(),
            Some(&("self" | "super")) => self.here.clone(),
            Some(child) if self.declared.contains(*child) => self.file.clone(),
            _ => return,
        };
        names.next_if(|name| matches!(*name, "crate" | "self"));
        while names.next_if_eq(&"super").is_some() {
            base.pop();
        }
        base.extend(names.map(str::to_owned));
        self.found.push(base);
    }

    /// Adds a path that is used outside of an import. One name alone, such as the value `self`, leads nowhere.
    fn add_used(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.add(path);
        }
    }

    /// Adds the paths of an import, `a::{b, c::d}`.
    fn add_tree(&mut self, mut path: Module, tree: &UseTree) {
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                return self.add_tree(path, &tree.tree);
            }
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.add_tree(path.clone(), tree)),
            UseTree::Name(name) if name.ident != "self" => path.push(name.ident.to_string()),
            UseTree::Rename(name) => path.push(name.ident.to_string()),
            _ => {}
        }
        self.add(&path);
    }
}

impl<'ast> Visit<'ast> for Mentioned {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_for_tests) {
            self.here.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.here.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if matches!(item.vis, Visibility::Inherited) && item.leading_colon.is_none() {
            self.add_tree(Module::new(), &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.add_used(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Module>());
        }
        visit::visit_path(self, path);
    }

    // `pub(in crate::x)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    // What a macro is called with are tokens, in which syn knows no paths.
    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        for tokens in groups(tokens.clone()) {
            let (mut path, mut colons) = (Module::new(), 0);
            for token in tokens.iter().map(TokenTree::to_string) {
                if token == ":" {
                    colons += 1;
                    continue;
                }
                // `$crate` is the crate as its users name it, so the sign belongs to the path.
                if colons != 2 && path.last().is_none_or(|last| last != "$") {
                    self.add_used(&std::mem::take(&mut path));
                }
                path.push(token);
                colons = 0;
            }
            self.add_used(&path);
        }
    }
}

/// Whether an attribute is `#[cfg(test)]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Ident>().is_ok_and(|name| name == "test")
}

/// The tokens of a text, and those within each pair of its brackets.
fn groups(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut groups, mut open) = (Vec::new(), vec![tokens]);
    while let Some(tokens) = open.pop() {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        open.extend(tokens.iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        }));
        groups.push(tokens);
    }
    groups
}

/// Which modules of a crate import which. The files below `crate_folder` are given with their texts.
fn imports(crate_folder: &Path, files: &[(PathBuf, String)]) -> Result<Imports, Failure> {
    let read = files.iter().map(|(file, source)| {
        Mentioned::by(source, module_of(crate_folder, file))
            .map_err(|error| format!("{}: {error}", file.display()).into())
    });
    let read = read.collect::<Result<Vec<_>, Failure>>()?;
    let mut modules: BTreeSet<Module> = read.iter().map(|file| file.file.clone()).collect();
    // A module that a file declares may lie in another folder (`#[path = "…"]`).
    for file in &read {
        modules.extend(file.declared.iter().map(|name| [file.file.as_slice(), std::slice::from_ref(name)].concat()));
    }
    let mut graph = Imports::new();
    for Mentioned { file, found, .. } in read {
        let edges = graph.entry(file.clone()).or_default();
        for mut path in found {
            // The module is the longest prefix; the rest names items in it.
            while !modules.contains(&path) && path.pop().is_some() {}
            if path != file {
                edges.insert(path);
            }
        }
    }
    Ok(graph)
}

/// One cycle of a graph, if it has one: each node imports the next, the last imports the first.
fn cycle(graph: &Imports) -> Option<Vec<String>> {
    // What is left after modules without imports are taken out, over and over, leads into a cycle.
    let mut rest: BTreeMap<&Module, BTreeSet<&Module>> =
        graph.iter().map(|(module, imports)| (module, imports.iter().collect())).collect();
    loop {
        let known: BTreeSet<&Module> = rest.keys().copied().collect();
        for imports in rest.values_mut() {
            imports.retain(|module| known.contains(module));
        }
        rest.retain(|_, imports| !imports.is_empty());
        if rest.len() == known.len() {
            break;
        }
    }
    let mut trail = vec![*rest.keys().next()?];
    loop {
        let next = *rest.get(trail.last()?)?.first()?;
        if let Some(start) = trail.iter().position(|seen| *seen == next) {
            return Some(trail[start..].iter().map(|module| shown(module)).collect());
        }
        trail.push(next);
    }
}

fn shown(module: &[String]) -> String {
    if module.is_empty() { "the crate's root".to_owned() } else { module.join("::") }
}

#[test]
fn files_do_not_import_each_other_in_cycles() -> Result<(), Failure> {
    let crates = crates()?;
    assert!(crates.len() > 30, "{} crates are too few to show anything", crates.len());
    let mut problems = Vec::new();
    for (folder, files) in crates {
        if let Some(cycle) = cycle(&imports(&folder, &files)?) {
            problems.push(format!("{}: {} import each other in a cycle", folder.display(), cycle.join(" → ")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[test]
fn no_file_is_too_long() -> Result<(), Failure> {
    let mut problems = Vec::new();
    for path in sources()? {
        let lines = fs::read_to_string(&path)?.lines().count();
        if lines > MAX_LINES {
            let name = path.strip_prefix(root())?.display();
            problems.push(format!("{name} has {lines} lines; at most {MAX_LINES} are allowed: split it"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// Names that say little by themselves. Each is the name of one type at most.
const ONE_MEANING: [&str; 6] = ["Channel", "Hole", "Kind", "Part", "Place", "Turn"];

#[test]
fn short_names_have_one_meaning() -> Result<(), Failure> {
    let mut meanings = BTreeMap::<&str, Vec<String>>::new();
    for path in sources()? {
        let tokens: TokenStream = fs::read_to_string(&path)?.parse()?;
        for group in groups(tokens) {
            let defines = |token: &TokenTree| ["struct", "enum", "trait"].contains(&&*token.to_string());
            for pair in group.windows(2).filter(|pair| defines(&pair[0])) {
                let name = pair[1].to_string();
                if let Some(known) = ONE_MEANING.iter().find(|known| **known == name) {
                    let file = path.strip_prefix(root())?.display().to_string();
                    meanings.entry(known).or_default().push(file);
                }
            }
        }
    }
    assert!(meanings.contains_key("Part"), "`Part` of the runtime is not found");
    meanings.retain(|_, files| files.len() > 1);
    assert!(meanings.is_empty(), "name these types by what they are: {meanings:#?}");
    Ok(())
}

/// In `render/`, only one file may know the parser that it borrows.
#[test]
fn one_file_knows_minijinja() -> Result<(), Failure> {
    let folder = root().join("render/src");
    let mut knowing = Vec::new();
    for path in files_below(&folder, "rs")? {
        let tokens: TokenStream = fs::read_to_string(&path)?.parse()?;
        if groups(tokens).iter().flatten().any(|token| token.to_string() == "minijinja") {
            knowing.push(path.strip_prefix(&folder)?.to_string_lossy().into_owned());
        }
    }
    assert_eq!(knowing, ["syntax/parser.rs"]);
    Ok(())
}

/// The check itself: what it counts as an import, and that it finds a cycle.
#[test]
fn imports_are_found() -> Result<(), Failure> {
    let source = r##"
        //! use crate::comment::X;
        pub use crate::re_exported::X;
        pub(crate) use self::re_exported::Y;
        use crate::a::{self, b::{C, D}, E};
        use super::sibling::F;
        use super::*;
        mod inner { use super::own::G; fn f() { super::super::aunt::g(); } }
        fn f<'a>(x: &'a str) -> char { crate::called::function(x); "crate::string::x"; r#"crate::raw::x"#; '"' }
        fn g() { println!("{}", S { field: crate::in_macro::h() }.len()) }
        macro_rules! m { () => { $crate::as_users_name_it::X } }
        pub(in crate::visible) struct S;
        #[cfg(test)]
        mod tests { use crate::tested::T; }
        type Last = crate::last::Type<crate::parameter::P>;
        mod child;
        use child::H;
        use ::child::not_ours;
    "##;
    let module = ["here".to_owned(), "file".to_owned()];
    let found: Vec<String> = Mentioned::by(source, module.to_vec())?.found.iter().map(|path| path.join("::")).collect();
    let expected = [
        "a",
        "a::b::C",
        "a::b::D",
        "a::E",
        "here::sibling::F",
        "here",
        "here::file::own::G",
        "here::aunt::g",
        "called::function",
        "in_macro::h",
        "last::Type",
        "parameter::P",
        "here::file::child::H",
    ];
    assert_eq!(found, expected);

    let file = |name: &str, source: &str| (PathBuf::from(format!("src/{name}.rs")), source.to_owned());
    let chain = [
        file("lib", "mod a; mod b; #[path = \"../far.rs\"] mod far; pub use a::A; use b::B;"),
        file("a", "use crate::b::B;"),
        file("b/mod", "mod c; use crate::far::F;"),
    ];
    assert_eq!(cycle(&imports(Path::new("src"), &chain)?), None);
    let closed = [chain.as_slice(), &[file("b/c", "use super::super::a;")], &[file("b", "use self::c::C;")]].concat();
    let found = cycle(&imports(Path::new("src"), &closed)?);
    assert_eq!(found, Some(["b", "b::c", "a"].map(str::to_owned).to_vec()));
    Ok(())
}
