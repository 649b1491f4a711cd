//! The program `unjinja`: all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(unjinja_cli::run(std::env::args_os()))
}
