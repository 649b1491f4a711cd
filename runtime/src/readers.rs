//! Readers of what models write as arguments: each reads one value or one call and gives JSON.
//!
//! A reader is fed pieces that are cut anywhere. It never fails: text that breaks a rule is flagged as malformed and read to
//! its end. Readers must not know the engine, markers or events; the engine feeds them and sends what they write. An
//! application links only the readers that its programs use.

pub(crate) mod call_object;
pub(crate) mod json;
pub(crate) mod nested;
pub(crate) mod number;
pub(crate) mod python;
pub(crate) mod quote_tokens;
pub(crate) mod structure;
pub(crate) mod tagged;
pub(crate) mod words;
