//! Values of arguments: of any kind or of a schema, in the ways in which formats write them.

use serde_json::{Value, json};

use super::schema::{self, SchemaError, Schemas};
use super::syntax::Syntax;
use super::text_rules::other_than;
use super::{Builder, Class, Expr, RuleId, Widened, choice, repeat, sequence, text};

/// Something that a grammar accepts more widely than was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wider {
    /// The tool; empty for the response.
    pub tool: String,
    /// What is wider, and why.
    pub what: Widened,
}

/// Rules for values, made when they are first asked for; and what came up on the way.
#[derive(Default)]
pub(super) struct Values {
    space: Option<RuleId>,
    pub(super) widened: Vec<Wider>,
    /// The first schema that nothing fits where something must, and its tool.
    pub(super) error: Option<(String, SchemaError)>,
}

/// All types but strings.
pub(super) const NO_STRING: [&str; 5] = ["number", "boolean", "null", "object", "array"];

/// The longest name that is written where it is not known, in characters.
pub(super) const NAME: u32 = 64;

/// At most so much white space stands between pieces of syntax.
const SPACE: u32 = 20;

impl Values {
    /// White space between pieces of syntax, or none.
    pub(super) fn space(&mut self, builder: &mut Builder) -> Expr {
        let space = || repeat(Class::of([' ', '\t', '\n', '\r']), 0, Some(SPACE));
        (*self.space.get_or_insert_with(|| builder.rule("layout", space()))).into()
    }

    // ----- any value -----

    /// Any value.
    pub(super) fn any(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        builder.set_syntax(syntax);
        schema::any_value(builder)
    }

    /// Any value that is no string.
    pub(super) fn any_but_text(&mut self, builder: &mut Builder, syntax: Syntax) -> Option<Expr> {
        let schema = json!({"type": NO_STRING});
        self.typed(builder, "", "", &schema, &schema, syntax)
    }

    /// Any object.
    pub(super) fn any_object(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        builder.set_syntax(syntax);
        schema::any_object(builder)
    }

    /// Any function's name, as a string.
    pub(super) fn any_name(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        plain_string(builder, "name", syntax)
    }

    /// Any id.
    pub(super) fn any_id(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        let digits = |first: char, least: u32, most: u32| repeat(Class::ranges([(first, '9')]), least, Some(most));
        let number = sequence([digits('1', 1, 1), digits('0', 0, 19)]);
        let id = choice([plain_string(builder, "id", syntax), text("0"), number]);
        builder.rule("call-id", id).into()
    }

    /// This string.
    pub(super) fn exact(&self, builder: &mut Builder, string: &str, syntax: Syntax) -> Expr {
        builder.set_syntax(syntax);
        schema::spelled(builder, string)
    }

    // ----- values of a schema -----

    /// A value of a schema inside the document `root`. `None` where none fits.
    pub(super) fn typed(
        &mut self,
        builder: &mut Builder,
        tool: &str,
        hint: &str,
        root: &Value,
        schema: &Value,
        syntax: Syntax,
    ) -> Option<Expr> {
        builder.set_syntax(syntax);
        let mut schemas = Schemas::new(builder, root);
        let compiled = schemas.compile(if hint.is_empty() { "value" } else { hint }, schema);
        let widened = schemas.widened().into_iter().map(|what| Wider { tool: tool.to_owned(), what });
        for wider in widened.collect::<Vec<_>>() {
            if !self.widened.contains(&wider) {
                self.widened.push(wider);
            }
        }
        compiled.map_err(|error| self.error.get_or_insert((tool.to_owned(), error)).clone()).ok()
    }

    /// The answer that a schema asks for.
    pub(super) fn response(&mut self, builder: &mut Builder, schema: &Value) -> Option<Expr> {
        self.typed(builder, "", "answer", schema, schema, Syntax::Json)
    }

    /// Raw text is not checked against its schema: says what is lost.
    pub(super) fn note_text(&mut self, tool: &str, property: &str, schema: &Value) {
        const LOST: [&str; 4] = ["pattern", "format", "minLength", "maxLength"];
        for keyword in LOST.into_iter().filter(|keyword| schema.get(keyword).is_some()) {
            let path = format!("/properties/{}", property.replace('~', "~0").replace('/', "~1"));
            self.note(tool, &path, keyword, "the value is written as raw text");
        }
    }

    /// Notes that something is accepted more widely, once.
    pub(super) fn note(&mut self, tool: &str, path: &str, keyword: &str, why: &str) {
        let what = Widened { path: path.to_owned(), keyword: keyword.to_owned(), why: why.to_owned() };
        let wider = Wider { tool: tool.to_owned(), what };
        if !self.widened.contains(&wider) {
            self.widened.push(wider);
        }
    }

    // ----- names -----

    /// A name of characters of `class`, none of `known`.
    pub(super) fn other_than(&mut self, builder: &mut Builder, known: &[&str], class: &Class) -> Expr {
        other_than(builder, known, class, NAME)
    }
}

/// A short string without escapes.
fn plain_string(builder: &mut Builder, name: &str, syntax: Syntax) -> Expr {
    let class =
        Class::ranges([('\0', '\u{1f}'), ('"', '"'), ('\'', '\''), ('\\', '\\'), ('\u{7f}', '\u{7f}')]).negate();
    let inside = builder.rule(&format!("any-{name}"), repeat(class, 1, Some(NAME)));
    builder.set_syntax(syntax);
    schema::quoted(builder, inside.into())
}
