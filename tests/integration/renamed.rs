//! The proof that nothing keys on known text: every template of the corpus is rewritten in ways that keep its meaning
//! (other names for its markers, other white space inside statements, comments), and its spec must stay the same but for
//! the names. Before a rewrite is held against the analyzer, the renderer has to agree that it keeps the meaning, on all
//! conversations of the corpus. What is known to differ is listed below with the reason; the list may only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Failure, corpus};
use serde_json::Value;
use unjinja_analyzer::{Naming, analyze};
use unjinja_render::Template;
use unjinja_spec::FormatSpec;

/// What is done to a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rewrite {
    /// Markers get other names of the same shape and length.
    Names,
    /// Markers get other names of the same shape, twice as long.
    LongNames,
    /// More white space inside statements, and between them where they drop it.
    Space,
    /// Statements are followed by comments.
    Comments,
}

const REWRITES: [Rewrite; 4] = [Rewrite::Names, Rewrite::LongNames, Rewrite::Space, Rewrite::Comments];

/// Templates whose spec is known to change: which rewrite changes it, the file, and why.
const KNOWN: &[(Rewrite, &str, &str)] = &[];

// ----- the parts of a template -----

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Text that is written as it stands.
    Text,
    /// A string literal inside a statement or an expression, without its quotes.
    Literal,
    /// What else stands between `{%` and `%}`, `{{` and `}}`, delimiters and quotes included.
    Code,
    /// A comment, delimiters included.
    Comment,
}

/// Cuts a template into its parts. Together they are the template.
fn parts(source: &str) -> Vec<(Kind, Range<usize>)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let open = ["{{", "{%", "{#"].iter().filter_map(|open| source[at..].find(open)).min();
        let start = open.map_or(source.len(), |offset| at + offset);
        parts.push((Kind::Text, at..start));
        let Some(opener) = source[start..].get(..2) else { break };
        if opener == "{#" {
            at = source[start..].find("#}").map_or(source.len(), |offset| start + offset + 2);
            parts.push((Kind::Comment, start..at));
            continue;
        }
        at = tag(source, start, if opener == "{%" { "%}" } else { "}}" }, &mut parts);
        let word = source[start..at].trim_matches(|c: char| c.is_whitespace() || "{}%-+".contains(c));
        if opener == "{%" && word == "raw" {
            let rest = source[at..].find("endraw").map_or(source.len(), |offset| at + offset);
            let end = source[..rest].rfind("{%").unwrap_or(rest);
            parts.push((Kind::Text, at..end));
            at = end;
        }
    }
    parts.retain(|(_, range)| !range.is_empty());
    parts
}

/// The parts of one statement or expression that begins at `start`; returns where it ends.
fn tag(source: &str, start: usize, close: &str, parts: &mut Vec<(Kind, Range<usize>)>) -> usize {
    let (mut code, mut at, mut depth) = (start, start + 2, 0usize);
    while let Some(c) = source[at..].chars().next() {
        // A dictionary may end just before the expression does.
        if source[at..].starts_with(close) && (depth == 0 || close == "%}") {
            parts.push((Kind::Code, code..at + 2));
            return at + 2;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '"' | '\'' => {
                let end = literal_end(source, at + 1, c);
                parts.push((Kind::Code, code..at + 1));
                parts.push((Kind::Literal, at + 1..end));
                code = end;
                at = end;
            }
            _ => {}
        }
        at = (at + c.len_utf8()).min(source.len());
    }
    parts.push((Kind::Code, code..source.len()));
    source.len()
}

/// Where the quote stands that ends a literal.
fn literal_end(source: &str, from: usize, quote: char) -> usize {
    let mut escaped = false;
    for (offset, c) in source[from..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return from + offset,
            _ => {}
        }
    }
    source.len()
}

/// What a part says, with the offset in the source of each of its bytes. Escapes count as what they stand for.
fn said(source: &str, kind: Kind, range: &Range<usize>) -> (String, Vec<usize>) {
    let (mut text, mut offsets) = (String::new(), Vec::new());
    let mut chars = source[range.clone()].char_indices();
    while let Some((offset, c)) = chars.next() {
        let c = match c {
            '\\' if kind == Kind::Literal => match chars.next() {
                Some((_, 'n' | 'r')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, c)) => c,
                None => c,
            },
            c => c,
        };
        text.push(c);
        offsets.extend(std::iter::repeat_n(range.start + offset, c.len_utf8()));
    }
    (text, offsets)
}

// ----- names -----

/// A name that a marker has: what is renamed, wherever it stands as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    /// Of tags: `tool_call` of `<tool_call>`, `</tool_call>` and `<|tool_call>`, `function` of `<function=`.
    Tag(String),
    /// Words that stand by themselves: `Action:`, `functools`; also an attribute's name with its `=`.
    Words(String),
}

/// Words that are roles or fields of messages, too.
const FIELDS: [&str; 9] =
    ["assistant", "content", "developer", "function", "name", "system", "tool", "tool_calls", "user"];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '▁')
}

fn is_frill(c: char) -> bool {
    matches!(c, '|' | '｜' | '/')
}

impl Name {
    /// The names in a marker.
    fn of_marker(marker: &str, names: &mut BTreeSet<Name>) {
        let mut rest = marker;
        while let Some(at) = rest.find(['<', '[']) {
            let (before, tag) = rest.split_at(at);
            Self::of_words(before, names);
            let (open, close) = if tag.starts_with('<') { ('<', '>') } else { ('[', ']') };
            let end = tag.find(close).unwrap_or(tag.len());
            let inner = &tag[1..end];
            let body = inner.trim_start_matches(is_frill);
            let ends = |c: char| open == '<' && (c.is_whitespace() || "<={}()\"',".contains(c));
            let body = body[..body.find(ends).unwrap_or(body.len())].trim_end_matches(is_frill);
            let upper = |c: char| c.is_ascii_uppercase() || matches!(c, '_' | ' ' | '0'..='9');
            let fits = open == '<' || body.chars().all(upper);
            if fits && body.starts_with(|c: char| c.is_alphabetic()) {
                names.insert(Name::Tag(body.to_owned()));
            }
            Self::of_attributes(inner, names);
            rest = &tag[end..];
        }
        // What an unfinished tag leaves to the marker after it.
        match rest.split_once('>') {
            Some((attributes, words)) => {
                Self::of_attributes(attributes, names);
                Self::of_words(words, names);
            }
            None => Self::of_words(rest, names),
        }
    }

    fn of_attributes(text: &str, names: &mut BTreeSet<Name>) {
        for (at, _) in text.match_indices("=\"") {
            let word = &text[text[..at].rfind(|c| !is_word(c)).map_or(0, |start| start + 1)..at];
            if !word.is_empty() && word.is_ascii() && word.len() < at {
                names.insert(Name::Words(format!("{word}=")));
            }
        }
    }

    fn of_words(text: &str, names: &mut BTreeSet<Name>) {
        for line in text.split('\n') {
            let words = line.trim_matches(|c: char| c.is_whitespace() || "<>[]{}()\"'=,".contains(c));
            let letters = words.chars().filter(char::is_ascii_alphabetic).count();
            // What holds a quote is the key of an object.
            if letters > 1 && !words.contains('"') && !FIELDS.contains(&words) {
                names.insert(Name::Words(words.to_owned()));
            }
        }
    }

    /// Where the name stands in a text.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let (Name::Tag(body) | Name::Words(body)) = self;
        let stands = |at: usize| {
            let (before, after) = (&text[..at], text[at + body.len()..].chars().next());
            let ends = !body.ends_with(is_word) || !after.is_some_and(is_word);
            ends && match self {
                Name::Tag(_) => before.trim_end_matches(is_frill).ends_with(['<', '[']),
                Name::Words(_) => !before.ends_with(is_word),
            }
        };
        text.match_indices(body.as_str()).filter(|(at, _)| stands(*at)).map(|(at, _)| at..at + body.len()).collect()
    }
}

/// A change of names: each letter of a name becomes another one, in its case.
#[derive(Clone, Debug, Default)]
struct Renaming {
    names: Vec<Name>,
    /// Names become twice as long; else they keep their length.
    longer: bool,
}

impl Renaming {
    /// Where the names stand in a text, byte by byte.
    fn places(&self, text: &str) -> BTreeSet<usize> {
        self.names.iter().flat_map(|name| name.places(text)).flatten().collect()
    }

    /// A text with other letters at these places.
    fn with_letters(&self, text: &str, places: &BTreeSet<usize>) -> String {
        // Alphabetical order is not kept, and no letter.
        const OTHERS: &[u8; 26] = b"qhzvkxwdyrbptmgjfuceisoanl";
        let other = |c: char, by: u8| match c {
            'a'..='z' => char::from(OTHERS[usize::from((c as u8 - b'a' + by) % 26)]),
            _ => char::from(OTHERS[usize::from((c as u8 - b'A' + by) % 26)]).to_ascii_uppercase(),
        };
        let mut out = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            if !c.is_ascii_alphabetic() || !places.contains(&at) {
                out.push(c);
                continue;
            }
            out.push(other(c, 0));
            if self.longer {
                out.push(other(c, 9));
            }
        }
        out
    }

    fn text(&self, text: &str) -> String {
        self.with_letters(text, &self.places(text))
    }

    /// The template with other names in what it writes and in its string literals, and nowhere else.
    fn template(&self, source: &str) -> String {
        let mut places = BTreeSet::new();
        for (kind, range) in parts(source) {
            if matches!(kind, Kind::Text | Kind::Literal) {
                let (text, offsets) = said(source, kind, &range);
                places.extend(self.places(&text).into_iter().map(|at| offsets[at]));
            }
        }
        self.with_letters(source, &places)
    }

    /// The conversation with other names in what people and models wrote.
    fn conversation(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.conversation(item)).collect(),
            Value::Object(map) => {
                let said = |(key, value): (&String, &Value)| {
                    let keep = matches!(key.as_str(), "role" | "type" | "name" | "id" | "tool_call_id");
                    (key.clone(), if keep { value.clone() } else { self.conversation(value) })
                };
                Value::Object(map.iter().map(said).collect())
            }
            other => other.clone(),
        }
    }

    /// Whether the renamed template writes the renamed texts.
    fn holds(&self, source: &str, contexts: &[Value], originals: &[Option<String>]) -> bool {
        let Ok(template) = Template::parse("renamed", &self.template(source)) else { return false };
        let is_tag = |name: &&Name| matches!(name, Name::Tag(_));
        let tags = Self { names: self.names.iter().filter(is_tag).cloned().collect(), longer: self.longer };
        contexts.iter().zip(originals).all(|(context, original)| {
            let text = template.render(&tags.conversation(context)).ok();
            text == original.as_ref().map(|original| self.text(original))
        })
    }
}

/// The names that the markers of a spec have.
fn names_of(spec: &FormatSpec) -> Result<BTreeSet<Name>, Failure> {
    let mut names = BTreeSet::new();
    each_marker(&mut serde_json::to_value(spec)?, &mut |marker| Name::of_marker(marker, &mut names));
    Ok(names)
}

/// Calls `visit` on every text of a spec that a template writes, and not on names of fields and variables.
fn each_marker(spec: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    const OTHERS: [&str; 17] = [
        "template",
        "capabilities",
        "evidence",
        "tokens",
        "unsupported",
        "mode",
        "format",
        "starts_in",
        "position",
        "field",
        "switch",
        "function_field",
        "name_field",
        "args_field",
        "id_field",
        "gen_id_field",
        "parameter_order",
    ];
    match spec {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_marker(item, visit)),
        Value::Object(map) => {
            let markers = map.iter_mut().filter(|(key, _)| !OTHERS.contains(&key.as_str()));
            markers.for_each(|(_, value)| each_marker(value, visit));
        }
        _ => {}
    }
}

// ----- white space and comments -----

/// A template with more white space inside its statements and expressions, and beside those that drop it.
fn spaced(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    for (kind, range) in parts(source) {
        let text = &source[range];
        if kind != Kind::Code {
            out.push_str(text);
            continue;
        }
        let (mut inner, mut open, mut close) = (text, "", "");
        if text.starts_with("{{") || text.starts_with("{%") {
            let sign = text[2..].starts_with(['-', '+']);
            (open, inner) = text.split_at(if sign { 3 } else { 2 });
        }
        if inner.ends_with("}}") || inner.ends_with("%}") {
            let sign = inner[..inner.len() - 2].ends_with(['-', '+']);
            (inner, close) = inner.split_at(inner.len() - if sign { 3 } else { 2 });
        }
        // What a dash drops may be anything.
        out.push_str(if open.ends_with('-') { "\n \n" } else { "" });
        out.push_str(open);
        out.push_str(if open.is_empty() { "" } else { "  " });
        out.push_str(&inner.replace(' ', "  "));
        out.push_str(if close.is_empty() { "" } else { " \t" });
        out.push_str(close);
        out.push_str(if close.starts_with('-') { "\n \n" } else { "" });
    }
    out
}

/// What the comments say: things that a reader of the template's text, instead of its renders, might take for markers,
/// fields and switches.
const REMARK: &str = "<remark> [REMARK] enable_thinking, thinking: 'reasoning' and \"reasoning_content\" </remark>";

/// A template with a comment after each statement. A comment trims white space just as the statement before it does.
fn commented(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 4);
    let mut statement = String::new();
    for (kind, range) in parts(source) {
        let text = &source[range];
        out.push_str(text);
        if kind != Kind::Code {
            continue;
        }
        if text.starts_with("{%") || text.starts_with("{{") {
            statement.clear();
        }
        statement.push_str(text);
        let is_raw = statement.trim_start_matches(['{', '%', '-', '+', ' ']).starts_with("raw");
        if !statement.starts_with("{%") || is_raw || text.ends_with("+%}") {
            continue;
        }
        if text.ends_with("-%}") {
            out.push_str(&format!("{{#- {REMARK} -#}}"));
        } else if text.ends_with("%}") {
            out.push_str(&format!("{{# {REMARK} #}}"));
        }
    }
    out
}

// ----- the experiment -----

/// What became of one template.
#[derive(Default)]
struct Report {
    /// Names found in its markers, and changed.
    renamed: usize,
    /// Names that the template puts together, so that they stand nowhere in it.
    built: Vec<Name>,
    /// Names that cannot be changed alone without changing what the template does.
    bound: Vec<Name>,
    /// Rewrites whose spec was compared.
    tried: BTreeSet<Rewrite>,
    /// Rewrites that the renderer found to change the template.
    wrong: BTreeSet<Rewrite>,
    /// How the specs of rewrites differ.
    differences: BTreeMap<Rewrite, String>,
}

/// A template's renders of all conversations; `None` where it refuses one.
fn renders(template: &Template, contexts: &[Value]) -> Vec<Option<String>> {
    contexts.iter().map(|context| template.render(context).ok()).collect()
}

fn analyzed(file: &str, source: &str) -> Result<FormatSpec, String> {
    let template = Template::parse(file, source).map_err(|e| e.to_string())?;
    analyze(&template, &Naming::of_file(file)).map_err(|e| e.problem)
}

/// What is to be equal.
fn comparable(spec: &FormatSpec, renaming: &Renaming) -> Result<Value, Failure> {
    let mut spec = spec.clone();
    spec.template.sha256.clear();
    spec.evidence = unjinja_spec::Evidence::default();
    for token in &mut spec.tokens.preserved {
        *token = renaming.text(token);
    }
    spec.tokens.preserved.sort();
    spec.unsupported = spec.unsupported.map(|reason| renaming.text(&reason));
    let mut value = serde_json::to_value(&spec)?;
    each_marker(&mut value, &mut |marker| *marker = renaming.text(marker));
    Ok(value)
}

/// The leaves in which two values differ.
fn differences(expected: &Value, found: &Value, path: &str, out: &mut Vec<String>) {
    if expected == found {
        return;
    }
    if let (Value::Object(a), Value::Object(b)) = (expected, found) {
        for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
            let (x, y) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
            differences(x, y, &format!("{path}.{key}"), out);
        }
        return;
    }
    out.push(format!("    {path}: expected {expected}, found {found}"));
}

/// Rewrites one template and analyses each version.
fn experiment(file: &str, source: &str, contexts: &[Value]) -> Result<Option<Report>, Failure> {
    let Ok(template) = Template::parse(file, source) else { return Ok(None) };
    let Ok(spec) = analyze(&template, &Naming::of_file(file)) else { return Ok(None) };
    let original = renders(&template, contexts);
    let mut report = Report::default();

    let mut candidates = Vec::new();
    for name in names_of(&spec)? {
        let alone = Renaming { names: vec![name], longer: false };
        let stands = alone.template(source) != source;
        if stands { &mut candidates } else { &mut report.built }.extend(alone.names);
    }
    let all = Renaming { names: candidates, longer: false };
    let mut renaming = Renaming::default();
    if all.holds(source, contexts, &original) {
        renaming = all;
    } else {
        for name in all.names {
            renaming.names.push(name);
            if !renaming.holds(source, contexts, &original) {
                report.bound.extend(renaming.names.pop());
            }
        }
    }
    report.renamed = renaming.names.len();

    for rewrite in REWRITES {
        let unchanged = Renaming::default();
        let longer = Renaming { longer: true, ..renaming.clone() };
        let (rewritten, renaming) = match rewrite {
            Rewrite::Names => (renaming.template(source), &renaming),
            Rewrite::LongNames => (longer.template(source), &longer),
            Rewrite::Space => (spaced(source), &unchanged),
            Rewrite::Comments => (commented(source), &unchanged),
        };
        let same = match rewrite {
            Rewrite::Names | Rewrite::LongNames => {
                !renaming.names.is_empty() && renaming.holds(source, contexts, &original)
            }
            _ => Template::parse(file, &rewritten).is_ok_and(|template| renders(&template, contexts) == original),
        };
        if !same {
            report.wrong.insert(rewrite);
            continue;
        }
        report.tried.insert(rewrite);
        let mut lines = Vec::new();
        match analyzed(file, &rewritten) {
            Ok(found) => {
                let (expected, found) = (comparable(&spec, renaming)?, comparable(&found, &unchanged)?);
                differences(&expected, &found, "", &mut lines);
            }
            Err(problem) => lines.push(format!("    {problem}")),
        }
        if !lines.is_empty() {
            report.differences.insert(rewrite, lines.join("\n"));
        }
    }
    Ok(Some(report))
}

/// The templates of the corpus, the released and the wild ones: file names and texts.
fn templates(corpus: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut found = Vec::new();
    for folder in ["templates", "wild/templates"] {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(corpus.join(folder))?.map(|entry| Ok(entry?.path())).collect::<Result<_, Failure>>()?;
        paths.sort();
        for path in paths {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push((file, fs::read_to_string(&path)?));
        }
    }
    Ok(found)
}

#[test]
fn a_spec_depends_on_what_a_template_writes_and_not_on_its_words() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let conversations: Vec<Value> = serde_json::from_str(&fs::read_to_string(corpus.join("conversations.json"))?)?;
    let contexts: Vec<Value> = conversations.iter().map(|row| row["context"].clone()).collect();
    let templates = templates(&corpus)?;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut reports = Vec::new();
        while let Some((file, source)) = templates.get(next.fetch_add(1, Ordering::Relaxed)) {
            let report = experiment(file, source, &contexts).map_err(|e| format!("{file}: {e}"))?;
            reports.push((file.as_str(), report));
        }
        Ok::<_, String>(reports)
    };
    let halves = std::thread::scope(|scope| [(); 2].map(|()| scope.spawn(work)).map(|thread| thread.join()));
    let mut reports = BTreeMap::new();
    for half in halves {
        reports.extend(half.map_err(|_| "a thread panicked")??);
    }
    assert_eq!(reports.len(), templates.len(), "two templates have one file name");

    let mut problems = Vec::new();
    let (mut analysed, mut with_names, mut renamed, mut built, mut bound) = (0, 0, 0, 0, 0);
    let mut rewrites: BTreeMap<Rewrite, (usize, usize, usize)> = BTreeMap::new();
    for (file, report) in &reports {
        let Some(report) = report else {
            println!("{file}: no spec, nothing to compare");
            continue;
        };
        analysed += 1;
        with_names += usize::from(report.renamed > 0);
        renamed += report.renamed;
        built += report.built.len();
        bound += report.bound.len();
        if report.renamed == 0 || !report.bound.is_empty() || !report.built.is_empty() {
            println!("{file}: {} renamed, built {:?}, bound {:?}", report.renamed, report.built, report.bound);
        }
        for rewrite in REWRITES {
            let (tried, differ, wrong) = rewrites.entry(rewrite).or_default();
            *tried += usize::from(report.tried.contains(&rewrite));
            *wrong += usize::from(report.wrong.contains(&rewrite));
            let difference = report.differences.get(&rewrite);
            *differ += usize::from(difference.is_some());
            let known = KNOWN.iter().find(|(known, of, _)| *known == rewrite && of == file);
            match (difference, known) {
                (Some(difference), None) => problems.push(format!("{rewrite:?} changes {file}:\n{difference}")),
                (None, Some(_)) => problems.push(format!("{rewrite:?} changes {file} no longer: strike it from KNOWN")),
                _ => {}
            }
        }
    }
    println!("{analysed} of {} templates have a spec, {with_names} got other names", reports.len());
    println!("{renamed} names changed; {built} skipped as built up, {bound} as bound to something else");
    for (rewrite, (tried, differ, wrong)) in &rewrites {
        println!("{rewrite:?}: {tried} compared, {differ} differ; {wrong} rewrites changed the renders");
        assert!(tried * 10 >= analysed * 9, "{rewrite:?} was compared for only {tried} of {analysed} templates");
    }
    let stale = KNOWN.iter().filter(|(_, file, _)| !reports.contains_key(file));
    problems.extend(stale.map(|(_, file, _)| format!("{file} is in KNOWN and not in the corpus")));
    assert!(with_names * 10 >= analysed * 9, "only {with_names} of {analysed} templates got other names");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    Ok(())
}
