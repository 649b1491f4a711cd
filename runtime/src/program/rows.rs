//! Lists of markers and of transitions. In generated code each entry is written once, in a table of the program, and a state
//! refers to it by number. A program that is made at run time owns the entries of each state.

use std::ops::Index;

use super::text::{List, as_slice};

/// The markers of a state.
pub type MarkerRows = Rows<super::Marker, 0>;

/// The transitions of a state.
pub type TransitionRows = Rows<super::Transition, 1>;

/// What generated code writes once.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Each marker.
    pub markers: &'static [super::Marker],
    /// Each transition.
    pub transitions: &'static [super::Transition],
}

/// A row of a state: the number of its marker, that of its transition, and how the marker's text [begins](head).
pub type Row = [u16; 3];

/// The first two bytes of a marker's text as one number, the first one in the low byte. A shorter text has the number 65,535, which no text in UTF-8 begins with.
pub const fn head(core: &[u8]) -> u16 {
    match core {
        [first, second, ..] => u16::from_le_bytes([*first, *second]),
        _ => ANY_HEAD,
    }
}

/// What stands for any two bytes. No text begins with it, since it is not UTF-8.
pub(crate) const ANY_HEAD: u16 = u16::MAX;

/// One column of a state's rows, or a list of its own.
#[derive(Clone)]
pub enum Rows<T: Clone + 'static, const COLUMN: usize> {
    /// The rows. The numbers of this column are those of entries of the table.
    Table(&'static [T], &'static [Row]),
    /// The entries themselves.
    List(List<T>),
}

impl<T: Clone + 'static, const COLUMN: usize> Rows<T, COLUMN> {
    /// No entries.
    pub const NONE: Self = Self::List(List::Borrowed(&[]));

    /// How many there are.
    #[inline]
    pub const fn len(&self) -> usize {
        match self {
            Self::Table(_, rows) => rows.len(),
            Self::List(list) => as_slice(list).len(),
        }
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at this position, which must be less than [`len`](Self::len). `Index` is not available in a `const fn`.
    #[inline]
    pub(crate) const fn at(&self, index: usize) -> &T {
        match self {
            Self::Table(table, rows) => &table[rows[index][COLUMN] as usize],
            Self::List(list) => &as_slice(list)[index],
        }
    }

    /// The entry at this position, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        (index < self.len()).then(|| self.at(index))
    }

    /// The first entry.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The entries in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + Clone {
        (0..self.len()).map(|index| self.at(index))
    }

    /// An entry with its number in the table of generated code.
    #[inline]
    pub(crate) fn numbered(&self, index: usize) -> Option<(u16, &T)> {
        let Self::Table(table, rows) = self else { return None };
        let number = rows.get(index)?[COLUMN];
        Some((number, table.get(usize::from(number))?))
    }

    /// Changes each entry, in a program that is being made.
    pub fn change(&mut self, change: impl FnMut(&mut T)) {
        let mut list = std::mem::replace(self, Self::NONE).into_vec();
        list.iter_mut().for_each(change);
        *self = list.into();
    }

    /// The entries, for a program that is being made. Only those of constants are copied.
    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Self::List(list) => list.into_owned(),
            Self::Table(..) => self.iter().cloned().collect(),
        }
    }
}

impl<T: Clone + 'static, const COLUMN: usize> Index<usize> for Rows<T, COLUMN> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        self.at(index)
    }
}

impl<T: Clone + 'static, const COLUMN: usize> From<Vec<T>> for Rows<T, COLUMN> {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into())
    }
}

impl<T: Clone + PartialEq + 'static, const COLUMN: usize> PartialEq for Rows<T, COLUMN> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Clone + std::fmt::Debug + 'static, const COLUMN: usize> std::fmt::Debug for Rows<T, COLUMN> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
