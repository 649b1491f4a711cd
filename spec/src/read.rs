//! Reads a typed value from a document and finds every problem in it, not only the first.
//!
//! Serde stops at the first problem. So the reader notes the key at fault, leaves it out or gives it a placeholder, and
//! reads again, until nothing is wrong. The keys and their types come from the model's own `Deserialize`; nothing here
//! repeats them.
//!
//! A placeholder is `false`, 0, an empty text, the first variant. Because the model asks for every field, placeholders also tell the
//! shape of the model: which table has which keys, in which order. Values and placeholders come from one deserializer, because serde
//! makes a copy of the model's code for each.

use std::cell::RefCell;
use std::collections::HashMap;

use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};

use crate::document::{Node, Value};
use crate::fault::{Fault, FaultKind};
use crate::text;

/// The number of problems after which reading stops.
pub(crate) const MAX_FAULTS: usize = 60;

/// What may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A whole spec: required keys must be there.
    Whole,
    /// A part of a spec, such as an overlay: required keys may be absent, except in the items of arrays.
    Part,
}

/// Keys that an earlier reading found at fault, and what to do with each.
type Marks = HashMap<String, Mark>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Skip,
    Placeholder,
}

/// Reads a `T`, and all faults. If there are faults, the value holds placeholders at these keys, or is absent.
pub(crate) fn read<T: DeserializeOwned>(root: &Node, scope: Scope) -> (Option<T>, Vec<Fault>) {
    let mut faults: Vec<Fault> = Vec::new();
    let mut marks = Marks::new();
    loop {
        let fault = match T::deserialize(&Reader::new(Some(root), &marks, None)) {
            Ok(value) => return (Some(value), faults),
            Err(fault) => fault,
        };
        let key = fault.key.clone().unwrap_or_default();
        let mark = match fault.kind {
            FaultKind::Unknown { .. } => Mark::Skip,
            _ => Mark::Placeholder,
        };
        let known = key.is_empty() || marks.insert(key.clone(), mark).is_some();
        let missing = matches!(fault.kind, FaultKind::Missing { .. });
        let allowed = scope == Scope::Part && missing && !key.contains('[');
        if !allowed && (!known || faults.is_empty()) {
            faults.push(fault);
        }
        if known || faults.len() >= MAX_FAULTS {
            return (None, faults);
        }
    }
}

/// The tables of a model: dotted path (array items as `name[]`) and keys, outer before inner.
pub(crate) type Shape = Vec<(String, &'static [&'static str])>;

/// How deep a shape is followed; a type that contains itself would never end.
const MAX_DEPTH: usize = 8;

/// The tables of `T` and their keys, as its `Deserialize` asks for them.
pub(crate) fn shape_of<T: DeserializeOwned>() -> Shape {
    let (shape, marks) = (RefCell::new(Shape::new()), Marks::new());
    // If this fails, the shape is only shorter.
    let _ = T::deserialize(&Reader::new(None, &marks, Some(&shape)));
    shape.into_inner()
}

/// A value as messages describe it.
fn describe(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string {}", text::quote(&shorten(text))),
        Value::Integer(i128::MAX) => "a number out of range".to_owned(),
        Value::Integer(number) => format!("the number {number}"),
        Value::Float(number) => format!("the number {number:?}"),
        Value::Boolean(value) => value.to_string(),
        Value::Datetime(_) => "a date".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// A value short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(39).chain(['…']).collect()
}

/// Deserialises a value, or a placeholder where there is none.
#[derive(Clone)]
struct Reader<'a> {
    /// The value; `None` for a placeholder.
    node: Option<&'a Node>,
    path: String,
    marks: &'a Marks,
    /// Where the tables are recorded that are asked for.
    shape: Option<&'a RefCell<Shape>>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn new(node: Option<&'a Node>, marks: &'a Marks, shape: Option<&'a RefCell<Shape>>) -> Self {
        Self { node, path: String::new(), marks, shape, depth: 0 }
    }

    fn type_fault(&self, wanted: impl Into<String>) -> Fault {
        let found = self.node.map_or_else(String::new, |node| describe(&node.value));
        self.at_place(Fault::new(FaultKind::Type { found, wanted: wanted.into() }))
    }

    /// Gives a fault the place of the value, unless it has one.
    fn at_place(&self, fault: Fault) -> Fault {
        match self.node {
            Some(node) => fault.at(&self.path, node),
            None => fault,
        }
    }

    /// A value within this one, or a placeholder: where there is no value, or an earlier reading found it at fault.
    fn child(&self, path: String, node: Option<&'a Node>) -> Self {
        let node = node.filter(|_| !self.marks.contains_key(&path));
        Self { node, path, marks: self.marks, shape: self.shape, depth: self.depth + 1 }
    }

    fn value(&self) -> Option<&'a Value> {
        self.node.map(|node| &node.value)
    }

    /// Whether a placeholder has items and optional values, so that their shapes are recorded.
    fn is_recording(&self) -> bool {
        self.shape.is_some() && self.depth < MAX_DEPTH
    }

    /// The entries of a table; of a placeholder, none.
    fn entries(&self) -> Result<&'a [(String, Node)], Fault> {
        match self.value() {
            None => Ok(&[]),
            Some(Value::Table(entries)) => Ok(entries),
            Some(_) => Err(self.type_fault("a table")),
        }
    }

    /// The keys that a model gets: those of a table that are not skipped, and placeholders.
    fn keys(&self, entries: &'a [(String, Node)], fields: &'static [&'static str]) -> Vec<(&'a str, Option<&'a Node>)> {
        // Required keys that an earlier reading missed are given as placeholders.
        let is_absent = |field: &&&'static str| {
            let placeholder = self.marks.get(&text::join(&self.path, field)) == Some(&Mark::Placeholder);
            self.node.is_none() || placeholder && !entries.iter().any(|(name, _)| name == **field)
        };
        let absent = fields.iter().filter(is_absent).map(|field| (*field, None));
        let mut keys: Vec<(&'a str, Option<&'a Node>)> =
            entries.iter().map(|(name, node)| (name.as_str(), Some(node))).chain(absent).collect();
        keys.retain(|(name, _)| self.marks.get(&text::join(&self.path, name)) != Some(&Mark::Skip));
        keys
    }

    // What does not depend on the visitor is in functions of its own, because serde makes a copy of this one for each type.
    fn table<'de, V: Visitor<'de>>(&self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        let keys = self.keys(self.entries()?, fields);
        let map = Entries { parent: self, keys: keys.into_iter(), next: None };
        visitor.visit_map(map).map_err(|fault: Fault| self.at_place(fault))
    }

    /// The items of an array; of a placeholder, `placeholders` of them.
    fn nodes(&self, placeholders: usize) -> Result<Vec<Option<&'a Node>>, Fault> {
        match self.value() {
            Some(Value::Array(items)) => Ok(items.iter().map(Some).collect()),
            Some(_) => Err(self.type_fault("an array")),
            None => Ok(vec![None; placeholders]),
        }
    }

    fn items<'de, V: Visitor<'de>>(&self, placeholders: usize, visitor: V) -> Result<V::Value, Fault> {
        let items = self.nodes(placeholders)?;
        let items = Items { parent: self, items: items.into_iter().enumerate() };
        visitor.visit_seq(items).map_err(|fault: Fault| self.at_place(fault))
    }

    /// The variant that is written, or the first one for a placeholder.
    fn tagged(&self, variants: &[&'static str]) -> Result<Tagged<'a>, Fault> {
        Ok(match (self.value(), self.node.map_or(&[][..], Node::entries)) {
            (None, _) => {
                let name = variants.first().copied().unwrap_or_default();
                Tagged { name, inner: self.clone(), is_alone: false }
            }
            (Some(Value::String(text)), _) => Tagged { name: text, inner: self.clone(), is_alone: true },
            (Some(Value::Table(_)), [(name, inner)]) => {
                let path = text::join(&self.path, name);
                Tagged { name, inner: self.child(path, Some(inner)), is_alone: false }
            }
            _ => {
                let variants: Vec<String> = variants.iter().map(|name| text::quote(name)).collect();
                return Err(self.type_fault(format!("one of {}", variants.join(", "))));
            }
        })
    }

    fn integer(&self, wanted: &str) -> Result<i128, Fault> {
        match self.value() {
            Some(Value::Integer(number)) => Ok(*number),
            Some(_) => Err(self.type_fault(wanted)),
            None => Ok(0),
        }
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            let wanted = format!("a whole number from {} to {}", <$type>::MIN, <$type>::MAX);
            let number = self.integer(&wanted)?;
            let number = <$type>::try_from(number).map_err(|_| self.type_fault(wanted))?;
            visitor.$visit(number).map_err(|fault: Fault| self.at_place(fault))
        })*
    };
}

impl<'de> Deserializer<'de> for &Reader<'_> {
    type Error = Fault;

    integers! {
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value() {
            None => visitor.visit_unit(),
            Some(Value::String(text) | Value::Datetime(text)) => visitor.visit_str(text),
            Some(Value::Integer(number)) => match i64::try_from(*number) {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => return Err(self.type_fault("a smaller number")),
            },
            Some(Value::Float(number)) => visitor.visit_f64(*number),
            Some(Value::Boolean(value)) => visitor.visit_bool(*value),
            Some(Value::Array(_)) => return self.items(0, visitor),
            Some(Value::Table(_)) => return self.table(&[], visitor),
        }
        .map_err(|fault: Fault| self.at_place(fault))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value() {
            None => visitor.visit_bool(false),
            Some(Value::Boolean(value)) => visitor.visit_bool(*value).map_err(|fault: Fault| self.at_place(fault)),
            Some(_) => Err(self.type_fault("`true` or `false`")),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value() {
            None => visitor.visit_f64(0.0),
            Some(Value::Float(_) | Value::Integer(_)) => self.deserialize_any(visitor),
            Some(_) => Err(self.type_fault("a number")),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value() {
            None => visitor.visit_char(' '),
            Some(_) => self.deserialize_str(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let text = match self.value() {
            None => "",
            Some(Value::String(text)) => text,
            Some(_) => return Err(self.type_fault("a string in double quotes")),
        };
        visitor.visit_str(text).map_err(|fault: Fault| self.at_place(fault))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.node.is_some() || self.is_recording() { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let placeholders = usize::from(self.is_recording());
        self.items(placeholders, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.items(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.table(&[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if let Some(shape) = self.shape {
            shape.borrow_mut().push((self.path.clone(), fields));
        }
        self.table(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let tagged = self.tagged(variants)?;
        visitor.visit_enum(tagged).map_err(|fault: Fault| self.at_place(fault))
    }

    serde::forward_to_deserialize_any! {
        bytes byte_buf unit unit_struct tuple_struct identifier ignored_any i128 u128
    }
}

/// The keys of a table, one after the other.
struct Entries<'a> {
    parent: &'a Reader<'a>,
    keys: std::vec::IntoIter<(&'a str, Option<&'a Node>)>,
    next: Option<(&'a str, Option<&'a Node>)>,
}

impl<'a> Entries<'a> {
    /// Gives a fault the place of the key.
    fn at_key(&self, mut fault: Fault) -> Fault {
        let (name, node) = self.next.unwrap_or_default();
        fault.span = node.and_then(|node| node.key_span.clone());
        fault.key = Some(text::join(&self.parent.path, name));
        fault
    }

    fn reader(&self) -> Reader<'a> {
        let (name, node) = self.next.unwrap_or_default();
        self.parent.child(text::join(&self.parent.path, name), node)
    }
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.next = self.keys.next();
        let Some((name, _)) = self.next else {
            return Ok(None);
        };
        let key: de::value::StrDeserializer<'_, Fault> = name.into_deserializer();
        seed.deserialize(key).map(Some).map_err(|fault| self.at_key(fault))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(&self.reader())
    }
}

/// The items of an array, one after the other.
struct Items<'a> {
    parent: &'a Reader<'a>,
    items: std::iter::Enumerate<std::vec::IntoIter<Option<&'a Node>>>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some((index, node)) = self.items.next() else {
            return Ok(None);
        };
        let parent = &self.parent;
        let path = if node.is_some() { format!("{}[{index}]", parent.path) } else { format!("{}[]", parent.path) };
        seed.deserialize(&parent.child(path, node)).map(Some)
    }
}

/// The variant of an enum: a name alone, or a table whose one key is the variant.
struct Tagged<'a> {
    name: &'a str,
    inner: Reader<'a>,
    is_alone: bool,
}

impl<'a, 'de> de::EnumAccess<'de> for Tagged<'a> {
    type Error = Fault;
    type Variant = Variant<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Fault> {
        let name: de::value::StrDeserializer<'_, Fault> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Variant { inner: self.inner, is_alone: self.is_alone }))
    }
}

/// What a variant holds.
struct Variant<'a> {
    inner: Reader<'a>,
    is_alone: bool,
}

impl<'a> Variant<'a> {
    fn value(&self, wanted: &str) -> Result<&Reader<'a>, Fault> {
        match self.is_alone {
            true => Err(self.inner.type_fault(wanted)),
            false => Ok(&self.inner),
        }
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        if self.is_alone || self.inner.node.is_none() {
            return Ok(());
        }
        Err(self.inner.type_fault("no value: write the name alone, as a string"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self.value("a value: write a table")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.value("an array: write a table")?.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.value("a table")?.deserialize_struct("", fields, visitor)
    }
}
