//! The parser of regular expressions.

use std::marker::PhantomData;

use super::dialect::Dialect;
use super::error::{Cause, SyntaxError};
use super::tree::{Assertion, Greed, Item, Node, Set};

const DEEPEST: u32 = 40;

/// Reads a pattern in a dialect.
///
/// ```
/// use unjinja_grammar::regex::{Ecma, Node, Python, parse};
///
/// let seven = Node::Char('\u{7}');
/// assert_eq!(parse::<Python>(r"\a"), Ok(seven.clone()));
/// assert_eq!(parse::<Ecma>(r"\cG"), Ok(seven));
/// assert_eq!(parse::<Ecma>(r"(\a)").map_err(|error| error.at), Err(1));
/// ```
pub fn parse<D: Dialect>(pattern: &str) -> Result<Node, SyntaxError> {
    let mut parser = Parser { pattern, rest: pattern, depth: 0, names: Vec::new(), dialect: PhantomData::<D> };
    let node = parser.choice()?;
    if parser.rest.is_empty() { Ok(node) } else { wrong(parser.at(), "this closing bracket has no opening one") }
}

struct Parser<'p, D> {
    pattern: &'p str,
    rest: &'p str,
    depth: u32,
    /// The names of the groups that were opened.
    names: Vec<&'p str>,
    dialect: PhantomData<D>,
}

type Parsed = Result<Node, SyntaxError>;

fn wrong<T>(at: usize, cause: &'static str) -> Result<T, SyntaxError> {
    Err(SyntaxError { cause: Cause::Wrong(cause), at })
}

impl<'p, D: Dialect> Parser<'p, D> {
    /// The offset of what is not read yet.
    fn at(&self) -> usize {
        self.pattern.len() - self.rest.len()
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    // Not inlined, like the next functions: they are called from many places.
    #[inline(never)]
    fn next(&mut self) -> Option<char> {
        let mut rest = self.rest.chars();
        let next = rest.next();
        self.rest = rest.as_str();
        next
    }

    #[inline(never)]
    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    #[inline(never)]
    fn skip(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
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
            match self.peek() {
                None | Some('|' | ')') => break,
                Some('*' | '+' | '?') => return wrong(self.at(), "there is nothing to repeat"),
                _ => {}
            }
            if D::IS_PYTHON {
                // A dot matches a newline in any case.
                if self.comment()? || self.take("(?s)") {
                    continue;
                }
                if self.take("(?i)") {
                    parts.push(self.ignoring_case()?);
                    break;
                }
            }
            let part = self.atom()?;
            parts.push(self.repeated(part)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Sequence(parts) })
    }

    fn comment(&mut self) -> Result<bool, SyntaxError> {
        let at = self.at();
        if !self.take("(?#") {
            return Ok(false);
        }
        let Some(end) = self.rest.find(')') else { return wrong(at, "this comment is not closed") };
        self.skip(end + 1);
        Ok(true)
    }

    /// What follows `(?i)`. It must be at the start of the pattern: elsewhere its reach depends on the version of the module.
    fn ignoring_case(&mut self) -> Parsed {
        if self.at() != "(?i)".len() {
            return wrong(self.at(), "flags must be at the start of the pattern");
        }
        Ok(Node::IgnoreCase(Box::new(self.choice()?)))
    }

    fn atom(&mut self) -> Parsed {
        let at = self.at();
        let Some(next) = self.next() else { return wrong(at, "the pattern ends too early") };
        Ok(match next {
            '.' => Node::Any,
            '^' => Node::Assertion(Assertion::Start),
            '$' => Node::Assertion(D::DOLLAR),
            '(' => return self.group(at),
            '[' => Node::Set(self.set(at)?),
            '\\' => return self.escape(at),
            '{' if D::IS_PYTHON && is_fuzzy(&self.pattern[..at], self.rest) => {
                return wrong(at, "fuzzy matching is not supported");
            }
            other => Node::Char(other),
        })
    }

    fn group(&mut self, at: usize) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return wrong(at, "groups are nested too deep");
        }
        let node = self.group_inside(at)?;
        if !self.take(")") {
            return wrong(at, "this group is not closed");
        }
        self.depth -= 1;
        Ok(node)
    }

    fn group_inside(&mut self, at: usize) -> Parsed {
        if !self.take("?") {
            return Ok(Node::Capture(None, self.boxed()?));
        }
        if self.take(":") {
            // A sequence of one, so that what follows repeats the whole group.
            return Ok(Node::Sequence(vec![self.choice()?]));
        }
        for (open, ahead, negative) in
            [("=", true, false), ("!", true, true), ("<=", false, false), ("<!", false, true)]
        {
            if self.take(open) {
                return Ok(Node::Look { ahead, negative, part: self.boxed()? });
            }
        }
        if self.take("<") || (D::IS_PYTHON && self.take("P<")) {
            let name = self.name(at)?.to_owned();
            return Ok(Node::Capture(Some(name), self.boxed()?));
        }
        if D::IS_PYTHON { self.group_of_python(at) } else { wrong(at, "this kind of group is not supported") }
    }

    fn boxed(&mut self) -> Result<Box<Node>, SyntaxError> {
        self.choice().map(Box::new)
    }

    fn group_of_python(&mut self, at: usize) -> Parsed {
        if self.take("s:") {
            return Ok(Node::Sequence(vec![self.choice()?]));
        }
        if self.take("i:") || self.take("is:") || self.take("si:") {
            return Ok(Node::IgnoreCase(self.boxed()?));
        }
        if self.take(">") {
            return Ok(Node::Atomic(self.boxed()?));
        }
        if self.take("P=") {
            let name = self.rest.split(')').next().unwrap_or_default();
            if !self.names.contains(&name) {
                return Err(SyntaxError { cause: Cause::UnknownGroup(name.to_owned()), at });
            }
            self.skip(name.len());
            return Ok(Node::Same(name.to_owned()));
        }
        wrong(
            at,
            match self.peek() {
                Some('P') => "a reference to a group is not supported",
                Some('(') => "a condition is not supported",
                Some('|') => "a branch reset is not supported",
                Some('R' | '&' | '0'..='9') => "a recursion is not supported",
                _ => "this kind of group is not supported",
            },
        )
    }

    fn name(&mut self, at: usize) -> Result<&'p str, SyntaxError> {
        const WRONG: &str = "the name of a group consists of letters, digits and `_`, and `>` follows it";
        let Some((name, _)) = self.rest.split_once('>') else { return wrong(at, WRONG) };
        if D::IS_PYTHON {
            let is_name = name.chars().all(|char| char.is_alphanumeric() || char == '_');
            if !is_name || name.is_empty() || name.starts_with(char::is_numeric) {
                return wrong(at, WRONG);
            }
            if self.names.contains(&name) {
                return Err(SyntaxError { cause: Cause::RepeatedGroup(name.to_owned()), at });
            }
            self.names.push(name);
        }
        self.skip(name.len() + 1);
        Ok(name)
    }

    /// A part with its quantifier, if one follows.
    fn repeated(&mut self, part: Node) -> Parsed {
        let at = self.at();
        let Some((least, most)) = self.quantifier()? else { return Ok(part) };
        if matches!(part, Node::Assertion(_) | Node::Look { .. }) {
            return wrong(at, "repeating a condition is not supported");
        }
        let greed = if self.take("?") {
            Greed::Lazy
        } else if D::IS_PYTHON && self.take("+") {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        let again = self.at();
        if self.quantifier()?.is_some() {
            return wrong(again, "a part can be repeated only once");
        }
        Ok(Node::Repeat { part: Box::new(part), least, most, greed })
    }

    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, SyntaxError> {
        for (sign, counts) in [("*", (0, None)), ("+", (1, None)), ("?", (0, Some(1)))] {
            if self.take(sign) {
                return Ok(Some(counts));
            }
        }
        let at = self.at();
        let Some((inside, _)) = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
            return Ok(None);
        };
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_open = least.is_empty() && (most.is_empty() || !D::IS_PYTHON);
        if !is_number(least) || !is_number(most) || is_open {
            // Then the brace means itself.
            return Ok(None);
        }
        let number = |text: &str| text.parse().unwrap_or(u32::MAX);
        let least = if least.is_empty() { 0 } else { number(least) };
        let most = (!most.is_empty()).then(|| number(most));
        if least.max(most.unwrap_or(0)) > D::MOST_REPEATS {
            return wrong(at, "more than 1000 repetitions are not supported");
        }
        if most.is_some_and(|most| most < least) {
            return wrong(at, "the largest number of repetitions is below the smallest");
        }
        self.skip(inside.len() + 2);
        Ok(Some((least, most)))
    }

    /// The set whose opening bracket, at `open`, is taken.
    fn set(&mut self, open: usize) -> Result<Set, SyntaxError> {
        let negated = self.take("^");
        let first = self.at();
        let mut items = Vec::new();
        loop {
            let at = self.at();
            if (D::HAS_EMPTY_SETS || at > first) && self.take("]") {
                return Ok(Set { negated, items });
            }
            if D::IS_PYTHON && self.rest.starts_with("[:") {
                return wrong(at, "a class of POSIX is not supported");
            }
            let low = self.set_item(open)?;
            let is_range = self.rest.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && !rest.starts_with(']'));
            let Item::Char(from) = low else {
                if is_range && !D::HAS_LOOSE_HYPHENS {
                    return wrong(at, "a range begins with a character");
                }
                items.push(low);
                continue;
            };
            if !is_range {
                items.push(low);
                continue;
            }
            self.take("-");
            let end = self.at();
            match self.set_item(open)? {
                Item::Char(to) if from <= to => items.push(Item::Range(from, to)),
                Item::Char(_) => return wrong(at, "the range ends before it begins"),
                other if D::HAS_LOOSE_HYPHENS => items.extend([low, Item::Char('-'), other]),
                _ => return wrong(end, "a range ends with a character"),
            }
        }
    }

    fn set_item(&mut self, open: usize) -> Result<Item, SyntaxError> {
        let at = self.at();
        match self.next() {
            None => wrong(open, "this set is not closed"),
            Some('\\') if self.take("b") => Ok(Item::Char('\u{8}')),
            Some('\\') => self.escaped(at),
            Some(character) => Ok(Item::Char(character)),
        }
    }

    /// The escape whose backslash, at `at`, is taken.
    fn escape(&mut self, at: usize) -> Parsed {
        let assertion = match self.peek() {
            Some('b') => Assertion::WordEdge,
            Some('B') => Assertion::NoWordEdge,
            Some('A') if D::IS_PYTHON => Assertion::Start,
            Some('Z' | 'z') if D::IS_PYTHON => Assertion::End,
            Some('1'..='9') if D::IS_PYTHON => return wrong(at, "a reference to a group is not supported"),
            Some(group @ ('1'..='9' | 'k')) if !D::IS_PYTHON => {
                self.next();
                return Ok(Node::Same(group.to_string()));
            }
            _ => {
                return Ok(match self.escaped(at)? {
                    Item::Char(character) => Node::Char(character),
                    item => Node::Set(Set { negated: false, items: vec![item] }),
                });
            }
        };
        self.next();
        Ok(Node::Assertion(assertion))
    }

    /// The characters of an escape whose backslash, at `at`, is taken. Places and references are not read here.
    fn escaped(&mut self, at: usize) -> Result<Item, SyntaxError> {
        let Some(letter) = self.next() else { return wrong(at, "a backslash ends the pattern") };
        match D::escape(letter, self.rest) {
            Ok((item, length)) => {
                self.skip(length);
                Ok(item)
            }
            Err(cause) => Err(SyntaxError { cause, at }),
        }
    }
}

/// Whether braces hold the limits of errors: `{e<=1}`. Something must be before them.
fn is_fuzzy(before: &str, rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    let is_limit = |part: &str| {
        let letters = part.trim_start_matches(|char: char| char.is_ascii_digit() || "<= ".contains(char));
        let kind = letters.chars().next().is_some_and(|char| "eids".contains(char));
        kind && letters.chars().skip(1).all(|char| char.is_ascii_digit() || "<=+eids ".contains(char))
    };
    !before.is_empty() && inside.split(',').all(is_limit)
}
