#![doc = include_str!("../README.md")]

pub mod compare;
pub mod lint;
pub mod response_template;
mod tags;
pub mod training;
