//! The automaton of JSON numbers, and the number that Python spells, rewritten for it.
//!
//! Everything that has to know where a number ends, or whether a text may still become one, asks this automaton.

/// The beginning of a JSON number: which part of the number its last byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum NumberPrefix {
    #[default]
    Start,
    /// The sign before the digits.
    Minus,
    /// A zero in front of the decimal point. No digit may follow it.
    Zero,
    /// A digit in front of the decimal point.
    Integer,
    Point,
    /// A digit after the decimal point.
    Fraction,
    E,
    ESign,
    Exponent,
}

impl NumberPrefix {
    /// The prefix with one more byte; `None` if no number begins with that.
    #[inline]
    pub(crate) fn next(self, byte: u8) -> Option<Self> {
        // The digits of long numbers come first: in the order of the grammar, small values take 5 % more instructions.
        Some(match (self, byte) {
            (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Fraction | Self::Point, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Start | Self::Minus, b'0') => Self::Zero,
            (Self::Start | Self::Minus, b'1'..=b'9') => Self::Integer,
            (Self::Start, b'-') => Self::Minus,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::ESign,
            (Self::E | Self::ESign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    /// Whether the prefix is a number: it may end here.
    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Exponent)
    }
}

/// Writes an integer or float of Python as a JSON number: without a plus sign, leading zeros and the underscores between
/// digits, and with digits on both sides of the point. `Some(false)`: it has leading zeros, which Python does not allow.
/// `None`: it is not a number; the part that fits was written.
pub(crate) fn write_python_number(token: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let mut number = NumberPrefix::Start;
    let (mut digits, mut leading_zeros, mut regular) = (0, 0, true);
    let mut last = b'+';
    for (at, &byte) in token.iter().enumerate() {
        let before = std::mem::replace(&mut last, byte);
        match number {
            NumberPrefix::Start if byte == b'+' => {
                number = NumberPrefix::Minus;
                continue;
            }
            _ if byte == b'_' && before.is_ascii_digit() && token.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                continue;
            }
            NumberPrefix::Zero if byte.is_ascii_digit() => {
                out.pop();
                leading_zeros += 1;
                number = NumberPrefix::Minus;
            }
            NumberPrefix::Start | NumberPrefix::Minus if byte == b'.' => {
                out.push(b'0');
                number = NumberPrefix::Zero;
            }
            // A point alone is not a number.
            NumberPrefix::Point if digits == 0 && !byte.is_ascii_digit() => return None,
            NumberPrefix::Point if !byte.is_ascii_digit() => {
                out.push(b'0');
                number = NumberPrefix::Fraction;
            }
            _ => {}
        }
        number = number.next(byte)?;
        out.push(byte);
        digits += usize::from(byte.is_ascii_digit());
        // Zeros alone are allowed, and a float may begin with any number of them.
        regular = number != NumberPrefix::Integer || leading_zeros == 0;
    }
    if number == NumberPrefix::Point && digits > 0 {
        out.push(b'0');
        number = NumberPrefix::Fraction;
    }
    number.is_whole().then_some(regular)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_whole_where_json_has_the_number() {
        // Every text of these bytes, up to a length: what the automaton takes is a number or the beginning of one.
        let mut texts = vec![String::new()];
        for from in 0.. {
            let Some(text) = texts.get(from).cloned() else { break };
            if text.len() < 6 {
                texts.extend("-+.e01".chars().map(|next| format!("{text}{next}")));
            }
        }
        for text in &texts {
            let prefix = text.bytes().try_fold(NumberPrefix::Start, NumberPrefix::next);
            let is_number = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            assert_eq!(prefix.is_some_and(NumberPrefix::is_whole), is_number(text), "{text}");
            let begins =
                is_number(text) || ["0", "1", ".0", "e0"].iter().any(|rest| is_number(&format!("{text}{rest}")));
            assert_eq!(prefix.is_some(), begins, "{text}");
        }
    }

    #[test]
    fn what_fits_of_a_python_number_is_written() {
        for (token, json, regular) in [
            ("+007", "7", Some(false)),
            ("0_0", "0", Some(true)),
            ("00.5", "0.5", Some(true)),
            ("-.5e-3", "-0.5e-3", Some(true)),
            ("1.", "1.0", Some(true)),
            ("1.e5", "1.0e5", Some(true)),
            ("+-5", "", None),
            ("-.", "-0.", None),
            ("-.e5", "-0.", None),
            ("1._5", "1.0", None),
            ("1__0", "1", None),
            ("1e", "1e", None),
            ("007x", "7", None),
        ] {
            let mut out = Vec::new();
            assert_eq!(write_python_number(token.as_bytes(), &mut out), regular, "{token}");
            assert_eq!(String::from_utf8(out).unwrap(), json, "{token}");
        }
    }
}
