//! Parses a regular expression.

use super::super::super::Class;
use super::super::super::builder::MAX_COUNT;
use super::node::{Node, Why, anchored};

/// Groups may nest at most so deep.
const DEPTH: usize = 40;

/// The expression as a tree of limited depth.
pub(super) fn parse(source: &str) -> Result<Node, Why> {
    let mut parser = Parser { rest: source, depth: 0 };
    let node = parser.choice()?;
    if parser.rest.is_empty() {
        Ok(node)
    } else {
        Err("the expression is not valid: a group is closed that was not opened")
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn choice(&mut self) -> Result<Node, Why> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("groups are nested too deeply");
        }
        let mut alternatives = vec![self.sequence()?];
        while self.take('|') {
            alternatives.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(if alternatives.len() == 1 { alternatives.remove(0) } else { Node::Choice(alternatives) })
    }

    fn sequence(&mut self) -> Result<Node, Why> {
        let mut nodes = Vec::new();
        while let Some(next) = self.peek() {
            let node = match next {
                '|' | ')' => break,
                '^' => self.skip(Node::Start),
                '$' => self.skip(Node::End),
                '.' => self.skip(Node::Class(line_ends().negate())),
                '(' => self.group()?,
                '[' => Node::Class(self.class()?),
                '\\' => {
                    self.advance();
                    Node::Class(self.escape(false)?)
                }
                '*' | '+' | '?' => return Err("the expression is not valid: there is nothing to repeat"),
                character => self.skip(Node::Class(Class::of(&[character]))),
            };
            nodes.push(self.quantified(node)?);
        }
        Ok(Node::Sequence(nodes))
    }

    fn group(&mut self) -> Result<Node, Why> {
        self.advance();
        if self.take('?') {
            let named = self.rest.starts_with('<') && !self.rest.starts_with("<=") && !self.rest.starts_with("<!");
            if named {
                let end = self.rest.find('>').ok_or("the expression is not valid: a name is open")?;
                self.rest = &self.rest[end + 1..];
            } else if !self.take(':') {
                return Err(match self.peek() {
                    Some('=' | '!' | '<') => "look-ahead and look-behind are not supported",
                    _ => "this kind of group is not supported",
                });
            }
        }
        let node = self.choice()?;
        if self.take(')') { Ok(node) } else { Err("the expression is not valid: a group is open") }
    }

    fn quantified(&mut self, node: Node) -> Result<Node, Why> {
        let (min, max) = match self.peek() {
            Some('*') => self.skip((0, None)),
            Some('+') => self.skip((1, None)),
            Some('?') => self.skip((0, Some(1))),
            Some('{') => match self.counts() {
                Some(counts) => counts,
                // The brace stands for itself.
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        // Lazy repetition.
        self.take('?');
        if max.is_some_and(|max| max < min) {
            return Err("the expression is not valid: a count is out of order");
        }
        if min > MAX_COUNT {
            return Err("a count is too high");
        }
        if anchored(&node) {
            return Err("an anchor is at a place where a grammar cannot express it");
        }
        Ok(Node::Repeat(Box::new(node), min, max))
    }

    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let inside = self.rest.strip_prefix('{')?;
        let end = inside.find('}')?;
        let number = |digits: &str| {
            let digits = (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)?;
            Some(digits.parse().unwrap_or(u32::MAX))
        };
        let counts = match inside[..end].split_once(',') {
            None => (number(&inside[..end])?, Some(number(&inside[..end])?)),
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        self.rest = &inside[end + 1..];
        Some(counts)
    }

    fn class(&mut self) -> Result<Class, Why> {
        const OPEN: Why = "the expression is not valid: a class is open";
        self.advance();
        let negated = self.take('^');
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let first = match self.peek().ok_or(OPEN)? {
                ']' => break,
                _ => self.class_member()?,
            };
            let single = |class: &Class| match class.as_ranges() {
                [(first, last)] if first == last && !class.is_negated() => Some(*first),
                _ => None,
            };
            let range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            if let (true, Some(from)) = (range, single(&first)) {
                self.advance();
                self.peek().ok_or(OPEN)?;
                let last = self.class_member()?;
                match single(&last) {
                    Some(to) if from <= to => ranges.push((from, to)),
                    Some(_) => return Err("the expression is not valid: a range is out of order"),
                    // A hyphen beside a class such as `\d` stands for itself.
                    None => {
                        ranges.extend([(from, from), ('-', '-')]);
                        ranges.extend(last.positive());
                    }
                }
            } else {
                ranges.extend(first.positive());
            }
        }
        self.advance();
        let class = Class::ranges(&ranges);
        Ok(if negated { class.negate() } else { class })
    }

    fn class_member(&mut self) -> Result<Class, Why> {
        if self.take('\\') {
            return self.escape(true);
        }
        let character = self.peek().ok_or("the expression is not valid: a class is open")?;
        Ok(self.skip(Class::of(&[character])))
    }

    /// Reads an escape; the backslash is already read.
    fn escape(&mut self, in_class: bool) -> Result<Class, Why> {
        const SHORT: Why = "the expression is not valid: an escape is too short";
        let character = self.peek().ok_or(SHORT)?;
        self.advance();
        let digits = || Class::ranges(&[('0', '9')]);
        let words = || Class::ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
        Ok(match character {
            'd' => digits(),
            'D' => digits().negate(),
            'w' => words(),
            'W' => words().negate(),
            's' => white_space(),
            'S' => white_space().negate(),
            't' => Class::of(&['\t']),
            'n' => Class::of(&['\n']),
            'r' => Class::of(&['\r']),
            'v' => Class::of(&['\u{b}']),
            'f' => Class::of(&['\u{c}']),
            'b' if in_class => Class::of(&['\u{8}']),
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => Class::of(&['\0']),
            'b' | 'B' => return Err("word boundaries are not supported"),
            '1'..='9' | 'k' => return Err("back references are not supported"),
            'p' | 'P' => return Err("Unicode properties are not supported"),
            'c' => {
                let letter = self.peek().filter(char::is_ascii_alphabetic).ok_or(SHORT)?;
                self.advance();
                Class::of(&[char::from(letter as u8 & 31)])
            }
            'x' => Class::of(&[self.code(2).ok_or(SHORT)?]),
            'u' => Class::of(&[self.unicode().ok_or(SHORT)?]),
            // Other escapes mean different things to different engines.
            character if character.is_ascii_alphanumeric() => return Err("the expression has an unknown escape"),
            character => Class::of(&[character]),
        })
    }

    fn unicode(&mut self) -> Option<char> {
        if let Some(inside) = self.rest.strip_prefix('{') {
            let end = inside.find('}')?;
            self.rest = &inside[end + 1..];
            return char::from_u32(u32::from_str_radix(&inside[..end], 16).ok()?);
        }
        let first = u32::from_str_radix(self.rest.get(..4)?, 16).ok()?;
        if (0xD800..0xDC00).contains(&first) {
            let second = self.rest.get(4..10)?.strip_prefix("\\u")?;
            let second = u32::from_str_radix(second, 16).ok()?;
            self.rest = self.rest.get(10..)?;
            return char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + second.checked_sub(0xDC00)?);
        }
        self.code(4)
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let code = u32::from_str_radix(self.rest.get(..digits)?, 16).ok()?;
        self.rest = self.rest.get(digits..)?;
        char::from_u32(code)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self) {
        let mut characters = self.rest.chars();
        characters.next();
        self.rest = characters.as_str();
    }

    fn skip<T>(&mut self, value: T) -> T {
        self.advance();
        value
    }

    fn take(&mut self, character: char) -> bool {
        let found = self.peek() == Some(character);
        if found {
            self.advance();
        }
        found
    }
}

fn line_ends() -> Class {
    Class::of(&['\n', '\r', '\u{2028}', '\u{2029}'])
}

fn white_space() -> Class {
    Class::ranges(&[
        ('\t', '\r'),
        (' ', ' '),
        ('\u{a0}', '\u{a0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200a}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202f}', '\u{202f}'),
        ('\u{205f}', '\u{205f}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{feff}', '\u{feff}'),
    ])
}
