//! Values of arguments: of any kind or of a schema, in the three ways in which formats write them.

use serde_json::Value;

use super::until::{Stop, Until, Way};
use super::{Builder, Class, Expr, RuleId, choice, many, option, repeat, sequence, text};

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax<'p> {
    /// JSON.
    Json,
    /// Python literals, or JSON.
    Python,
    /// Strings between this quote token, keys bare.
    Quoted(&'p str),
}

/// Something that a grammar accepts more widely than was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wider {
    /// The tool; empty for the response.
    pub tool: String,
    /// Where in the schema: a JSON pointer.
    pub path: String,
    /// The keyword that is not expressed.
    pub keyword: String,
    /// Why.
    pub why: String,
}

/// Rules for values, made when they are first asked for.
#[derive(Default)]
pub(super) struct Values {
    space: Option<RuleId>,
    json: Option<Kinds>,
    python: Option<Kinds>,
    quoted: Option<Kinds>,
    pub(super) widened: Vec<Wider>,
}

/// The rules of one syntax.
#[derive(Clone, Copy)]
struct Kinds {
    value: RuleId,
    object: RuleId,
    array: RuleId,
    scalar: RuleId,
}

impl Values {
    pub(super) fn space(&mut self, builder: &mut Builder) -> Expr {
        let rule = *self.space.get_or_insert_with(|| builder.rule("space", super::call::space()));
        rule.into()
    }

    // ----- any value -----

    /// Any value.
    pub(super) fn any(&mut self, builder: &mut Builder, syntax: Syntax<'_>) -> Expr {
        self.kinds(builder, syntax).value.into()
    }

    /// Any value that is no string.
    pub(super) fn any_but_text(&mut self, builder: &mut Builder, syntax: Syntax<'_>) -> Expr {
        let kinds = self.kinds(builder, syntax);
        choice([kinds.object.into(), kinds.array.into(), kinds.scalar.into()])
    }

    /// Any object.
    pub(super) fn any_object(&mut self, builder: &mut Builder, syntax: Syntax<'_>) -> Expr {
        self.kinds(builder, syntax).object.into()
    }

    /// Any literal; strings stand between `quote` where that is not empty, else it is Python's.
    pub(super) fn any_literal(&mut self, builder: &mut Builder, quote: &str) -> Option<Expr> {
        let syntax = if quote.is_empty() { Syntax::Python } else { Syntax::Quoted(quote) };
        Some(self.any(builder, syntax))
    }

    /// Any function's name, as a string.
    pub(super) fn any_name(&mut self, builder: &mut Builder, syntax: Syntax<'_>) -> Expr {
        plain_string(builder, "name", syntax)
    }

    /// Any id.
    pub(super) fn any_id(&mut self, builder: &mut Builder, syntax: Syntax<'_>) -> Expr {
        let number = sequence([Class::ranges([('1', '9')]).into(), repeat(digit(), 0, Some(19))]);
        let id = choice([plain_string(builder, "id", syntax), text("0"), number]);
        builder.rule("call-id", id).into()
    }

    /// This string.
    pub(super) fn exact(&self, string: &str, syntax: Syntax<'_>) -> Expr {
        let json = Value::String(string.to_owned()).to_string();
        match syntax {
            Syntax::Json => text(json),
            Syntax::Python => {
                let inner = json[1..json.len() - 1].replace("\\\"", "\"").replace('\'', "\\'");
                choice([text(format!("'{inner}'")), text(json)])
            }
            Syntax::Quoted(quote) => text(format!("{quote}{string}{quote}")),
        }
    }

    fn kinds(&mut self, builder: &mut Builder, syntax: Syntax<'_>) -> Kinds {
        let known = match syntax {
            Syntax::Json => self.json,
            Syntax::Python => self.python,
            Syntax::Quoted(_) => self.quoted,
        };
        if let Some(kinds) = known {
            return kinds;
        }
        let kinds = self.make_kinds(builder, syntax);
        match syntax {
            Syntax::Json => self.json = Some(kinds),
            Syntax::Python => self.python = Some(kinds),
            Syntax::Quoted(_) => self.quoted = Some(kinds),
        }
        kinds
    }

    fn make_kinds(&mut self, builder: &mut Builder, syntax: Syntax<'_>) -> Kinds {
        let name = |kind: &str| match syntax {
            Syntax::Json => kind.to_owned(),
            Syntax::Python => format!("python-{kind}"),
            Syntax::Quoted(_) => format!("quoted-{kind}"),
        };
        let space = self.space(builder);
        let value = builder.reserve(&name("value"));
        let string = string(builder, &name("string"), syntax);
        let key = match syntax {
            Syntax::Quoted(_) => bare_key(builder),
            _ => string.into(),
        };
        let comma = sequence([space.clone(), text(","), space.clone()]);
        let member = sequence([key, space.clone(), text(":"), space.clone(), value.into()]);
        let member: Expr = builder.rule(&name("member"), member).into();
        let list = |item: Expr| option(sequence([item.clone(), many(sequence([comma.clone(), item]))]));
        let object = sequence([text("{"), space.clone(), list(member), space.clone(), text("}")]);
        let object = builder.rule(&name("object"), object);
        let array = sequence([text("["), space.clone(), list(value.into()), space, text("]")]);
        let array = builder.rule(&name("array"), array);
        let number = number(builder);
        let words: &[&str] = match syntax {
            Syntax::Python => &["true", "false", "null", "True", "False", "None"],
            _ => &["true", "false", "null"],
        };
        let words = words.iter().map(|word| text(*word));
        let scalar = builder.rule(&name("scalar"), choice(words.chain([number.into()])));
        builder.define(value, choice([object.into(), array.into(), string.into(), scalar.into()]));
        Kinds { value, object, array, scalar }
    }

    // ----- values of a schema -----

    /// A value of a schema. `None` where none fits.
    pub(super) fn typed(
        &mut self,
        builder: &mut Builder,
        _tool: &str,
        _root: &Value,
        _schema: &Value,
        syntax: Syntax<'_>,
    ) -> Option<Expr> {
        Some(self.any(builder, syntax))
    }

    /// The answer that a schema asks for.
    pub(super) fn response(&mut self, builder: &mut Builder, schema: &Value) -> Option<Expr> {
        self.typed(builder, "", schema, schema, Syntax::Json)
    }

    /// Raw text is not checked against its schema: says what is lost.
    pub(super) fn note_text(&mut self, tool: &str, property: &str, schema: &Value) {
        const LOST: [&str; 4] = ["pattern", "format", "minLength", "maxLength"];
        for keyword in LOST.into_iter().filter(|keyword| schema.get(keyword).is_some()) {
            let path = format!("/properties/{}", property.replace('~', "~0").replace('/', "~1"));
            let why = "the value is written as raw text".to_owned();
            self.widened.push(Wider { tool: tool.to_owned(), path, keyword: keyword.to_owned(), why });
        }
    }

    // ----- names -----

    /// A name of characters of `class`, none of `known`.
    pub(super) fn other_than(&mut self, builder: &mut Builder, known: &[&str], class: &Class) -> Expr {
        let mut known: Vec<Vec<char>> = known.iter().map(|name| name.chars().collect()).collect();
        known.sort_unstable();
        known.dedup();
        other_than(builder, &known, 0, class)
    }
}

/// The rest of a name that begins as all of `known` do up to `at`, and is none of them.
fn other_than(builder: &mut Builder, known: &[Vec<char>], at: usize, class: &Class) -> Expr {
    let mut ways: Vec<Expr> = Vec::new();
    let mut firsts: Vec<char> = Vec::new();
    let mut from = 0;
    // The shortest comes first; it is complete here.
    let complete = known.first().is_some_and(|name| name.len() == at);
    if complete {
        from = 1;
    }
    while let Some(&first) = known.get(from).and_then(|name| name.get(at)) {
        let end = known[from..].iter().position(|name| name.get(at) != Some(&first)).map_or(known.len(), |n| from + n);
        if class.contains(first) {
            let rest = other_than(builder, &known[from..end], at + 1, class);
            ways.push(sequence([text(first.to_string()), rest]));
        }
        firsts.push(first);
        from = end;
    }
    let other = Class::of(firsts).negate().intersect(class);
    ways.push(sequence([other.into(), repeat(class.clone(), 0, Some(super::turn::NAME - 1))]));
    if at > 0 && !complete {
        ways.push(Expr::EMPTY);
    }
    builder.rule("other-name", choice(ways)).into()
}

fn digit() -> Class {
    Class::ranges([('0', '9')])
}

fn hex() -> Class {
    Class::ranges([('0', '9'), ('a', 'f'), ('A', 'F')])
}

/// A number as JSON has it.
fn number(builder: &mut Builder) -> RuleId {
    let whole = choice([text("0"), sequence([Class::ranges([('1', '9')]).into(), repeat(digit(), 0, Some(20))])]);
    let fraction = sequence([text("."), repeat(digit(), 1, Some(20))]);
    let exponent = sequence([Class::of(['e', 'E']).into(), option(Class::of(['+', '-'])), repeat(digit(), 1, Some(2))]);
    builder.rule("number", sequence([option(text("-")), whole, option(fraction), option(exponent)]))
}

/// Four hexadecimal digits of a code unit that is no half of a pair.
fn unit(builder: &mut Builder) -> Expr {
    let not_d = Class::ranges([('0', '9'), ('a', 'c'), ('A', 'C'), ('e', 'f'), ('E', 'F')]);
    let plain = sequence([not_d.into(), repeat(hex(), 3, Some(3))]);
    let low = sequence([Class::of(['d', 'D']).into(), Class::ranges([('0', '7')]).into(), repeat(hex(), 2, Some(2))]);
    builder.rule("code-unit", choice([plain, low])).into()
}

/// Two code units that are one character.
fn pair(builder: &mut Builder) -> Expr {
    let half = |from: char, lower: (char, char), upper: (char, char)| {
        let digit = Class::ranges([(from, if from == '8' { '9' } else { 'f' }), lower, upper]);
        sequence([Class::of(['d', 'D']).into(), digit.into(), repeat(hex(), 2, Some(2))])
    };
    let first = half('8', ('a', 'b'), ('A', 'B'));
    let second = half('c', ('c', 'f'), ('C', 'F'));
    let pair = sequence([first, text("\\u"), second]);
    builder.rule("surrogate-pair", pair).into()
}

/// A string.
fn string(builder: &mut Builder, name: &str, syntax: Syntax<'_>) -> RuleId {
    let controls = ('\0', '\u{1f}');
    let (unit, pair) = (unit(builder), pair(builder));
    let unicode = || sequence([text("u"), choice([unit.clone(), pair.clone()])]);
    match syntax {
        Syntax::Json => {
            let plain = Class::ranges([controls, ('"', '"'), ('\\', '\\')]).negate();
            let escape = choice([Class::of(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']).into(), unicode()]);
            let char = builder.rule("char", choice([plain.into(), sequence([text("\\"), escape])]));
            builder.rule(name, sequence([text("\""), many(char), text("\"")]))
        }
        Syntax::Python => {
            let byte = sequence([text("x"), repeat(hex(), 2, Some(2))]);
            let letters = Class::of(['\\', '\'', '"', 'a', 'b', 'f', 'n', 'r', 't', 'v']);
            let escape = sequence([text("\\"), choice([letters.into(), byte, unicode()])]);
            let escape: Expr = builder.rule("python-escape", escape).into();
            let quoted = |builder: &mut Builder, quote: char| {
                let plain = Class::ranges([controls, (quote, quote), ('\\', '\\')]).negate();
                let mut chars = vec![plain.into(), escape.clone()];
                if quote == '"' {
                    chars.push(text("\\/"));
                }
                let char = builder.rule("python-char", choice(chars));
                sequence([text(quote.to_string()), many(char), text(quote.to_string())])
            };
            let strings = [quoted(builder, '\''), quoted(builder, '"')];
            builder.rule(name, choice(strings))
        }
        Syntax::Quoted(quote) => {
            let text_of = up_to(builder, "quoted-text", quote);
            builder.rule(name, sequence([text(quote), text_of]))
        }
    }
}

/// Text up to a marker, and the marker.
fn up_to(builder: &mut Builder, name: &str, core: &str) -> Expr {
    let stop = Stop { core, confirm: Vec::new(), peek: false };
    let until = Until::new(&[stop]);
    let rules: Vec<RuleId> = until.points.iter().map(|_| builder.reserve(name)).collect();
    for (point, rule) in until.points.iter().zip(&rules) {
        let ways = point.ways.iter().map(|way| match way {
            Way::Char(chars, next) => sequence([super::turn::class(chars), rules[*next].into()]),
            Way::Stop(char, _) => text(char.to_string()),
            Way::Peek(_) => Expr::EMPTY,
        });
        builder.define(*rule, choice(ways));
    }
    rules.first().map_or(Expr::EMPTY, |&rule| rule.into())
}

/// A key that stands without quotes.
fn bare_key(builder: &mut Builder) -> Expr {
    let first = Class::ranges([('a', 'z'), ('A', 'Z'), ('_', '_')]);
    let rest = Class::ranges([('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_'), ('-', '-'), ('.', '.')]);
    builder.rule("bare-key", sequence([first.into(), many(rest)])).into()
}

/// A short string without escapes.
fn plain_string(builder: &mut Builder, name: &str, syntax: Syntax<'_>) -> Expr {
    let class = Class::ranges([('\0', '\u{1f}'), ('"', '"'), ('\'', '\''), ('\\', '\\'), ('\u{7f}', '\u{7f}')]).negate();
    let inner: Expr = builder.rule(&format!("{name}-text"), repeat(class, 1, Some(super::turn::NAME))).into();
    let quoted = |quote: &str| sequence([text(quote), inner.clone(), text(quote)]);
    match syntax {
        Syntax::Json => quoted("\""),
        Syntax::Python => choice([quoted("'"), quoted("\"")]),
        Syntax::Quoted(quote) => quoted(quote),
    }
}
