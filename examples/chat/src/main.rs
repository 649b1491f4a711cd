//! A chat in the terminal, against `unjinja serve`. The answer is printed while it arrives, the reasoning dimmed. The model may
//! call a tool that runs here; its result goes back to the model.
//!
//! ```text
//! unjinja serve --upstream http://127.0.0.1:8000 --template tokenizer_config.json   # in another terminal
//! cargo run -p example-chat                                                         # or with the address of a server
//! ```
//!
//! Without a model, `cargo run -p example-axum` answers too: `cargo run -p example-chat -- http://127.0.0.1:3000`. The key of a
//! server that has one is in `UNJINJA_API_KEY`.

mod client;
mod tools;

use std::error::Error;
use std::io::{BufRead, Write};

use anstyle::Style;
use serde_json::{Value, json};

use client::{Answer, AnswerPart, Client};

/// The address of `unjinja serve`, unless the first argument is another.
const SERVER: &str = "http://127.0.0.1:8080";

/// A model that calls tools again and again is stopped here.
const MOST_ROUNDS: usize = 8;

const REASONING: Style = Style::new().dimmed();

fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::args().nth(1).unwrap_or_else(|| SERVER.to_owned());
    let client = Client::new(&server, std::env::var("UNJINJA_API_KEY").ok())?;
    let mut messages = Vec::new();
    let mut lines = std::io::stdin().lock().lines();
    loop {
        anstream::print!("> ");
        anstream::stdout().flush()?;
        let Some(line) = lines.next().transpose()? else { break };
        if line.trim().is_empty() {
            continue;
        }
        let before = messages.len();
        messages.push(json!({"role": "user", "content": line}));
        if let Err(error) = turn(&client, &mut messages) {
            // A conversation with half an answer would confuse the model.
            messages.truncate(before);
            anstream::eprintln!("{error}");
        }
    }
    Ok(())
}

/// One turn of the model: its answer, or calls and then its answer to their results.
fn turn(client: &Client, messages: &mut Vec<Value>) -> Result<(), Box<dyn Error>> {
    for _ in 0..MOST_ROUNDS {
        let mut shown = Shown::default();
        let answer = client.ask(messages, &tools::offered(), &mut |part| shown.part(&part))?;
        shown.end();
        messages.push(answer.message());
        let Answer { calls, .. } = answer;
        if calls.is_empty() {
            return Ok(());
        }
        for call in calls {
            let result = tools::run(&call.name, &call.arguments);
            anstream::println!("{} {} → {result}", call.name, call.arguments);
            messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": result}));
        }
    }
    Err(format!("the model called tools {MOST_ROUNDS} times in a row; ask again").into())
}

/// Prints an answer while it arrives.
#[derive(Default)]
struct Shown {
    reasoned: bool,
    answered: bool,
}

impl Shown {
    fn part(&mut self, part: &AnswerPart<'_>) {
        match part {
            AnswerPart::Reasoning(text) => {
                self.reasoned = true;
                anstream::print!("{REASONING}{text}{REASONING:#}");
            }
            AnswerPart::Content(text) => {
                if std::mem::take(&mut self.reasoned) {
                    anstream::println!();
                }
                self.answered = true;
                anstream::print!("{text}");
            }
        }
        // A terminal that went away is noticed at the next line that is read.
        let _ = anstream::stdout().flush();
    }

    fn end(&self) {
        if self.reasoned || self.answered {
            anstream::println!();
        }
    }
}
