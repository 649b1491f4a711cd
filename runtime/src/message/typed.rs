//! Calls as values of an enum that has one variant for each tool. Serde chooses the variant by the name of the call, and
//! reads the variant's content from the arguments.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, EnumAccess, IgnoredAny, MapAccess, VariantAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_path_to_error::Track;

use super::{Message, ToolCall};

impl Message {
    /// The calls as values of `T`, in the order of the output. Needs the feature `types`.
    ///
    /// `T` is an enum with one variant for each tool: the `ToolCall` that `include_template_parser!` makes with
    /// `types = true`, or one of the application. Serde's names of the variants are the names of the tools, and the variants
    /// hold the arguments. The enum is tagged as serde does by default, or with `tag = "name", content = "arguments"`.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use unjinja_runtime::{Message, ToolCall};
    ///
    /// #[derive(Deserialize)]
    /// #[serde(rename_all = "snake_case")]
    /// enum Call {
    ///     Now,
    ///     GetWeather { city: String, days: Option<u32> },
    /// }
    ///
    /// let mut message = Message::default();
    /// message.tool_calls.push(ToolCall::new("get_weather", r#"{"city": "Paris"}"#));
    /// message.tool_calls.push(ToolCall::new("get_weather", r#"{"city": "Paris", "days": "two"}"#));
    /// let calls: Vec<_> = message.typed_calls::<Call>().collect();
    /// assert!(matches!(&calls[0], Ok(Call::GetWeather { city, days: None }) if city == "Paris"));
    /// let error = calls[1].as_ref().err().ok_or("the type is wrong")?;
    /// assert_eq!(
    ///     error.to_string(),
    ///     "call 1 of `get_weather`: the argument `days` does not fit: invalid type: string \"two\", expected u32",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// For each call that `T` has no variant for, or whose arguments do not fit. The other calls are not affected.
    pub fn typed_calls<T: DeserializeOwned>(&self) -> impl Iterator<Item = Result<T, TypedCallError>> + '_ {
        self.tool_calls
            .iter()
            .enumerate()
            .map(|(index, call)| call.typed().map_err(|error| TypedCallError { index: Some(index), ..error }))
    }
}

impl ToolCall {
    /// The call as a value of an enum that has one variant for each tool; see [`Message::typed_calls`]. For streams: a call
    /// is complete with [`Event::ToolCallEnd`](super::Event::ToolCallEnd). Needs the feature `types`.
    ///
    /// # Errors
    /// `T` has no variant for the tool, or the arguments do not fit.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, TypedCallError> {
        T::deserialize(CallReader { call: self }).map_err(|Failure(problem)| {
            let (name, complete) = (self.name.clone(), self.complete);
            TypedCallError { index: None, name, complete, problem }
        })
    }
}

/// Why a call is no value of a type. It is displayed as the call, the argument and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypedCallError {
    /// The position of the call among the message's calls, from 0. `None` if the call was read by itself.
    pub index: Option<usize>,
    /// The name of the call.
    pub name: String,
    /// Whether the model closed the call. If not, its arguments may be cut short.
    pub complete: bool,
    /// What does not fit.
    pub problem: TypedCallProblem,
}

/// What of a call does not fit a type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypedCallProblem {
    /// The type has no variant of the call's name.
    UnknownTool {
        /// The names of its variants.
        expected: Vec<String>,
    },
    /// The arguments are not JSON.
    NotJson {
        /// Why not, with the place in the arguments.
        reason: String,
    },
    /// An argument has another type or value than expected, is missing, or is not expected.
    Mismatch {
        /// Where: `days`, or `places[1].city`. Empty if it concerns the arguments as a whole, as a missing one does.
        path: String,
        /// What was found, and what was expected.
        reason: String,
    },
}

impl fmt::Display for TypedCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "call {index} of `{}`: ", self.name)?,
            None => write!(f, "call of `{}`: ", self.name)?,
        }
        match &self.problem {
            TypedCallProblem::UnknownTool { expected } if expected.is_empty() => {
                f.write_str("there is no such tool; no tool was expected")
            }
            TypedCallProblem::UnknownTool { expected } => {
                write!(f, "there is no such tool; expected `{}`", expected.join("`, `"))
            }
            TypedCallProblem::NotJson { reason } => {
                write!(f, "the arguments are not JSON: {reason}")?;
                if self.complete { Ok(()) } else { f.write_str(" (the call was cut short)") }
            }
            TypedCallProblem::Mismatch { path, reason } if path.is_empty() => {
                write!(f, "the arguments do not fit: {reason}")
            }
            TypedCallProblem::Mismatch { path, reason } => write!(f, "the argument `{path}` does not fit: {reason}"),
        }
    }
}

impl std::error::Error for TypedCallError {}

/// The error while a call is read: serde's interface around a problem.
#[derive(Debug)]
struct Failure(TypedCallProblem);

impl Failure {
    /// An error of the arguments.
    fn of_arguments(error: &serde_json::Error, track: Track) -> Self {
        let mut reason = error.to_string();
        if !error.is_data() {
            return Self(TypedCallProblem::NotJson { reason });
        }
        // The path says more than the column.
        let place = format!(" at line {} column {}", error.line(), error.column());
        reason.truncate(reason.strip_suffix(&place).map_or(reason.len(), str::len));
        let path = track.path().to_string();
        Self(TypedCallProblem::Mismatch { path: if path == "." { String::new() } else { path }, reason })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Failure {}

impl serde::de::Error for Failure {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self(TypedCallProblem::Mismatch { path: String::new(), reason: reason.to_string() })
    }

    /// Serde calls this for the name of the call only: errors inside the arguments are those of serde_json.
    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(TypedCallProblem::UnknownTool { expected: expected.iter().map(|&name| name.to_owned()).collect() })
    }
}

/// Presents a call to serde: as the variant of an enum, or as the map `{"name": …, "arguments": …}`.
#[derive(Clone, Copy)]
struct CallReader<'c> {
    call: &'c ToolCall,
}

impl<'c> CallReader<'c> {
    fn name(self) -> StrDeserializer<'c, Failure> {
        StrDeserializer::new(&self.call.name)
    }

    /// Reads the arguments, and notes where in them it is.
    fn arguments<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure>
    where
        'c: 'de,
    {
        let mut json = serde_json::Deserializer::from_str(&self.call.arguments);
        let mut track = Track::new();
        let value = seed.deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track));
        let value = value.and_then(|value| json.end().map(|()| value));
        value.map_err(|error| Failure::of_arguments(&error, track))
    }
}

impl<'de> Deserializer<'de> for CallReader<'de> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_map(Members { reader: self, next: Some(Member::Name) })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_enum(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for CallReader<'de> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Failure> {
        Ok((seed.deserialize(self.name())?, self))
    }
}

impl<'de> VariantAccess<'de> for CallReader<'de> {
    type Error = Failure;

    /// A tool without arguments. The model may write some.
    fn unit_variant(self) -> Result<(), Failure> {
        self.arguments(std::marker::PhantomData::<IgnoredAny>).map(|_| ())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        self.arguments(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Failure> {
        self.arguments(Tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Failure> {
        self.arguments(Struct(fields, visitor))
    }
}

struct Tuple<V>(usize, V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Tuple<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_tuple(self.0, self.1)
    }
}

struct Struct<V>(&'static [&'static str], V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Struct<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_struct("", self.0, self.1)
    }
}

/// The members of a call as a map. The name comes first, because serde needs it to know what the arguments are.
struct Members<'c> {
    reader: CallReader<'c>,
    next: Option<Member>,
}

#[derive(Clone, Copy)]
enum Member {
    Name,
    Arguments,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let key = match self.next {
            Some(Member::Name) => "name",
            Some(Member::Arguments) => "arguments",
            None => return Ok(None),
        };
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        match self.next.take() {
            Some(Member::Name) => {
                self.next = Some(Member::Arguments);
                seed.deserialize(self.reader.name())
            }
            _ => self.reader.arguments(seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Location {
        city: String,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Call {
        Now,
        Find(Location),
        Move { from: Location, steps: Vec<u8> },
        Add(i64, i64),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "name", content = "arguments", rename_all = "snake_case")]
    enum Tagged {
        Find(Location),
        Any(BTreeMap<String, Value>),
    }

    fn location(city: &str) -> Location {
        Location { city: city.to_owned() }
    }

    fn problem<T: DeserializeOwned + fmt::Debug>(name: &str, arguments: &str) -> TypedCallProblem {
        ToolCall::new(name, arguments).typed::<T>().unwrap_err().problem
    }

    fn mismatch(path: &str, reason: &str) -> TypedCallProblem {
        TypedCallProblem::Mismatch { path: path.to_owned(), reason: reason.to_owned() }
    }

    #[test]
    fn calls_are_variants() {
        let mut message = Message::default();
        for (name, arguments) in [
            ("find", r#"{"city": "Paris"}"#),
            ("now", r#"{"zone": "UTC"}"#),
            ("move", r#"{"steps": [1, 2], "from": {"city": "Rome"}, "other": null}"#),
            ("add", "[1, 2]"),
        ] {
            message.tool_calls.push(ToolCall::new(name, arguments));
        }
        let calls: Vec<Call> = message.typed_calls().collect::<Result<_, _>>().unwrap();
        let steps = vec![1, 2];
        let moved = Call::Move { from: location("Rome"), steps };
        assert_eq!(calls, [Call::Find(location("Paris")), Call::Now, moved, Call::Add(1, 2)]);
    }

    #[test]
    fn an_enum_with_a_tag_is_read_too() {
        let call = ToolCall::new("find", r#"{"city": "Paris"}"#);
        assert_eq!(call.typed::<Tagged>(), Ok(Tagged::Find(location("Paris"))));
        assert_eq!(call.typed::<(String, Value)>().unwrap_err().problem, {
            mismatch("", "invalid type: map, expected a tuple of size 2")
        });
        let map: BTreeMap<String, Value> = call.typed().unwrap();
        assert_eq!(map["name"], "find");
        assert_eq!(map["arguments"]["city"], "Paris");
        assert_eq!(problem::<Tagged>("find", r#"{"city": 3}"#), {
            mismatch("city", "invalid type: integer `3`, expected a string")
        });
        let expected = vec!["find".to_owned(), "any".to_owned()];
        assert_eq!(problem::<Tagged>("lose", "{}"), TypedCallProblem::UnknownTool { expected });
    }

    #[test]
    fn a_problem_has_its_place() {
        let moves = |arguments| problem::<Call>("move", arguments);
        let reason = "invalid value: integer `300`, expected u8";
        assert_eq!(moves(r#"{"steps": [1, 300]}"#), mismatch("steps[1]", reason));
        let reason = "invalid type: null, expected a string";
        assert_eq!(moves(r#"{"from": {"city": null}}"#), mismatch("from.city", reason));
        assert_eq!(moves(r#"{"from": {}}"#), mismatch("from", "missing field `city`"));
        assert_eq!(moves("{}"), mismatch("", "missing field `from`"));
        for text in ["", "{\"from\"", "{'from': 1}", r#"{"from": {"city": ""}, "steps": []} {}"#] {
            assert!(matches!(moves(text), TypedCallProblem::NotJson { .. }), "{text:?}: {:?}", moves(text));
        }
        assert!(matches!(problem::<Call>("now", "{"), TypedCallProblem::NotJson { .. }));
    }

    #[test]
    fn an_error_names_its_call() {
        let mut message = Message::default();
        message.tool_calls.push(ToolCall::new("now", "{}"));
        message.tool_calls.push(ToolCall::new("noon", "{}"));
        message.tool_calls.push(ToolCall { complete: false, ..ToolCall::new("find", r#"{"city": "Par"#) });
        let calls: Vec<_> = message.typed_calls::<Call>().collect();
        assert!(calls[0].is_ok());
        let said = |index: usize| calls[index].as_ref().unwrap_err().to_string();
        let expected = "call 1 of `noon`: there is no such tool; expected `now`, `find`, `move`, `add`";
        assert_eq!(said(1), expected);
        assert!(said(2).starts_with("call 2 of `find`: the arguments are not JSON: EOF"), "{}", said(2));
        assert!(said(2).ends_with("(the call was cut short)"), "{}", said(2));
        let alone = message.tool_calls[1].typed::<Call>().unwrap_err().to_string();
        assert!(alone.starts_with("call of `noon`: there is no such tool"), "{alone}");
    }
}
