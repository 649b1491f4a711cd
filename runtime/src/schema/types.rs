//! The JSON types that an argument may have, as its schema says.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// The JSON types that a value may have. The empty set, [`UNKNOWN`](Self::UNKNOWN), says that nothing is known.
///
/// ```
/// use unjinja_runtime::Types;
///
/// let types = Types::STRING | Types::NULL;
/// assert!(types.contains(Types::NULL) && !types.contains(Types::INTEGER));
/// assert!(Types::NUMBER.contains(Types::INTEGER));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Types(u8);

impl Types {
    /// Strings.
    pub const STRING: Self = Self(1);
    /// Numbers without a fraction.
    pub const INTEGER: Self = Self(1 << 1);
    /// All numbers, integers too.
    pub const NUMBER: Self = Self(1 << 2 | 1 << 1);
    /// `true` and `false`.
    pub const BOOLEAN: Self = Self(1 << 3);
    /// `null`.
    pub const NULL: Self = Self(1 << 4);
    /// Objects.
    pub const OBJECT: Self = Self(1 << 5);
    /// Arrays.
    pub const ARRAY: Self = Self(1 << 6);
    /// Values of every type.
    pub const ANY: Self = Self(0x7f);
    /// Any type but string.
    pub const NOT_STRING: Self = Self(0x7e);
    /// The schema does not say: text that is JSON is that value, other text is a string.
    pub const UNKNOWN: Self = Self(0);

    /// Whether every type of `other` is among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether some type of `other` is among these.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nothing is known.
    pub const fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// The types as bits, one for each constant. Numbers with a fraction have a bit of their own.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether these are lists only, or lists and `null`.
    pub(crate) const fn is_list(self) -> bool {
        self.0 & !Self::NULL.0 == Self::ARRAY.0
    }

    pub(crate) const fn has_string(self) -> bool {
        self.is_unknown() || self.contains(Self::STRING)
    }
}

impl BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Types {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Types {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unknown() {
            return f.write_str("UNKNOWN");
        }
        let names = [
            ("STRING", Self::STRING),
            ("NUMBER", Self::NUMBER),
            ("INTEGER", Self::INTEGER),
            ("BOOLEAN", Self::BOOLEAN),
            ("NULL", Self::NULL),
            ("OBJECT", Self::OBJECT),
            ("ARRAY", Self::ARRAY),
        ];
        let number = self.contains(Self::NUMBER);
        let mut separator = "";
        for (name, types) in names {
            if self.contains(types) && !(number && name == "INTEGER") {
                write!(f, "{separator}{name}")?;
                separator = " | ";
            }
        }
        Ok(())
    }
}
