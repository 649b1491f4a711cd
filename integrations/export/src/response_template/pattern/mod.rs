//! Regular expressions as the reader of response templates searches for them.
//!
//! It uses Python's module `regex`. The parser of `unjinja-grammar` reads its syntax, `print.rs` writes it for the crate
//! `fancy-regex`, and this file searches. A search that takes too many steps ends in an error, so a pattern that runs away does
//! not hang.

mod print;

use std::ops::Range;

use fancy_regex::{Regex, RegexBuilder};
use unjinja_grammar::regex::{self, Greed, Node, Python};

/// How many times a search may go back to another choice.
const MOST_STEPS: usize = 1_000_000;

/// How large a compiled pattern may become, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// Why a pattern is not read, and at which character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// What is wrong.
    pub cause: String,
    /// The character, counted from 1.
    pub column: usize,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The pattern of texts that end inside a match.
    beginning: Option<Regex>,
    names: Vec<String>,
}

/// A match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub range: Range<usize>,
    /// The named groups that took part, and their texts.
    pub captures: Vec<(String, String)>,
}

/// A search was given up: it took too many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RanAway;

impl Pattern {
    /// Compiles the text of a pattern whose beginning is not asked for; it may refer to its own groups.
    pub(crate) fn new(pattern: &str) -> Result<Self, SyntaxError> {
        let node = parse(pattern)?;
        let (regex, names) = (compile(&print::pattern(&node))?, names(&node));
        Ok(Self { regex, beginning: None, names })
    }

    /// Compiles the text of a marker's pattern, whose beginning can be searched for.
    pub(crate) fn of_marker(pattern: &str) -> Result<Self, SyntaxError> {
        let node = parse(pattern)?;
        if !print::can_refer(&node) {
            let cause = "a marker may only refer to a group such as `(?P<name>[^>]+)`, one set of characters that repeats, \
                         and not from inside another group";
            return Err(SyntaxError { cause: cause.to_owned(), column: 1 });
        }
        Self::of_node(&node)
    }

    /// The pattern that matches one of some texts, the longest if several do.
    pub(crate) fn of_literals(literals: &[String]) -> Result<Self, SyntaxError> {
        let mut longest_first: Vec<&String> = literals.iter().collect();
        longest_first.sort_by_key(|literal| std::cmp::Reverse(literal.chars().count()));
        Self::of_node(&Node::Choice(longest_first.into_iter().map(|literal| Node::text(literal)).collect()))
    }

    /// The pattern of the shortest text between two texts, which is its group `inside`.
    pub(crate) fn between(open: &str, close: &str) -> Result<Self, SyntaxError> {
        let shortest = Node::Repeat { part: Box::new(Node::Any), least: 0, most: None, greed: Greed::Lazy };
        let inside = Node::Capture(Some("inside".to_owned()), Box::new(shortest));
        Self::of_node(&Node::Sequence(vec![Node::text(open), inside, Node::text(close)]))
    }

    fn of_node(node: &Node) -> Result<Self, SyntaxError> {
        let regex = compile(&print::pattern(node))?;
        let beginning = print::beginning(node).map(|text| compile(&text)).transpose()?;
        Ok(Self { regex, beginning, names: names(node) })
    }

    /// The names of its groups.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The first match that begins at `from` or later.
    pub(crate) fn search(&self, text: &str, from: usize) -> Result<Option<Match>, RanAway> {
        if self.names.is_empty() {
            let found = self.regex.find_from_pos(text, from).map_err(|_| RanAway)?;
            return Ok(found.map(|found| Match { range: found.start()..found.end(), captures: Vec::new() }));
        }
        let Some(found) = self.regex.captures_from_pos(text, from).map_err(|_| RanAway)? else { return Ok(None) };
        let Some(whole) = found.get(0) else { return Ok(None) };
        let captured = |name: &String| Some((name.clone(), found.name(name)?.as_str().to_owned()));
        Ok(Some(Match {
            range: whole.start()..whole.end(),
            captures: self.names.iter().filter_map(captured).collect(),
        }))
    }

    /// Where a match could begin that needs more text than there is; `None` if no match needs any text.
    pub(crate) fn search_beginning(&self, text: &str, from: usize) -> Result<Option<usize>, RanAway> {
        let Some(beginning) = &self.beginning else { return Ok(None) };
        Ok(beginning.find_from_pos(text, from).map_err(|_| RanAway)?.map(|found| found.start()))
    }

    /// All matches, one after the other. After an empty match the next one begins a character later.
    pub(crate) fn search_all(&self, text: &str) -> Result<Vec<Match>, RanAway> {
        let (mut all, mut from) = (Vec::new(), 0);
        while from <= text.len() {
            let Some(found) = self.search(text, from)? else { break };
            from = match text[found.range.end..].chars().next() {
                Some(next) if found.range.is_empty() => found.range.end + next.len_utf8(),
                None if found.range.is_empty() => text.len() + 1,
                _ => found.range.end,
            };
            all.push(found);
        }
        Ok(all)
    }
}

fn parse(pattern: &str) -> Result<Node, SyntaxError> {
    regex::parse::<Python>(pattern).map_err(|error| SyntaxError {
        cause: error.cause.to_string(),
        column: pattern[..error.at].chars().count() + 1,
    })
}

/// The names of the groups in the order in which they open.
fn names(node: &Node) -> Vec<String> {
    let own = if let Node::Capture(name, _) = node { name.clone() } else { None };
    own.into_iter().chain(node.parts().iter().flat_map(names)).collect()
}

fn compile(pattern: &str) -> Result<Regex, SyntaxError> {
    let regex = RegexBuilder::new(pattern).backtrack_limit(MOST_STEPS).delegate_size_limit(MOST_BYTES).build();
    regex.map_err(|error| {
        // The library speaks of the translated pattern, which the user has not written.
        let cause = error.to_string();
        let cause = cause.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        SyntaxError { cause: format!("this pattern cannot be searched for: {cause}"), column: 1 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search finds, or where a match could still begin.
    fn search(pattern: &str, text: &str) -> String {
        let pattern = match Pattern::of_marker(pattern) {
            Ok(pattern) => pattern,
            Err(error) => return error.cause,
        };
        match (pattern.search(text, 0), pattern.search_beginning(text, 0)) {
            (Ok(Some(found)), _) => format!("{:?}", found.range),
            (Ok(None), Ok(Some(at))) => format!("begins at {at}"),
            (Ok(None), Ok(None)) => "none".to_owned(),
            (Err(RanAway), _) | (_, Err(RanAway)) => "ran away".to_owned(),
        }
    }

    /// The figures are those of Python's `regex.search(…, partial=True)`.
    #[test]
    fn the_end_of_a_text_may_begin_a_match() {
        let cases = [
            ("a$|b", "xa\n", "1..2"),
            (r#"(?=\{"n)"#, "x{\"", "begins at 1"),
            ("(?!ab)x", "a", "begins at 1"),
            (r"foo\b", "a foo", "2..5"),
            ("(?<=a)b", "xa", "begins at 2"),
            ("a{2,3}+b", "xaaa", "begins at 1"),
            ("(?:ab)*c", "xxaba", "begins at 2"),
            ("x*?y", "xxx", "begins at 0"),
            ("(?>ab|a)c", "za", "begins at 1"),
            (r"(?=[\s\S]*?</t>)", "abc</t", "begins at 0"),
            (r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>", "Hi \n<tool_call> <func", "begins at 2"),
            ("abc", "xab", "begins at 1"),
            ("abc", "xyz", "begins at 3"),
            (r"<(?P<n>[a-z]+)>(?P=n);", "x<ab>", "begins at 1"),
            (r"<(?P<n>[a-z]+)>(?P=n);", "x<ab>a", "begins at 1"),
            (r"<(?P<n>[a-z]+)>(?P=n);", "x<ab>ab", "begins at 1"),
            (r"<(?P<n>[a-z]+)>(?P=n);", "x<ab>ax", "begins at 7"),
            (r"<(?P<n>[a-z]+)>(?P=n);", "x<ab>abc", "begins at 8"),
            (r"<(?P<n>[a-z]+)>(?P=n);", "x<ab>ab;", "1..8"),
            ("(?P<n>a+)b(?P=n)c", "aaabaab", "begins at 4"),
            ("(?P<n>a+)b(?P=n)c", "aabac", "1..5"),
            ("$", "a", "1..1"),
            (r"(?i)</THINK>", "a</think>", "1..9"),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(search(pattern, text), expected, "{pattern} in {text:?}");
        }
    }

    #[test]
    fn what_is_not_read_is_named_with_its_character() {
        let of = |pattern| Pattern::new(pattern).err().map(|error| format!("{}: {}", error.column, error.cause));
        assert_eq!(of("é(?P=a)").as_deref(), Some("2: there is no group called `a` before this"));
        assert_eq!(of(r"\y").as_deref(), Some(r"1: the escape `\y` is not supported"));
        assert_eq!(of(r#"\{"name":\s*"(?P<name>[^"]+)""#), None);
        for refers in ["(?P<a>x|y)(?P=a)", "(?P<a>x+)(?:(?P=a))?", "(?:(?P<a>x+))?(?P=a)"] {
            assert!(Pattern::new(refers).is_ok() && Pattern::of_marker(refers).is_err(), "{refers}");
        }
    }

    /// The characters of Python, and not of ECMA-262: letters and digits of all scripts.
    #[test]
    fn sets_are_those_of_python() {
        for (pattern, inside, outside) in [
            (r"\s", " \u{85}\u{3000}", "a\u{feff}"),
            (r"\w", "aé٣_", "-"),
            (r"[^\d\x41-C]", "aD", "5٣AC"),
            (r"[]\-^]", "]-^", "a\\"),
            (r"\p{Lu}", "AÉ", "aé"),
            (".", "a\n", ""),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            let matches = |character: char| pattern.search(character.encode_utf8(&mut [0; 4]), 0).unwrap().is_some();
            assert!(inside.chars().all(matches) && !outside.chars().any(matches), "{pattern:?}");
        }
    }

    #[test]
    fn a_pattern_that_runs_away_is_given_up() {
        assert_eq!(search(r"(?:a(?!x)|aa)*c", &"a".repeat(60)), "ran away");
    }

    #[test]
    fn literals_match_the_longest() -> Result<(), SyntaxError> {
        let pattern = Pattern::of_literals(&["<|end".to_owned(), "<|end|>".to_owned(), "a.b".to_owned()])?;
        assert_eq!(pattern.search("x<|end|>", 0), Ok(Some(Match { range: 1..8, captures: Vec::new() })));
        assert_eq!(pattern.search("axb", 0), Ok(None));
        Ok(())
    }
}
