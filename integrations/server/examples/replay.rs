//! An upstream without a model: it replays a text for every request, in small pieces, as a server would that completes text.
//!
//! `cargo run -p unjinja-server --features http --example replay -- 127.0.0.1:8081 FILE…` replays the files in turn, for
//! `unjinja serve --upstream http://127.0.0.1:8081`.

#[path = "../tests/proxy/replay.rs"]
mod replay;

use std::process::ExitCode;
use std::time::Duration;

/// The time between two pieces.
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let [place, files @ ..] = arguments else { return Err("usage: replay ADDRESS FILE…".into()) };
    if files.is_empty() {
        return Err("usage: replay ADDRESS FILE…: name a file with what the model writes".into());
    }
    let texts = files.iter().map(|file| std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}")));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let listener = tokio::net::TcpListener::bind(place).await.map_err(|error| format!("{place}: {error}"))?;
    // Whatever the model's name is.
    let outputs = [(String::new(), texts)].into();
    let replay = replay::Replay { outputs, in_turn: true, pause: PAUSE, ..Default::default() };
    let (url, _replay) = replay.start_at(listener)?;
    println!("replaying {} at {url}", files.join(", "));
    std::future::pending::<()>().await;
    Ok(())
}
