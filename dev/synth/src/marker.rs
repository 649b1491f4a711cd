//! Markers in the alphabets that templates use, made of words that are used only once.

use crate::rng::Rng;

/// How markers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// `<x>` and `</x>`.
    Angle,
    /// `<|x|>`, closed by `<|/x|>` or by a word of its own.
    Pipe,
    /// `<｜x▁begin｜>`: multi-byte brackets.
    Wide,
    /// `[X]` and `[/X]`.
    Square,
    /// `]~x]` and `[~x[`: brackets that are not tags.
    Tilde,
    /// `Word:` and `End word.`: no brackets at all.
    Word,
}

/// All alphabets.
pub const ALPHABETS: [Alphabet; 6] =
    [Alphabet::Angle, Alphabet::Pipe, Alphabet::Wide, Alphabet::Square, Alphabet::Tilde, Alphabet::Word];

const SYLLABLES: [&str; 20] = [
    "ba", "cor", "di", "fen", "gu", "hol", "ix", "jar", "ka", "lum", "mo", "nep", "or", "pra", "ro", "sti", "tun",
    "ul", "vey", "wo",
];

const COMMON: [&str; 14] = [
    "tool_call",
    "call",
    "calls",
    "tool_calls",
    "invoke",
    "action",
    "function",
    "think",
    "thinking",
    "plan",
    "answer",
    "response",
    "use",
    "request",
];

/// Draws markers, no two of one word.
pub struct Markers<'r> {
    rng: &'r mut Rng,
    used: Vec<String>,
    alphabet: Alphabet,
}

impl<'r> Markers<'r> {
    /// Markers mostly of one alphabet.
    pub fn new(rng: &'r mut Rng) -> Self {
        // The two alphabets without tags are rare among templates, and here.
        let tags = &ALPHABETS[..4];
        let alphabet = if rng.one_in(6) { rng.pick(&ALPHABETS) } else { rng.pick(tags) };
        Self { rng, used: Vec::new(), alphabet }
    }

    /// The alphabet of most markers.
    pub fn usual(&self) -> Alphabet {
        self.alphabet
    }

    /// The generator itself.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }

    /// An alphabet for the next marker: the usual one of this template, rarely another.
    pub fn alphabet(&mut self) -> Alphabet {
        if self.rng.one_in(6) { self.rng.pick(&ALPHABETS) } else { self.alphabet }
    }

    /// Like [`Self::alphabet`], but with brackets: a marker in free text must not be a mere word.
    pub fn tags(&mut self) -> Alphabet {
        match self.alphabet() {
            Alphabet::Word => Alphabet::Angle,
            other => other,
        }
    }

    /// A word that no other marker has.
    pub fn word(&mut self) -> String {
        loop {
            let word = if self.rng.coin() {
                self.rng.pick(&COMMON).to_owned()
            } else {
                let count = 2 + self.rng.below(2);
                let mut word: String = (0..count).map(|_| self.rng.pick(&SYLLABLES)).collect();
                if self.rng.one_in(4) {
                    word.push('_');
                    word.push_str(self.rng.pick(&SYLLABLES));
                }
                word
            };
            if !self.used.contains(&word) {
                self.used.push(word.clone());
                return word;
            }
        }
    }

    /// An opening and a closing marker.
    pub fn pair(&mut self, alphabet: Alphabet) -> (String, String) {
        let word = self.word();
        match alphabet {
            Alphabet::Angle => (format!("<{word}>"), format!("</{word}>")),
            Alphabet::Pipe => match self.rng.below(4) {
                0 => (format!("<|{word}|>"), format!("<|/{word}|>")),
                1 => (format!("<|{word}_begin|>"), format!("<|{word}_end|>")),
                2 => (format!("<|START_{}|>", word.to_uppercase()), format!("<|END_{}|>", word.to_uppercase())),
                _ => (format!("<|{word}>"), format!("<{word}|>")),
            },
            Alphabet::Wide => (format!("<｜{word}▁begin｜>"), format!("<｜{word}▁end｜>")),
            Alphabet::Square => (format!("[{}]", word.to_uppercase()), format!("[/{}]", word.to_uppercase())),
            Alphabet::Tilde => (format!("]~{word}]"), format!("[~{word}[")),
            Alphabet::Word => {
                let mut title = word.clone();
                title[..1].make_ascii_uppercase();
                (format!("{title}:"), format!("End {word}."))
            }
        }
    }

    /// A marker that comes alone.
    pub fn single(&mut self, alphabet: Alphabet) -> String {
        self.pair(alphabet).0
    }

    /// White space next to a marker: mostly none, else a newline or two.
    pub fn space(&mut self) -> &'static str {
        self.rng.pick(&["", "", "", "", "\n", "\n", "\n\n", " "])
    }

    /// A pair with white space on its inner sides, and perhaps after it.
    pub fn laid_out(&mut self, alphabet: Alphabet) -> (String, String) {
        let (open, close) = self.pair(alphabet);
        if self.rng.coin() { (format!("{open}\n"), format!("\n{close}")) } else { (open, close) }
    }
}
