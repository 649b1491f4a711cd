//! Reads a typed value from a document and finds every problem in it, not only the first.
//!
//! Serde stops at the first problem. So the reader notes the key at fault, leaves it out or gives it a placeholder, and
//! reads again, until nothing is wrong. The keys and their types come from the model's own `Deserialize`; nothing here
//! repeats them.

use std::collections::HashMap;

use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};

use crate::document::{Node, Value};
use crate::fault::{Fault, FaultKind};
use crate::placeholder::Placeholder;
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
        let reader = Reader { node: root, path: String::new(), marks: &marks };
        let fault = match T::deserialize(reader) {
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

#[derive(Clone)]
struct Reader<'a> {
    node: &'a Node,
    path: String,
    marks: &'a Marks,
}

impl<'a> Reader<'a> {
    fn type_fault(&self, wanted: impl Into<String>) -> Fault {
        let kind = FaultKind::Type { found: describe(&self.node.value), wanted: wanted.into() };
        Fault::new(kind).at(&self.path, self.node)
    }

    /// Whether an earlier reading found this value at fault.
    fn is_marked(&self) -> bool {
        self.marks.contains_key(&self.path)
    }

    fn child(&self, path: String, node: &'a Node) -> Self {
        Self { node, path, marks: self.marks }
    }

    fn table<'de, V: Visitor<'de>>(
        self,
        entries: &'a [(String, Node)],
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        // Required keys that an earlier reading missed are given as placeholders.
        let absent = fields.iter().filter(|field| {
            let placeholder = self.marks.get(&text::join(&self.path, field)) == Some(&Mark::Placeholder);
            placeholder && !entries.iter().any(|(name, _)| name == *field)
        });
        let mut keys: Vec<(&'a str, Option<&'a Node>)> = entries
            .iter()
            .map(|(name, node)| (name.as_str(), Some(node)))
            .chain(absent.map(|field| (*field, None)))
            .collect();
        keys.retain(|(name, _)| self.marks.get(&text::join(&self.path, name)) != Some(&Mark::Skip));
        let map = Entries { parent: self.clone(), keys: keys.into_iter(), next: None };
        visitor.visit_map(map).map_err(|fault: Fault| fault.at(&self.path, self.node))
    }

    fn integer(&self, wanted: &str) -> Result<i128, Fault> {
        match self.node.value {
            Value::Integer(number) => Ok(number),
            _ => Err(self.type_fault(wanted)),
        }
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            let wanted = format!("a whole number from {} to {}", <$type>::MIN, <$type>::MAX);
            let number = self.integer(&wanted)?;
            let number = <$type>::try_from(number).map_err(|_| self.type_fault(wanted))?;
            visitor.$visit(number).map_err(|fault: Fault| fault.at(&self.path, self.node))
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'_> {
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
        let (path, node) = (self.path.clone(), self.node);
        match &node.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(number) => match i64::try_from(*number) {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => return Err(self.type_fault("a smaller number")),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Datetime(text) => visitor.visit_str(text),
            Value::Array(_) => return self.deserialize_seq(visitor),
            Value::Table(entries) => return self.table(entries, &[], visitor),
        }
        .map_err(|fault: Fault| fault.at(&path, node))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.value {
            Value::Boolean(value) => visitor.visit_bool(value).map_err(|fault: Fault| fault.at(&self.path, self.node)),
            _ => Err(self.type_fault("`true` or `false`")),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.value {
            Value::Float(_) | Value::Integer(_) => self.deserialize_any(visitor),
            _ => Err(self.type_fault("a number")),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::String(text) => visitor.visit_str(text).map_err(|fault: Fault| fault.at(&self.path, self.node)),
            _ => Err(self.type_fault("a string in double quotes")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Array(items) => {
                let (path, node) = (self.path.clone(), self.node);
                let items = items.iter().enumerate();
                visitor.visit_seq(Items { parent: self, items }).map_err(|fault: Fault| fault.at(&path, node))
            }
            _ => Err(self.type_fault("an array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Table(entries) => self.table(entries, fields, visitor),
            _ => Err(self.type_fault("a table")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let (path, node) = (self.path.clone(), self.node);
        match (&node.value, node.entries()) {
            (Value::String(text), _) => visitor.visit_enum(text.as_str().into_deserializer()),
            (Value::Table(_), [(name, inner)]) => {
                let inner = self.child(text::join(&path, name), inner);
                visitor.visit_enum(Tagged { name, inner })
            }
            _ => {
                let variants: Vec<String> = variants.iter().map(|name| text::quote(name)).collect();
                return Err(self.type_fault(format!("one of {}", variants.join(", "))));
            }
        }
        .map_err(|fault: Fault| fault.at(&path, node))
    }

    serde::forward_to_deserialize_any! {
        bytes byte_buf unit unit_struct tuple_struct identifier ignored_any i128 u128
    }
}

/// The keys of a table, one after the other.
struct Entries<'a> {
    parent: Reader<'a>,
    keys: std::vec::IntoIter<(&'a str, Option<&'a Node>)>,
    next: Option<(&'a str, Option<&'a Node>)>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.next = self.keys.next();
        let Some((name, node)) = self.next else {
            return Ok(None);
        };
        let key: de::value::StrDeserializer<'_, Fault> = name.into_deserializer();
        seed.deserialize(key).map(Some).map_err(|mut fault| {
            fault.span = node.and_then(|node| node.key_span.clone());
            fault.key = Some(text::join(&self.parent.path, name));
            fault
        })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let (name, node) = self.next.unwrap_or_default();
        let path = text::join(&self.parent.path, name);
        match node {
            Some(node) if !self.parent.marks.contains_key(&path) => seed.deserialize(self.parent.child(path, node)),
            _ => seed.deserialize(Placeholder::silent()),
        }
    }
}

/// The items of an array, one after the other.
struct Items<'a> {
    parent: Reader<'a>,
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some((index, node)) = self.items.next() else {
            return Ok(None);
        };
        let path = format!("{}[{index}]", self.parent.path);
        if self.parent.marks.contains_key(&path) {
            return seed.deserialize(Placeholder::silent()).map(Some);
        }
        seed.deserialize(self.parent.child(path, node)).map(Some)
    }
}

/// An enum's value that carries data: a table whose one key is the variant.
struct Tagged<'a> {
    name: &'a str,
    inner: Reader<'a>,
}

impl<'a, 'de> de::EnumAccess<'de> for Tagged<'a> {
    type Error = Fault;
    type Variant = Reader<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Fault> {
        let name: de::value::StrDeserializer<'_, Fault> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.inner))
    }
}

impl<'de> de::VariantAccess<'de> for Reader<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Err(self.type_fault("no value: write the name alone, as a string"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        if self.is_marked() {
            return seed.deserialize(Placeholder::silent());
        }
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        if self.is_marked() {
            return Placeholder::silent().deserialize_tuple(len, visitor);
        }
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        if self.is_marked() {
            return Placeholder::silent().deserialize_struct("", fields, visitor);
        }
        self.deserialize_struct("", fields, visitor)
    }
}
