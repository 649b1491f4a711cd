//! Text and lists of a program: `'static` in generated code, owned where a program was made at run time.
//!
//! Some functions here are `const`, so that generated code can hold a whole program in a `static`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Text of a program: `'static` in generated code, owned where the program was made at run time.
pub type Text = Cow<'static, str>;

/// A list in a program, `'static` or owned.
pub type List<T> = Cow<'static, [T]>;

/// A constant text, for generated code.
pub const fn text(text: &'static str) -> Text {
    Cow::Borrowed(text)
}

/// A constant list, for generated code.
pub const fn list<T: Clone>(items: &'static [T]) -> List<T> {
    Cow::Borrowed(items)
}

/// The text as a `&str`. `Deref` is not available in a `const fn`.
pub(crate) const fn as_str(text: &Text) -> &str {
    match text {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => text.as_str(),
    }
}

/// The list as a slice. `Deref` is not available in a `const fn`.
pub(crate) const fn as_slice<T: Clone>(list: &List<T>) -> &[T] {
    match list {
        Cow::Borrowed(items) => items,
        Cow::Owned(items) => items.as_slice(),
    }
}

/// Sets a field in a `const fn`, where nothing may be dropped. What it replaces is always constant data, so forgetting it
/// leaks nothing.
pub(crate) const fn set<T>(field: &mut T, value: T) {
    std::mem::forget(std::mem::replace(field, value));
}

/// A larger part of a program: `'static` in generated code, counted where the program was made at run time. Much smaller
/// than a `Cow`, which has room for the owned value.
#[derive(Clone)]
pub enum Shared<T: 'static> {
    /// A constant.
    Static(&'static T),
    /// Made at run time.
    Counted(Arc<T>),
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Static(value) => value,
            Self::Counted(value) => value,
        }
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self::Counted(Arc::new(value))
    }
}
