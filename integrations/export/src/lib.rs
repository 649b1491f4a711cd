#![doc = include_str!("../README.md")]

pub mod expressions;
pub mod response_template;
pub mod tags;
pub mod training;
