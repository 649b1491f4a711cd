//! Helpers of the runtime's own tests: random numbers from a seed, and samples.

/// Xorshift, so that every run draws the same.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end.max(1)
    }

    /// A random byte, usually one that means something to the readers.
    pub(crate) fn byte(&mut self) -> u8 {
        const LIKELY: &[u8] = b"{}[](),:\"'\\ \n\t0123456789-+.eEuxN_truefalsnbdTF\xc3\xa9\xf0\x9f\x98\x80#/<";
        if self.below(16) == 0 { self.next() as u8 } else { LIKELY[self.below(LIKELY.len())] }
    }

    pub(crate) fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most) + 1).map(|_| self.byte()).collect()
    }

    /// Removes, inserts or replaces one byte.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        match self.below(4) {
            0 if !bytes.is_empty() => drop(bytes.remove(at)),
            1 => bytes.truncate(at),
            2 if !bytes.is_empty() => bytes[at] = self.byte(),
            _ => bytes.insert(at, self.byte()),
        }
    }
}

/// Valid JSON of every kind, without white space around it.
pub(crate) fn json_samples() -> Vec<String> {
    let mut samples: Vec<String> = [
        "{}",
        "[]",
        "\"\"",
        "0",
        "-0.5",
        "1.50E+10",
        "12345678901234567890123",
        "true",
        "false",
        "null",
        "\"plain\"",
        r#""a \"quote\", \\, \/, \b\f\n\r\t, \u00e9, \ud83d\ude00, { [ } ]""#,
        "\"né, 日本, 😀\"",
        r#"{"city": "Paris", "days": 3}"#,
        r#"{"a":{"b":[1,2,{"c":null}],"d":""},"e":[[],[[]],{}]}"#,
        "{ \"a\" : [ 1 , -2.5e-3 , true ] ,\n\t\"b\" : { } }",
        r#"[1, "two", [3.0], {"four": 4}, true, false, null]"#,
        r#"{"code": "def f():\n    return {'a': \"</tool_call>\"}\n"}"#,
        r#"{"é\u0041": "\\\\\"", "": 1e5}"#,
    ]
    .iter()
    .map(ToString::to_string)
    .collect();
    samples.push(format!("{{\"long\": \"{}\\n{}\"}}", "x".repeat(100), "ÿ \\\" ".repeat(30)));
    samples.push("[".repeat(70) + &"]".repeat(70));
    samples
}
