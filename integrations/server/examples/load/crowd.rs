//! What others do while the streams run: connections that send nothing, bodies that arrive slowly, and conversations of megabytes; and
//! how long small requests wait meanwhile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::counts::{Counts, Failure, SHORT};

/// Connections that are idle, and bodies that arrive slowly.
const IDLE: usize = 1_000;
const SLOW: usize = 100;

/// Large requests at the same time: their number, and how many messages of a thousand bytes each has: 3 MB.
const LARGE: usize = 16;
const MESSAGES: usize = 3_000;

/// The number of pieces of a slow body, one every tenth of a second.
const PIECES: usize = 100;

pub const CHAT: &str = "/v1/chat/completions";

/// Connections that stay open as long as this value.
pub struct Idle(#[allow(dead_code, reason = "they are held")] Vec<TcpStream>);

/// Half of them send nothing, the others the beginning of a head.
pub async fn idle(address: &str) -> Result<Idle, Failure> {
    let mut open = Vec::new();
    for number in 0..IDLE {
        let mut stream = TcpStream::connect(address).await?;
        if number % 2 == 1 {
            stream.write_all(format!("POST {CHAT} HTTP/1.1\r\nHost: {address}\r\n").as_bytes()).await?;
        }
        open.push(stream);
    }
    Ok(Idle(open))
}

/// Bodies that arrive slowly, and are answered all the same.
pub fn slow(address: &str, counts: &Counts) -> Vec<tokio::task::JoinHandle<()>> {
    let one = |_| {
        let (address, counts) = (address.to_owned(), counts.clone());
        tokio::spawn(async move { counts.note(send_slowly(&address).await) })
    };
    (0..SLOW).map(one).collect()
}

async fn send_slowly(address: &str) -> Result<(), Failure> {
    let body = small(false).to_string();
    // White space before the value.
    let body = " ".repeat(10 * PIECES) + &body;
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    for piece in body.as_bytes().chunks(body.len().div_ceil(PIECES)) {
        stream.write_all(piece).await?;
        sleep(Duration::from_millis(100)).await;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(format!("a slow body: {answer}").into()) }
}

/// Conversations of 3 MB, again and again.
pub fn large(client: &reqwest::Client, url: &str, end: Instant, counts: &Counts) -> Vec<tokio::task::JoinHandle<()>> {
    let turn = |number: usize| {
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"role": role, "content": "The rain in Spain stays mainly in the plain. ".repeat(22)})
    };
    let messages: Vec<Value> = (0..=MESSAGES).map(turn).collect();
    let body = json!({"model": SHORT, "messages": messages}).to_string();
    let one = |_| {
        let (client, url, counts, body) = (client.clone(), format!("{url}{CHAT}"), counts.clone(), body.clone());
        tokio::spawn(async move {
            while Instant::now() < end {
                let sent = client.post(&url).body(body.clone()).send().await;
                let done = async { Ok(sent?.error_for_status()?.text().await.map(|_| ())?) };
                counts.note(done.await);
            }
        })
    };
    (0..LARGE).map(one).collect()
}

fn small(stream: bool) -> Value {
    json!({"model": SHORT, "messages": [{"role": "user", "content": "Rain?"}], "seed": 1, "stream": stream})
}

/// Asks again and again until the time is over. Returns how long each first word took, in milliseconds, the shortest time first.
pub async fn first_words(client: &reqwest::Client, url: &str, end: Instant) -> Result<Vec<f64>, Failure> {
    let mut waits = Vec::new();
    while Instant::now() < end {
        waits.push(first_word(client, &format!("{url}{CHAT}"), small(true)).await?);
    }
    waits.sort_by(f64::total_cmp);
    Ok(waits)
}

/// Asks the upstream itself and through the proxy, in turns. Returns the times to the first word of both, the shortest first.
pub async fn beside(client: &reqwest::Client, direct: &str, url: &str) -> Result<[Vec<f64>; 2], Failure> {
    let completion = json!({"model": SHORT, "prompt": "Rain?", "seed": 1, "stream": true});
    let mut waits = [Vec::new(), Vec::new()];
    for _ in 0..200 {
        waits[0].push(first_word(client, &format!("{direct}/v1/completions"), completion.clone()).await?);
        waits[1].push(first_word(client, &format!("{url}{CHAT}"), small(true)).await?);
    }
    waits.iter_mut().for_each(|waits| waits.sort_by(f64::total_cmp));
    Ok(waits)
}

/// Milliseconds until the first word of a streamed answer. The connection is kept: the answer is read to its end.
async fn first_word(client: &reqwest::Client, url: &str, body: Value) -> Result<f64, Failure> {
    let began = Instant::now();
    let mut answer = client.post(url).body(body.to_string()).send().await?.error_for_status()?;
    let (mut text, mut first) = (String::new(), None);
    while let Some(piece) = answer.chunk().await? {
        text.push_str(&String::from_utf8_lossy(&piece));
        if first.is_none() && text.contains("The") {
            first = Some(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    first.ok_or_else(|| format!("no word: {text}").into())
}
