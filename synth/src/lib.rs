//! Turns the analyzer on itself: draws random format specs, writes for each a Jinja template that renders it, and
//! asks whether the analysis of the template gives the spec back.

#![expect(clippy::expect_used, reason = "a development crate: what cannot happen may stop it")]

pub mod calls;
pub mod draw;
pub mod marker;
pub mod node;
pub mod rng;
pub mod same;
pub mod template;
pub mod tools;
pub mod trial;
pub mod written;
