//! Other parsers of model output with one interface, and the wire formats that they read. Two commands use them: one
//! measures their speed (`main.rs`), the other what they read of real outputs (`bin/outputs/main.rs`).

pub mod formats;
pub mod inputs;
pub mod message;
pub mod peers;
pub mod turn;
