//! Reads a regular expression in the syntax of Python's module `regex`. What that module has and no response template needs
//! (conditions, recursion, references to groups, fuzzy matching, sets of sets) is refused with its place.

use std::iter::Peekable;
use std::str::CharIndices;

use super::classes;
use super::syntax::{Greed, Node, Place};

/// How deep groups may be nested.
const DEEPEST: u32 = 40;

/// How often a part may be repeated by a number.
const MOST_REPEATS: u32 = 1000;

/// Why a pattern is not read, and at which character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// What is wrong.
    pub cause: String,
    /// The character, counted from 1.
    pub column: usize,
}

/// Reads a pattern.
pub(crate) fn parse(pattern: &str) -> Result<Node, SyntaxError> {
    let mut parser = Parser { pattern, chars: pattern.char_indices().peekable(), depth: 0, names: Vec::new() };
    let node = parser.choice()?;
    match parser.at() {
        at if at == pattern.len() => Ok(node),
        at => parser.wrong(at, "this closing bracket has no opening one"),
    }
}

struct Parser<'p> {
    pattern: &'p str,
    chars: Peekable<CharIndices<'p>>,
    depth: u32,
    names: Vec<String>,
}

type Parsed = Result<Node, SyntaxError>;

impl Parser<'_> {
    fn wrong<T>(&self, at: usize, cause: &str) -> Result<T, SyntaxError> {
        Err(SyntaxError { cause: cause.to_owned(), column: self.pattern[..at].chars().count() + 1 })
    }

    /// The offset of the next character.
    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.pattern.len(), |(at, _)| *at)
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, char)| *char)
    }

    fn take(&mut self, text: &str) -> bool {
        let at = self.at();
        let is_there = self.pattern[at..].starts_with(text);
        if is_there {
            for _ in text.chars() {
                self.chars.next();
            }
        }
        is_there
    }

    fn choice(&mut self) -> Parsed {
        let mut choices = vec![self.sequence()?];
        while self.take("|") {
            choices.push(self.sequence()?);
        }
        Ok(if choices.len() > 1 { Node::Choice(choices) } else { choices.remove(0) })
    }

    fn sequence(&mut self) -> Parsed {
        let mut parts = Vec::new();
        loop {
            let at = self.at();
            match self.peek() {
                None | Some('|' | ')') => break,
                Some('*' | '+' | '?') => return self.wrong(at, "there is nothing to repeat"),
                _ => {}
            }
            if self.take("(?#") {
                while self.chars.next_if(|(_, char)| *char != ')').is_some() {}
                if !self.take(")") {
                    return self.wrong(at, "this comment is not closed");
                }
                continue;
            }
            // Flags for the rest of the pattern.
            if self.take("(?i)") {
                let rest = self.rest_of_group()?;
                parts.push(Node::IgnoreCase(Box::new(rest)));
                break;
            }
            if self.take("(?s)") {
                continue;
            }
            let part = self.atom()?;
            parts.push(self.repeated(part)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Sequence(parts) })
    }

    /// What follows `(?i)`. It must be at the start of the pattern: elsewhere its reach depends on the version of the module.
    fn rest_of_group(&mut self) -> Parsed {
        let at = self.at();
        if at != "(?i)".len() {
            return self.wrong(at, "flags must be at the start of the pattern");
        }
        self.choice()
    }

    fn atom(&mut self) -> Parsed {
        let at = self.at();
        let Some((_, char)) = self.chars.next() else { return self.wrong(at, "the pattern ends too early") };
        Ok(match char {
            '.' => Node::Any,
            '^' => Node::Place(Place::Start),
            '$' => Node::Place(Place::LastLine),
            '(' => return self.group(at),
            '[' => {
                let (class, end) =
                    classes::set(&self.pattern[at..]).map_err(|(cause, offset)| self.error(at + offset, &cause))?;
                while self.at() < at + end {
                    self.chars.next();
                }
                Node::Class(class)
            }
            '\\' => return self.escape(at),
            '{' if self.is_fuzzy(at) => return self.wrong(at, "fuzzy matching is not supported"),
            other => Node::Char(other),
        })
    }

    fn error(&self, at: usize, cause: &str) -> SyntaxError {
        SyntaxError { cause: cause.to_owned(), column: self.pattern[..at].chars().count() + 1 }
    }

    /// Whether braces hold the limits of errors: `{e<=1}`.
    fn is_fuzzy(&self, at: usize) -> bool {
        let Some((inside, _)) = self.pattern[at + 1..].split_once('}') else { return false };
        let is_limit = |part: &str| {
            let letters = part.trim_start_matches(|char: char| char.is_ascii_digit() || "<= ".contains(char));
            let kind = letters.chars().next().is_some_and(|char| "eids".contains(char));
            kind && letters.chars().skip(1).all(|char| char.is_ascii_digit() || "<=+eids ".contains(char))
        };
        at > 0 && inside.split(',').all(is_limit)
    }

    fn group(&mut self, at: usize) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.wrong(at, "groups are nested too deep");
        }
        let node = self.group_inside(at)?;
        if !self.take(")") {
            return self.wrong(at, "this group is not closed");
        }
        self.depth -= 1;
        Ok(node)
    }

    fn group_inside(&mut self, at: usize) -> Parsed {
        let look = |ahead, negative| move |part| Node::Look { ahead, negative, part: Box::new(part) };
        if !self.take("?") {
            return Ok(Node::Capture(None, Box::new(self.choice()?)));
        }
        if self.take(":") || self.take("s:") {
            // A sequence of one, so that what follows repeats the whole group.
            return Ok(Node::Sequence(vec![self.choice()?]));
        }
        if self.take("i:") || self.take("is:") || self.take("si:") {
            return Ok(Node::IgnoreCase(Box::new(self.choice()?)));
        }
        if self.take(">") {
            return Ok(Node::Atomic(Box::new(self.choice()?)));
        }
        if self.take("=") {
            return self.choice().map(look(true, false));
        }
        if self.take("!") {
            return self.choice().map(look(true, true));
        }
        if self.take("<=") {
            return self.choice().map(look(false, false));
        }
        if self.take("<!") {
            return self.choice().map(look(false, true));
        }
        if self.take("P=") {
            let start = self.at();
            let name: String = self.pattern[start..].chars().take_while(|char| *char != ')').collect();
            if !self.names.contains(&name) {
                return self.wrong(at, &format!("there is no group called `{name}` before this"));
            }
            for _ in name.chars() {
                self.chars.next();
            }
            return Ok(Node::Same(name));
        }
        if self.take("P<") || self.take("<") {
            let name = self.name(at)?;
            return Ok(Node::Capture(Some(name), Box::new(self.choice()?)));
        }
        let what = match self.peek() {
            Some('P') => "a reference to a group",
            Some('(') => "a condition",
            Some('|') => "a branch reset",
            Some('R' | '&' | '0'..='9') => "a recursion",
            _ => "this kind of group",
        };
        self.wrong(at, &format!("{what} is not supported"))
    }

    fn name(&mut self, at: usize) -> Result<String, SyntaxError> {
        let mut name = String::new();
        while let Some((_, char)) = self.chars.next_if(|(_, char)| char.is_alphanumeric() || *char == '_') {
            name.push(char);
        }
        if !self.take(">") || name.starts_with(|first: char| first.is_numeric()) || name.is_empty() {
            return self.wrong(at, "the name of a group consists of letters, digits and `_`, and `>` follows it");
        }
        if self.names.contains(&name) {
            return self.wrong(at, &format!("two groups are called `{name}`; this is not supported"));
        }
        self.names.push(name.clone());
        Ok(name)
    }

    fn escape(&mut self, at: usize) -> Parsed {
        let Some((_, char)) = self.chars.next() else { return self.wrong(at, "a backslash ends the pattern") };
        Ok(match char {
            'A' => Node::Place(Place::Start),
            'Z' | 'z' => Node::Place(Place::End),
            'b' => Node::Place(Place::WordEdge),
            'B' => Node::Place(Place::NoWordEdge),
            '1'..='9' => return self.wrong(at, "a reference to a group is not supported"),
            _ => {
                let (item, end) =
                    classes::escape(&self.pattern[at..]).map_err(|(cause, offset)| self.error(at + offset, &cause))?;
                while self.at() < at + end {
                    self.chars.next();
                }
                match item {
                    classes::Item::Char(char) => Node::Char(char),
                    classes::Item::Set(set) => Node::Class(format!("[{set}]")),
                }
            }
        })
    }

    /// A part with its quantifier, if one follows.
    fn repeated(&mut self, part: Node) -> Parsed {
        let at = self.at();
        let Some((least, most)) = self.quantifier()? else { return Ok(part) };
        if matches!(part, Node::Place(_) | Node::Look { .. }) {
            return self.wrong(at, "repeating a condition is not supported");
        }
        let greed = match (self.take("?"), self.take("+")) {
            (true, _) => Greed::Lazy,
            (false, true) => Greed::Possessive,
            (false, false) => Greed::Greedy,
        };
        let again = self.at();
        if self.quantifier()?.is_some() {
            return self.wrong(again, "a part can be repeated only once");
        }
        Ok(Node::Repeat { part: Box::new(part), least, most, greed })
    }

    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, SyntaxError> {
        if self.take("*") {
            return Ok(Some((0, None)));
        }
        if self.take("+") {
            return Ok(Some((1, None)));
        }
        if self.take("?") {
            return Ok(Some((0, Some(1))));
        }
        let at = self.at();
        let Some((inside, _)) = self.pattern[at..].strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
            return Ok(None);
        };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(least) || !is_number(most) || inside.is_empty() || inside == "," {
            // Then the brace means itself.
            return Ok(None);
        }
        let number = |text: &str| text.parse().ok().filter(|count| *count <= MOST_REPEATS);
        let least = if least.is_empty() { Some(0) } else { number(least) };
        let limit = if most.is_empty() { None } else { number(most) };
        let (Some(least), true) = (least, most.is_empty() || limit.is_some()) else {
            return self.wrong(at, &format!("more than {MOST_REPEATS} repetitions are not supported"));
        };
        if limit.is_some_and(|limit| limit < least) {
            return self.wrong(at, "the largest number of repetitions is below the smallest");
        }
        for _ in 0..inside.len() + 2 {
            self.chars.next();
        }
        Ok(Some((least, limit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_supported_is_refused_with_its_place() {
        let of = |pattern| match parse(pattern) {
            Ok(_) => "ok".to_owned(),
            Err(error) => format!("{}: {}", error.column, error.cause),
        };
        let cases = [
            ("a**", "3: a part can be repeated only once"),
            ("é(?P=a)", "2: there is no group called `a` before this"),
            ("(?P<a>x)(?P=a)", "ok"),
            ("(?P>a)", "1: a reference to a group is not supported"),
            (r"(a)\1", "4: a reference to a group is not supported"),
            ("(?(1)a|b)", "1: a condition is not supported"),
            ("(a", "1: this group is not closed"),
            ("a)", "2: this closing bracket has no opening one"),
            ("*a", "1: there is nothing to repeat"),
            (r"\y", "1: the escape `\\y` is not supported"),
            ("[z-a]", "2: the range ends before it begins"),
            ("[a", "1: this set is not closed"),
            ("a{2,1}", "2: the largest number of repetitions is below the smallest"),
            ("a{e<=1}", "2: fuzzy matching is not supported"),
            ("a{1,5000}", "2: more than 1000 repetitions are not supported"),
            ("(?P<a>x)(?P<a>y)", "9: two groups are called `a`; this is not supported"),
            ("a(?i)b", "6: flags must be at the start of the pattern"),
            (r"a{x", "ok"),
            (r#"\{"name":\s*"(?P<name>[^"]+)""#, "ok"),
            (r"(?i)a|(?:b{,3}?c*+)(?#note)", "ok"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(of(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn deep_groups_are_refused() {
        assert!(parse(&"(".repeat(100_000)).is_err());
    }
}
