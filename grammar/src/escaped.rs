//! JSON as the text of a JSON string: the rules of the JSON, with every character escaped as a string needs it.
//!
//! It must not know what the rules mean. Each character of a text and of a class is replaced by its escape.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::expr::{Class, Expr, ExprKind, Repeat, RuleId};
use crate::syntax::json_text;

/// The rules that are escaped already, each with its copy.
#[derive(Default)]
pub(super) struct Escaped {
    copies: HashMap<RuleId, RuleId>,
}

impl Escaped {
    /// A JSON string whose text is what `json` matches.
    pub(super) fn string(&mut self, builder: &mut Builder, json: Expr) -> Expr {
        let mut pending = Vec::new();
        let inside = self.expr(builder, json, &mut pending);
        while let Some((rule, copy)) = pending.pop() {
            if let Some(expr) = builder.get(rule).and_then(|rule| rule.expr) {
                let expr = self.expr(builder, expr, &mut pending);
                builder.define(copy, expr);
            }
        }
        let quote = builder.text("\"");
        builder.sequence(&[quote, inside, quote])
    }

    /// The escaped form of an expression. Rules that it uses and that have no copy yet are added to `pending`.
    fn expr(&mut self, builder: &mut Builder, expr: Expr, pending: &mut Vec<(RuleId, RuleId)>) -> Expr {
        match builder.kind(expr) {
            ExprKind::Text(plain) => builder.text(escape(&plain)),
            ExprKind::Class(class) => escaped_class(builder, &class),
            ExprKind::Rule(rule) => match self.copies.get(&rule) {
                Some(copy) => (*copy).into(),
                None => {
                    let copy = builder.reserve(&format!("text-{}", builder.name(rule)));
                    self.copies.insert(rule, copy);
                    pending.push((rule, copy));
                    copy.into()
                }
            },
            ExprKind::Sequence(parts) => {
                let parts: Vec<Expr> = parts.iter().map(|part| self.expr(builder, *part, pending)).collect();
                builder.sequence(&parts)
            }
            ExprKind::Choice(parts) => {
                let parts: Vec<Expr> = parts.iter().map(|part| self.expr(builder, *part, pending)).collect();
                builder.choice(&parts)
            }
            ExprKind::Repeat(Repeat { body, min, max }) => {
                let body = self.expr(builder, body, pending);
                builder.repeat(body, min, max)
            }
        }
    }
}

/// The code points that a string must escape.
const ESCAPED: [(char, char); 3] = [('\0', '\u{1f}'), ('"', '"'), ('\\', '\\')];

/// The code points of a class: those that need no escape, and the escapes of the others.
fn escaped_class(builder: &Builder, class: &Class) -> Expr {
    let escaped = class.intersect(&Class::ranges(&ESCAPED));
    if escaped.is_empty() {
        return builder.class(class.clone());
    }
    let plain = match class.is_negated() {
        true => Class::ranges(&[class.as_ranges(), &ESCAPED].concat()).negate(),
        false => class.intersect(&Class::ranges(&ESCAPED).negate()),
    };
    let mut alternatives = Vec::new();
    if !plain.is_empty() {
        alternatives.push(builder.class(plain));
    }
    for char in escaped.as_ranges().iter().flat_map(|&(first, last)| first..=last) {
        alternatives.push(builder.text(escape(char.encode_utf8(&mut [0; 4]))));
    }
    builder.choice(&alternatives)
}

fn escape(text: &str) -> String {
    let json = json_text(text);
    json.get(1..json.len() - 1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_escaped_once_and_may_use_itself() {
        let mut builder = Builder::new();
        let list = builder.reserve("list");
        let quoted = builder.sequence(&[builder.text("\"\n"), builder.many(Class::of(&['"']).negate()), list.into()]);
        builder.define(list, builder.choice(&[builder.text("[]"), quoted]));
        let mut escaped = Escaped::default();
        let one = escaped.string(&mut builder, list.into());
        let two = builder.sequence(&[list.into(), builder.class(Class::of(&['a', '\\']))]);
        let other = escaped.string(&mut builder, two);
        let root = builder.choice(&[one, other]);
        let control: String = (0..0x20_u8)
            .map(|byte| escape(&char::from(byte).to_string()))
            .map(|escape| format!(" | \"{}\"", escape.replace('\\', "\\\\")))
            .collect();
        assert_eq!(
            builder.grammar(root),
            format!(
                "root ::= \"\\\"\" text-list \"\\\"\" | \"\\\"\" text-list ([a] | \"\\\\\\\\\") \"\\\"\"\n\
                 text-list ::= \"[]\" | \"\\\\\\\"\\\\n\" ([^\\x00-\\x1F\"\\\\]{control} | \"\\\\\\\\\")* text-list\n"
            )
        );
    }
}
