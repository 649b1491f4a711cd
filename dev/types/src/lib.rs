//! The types of many JSON schemas, as `types = true` makes them of tools. The build script makes them.

// One schema has a member whose name is a full-width letter.
#![allow(uncommon_codepoints)]

include!(concat!(env!("OUT_DIR"), "/types.rs"));
