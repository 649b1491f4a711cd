//! Strings: lengths, patterns, formats, and strings that differ from all of a list.

use serde_json::Value;

use super::bounds::Count;
use super::constraints::Constraints;
use super::format::{self, Format};
use super::regex::Regex;
use super::{Outcome, Schemas, impossible, json};
use crate::builder::{Builder, MAX_COUNT};
use crate::counted::{Between, counted, lost};
use crate::expr::{Class, Expr};
use crate::syntax::{Syntax, json_text};
use crate::until::Stop;

/// The maximum depth of groups; a deeper one becomes a rule of its own.
const NESTED: usize = 6;

impl<'s> Schemas<'s, '_> {
    pub(super) fn string(
        &mut self,
        hint: &str,
        constraints: &Constraints<'s>,
        excluded: &[&'s Value],
    ) -> Outcome<'s, Expr> {
        let schema = constraints.length_at.or(constraints.schemas.first().copied());
        if constraints.length.is_empty() {
            return impossible(schema, "the minimum length is above the maximum");
        }
        if constraints.patterns.is_empty()
            && constraints.length.is_any()
            && excluded.is_empty()
            && let [(schema, name)] = constraints.formats[..]
        {
            // A format without other limits has one rule for all its uses.
            let purpose = format!("format {name}");
            if let Some(rule) = self.builder.kept(&purpose) {
                if let Format::Pattern(_, Some(why)) = format::of(name) {
                    self.report(Some(schema), "format", why);
                }
                return Ok(rule.into());
            }
            if let Format::Pattern(..) = format::of(name) {
                let expr = self.written(name, constraints, excluded)?;
                let rule = self.builder.rule(name, expr);
                self.builder.keep(&purpose, rule);
                return Ok(rule.into());
            }
        }
        self.written(hint, constraints, excluded)
    }

    fn written(&mut self, hint: &str, constraints: &Constraints<'s>, excluded: &[&'s Value]) -> Outcome<'s, Expr> {
        let schema = constraints.length_at.or(constraints.schemas.first().copied());
        // Only one pattern or format can be written. The others are reported.
        let mut written: Option<(&'s Value, &'static str, Regex)> = None;
        for &(schema, pattern) in &constraints.patterns {
            match Regex::parse(pattern) {
                Ok(_) if written.is_some() => {
                    self.report(Some(schema), "pattern", "only one pattern of a string is checked");
                }
                Ok(regex) => written = Some((schema, "pattern", regex)),
                Err(why) => self.report(Some(schema), "pattern", why),
            }
        }
        for &(schema, format) in &constraints.formats {
            match format::of(format) {
                Format::Nothing => {}
                Format::Unknown => self.report(Some(schema), "format", "this format is not checked"),
                Format::Pattern(..) if written.is_some() => {
                    self.report(Some(schema), "format", "only one pattern or format of a string is checked");
                }
                Format::Pattern(pattern, wider) => {
                    if let Some(why) = wider {
                        self.report(Some(schema), "format", why);
                    }
                    match Regex::parse(pattern) {
                        Ok(regex) => written = Some((schema, "format", regex)),
                        Err(why) => self.report(Some(schema), "format", why),
                    }
                }
            }
        }
        if let Some((at, keyword, mut regex)) = written {
            self.report_excluded(excluded);
            match regex.limit(constraints.length) {
                Some(true) => {}
                Some(false) => return impossible(schema, "no string of this length matches the pattern"),
                None => self.report(schema, "minLength", "the length of a string with a pattern is not checked"),
            }
            return match regex.write(self.builder, hint) {
                Ok(expr) => {
                    let string = json::quoted(self.builder, expr);
                    Ok(self.rule(hint, string))
                }
                Err(why) => {
                    self.report(Some(at), keyword, why);
                    Ok(self.plain_string(constraints.length, schema))
                }
            };
        }
        if excluded.is_empty() {
            return Ok(self.plain_string(constraints.length, schema));
        }
        if constraints.length.is_any() {
            let names: Vec<&str> = excluded.iter().filter_map(|value| value.as_str()).collect();
            return Ok(other_string(self.builder, hint, names));
        }
        self.report_excluded(excluded);
        Ok(self.plain_string(constraints.length, schema))
    }

    /// A string whose length alone is limited.
    fn plain_string(&mut self, length: Count, schema: Option<&'s Value>) -> Expr {
        if length.is_any() {
            return json::string(self.builder).into();
        }
        if let Syntax::Raw { quote, .. } = self.builder.syntax().clone() {
            return self.raw_string(&quote, length, schema);
        }
        let Count { min, max } = self.writable_count(length, schema, "maxLength");
        let name = match max {
            None => format!("string-{min}"),
            Some(max) => format!("string-{min}-{max}"),
        };
        if let Some(rule) = self.builder.kept(&name) {
            return rule.into();
        }
        let character = json::character(self.builder);
        let string = json::quoted(self.builder, self.builder.repeat(character, min, max));
        let rule = self.builder.rule(&format!("{}{name}", self.builder.syntax().prefix()), string);
        self.builder.keep(&name, rule);
        rule.into()
    }

    /// A string between two quote tokens, whose length alone is limited.
    fn raw_string(&mut self, quote: &str, length: Count, schema: Option<&'s Value>) -> Expr {
        let name = format!("string-{}", length.max.map(|max| max.to_string()).unwrap_or_default());
        let made = length.max.filter(|_| !quote.is_empty()).and_then(|max| {
            if let Some(rule) = self.builder.kept(&name) {
                return Some(rule.into());
            }
            let stop = Stop { core: quote, confirm: Vec::new(), peek: false };
            let between = Between { stops: vec![stop], ends: vec![0], before: vec![""], after: "" };
            let (text, _) = counted(self.builder, "raw-text", &between, max, false)?;
            let string = self.builder.sequence(&[self.builder.text(quote), text]);
            let rule = self.builder.rule(&format!("{}{name}", self.builder.syntax().prefix()), string);
            self.builder.keep(&name, rule);
            Some(rule.into())
        });
        for (keyword, why) in lost(length, made.as_ref().map(|_| false)) {
            self.report(schema, keyword, why);
        }
        made.unwrap_or_else(|| json::string(self.builder).into())
    }

    /// The same count without a maximum that is too high to be written; that is reported.
    pub(super) fn writable_count(&mut self, count: Count, schema: Option<&'s Value>, keyword: &'static str) -> Count {
        match count.max {
            Some(max) if max - count.min.min(max) > MAX_COUNT => {
                self.report(schema, keyword, "the limit is too high for a grammar");
                Count { max: None, ..count }
            }
            _ => count,
        }
    }
}

/// A string, in quotes, that is not one of these.
pub(super) fn other_string(builder: &mut Builder, hint: &str, mut names: Vec<&str>) -> Expr {
    if *builder.syntax() != Syntax::Json {
        return json::other_key(builder, &names);
    }
    names.sort_unstable();
    names.dedup();
    let mut nodes = vec![Node::default()];
    for name in names {
        let mut at = 0;
        for character in name.chars() {
            // The names are sorted: unless the last child is this character, the character is new.
            at = match nodes[at].children.last() {
                Some(&(last, child)) if last == character => child,
                _ => {
                    let child = nodes.len();
                    nodes[at].children.push((character, child));
                    nodes.push(Node::default());
                    child
                }
            };
        }
        nodes[at].ends = true;
    }
    // Children come after their parents in the list.
    let mut written: Vec<(Expr, usize)> = vec![(Expr::EMPTY, 0); nodes.len()];
    for at in (0..nodes.len()).rev() {
        let node = &nodes[at];
        let mut alternatives = vec![leaves(builder, node)];
        let mut depth = 0;
        for &(character, child) in &node.children {
            let (next, below) = std::mem::replace(&mut written[child], (Expr::EMPTY, 0));
            depth = depth.max(below + 1);
            let quoted = json_text(character.encode_utf8(&mut [0; 4]));
            let character = quoted.get(1..quoted.len() - 1).unwrap_or_default();
            alternatives.push(builder.sequence(&[builder.text(character), next]));
        }
        let mut expr = builder.choice(&alternatives);
        if depth >= NESTED {
            expr = builder.rule(hint, expr).into();
            depth = 0;
        }
        written[at] = (expr, depth);
    }
    let all = std::mem::replace(&mut written[0], (Expr::EMPTY, 0)).0;
    builder.rule(hint, builder.sequence(&[builder.text("\""), all])).into()
}

/// A node of the trie of names.
#[derive(Debug, Default)]
struct Node {
    children: Vec<(char, usize)>,
    ends: bool,
}

/// The rest of a string that differs from all names below a node. It is not empty if a name ends there.
fn leaves(builder: &mut Builder, node: &Node) -> Expr {
    let characters: Vec<char> = node.children.iter().map(|child| child.0).collect();
    let spelled: String = characters.iter().collect();
    let purpose = format!("{} {spelled}", if node.ends { "more but" } else { "none of" });
    if let Some(rule) = builder.kept(&purpose) {
        return rule.into();
    }
    let rest = Expr::from(json::string_rest(builder));
    let plain = json::unescaped(builder).intersect(&Class::of(&characters).negate());
    // The class is written as what it excludes.
    let excluded = plain.positive();
    let plain = complement(&excluded);
    let escape = other_escape(builder, &characters);
    let mut alternatives = vec![builder.read("($0 | '\\' $1) $2", &[builder.class(plain), escape, rest])];
    if !node.ends {
        alternatives.push(builder.text("\""));
    }
    let name = if node.ends { format!("longer-{spelled}") } else { format!("not-{spelled}") };
    let rule = builder.rule(&name, builder.choice(&alternatives));
    builder.keep(&purpose, rule);
    rule.into()
}

/// The same class, written as what it excludes.
fn complement(ranges: &[(char, char)]) -> Class {
    Class::ranges(&Class::ranges(ranges).negate().positive()).negate()
}

/// An escape, without its backslash, of a character other than these.
fn other_escape(builder: &mut Builder, characters: &[char]) -> Expr {
    let short =
        json::SHORT_ESCAPES.into_iter().filter(|(means, _)| !characters.contains(means)).map(|(_, letter)| letter);
    let short = builder.class(Class::of(&short.collect::<Vec<_>>()));
    let mut codes: Vec<String> = characters.iter().map(|&character| format!("{:04X}", u32::from(character))).collect();
    codes.sort_unstable();
    codes.dedup();
    let unicode = other_code(builder, &codes.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    builder.choice(&[short, builder.sequence(&[builder.text("u"), unicode])])
}

/// Hexadecimal digits of none of these codes. Surrogate pairs are left out if one of these codes is a pair.
fn other_code(builder: &mut Builder, codes: &[&str], level: usize) -> Expr {
    let paired = codes.iter().any(|code| code.len() > 4);
    let digit_of = |code: &&str| code.as_bytes().get(level).copied().filter(|_| code.len() == 4);
    let mut alternatives = Vec::new();
    let mut free = Vec::new();
    for digit in b"0123456789ABCDEF" {
        let with: Vec<&str> = codes.iter().filter(|code| digit_of(code) == Some(*digit)).copied().collect();
        let both = [char::from(*digit), char::from(digit.to_ascii_lowercase())];
        if level == 0 && *digit == b'D' {
            // Surrogates begin with D.
            if with.is_empty() && !paired {
                alternatives.push(json::paired(builder));
            }
        } else if with.is_empty() {
            free.extend(both);
        } else if level < 3 {
            let (first, rest) = (builder.class(Class::of(&both)), other_code(builder, &with, level + 1));
            alternatives.push(builder.sequence(&[first, rest]));
        }
    }
    let rest = u32::try_from(3 - level.min(3)).unwrap_or(0);
    if !free.is_empty() {
        alternatives.insert(
            0,
            builder.sequence(&[builder.class(Class::of(&free)), builder.repeat(json::hex(builder), rest, Some(rest))]),
        );
    }
    builder.choice(&alternatives)
}
