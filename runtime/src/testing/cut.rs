//! Ways to cut a text into the pieces of a stream.

use std::fmt;

/// A way to cut a text into pieces. Cuts count bytes and may fall inside a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// All in one piece.
    Whole,
    /// In two pieces; the first has this many bytes.
    At(usize),
    /// Pieces of this many bytes; the last may be shorter.
    Chunks(usize),
    /// Pieces of random lengths, some of them empty. The same seed gives the same pieces.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl Cut {
    /// The pieces, in order.
    pub fn pieces<'t>(&self, text: &'t [u8]) -> Vec<&'t [u8]> {
        match *self {
            Cut::Whole => vec![text],
            Cut::At(at) => {
                let (first, second) = text.split_at(at.min(text.len()));
                vec![first, second]
            }
            Cut::Chunks(size) => text.chunks(size.max(1)).collect(),
            Cut::Random { seed } => {
                let mut random = Random::new(seed);
                // Long and short pieces find different errors.
                let longest = [2, 5, 16, 64, 256][random.below(5)];
                let (mut pieces, mut rest) = (Vec::new(), text);
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(random.below(longest + 1).min(rest.len()));
                    pieces.push(piece);
                    rest = after;
                }
                pieces
            }
        }
    }

    /// A text with its cuts: `"<tool┃_call>"`. Of a long text only the beginning.
    pub(crate) fn show(&self, text: &[u8]) -> String {
        const LONGEST: usize = 2000;
        let mut out = String::from("\"");
        for (number, piece) in self.pieces(text).into_iter().enumerate() {
            if number > 0 {
                out.push('┃');
            }
            for chunk in piece.utf8_chunks() {
                out.extend(chunk.valid().escape_debug());
                out.extend(chunk.invalid().escape_ascii().map(char::from));
            }
            if out.len() > LONGEST {
                out.push('…');
                break;
            }
        }
        out.push('"');
        out
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Whole => f.write_str("whole"),
            Cut::At(at) => write!(f, "cut after byte {at}"),
            Cut::Chunks(1) => f.write_str("byte by byte"),
            Cut::Chunks(size) => write!(f, "in pieces of {size} bytes"),
            Cut::Random { seed } => write!(f, "cut at random with seed {seed}"),
        }
    }
}

/// A small generator of random numbers (SplitMix64); the same seed gives the same numbers everywhere.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, or 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n.max(1) as u64;
        // Below `n`, so it fits.
        (self.number() % n) as usize
    }
}
