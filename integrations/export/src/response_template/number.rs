//! Numbers as Python reads and writes them: `int(text)`, `float(text)`, `int(float)` and `repr(float)`.

use super::text::strip;

/// Python refuses integers with more digits.
const MOST_DIGITS: usize = 4300;

/// `int(text)`: the digits without leading zeros, after `-` if the number is negative. Digits of other scripts, which
/// Python reads too, are not read.
pub(crate) fn int(text: &str) -> Option<String> {
    let text = strip(text);
    let (sign, digits) = signed(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
        return None;
    }
    let digits = without_underscores(digits)?;
    if digits.len() > MOST_DIGITS {
        return None;
    }
    Some(integer(sign, &digits))
}

/// `float(text)`.
pub(crate) fn float(text: &str) -> Option<f64> {
    let text = strip(text);
    let (_, unsigned) = signed(text);
    // Rust takes a second sign nowhere, and the same words for infinity and for no number as Python.
    if !unsigned.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '.') {
        return None;
    }
    without_underscores(text)?.parse().ok()
}

/// `int(number)` of a whole number: all its digits.
pub(crate) fn int_of_float(number: f64) -> String {
    let digits = format!("{number:.0}");
    let (sign, digits) = signed(&digits);
    integer(sign, digits)
}

/// `repr(number)`, as `json.dumps` writes a float.
pub(crate) fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    // The shortest digits that give the number back: `-1.25e-7`.
    let scientific = format!("{number:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{number}");
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

/// The sign of a number's text, `-` or nothing, and the rest.
fn signed(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

fn integer(sign: &str, digits: &str) -> String {
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => format!("{sign}{digits}"),
    }
}

/// The text without its underscores, which may only be between two digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let between = |at: usize| at > 0 && is_digit(at - 1) && is_digit(at + 1);
    let fits = bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || between(at));
    fits.then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_python_reads_them() {
        let of = |text| int(text).unwrap_or_else(|| "refused".to_owned());
        let texts = [" 42\n", "+007", "-0", "1_000", "_1", "1__0", "", "-", "1.0", "99999999999999999999"];
        let expected =
            ["42", "7", "0", "1000", "refused", "refused", "refused", "refused", "refused", "99999999999999999999"];
        assert_eq!(texts.map(of), expected.map(str::to_owned));
    }

    #[test]
    fn floats_are_read_and_written_as_python_does() {
        let of = |text| float(text).map_or_else(|| "refused".to_owned(), float_text);
        let texts =
            ["1", "1e3", "1e16", "123456789.125", "1e-5", "0.0001", "-inf", "nan", "1_0.5", ".5", "1.", "", "+-1"];
        let expected = [
            "1.0",
            "1000.0",
            "1e+16",
            "123456789.125",
            "1e-05",
            "0.0001",
            "-Infinity",
            "NaN",
            "10.5",
            "0.5",
            "1.0",
            "refused",
            "refused",
        ];
        assert_eq!(texts.map(of), expected.map(str::to_owned));
        assert_eq!(int_of_float(1e23), "99999999999999991611392");
    }
}
