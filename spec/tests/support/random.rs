//! Random values of any type that derives `Deserialize`: the type says what it wants, and gets one at random.
//! A key added to the model is drawn from then on, with no change here.

use std::fmt;
use std::sync::LazyLock;

use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};

/// Characters that strings are drawn from: plain ones, those of markers, and all that needs an escape.
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

/// A small generator (xorshift64*), so that a seed gives the same values everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(bits).unwrap_or_default() % limit.max(1)
    }

    /// A short text of odd characters.
    pub fn text(&mut self) -> String {
        let length = if self.below(4) == 0 { 0 } else { self.below(24) };
        (0..length).map(|_| ALPHABET[self.below(ALPHABET.len())]).collect()
    }

    /// A random `T`.
    pub fn value<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        T::deserialize(Draw(self))
    }
}

/// Why no value could be drawn.
#[derive(Debug)]
pub struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

struct Draw<'r>(&'r mut Random);

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            let number = self.0.below(1 << 30);
            visitor.$visit(<$type>::try_from(number).unwrap_or(<$type>::MAX))
        })*
    };
}

impl<'de> de::Deserializer<'de> for Draw<'_> {
    type Error = Failure;

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

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Failure> {
        Err(Failure("a type that does not say what it wants".to_owned()))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_bool(self.0.below(2) == 0)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_string(self.0.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if self.0.below(2) == 0 { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        // Sometimes long, so that it does not fit on a line.
        let left = if self.0.below(8) == 0 { 20 } else { self.0.below(4) };
        visitor.visit_seq(Items { random: self.0, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_map(Fields { random: self.0, fields: fields.iter() })
    }

    /// The model's one map has markers for its keys.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let names = markers();
        let from = self.0.below(names.len());
        let to = names.len().min(from + self.0.below(3));
        visitor.visit_map(Fields { random: self.0, fields: names[from..to].iter() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_enum(variants[self.0.below(variants.len())].into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any i128 u128
    }
}

/// The names of the markers that may have alternatives.
fn markers() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let keys = unjinja_spec::MarkerKey::ALL.iter().filter(|key| key.may_have_alternatives());
        keys.map(|key| key.as_str()).collect()
    });
    &NAMES
}

struct Items<'r> {
    random: &'r mut Random,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(Draw(self.random)).map(Some)
    }
}

struct Fields<'r> {
    random: &'r mut Random,
    fields: std::slice::Iter<'static, &'static str>,
}

impl<'de> de::MapAccess<'de> for Fields<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        let Some(field) = self.fields.next() else {
            return Ok(None);
        };
        let key: de::value::StrDeserializer<'_, Failure> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        seed.deserialize(Draw(self.random))
    }
}
