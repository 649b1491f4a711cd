//! Regular expressions as schemas have them (ECMA-262), written as the rules of a JSON string's inside.
//!
//! Greedy and lazy is the same to a grammar. Look-around, references back, word borders and properties of code points
//! are not expressed. What an expression may do elsewhere, not here: nothing is ever run against a text of unknown
//! length, and groups nest only so deep.

use super::super::builder::MAX_COUNT;
use super::super::syntax::Syntax;
use super::super::{Builder, Class, Expr, choice, many, repeat, sequence, text};
use super::facts::Count;
use super::json;

/// How deep groups nest.
const DEPTH: usize = 40;
/// How long an expression is.
const LENGTH: usize = 10_000;
/// How many parts anchors divide an expression into.
const PARTS: usize = 64;
/// How many steps a test of a text takes.
const STEPS: usize = 100_000;

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Class(Class),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Box<Node>, u32, Option<u32>),
    Start,
    End,
}

/// A regular expression.
#[derive(Clone, Debug)]
pub(super) struct Regex {
    /// Alternatives, without anchors inside.
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    at_start: bool,
    node: Node,
    at_end: bool,
}

/// Why an expression cannot be written.
type Why = &'static str;

impl Regex {
    pub fn parse(source: &str) -> Result<Self, Why> {
        if source.len() > LENGTH {
            return Err("the expression is too long");
        }
        let mut parser = Parser { rest: source, depth: 0 };
        let node = parser.choice()?;
        if !parser.rest.is_empty() {
            return Err("the expression is not well-formed: a group is closed that is not open");
        }
        let mut parts = Vec::new();
        divide(node, false, false, &mut parts)?;
        Ok(Self { parts })
    }

    /// What matches every text.
    pub fn anything() -> Self {
        Self { parts: vec![Part { at_start: false, node: Node::Sequence(Vec::new()), at_end: false }] }
    }

    /// Whether it is [`anything`](Self::anything).
    pub fn is_anything(&self) -> bool {
        matches!(self.parts.as_slice(), [Part { at_start: false, node: Node::Sequence(nodes), at_end: false }] if nodes.is_empty())
    }

    /// Whether it matches somewhere in a text. `None` if that takes too long.
    pub fn matches(&self, text: &str) -> Option<bool> {
        let text: Vec<char> = text.chars().collect();
        let mut steps = STEPS;
        for part in &self.parts {
            for from in 0..=if part.at_start { 0 } else { text.len() } {
                let ends = ends(&part.node, &text, vec![from], &mut steps)?;
                if ends.iter().any(|&end| !part.at_end || end == text.len()) {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// Takes a length into account. `None` if that cannot be said in the expression, `Some(false)` if nothing is left.
    pub fn limit(&mut self, length: Count) -> Option<bool> {
        if length.is_any() {
            return Some(true);
        }
        let mut known = true;
        self.parts.retain_mut(|part| {
            let (min, mut max) = part.node.length();
            if !(part.at_start && part.at_end) {
                max = None;
            }
            if min >= u64::from(length.min)
                && max.is_some_and(|max| length.max.is_none_or(|most| max <= u64::from(most)))
            {
                return true;
            }
            if length.max.is_some_and(|most| min > u64::from(most))
                || max.is_some_and(|max| max < u64::from(length.min))
            {
                return false;
            }
            if !(part.at_start && part.at_end) {
                known = false;
                return true;
            }
            // One class again and again, perhaps between parts that have a length of their own.
            let nodes = match &mut part.node {
                Node::Sequence(nodes) => nodes.as_mut_slice(),
                node => std::slice::from_mut(node),
            };
            let open = |node: &Node| node.length().1 != Some(node.length().0);
            let mut variable = nodes.iter_mut().filter(|node| open(node));
            if let (Some(Node::Repeat(body, least, most)), None) = (variable.next(), variable.next())
                && matches!(**body, Node::Class(_))
            {
                // The others are as long as they are.
                let fixed = u32::try_from(min - u64::from(*least)).unwrap_or(u32::MAX);
                *least = (*least).max(length.min.saturating_sub(fixed));
                if let Some(limit) = length.max {
                    let limit = limit.saturating_sub(fixed);
                    *most = Some(most.map_or(limit, |most| most.min(limit)));
                }
                return most.is_none_or(|most| *least <= most);
            }
            known = false;
            true
        });
        if self.parts.is_empty() { Some(false) } else { known.then_some(true) }
    }

    /// What a string that matches is written like, without its quotes.
    pub fn write(&self, builder: &mut Builder, hint: &str) -> Result<Expr, Why> {
        let mut alternatives = Vec::new();
        for part in &self.parts {
            let any = |builder: &mut Builder| many(json::character(builder));
            let before = if part.at_start { Expr::EMPTY } else { any(builder) };
            let after = if part.at_end { Expr::EMPTY } else { any(builder) };
            let inside = part.node.write(builder, hint)?;
            alternatives.push(sequence([before, inside, after]));
        }
        Ok(choice(alternatives))
    }
}

/// The ends of all matches of a node that begin at one of the places, without repeats, in order.
fn ends(node: &Node, text: &[char], from: Vec<usize>, steps: &mut usize) -> Option<Vec<usize>> {
    *steps = steps.checked_sub(1 + from.len())?;
    let mut found = match node {
        Node::Class(class) => from
            .into_iter()
            .filter(|&at| text.get(at).is_some_and(|&next| class.contains(next)))
            .map(|at| at + 1)
            .collect(),
        Node::Sequence(nodes) => nodes.iter().try_fold(from, |from, node| ends(node, text, from, steps))?,
        Node::Choice(nodes) => {
            let mut all = Vec::new();
            for node in nodes {
                all.extend(ends(node, text, from.clone(), steps)?);
            }
            all
        }
        Node::Repeat(body, min, max) => {
            let mut at = from;
            for _ in 0..*min {
                at = ends(body, text, at, steps)?;
                if at.is_empty() {
                    return Some(at);
                }
            }
            let mut all = at.clone();
            for _ in *min..max.unwrap_or(u32::MAX) {
                at = ends(body, text, at, steps)?;
                at.retain(|end| !all.contains(end));
                if at.is_empty() {
                    break;
                }
                all.extend(&at);
            }
            all
        }
        Node::Start => from.into_iter().filter(|&at| at == 0).collect(),
        Node::End => from.into_iter().filter(|&at| at == text.len()).collect(),
    };
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Divides an expression into alternatives whose anchors are at their ends.
fn divide(node: Node, at_start: bool, at_end: bool, parts: &mut Vec<Part>) -> Result<(), Why> {
    const WHY: Why = "an anchor stands where a grammar cannot say it";
    if parts.len() >= PARTS {
        return Err(WHY);
    }
    let mut nodes = match node {
        Node::Choice(nodes) if nodes.iter().any(anchored) => {
            return nodes.into_iter().try_for_each(|node| divide(node, at_start, at_end, parts));
        }
        Node::Sequence(nodes) => nodes,
        node => vec![node],
    };
    let (mut at_start, mut at_end) = (at_start, at_end);
    while nodes.first() == Some(&Node::Start) {
        nodes.remove(0);
        at_start = true;
    }
    while nodes.last() == Some(&Node::End) {
        nodes.pop();
        at_end = true;
    }
    // Alternatives at either end may have anchors of their own.
    for last in [false, true] {
        let at = if last { nodes.len().saturating_sub(1) } else { 0 };
        if nodes.get(at).is_some_and(anchored) {
            match nodes.remove(at) {
                Node::Choice(inner) => {
                    return inner.into_iter().try_for_each(|node| {
                        let mut all = nodes.clone();
                        let inner = if let Node::Sequence(inner) = node { inner } else { vec![node] };
                        all.splice(at..at, inner);
                        divide(Node::Sequence(all), at_start, at_end, parts)
                    });
                }
                Node::Sequence(inner) => {
                    nodes.splice(at..at, inner);
                    return divide(Node::Sequence(nodes), at_start, at_end, parts);
                }
                _ => return Err(WHY),
            }
        }
    }
    if nodes.iter().any(anchored) {
        return Err(WHY);
    }
    parts.push(Part { at_start, node: Node::Sequence(nodes), at_end });
    Ok(())
}

fn anchored(node: &Node) -> bool {
    match node {
        Node::Start | Node::End => true,
        Node::Class(_) => false,
        Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().any(anchored),
        Node::Repeat(body, ..) => anchored(body),
    }
}

impl Node {
    /// The fewest and the most code points that it matches.
    fn length(&self) -> (u64, Option<u64>) {
        match self {
            Self::Class(_) => (1, Some(1)),
            Self::Start | Self::End => (0, Some(0)),
            Self::Sequence(nodes) => nodes.iter().map(Self::length).fold((0, Some(0)), |(min, max), (least, most)| {
                (min.saturating_add(least), max.zip(most).map(|(max, most)| max.saturating_add(most)))
            }),
            Self::Choice(nodes) => {
                let lengths = || nodes.iter().map(Self::length);
                let max = lengths().map(|length| length.1).try_fold(0, |max, most| Some(max.max(most?)));
                (lengths().map(|length| length.0).min().unwrap_or(0), max)
            }
            Self::Repeat(body, min, max) => {
                let (least, most) = body.length();
                let max = if most == Some(0) {
                    Some(0)
                } else {
                    most.zip(*max).map(|(most, max)| most.saturating_mul(max.into()))
                };
                (least.saturating_mul((*min).into()), max)
            }
        }
    }

    fn write(&self, builder: &mut Builder, hint: &str) -> Result<Expr, Why> {
        let mut each =
            |nodes: &[Self]| nodes.iter().map(|node| node.write(builder, hint)).collect::<Result<Vec<_>, _>>();
        Ok(match self {
            Self::Class(class) => encoded(builder, class),
            Self::Start | Self::End => Expr::EMPTY,
            Self::Sequence(nodes) => sequence(each(nodes)?),
            Self::Choice(nodes) => choice(each(nodes)?),
            Self::Repeat(body, ..) if body.length().1 == Some(0) => Expr::EMPTY,
            Self::Repeat(body, _, max) if body.length().0 == 0 => {
                // The engine takes the repetition of what may be empty for left recursion.
                let body = body.without_empty().ok_or("a part that may be empty is repeated")?;
                Self::Repeat(Box::new(body), 0, *max).write(builder, hint)?
            }
            Self::Repeat(body, min, max) => {
                let max = max.filter(|max| max.saturating_sub(*min) <= MAX_COUNT);
                let body = match body.write(builder, hint)? {
                    atom @ (Expr::Class(_) | Expr::Rule(_) | Expr::Text(_)) => atom,
                    body => builder.rule(&format!("{hint}-part"), body).into(),
                };
                repeat(body, *min, max)
            }
        })
    }

    /// The same without the empty text, as far as that is simple to say.
    fn without_empty(&self) -> Option<Self> {
        /// How many parts that may all be empty are told apart.
        const TOLD_APART: usize = 4;
        match self {
            Self::Start | Self::End => None,
            node if node.length().0 > 0 => Some(node.clone()),
            Self::Repeat(body, _, max) => {
                let body = body.without_empty()?;
                Some(Self::Repeat(Box::new(body), 1, *max))
            }
            Self::Choice(nodes) => {
                let nodes: Vec<Self> = nodes.iter().filter_map(Self::without_empty).collect();
                (!nodes.is_empty()).then_some(Self::Choice(nodes))
            }
            Self::Sequence(nodes) => {
                // The first part that is not empty, and whatever the later ones are.
                let nodes: Vec<&Self> = nodes.iter().filter(|node| node.length().1 != Some(0)).collect();
                (nodes.len() <= TOLD_APART).then_some(())?;
                let first = |at: usize| {
                    let rest = nodes[at + 1..].iter().map(|&node| node.clone());
                    Some(Self::Sequence([nodes[at].without_empty()?].into_iter().chain(rest).collect()))
                };
                let alternatives: Vec<Self> = (0..nodes.len()).filter_map(first).collect();
                (!alternatives.is_empty()).then_some(Self::Choice(alternatives))
            }
            Self::Class(_) => Some(self.clone()),
        }
    }
}

/// One code point of a class, as a JSON string has it.
fn encoded(builder: &mut Builder, class: &Class) -> Expr {
    const SHORT: [(char, char); 8] =
        [('"', '"'), ('\\', '\\'), ('/', '/'), ('\u{8}', 'b'), ('\u{c}', 'f'), ('\n', 'n'), ('\r', 'r'), ('\t', 't')];
    let has = |first: char, last: char| class.positive().iter().any(|&(from, to)| from <= first && last <= to);
    if has('\0', char::MAX) {
        return json::character(builder).into();
    }
    let mut alternatives = Vec::new();
    let plain = class.intersect(&json::unescaped(builder));
    if !plain.is_empty() {
        // As short as it can be.
        let others = Class::ranges(Class::ranges(plain.positive()).negate().positive()).negate();
        let shorter = if others.as_ranges().len() < plain.as_ranges().len() { others } else { plain };
        alternatives.push(shorter.into());
    }
    if let Syntax::Raw { .. } = builder.syntax() {
        return choice(alternatives);
    }
    let mut escapes: Vec<Expr> = Vec::new();
    let short: Vec<char> = SHORT.iter().filter(|(means, _)| class.contains(*means)).map(|short| short.1).collect();
    if !short.is_empty() {
        escapes.push(Class::of(short).into());
    }
    if has('\0', '\u{1f}') {
        escapes.push(sequence([text("u00"), Class::of(['0', '1']).into(), json::hex()]));
    } else {
        for code in (0..0x20_u8).filter(|&code| class.contains(char::from(code))) {
            let last = char::from_digit(u32::from(code & 15), 16).unwrap_or('0');
            let last = Class::of([last, last.to_ascii_uppercase()]);
            escapes.push(sequence([text(format!("u00{}", code >> 4)), last.into()]));
        }
    }
    // A dot lacks two line ends among these; that an escape can spell them is no matter.
    if has('\u{80}', '\u{2027}') && has('\u{202a}', char::MAX) {
        escapes.push(json::foreign_escape(builder).into());
    }
    if !escapes.is_empty() {
        alternatives.push(sequence([text("\\"), choice(escapes)]));
    }
    let expr = choice(alternatives);
    if let Expr::Class(_) = expr { expr } else { builder.rule("class", expr).into() }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn choice(&mut self) -> Result<Node, Why> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("groups nest too deep");
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
                '*' | '+' | '?' => return Err("the expression is not well-formed: nothing is repeated"),
                character => self.skip(Node::Class(Class::of([character]))),
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
                let end = self.rest.find('>').ok_or("the expression is not well-formed: a name is open")?;
                self.rest = &self.rest[end + 1..];
            } else if !self.take(':') {
                return Err(match self.peek() {
                    Some('=' | '!' | '<') => "a grammar cannot look ahead or back",
                    _ => "the group is of no kind that is known",
                });
            }
        }
        let node = self.choice()?;
        if self.take(')') { Ok(node) } else { Err("the expression is not well-formed: a group is open") }
    }

    fn quantified(&mut self, node: Node) -> Result<Node, Why> {
        let (min, max) = match self.peek() {
            Some('*') => self.skip((0, None)),
            Some('+') => self.skip((1, None)),
            Some('?') => self.skip((0, Some(1))),
            Some('{') => match self.counts() {
                Some(counts) => counts,
                // It stands for itself.
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        // Lazy.
        self.take('?');
        if max.is_some_and(|max| max < min) {
            return Err("the expression is not well-formed: a count is out of order");
        }
        if min > MAX_COUNT {
            return Err("a count is too high");
        }
        if anchored(&node) {
            return Err("an anchor stands where a grammar cannot say it");
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
        const OPEN: Why = "the expression is not well-formed: a class is open";
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
                    Some(_) => return Err("the expression is not well-formed: a range is out of order"),
                    // A hyphen beside a class is one.
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
        let class = Class::ranges(ranges);
        Ok(if negated { class.negate() } else { class })
    }

    fn class_member(&mut self) -> Result<Class, Why> {
        if self.take('\\') {
            return self.escape(true);
        }
        let character = self.peek().ok_or("the expression is not well-formed: a class is open")?;
        Ok(self.skip(Class::of([character])))
    }

    /// What comes behind a backslash.
    fn escape(&mut self, in_class: bool) -> Result<Class, Why> {
        const SHORT: Why = "the expression is not well-formed: an escape is too short";
        let character = self.peek().ok_or(SHORT)?;
        self.advance();
        let digits = || Class::ranges([('0', '9')]);
        let words = || Class::ranges([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
        Ok(match character {
            'd' => digits(),
            'D' => digits().negate(),
            'w' => words(),
            'W' => words().negate(),
            's' => white_space(),
            'S' => white_space().negate(),
            't' => Class::of(['\t']),
            'n' => Class::of(['\n']),
            'r' => Class::of(['\r']),
            'v' => Class::of(['\u{b}']),
            'f' => Class::of(['\u{c}']),
            'b' if in_class => Class::of(['\u{8}']),
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => Class::of(['\0']),
            'b' | 'B' => return Err("a grammar cannot say where a word ends"),
            '1'..='9' | 'k' => return Err("a grammar cannot refer back"),
            'p' | 'P' => return Err("properties of code points are not known here"),
            'c' => {
                let letter = self.peek().filter(char::is_ascii_alphabetic).ok_or(SHORT)?;
                self.advance();
                Class::of([char::from(letter as u8 & 31)])
            }
            'x' => Class::of([self.code(2).ok_or(SHORT)?]),
            'u' => Class::of([self.unicode().ok_or(SHORT)?]),
            // Others mean different things to different engines.
            character if character.is_ascii_alphanumeric() => return Err("an escape is not known"),
            character => Class::of([character]),
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
    Class::of(['\n', '\r', '\u{2028}', '\u{2029}'])
}

fn white_space() -> Class {
    Class::ranges([
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
