//! JSON schemas compiled into grammars of JSON.
//!
//! A schema says which values are valid, a grammar which texts are written. What the grammar fixes beyond the schema:
//! properties come in the schema's order, those that it does not name after them; white space is bounded; a name and
//! a value that the schema spells out are written as JSON writes them, with no other escapes. What a grammar cannot
//! say it accepts more widely, and the report says so. No valid value is ever refused for its content.
//!
//! Schemas come from outside. Nothing here recurses deeper than a limit, and all work is under a budget; where one runs
//! out, any value is accepted in that place, and reported.
//!
//! The way of a schema: [`flat`] takes references and combinations apart into alternatives of plain keywords;
//! [`facts`] joins the keywords of one alternative; [`value`], [`object`], [`array`], [`number`] and [`string`] write
//! what each type may be; [`check`] tests values that the schema itself gives.

mod alternatives;
mod array;
mod bounds;
mod check;
mod condition;
mod constraints;
mod format;
mod json;
mod number;
mod object;
mod one_of;
mod references;
mod regex;
mod string;
mod types;
mod value;

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::{Builder, Expr, RuleId};
use condition::Condition;
use references::References;

/// How many schemas are looked at.
const BUDGET: usize = 20_000;
/// How deep schemas nest.
const DEPTH: usize = 64;
/// How many reports are kept.
const REPORTS: usize = 1000;

/// What the grammar accepts more widely than the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widened {
    /// The schema that says it, as a JSON pointer into the whole.
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
    /// Where the contradiction is, as a JSON pointer into the whole.
    pub path: String,
    /// What contradicts.
    pub why: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no value fits the schema: #{}: {}", self.path, self.why)
    }
}

impl std::error::Error for SchemaError {}

/// Compiles a schema: what the values that fit it are written like, and what is accepted more widely.
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
/// A schema that no value fits.
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

/// White space as JSON has it, bounded, or none.
pub fn white_space(builder: &mut Builder) -> Expr {
    json::space(builder).into()
}

/// This string, in the syntax of the builder.
pub(super) fn spelled(builder: &Builder, string: &str) -> Expr {
    json::spelled(builder, string)
}

/// What stands in a string, between the quotes of the builder's syntax.
pub(super) fn quoted(builder: &Builder, inside: Expr) -> Expr {
    json::quoted(builder, inside)
}

/// The schemas of one document, to be compiled one by one into the same builder.
#[derive(Debug)]
pub struct Schemas<'s, 'b> {
    builder: &'b mut Builder,
    root: &'s Value,
    /// What is known of each combination of schemas.
    known: HashMap<Vec<Condition<'s>>, Known<'s>>,
    references: References<'s>,
    budget: usize,
    depth: usize,
    reports: Vec<Report<'s>>,
}

/// A combination of schemas: being compiled (and the rule that stands for it, if it was met inside itself), or done.
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

/// Why nothing fits, and the schema that says so, where it is known.
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
    /// The schemas of a document: references lead into it, reports are relative to it.
    pub fn new(builder: &'b mut Builder, root: &'s Value) -> Self {
        let known = HashMap::new();
        Self { builder, root, known, references: References::new(root), budget: BUDGET, depth: 0, reports: Vec::new() }
    }

    /// What a schema of the document allows.
    ///
    /// # Errors
    /// If no value fits it.
    pub fn compile(&mut self, hint: &str, schema: &'s Value) -> Result<Expr, SchemaError> {
        self.value(hint, vec![Condition::Schema(schema)]).map_err(|impossible| self.error(&impossible))
    }

    /// What was accepted more widely so far, each once, in the order of the document.
    pub fn widened(&self) -> Vec<Widened> {
        let wanted = self.reports.iter().filter_map(|report| report.schema).collect();
        let paths = paths(self.root, wanted);
        let path = |schema: Option<&Value>| schema.and_then(|schema| paths.get(&std::ptr::from_ref(schema)).cloned());
        let mut widened: Vec<(usize, Widened)> = Vec::new();
        for report in &self.reports {
            let (at, path) = path(report.schema).unwrap_or_default();
            let keyword = report.keyword.to_owned();
            widened.push((at, Widened { path, keyword, why: report.why.to_owned() }));
        }
        widened.sort_by(|(at, one), (other_at, other)| {
            at.cmp(other_at).then_with(|| one.keyword.cmp(&other.keyword)).then_with(|| one.why.cmp(&other.why))
        });
        widened.dedup();
        widened.into_iter().map(|(_, widened)| widened).collect()
    }

    fn error(&self, impossible: &Impossible<'s>) -> SchemaError {
        let found = impossible.schema.map(|schema| (paths(self.root, vec![schema]), std::ptr::from_ref(schema)));
        let path = found.and_then(|(mut paths, schema)| paths.remove(&schema)).unwrap_or_default().1;
        SchemaError { path, why: impossible.why.to_owned() }
    }

    /// Notes that something is accepted more widely.
    fn report(&mut self, schema: Option<&'s Value>, keyword: &'static str, why: &'static str) {
        if self.reports.len() < REPORTS {
            self.reports.push(Report { schema, keyword, why });
        }
    }

    fn rule(&mut self, hint: &str, expr: impl Into<Expr>) -> Expr {
        self.builder.rule(hint, expr).into()
    }
}

/// Where each of these values stands in a document: how many stand before it, and its JSON pointer.
fn paths<'s>(root: &'s Value, wanted: Vec<&'s Value>) -> HashMap<*const Value, (usize, String)> {
    let wanted: std::collections::HashSet<*const Value> = wanted.into_iter().map(std::ptr::from_ref).collect();
    let mut found = HashMap::new();
    // Values to look at, each with its parent's number and its own name; parents stay until their children are done.
    let mut seen: Vec<(usize, String)> = Vec::new();
    let mut pending = vec![(root, 0, String::new())];
    while let Some((value, parent, name)) = pending.pop() {
        if found.len() == wanted.len() {
            break;
        }
        let number = seen.len();
        if wanted.contains(&std::ptr::from_ref(value)) {
            let mut names = vec![name.as_str()];
            let mut at = parent;
            while at > 0 {
                let (above, name) = &seen[at];
                names.push(name);
                at = *above;
            }
            let path = names.iter().rev().filter(|_| number > 0);
            let path: String = path.map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
            found.insert(std::ptr::from_ref(value), (number, path));
        }
        seen.push((parent, name));
        match value {
            Value::Array(items) => {
                pending.extend(items.iter().enumerate().rev().map(|(at, item)| (item, number, at.to_string())));
            }
            Value::Object(members) => {
                pending.extend(members.iter().rev().map(|(name, member)| (member, number, name.clone())));
            }
            _ => {}
        }
    }
    found
}
