//! Random grammars, as text: every construct that the engine reads, small enough to be asked about every short text.
//! Left recursion is kept out, because one kind of it makes the engine hang; `limits.toml` has it.

use super::random::Random;

/// The characters of grammars and of texts. Several share their first bytes.
pub const ALPHABET: &[char] = &['a', 'b', 'c', 'd', '-', '"', ']', '\\', '\n', 'é', 'ü', 'ß', '｜', '，', '😀', '😁'];

const NAMES: &[&str] = &["root", "a", "b-1", "C", "9"];

/// A grammar.
pub fn grammar(random: &mut Random) -> String {
    let count = 1 + random.below(NAMES.len());
    let mut text = String::new();
    for rule in 0..count {
        let mut writer = Writer { text: &mut text, random, rule, rules: count };
        writer.text.push_str(NAMES[rule]);
        writer.text.push_str(" ::= ");
        writer.alternatives(0);
        text.push_str(if random.once_in(6) { " # done\n" } else { "\n" });
    }
    text
}

/// A text of a few characters of the alphabet.
pub fn text(random: &mut Random) -> String {
    (0..random.below(8)).map(|_| *random.pick(ALPHABET)).collect()
}

struct Writer<'a> {
    text: &'a mut String,
    random: &'a mut Random,
    /// The rule being written, and how many there are.
    rule: usize,
    rules: usize,
}

impl Writer<'_> {
    /// What a rule or a group consists of, `depth` groups deep.
    fn alternatives(&mut self, depth: usize) {
        for number in 0..=self.random.below(3) {
            if number > 0 {
                self.text.push_str(if depth > 0 && self.random.once_in(4) { "\n | " } else { " | " });
            }
            self.sequence(depth);
        }
    }

    fn sequence(&mut self, depth: usize) {
        let length = if self.random.once_in(12) { 0 } else { 1 + self.random.below(3) };
        // Whether something has to be read before what comes next.
        let mut consumed = false;
        for _ in 0..length {
            let needed = self.item(depth, consumed);
            consumed |= needed & !self.quantifier();
            self.text.push(' ');
        }
    }

    /// Writes an item, and says whether it has to read something.
    fn item(&mut self, depth: usize, consumed: bool) -> bool {
        match self.random.below(12) {
            0..4 => self.literal(),
            4..7 => self.class(),
            7 if self.random.once_in(3) => {
                self.text.push('.');
                true
            }
            7..10 => self.reference(consumed),
            // What is in a group that repeats comes after itself, with nothing read in between.
            _ if depth < 2 => {
                self.text.push('(');
                self.alternatives(depth + 1);
                self.text.push(')');
                false
            }
            _ => self.literal(),
        }
    }

    /// Writes a quantifier or none, and says whether what it is on may be left out.
    fn quantifier(&mut self) -> bool {
        let (small, more) = (self.random.below(3), self.random.below(3));
        let (written, may_be_left_out) = match self.random.below(12) {
            0 => ("*".to_owned(), true),
            1 => ("+".to_owned(), false),
            2 => ("?".to_owned(), true),
            3 => (format!("{{{}}}", small + 1), false),
            4 => (format!("{{{small},}}"), small == 0),
            5 => (format!("{{ {small}, {} }}", small + more), small == 0),
            _ => (String::new(), false),
        };
        self.text.push_str(&written);
        may_be_left_out
    }

    /// To any rule where something was read before, else to a later one.
    fn reference(&mut self, consumed: bool) -> bool {
        let first = if consumed { 0 } else { self.rule + 1 };
        if first >= self.rules {
            return self.literal();
        }
        let to = first + self.random.below(self.rules - first);
        self.text.push_str(NAMES[to]);
        false
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

    /// A `-` inside a class is written by its number: where it is literal depends on its neighbours.
    fn class_character(&mut self, c: char) {
        if c == '-' {
            self.text.push_str(r"\x2D");
        } else {
            self.character(c, &['"', '\\', '\n', '[', ']', '^']);
        }
    }

    /// As it is, or in one of its escapes; always escaped where it is one of `special`.
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
