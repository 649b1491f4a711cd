//! The rules of JSON values, shared by all schemas of a grammar. White space is bounded: a sampler must not be able to
//! write it forever.

use crate::small::json_text;
use serde_json::Value;

use super::super::free_text::up_to;
use super::super::syntax::Syntax;
use super::super::text_rules::other_than;
use super::super::{Builder, Class, Expr, RuleId, choice, many, option, repeat, sequence, some, text};
use crate::small;

/// A digit.
pub(super) fn digit() -> Expr {
    Class::ranges([('0', '9')]).into()
}

/// Optional white space: a few blanks, then at most two line ends, each with an indentation.
pub(super) fn space(builder: &mut Builder) -> RuleId {
    once(builder, "ws", |builder| {
        let blank = || Class::of([' ', '\t']);
        let line = sequence([option(text("\r")), text("\n"), repeat(blank(), 0, Some(80))]);
        let line = builder.rule("ws-line", line);
        sequence([repeat(blank(), 0, Some(4)), repeat(line, 0, Some(2))])
    })
}

/// The comma between members or items.
pub(super) fn comma(builder: &mut Builder) -> Expr {
    sequence([text(","), space(builder).into()])
}

/// The code points that need no escape in a string.
pub(super) fn unescaped(builder: &Builder) -> Class {
    let controls = ('\0', '\u{1f}');
    match builder.syntax() {
        Syntax::Json => Class::ranges([controls, ('"', '"'), ('\\', '\\')]).negate(),
        Syntax::Python => Class::ranges([controls, ('"', '"'), ('\'', '\''), ('\\', '\\')]).negate(),
        Syntax::Raw { stop, .. } => Class::of(['\0', *stop]).negate(),
    }
}

/// The inside of a string with quotes around it.
pub(super) fn quoted(builder: &Builder, inside: Expr) -> Expr {
    let between = |quote: &str| sequence([text(quote), inside.clone(), text(quote)]);
    match builder.syntax() {
        Syntax::Json => between("\""),
        Syntax::Python => choice([between("'"), between("\"")]),
        Syntax::Raw { quote, .. } => between(quote),
    }
}

/// A hexadecimal digit.
pub(super) fn hex() -> Expr {
    Class::ranges([('0', '9'), ('A', 'F'), ('a', 'f')]).into()
}

/// Four hexadecimal digits that begin with D: a code point, or a surrogate pair with its second escape.
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

/// Four hexadecimal digits of a code point, or a surrogate pair with its second escape.
fn unicode(builder: &mut Builder) -> RuleId {
    once(builder, "unicode", |builder| {
        let first = Class::ranges([('0', '9'), ('A', 'C'), ('E', 'F'), ('a', 'c'), ('e', 'f')]);
        choice([sequence([first.into(), hex(), hex(), hex()]), paired(builder)])
    })
}

/// One code point of a string: plain or as an escape.
pub(super) fn character(builder: &mut Builder) -> RuleId {
    once(builder, "char", |builder| {
        let plain = unescaped(builder).into();
        let escape = match builder.syntax() {
            Syntax::Raw { .. } => return plain,
            Syntax::Json => Class::of(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']).into(),
            Syntax::Python => python_escape(),
        };
        let unicode = unicode(builder);
        let escape = choice([escape, sequence([text("u"), unicode.into()])]);
        choice([plain, sequence([text("\\"), escape])])
    })
}

/// The escapes of Python, without the backslash.
fn python_escape() -> Expr {
    let letters = Class::of(['"', '\'', '\\', 'a', 'b', 'f', 'n', 'r', 't', 'v']);
    choice([letters.into(), sequence([text("x"), hex(), hex()])])
}

/// The escape of a code point beyond ASCII, without the backslash.
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

/// The rest of a string, with its closing quote.
pub(super) fn string_rest(builder: &mut Builder) -> RuleId {
    once(builder, "string-rest", |builder| {
        let character = character(builder);
        sequence([many(character), text("\"")])
    })
}

/// Any string, in quotes.
pub(super) fn string(builder: &mut Builder) -> RuleId {
    once(builder, "string", |builder| match builder.syntax().clone() {
        Syntax::Json => {
            let rest = string_rest(builder);
            sequence([text("\""), rest.into()])
        }
        Syntax::Python => {
            let character = Expr::from(character(builder));
            let other = |quote: &str| choice([character.clone(), text(quote)]);
            let single = builder.rule("python-single", other("\""));
            let double = builder.rule("python-double", choice([other("'"), text("\\/")]));
            let between = |quote: &str, character: RuleId| sequence([text(quote), many(character), text(quote)]);
            choice([between("'", single), between("\"", double)])
        }
        Syntax::Raw { quote, .. } if quote.is_empty() => many(unescaped(builder)),
        Syntax::Raw { quote, .. } => {
            let rest = up_to(builder, "raw-text", &quote);
            sequence([text(quote), rest])
        }
    })
}

/// The characters of a key without quotes: the first one, and the others. White space may stand between them.
fn bare(stop: char) -> [Class; 2] {
    let none = [('\0', ' '), (':', ':'), ('}', '}'), ('\u{7f}', '\u{7f}')];
    let begins = ['{', '[', ']', ',', '"', stop].map(|char| (char, char));
    [Class::ranges(none.into_iter().chain(begins)).negate(), Class::ranges(none).negate()]
}

/// One more word of a key without quotes, with the white space before it.
fn another_word(builder: &mut Builder, others: &Class) -> Expr {
    let space = repeat(Class::of([' ', '\t', '\n', '\r']), 1, Some(KEY_SPACE));
    builder.rule("raw-words", sequence([space, some(others.clone())])).into()
}

/// The longest white space in a key without quotes.
const KEY_SPACE: u32 = 20;

/// Whether a name can be written without quotes.
fn is_bare(name: &str, stop: char) -> bool {
    let [first, others] = bare(stop);
    let begins = name.chars().next().is_none_or(|char| first.contains(char));
    // White space at an end belongs to the syntax, and the empty name has none.
    begins
        && name.split(' ').all(|word| (!word.is_empty() || name.is_empty()) && word.chars().all(|c| others.contains(c)))
}

/// Any key of an object.
pub(super) fn any_key(builder: &mut Builder) -> Expr {
    match builder.syntax() {
        Syntax::Raw { stop, .. } => {
            let [first, others] = bare(*stop);
            once(builder, "key", |builder| {
                let word = another_word(builder, &others);
                option(sequence([first.into(), many(others), many(word)]))
            })
            .into()
        }
        _ => string(builder).into(),
    }
}

/// A key that is none of these, for a syntax other than JSON.
pub(super) fn other_key(builder: &mut Builder, known: &[&str]) -> Expr {
    /// The maximum length of such a key.
    const LONGEST: u32 = 64;
    let class = match builder.syntax() {
        Syntax::Raw { stop, .. } => {
            let [first, others] = bare(*stop);
            let mut alternatives = vec![other_than(builder, known, [&first, &others], LONGEST)];
            if !known.contains(&"") {
                alternatives.push(Expr::EMPTY);
            }
            // A key of several words is none of these if they are single words.
            if !known.iter().any(|name| name.contains(char::is_whitespace)) {
                let word = another_word(builder, &others);
                alternatives.push(sequence([first.into(), many(others), some(word)]));
            }
            return choice(alternatives);
        }
        _ => unescaped(builder),
    };
    let inside = other_than(builder, known, [&class, &class], LONGEST);
    quoted(builder, inside)
}

/// `null`.
pub(super) fn null(builder: &mut Builder) -> Expr {
    match builder.syntax() {
        // Templates print the one or the other between quote tokens.
        Syntax::Python | Syntax::Raw { .. } => choice([text("null"), text("None")]),
        Syntax::Json => text("null"),
    }
}

/// This string, with its quotes.
pub(super) fn spelled(builder: &Builder, string: &str) -> Expr {
    let json = json_text(string);
    match builder.syntax() {
        Syntax::Json if json.is_ascii() => text(json),
        // Templates may escape what is not ASCII.
        Syntax::Json => choice([text(ascii(&json)), text(json)]),
        Syntax::Python => {
            let inside = json[1..json.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
            choice([text(format!("'{inside}'")), text(json)])
        }
        Syntax::Raw { quote, .. } => text(format!("{quote}{string}{quote}")),
    }
}

/// JSON in which what is not ASCII is escaped.
fn ascii(json: &str) -> String {
    let units = |char: char| char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    json.chars().map(|char| if char.is_ascii() { char.to_string() } else { units(char) }).collect()
}

/// The digits of an integer, without a sign.
pub(super) fn whole(builder: &mut Builder) -> RuleId {
    once(builder, "whole", |_| {
        let more = sequence([Class::ranges([('1', '9')]).into(), many(digit())]);
        choice([text("0"), more])
    })
}

/// An optional fraction of zeros: in JSON Schema 1.0 is an integer.
pub(super) fn zeros(builder: &mut Builder) -> RuleId {
    once(builder, "zeros", |_| option(sequence([text("."), some(text("0"))])))
}

/// An exponent that is not far above zero.
fn exponent(builder: &mut Builder) -> RuleId {
    once(builder, "exponent", |_| {
        let low = sequence([text("-"), repeat(digit(), 1, Some(3))]);
        let high = sequence([option(text("+")), repeat(digit(), 1, Some(2))]);
        sequence([Class::of(['E', 'e']).into(), choice([low, high])])
    })
}

/// A number with one digit before the point and a high exponent. The number stays below 1e308, the limit of a double.
fn huge(builder: &mut Builder) -> RuleId {
    once(builder, "huge", |builder| {
        let hundreds = sequence([Class::ranges([('1', '2')]).into(), digit(), digit()]);
        let last = sequence([text("30"), Class::ranges([('0', '7')]).into()]);
        let (fraction, e) = (fraction(builder), Class::of(['E', 'e']));
        let exponent = [e.into(), option(text("+")), choice([hundreds, last])];
        sequence([Class::ranges([('1', '9')]).into(), fraction.into()].into_iter().chain(exponent))
    })
}

/// An optional fraction.
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
        let size = sequence([whole.into(), fraction.into(), option(exponent)]);
        sequence([option(text("-")), choice([size, huge(builder).into()])])
    })
}

/// `true` and `false`.
pub(super) fn boolean(builder: &mut Builder) -> RuleId {
    once(builder, "boolean", |builder| {
        let python: &[&str] = if *builder.syntax() == Syntax::Python { &["True", "False"] } else { &[] };
        choice(["true", "false"].iter().chain(python).map(|word| text(*word)))
    })
}

/// Any object.
pub(super) fn object(builder: &mut Builder) -> RuleId {
    once(builder, "object", |builder| {
        let (space, comma) = (Expr::from(space(builder)), comma(builder));
        let (key, value) = (any_key(builder), value(builder));
        let member = [key, space.clone(), text(":"), space.clone(), value.into(), space.clone()];
        let name = format!("{}member", builder.syntax().prefix());
        let member = Expr::from(builder.rule(&name, sequence(member)));
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
    let value = builder.reserve(&format!("{}value", builder.syntax().prefix()));
    builder.keep("value", value);
    let parts = [object(builder), array(builder), string(builder), number(builder), boolean(builder)];
    let null = null(builder);
    builder.define(value, choice(parts.into_iter().map(Expr::from).chain([null])));
    value
}

/// The rule with this name, made when it is first needed.
pub(super) fn once(builder: &mut Builder, name: &'static str, make: impl FnOnce(&mut Builder) -> Expr) -> RuleId {
    if let Some(rule) = builder.kept(name) {
        return rule;
    }
    let expr = make(builder);
    keep(builder, name, expr)
}

fn keep(builder: &mut Builder, name: &'static str, expr: Expr) -> RuleId {
    // Making it may have made it already, because rules use each other.
    if let Some(rule) = builder.kept(name) {
        return rule;
    }
    let rule = builder.rule(&format!("{}{name}", builder.syntax().prefix()), expr);
    builder.keep(name, rule);
    rule
}

/// A value as JSON, with optional white space.
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
            for (at, (name, member)) in small::members(members).into_iter().enumerate() {
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
        Value::String(string) => spelled(builder, string),
        Value::Null => null(builder),
        Value::Bool(value) if *builder.syntax() == Syntax::Python => {
            let python = if *value { "True" } else { "False" };
            choice([text(value.to_string()), text(python)])
        }
        Value::Bool(value) => text(value.to_string()),
    })
}

/// The name of a member, and the colon after it.
pub(super) fn key(builder: &mut Builder, name: &str) -> Expr {
    let space = Expr::from(space(builder));
    let name = match builder.syntax() {
        Syntax::Raw { stop, .. } if is_bare(name, *stop) => text(name),
        _ => spelled(builder, name),
    };
    sequence([name, space.clone(), text(":"), space])
}
