//! Values of arguments in the syntax of a format: any value, or values that fit a schema.

use serde_json::{Map, Value};
use unjinja_runtime::schema::extend_pointer;

use crate::builder::Builder;
use crate::escaped::Escaped;
use crate::expr::{Class, Expr, RuleId};
use crate::key_order::Sorting;
use crate::schema::{self, Count, SchemaError, Schemas, Widened};
use crate::syntax::{Syntax, WhiteSpace};
use crate::text_rules::other_than;

/// A place where a grammar accepts more than was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wider {
    /// The name of the tool; empty for the response schema.
    pub tool: String,
    /// What is accepted, and why.
    pub what: Widened,
}

/// The rules for values, made when they are first needed, and the reports that were collected meanwhile.
#[derive(Default)]
pub(super) struct Values {
    space: Option<RuleId>,
    /// The white space between pieces of syntax that may be written by default.
    layouts: Vec<String>,
    pub(super) escaped: Escaped,
    sorting: Option<Sorting>,
    pub(super) widened: Vec<Wider>,
    /// The first required value for which no text fits the schema, with the name of its tool.
    pub(super) error: Option<(String, SchemaError)>,
}

impl Values {
    pub(super) fn new(sorting: Option<Sorting>, layouts: Vec<String>) -> Self {
        Self { sorting, layouts, ..Self::default() }
    }

    /// Optional white space between pieces of syntax.
    #[inline(never)]
    pub(super) fn space(&mut self, builder: &mut Builder) -> Expr {
        if let Some(space) = self.space {
            return space.into();
        }
        let space = match builder.manner().white_space {
            WhiteSpace::Free if builder.manner().unlimited => builder.read("[ \t\n\r]*", &[]),
            WhiteSpace::Free => builder.read("[ \t\n\r]{0,20}", &[]),
            WhiteSpace::Template => {
                let mut texts: Vec<Expr> = self.layouts.iter().map(|layout| builder.text(layout.clone())).collect();
                if builder.manner().indents {
                    texts.push(schema::indentation(builder));
                }
                builder.choice(&texts)
            }
        };
        self.space.insert(builder.rule("layout", space)).to_owned().into()
    }

    // ----- any value -----

    /// Any value.
    pub(super) fn any(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        builder.set_syntax(syntax);
        schema::any_value(builder)
    }

    pub(super) fn any_but_text(&mut self, builder: &mut Builder, syntax: Syntax) -> Option<Expr> {
        let schema = no_string();
        self.typed(builder, "", "", &schema, &schema, syntax)
    }

    pub(super) fn any_object(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        builder.set_syntax(syntax);
        schema::any_object(builder)
    }

    pub(super) fn any_name(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        plain_string(builder, "name", syntax)
    }

    pub(super) fn any_id(&mut self, builder: &mut Builder, syntax: Syntax) -> Expr {
        let string = plain_string(builder, "id", syntax);
        builder.rule("call-id", builder.read("$0 | '0' | [1-9] [0-9]{0,19}", &[string])).into()
    }

    pub(super) fn exact(&self, builder: &mut Builder, string: &str, syntax: Syntax) -> Expr {
        builder.set_syntax(syntax);
        schema::spelled(builder, string)
    }

    // ----- values of a schema -----

    /// A value that fits a schema of the document `root`. `None` if there is none.
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
        // An answer that has to match a schema is no argument, so that its keys are not sorted.
        let sorting = self.sorting.filter(|_| !tool.is_empty());
        let mut schemas = Schemas::with(builder, root, sorting);
        let compiled = schemas.compile(if hint.is_empty() { "value" } else { hint }, schema);
        let widened = schemas.widened().into_iter().map(|what| Wider { tool: tool.to_owned(), what });
        for wider in widened.collect::<Vec<_>>() {
            if !self.widened.contains(&wider) {
                self.widened.push(wider);
            }
        }
        compiled.map_err(|error| self.error.get_or_insert((tool.to_owned(), error)).clone()).ok()
    }

    /// An answer that matches the response schema.
    pub(super) fn response(&mut self, builder: &mut Builder, schema: &Value) -> Option<Expr> {
        self.typed(builder, "", "answer", schema, schema, Syntax::Json)
    }

    /// The length of the strings that a schema of the document `root` allows. If its alternatives allow different lengths, this
    /// covers all of them, and the flag is false.
    pub(super) fn string_length(&self, builder: &mut Builder, root: &Value, schema: &Value) -> Option<(Count, bool)> {
        Schemas::new(builder, root).string_length(schema)
    }

    /// Reports keywords that are not checked for raw text.
    pub(super) fn note_text(&mut self, tool: &str, property: &str, keywords: &[(&str, &str)]) {
        let path = property_path(property);
        for (keyword, why) in keywords {
            self.note(tool, &path, keyword, why);
        }
    }

    /// Adds a report, unless it is there already.
    pub(super) fn note(&mut self, tool: &str, path: &str, keyword: &str, why: &str) {
        let what = Widened { path: path.to_owned(), keyword: keyword.to_owned(), why: why.to_owned() };
        let wider = Wider { tool: tool.to_owned(), what };
        if !self.widened.contains(&wider) {
            self.widened.push(wider);
        }
    }

    // ----- names -----

    /// A name of characters of `class` that is not one of `known`.
    pub(super) fn other_than(&mut self, builder: &mut Builder, known: &[&str], class: &Class) -> Expr {
        other_than(builder, known, [class, class])
    }
}

/// A schema with one keyword. (`json!` would link what serializes a value to a value.)
pub(super) fn schema_of(keyword: &str, value: Value) -> Value {
    let mut members = Map::new();
    members.insert(keyword.to_owned(), value);
    Value::Object(members)
}

/// The path of an argument in the schema of a tool.
pub(super) fn property_path(name: &str) -> String {
    let mut path = "/properties".to_owned();
    extend_pointer(&mut path, name);
    path
}

/// The schema of all JSON types but strings.
pub(super) fn no_string() -> Value {
    let mut types = Vec::new();
    for name in ["number", "boolean", "null", "object", "array"] {
        types.push(name.into());
    }
    schema_of("type", Value::Array(types))
}

/// A short string without escapes.
fn plain_string(builder: &mut Builder, name: &str, syntax: Syntax) -> Expr {
    let class =
        Class::ranges(&[('\0', '\u{1f}'), ('"', '"'), ('\'', '\''), ('\\', '\\'), ('\u{7f}', '\u{7f}')]).negate();
    let inside = builder.rule(&format!("any-{name}"), builder.some(class));
    builder.set_syntax(syntax);
    schema::quoted(builder, inside.into())
}
