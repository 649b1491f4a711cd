//! A deserializer that gives every type a placeholder: `false`, 0, an empty text, the first variant.
//!
//! It has two uses. The reader puts a placeholder at a key that is at fault and reads on. And because the model asks it
//! for every field, it learns the shape of the model: which table has which keys, in which order.

use std::cell::RefCell;

use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};

use crate::fault::Fault;
use crate::text;

/// How deep a shape is followed; a type that contains itself would never end.
const MAX_DEPTH: usize = 8;

/// The tables of a model: dotted path (array items as `name[]`) and keys, outer before inner.
pub(crate) type Shape = Vec<(String, &'static [&'static str])>;

/// The tables of `T` and their keys, as its `Deserialize` asks for them.
pub(crate) fn shape_of<T: DeserializeOwned>() -> Shape {
    let shape = RefCell::new(Shape::new());
    let placeholder = Placeholder { path: String::new(), depth: 0, shape: Some(&shape) };
    // If this fails, the shape is only shorter.
    let _ = T::deserialize(placeholder);
    shape.into_inner()
}

/// Deserialises as a placeholder value of the type asked for.
#[derive(Clone)]
pub(crate) struct Placeholder<'s> {
    path: String,
    depth: usize,
    shape: Option<&'s RefCell<Shape>>,
}

impl<'s> Placeholder<'s> {
    /// A placeholder that records nothing.
    pub(crate) fn silent() -> Self {
        Self { path: String::new(), depth: 0, shape: None }
    }

    fn child(&self, path: String) -> Self {
        Self { path, depth: self.depth + 1, shape: self.shape }
    }

    fn recording(&self) -> bool {
        self.shape.is_some() && self.depth < MAX_DEPTH
    }
}

macro_rules! placeholders {
    ($($method:ident $visit:ident $value:expr,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.$visit($value)
        })*
    };
}

impl<'de> Deserializer<'de> for Placeholder<'_> {
    type Error = Fault;

    placeholders! {
        deserialize_bool visit_bool false,
        deserialize_i8 visit_i8 0,
        deserialize_i16 visit_i16 0,
        deserialize_i32 visit_i32 0,
        deserialize_i64 visit_i64 0,
        deserialize_i128 visit_i128 0,
        deserialize_u8 visit_u8 0,
        deserialize_u16 visit_u16 0,
        deserialize_u32 visit_u32 0,
        deserialize_u64 visit_u64 0,
        deserialize_u128 visit_u128 0,
        deserialize_f32 visit_f32 0.0,
        deserialize_f64 visit_f64 0.0,
        deserialize_char visit_char ' ',
        deserialize_str visit_str "",
        deserialize_string visit_str "",
        deserialize_identifier visit_str "",
        deserialize_bytes visit_bytes &[],
        deserialize_byte_buf visit_bytes &[],
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.recording() { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let count = usize::from(self.recording());
        self.deserialize_tuple(count, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        let item = self.child(format!("{}[]", self.path));
        visitor.visit_seq(Repeat { item, left: len })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(Fields { parent: self, fields: [].iter(), next: "" })
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
        visitor.visit_map(Fields { parent: self, fields: fields.iter(), next: "" })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let name = variants.first().copied().unwrap_or_default();
        visitor.visit_enum(FirstVariant { name, inner: self })
    }
}

/// The same placeholder `left` times.
struct Repeat<'s> {
    item: Placeholder<'s>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Repeat<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.item.clone()).map(Some)
    }
}

/// The fields of a struct, each as a placeholder.
struct Fields<'s> {
    parent: Placeholder<'s>,
    fields: std::slice::Iter<'static, &'static str>,
    next: &'static str,
}

impl<'de> de::MapAccess<'de> for Fields<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(field) = self.fields.next() else {
            return Ok(None);
        };
        self.next = field;
        let key: de::value::StrDeserializer<'_, Fault> = self.next.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let path = text::join(&self.parent.path, self.next);
        seed.deserialize(self.parent.child(path))
    }
}

/// The first variant of an enum.
struct FirstVariant<'s> {
    name: &'static str,
    inner: Placeholder<'s>,
}

impl<'s, 'de> de::EnumAccess<'de> for FirstVariant<'s> {
    type Error = Fault;
    type Variant = Placeholder<'s>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Fault> {
        let name: de::value::StrDeserializer<'_, Fault> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.inner))
    }
}

impl<'de> de::VariantAccess<'de> for Placeholder<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_struct("", fields, visitor)
    }
}
