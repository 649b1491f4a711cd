//! JSON as Python reads and writes it: `json.loads` and `json.dumps`.

use std::sync::Arc;

use crate::error::{Fault, Outcome};
use crate::labels::{Encoding, FieldPart};
use crate::marks::{Mark, PathStep};
use crate::run::{ContainerSource, Run};
use crate::value::labelled::Buffer;
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
pub(crate) fn dumps(run: &Run, value: &Value, style: &Style) -> Outcome<Text> {
    let (item, key) = match &style.separators {
        Some((item, key)) => (item.as_str(), key.as_str()),
        None if style.indent.is_some() => (",", ": "),
        None => (", ", ": "),
    };
    let mut writer = Writer { run, style, item, key, out: Buffer::default(), level: 0 };
    writer.value(value)?;
    Ok(writer.out.into_text(false))
}

struct Writer<'a> {
    run: &'a Run,
    style: &'a Style,
    item: &'a str,
    key: &'a str,
    out: Buffer,
    level: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) -> Outcome<()> {
        let run = self.run;
        let before = self.out.len();
        match value {
            Value::None(mark) => self.scalar("null", *mark)?,
            Value::Bool(true, mark) => self.scalar("true", *mark)?,
            Value::Bool(false, mark) => self.scalar("false", *mark)?,
            Value::Int(i, mark) => self.scalar(&i.get().to_string(), *mark)?,
            Value::Float(f, mark) => self.scalar(&float(*f), *mark)?,
            Value::Str(text) => self.string(text, run.syntax(text.outer_mark(), Encoding::Json))?,
            Value::List(list) => {
                self.run.read_whole(&list.source);
                self.array(&list.items.borrow(), self.around(&list.source))?;
            }
            Value::Tuple(tuple) => self.array(&tuple.items, Mark::NONE)?,
            Value::Dict(dict) => {
                self.run.read_whole(&dict.source);
                self.object(&dict.map.borrow().entries, self.around(&dict.source))?;
            }
            Value::Undefined(_) => return Err(Fault::new("Object of type Undefined is not JSON serializable")),
            other => return Err(other.fault(|t| format!("Object of type {t} is not JSON serializable"))),
        }
        self.run.make(self.out.len() - before)
    }

    /// The mark of a container's punctuation.
    fn around(&self, source: &ContainerSource) -> Mark {
        self.run.syntax(source.mark, Encoding::Json)
    }

    fn scalar(&mut self, text: &str, mark: Mark) -> Outcome<()> {
        self.out.push_marked(self.run, text, self.run.encoded(mark, Encoding::Json))
    }

    /// Writes a string. `around` is the mark of its quotes.
    fn string(&mut self, text: &Text, around: Mark) -> Outcome<()> {
        let run = self.run;
        run.make(text.s.len())?;
        self.out.push_marked(run, "\"", around)?;
        let ensure_ascii = self.style.ensure_ascii;
        let special = |b: u8| b < 0x20 || b == b'"' || b == b'\\' || (ensure_ascii && b > 0x7e);
        self.out.push_mapped(run, text, Encoding::Json, special, |c, out| match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if ensure_ascii && (c as u32) > 0x7e => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        })?;
        self.out.push_marked(run, "\"", around)
    }

    /// Starts a new line with its indentation, if the style has lines.
    fn line(&mut self, around: Mark) -> Outcome<()> {
        let before = self.out.len();
        if let Some(indent) = &self.style.indent {
            self.run.make(1 + indent.len().saturating_mul(self.level))?;
            self.out.push('\n');
            for _ in 0..self.level {
                self.out.push_str(indent);
            }
        }
        self.out.mark_from(self.run, before, around)
    }

    fn separate(&mut self, first: bool, around: Mark) -> Outcome<()> {
        if !first {
            self.run.make(self.item.len())?;
            self.out.push_marked(self.run, self.item, around)?;
        }
        self.line(around)
    }

    fn array(&mut self, items: &[Value], around: Mark) -> Outcome<()> {
        let run = self.run;
        let _level = run.deeper()?;
        if items.is_empty() {
            return self.out.push_marked(run, "[]", around);
        }
        self.out.push_marked(run, "[", around)?;
        self.level += 1;
        for (i, item) in items.iter().enumerate() {
            self.separate(i == 0, around)?;
            self.value(item)?;
        }
        self.level -= 1;
        self.line(around)?;
        self.out.push_marked(run, "]", around)
    }

    fn object(&mut self, entries: &[Entry], around: Mark) -> Outcome<()> {
        let run = self.run;
        let _level = run.deeper()?;
        if entries.is_empty() {
            return self.out.push_marked(run, "{}", around);
        }
        self.out.push_marked(run, "{", around)?;
        self.level += 1;
        let mut order: Vec<&Entry> = entries.iter().collect();
        if self.style.sort_keys {
            let keyed = entries.iter().enumerate().map(|(i, e)| (e.shown.clone(), Value::int(i as i128))).collect();
            let sorted = sort(run, keyed, false)?;
            let position = |v: &Value| v.as_int().and_then(|i| usize::try_from(i).ok());
            order = sorted.iter().filter_map(|v| entries.get(position(v)?)).collect();
        }
        for (i, entry) in order.into_iter().enumerate() {
            self.separate(i == 0, around)?;
            // The quotes of a key belong to the object, if that has a label.
            let quote = around.or(run.syntax(entry.shown.mark(), Encoding::Json));
            match &entry.shown {
                Value::Str(text) => self.string(text, quote)?,
                Value::None(_) | Value::Bool(_, _) | Value::Int(_, _) | Value::Float(_, _) => {
                    self.out.push_marked(run, "\"", quote)?;
                    self.value(&entry.shown)?;
                    self.out.push_marked(run, "\"", quote)?;
                }
                other => {
                    let name = other.type_name();
                    return Err(Fault::new(format!("keys must be str, int, float, bool or None, not {name}")));
                }
            }
            self.run.make(self.key.len())?;
            self.out.push_marked(run, self.key, around)?;
            self.value(&entry.value)?;
        }
        self.level -= 1;
        self.line(around)?;
        self.out.push_marked(run, "}", around)
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
fn json_number(n: &serde_json::Number, mark: Mark) -> Value {
    if let Some(i) = n.as_i64() {
        return Value::Int(i128::from(i).into(), mark);
    }
    match (n.as_u64(), n.as_f64()) {
        (Some(u), _) => Value::Int(i128::from(u).into(), mark),
        (None, Some(f)) => Value::Float(f, mark),
        (None, None) => Value::None(mark),
    }
}

/// `json.loads(text)`. Everything in it has the label of the text's beginning.
pub(crate) fn loads(run: &Run, text: &Text) -> Outcome<Value> {
    run.make(text.s.len())?;
    let json: serde_json::Value =
        serde_json::from_str(&text.s).map_err(|e| Fault::new(format!("from_json: not JSON: {e}")))?;
    from_json(run, &json, None, Origin::Text(run.other([text.first_mark()])))
}

/// A dict from pairs of names and values.
pub(crate) fn dict_of(run: &Run, pairs: Vec<(Arc<str>, Value)>) -> Outcome<Value> {
    let mut map = Map::default();
    for (name, value) in pairs {
        map.insert(Key::Str(name.clone()), Value::Str(Text::plain(name)), value);
    }
    Value::dict(run, map)
}

/// Where JSON comes from.
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    /// A place in the context: everything inside has a place of its own below it.
    Context(Mark),
    /// A text that was parsed: everything inside has the mark of the text.
    Text(Mark),
}

impl Origin {
    fn mark(self) -> Mark {
        let (Origin::Context(mark) | Origin::Text(mark)) = self;
        mark
    }

    /// Where a part of this comes from.
    fn step(self, run: &Run, step: impl FnOnce() -> PathStep) -> Origin {
        match self {
            Origin::Context(mark) if mark.is_some() => Origin::Context(run.place(mark, step)),
            same => same,
        }
    }
}

/// A value from JSON. `path` is its place in the context, if reads of it are to be recorded.
pub(crate) fn from_json(run: &Run, json: &serde_json::Value, path: Option<&str>, origin: Origin) -> Outcome<Value> {
    use serde_json::Value as J;
    let _level = run.deeper()?;
    run.make(size_of::<Value>())?;
    let mark = origin.mark();
    Ok(match json {
        J::Null => Value::None(mark),
        J::Bool(b) => Value::Bool(*b, mark),
        J::Number(n) => json_number(n, mark),
        J::String(s) => {
            run.make(s.len())?;
            Value::Str(Text::marked(s.as_str(), mark))
        }
        J::Array(items) => {
            let inner = path.map(|p| format!("{p}[]"));
            let item = |(i, v)| from_json(run, v, inner.as_deref(), origin.step(run, || PathStep::Index(i)));
            let items = items.iter().enumerate().map(item);
            Value::list_at(run, items.collect::<Outcome<_>>()?, ContainerSource::new(path, mark))?
        }
        J::Object(object) => {
            if let Some(digits) = run.integer_key.and_then(|key| object.get(key)).and_then(J::as_str)
                && let (1, Ok(integer)) = (object.len(), digits.parse::<i128>())
            {
                return Ok(Value::Int(integer.into(), mark));
            }
            let mut map = Map::default();
            for (key, value) in object {
                run.make(key.len() + size_of::<Entry>())?;
                let inner = path.map(|p| format!("{p}.{key}"));
                let key: Arc<str> = Arc::from(key.as_str());
                let origin = origin.step(run, || PathStep::Key(key.clone()));
                let shown = Text::marked(key.clone(), origin.mark().part(FieldPart::Key));
                map.insert(Key::Str(key), Value::Str(shown), from_json(run, value, inner.as_deref(), origin)?);
            }
            Value::dict_at(run, map, ContainerSource::new(path, mark))?
        }
    })
}
