//! A number while it is read: its leading digits and its size. Memory is bounded, however long the number is written.

use std::cmp::Ordering;

use crate::schema::{Limit, Magnitude};

/// The maximum number of digits that are kept. Numbers of a schema have fewer.
const KEPT: usize = 96;
/// An exponent is not counted further.
const HIGHEST: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NumberPart {
    #[default]
    Whole,
    Fraction,
    Exponent,
}

/// The number 0.DIGITS times ten to the power of `point` and the exponent.
#[derive(Clone, Debug, Default)]
pub(super) struct Number {
    pub(super) negative: bool,
    /// The digits from the first one that is not zero.
    digits: Vec<u8>,
    /// The number of those digits, also of those that are not kept.
    count: i64,
    /// How many of them there are up to the last one that is not zero.
    significant: i64,
    point: i64,
    part: NumberPart,
    exponent: i64,
    exponent_negative: bool,
}

impl Number {
    /// Forgets the number before.
    pub(super) fn clear(&mut self) {
        let mut digits = std::mem::take(&mut self.digits);
        digits.clear();
        *self = Self { digits, ..Self::default() };
    }

    pub(super) fn push(&mut self, byte: u8) {
        match byte {
            b'-' if self.part == NumberPart::Exponent => self.exponent_negative = true,
            b'-' => self.negative = true,
            b'.' => self.part = NumberPart::Fraction,
            b'e' | b'E' => self.part = NumberPart::Exponent,
            b'0'..=b'9' => self.digit(byte),
            _ => {}
        }
    }

    fn digit(&mut self, byte: u8) {
        if self.part == NumberPart::Exponent {
            self.exponent = (self.exponent * 10 + i64::from(byte - b'0')).min(HIGHEST);
            return;
        }
        if self.count == 0 && byte == b'0' {
            self.point -= i64::from(self.part == NumberPart::Fraction);
            return;
        }
        self.point += i64::from(self.part == NumberPart::Whole);
        self.count += 1;
        if byte != b'0' {
            self.significant = self.count;
        }
        if self.digits.len() < KEPT {
            self.digits.push(byte);
        }
    }

    /// The last digit, and its place among the digits that count. `None` if none was read yet.
    pub(super) fn last(&self) -> Option<(usize, u8)> {
        (self.part != NumberPart::Exponent).then_some(())?;
        let at = self.digits.len().checked_sub(1)?;
        Some((at, self.digits[at]))
    }

    /// Whether only a sign and zeros were read.
    pub(super) fn is_unsized(&self) -> bool {
        self.count == 0
    }

    fn is_zero(&self) -> bool {
        self.significant == 0
    }

    fn size(&self) -> i64 {
        self.point + if self.exponent_negative { -self.exponent } else { self.exponent }
    }

    /// Whether the number, now complete, has no fraction.
    pub(super) fn is_integer(&self) -> bool {
        self.is_zero() || self.significant <= self.size()
    }

    /// Compares the number, now complete.
    pub(super) fn compare(&self, other: &Magnitude) -> Ordering {
        let sign = |zero: bool, negative: bool| if zero { 0 } else { 1 - 2 * i8::from(negative) };
        let (mine, theirs) = (sign(self.is_zero(), self.negative), sign(other.is_zero(), other.negative));
        if mine != theirs || mine == 0 {
            return mine.cmp(&theirs);
        }
        let order = self.size().cmp(&other.point).then_with(|| self.compare_digits(other));
        if mine < 0 { order.reverse() } else { order }
    }

    fn compare_digits(&self, other: &Magnitude) -> Ordering {
        for at in 0..self.digits.len().max(other.digits.len()) {
            let order = self.digits.get(at).copied().unwrap_or(b'0').cmp(&other.digit(at));
            if order.is_ne() {
                return order;
            }
        }
        // Digits that are not kept can only make it larger.
        if self.significant > KEPT as i64 { Ordering::Greater } else { Ordering::Equal }
    }

    /// Whether the number, now complete, is above the lower limit.
    pub(super) fn is_above(&self, limit: &Limit) -> bool {
        let order = self.compare(&limit.value);
        order.is_gt() || (order.is_eq() && !limit.exclusive)
    }

    /// Whether the number, now complete, is below the upper limit.
    pub(super) fn is_below(&self, limit: &Limit) -> bool {
        let order = self.compare(&limit.value);
        order.is_lt() || (order.is_eq() && !limit.exclusive)
    }

    /// Whether the number may still be above the lower limit. Only signs decide: an exponent can change every size.
    pub(super) fn may_be_above(&self, limit: &Limit) -> bool {
        let zero_fits = limit.value.negative || (limit.value.is_zero() && !limit.exclusive);
        !self.negative || limit.value.negative || (self.is_zero() && zero_fits)
    }

    /// Whether the number may still be below the upper limit.
    pub(super) fn may_be_below(&self, limit: &Limit) -> bool {
        let above_zero = !limit.value.negative && !limit.value.is_zero();
        let zero_fits = above_zero || (limit.value.is_zero() && !limit.exclusive);
        self.negative || above_zero || (self.is_zero() && zero_fits)
    }
}
