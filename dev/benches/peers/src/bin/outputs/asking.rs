//! Asks the peers what they read of an output. Each is called in several ways, and counts as right if one of them gives
//! the expected message. A peer that fails, or that takes too long, has not read it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use unjinja_peers::message::Heard;
use unjinja_peers::peers::{Clock, guarded, others};
use unjinja_peers::turn::TurnInput;

/// The peers, as the table names them. A reasoning parser and a tool parser of the same server are one.
pub const PEERS: [&str; 3] = ["tool-parser, reasoning-parser", "dynamo-parsers", "dynamo-parsers-v2"];

/// How long one way of being called may take.
const CAP: Duration = Duration::from_secs(5);

/// How long it may take to make the parsers of a turn; some read a vocabulary.
const SET_UP: Duration = Duration::from_secs(60);

/// Which peers read the expected message of a turn; `None` where a peer does not have the format.
pub type Right = [Option<bool>; PEERS.len()];

/// Asks all peers. `right` judges a message.
pub fn ask(turn: &Arc<TurnInput>, runtime: &Handle, right: impl Fn(&Heard) -> bool) -> Right {
    let mut found = Right::default();
    let mut first = 0;
    loop {
        let (sender, answers) = channel();
        let (turn, runtime) = (Arc::clone(turn), runtime.clone());
        // Threads, because a parser that hangs cannot be stopped; its thread keeps running.
        std::thread::spawn(move || {
            let _inside = runtime.enter();
            answer(&turn, first, &sender);
        });
        let mut asked = None;
        loop {
            match answers.recv_timeout(if asked.is_some() { CAP } else { SET_UP }) {
                Ok(Answer::Missing(peer)) => _ = found[peer].get_or_insert(false),
                Ok(Answer::Asked(index, peer)) => {
                    asked = Some(index);
                    _ = found[peer].get_or_insert(false);
                }
                Ok(Answer::Heard(peer, heard)) => *found[peer].get_or_insert(false) |= right(&heard),
                Err(RecvTimeoutError::Disconnected) => return found,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        let Some(late) = asked else { return found };
        first = late + 1;
    }
}

enum Answer {
    /// This peer could not be set up.
    Missing(usize),
    /// This parser, of this peer, is asked next.
    Asked(usize, usize),
    Heard(usize, Heard),
}

/// The place of a peer in the table. The parsers of the first are called alone and in a row, under several names.
fn place(name: &str) -> usize {
    PEERS.iter().position(|peer| *peer == name).unwrap_or_default()
}

/// Runs the parsers of a turn from the first on: at once, and in pieces with every tag whole.
fn answer(turn: &TurnInput, first: usize, answers: &Sender<Answer>) {
    let (runners, missing) = others(turn);
    for (name, why) in missing {
        eprintln!("{name} cannot be set up: {why}");
        let _ = answers.send(Answer::Missing(place(name)));
    }
    let chunks = turn.chunks_with_whole_tags();
    for (index, mut runner) in runners.into_iter().enumerate().skip(first) {
        let peer = place(runner.peer);
        // A parser of reasoning alone does not have the format.
        if peer == 0 && turn.peers.tool_parser.is_none() {
            continue;
        }
        for streams in [false, true] {
            // Nobody listens to a thread that was given up.
            if answers.send(Answer::Asked(index, peer)).is_err() {
                return;
            }
            let mut heard = Heard::default();
            let result = guarded(|| {
                if streams {
                    runner.run.ready(&chunks)?;
                    runner.run.stream(&chunks, Clock::until(Instant::now() + CAP), &mut heard)
                } else {
                    runner.run.ready(&[])?;
                    runner.run.batch(&turn.output, &mut heard)
                }
            });
            if result.is_ok() {
                let _ = answers.send(Answer::Heard(peer, heard));
            }
        }
    }
}
