//! Bounds that a schema sets: exact decimal numbers, and how many items, properties or characters there may be.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The maximum number of digits of a bound before and after its point.
const DIGITS: usize = 40;
/// A decimal number: the digits before and after the point, without leading and trailing zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub negative: bool,
    pub whole: Vec<u8>,
    pub fraction: Vec<u8>,
}

impl Decimal {
    /// The exact value of a JSON number. `None` if it has too many digits.
    pub fn of(number: &Number) -> Option<Self> {
        let written = number.to_string();
        let (digits, exponent) = written.split_once(['e', 'E']).unwrap_or((&written, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |digits| (true, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let point = i32::try_from(whole.len()).ok()?.checked_add(exponent)?;
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if point < -(DIGITS as i32) || point > DIGITS as i32 {
            return None;
        }
        if point < 0 {
            digits.splice(0..0, std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
        }
        let point = point.max(0) as usize;
        while digits.len() < point {
            digits.push(b'0');
        }
        let mut fraction = digits.split_off(point);
        while fraction.last() == Some(&b'0') {
            fraction.pop();
        }
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        let whole = digits.split_off(zeros);
        let zero = whole.is_empty() && fraction.is_empty();
        (fraction.len() <= DIGITS && whole.len() <= DIGITS).then_some(Self {
            negative: negative && !zero,
            whole,
            fraction,
        })
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
        }
    }

    fn compare_size(&self, other: &Self) -> Ordering {
        let whole = self.whole.len().cmp(&other.whole.len()).then_with(|| self.whole.cmp(&other.whole));
        whole.then_with(|| self.fraction.cmp(&other.fraction))
    }

    pub fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// The number in scientific notation: one digit before the point, and the exponent. `None` for zero.
    pub fn scientific(&self) -> Option<(Self, i32)> {
        let mut digits: Vec<u8> = self.whole.iter().chain(&self.fraction).copied().collect();
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        let exponent = i32::try_from(self.whole.len()).ok()? - i32::try_from(zeros).ok()? - 1;
        digits.drain(..zeros);
        let mut fraction = digits.split_off(1.min(digits.len()));
        while fraction.last() == Some(&b'0') {
            fraction.pop();
        }
        (!digits.is_empty()).then_some((Self { negative: self.negative, whole: digits, fraction }, exponent))
    }

    /// The number rounded towards zero. `None` if it has too many digits.
    pub fn truncated(&self) -> Option<i128> {
        let whole = std::str::from_utf8(&self.whole).ok()?;
        let size: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        Some(if self.negative { -size } else { size })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    pub value: Decimal,
    /// Whether the bound itself is excluded.
    pub exclusive: bool,
}

/// The minimum and maximum of a length or a number of things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Count {
    pub min: u32,
    pub max: Option<u32>,
}

impl Count {
    pub fn at_least(&mut self, value: &Value) {
        self.min = self.min.max(count(value).unwrap_or(0));
    }

    pub fn at_most(&mut self, value: &Value) {
        if let Some(max) = count(value) {
            self.max = Some(self.max.map_or(max, |known| known.min(max)));
        }
    }

    pub fn is_any(self) -> bool {
        self == Self::default()
    }

    pub fn is_empty(self) -> bool {
        self.max.is_some_and(|max| max < self.min)
    }
}

/// A count in a schema. Counts that are too high to be reached become the highest.
fn count(value: &Value) -> Option<u32> {
    let whole = value.as_u64().or_else(|| value.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64));
    whole.map(|whole| u32::try_from(whole).unwrap_or(u32::MAX))
}
