//! JSON schemas compiled into grammars of JSON.
//!
//! A schema says which values are valid; a grammar says which texts are written. The grammar fixes some choices:
//! properties come in the schema's order, followed by those that the schema does not name, where the schema or an option
//! allows them; white space is bounded; names and values that the schema spells out are written without needless escapes. What a grammar cannot express, it
//! accepts, and the report says so. No valid value is ever refused for its content.
//!
//! Schemas come from outside. Recursion is limited and all work has a budget. Where a limit is reached, any value is
//! accepted, and that is reported.
//!
//! The path of a schema: [`alternatives`] resolves references and combinations into alternatives of plain keywords;
//! [`constraints`] joins the keywords of one alternative; [`value`], [`object`], [`array`], [`number`] and [`string`]
//! write what each type allows; [`check`] tests values that the schema itself contains.

mod alternatives;
mod array;
mod bounds;
mod check;
mod condition;
mod constraints;
mod format;
mod json;
mod length;
mod number;
mod object;
mod one_of;
mod regex;
mod string;
mod types;
mod value;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_json::Value;
use unjinja_runtime::schema::{Document, MAX_SCHEMAS, References, Walk};

use crate::builder::{Builder, IntoExpr};
use crate::expr::{Expr, RuleId};
use condition::Condition;

use crate::key_order::Sorting;

pub(crate) use bounds::Count;
pub(crate) use json::{indentation, numerals};
pub(crate) use object::{NAME_AGAIN, says_open};

const REPORTS: usize = 1000;

/// A keyword of a schema that the grammar does not enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widened {
    /// The schema with the keyword, as a JSON pointer from the root.
    pub path: String,
    /// The keyword.
    pub keyword: String,
    /// What is not checked, and why.
    pub why: String,
}

impl fmt::Display for Widened {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "#{}: `{}`: {}", self.path, self.keyword, self.why)
    }
}

/// A schema that no value fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The contradictory schema, as a JSON pointer from the root.
    pub path: String,
    /// The contradiction.
    pub why: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no value fits the schema: #{}: {}", self.path, self.why)
    }
}

impl std::error::Error for SchemaError {}

/// Compiles a schema. Returns the expression for the values that fit it, and the keywords that are not enforced.
///
/// ```
/// use serde_json::json;
/// use unjinja_grammar::{Builder, compile_schema};
///
/// let mut builder = Builder::new();
/// let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 8, "maximum": 12}},
///     "required": ["n"], "additionalProperties": false});
/// let (expr, widened) = compile_schema(&mut builder, "answer", &schema)?;
/// assert!(widened.is_empty());
/// assert!(builder.grammar(expr).contains(r#"[89] | "1" [0-2]"#));
/// # Ok::<(), unjinja_grammar::SchemaError>(())
/// ```
///
/// # Errors
/// No value fits the schema.
pub fn compile_schema(builder: &mut Builder, hint: &str, schema: &Value) -> Result<(Expr, Vec<Widened>), SchemaError> {
    let mut schemas = Schemas::new(builder, schema);
    let expr = schemas.compile(hint, schema)?;
    Ok((expr, schemas.widened()))
}

/// Any JSON value.
pub fn any_value(builder: &mut Builder) -> Expr {
    json::value(builder).into()
}

/// Any JSON object.
pub fn any_object(builder: &mut Builder) -> Expr {
    json::object(builder).into()
}

/// Any JSON string, in quotes.
pub fn any_string(builder: &mut Builder) -> Expr {
    json::string(builder).into()
}

/// White space of JSON: optional, and bounded.
pub fn white_space(builder: &mut Builder) -> Expr {
    json::space(builder).into()
}

pub(super) fn spelled(builder: &Builder, string: &str) -> Expr {
    json::spelled(builder, string)
}

/// The inside of a string with quotes around it, in the syntax of the builder.
pub(super) fn quoted(builder: &Builder, inside: Expr) -> Expr {
    json::quoted(builder, inside)
}

/// The schemas of one document. They are compiled one by one into the same builder.
#[derive(Debug)]
pub struct Schemas<'s, 'b> {
    builder: &'b mut Builder,
    root: &'s Value,
    /// The result for each combination of conditions.
    known: HashMap<Vec<Condition<'s>>, Known<'s>>,
    /// Collected at the first reference.
    references: OnceCell<References>,
    budget: usize,
    depth: usize,
    reports: Vec<Report<'s>>,
    /// The order in which templates sort keys.
    sorting: Option<Sorting>,
}

/// A combination of conditions: still being compiled (with its rule, if it occurred inside itself),
/// or finished.
#[derive(Clone, Debug)]
enum Known<'s> {
    Open(Option<RuleId>),
    Done(Outcome<'s, Expr>),
}

#[derive(Clone, Debug)]
struct Report<'s> {
    schema: Option<&'s Value>,
    keyword: &'static str,
    why: &'static str,
}

/// Why no value fits, and the schema that says so, if it is known.
#[derive(Clone, Debug)]
struct Impossible<'s> {
    schema: Option<&'s Value>,
    why: &'static str,
}

type Outcome<'s, T> = Result<T, Impossible<'s>>;

fn impossible<'s, T>(schema: Option<&'s Value>, why: &'static str) -> Outcome<'s, T> {
    Err(Impossible { schema, why })
}

impl<'s, 'b> Schemas<'s, 'b> {
    /// The schemas of a document. References are resolved in it, and reports are relative to it.
    pub fn new(builder: &'b mut Builder, root: &'s Value) -> Self {
        Self::with(builder, root, None)
    }

    /// The schemas of a document for templates that sort keys like this.
    pub(crate) fn with(builder: &'b mut Builder, root: &'s Value, sorting: Option<Sorting>) -> Self {
        Self {
            builder,
            root,
            known: HashMap::new(),
            references: OnceCell::new(),
            budget: MAX_SCHEMAS,
            depth: 0,
            reports: Vec::new(),
            sorting,
        }
    }

    /// The document in which references are looked up.
    fn document(&self) -> Document<'s, '_> {
        Document::new(self.root, self.references.get_or_init(|| References::of(self.root)))
    }

    /// The values that a schema of the document allows.
    ///
    /// # Errors
    /// No value fits the schema.
    pub fn compile(&mut self, hint: &str, schema: &'s Value) -> Result<Expr, SchemaError> {
        self.value(hint, vec![Condition::Schema(schema)]).map_err(|impossible| self.error(&impossible))
    }

    /// The keywords that the schemas compiled until now do not enforce, each once, in the order of the document.
    pub fn widened(&self) -> Vec<Widened> {
        let wanted: Vec<&Value> = self.reports.iter().filter_map(|report| report.schema).collect();
        let paths = paths(self.root, wanted);
        let path = |schema: Option<&Value>| schema.and_then(|schema| paths.get(&std::ptr::from_ref(schema)).cloned());
        let mut widened: Vec<(usize, Widened)> = Vec::new();
        for report in &self.reports {
            let (at, path) = path(report.schema).unwrap_or_default();
            let keyword = report.keyword.to_owned();
            widened.push((at, Widened { path, keyword, why: report.why.to_owned() }));
        }
        widened.sort_unstable_by(|(at, one), (other_at, other)| {
            at.cmp(other_at).then_with(|| one.keyword.cmp(&other.keyword)).then_with(|| one.why.cmp(&other.why))
        });
        widened.dedup();
        widened.into_iter().map(|(_, widened)| widened).collect()
    }

    fn error(&self, impossible: &Impossible<'s>) -> SchemaError {
        let found = impossible.schema.map(|schema| (paths(self.root, vec![schema]), std::ptr::from_ref(schema)));
        let path = found.and_then(|(paths, schema)| paths.get(&schema).cloned()).unwrap_or_default().1;
        SchemaError { path, why: impossible.why.to_owned() }
    }

    /// Reports a keyword that is not enforced.
    // Not inlined, like those that fifty places call in other files.
    #[inline(never)]
    fn report(&mut self, schema: Option<&'s Value>, keyword: &'static str, why: &'static str) {
        if self.reports.len() < REPORTS {
            self.reports.push(Report { schema, keyword, why });
        }
    }

    fn rule(&mut self, hint: &str, expr: impl IntoExpr) -> Expr {
        self.builder.rule(hint, expr).into()
    }
}

/// The position of each of these values in a document: the number of values before it, and its JSON pointer.
fn paths<'s>(root: &'s Value, wanted: Vec<&'s Value>) -> HashMap<*const Value, (usize, String)> {
    let wanted: HashSet<*const Value> = wanted.into_iter().map(std::ptr::from_ref).collect();
    let (mut found, mut walk, mut before) = (HashMap::new(), Walk::through(root), 0);
    while found.len() < wanted.len()
        && let Some((value, number)) = walk.next()
    {
        if wanted.contains(&std::ptr::from_ref(value)) {
            found.insert(std::ptr::from_ref(value), (before, walk.pointer(number)));
        }
        walk.enter(value, number, &[]);
        before += 1;
    }
    found
}
