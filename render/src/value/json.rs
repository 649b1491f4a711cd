//! JSON as Python reads and writes it: `json.loads` and `json.dumps`.

use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Fault, Outcome};
use crate::run::Run;
use crate::value::map::Key;
use crate::value::number;
use crate::value::sort::sort;
use crate::value::types::{Entry, Map, Text, Value};

/// The arguments of `json.dumps`.
#[derive(Default)]
pub(crate) struct Style {
    pub(crate) ensure_ascii: bool,
    /// What one level of indentation is written as; `None` for one line.
    pub(crate) indent: Option<String>,
    /// Between items, and between a key and its value.
    pub(crate) separators: Option<(String, String)>,
    pub(crate) sort_keys: bool,
}

/// `json.dumps(value, …)`.
pub(crate) fn dumps(run: &Run, value: &Value, style: &Style) -> Outcome<String> {
    let (item, key) = match &style.separators {
        Some((item, key)) => (item.as_str(), key.as_str()),
        None if style.indent.is_some() => (",", ": "),
        None => (", ", ": "),
    };
    let mut writer = Writer { run, style, item, key, out: String::new(), level: 0 };
    writer.value(value)?;
    Ok(writer.out)
}

struct Writer<'a> {
    run: &'a Run,
    style: &'a Style,
    item: &'a str,
    key: &'a str,
    out: String,
    level: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) -> Outcome<()> {
        let before = self.out.len();
        match value {
            Value::None => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Int(i) => self.out.push_str(&i.to_string()),
            Value::Float(f) => self.out.push_str(&float(*f)),
            Value::Str(text) => self.string(&text.s)?,
            Value::List(list) => {
                self.run.read_whole(&list.path);
                self.array(&list.items.borrow())?;
            }
            Value::Tuple(tuple) => self.array(&tuple.items)?,
            Value::Dict(dict) => {
                self.run.read_whole(&dict.path);
                self.object(&dict.map.borrow().entries)?;
            }
            Value::Undefined(_) => return Err(Fault::new("Object of type Undefined is not JSON serializable")),
            other => return Err(other.fault(|t| format!("Object of type {t} is not JSON serializable"))),
        }
        self.run.make(self.out.len() - before)
    }

    fn string(&mut self, s: &str) -> Outcome<()> {
        self.run.make(s.len())?;
        self.out.push('"');
        for c in s.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\x08' => self.out.push_str("\\b"),
                '\x0c' => self.out.push_str("\\f"),
                c if (c as u32) < 0x20 => self.out.push_str(&format!("\\u{:04x}", c as u32)),
                c if self.style.ensure_ascii && (c as u32) > 0x7e => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
        Ok(())
    }

    /// Starts a new line with its indentation, if the style has lines.
    fn line(&mut self) -> Outcome<()> {
        if let Some(indent) = &self.style.indent {
            self.run.make(1 + indent.len().saturating_mul(self.level))?;
            self.out.push('\n');
            for _ in 0..self.level {
                self.out.push_str(indent);
            }
        }
        Ok(())
    }

    fn separate(&mut self, first: bool) -> Outcome<()> {
        if !first {
            self.run.make(self.item.len())?;
            self.out.push_str(self.item);
        }
        self.line()
    }

    fn array(&mut self, items: &[Value]) -> Outcome<()> {
        let run = self.run;
        let _level = run.deeper()?;
        if items.is_empty() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.out.push('[');
        self.level += 1;
        for (i, item) in items.iter().enumerate() {
            self.separate(i == 0)?;
            self.value(item)?;
        }
        self.level -= 1;
        self.line()?;
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, entries: &[Entry]) -> Outcome<()> {
        let run = self.run;
        let _level = run.deeper()?;
        if entries.is_empty() {
            self.out.push_str("{}");
            return Ok(());
        }
        self.out.push('{');
        self.level += 1;
        let mut order: Vec<&Entry> = entries.iter().collect();
        if self.style.sort_keys {
            let keyed = entries.iter().enumerate().map(|(i, e)| (e.shown.clone(), Value::Int(i as i128))).collect();
            let sorted = sort(run, keyed, false)?;
            let position = |v: &Value| v.as_int().and_then(|i| usize::try_from(i).ok());
            order = sorted.iter().filter_map(|v| entries.get(position(v)?)).collect();
        }
        for (i, entry) in order.into_iter().enumerate() {
            self.separate(i == 0)?;
            match &entry.shown {
                Value::Str(text) => self.string(&text.s)?,
                Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                    self.out.push('"');
                    self.value(&entry.shown)?;
                    self.out.push('"');
                }
                other => {
                    let name = other.type_name();
                    return Err(Fault::new(format!("keys must be str, int, float, bool or None, not {name}")));
                }
            }
            self.run.make(self.key.len())?;
            self.out.push_str(self.key);
            self.value(&entry.value)?;
        }
        self.level -= 1;
        self.line()?;
        self.out.push('}');
        Ok(())
    }
}

/// A float; JSON has no infinity, but Python writes one.
fn float(f: f64) -> String {
    if f.is_nan() {
        "NaN".to_owned()
    } else if f.is_infinite() {
        if f > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        number::float(f)
    }
}

/// A number as Python's json module reads it.
fn json_number(n: &serde_json::Number) -> Value {
    if let Some(i) = n.as_i64() {
        return Value::Int(i.into());
    }
    match (n.as_u64(), n.as_f64()) {
        (Some(u), _) => Value::Int(u.into()),
        (None, Some(f)) => Value::Float(f),
        (None, None) => Value::None,
    }
}

/// `json.loads(text)`.
pub(crate) fn loads(run: &Run, text: &str) -> Outcome<Value> {
    run.make(text.len())?;
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|e| Fault::new(format!("from_json: not JSON: {e}")))?;
    from_json(run, &json, None)
}

/// A dict from pairs of names and values.
pub(crate) fn dict_of(run: &Run, pairs: Vec<(Arc<str>, Value)>) -> Outcome<Value> {
    let mut map = Map::default();
    for (name, value) in pairs {
        map.insert(Key::Str(name.clone()), Value::Str(Text::plain(name)), value);
    }
    Value::dict(run, map)
}

/// A value from JSON. `path` is its place in the context, if reads of it are to be recorded.
pub(crate) fn from_json(run: &Run, json: &serde_json::Value, path: Option<&str>) -> Outcome<Value> {
    use serde_json::Value as J;
    let _level = run.deeper()?;
    run.make(size_of::<Value>())?;
    Ok(match json {
        J::Null => Value::None,
        J::Bool(b) => Value::Bool(*b),
        J::Number(n) => json_number(n),
        J::String(s) => {
            run.make(s.len())?;
            Value::from(s.as_str())
        }
        J::Array(items) => {
            let inner = path.map(|p| format!("{p}[]"));
            let items = items.iter().map(|v| from_json(run, v, inner.as_deref()));
            Value::list_at(run, items.collect::<Outcome<_>>()?, path.map(Rc::from))?
        }
        J::Object(object) => {
            let mut map = Map::default();
            for (key, value) in object {
                run.make(key.len() + size_of::<Entry>())?;
                let inner = path.map(|p| format!("{p}.{key}"));
                let text = Text::plain(key.as_str());
                map.insert(Key::Str(text.s.clone()), Value::Str(text), from_json(run, value, inner.as_deref())?);
            }
            Value::dict_at(run, map, path.map(Rc::from))?
        }
    })
}
