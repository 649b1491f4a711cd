//! The tests of the reader of grammars, and of the grammars that schemas become, in one program: each file is a module about one subject.

mod gbnf;
mod keywords;
mod schema;
mod schema_limits;
