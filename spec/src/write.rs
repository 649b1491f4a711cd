//! Writes a document as TOML: keys in the order of the model, in one layout, with the same bytes on every machine. It
//! knows TOML, and no key of the model.

use crate::document::{Node, Value};
use crate::text::{key, quote};

/// The first line of a spec.
const HEADER: &str = "# Format spec, written by `unjinja analyze`. Corrections go into an overlay next to it.\n";

/// Columns up to which an array stays on one line.
const WIDTH: usize = 100;

/// A document as a TOML file.
pub(crate) fn toml(root: &Node) -> String {
    let mut out = String::from(HEADER);
    body(&mut out, "", root.entries());
    out
}

/// A value on one line.
pub(crate) fn inline(node: &Node) -> String {
    match &node.value {
        Value::String(text) => quote(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) if number.is_nan() => "nan".to_owned(),
        Value::Float(number) if number.is_infinite() => String::from(if *number > 0.0 { "inf" } else { "-inf" }),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(value) => value.to_string(),
        Value::Datetime(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Table(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(name, node)| format!("{} = {}", key(name), inline(node))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Whether a value is written with a header of its own (`[name]`, `[[name]]`) instead of after its key.
fn has_header(node: &Node) -> bool {
    match &node.value {
        // A table of nothing but numbers reads best on one line.
        Value::Table(entries) => {
            !entries.iter().all(|(_, node)| matches!(node.value, Value::Integer(_) | Value::Float(_)))
                || entries.is_empty()
        }
        Value::Array(items) => !items.is_empty() && items.iter().all(|item| matches!(item.value, Value::Table(_))),
        _ => false,
    }
}

/// The keys of a table, then the tables in it: TOML has no other order.
fn body(out: &mut String, path: &str, entries: &[(String, Node)]) {
    if path.is_empty() {
        out.push('\n');
    }
    for (name, node) in entries.iter().filter(|(_, node)| !has_header(node)) {
        assignment(out, name, node);
    }
    for (name, node) in entries.iter().filter(|(_, node)| has_header(node)) {
        let path = crate::text::join(path, name);
        match &node.value {
            Value::Array(items) => {
                for item in items {
                    out.push_str(&format!("\n[[{path}]]\n"));
                    body(out, &path, item.entries());
                }
            }
            _ => {
                let entries = node.entries();
                // A table that only holds tables is named by their headers.
                if entries.is_empty() || entries.iter().any(|(_, node)| !has_header(node)) {
                    out.push_str(&format!("\n[{path}]\n"));
                }
                body(out, &path, entries);
            }
        }
    }
}

fn assignment(out: &mut String, name: &str, node: &Node) {
    let line = format!("{} = {}\n", key(name), inline(node));
    match &node.value {
        Value::Array(items) if line.chars().count() > WIDTH + 1 => {
            out.push_str(&format!("{} = [\n", key(name)));
            for item in items {
                out.push_str(&format!("    {},\n", inline(item)));
            }
            out.push_str("]\n");
        }
        _ => out.push_str(&line),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::error::SpecFile;
    use crate::fault::{Fault, FaultKind};
    use crate::read::{Scope, read};

    /// Shapes that the model does not have today.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shapes {
        late: Vec<Late>,
        names: BTreeMap<String, String>,
        only_tables: Outer,
        plain: Vec<Vec<i64>>,
        maybe: Option<Inner>,
        rate: f64,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Late {
        End,
        Literal(String),
        Choice { ways: Vec<Inner>, default: u8 },
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        inner: Inner,
        steps: Vec<Inner>,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        text: String,
        count: Option<u8>,
    }

    fn parse(text: &str) -> Result<Node, crate::SpecError> {
        let (file, text) = ("shapes.toml".to_owned(), text.to_owned());
        Node::parse(&SpecFile { file, text })
    }

    #[test]
    fn other_shapes_come_back() -> Result<(), crate::SpecError> {
        let inner = |text: &str| Inner { text: text.to_owned(), count: Some(3) };
        let shapes = Shapes {
            late: vec![
                Late::End,
                Late::Literal("x\n".to_owned()),
                Late::Choice { ways: vec![inner("a"), inner("b")], default: 1 },
            ],
            names: [("a b".to_owned(), "c".to_owned()), (String::new(), "#".to_owned())].into(),
            only_tables: Outer { inner: inner("in"), steps: vec![inner("one"), inner("two")] },
            plain: vec![vec![1, -2], vec![]],
            maybe: Some(inner("yes")),
            rate: 0.5,
        };
        let written = toml(&Node::from_serialize(&shapes));
        let (read, faults) = read::<Shapes>(&parse(&written)?, Scope::Whole);
        assert!(faults.is_empty(), "{faults:?}\n{written}");
        assert_eq!(read.as_ref(), Some(&shapes), "{written}");
        assert_eq!(toml(&Node::from_serialize(&read)), written);
        Ok(())
    }

    #[test]
    fn every_fault_is_found_at_its_key() -> Result<(), crate::SpecError> {
        let text = "late = ['end', 'ent', { literal = 1 }, { choice = { ways = [{ txt = '' }], default = 300 } }]\n\
                    rate = 'x'\nplain = [[1, 'a']]\n[maybe]\ncount = 1\n[only_tables]\nsteps = []\n";
        let (_, faults) = read::<Shapes>(&parse(text)?, Scope::Whole);
        let key =
            |fault: &Fault| (fault.key.clone().unwrap_or_default(), matches!(fault.kind, FaultKind::Missing { .. }));
        let mut keys: Vec<(String, bool)> = faults.iter().map(key).collect();
        keys.sort_unstable();
        let expected = [
            ("late[1]", false),
            ("late[2].literal", false),
            ("late[3].choice.default", false),
            ("late[3].choice.ways[0].text", true),
            ("late[3].choice.ways[0].txt", false),
            ("maybe.text", true),
            ("names", true),
            ("only_tables.inner", true),
            ("plain[0][1]", false),
            ("rate", false),
        ];
        let expected: Vec<(String, bool)> =
            expected.iter().map(|(key, missing)| ((*key).to_owned(), *missing)).collect();
        assert_eq!(keys, expected);
        Ok(())
    }
}
