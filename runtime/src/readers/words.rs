//! The words that are values, as JSON and Python spell them.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    /// `true`, in Python `True`.
    True,
    /// `false`, in Python `False`.
    False,
    /// `null`, in Python `None`.
    Null,
}

impl Word {
    pub(crate) const fn json(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Null => "null",
        }
    }

    pub(crate) const fn python(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Null => "None",
        }
    }

    /// The word that begins with this byte in JSON.
    #[inline]
    pub(crate) fn first(byte: u8) -> Option<Self> {
        match byte {
            b't' => Some(Self::True),
            b'f' => Some(Self::False),
            b'n' => Some(Self::Null),
            _ => None,
        }
    }

    /// The word that a text spells in Python or JSON.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        Self::begun(text).filter(|(_, missing)| *missing == 0).map(|(word, _)| word)
    }

    /// The word whose spelling in Python or JSON begins with a text, and how many bytes of that spelling are missing.
    pub(crate) fn begun(text: &[u8]) -> Option<(Self, usize)> {
        let spelled = SPELLINGS.iter().find(|(spelling, _)| begins(spelling.as_bytes(), text));
        spelled.map(|&(spelling, word)| (word, spelling.len() - text.len()))
    }

    /// The JSON of the same length as the beginning of the word, in either spelling. Both have the same length.
    pub(crate) fn begun_json(text: &[u8]) -> Option<&'static [u8]> {
        let (word, _) = Self::begun(text)?;
        word.json().as_bytes().get(..text.len())
    }
}

/// Every spelling. A text in which several begin, the empty one, begins the first.
const SPELLINGS: [(&str, Word); 6] = {
    let [t, f, n] = [Word::True, Word::False, Word::Null];
    [(t.python(), t), (f.python(), f), (n.python(), n), (t.json(), t), (f.json(), f), (n.json(), n)]
};

/// Whether a text begins with another. For such short texts this loop is faster than a call.
fn begins(text: &[u8], other: &[u8]) -> bool {
    other.len() <= text.len() && text.iter().zip(other).all(|(one, other)| one == other)
}
