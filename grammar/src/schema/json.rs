//! The rules of JSON values, shared by all schemas of a grammar. White space is bounded: a sampler must not be able to
//! write it forever.

use serde_json::{Number, Value};

use crate::builder::Builder;
use crate::expr::{Class, Expr, RuleId};
use crate::syntax::{Integers, Syntax, WhiteSpace, json_text};
use crate::text_rules::{other_than, up_to};

/// The characters that a string can escape with one letter, each with that letter.
pub(super) const SHORT_ESCAPES: [(char, char); 8] =
    [('"', '"'), ('\\', '\\'), ('/', '/'), ('\u{8}', 'b'), ('\u{c}', 'f'), ('\n', 'n'), ('\r', 'r'), ('\t', 't')];

pub(super) fn digit(builder: &Builder) -> Expr {
    builder.read("[0-9]", &[])
}

/// A line break and the indentation of the next line. The widths are listed: a repetition costs XGrammar ten times the memory.
pub(crate) fn indentation(builder: &Builder) -> Expr {
    let mut all = Vec::new();
    for width in [32, 28, 24, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0] {
        all.push(builder.text(["\n", &" ".repeat(width)].concat()));
    }
    builder.choice(&all)
}

/// Optional white space. By default one blank, or the line break and the indentation of a template that writes these; if it is free, a
/// few blanks, then at most two line ends, each with an indentation.
pub(super) fn space(builder: &mut Builder) -> RuleId {
    once(builder, "ws", |builder| {
        match (builder.manner().white_space, builder.manner().indents) {
            (WhiteSpace::Template, false) => return builder.read("' '?", &[]),
            (WhiteSpace::Template, true) => return builder.read("(' ' | $0)?", &[indentation(builder)]),
            (WhiteSpace::Free, _) if builder.manner().unlimited => return builder.read("[ \t\n\r]*", &[]),
            (WhiteSpace::Free, _) => {}
        }
        let line = builder.rule("ws-line", builder.read("'\r'? '\n' [ \t]{0,80}", &[])).into();
        builder.read("[ \t]{0,4} $0{0,2}", &[line])
    })
}

pub(super) fn comma(builder: &mut Builder) -> Expr {
    let space = space(builder).into();
    builder.read("',' $0", &[space])
}

/// The code points that need no escape in a string.
pub(super) fn unescaped(builder: &Builder) -> Class {
    let controls = ('\0', '\u{1f}');
    match builder.syntax() {
        Syntax::Json => Class::ranges(&[controls, ('"', '"'), ('\\', '\\')]).negate(),
        Syntax::Python => Class::ranges(&[controls, ('"', '"'), ('\'', '\''), ('\\', '\\')]).negate(),
        Syntax::Raw { stop, .. } => Class::of(&['\0', *stop]).negate(),
    }
}

/// The inside of a string with quotes around it.
pub(super) fn quoted(builder: &Builder, inside: Expr) -> Expr {
    match builder.syntax() {
        Syntax::Json => builder.read("'\"' $0 '\"'", &[inside]),
        Syntax::Python => builder.read("\"'\" $0 \"'\" | '\"' $0 '\"'", &[inside]),
        Syntax::Raw { quote, .. } => builder.read("$0 $1 $0", &[builder.text(quote), inside]),
    }
}

pub(super) fn hex(builder: &Builder) -> Expr {
    builder.read("[0-9A-Fa-f]", &[])
}

/// Four hexadecimal digits that begin with D: a code point, or a surrogate pair with its second escape.
pub(super) fn paired(builder: &mut Builder) -> Expr {
    once(builder, "unicode-pair", |builder| {
        let notation = "[Dd] ([0-7] $0 $0 | [89ABab] $0 $0 '\\u' [Dd] [C-Fc-f] $0 $0)";
        builder.read(notation, &[hex(builder)])
    })
    .into()
}

/// Four hexadecimal digits of a code point, or a surrogate pair with its second escape.
fn unicode(builder: &mut Builder) -> RuleId {
    once(builder, "unicode", |builder| {
        let paired = paired(builder);
        builder.read("[0-9A-CEFa-cef] $0 $0 $0 | $1", &[hex(builder), paired])
    })
}

/// An escape of a string, without the backslash.
fn escape(builder: &mut Builder) -> RuleId {
    once(builder, "escape", |builder| {
        // Python's are `\'`, `\x0a` and the like.
        let short = match builder.syntax() {
            Syntax::Python => r#"["'\\abfnrtv] | 'x' $0 $0"#,
            Syntax::Json | Syntax::Raw { .. } => r#"["\\/bfnrt]"#,
        };
        let short = builder.read(short, &[hex(builder)]);
        let unicode = unicode(builder).into();
        builder.read("$0 | 'u' $1", &[short, unicode])
    })
}

/// One code point of a string: plain, where `more` is plain too, or as an escape. It is no rule of its own: what an engine computes in
/// advance for the tokens of a vocabulary ends with a rule, and most tokens have several code points.
fn one(builder: &mut Builder, more: &[(char, char)]) -> Expr {
    let plain = unescaped(builder);
    let plain = if more.is_empty() { plain } else { plain.union(&Class::ranges(more)) };
    let plain = builder.class(plain);
    if let Syntax::Raw { .. } = builder.syntax() {
        return plain;
    }
    let escape = escape(builder).into();
    builder.read("$0 | '\\' $1", &[plain, escape])
}

/// One code point of a string as a rule, for strings that count them.
pub(super) fn character(builder: &mut Builder) -> RuleId {
    once(builder, "char", |builder| one(builder, &[]))
}

/// The escape of a code point beyond ASCII, without the backslash.
pub(super) fn foreign_escape(builder: &mut Builder) -> RuleId {
    once(builder, "foreign", |builder| {
        let paired = paired(builder);
        let notation = "'u' ([1-9A-CEFa-cef] $0 $0 $0 | '0' [1-9A-Fa-f] $0 $0 | '00' [89A-Fa-f] $0 | $1)";
        builder.read(notation, &[hex(builder), paired])
    })
}

/// The rest of a string, with its closing quote.
pub(super) fn string_rest(builder: &mut Builder) -> RuleId {
    once(builder, "string-rest", |builder| {
        let one = one(builder, &[]);
        builder.read("($0)* '\"'", &[one])
    })
}

pub(super) fn string(builder: &mut Builder) -> RuleId {
    once(builder, "string", |builder| match builder.syntax().clone() {
        Syntax::Json => {
            let rest = string_rest(builder).into();
            builder.read("'\"' $0", &[rest])
        }
        Syntax::Python => {
            let single = one(builder, &[('"', '"')]);
            let double = one(builder, &[('\'', '\'')]);
            builder.read("\"'\" ($0)* \"'\" | '\"' ($1 | '\\/')* '\"'", &[single, double])
        }
        Syntax::Raw { quote, .. } if quote.is_empty() => builder.many(unescaped(builder)),
        Syntax::Raw { quote, .. } => {
            let rest = up_to(builder, "raw-text", &quote);
            builder.sequence(&[builder.text(quote), rest])
        }
    })
}

/// The characters of a key without quotes: the first one, and the others. White space may be between them.
fn bare(stop: char) -> [Class; 2] {
    let none = [('\0', ' '), (':', ':'), ('}', '}'), ('\u{7f}', '\u{7f}')];
    let begins = ['{', '[', ']', ',', '"', stop].map(|char| (char, char));
    [Class::ranges(&[&none[..], &begins].concat()).negate(), Class::ranges(&none).negate()]
}

/// One more word of a key without quotes, with the white space before it.
fn another_word(builder: &mut Builder, others: Expr) -> Expr {
    let words = if builder.manner().unlimited { "[ \t\n\r]+ $0+" } else { "[ \t\n\r]{1,20} $0+" };
    builder.rule("raw-words", builder.read(words, &[others])).into()
}

/// Whether a name can be written without quotes.
fn is_bare(name: &str, stop: char) -> bool {
    let [first, others] = bare(stop);
    let begins = name.chars().next().is_none_or(|char| first.contains(char));
    // White space at an end belongs to the syntax, and the empty name has none.
    begins
        && name.split(' ').all(|word| (!word.is_empty() || name.is_empty()) && word.chars().all(|c| others.contains(c)))
}

pub(super) fn any_key(builder: &mut Builder) -> Expr {
    let Syntax::Raw { .. } = builder.syntax() else { return string(builder).into() };
    let key = |builder: &mut Builder| {
        let Syntax::Raw { stop, .. } = builder.syntax() else { return Expr::NOTHING };
        let [first, others] = bare(*stop).map(|class| builder.class(class));
        let word = another_word(builder, others);
        builder.read("($0 $1* $2*)?", &[first, others, word])
    };
    once(builder, "key", key).into()
}

/// A key that is not one of these, for a syntax other than JSON.
pub(super) fn other_key(builder: &mut Builder, known: &[&str]) -> Expr {
    let class = match builder.syntax() {
        Syntax::Raw { stop, .. } => {
            let [first, others] = bare(*stop);
            let mut alternatives = vec![other_than(builder, known, [&first, &others])];
            if !known.contains(&"") {
                alternatives.push(Expr::EMPTY);
            }
            // A key of several words is not one of these if they are single words.
            if !known.iter().any(|name| name.contains(char::is_whitespace)) {
                let (first, others) = (builder.class(first), builder.class(others));
                let word = another_word(builder, others);
                alternatives.push(builder.read("$0 $1* $2+", &[first, others, word]));
            }
            return builder.choice(&alternatives);
        }
        _ => unescaped(builder),
    };
    let inside = other_than(builder, known, [&class, &class]);
    quoted(builder, inside)
}

pub(super) fn null(builder: &Builder) -> Expr {
    match builder.syntax() {
        // Templates print the one or the other between quote tokens.
        Syntax::Python | Syntax::Raw { .. } => builder.read("'null' | 'None'", &[]),
        Syntax::Json => builder.text("null"),
    }
}

/// This string, with its quotes.
pub(super) fn spelled(builder: &Builder, string: &str) -> Expr {
    let json = json_text(string);
    match builder.syntax() {
        Syntax::Json if json.is_ascii() => builder.text(json),
        // Templates may escape what is not ASCII.
        Syntax::Json => builder.choice(&[builder.text(ascii(&json)), builder.text(json)]),
        Syntax::Python => {
            let inside = json[1..json.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
            builder.choice(&[builder.text(format!("'{inside}'")), builder.text(json)])
        }
        Syntax::Raw { quote, .. } => builder.text(format!("{quote}{string}{quote}")),
    }
}

/// JSON in which what is not ASCII is escaped.
fn ascii(json: &str) -> String {
    let units = |char: char| char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    json.chars().map(|char| if char.is_ascii() { char.to_string() } else { units(char) }).collect()
}

/// The digits of an integer, without a sign: at most 20, as many as 64 bits have. A small model goes on writing digits.
pub(super) fn whole(builder: &mut Builder) -> RuleId {
    once(builder, "whole", |builder| builder.read("'0' | [1-9] [0-9]{0,19}", &[]))
}

/// An optional fraction of zeros: in JSON Schema 1.0 is an integer. Nothing if integers are plain.
pub(super) fn zeros(builder: &mut Builder) -> Expr {
    match builder.manner().integers {
        Integers::WithZeros => once(builder, "zeros", |builder| builder.read("('.' '0'{1,20})?", &[])).into(),
        Integers::Plain => builder.text(""),
    }
}

/// An exponent that is not far above zero.
fn exponent(builder: &mut Builder) -> RuleId {
    once(builder, "exponent", |builder| builder.read("[Ee] ('-' [0-9]{1,3} | '+'? [0-9]{1,2})", &[]))
}

/// A number with one digit before the point and a high exponent. The number stays below 1e308, the limit of a double.
fn huge(builder: &mut Builder) -> RuleId {
    once(builder, "huge", |builder| {
        let fraction = fraction(builder).into();
        builder.read("[1-9] $0 [Ee] '+'? ([12] [0-9] [0-9] | '30' [0-7])", &[fraction])
    })
}

pub(super) fn fraction(builder: &mut Builder) -> RuleId {
    once(builder, "fraction", |builder| builder.read("('.' [0-9]{1,20})?", &[]))
}

/// Zero as an integer. A plain integer is never `-0`: some programs read it as a number with a fraction.
pub(super) fn zero(builder: &Builder) -> Expr {
    builder.read(if builder.manner().integers == Integers::Plain { "'0'" } else { "'-'? '0'" }, &[])
}

pub(super) fn integer(builder: &mut Builder) -> RuleId {
    once(builder, "integer", |builder| {
        if builder.manner().integers == Integers::Plain {
            return builder.read("'0' | '-'? [1-9] [0-9]{0,19}", &[]);
        }
        let parts = [whole(builder).into(), zeros(builder)];
        builder.read("'-'? $0 $1", &parts)
    })
}

pub(super) fn number(builder: &mut Builder) -> RuleId {
    once(builder, "number", |builder| {
        let parts = [whole(builder), fraction(builder), exponent(builder), huge(builder)].map(Expr::from);
        builder.read("'-'? ($0 $1 $2? | $3)", &parts)
    })
}

pub(super) fn boolean(builder: &mut Builder) -> RuleId {
    once(builder, "boolean", |builder| match builder.syntax() {
        Syntax::Python => builder.read("'true' | 'false' | 'True' | 'False'", &[]),
        _ => builder.read("'true' | 'false'", &[]),
    })
}

pub(super) fn object(builder: &mut Builder) -> RuleId {
    once(builder, "object", |builder| {
        let (space, comma) = (space(builder).into(), comma(builder));
        let (key, value) = (any_key(builder), value(builder).into());
        let name = format!("{}member", builder.syntax().prefix());
        let member = builder.rule(&name, builder.read("$0 $1 ':' $1 $2 $1", &[key, space, value])).into();
        builder.read("'{' $0 ($1 ($2 $1)*)? '}'", &[space, member, comma])
    })
}

pub(super) fn array(builder: &mut Builder) -> RuleId {
    once(builder, "array", |builder| {
        let (space, comma) = (space(builder).into(), comma(builder));
        let value = value(builder).into();
        builder.read("'[' $0 ($1 $0 ($2 $1 $0)*)? ']'", &[space, value, comma])
    })
}

pub(super) fn value(builder: &mut Builder) -> RuleId {
    if let Some(value) = builder.kept("value") {
        return value;
    }
    let value = builder.reserve(&format!("{}value", builder.syntax().prefix()));
    builder.keep("value", value);
    let rules = [object(builder), array(builder), string(builder), number(builder), boolean(builder)];
    let [object, array, string, number, boolean] = rules.map(Expr::from);
    builder.define(value, builder.choice(&[object, array, string, number, boolean, null(builder)]));
    value
}

/// The rule with this name, made when it is first needed.
pub(super) fn once(builder: &mut Builder, name: &'static str, make: fn(&mut Builder) -> Expr) -> RuleId {
    if let Some(rule) = builder.kept(name) {
        return rule;
    }
    let expr = make(builder);
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
            let (space, comma) = (space(builder).into(), comma(builder));
            let mut parts = Vec::new();
            for item in items {
                parts.extend([comma, literal(builder, item, depth)?, space]);
            }
            let items = builder.sequence(parts.get(1..).unwrap_or_default());
            builder.read("'[' $0 $1 ']'", &[space, items])
        }
        Value::Object(members) => {
            let (space, comma) = (space(builder).into(), comma(builder));
            let mut parts = Vec::new();
            for (name, member) in members {
                parts.extend([comma, key(builder, name), literal(builder, member, depth)?, space]);
            }
            let members = builder.sequence(parts.get(1..).unwrap_or_default());
            builder.read("'{' $0 $1 '}'", &[space, members])
        }
        Value::Number(number) => {
            let mut all = Vec::new();
            for written in numerals(number) {
                let whole = written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                let zeros = if whole { zeros(builder) } else { Expr::EMPTY };
                all.push(builder.sequence(&[builder.text(written), zeros]));
            }
            builder.choice(&all)
        }
        Value::String(string) => spelled(builder, string),
        Value::Null => null(builder),
        Value::Bool(value) => {
            let (plain, python) = if *value { ("true", "True") } else { ("false", "False") };
            let plain = builder.text(plain);
            if *builder.syntax() == Syntax::Python { builder.choice(&[plain, builder.text(python)]) } else { plain }
        }
    })
}

/// The ways to write a number: in digits alone, and as templates and JSON write it, which have an exponent where it is large or small.
/// Without a fraction of zeros.
pub(crate) fn numerals(number: &Number) -> Vec<String> {
    /// From here on, not each integer is a number of its own.
    const EXACT: f64 = 1e15;
    let mut all = vec![number.to_string()];
    if let Some(float) = number.as_f64().filter(|_| number.is_f64()) {
        // Digits alone: `Display` has no exponent; and all digits of an integer that is beyond them.
        all.push(float.to_string());
        all.extend(
            (float.fract() == 0.0 && float.abs() >= EXACT && float.abs() < 1e38).then(|| (float as i128).to_string()),
        );
        // As Python writes it: with an exponent of two digits at least, where the number is small or large.
        if let Some((digits, exponent)) = format!("{float:e}").split_once('e')
            && let Ok(exponent @ (..-4 | 16..)) = exponent.parse::<i32>()
        {
            all.push(format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()));
        }
    }
    let mut distinct: Vec<String> = Vec::new();
    for written in all {
        let written = written.strip_suffix(".0").unwrap_or(&written);
        if !distinct.iter().any(|known| known == written) {
            distinct.push(written.to_owned());
        }
    }
    distinct
}

/// The name of a member, and the colon after it.
pub(super) fn key(builder: &mut Builder, name: &str) -> Expr {
    let space = space(builder).into();
    let name = match builder.syntax() {
        Syntax::Raw { stop, .. } if is_bare(name, *stop) => builder.text(name),
        _ => spelled(builder, name),
    };
    builder.read("$0 $1 ':' $1", &[name, space])
}
