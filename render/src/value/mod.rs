//! Python's values: what they are, how they compare, and how they are written as text and as JSON.
//!
//! Nothing here knows expressions or filters. All work is paid for from the render's [`Run`](crate::run::Run), because a
//! template may be hostile.

pub(crate) mod compare;
pub(crate) mod containers;
pub(crate) mod json;
pub(crate) mod labelled;
pub(crate) mod map;
pub(crate) mod number;
pub(crate) mod repr;
pub(crate) mod sort;
pub(crate) mod text;
pub(crate) mod types;
