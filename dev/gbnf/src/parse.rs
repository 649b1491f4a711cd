//! Reads GBNF as llama.cpp's engine reads it, its limits included.

use std::collections::HashMap;

use crate::error::Error;
use crate::grammar::{Class, Element, Grammar};

/// A repetition that makes this many rules (nested ones multiply) is refused, and so is a lower count above it. An upper count
/// above it counts as unbounded.
const THRESHOLD: u64 = 2000;
/// How deep groups may nest. (The engine's limit is its stack.)
const DEPTH: usize = 500;
/// How many elements a grammar may have. (The engine's limit is memory.)
const ELEMENTS: usize = 20_000_000;

type Alternative = Vec<Element>;

impl Grammar {
    /// Reads a grammar.
    ///
    /// # Errors
    /// The engine would not load it, or it is one of the few exceptions in the crate's documentation.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parser = Parser { text, ..Parser::default() };
        parser.grammar().map_err(|(at, message)| {
            let before = text.get(..at).unwrap_or(text);
            let line = before.rfind('\n').map_or(before, |newline| &before[newline + 1..]);
            Error { line: before.matches('\n').count() + 1, column: line.chars().count() + 1, message }
        })
    }
}

/// What is wrong, and at which byte.
type Wrong = (usize, String);
type Fallible<T> = Result<T, Wrong>;

#[derive(Default)]
struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Rules by name, including names that are only referred to.
    named: HashMap<&'t str, u32>,
    /// Where each was first referred to.
    first: Vec<usize>,
    names: Vec<&'t str>,
    rules: Vec<Option<Vec<Alternative>>>,
    classes: Vec<Class>,
    class_numbers: HashMap<Class, u32>,
    elements: usize,
}

impl<'t> Parser<'t> {
    fn grammar(&mut self) -> Fallible<Grammar> {
        if let Some(at) = self.text.find('\0') {
            return Err((at, "a NUL ends the grammar for the engine".to_owned()));
        }
        self.space(true);
        while self.peek().is_some() {
            self.rule()?;
        }
        let undefined =
            (0..self.rules.len()).filter(|&rule| self.rules[rule].is_none()).min_by_key(|&rule| self.first[rule]);
        if let Some(rule) = undefined {
            return Err((self.first[rule], format!("the rule `{}` is not defined", self.names[rule])));
        }
        let Some(&root) = self.named.get("root") else {
            return Err((self.at, "there is no rule `root`".to_owned()));
        };
        let mut grammar = Grammar {
            elements: Vec::with_capacity(self.elements),
            rules: Vec::with_capacity(self.rules.len()),
            classes: std::mem::take(&mut self.classes),
            names: self.names.iter().map(|&name| name.to_owned()).collect(),
            order: Vec::with_capacity(self.rules.len()),
            root,
            shortest: Vec::new(),
        };
        for alternatives in std::mem::take(&mut self.rules) {
            let mut starts = Vec::new();
            let number = u32::try_from(grammar.rules.len()).unwrap_or(u32::MAX);
            grammar.order.push((u32::try_from(grammar.elements.len()).unwrap_or(u32::MAX), number));
            for alternative in alternatives.unwrap_or_default() {
                starts.push(u32::try_from(grammar.elements.len()).unwrap_or(u32::MAX));
                grammar.elements.extend(alternative);
                grammar.elements.push(Element::End);
            }
            grammar.rules.push(starts);
        }
        grammar.measure();
        if let Some(rule) = grammar.left_recursive() {
            let rule = rule as usize;
            return Err((self.first[rule], format!("the rule `{}` is left-recursive", self.names[rule])));
        }
        Ok(grammar)
    }

    fn rule(&mut self) -> Fallible<()> {
        let from = self.at;
        let name = self.name()?;
        let rule = self.number_of(name, from);
        self.space(false);
        if !self.rest().starts_with("::=") {
            return self.expected("`::=`");
        }
        self.at += 3;
        self.space(true);
        if self.rules[rule as usize].is_some() {
            return Err((from, format!("the rule `{name}` is defined twice")));
        }
        let alternatives = self.alternatives(name, 0)?;
        self.rules[rule as usize] = Some(alternatives);
        match self.peek() {
            Some('\r' | '\n') | None => self.space(true),
            Some(_) => return self.expected("a line's end"),
        }
        Ok(())
    }

    fn alternatives(&mut self, owner: &'t str, depth: usize) -> Fallible<Vec<Alternative>> {
        if depth > DEPTH {
            return Err((self.at, format!("groups nest deeper than {DEPTH}")));
        }
        let mut alternatives = vec![self.sequence(owner, depth)?];
        while self.peek() == Some('|') {
            self.at += 1;
            self.space(true);
            alternatives.push(self.sequence(owner, depth)?);
        }
        Ok(alternatives)
    }

    fn sequence(&mut self, owner: &'t str, depth: usize) -> Fallible<Alternative> {
        let mut elements = Alternative::new();
        // Where the last symbol begins, for a repetition of it, and how many rules it made.
        let mut last = 0;
        let mut made: u64 = 1;
        while let Some(character) = self.peek() {
            let from = self.at;
            let begin = elements.len();
            match character {
                '"' => {
                    self.at += 1;
                    while self.peek() != Some('"') {
                        let code = self.character()?;
                        let class = self.class_number(Class { negated: false, ranges: vec![(code, code)] });
                        elements.push(Element::Class(class));
                    }
                    self.at += 1;
                    (last, made) = (begin, 1);
                }
                '[' => {
                    let class = self.class()?;
                    elements.push(Element::Class(self.class_number(class)));
                    (last, made) = (begin, 1);
                }
                '.' => {
                    self.at += 1;
                    elements.push(Element::Class(self.class_number(Class { negated: true, ranges: Vec::new() })));
                    (last, made) = (begin, 1);
                }
                '<' | '!' => {
                    let message = "a token terminal loads only where that text is one token of the vocabulary";
                    return Err((from, message.to_owned()));
                }
                '(' => {
                    self.at += 1;
                    self.space(true);
                    let before = self.rules.len();
                    let group = self.add(owner, from);
                    let alternatives = self.alternatives(owner, depth + 1)?;
                    self.rules[group as usize] = Some(alternatives);
                    if self.peek() != Some(')') {
                        return self.expected("`)`");
                    }
                    self.at += 1;
                    elements.push(Element::Rule(group));
                    (last, made) = (begin, (self.rules.len() - before).max(1) as u64);
                }
                '*' | '+' | '?' | '{' => {
                    let (min, max) = self.counts(depth > 0)?;
                    made = self.repetition(owner, &mut elements, last, made, (min, max), from)?;
                    self.count_elements(elements.len() - begin.min(elements.len()), from)?;
                    self.space(depth > 0);
                    continue;
                }
                character if is_word(character) => {
                    let name = self.name()?;
                    elements.push(Element::Rule(self.number_of(name, from)));
                    (last, made) = (begin, 1);
                }
                _ => break,
            }
            self.count_elements(elements.len() - begin, from)?;
            self.space(depth > 0);
        }
        Ok(elements)
    }

    fn count_elements(&mut self, more: usize, at: usize) -> Fallible<()> {
        self.elements += more;
        if self.elements > ELEMENTS { Err((at, "the grammar is too big".to_owned())) } else { Ok(()) }
    }

    /// `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}`.
    fn counts(&mut self, newlines: bool) -> Fallible<(u64, Option<u64>)> {
        let from = self.at;
        let character = self.peek();
        self.at += 1;
        let (min, max) = match character {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            _ => {
                self.space(newlines);
                let min = self.integer()?;
                self.space(newlines);
                let mut max = Some(min);
                if self.peek() == Some(',') {
                    self.at += 1;
                    self.space(newlines);
                    max = if self.peek() == Some('}') { None } else { Some(self.integer()?) };
                    self.space(newlines);
                }
                if self.peek() != Some('}') {
                    return self.expected("`,` or `}`");
                }
                self.at += 1;
                (min, max)
            }
        };
        if min > THRESHOLD {
            return Err((from, format!("a count of {min}: more than the engine takes")));
        }
        if max.is_some_and(|max| max < min) {
            return Err((from, "the higher count is lower".to_owned()));
        }
        Ok((min, max.filter(|&max| max <= THRESHOLD)))
    }

    /// Makes the rules of a repetition, as many as the engine makes; returns how many.
    fn repetition(
        &mut self,
        owner: &'t str,
        elements: &mut Alternative,
        last: usize,
        made: u64,
        (min, max): (u64, Option<u64>),
        at: usize,
    ) -> Fallible<u64> {
        if last == elements.len() {
            return Err((at, "nothing comes before the repetition".to_owned()));
        }
        let rules = match max {
            Some(max) if max > 0 => max,
            _ => min.max(1),
        };
        if made * rules >= THRESHOLD {
            let message = format!(
                "a repetition that makes {} rules, nested ones multiplied: the engine takes fewer than {THRESHOLD}",
                made * rules
            );
            return Err((at, message));
        }
        let body = elements.split_off(last);
        for _ in 0..min {
            elements.extend(&body);
        }
        match max {
            None => {
                let again = self.add(owner, at);
                let more = body.iter().copied().chain([Element::Rule(again)]).collect();
                self.define_optional(again, more, at)?;
                elements.push(Element::Rule(again));
            }
            Some(max) => {
                let mut tail = None;
                for _ in min..max {
                    let rule = self.add(owner, at);
                    let more = body.iter().copied().chain(tail.map(Element::Rule)).collect();
                    self.define_optional(rule, more, at)?;
                    tail = Some(rule);
                }
                elements.extend(tail.map(Element::Rule));
            }
        }
        Ok(made * rules)
    }

    fn define_optional(&mut self, rule: u32, more: Alternative, at: usize) -> Fallible<()> {
        self.count_elements(more.len(), at)?;
        self.rules[rule as usize] = Some(vec![more, Alternative::new()]);
        Ok(())
    }

    fn class(&mut self) -> Fallible<Class> {
        let from = self.at;
        self.at += 1;
        let negated = self.peek() == Some('^');
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        while self.peek() != Some(']') {
            let first = self.character()?;
            let mut last = first;
            if self.peek() == Some('-') && !self.rest().starts_with("-]") {
                self.at += 1;
                last = self.character()?;
            }
            ranges.push((first, last));
        }
        self.at += 1;
        if ranges.is_empty() {
            Err((from, "a class without a code point".to_owned()))
        } else {
            Ok(Class { negated, ranges })
        }
    }

    /// One code point of a literal or a class.
    fn character(&mut self) -> Fallible<u32> {
        let from = self.at;
        let Some(character) = self.peek() else {
            return Err((from, "the grammar ends inside a literal or a class".to_owned()));
        };
        self.at += character.len_utf8();
        if character != '\\' {
            return Ok(u32::from(character));
        }
        let escape = self.peek();
        self.at += escape.map_or(0, char::len_utf8);
        match escape {
            Some('x') => self.hex(2),
            Some('u') => self.hex(4),
            Some('U') => self.hex(8),
            Some('t') => Ok(u32::from('\t')),
            Some('r') => Ok(u32::from('\r')),
            Some('n') => Ok(u32::from('\n')),
            Some(character @ ('\\' | '"' | '[' | ']')) => Ok(u32::from(character)),
            Some(other) => Err((from, format!("an escape that the engine does not know: `\\{other}`"))),
            None => Err((from, "the grammar ends inside an escape".to_owned())),
        }
    }

    fn hex(&mut self, digits: usize) -> Fallible<u32> {
        let digits = self.rest().get(..digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(digits) = digits else { return self.expected("hexadecimal digits") };
        self.at += digits.len();
        u32::from_str_radix(digits, 16).map_err(|_| (self.at, "no number".to_owned()))
    }

    fn integer(&mut self) -> Fallible<u64> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number) = self.rest()[..digits].parse() else { return self.expected("an integer") };
        self.at += digits;
        Ok(number)
    }

    fn name(&mut self) -> Fallible<&'t str> {
        let rest = self.rest();
        let length = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        if length == 0 {
            return self.expected("a rule's name (letters, digits, `-`)");
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn number_of(&mut self, name: &'t str, at: usize) -> u32 {
        if let Some(&rule) = self.named.get(name) {
            return rule;
        }
        let rule = self.add(name, at);
        self.named.insert(name, rule);
        rule
    }

    fn add(&mut self, name: &'t str, at: usize) -> u32 {
        self.rules.push(None);
        self.names.push(name);
        self.first.push(at);
        u32::try_from(self.rules.len() - 1).unwrap_or(u32::MAX)
    }

    fn class_number(&mut self, class: Class) -> u32 {
        let next = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        *self.class_numbers.entry(class).or_insert_with_key(|class| {
            self.classes.push(class.clone());
            next
        })
    }

    /// Skips spaces and comments, and line ends where they are allowed.
    fn space(&mut self, newlines: bool) {
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' => self.at += 1,
                '\r' | '\n' if newlines => self.at += 1,
                '#' => self.at += self.rest().find(['\r', '\n']).unwrap_or(self.rest().len()),
                _ => break,
            }
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn expected<T>(&self, what: &str) -> Fallible<T> {
        let found = match self.peek() {
            None => "the grammar ends".to_owned(),
            Some('\n' | '\r') => "the line ends".to_owned(),
            Some(other) => format!("there is {other:?}"),
        };
        Err((self.at, format!("{found} where {what} was expected")))
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-'
}
