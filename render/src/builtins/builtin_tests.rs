//! Jinja2's tests: `value is name(args)`.

use crate::builtins::filter_names;
use crate::error::{Fault, Outcome};
use crate::operators::arithmetic::arith;
use crate::operators::comparison::{compare, contains};
use crate::run::Run;
use crate::syntax::ast::{Arith, Comparison};
use crate::value::compare::{equal, identical};
use crate::value::repr;
use crate::value::types::Value;

const NAMES: &str = "!= < <= == > >= boolean callable defined divisibleby eq equalto escaped even false filter float \
    ge greaterthan gt in integer iterable le lessthan lower lt mapping ne none number odd sameas \
    sequence string test true undefined upper";

/// Whether there is a test of this name.
fn exists(name: &str) -> bool {
    NAMES.split(' ').any(|known| known == name)
}

/// `value is name(args)`.
pub(crate) fn test(run: &Run, name: &str, value: &Value, args: Vec<Value>) -> Outcome<bool> {
    value.decide(run);
    args.iter().for_each(|arg| arg.decide(run));
    let mut args = args.into_iter();
    let mut argument = || args.next().ok_or_else(|| Fault::new(format!("test '{name}' needs an argument")));
    let compared = |op, other: &Value| compare(run, op, value, other);
    Ok(match name {
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "none" => matches!(value, Value::None(_)),
        "boolean" => matches!(value, Value::Bool(_, _)),
        "true" => matches!(value, Value::Bool(true, _)),
        "false" => matches!(value, Value::Bool(false, _)),
        "integer" => matches!(value, Value::Int(_, _)),
        "float" => matches!(value, Value::Float(_, _)),
        "number" => matches!(value, Value::Int(_, _) | Value::Float(_, _) | Value::Bool(_, _)),
        "string" => matches!(value, Value::Str(_)),
        "mapping" => matches!(value, Value::Dict(_)),
        "sequence" => matches!(
            value,
            Value::Undefined(_) | Value::Str(_) | Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::Range(_)
        ),
        "iterable" => matches!(
            value,
            Value::Undefined(_)
                | Value::Str(_)
                | Value::List(_)
                | Value::Tuple(_)
                | Value::Dict(_)
                | Value::View(..)
                | Value::Range(_)
                | Value::Iter(_)
                | Value::Loop(_)
        ),
        "callable" => matches!(
            value,
            Value::Undefined(_)
                | Value::Macro(_)
                | Value::Method(_)
                | Value::Global(_)
                | Value::Joiner(_)
                | Value::Loop(_)
        ),
        "escaped" => matches!(value, Value::Str(text) if text.safe),
        "lower" | "upper" => {
            let text = repr::string(run, value)?;
            let (upper, lower) = (text.chars().any(char::is_uppercase), text.chars().any(char::is_lowercase));
            if name == "lower" { lower && !upper } else { upper && !lower }
        }
        "odd" | "even" | "divisibleby" => {
            let divisor = if name == "divisibleby" { argument()? } else { Value::int(2) };
            let rest = arith(run, Arith::Rem, value, &divisor)?;
            equal(run, &rest, &Value::int((name == "odd").into()))?
        }
        "sameas" => identical(value, &argument()?),
        "in" => contains(run, &argument()?, value)?,
        "eq" | "equalto" | "==" => compared(Comparison::Eq, &argument()?)?,
        "ne" | "!=" => compared(Comparison::Ne, &argument()?)?,
        "lt" | "lessthan" | "<" => compared(Comparison::Lt, &argument()?)?,
        "le" | "<=" => compared(Comparison::Le, &argument()?)?,
        "gt" | "greaterthan" | ">" => compared(Comparison::Gt, &argument()?)?,
        "ge" | ">=" => compared(Comparison::Ge, &argument()?)?,
        "filter" => value.as_str().is_some_and(filter_names::exists),
        "test" => value.as_str().is_some_and(exists),
        _ => return Err(Fault::new(format!("No test named '{name}'."))),
    })
}
