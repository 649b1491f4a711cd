//! Numbers by their digits, so that they can be compared with one that is still being read.

use std::cmp::Ordering;

use serde_json::Number;

use super::super::bounds::Decimal;

/// A number of a schema: 0.DIGITS times ten to the power of `point`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Magnitude {
    pub(crate) negative: bool,
    /// Without zeros at either end; empty for zero.
    pub(crate) digits: Vec<u8>,
    pub(crate) point: i64,
    /// The number as it is written in messages.
    pub(crate) text: String,
}

impl Magnitude {
    /// `None` if the number has too many digits.
    pub(crate) fn of(number: &Number) -> Option<Self> {
        let mut magnitude = Self::from(&Decimal::of(number)?);
        magnitude.text = number.to_string();
        Some(magnitude)
    }

    /// The digit at a place; zeros follow the last one.
    pub(crate) fn digit(&self, at: usize) -> u8 {
        self.digits.get(at).copied().unwrap_or(b'0')
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// The order by digits alone.
    pub(crate) fn by_digits(&self, other: &Self) -> Ordering {
        self.digits.cmp(&other.digits)
    }
}

impl From<&Decimal> for Magnitude {
    fn from(decimal: &Decimal) -> Self {
        let text = |digits: &[u8]| String::from_utf8_lossy(digits).into_owned();
        let whole = if decimal.whole.is_empty() { "0".to_owned() } else { text(&decimal.whole) };
        let sign = if decimal.negative { "-" } else { "" };
        let point = if decimal.fraction.is_empty() { "" } else { "." };
        let text = format!("{sign}{whole}{point}{}", text(&decimal.fraction));
        let (digits, point) = match decimal.scientific() {
            Some((decimal, exponent)) => {
                let digits: Vec<u8> = decimal.whole.iter().chain(&decimal.fraction).copied().collect();
                (digits, i64::from(exponent) + 1)
            }
            None => (Vec::new(), 0),
        };
        Self { negative: decimal.negative, digits, point, text }
    }
}
