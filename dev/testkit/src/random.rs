//! Random numbers, texts and values for tests. A seed gives the same ones on every machine, so that a failure can be
//! repeated.

use std::fmt;

use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};

/// Characters of random texts: plain ones, those of markers, and all kinds that need an escape somewhere.
const ALPHABET: &[char] = &[
    'a',
    'b',
    'z',
    '_',
    '0',
    ' ',
    '\n',
    '\t',
    '\r',
    '"',
    '\'',
    '\\',
    '<',
    '>',
    '|',
    '/',
    '[',
    ']',
    '{',
    '}',
    '=',
    '#',
    ',',
    '.',
    'é',
    '｜',
    '▁',
    '日',
    '😀',
    '\u{0}',
    '\u{1B}',
    '\u{7F}',
    '\u{85}',
    '\u{A0}',
    '\u{200B}',
    '\u{202E}',
    '\u{2028}',
    '\u{2066}',
    '\u{FEFF}',
    '\u{E0041}',
    '\u{10FFFF}',
];

/// A generator of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 where `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end.max(1) as u64).unwrap_or_default()
    }

    /// True once in `times` on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several items.
    ///
    /// # Panics
    ///
    /// There are no items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A short text of unusual characters; empty once in four times.
    pub fn text(&mut self) -> String {
        let length = if self.once_in(4) { 0 } else { self.below(24) };
        (0..length).map(|_| *self.pick(ALPHABET)).collect()
    }

    /// A random value of any type that can be deserialized. The type names its fields and variants, so that a key that is
    /// added to it is drawn from then on without a change here. Maps get keys from `keys`, because their type does not
    /// name them.
    ///
    /// # Errors
    ///
    /// The type does not tell what it consists of (it asks for `any`), or it refuses the value.
    pub fn value<T: DeserializeOwned>(&mut self, keys: &'static [&'static str]) -> Result<T, DrawError> {
        T::deserialize(Draw { random: self, keys })
    }
}

/// Why no value could be drawn.
#[derive(Debug)]
pub struct DrawError(String);

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DrawError {}

impl de::Error for DrawError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// A deserializer that answers every request with a random value.
struct Draw<'r> {
    random: &'r mut Random,
    keys: &'static [&'static str],
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DrawError> {
            let number = self.random.below(1 << 30);
            visitor.$visit(<$type>::try_from(number).unwrap_or(<$type>::MAX))
        })*
    };
}

impl<'de> de::Deserializer<'de> for Draw<'_> {
    type Error = DrawError;

    numbers! {
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, DrawError> {
        Err(DrawError("the type does not tell what it consists of".to_owned()))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DrawError> {
        visitor.visit_bool(self.random.once_in(2))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DrawError> {
        visitor.visit_string(self.random.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DrawError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DrawError> {
        if self.random.once_in(2) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DrawError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DrawError> {
        // Sometimes long, so that it does not fit on a line.
        let left = if self.random.once_in(8) { 20 } else { self.random.below(4) };
        visitor.visit_seq(Items { draw: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DrawError> {
        visitor.visit_map(Fields { draw: self, fields: fields.iter() })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DrawError> {
        let from = self.random.below(self.keys.len());
        let to = self.keys.len().min(from + self.random.below(3));
        let fields = self.keys[from..to].iter();
        visitor.visit_map(Fields { draw: self, fields })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DrawError> {
        visitor.visit_enum((*self.random.pick(variants)).into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any i128 u128
    }
}

impl Draw<'_> {
    /// The same source, for a part of the value.
    fn part(&mut self) -> Draw<'_> {
        Draw { random: self.random, keys: self.keys }
    }
}

struct Items<'r> {
    draw: Draw<'r>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = DrawError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DrawError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.draw.part()).map(Some)
    }
}

struct Fields<'r> {
    draw: Draw<'r>,
    fields: std::slice::Iter<'static, &'static str>,
}

impl<'de> de::MapAccess<'de> for Fields<'_> {
    type Error = DrawError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DrawError> {
        let Some(field) = self.fields.next() else { return Ok(None) };
        let key: de::value::StrDeserializer<'_, DrawError> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DrawError> {
        seed.deserialize(self.draw.part())
    }
}
