//! Random grammars, as text, with every construct that the engine knows. They are so small that all short texts can be
//! tried.
//!
//! There is no left recursion, because one kind of it makes the engine hang (see `limits.toml`). One rule is recursive,
//! at one place: the engine keeps all ways to read a text apart, and more recursion has too many.

use unjinja_testkit::random::Random;

/// The characters of grammars and texts. Some share their first bytes.
pub const ALPHABET: &[char] = &['a', 'b', 'c', 'd', '-', '"', ']', '\\', '\n', 'é', 'ü', 'ß', '｜', '，', '😀', '😁'];

const NAMES: &[&str] = &["root", "a", "b-1", "C", "9"];

/// A grammar.
pub fn grammar(random: &mut Random) -> String {
    let count = 1 + random.below(NAMES.len());
    let mut recurs = random.once_in(2);
    // From the last rule to the first, so that rules refer only to those that exist.
    let mut rules: Vec<(String, bool)> = Vec::new();
    for rule in (0..count).rev() {
        let mut writer = Writer { text: String::new(), random, rule, later: &rules, recurs: &mut recurs };
        let needs = writer.alternatives(0);
        let text = writer.text;
        let comment = if random.once_in(6) { " # done" } else { "" };
        rules.push((format!("{} ::= {text}{comment}\n", NAMES[rule]), needs));
    }
    rules.into_iter().rev().map(|(text, _)| text).collect()
}

/// A grammar with a character of the notation added or removed. Often it is not a grammar any more.
pub fn damaged(text: &str, random: &mut Random) -> String {
    const SIGNS: &[char] =
        &['"', '(', ')', '[', ']', '{', '}', '|', '*', '+', '?', ',', '\n', '#', '\\', '.', '0', '-', '^'];
    let mut chars: Vec<char> = text.chars().collect();
    let at = random.below(chars.len());
    let signs: Vec<usize> = (0..chars.len()).filter(|&at| SIGNS.contains(&chars[at])).collect();
    if random.once_in(2) && !signs.is_empty() {
        chars.remove(*random.pick(&signs));
    } else {
        chars.insert(at, *random.pick(SIGNS));
    }
    chars.into_iter().collect()
}

/// A text of a few characters of the alphabet.
pub fn text(random: &mut Random) -> String {
    (0..random.below(8)).map(|_| *random.pick(ALPHABET)).collect()
}

/// Writes a rule. Its functions return whether what they wrote must consume something.
struct Writer<'a> {
    text: String,
    random: &'a mut Random,
    rule: usize,
    /// The rules after this one, the last one first, and whether each must consume something.
    later: &'a [(String, bool)],
    /// Whether the grammar still has to get its recursion.
    recurs: &'a mut bool,
}

impl Writer<'_> {
    /// The body of a rule or of a group at this depth.
    fn alternatives(&mut self, depth: usize) -> bool {
        let mut needs = true;
        for number in 0..=self.random.below(3) {
            if number > 0 {
                self.text.push_str(if depth > 0 && self.random.once_in(4) { "\n | " } else { " | " });
            }
            needs &= self.sequence(depth);
        }
        needs
    }

    fn sequence(&mut self, depth: usize) -> bool {
        if self.random.once_in(12) {
            // If the last alternative of a rule is empty, the rule would continue on the next line.
            self.text.push_str("\"\"");
            return false;
        }
        // Whether something must be consumed before what comes next.
        let mut needs = false;
        for _ in 0..=self.random.below(3) {
            if needs && depth == 0 && *self.recurs {
                self.text.push_str(NAMES[self.rule]);
                *self.recurs = false;
            } else {
                let item = self.item(depth);
                needs |= self.quantified(item);
            }
            self.text.push(' ');
        }
        needs
    }

    fn item(&mut self, depth: usize) -> bool {
        match self.random.below(12) {
            0..4 => self.literal(),
            4..7 => self.class(),
            7 if self.random.once_in(3) => {
                self.text.push('.');
                true
            }
            7..10 if !self.later.is_empty() => {
                let back = self.random.below(self.later.len());
                self.text.push_str(NAMES[self.rule + self.later.len() - back]);
                self.later[back].1
            }
            10.. if depth < 2 => {
                self.text.push('(');
                let needs = self.alternatives(depth + 1);
                self.text.push(')');
                needs
            }
            _ => self.literal(),
        }
    }

    /// Writes a quantifier after an item, or none. It has no maximum only if the item must consume something. Otherwise
    /// the engine loads some grammars and hangs on others.
    fn quantified(&mut self, item: bool) -> bool {
        let (small, more) = (self.random.below(3), self.random.below(3));
        let (written, needs) = match self.random.below(if item { 12 } else { 9 }) {
            0 => ("?".to_owned(), false),
            1 => (format!("{{{}}}", small + 1), item),
            2 => (format!("{{ {small}, {} }}", small + more), item && small > 0),
            9 => ("*".to_owned(), false),
            10 => ("+".to_owned(), item),
            11 => (format!("{{{small},}}"), item && small > 0),
            _ => (String::new(), item),
        };
        self.text.push_str(&written);
        needs
    }

    fn literal(&mut self) -> bool {
        let length = self.random.below(4);
        self.text.push('"');
        for _ in 0..length {
            let c = *self.random.pick(ALPHABET);
            self.character(c, &['"', '\\', '\n']);
        }
        self.text.push('"');
        // A quantifier needs an item before it.
        if length == 0 {
            self.text.push_str(" \"a\"");
        }
        true
    }

    fn class(&mut self) -> bool {
        self.text.push_str(if self.random.once_in(3) { "[^" } else { "[" });
        for _ in 0..=self.random.below(3) {
            let (one, other) = (*self.random.pick(ALPHABET), *self.random.pick(ALPHABET));
            self.class_character(one.min(other));
            if self.random.once_in(3) {
                self.text.push('-');
                self.class_character(one.max(other));
            }
        }
        self.text.push_str(if self.random.once_in(6) { "-]" } else { "]" });
        true
    }

    /// A `-` inside a class is escaped by its number: whether it is literal depends on its neighbours.
    fn class_character(&mut self, c: char) {
        if c == '-' {
            self.text.push_str(r"\x2D");
        } else {
            self.character(c, &['"', '\\', '\n', '[', ']', '^']);
        }
    }

    /// The character itself or one of its escapes. Characters in `special` are always escaped.
    fn character(&mut self, c: char, special: &[char]) {
        let code = u32::from(c);
        match self.random.below(8) {
            0 => self.text.push_str(&format!("\\U{code:08x}")),
            1 if code <= 0xffff => self.text.push_str(&format!("\\u{code:04X}")),
            2 if code <= 0xff => self.text.push_str(&format!("\\x{code:02x}")),
            _ if !special.contains(&c) => self.text.push(c),
            _ if c == '\n' => self.text.push_str("\\n"),
            _ if c == '^' => self.text.push_str("\\x5e"),
            _ => {
                self.text.push('\\');
                self.text.push(c);
            }
        }
    }
}
