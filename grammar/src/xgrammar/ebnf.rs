//! Writes rules in XGrammar's EBNF. It looks like GBNF, and differs from it:
//!
//! - `\x` takes any number of digits, so code points are written with `\u` and `\U`;
//! - in a class, `-`, `^` and `]` are escaped with a backslash;
//! - some names are macros; rules are numbered, because engines alone read them, and a request carries them;
//! - free text without certain strings is a macro of its own, `TagDispatch`.

use std::collections::HashMap;
use std::fmt::Write;

use crate::builder::{Builder, Rule};
use crate::expr::{Class, Expr, ExprKind, Repeat, RuleId};
use crate::free_text::{FreeText, TextPart};
use crate::special_tokens::{SpecialToken, Tokens};
use crate::write;

use super::strings::{Characters, Strings};

/// The grammar of an expression: the rule `root`, and the rules that it needs.
pub(super) fn grammar(builder: &Builder, root: Expr) -> String {
    // A free text is a macro; its states are not needed.
    let order = builder.needed(root, |rule| macro_of(builder, rule).is_some());
    let numbers = order.iter().enumerate().map(|(number, id)| (*id, number)).collect();
    let mut writer = Writer {
        builder,
        tokens: builder.tokens(),
        numbers,
        texts: Vec::new(),
        strings: Strings::of(builder, root),
        out: String::new(),
    };
    writer.rule("root", root);
    for id in order {
        let Some(rule) = builder.get(id) else { continue };
        let name = writer.name(id);
        match macro_of(builder, rule) {
            Some((text, part)) => writer.text(&name, &text, part),
            None => writer.rule(&name, rule.expr.unwrap_or(Expr::NOTHING)),
        }
    }
    (0..writer.strings.all.len()).for_each(|number| writer.string(number));
    writer.out
}

/// The free text that a rule is, if the macro for free text means the same.
fn macro_of(builder: &Builder, rule: &Rule) -> Option<(std::sync::Arc<FreeText>, TextPart)> {
    let part = rule.text?;
    Some((builder.free_text(part.text).filter(|_| part.from == 0)?, part))
}

struct Writer<'b> {
    builder: &'b Builder,
    tokens: &'b Tokens,
    numbers: HashMap<RuleId, usize>,
    /// What the free texts that have a rule already cannot contain, and their maximum lengths.
    texts: Vec<(Vec<String>, Option<u32>)>,
    strings: Strings<'b>,
    out: String,
}

impl Writer<'_> {
    fn name(&self, rule: RuleId) -> String {
        format!("r{}", self.numbers.get(&rule).copied().unwrap_or_default())
    }

    fn rule(&mut self, name: &str, expr: Expr) {
        self.out.push_str(name);
        self.out.push_str(" ::= ");
        self.expr(expr, false);
        self.out.push('\n');
    }

    /// The rule of a part of a free text, and the rule of the text itself, which several parts share.
    fn text(&mut self, name: &str, free: &FreeText, part: TextPart) {
        let excluded = free.excluded();
        let known = self.texts.iter().position(|text| *text == (excluded.clone(), part.max));
        let without = format!("t{}", known.unwrap_or(self.texts.len()));
        let stop = part.stop.and_then(|stop| free.stops.get(stop)).filter(|stop| !stop.peek);
        let _ = write!(self.out, "{name} ::= {without}");
        if let Some(stop) = stop {
            self.out.push(' ');
            self.text_with_tokens(&stop.core, false);
        }
        self.out.push('\n');
        if known.is_some() {
            return;
        }
        self.out.push_str(&without);
        if let Some(max) = part.max {
            // A limit of characters would take ten times as long to compile.
            let _ = write!(self.out, "[max_tokens={max}]");
        }
        self.out.push_str(" ::= ");
        if excluded.is_empty() {
            self.out.push_str("[\\u0000-\\U0010FFFF]*\n");
        } else {
            self.out.push_str("TagDispatch(loop_after_dispatch=false, excludes=(");
            for (number, excluded) in excluded.iter().enumerate() {
                self.out.push_str(if number > 0 { ", " } else { "" });
                // What excludes a text excludes the token too.
                self.literal(&self.tokens.unfold(excluded));
            }
            self.out.push_str("))\n");
        }
        self.texts.push((excluded, part.max));
    }

    /// Writes an expression; as one item, in parentheses where they are needed.
    fn expr(&mut self, expr: Expr, item: bool) {
        match self.builder.kind(expr) {
            ExprKind::Text(text) => self.text_with_tokens(&text, item),
            ExprKind::Class(class) => self.class_or_tokens(&class),
            ExprKind::Rule(rule) => {
                let name = self.name(rule);
                self.out.push_str(&name);
            }
            ExprKind::Sequence(parts) if parts.is_empty() => self.literal(""),
            ExprKind::Choice(parts) if parts.is_empty() => self.nothing(),
            ExprKind::Sequence(parts) => self.list(&parts, " ", item),
            ExprKind::Choice(parts) => self.list(&parts, " | ", item),
            ExprKind::Repeat(_) if self.string_of(&[expr]).is_some() => {}
            ExprKind::Repeat(Repeat { body, min, max }) => {
                let nested = matches!(self.builder.kind(body), ExprKind::Repeat(_));
                self.out.push_str(if nested { "(" } else { "" });
                self.expr(body, true);
                self.out.push_str(if nested { ")" } else { "" });
                write::count(&mut self.out, min, max);
            }
        }
    }

    /// Refers to the string with which parts of a sequence begin, and says how many of them it has.
    fn string_of(&mut self, parts: &[Expr]) -> Option<usize> {
        let (number, length) = self.strings.at(parts)?;
        let _ = write!(self.out, "s{number}");
        Some(length)
    }

    fn string(&mut self, number: usize) {
        let Some(Characters { one, end, after }) = self.strings.all.get(number) else { return };
        let (one, end, after) = (one.clone(), end.unwrap_or(Expr::EMPTY), after.clone());
        let _ = write!(self.out, "s{number} ::= ");
        self.expr(end, true);
        for part in one {
            self.out.push_str(" | ");
            self.expr(part, true);
            let _ = write!(self.out, " s{number}");
        }
        if !after.is_empty() && !after.clone().negate().is_empty() {
            self.out.push_str(" (= ");
            self.class(&after);
            self.out.push(')');
        }
        self.out.push('\n');
    }

    fn list(&mut self, parts: &[Expr], between: &str, item: bool) {
        self.out.push_str(if item { "(" } else { "" });
        let mut within = 0..0;
        for (number, part) in parts.iter().enumerate() {
            if within.contains(&number) {
                continue;
            }
            if number > 0 {
                self.out.push_str(between);
            }
            if between == " "
                && let Some(length) = self.string_of(&parts[number..])
            {
                within = number..number + length;
                continue;
            }
            let bare =
                between != " " && matches!(self.builder.kind(*part), ExprKind::Sequence(parts) if parts.len() > 1);
            self.expr(*part, !bare);
        }
        self.out.push_str(if item { ")" } else { "" });
    }

    fn nothing(&mut self) {
        self.out.push_str("[^\\u0000-\\U0010FFFF]");
    }

    fn class(&mut self, class: &Class) {
        const SPECIAL: [char; 5] = ['\\', '[', ']', '-', '^'];
        if class.as_ranges().is_empty() {
            return if class.is_negated() { self.out.push_str("[\\u0000-\\U0010FFFF]") } else { self.nothing() };
        }
        self.out.push_str(if class.is_negated() { "[^" } else { "[" });
        for &(first, last) in class.as_ranges() {
            write::character(&mut self.out, first, &SPECIAL, false);
            if first != last {
                if u32::from(last) - u32::from(first) > 1 {
                    self.out.push('-');
                }
                write::character(&mut self.out, last, &SPECIAL, false);
            }
        }
        self.out.push(']');
    }

    /// A text, and the tokens in it. The engine names tokens by their numbers only; one without is spelled.
    fn text_with_tokens(&mut self, text: &str, item: bool) {
        let id = |char: char| self.tokens.of(char).and_then(SpecialToken::id);
        let Some((at, (char, id))) = text.char_indices().find_map(|(at, char)| Some((at, (char, id(char)?)))) else {
            return self.literal(&self.tokens.unfold(text));
        };
        let (before, after) = (&text[..at], &text[at + char.len_utf8()..]);
        let several = item && !(before.is_empty() && after.is_empty());
        self.out.push_str(if several { "(" } else { "" });
        if !before.is_empty() {
            self.literal(&self.tokens.unfold(before));
            self.out.push(' ');
        }
        let _ = write!(self.out, "Token({id})");
        if !after.is_empty() {
            self.out.push(' ');
            self.text_with_tokens(after, false);
        }
        self.out.push_str(if several { ")" } else { "" });
    }

    /// A class. The tokens in it are alternatives to its characters.
    fn class_or_tokens(&mut self, class: &Class) {
        let Some((plain, tokens)) = self.tokens.in_class(class) else { return self.class(class) };
        self.out.push('(');
        if !plain.is_empty() {
            self.class(&plain);
        }
        for (number, char) in tokens.into_iter().enumerate() {
            self.out.push_str(if number > 0 || !plain.is_empty() { " | " } else { "" });
            self.text_with_tokens(char.encode_utf8(&mut [0; 4]), true);
        }
        self.out.push(')');
    }

    fn literal(&mut self, text: &str) {
        self.out.push('"');
        text.chars().for_each(|character| write::character(&mut self.out, character, &['\\', '"'], false));
        self.out.push('"');
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
            (builder.text("\0\u{7f}1\u{a0}\u{e0001}é｜😀"), r#""\u0000\u007F1\u00A0\U000E0001é｜😀""#),
            (builder.class(Class::ranges(&[('a', 'z'), ('0', '9'), ('_', '_')])), "[0-9_a-z]"),
            (builder.class(Class::of(&['-', ']', '^', '['])), r"[\-\[\]\^]"),
            (builder.class(Class::of(&['^', '"']).negate()), r#"[^"\^]"#),
            (builder.class(Class::of(&[]).negate()), r"[\u0000-\U0010FFFF]"),
            (Expr::NOTHING, r"[^\u0000-\U0010FFFF]"),
            (
                builder.choice(&[
                    builder.sequence(&[builder.text("a"), builder.many(builder.text("b"))]),
                    builder.text("c"),
                ]),
                r#""a" "b"* | "c""#,
            ),
            (
                builder.sequence(&[builder.text("a"), builder.choice(&[builder.text("b"), Expr::EMPTY])]),
                r#""a" ("b" | "")"#,
            ),
            (builder.option(builder.repeat(builder.text("b"), 2, Some(3))), r#"("b"{2,3})?"#),
            (builder.some(builder.sequence(&[builder.text("a"), builder.class(Class::any())])), r#"("a" [^\u0000])+"#),
            (
                builder.choice(&[
                    builder.choice(&[builder.text("a"), builder.text("b")]),
                    builder.sequence(&[builder.text("c")]),
                ]),
                r#""a" | "b" | "c""#,
            ),
        ] {
            assert_eq!(grammar(&builder, expr), format!("root ::= {expected}\n"));
        }
    }
}
