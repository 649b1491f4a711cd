//! The method `str.format`: `'…{}…'.format(values)`.

use std::sync::Arc;

use crate::error::{Fault, Outcome};
use crate::operators::format_spec;
use crate::operators::lookup::{get_attr, get_item};
use crate::run::Run;
use crate::value::labelled::Buffer;
use crate::value::repr;
use crate::value::types::{Text, Value};

/// How deep fields may nest in the specifications of other fields, counting the format string itself.
const NESTING: usize = 3;

/// `text.format(*positional, **named)`.
pub(crate) fn str_format(run: &Run, format: &Text, positional: &[Value], named: &[(Arc<str>, Value)]) -> Outcome<Text> {
    let mut fields = Fields { run, format, positional, named, next: 0 };
    let mut out = Buffer::default();
    fields.expand(&format.s, NESTING, &mut out)?;
    Ok(out.into_text(format.safe))
}

/// The replacement fields of one format string.
struct Fields<'a> {
    run: &'a Run,
    format: &'a Text,
    positional: &'a [Value],
    named: &'a [(Arc<str>, Value)],
    /// The position that the next `{}` takes.
    next: usize,
}

impl Fields<'_> {
    /// Appends `format`, a part of the format string, with its fields replaced.
    fn expand(&mut self, format: &str, nesting: usize, out: &mut Buffer) -> Outcome<()> {
        let Some(nesting) = nesting.checked_sub(1) else {
            return Err(Fault::new("Max string recursion exceeded"));
        };
        self.run.make(format.len())?;
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            out.push_sub(self.run, self.format, before, None)?;
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                out.push_str(from.get(..1).unwrap_or(""));
                rest = after;
                continue;
            }
            let Some(inner) = from.strip_prefix('{') else {
                return Err(Fault::new("Single '}' encountered in format string"));
            };
            let mut open = 1i32;
            let end = inner.char_indices().find_map(|(i, c)| {
                open += i32::from(c == '{') - i32::from(c == '}');
                (open == 0).then_some(i)
            });
            let Some(end) = end else { return Err(Fault::new("expected '}' before end of string")) };
            let (field, after) = inner.split_at(end);
            self.field(field, nesting, out)?;
            rest = after.get(1..).unwrap_or("");
        }
        out.push_sub(self.run, self.format, rest, None)
    }

    /// Appends one field: `reference!conversion:spec`.
    fn field(&mut self, field: &str, nesting: usize, out: &mut Buffer) -> Outcome<()> {
        let (reference, spec) = field.split_once(':').unwrap_or((field, ""));
        let (reference, conversion) = match reference.split_once('!') {
            Some((reference, conversion)) => (reference, Some(conversion)),
            None => (reference, None),
        };
        let mut value = self.value(reference)?;
        match conversion {
            Some("r" | "a") => value = Value::Str(repr::repr(self.run, &value)?),
            Some("s") => value = Value::Str(Text { safe: false, ..repr::soft_string(self.run, &value)? }),
            _ => {}
        }
        let mut expanded = Buffer::default();
        self.expand(spec, nesting, &mut expanded)?;
        format_spec::apply(self.run, &value, expanded.as_str(), out)
    }

    /// The value that a field refers to: `0.name[key]`.
    fn value(&mut self, reference: &str) -> Outcome<Value> {
        let end = reference.find(['.', '[']).unwrap_or(reference.len());
        let (first, mut path) = reference.split_at(end);
        let index = if first.is_empty() {
            self.next += 1;
            Some(self.next - 1)
        } else {
            first.parse().ok()
        };
        let mut value = match index {
            Some(index) => self.positional.get(index).cloned().ok_or_else(|| {
                Fault::new(format!("Replacement index {index} out of range for positional args tuple"))
            })?,
            None => {
                let found = self.named.iter().find(|(name, _)| **name == *first);
                found.map(|(_, v)| v.clone()).ok_or_else(|| Fault::new(format!("KeyError: '{first}'")))?
            }
        };
        while !path.is_empty() {
            if let Some(inner) = path.strip_prefix('[') {
                let (key, after) = inner.split_once(']').ok_or_else(|| Fault::new("Missing ']' in format string"))?;
                let key = key.parse().map_or_else(|_| Value::from(key), Value::int);
                value = get_item(self.run, &value, &key)?;
                path = after;
            } else {
                let inner = path.strip_prefix('.').unwrap_or(path);
                let end = inner.find(['.', '[']).unwrap_or(inner.len());
                let (name, after) = inner.split_at(end);
                value = get_attr(self.run, &value, name)?;
                path = after;
            }
        }
        Ok(value)
    }
}
