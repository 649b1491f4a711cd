//! Writes rules as GBNF: one rule per line, with the few escapes that llama.cpp knows.

use std::fmt::Write;

use crate::builder::{Builder, IntoExpr};
use crate::expr::{Class, Expr, ExprKind, RuleId};

impl Builder {
    /// The grammar as text: the rule `root`, and the rules that it needs, in the order in which it needs them.
    pub fn grammar(self, root: impl IntoExpr) -> String {
        let (builder, order) = self.rules(root);
        write(&builder, &order)
    }
}

/// These rules as text, in this order.
fn write(builder: &Builder, order: &[RuleId]) -> String {
    let mut writer = Writer { builder, out: String::new() };
    for rule in order.iter().filter_map(|&rule| builder.get(rule)) {
        if let Some(text) = &rule.comment {
            comment(&mut writer.out, "# ", text);
        }
        writer.out.push_str(&rule.name);
        writer.out.push_str(" ::= ");
        match rule.expr {
            Some(expr) => writer.expr(expr, Enclosing::Rule),
            None => writer.class(&nothing()),
        }
        writer.out.push('\n');
    }
    writer.out
}

/// A comment in a line of its own, after the text that begins one.
pub(super) fn comment(out: &mut String, begin: &str, comment: &str) {
    out.push_str(begin);
    // It ends at the end of its line.
    out.extend(comment.chars().map(|character| if character.is_control() { ' ' } else { character }));
    out.push('\n');
}

pub(super) fn count(out: &mut String, min: u32, max: Option<u32>) {
    // Writing to a string cannot fail.
    let _ = match (min, max) {
        (0, None) => out.write_char('*'),
        (1, None) => out.write_char('+'),
        (0, Some(1)) => out.write_char('?'),
        (min, None) => write!(out, "{{{min},}}"),
        (min, Some(max)) if min == max => write!(out, "{{{min}}}"),
        (min, Some(max)) => write!(out, "{{{min},{max}}}"),
    };
}

/// A character. It is escaped if it is `special` or hard to see; `short` says whether `\x` with two digits is an escape.
pub(super) fn character(out: &mut String, character: char, special: &[char], short: bool) {
    let _ = match character {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        character if special.contains(&character) => write!(out, "\\{character}"),
        '\'' | '"' | '\\' => out.write_char(character),
        // Control characters, unusual spaces and combining characters.
        character if character.escape_debug().nth(1).is_some() => match u32::from(character) {
            code @ 0..=0xFF if short => write!(out, "\\x{code:02X}"),
            code @ 0..=0xFFFF => write!(out, "\\u{code:04X}"),
            code => write!(out, "\\U{code:08X}"),
        },
        character => out.write_char(character),
    };
}

/// The empty class: it matches nothing, and GBNF has no other way to write that.
fn nothing() -> Class {
    Class::ranges(&[('\0', char::MAX)]).negate()
}

/// What an expression is directly in. It decides whether parentheses are needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosing {
    Rule,
    Choice,
    Sequence,
    Repeat,
}

struct Writer<'b> {
    builder: &'b Builder,
    out: String,
}

impl Writer<'_> {
    fn expr(&mut self, expr: Expr, enclosing: Enclosing) {
        match self.builder.kind(expr) {
            ExprKind::Text(text) => {
                self.out.push('"');
                text.chars().for_each(|character| self.character(character, &['"', '\\']));
                self.out.push('"');
            }
            ExprKind::Class(class) => self.class(&class),
            ExprKind::Rule(rule) => self.out.push_str(self.builder.name(rule)),
            // The builder never repeats the empty text, which llama.cpp would refuse.
            ExprKind::Sequence(parts) if parts.is_empty() => self.out.push_str("\"\""),
            ExprKind::Sequence(parts) => {
                self.list(
                    &parts,
                    " ",
                    Enclosing::Sequence,
                    matches!(enclosing, Enclosing::Sequence | Enclosing::Repeat),
                );
            }
            ExprKind::Choice(parts) if parts.is_empty() => self.class(&nothing()),
            ExprKind::Choice(parts) => self.list(&parts, " | ", Enclosing::Choice, enclosing != Enclosing::Rule),
            ExprKind::Repeat(this) => {
                let nested = enclosing == Enclosing::Repeat;
                if nested {
                    self.out.push('(');
                }
                self.expr(this.body, Enclosing::Repeat);
                count(&mut self.out, this.min, this.max);
                if nested {
                    self.out.push(')');
                }
            }
        }
    }

    fn list(&mut self, parts: &[Expr], between: &str, enclosing: Enclosing, parentheses: bool) {
        if parentheses {
            self.out.push('(');
        }
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.out.push_str(between);
            }
            self.expr(*part, enclosing);
        }
        if parentheses {
            self.out.push(')');
        }
    }

    fn class(&mut self, class: &Class) {
        const SPECIAL: [char; 4] = ['[', ']', '\\', '-'];
        // The empty class and the full class can only be written as the negation of each other.
        if class.as_ranges().is_empty() {
            let all = Class::ranges(&[('\0', char::MAX)]);
            return self.class(&if class.is_negated() { all } else { all.negate() });
        }
        // llama.cpp also decides about a code point of which only the first bytes are known. There a negated class refuses
        // whatever begins like a code point that it excludes: `[^é]` also refuses `ü`. So it is written without negation.
        if class.is_negated() && class.as_ranges().iter().any(|(_, last)| !last.is_ascii()) && !class.is_empty() {
            return self.class(&Class::ranges(&class.positive()));
        }
        self.out.push('[');
        if class.is_negated() {
            self.out.push('^');
        }
        let mut hyphen = false;
        for (at, &(first, last)) in class.as_ranges().iter().enumerate() {
            if (first, last) == ('-', '-') {
                // A hyphen stands for itself only at the end.
                hyphen = true;
            } else if first == '^' && at == 0 && !class.is_negated() {
                self.out.push_str("\\x5E");
                self.upper(first, last, &SPECIAL);
            } else {
                self.character(first, &SPECIAL);
                self.upper(first, last, &SPECIAL);
            }
        }
        if hyphen {
            self.out.push('-');
        }
        self.out.push(']');
    }

    fn upper(&mut self, first: char, last: char, special: &[char]) {
        if first != last {
            // Two neighbouring code points need no hyphen.
            if u32::from(last) - u32::from(first) > 1 {
                self.out.push('-');
            }
            self.character(last, special);
        }
    }

    fn character(&mut self, one: char, special: &[char]) {
        // llama.cpp has no escape for the hyphen.
        if one == '-' && special.contains(&'-') {
            return self.out.push_str("\\x2D");
        }
        character(&mut self.out, one, special, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_the_engine_reads() {
        let builder = Builder::new();
        for (expr, expected) in [
            (builder.text(""), r#""""#),
            (Expr::EMPTY, r#""""#),
            (builder.text("a\"b\\c\n\r\t'[]-^/"), r#""a\"b\\c\n\r\t'[]-^/""#),
            (builder.text("\0\u{7f}\u{a0}\u{200b}\u{e0001}é｜▁😀"), r#""\x00\x7F\xA0\u200B\U000E0001é｜▁😀""#),
            (builder.class(Class::ranges(&[('a', 'z'), ('0', '9'), ('_', '_')])), "[0-9_a-z]"),
            (builder.class(Class::of(&['-', 'a', 'b'])), "[ab-]"),
            (builder.class(Class::of(&['-'])), "[-]"),
            (builder.class(Class::of(&['-']).negate()), "[^-]"),
            (builder.class(Class::ranges(&[('+', '-'), ('-', '/')])), "[+-/]"),
            (builder.class(Class::ranges(&[('*', '-')])), r"[*-\x2D]"),
            (builder.class(Class::ranges(&[('-', '/')])), r"[\x2D-/]"),
            (builder.class(Class::of(&['^'])), r"[\x5E]"),
            (builder.class(Class::ranges(&[('^', 'z')])), r"[\x5E-z]"),
            (builder.class(Class::of(&['^', ']'])), r"[\]^]"),
            (builder.class(Class::of(&['^']).negate()), "[^^]"),
            (builder.class(Class::of(&['"', '\\', '[', ']', '\n']).negate()), r#"[^\n"\[-\]]"#),
            (builder.class(Class::any()), r"[^\x00]"),
            (builder.class(Class::of(&['<', '｜']).negate()), r"[\x00-;=-｛｝-\U0010FFFF]"),
            (builder.class(Class::of(&[])), r"[^\x00-\U0010FFFF]"),
            (builder.class(Class::of(&[]).negate()), r"[\x00-\U0010FFFF]"),
            (Expr::NOTHING, r"[^\x00-\U0010FFFF]"),
            (builder.choice(&[builder.text("a"), Expr::EMPTY]), r#""a" | """#),
            (
                builder.sequence(&[builder.text("a"), builder.choice(&[builder.text("b"), builder.text("c")])]),
                r#""a" ("b" | "c")"#,
            ),
            (
                builder.choice(&[
                    builder.sequence(&[builder.text("a"), builder.many(builder.text("b"))]),
                    builder.text("c"),
                ]),
                r#""a" "b"* | "c""#,
            ),
            (builder.many(builder.choice(&[builder.text("a"), builder.some(builder.text("b"))])), r#"("a" | "b"+)*"#),
            (builder.option(builder.repeat(builder.text("b"), 2, Some(3))), r#"("b"{2,3})?"#),
            (builder.some(builder.sequence(&[builder.text("a"), builder.class(Class::any())])), r#"("a" [^\x00])+"#),
        ] {
            assert_eq!(builder.clone().grammar(expr), format!("root ::= {expected}\n"));
        }
    }
}
