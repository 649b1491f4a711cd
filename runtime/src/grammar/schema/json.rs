//! The rules of JSON itself, the same in every grammar. White space is bounded: a sampler must not be able to write it
//! forever.

use serde_json::Value;

use super::super::{Builder, Class, Expr, RuleId, choice, many, option, repeat, sequence, some, text};

/// A digit.
pub(super) fn digit() -> Expr {
    Class::ranges([('0', '9')]).into()
}

/// White space, or none: a few blanks, then at most two line ends, each with an indentation.
pub(super) fn space(builder: &mut Builder) -> RuleId {
    once(builder, "ws", |builder| {
        let blank = || Class::of([' ', '\t']);
        let line = sequence([option(text("\r")), text("\n"), repeat(blank(), 0, Some(80))]);
        let line = builder.rule("ws-line", line);
        sequence([repeat(blank(), 0, Some(4)), repeat(line, 0, Some(2))])
    })
}

/// What stands between two members or items.
pub(super) fn comma(builder: &mut Builder) -> Expr {
    sequence([text(","), space(builder).into()])
}

/// The code points that stand for themselves in a string.
pub(super) fn unescaped() -> Class {
    Class::ranges([('\0', '\u{1f}'), ('"', '"'), ('\\', '\\')]).negate()
}

/// A hexadecimal digit.
pub(super) fn hex() -> Expr {
    Class::ranges([('0', '9'), ('A', 'F'), ('a', 'f')]).into()
}

/// The hexadecimal digits from D000 on that are a code point, or half of one and then the other half.
pub(super) fn paired(builder: &mut Builder) -> Expr {
    once(builder, "unicode-pair", |_| {
        let d = || Expr::from(Class::of(['D', 'd']));
        let low = sequence([text("\\u"), d(), Class::ranges([('C', 'F'), ('c', 'f')]).into(), hex(), hex()]);
        let high = Class::ranges([('8', '9'), ('A', 'B'), ('a', 'b')]);
        let alone = sequence([Class::ranges([('0', '7')]).into(), hex(), hex()]);
        sequence([d(), choice([alone, sequence([high.into(), hex(), hex(), low])])])
    })
    .into()
}

/// Four hexadecimal digits that are a code point, or half of one with the other half.
fn unicode(builder: &mut Builder) -> RuleId {
    once(builder, "unicode", |builder| {
        let first = Class::ranges([('0', '9'), ('A', 'C'), ('E', 'F'), ('a', 'c'), ('e', 'f')]);
        choice([sequence([first.into(), hex(), hex(), hex()]), paired(builder)])
    })
}

/// One code point of a string, by itself or as an escape.
pub(super) fn character(builder: &mut Builder) -> RuleId {
    once(builder, "char", |builder| {
        let unicode = unicode(builder);
        let short = Class::of(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']);
        let escape = choice([short.into(), sequence([text("u"), unicode.into()])]);
        choice([unescaped().into(), sequence([text("\\"), escape])])
    })
}

/// A code point beyond ASCII as an escape, without the backslash.
pub(super) fn foreign_escape(builder: &mut Builder) -> RuleId {
    once(builder, "foreign", |builder| {
        let not_zero = Class::ranges([('1', '9'), ('A', 'F'), ('a', 'f')]);
        let first = Class::ranges([('1', '9'), ('A', 'C'), ('E', 'F'), ('a', 'c'), ('e', 'f')]);
        let beyond_ascii = Class::ranges([('8', '9'), ('A', 'F'), ('a', 'f')]);
        let code = choice([
            sequence([first.into(), hex(), hex(), hex()]),
            sequence([text("0"), not_zero.into(), hex(), hex()]),
            sequence([text("00"), beyond_ascii.into(), hex()]),
            paired(builder),
        ]);
        sequence([text("u"), code])
    })
}

/// What may follow in a string up to its closing quote, which is included.
pub(super) fn string_rest(builder: &mut Builder) -> RuleId {
    once(builder, "string-rest", |builder| {
        let character = character(builder);
        sequence([many(character), text("\"")])
    })
}

/// Any string, in quotes.
pub(super) fn string(builder: &mut Builder) -> RuleId {
    once(builder, "string", |builder| {
        let rest = string_rest(builder);
        sequence([text("\""), rest.into()])
    })
}

/// The digits of an integer, without a sign.
pub(super) fn whole(builder: &mut Builder) -> RuleId {
    once(builder, "whole", |_| {
        let more = sequence([Class::ranges([('1', '9')]).into(), many(digit())]);
        choice([text("0"), more])
    })
}

/// A fraction that is nothing: to a schema 1.0 is an integer.
pub(super) fn zeros(builder: &mut Builder) -> RuleId {
    once(builder, "zeros", |_| option(sequence([text("."), some(text("0"))])))
}

/// `e` and a number.
pub(super) fn exponent(builder: &mut Builder) -> RuleId {
    once(builder, "exponent", |_| {
        let sign = option(Class::of(['+', '-']));
        sequence([Class::of(['E', 'e']).into(), sign, some(digit())])
    })
}

/// A fraction, or none.
pub(super) fn fraction(builder: &mut Builder) -> RuleId {
    once(builder, "fraction", |_| option(sequence([text("."), some(digit())])))
}

/// Any integer.
pub(super) fn integer(builder: &mut Builder) -> RuleId {
    once(builder, "integer", |builder| {
        let (whole, zeros) = (whole(builder), zeros(builder));
        sequence([option(text("-")), whole.into(), zeros.into()])
    })
}

/// Any number.
pub(super) fn number(builder: &mut Builder) -> RuleId {
    once(builder, "number", |builder| {
        let (whole, fraction, exponent) = (whole(builder), fraction(builder), exponent(builder));
        sequence([option(text("-")), whole.into(), fraction.into(), option(exponent)])
    })
}

/// `true` and `false`.
pub(super) fn boolean(builder: &mut Builder) -> RuleId {
    once(builder, "boolean", |_| choice([text("true"), text("false")]))
}

/// Any object.
pub(super) fn object(builder: &mut Builder) -> RuleId {
    once(builder, "object", |builder| {
        let (space, comma) = (Expr::from(space(builder)), comma(builder));
        let (string, value) = (string(builder), value(builder));
        let member = [string.into(), space.clone(), text(":"), space.clone(), value.into(), space.clone()];
        let member = Expr::from(builder.rule("member", sequence(member)));
        let more = many(sequence([comma, member.clone()]));
        sequence([text("{"), space, option(sequence([member, more])), text("}")])
    })
}

/// Any array.
pub(super) fn array(builder: &mut Builder) -> RuleId {
    once(builder, "array", |builder| {
        let (space, comma) = (Expr::from(space(builder)), comma(builder));
        let item = sequence([value(builder).into(), space.clone()]);
        let more = many(sequence([comma, item.clone()]));
        sequence([text("["), space, option(sequence([item, more])), text("]")])
    })
}

/// Any value.
pub(super) fn value(builder: &mut Builder) -> RuleId {
    if let Some(value) = builder.kept("value") {
        return value;
    }
    let value = builder.reserve("value");
    builder.keep("value", value);
    let parts = [object(builder), array(builder), string(builder), number(builder), boolean(builder)];
    builder.define(value, choice(parts.into_iter().map(Expr::from).chain([text("null")])));
    value
}

/// The rule of that name, made when it is first needed.
pub(super) fn once(builder: &mut Builder, name: &'static str, make: impl FnOnce(&mut Builder) -> Expr) -> RuleId {
    if let Some(rule) = builder.kept(name) {
        return rule;
    }
    let expr = make(builder);
    // Making it may have made it already, inside of itself.
    if let Some(rule) = builder.kept(name) {
        return rule;
    }
    let rule = builder.rule(name, expr);
    builder.keep(name, rule);
    rule
}

/// A value as JSON writes it, white space apart.
pub(super) fn literal(builder: &mut Builder, value: &Value, depth: usize) -> Option<Expr> {
    let depth = depth.checked_sub(1)?;
    Some(match value {
        Value::Array(items) => {
            let space = Expr::from(space(builder));
            let mut parts = vec![text("["), space.clone()];
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    parts.push(comma(builder));
                }
                parts.extend([literal(builder, item, depth)?, space.clone()]);
            }
            parts.push(text("]"));
            sequence(parts)
        }
        Value::Object(members) => {
            let space = Expr::from(space(builder));
            let mut parts = vec![text("{"), space.clone()];
            for (at, (name, member)) in members.iter().enumerate() {
                if at > 0 {
                    parts.push(comma(builder));
                }
                parts.extend([key(builder, name), literal(builder, member, depth)?, space.clone()]);
            }
            parts.push(text("}"));
            sequence(parts)
        }
        Value::Number(number) => {
            let written = number.to_string();
            match written.strip_suffix(".0").unwrap_or(&written) {
                whole if whole.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
                    sequence([text(whole), zeros(builder).into()])
                }
                _ => text(written),
            }
        }
        other => text(other.to_string()),
    })
}

/// A member's name as JSON writes it, and what follows it up to the value.
pub(super) fn key(builder: &mut Builder, name: &str) -> Expr {
    let space = Expr::from(space(builder));
    sequence([text(Value::from(name).to_string()), space.clone(), text(":"), space])
}
