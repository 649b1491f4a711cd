//! Sets of JSON types, as bits. A number without a fraction is an integer here, as in JSON Schema.

use serde_json::Value;
use unjinja_runtime::Types;
use unjinja_runtime::schema::{declared, type_of};

pub(crate) const NULL: u8 = Types::NULL.bits();
pub(crate) const BOOLEAN: u8 = Types::BOOLEAN.bits();
pub(crate) const INTEGER: u8 = Types::INTEGER.bits();
/// Numbers that are not integers.
pub(crate) const FRACTION: u8 = Types::NUMBER.bits() & !INTEGER;
pub(crate) const NUMBER: u8 = Types::NUMBER.bits();
pub(crate) const STRING: u8 = Types::STRING.bits();
pub(crate) const ARRAY: u8 = Types::ARRAY.bits();
pub(crate) const OBJECT: u8 = Types::OBJECT.bits();
pub(crate) const ANY: u8 = Types::ANY.bits();

pub(super) fn types_of(value: &Value) -> Option<u8> {
    declared(value).map(Types::bits)
}

/// The type of a value. A number without a fraction is an integer.
pub(super) fn type_bits(value: &Value) -> u8 {
    match value {
        Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() == 0.0) => INTEGER,
        Value::Number(_) => FRACTION,
        value => type_of(value).bits(),
    }
}
