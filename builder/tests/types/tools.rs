// @generated from tools.json by types.rs.

/// A call of one of the offered tools; see `Message::typed_calls`. Under serde it is
/// `{"name": …, "arguments": {…}}`.
#[allow(
    missing_docs,
    rustdoc::all,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::restriction
)]

#[derive(
    Clone,
    Debug,
    PartialEq,
    unjinja_runtime::abi::types::serde::Deserialize,
    unjinja_runtime::abi::types::serde::Serialize
)]

#[serde(
    crate = "unjinja_runtime::abi::types::serde",
    tag = "name",
    content = "arguments"
)]
pub enum ToolCall {
    /// The weather in a city.
    ///
    /// indented text is no code
    #[serde(rename = "get_weather")]
    GetWeather(arguments::GetWeather),
    /// The time.
    #[serde(rename = "now")]
    Now(arguments::Now),
    /// A call of `search`.
    #[serde(rename = "search")]
    Search(arguments::Search),
    /// A call of `move-file`.
    #[serde(rename = "move-file")]
    MoveFile(arguments::MoveFile),
    /// A call of `default`.
    #[serde(rename = "default")]
    Default(arguments::Default),
}

/// The arguments of the offered tools, and the types of their members.
#[allow(
    missing_docs,
    rustdoc::all,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::restriction
)]

pub mod arguments {
    /// The arguments of `default`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(transparent)]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct Default(pub ::std::collections::HashMap<::std::string::String, bool>);
    impl ::std::ops::Deref for Default {
        type Target = ::std::collections::HashMap<::std::string::String, bool>;
        fn deref(&self) -> &::std::collections::HashMap<::std::string::String, bool> {
            &self.0
        }
    }
    impl ::std::convert::From<Default>
    for ::std::collections::HashMap<::std::string::String, bool> {
        fn from(value: Default) -> Self {
            value.0
        }
    }
    impl ::std::convert::From<::std::collections::HashMap<::std::string::String, bool>>
    for Default {
        fn from(
            value: ::std::collections::HashMap<::std::string::String, bool>,
        ) -> Self {
            Self(value)
        }
    }
    /// The weather in a city.
    ///
    /// indented text is no code
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(deny_unknown_fields)]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct GetWeather {
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub at: ::std::option::Option<GetWeatherPosition>,
        /// Its name, as \<people> write it.
        pub city: ::std::string::String,
        #[serde(default = "defaults::default_u64::<u64, 3>")]
        pub days: u64,
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub language: ::std::option::Option<::std::string::String>,
        #[serde(rename = "type", skip_serializing_if = "::std::option::Option::is_none")]
        pub type_: ::std::option::Option<::std::string::String>,
        /// Of the temperature.
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub unit: ::std::option::Option<GetWeatherUnit>,
    }
    /// A place on the map.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct GetWeatherPosition {
        pub lat: f64,
        pub lon: f64,
    }
    /// Of the temperature.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Copy,
        Debug,
        Eq,
        Hash,
        Ord,
        PartialEq,
        PartialOrd
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub enum GetWeatherUnit {
        #[serde(rename = "celsius")]
        Celsius,
        #[serde(rename = "fahrenheit")]
        Fahrenheit,
    }
    impl ::std::fmt::Display for GetWeatherUnit {
        fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
            match *self {
                Self::Celsius => f.write_str("celsius"),
                Self::Fahrenheit => f.write_str("fahrenheit"),
            }
        }
    }
    impl ::std::str::FromStr for GetWeatherUnit {
        type Err = self::error::ConversionError;
        fn from_str(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            match value {
                "celsius" => ::std::result::Result::Ok(Self::Celsius),
                "fahrenheit" => ::std::result::Result::Ok(Self::Fahrenheit),
                _ => ::std::result::Result::Err("invalid value".into()),
            }
        }
    }
    impl ::std::convert::TryFrom<&str> for GetWeatherUnit {
        type Error = self::error::ConversionError;
        fn try_from(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    impl ::std::convert::TryFrom<::std::string::String> for GetWeatherUnit {
        type Error = self::error::ConversionError;
        fn try_from(
            value: ::std::string::String,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    /// The arguments of `move-file`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct MoveFile {
        pub from: ::std::string::String,
        #[serde(default = "defaults::move_file_mode")]
        pub mode: MoveFileMode,
        pub to: ::std::string::String,
    }
    /// The values of `move-file` at `parameters.properties.mode`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Copy,
        Debug,
        Eq,
        Hash,
        Ord,
        PartialEq,
        PartialOrd
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub enum MoveFileMode {
        #[serde(rename = "copy")]
        Copy,
        #[serde(rename = "move")]
        Move,
    }
    impl ::std::fmt::Display for MoveFileMode {
        fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
            match *self {
                Self::Copy => f.write_str("copy"),
                Self::Move => f.write_str("move"),
            }
        }
    }
    impl ::std::str::FromStr for MoveFileMode {
        type Err = self::error::ConversionError;
        fn from_str(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            match value {
                "copy" => ::std::result::Result::Ok(Self::Copy),
                "move" => ::std::result::Result::Ok(Self::Move),
                _ => ::std::result::Result::Err("invalid value".into()),
            }
        }
    }
    impl ::std::convert::TryFrom<&str> for MoveFileMode {
        type Error = self::error::ConversionError;
        fn try_from(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    impl ::std::convert::TryFrom<::std::string::String> for MoveFileMode {
        type Error = self::error::ConversionError;
        fn try_from(
            value: ::std::string::String,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    /// The time.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        Default,
        PartialEq
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct Now {}
    /// The arguments of `search`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct Search {
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub anything: ::std::option::Option<
            unjinja_runtime::abi::types::serde_json::Value,
        >,
        pub exact: SearchExact,
        #[serde(
            default,
            skip_serializing_if = "unjinja_runtime::abi::types::serde_json::Map::is_empty"
        )]
        pub extra: unjinja_runtime::abi::types::serde_json::Map<
            ::std::string::String,
            unjinja_runtime::abi::types::serde_json::Value,
        >,
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub filter: ::std::option::Option<SearchFilter>,
        #[serde(
            default,
            skip_serializing_if = ":: std :: collections :: HashMap::is_empty"
        )]
        pub labels: ::std::collections::HashMap<::std::string::String, i64>,
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub level: ::std::option::Option<SearchLevel>,
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub limit: ::std::option::Option<i64>,
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub mixed: ::std::option::Option<unjinja_runtime::abi::types::serde_json::Value>,
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub number: ::std::option::Option<SearchNumber>,
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub operator: ::std::option::Option<::std::string::String>,
        #[serde(default, skip_serializing_if = "::std::vec::Vec::is_empty")]
        pub pair: ::std::vec::Vec<unjinja_runtime::abi::types::serde_json::Value>,
        pub query: SearchQuery,
    }
    /// The values of `search` at `parameters.properties.exact`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Copy,
        Debug,
        Eq,
        Hash,
        Ord,
        PartialEq,
        PartialOrd
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub enum SearchExact {
        #[serde(rename = "yes")]
        Yes,
    }
    impl ::std::fmt::Display for SearchExact {
        fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
            match *self {
                Self::Yes => f.write_str("yes"),
            }
        }
    }
    impl ::std::str::FromStr for SearchExact {
        type Err = self::error::ConversionError;
        fn from_str(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            match value {
                "yes" => ::std::result::Result::Ok(Self::Yes),
                _ => ::std::result::Result::Err("invalid value".into()),
            }
        }
    }
    impl ::std::convert::TryFrom<&str> for SearchExact {
        type Error = self::error::ConversionError;
        fn try_from(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    impl ::std::convert::TryFrom<::std::string::String> for SearchExact {
        type Error = self::error::ConversionError;
        fn try_from(
            value: ::std::string::String,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    /// The values of `search` at `parameters.$defs.filter`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(untagged)]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub enum SearchFilter {
        Equals(SearchFilterEquals),
        Variant1(SearchFilterVariant1),
    }
    impl ::std::convert::From<SearchFilterEquals> for SearchFilter {
        fn from(value: SearchFilterEquals) -> Self {
            Self::Equals(value)
        }
    }
    impl ::std::convert::From<SearchFilterVariant1> for SearchFilter {
        fn from(value: SearchFilterVariant1) -> Self {
            Self::Variant1(value)
        }
    }
    /// The values of `search` at `parameters.$defs.filter.oneOf[1]`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct SearchFilterEquals {
        pub field: ::std::string::String,
        pub value: ::std::string::String,
    }
    /// The values of `search` at `parameters.$defs.filter.oneOf[0]`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        Default,
        PartialEq
    )]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct SearchFilterVariant1 {
        #[serde(default)]
        pub not: ::std::boxed::Box<::std::option::Option<SearchFilter>>,
    }
    /// The values of `search` at `parameters.properties.level`.
    #[derive(unjinja_runtime::abi::types::serde::Serialize, Clone, Debug, PartialEq)]
    #[serde(transparent)]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub struct SearchLevel(i64);
    impl ::std::ops::Deref for SearchLevel {
        type Target = i64;
        fn deref(&self) -> &i64 {
            &self.0
        }
    }
    impl ::std::convert::From<SearchLevel> for i64 {
        fn from(value: SearchLevel) -> Self {
            value.0
        }
    }
    impl ::std::convert::TryFrom<i64> for SearchLevel {
        type Error = self::error::ConversionError;
        fn try_from(
            value: i64,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            if ![1_i64, 2_i64, 3_i64].contains(&value) {
                ::std::result::Result::Err("invalid value".into())
            } else {
                ::std::result::Result::Ok(Self(value))
            }
        }
    }
    impl<'de> unjinja_runtime::abi::types::serde::Deserialize<'de> for SearchLevel {
        fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
        where
            D: unjinja_runtime::abi::types::serde::Deserializer<'de>,
        {
            Self::try_from(<i64>::deserialize(deserializer)?)
                .map_err(|e| {
                    <D::Error as unjinja_runtime::abi::types::serde::de::Error>::custom(
                        e.to_string(),
                    )
                })
        }
    }
    /// The values of `search` at `parameters.properties.number`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(untagged)]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub enum SearchNumber {
        Integer(i64),
        Number(f64),
    }
    impl ::std::fmt::Display for SearchNumber {
        fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
            match self {
                Self::Integer(x) => x.fmt(f),
                Self::Number(x) => x.fmt(f),
            }
        }
    }
    impl ::std::str::FromStr for SearchNumber {
        type Err = self::error::ConversionError;
        fn from_str(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            if let ::std::result::Result::Ok(v) = value.parse() {
                ::std::result::Result::Ok(Self::Integer(v))
            } else if let ::std::result::Result::Ok(v) = value.parse() {
                ::std::result::Result::Ok(Self::Number(v))
            } else {
                ::std::result::Result::Err(
                    "string conversion failed for all variants".into(),
                )
            }
        }
    }
    impl ::std::convert::TryFrom<&str> for SearchNumber {
        type Error = self::error::ConversionError;
        fn try_from(
            value: &str,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    impl ::std::convert::TryFrom<::std::string::String> for SearchNumber {
        type Error = self::error::ConversionError;
        fn try_from(
            value: ::std::string::String,
        ) -> ::std::result::Result<Self, self::error::ConversionError> {
            value.parse()
        }
    }
    impl ::std::convert::From<i64> for SearchNumber {
        fn from(value: i64) -> Self {
            Self::Integer(value)
        }
    }
    impl ::std::convert::From<f64> for SearchNumber {
        fn from(value: f64) -> Self {
            Self::Number(value)
        }
    }
    /// The values of `search` at `parameters.properties.query`.
    #[derive(
        unjinja_runtime::abi::types::serde::Deserialize,
        unjinja_runtime::abi::types::serde::Serialize,
        Clone,
        Debug,
        PartialEq
    )]
    #[serde(untagged)]
    #[serde(crate = "unjinja_runtime::abi::types::serde")]
    pub enum SearchQuery {
        String(::std::string::String),
        Array(::std::vec::Vec<::std::string::String>),
    }
    impl ::std::convert::From<::std::vec::Vec<::std::string::String>> for SearchQuery {
        fn from(value: ::std::vec::Vec<::std::string::String>) -> Self {
            Self::Array(value)
        }
    }
    /// Generation of default values for serde.
    pub mod defaults {
        pub(super) fn default_u64<T, const V: u64>() -> T
        where
            T: ::std::convert::TryFrom<u64>,
            <T as ::std::convert::TryFrom<u64>>::Error: ::std::fmt::Debug,
        {
            T::try_from(V).unwrap()
        }
        pub(super) fn move_file_mode() -> super::MoveFileMode {
            super::MoveFileMode::Copy
        }
    }
    /// Error types.
    pub mod error {
        /// Error from a `TryFrom` or `FromStr` implementation.
        pub struct ConversionError(::std::borrow::Cow<'static, str>);
        impl ::std::error::Error for ConversionError {}
        impl ::std::fmt::Display for ConversionError {
            fn fmt(
                &self,
                f: &mut ::std::fmt::Formatter<'_>,
            ) -> Result<(), ::std::fmt::Error> {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
        impl ::std::fmt::Debug for ConversionError {
            fn fmt(
                &self,
                f: &mut ::std::fmt::Formatter<'_>,
            ) -> Result<(), ::std::fmt::Error> {
                ::std::fmt::Debug::fmt(&self.0, f)
            }
        }
        impl From<&'static str> for ConversionError {
            fn from(value: &'static str) -> Self {
                Self(value.into())
            }
        }
        impl From<String> for ConversionError {
            fn from(value: String) -> Self {
                Self(value.into())
            }
        }
    }
}
