//! Evaluation: runs the syntax tree of a template and writes its text.
//!
//! The files here add methods to one type, [`interpreter::Interpreter`]. Statements evaluate expressions, and an expression
//! can run statements by calling a macro.

mod calls;
mod expressions;
pub(crate) mod interpreter;
mod loops;
pub(crate) mod statements;
