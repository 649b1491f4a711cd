//! A load test of the proxy: many streams at once for a while, and what that costs.
//!
//! `cargo run --release -p unjinja-server --features http --example load -- SECONDS STREAMS` runs the replaying upstream, the
//! proxy and the clients in a process each. It prints failures, the proxy's memory over time, and its processor time for each
//! piece of the upstream, which stands for a token. Memory and time are read from `/proc`, so they are told on Linux only. It
//! fails if a stream fails, or if memory grows by more than a twentieth in the second half of the time: what is allocated stays
//! the same from the first seconds on, but the allocator takes some more pages while streams come and go.
//!
//! With a third argument, `crowd`, others ask at the same time: a thousand connections that send nothing, a hundred bodies that arrive
//! slowly, and sixteen conversations of 3 MB again and again. It prints how long the first word of an answer takes, with and without
//! them, and of the upstream without the proxy. It fails if a request fails, or if the proxy takes more memory than its limit.

mod counts;
mod crowd;
#[path = "../../tests/proxy/replay.rs"]
mod replay;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unjinja_dynamic::{Loader, SpecialTokens};
use unjinja_server::http::{Config, Models, Proxy, ServedModel, UpstreamApi, UpstreamConfig};
use unjinja_testkit::root;

use counts::{Counts, FORMAT, Failure, SHORT};

/// The pause between two tokens of a stream: 50 tokens a second.
const PAUSE: Duration = Duration::from_millis(20);

/// What large requests may take together, in bytes, and what the proxy may take in all.
const MEMORY: usize = 512 << 20;
const WHOLE: u64 = 768 << 10;

/// How many requests may run at once: 200 streams, and the crowd of 117, whose slow bodies all end in the same moment.
const CONCURRENT: usize = 320;

/// The part of the time after which memory must not grow.
const MIDDLE: f64 = 0.5;

/// Hertz of the clock in `/proc/PID/stat`.
const TICKS: f64 = 100.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = tokio::runtime::Runtime::new().map_err(Failure::from).and_then(|runtime| {
        runtime.block_on(async {
            match words[..] {
                ["upstream"] => upstream().await,
                ["proxy", url] => proxy(url).await,
                [seconds, streams] => load(seconds.parse()?, streams.parse()?, false).await,
                [seconds, streams, "crowd"] => load(seconds.parse()?, streams.parse()?, true).await,
                _ => load(60, 200, false).await,
            }
        })
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn say(url: &str) -> Result<(), Failure> {
    println!("{url}");
    Ok(std::io::stdout().flush()?)
}

async fn upstream() -> Result<(), Failure> {
    let text = "The answer takes a while, because it has many words. ".repeat(20);
    let call =
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\"}}\n</tool_call><|im_end|>";
    let outputs = [
        (FORMAT.to_owned(), vec![format!("{text}\n{call}"), format!("{text}<|im_end|>")]),
        (SHORT.to_owned(), vec!["The end.<|im_end|>".to_owned()]),
    ]
    .into();
    let (url, _replay) = replay::Replay { outputs, pause: PAUSE, ..Default::default() }.start().await?;
    say(&url)?;
    std::future::pending().await
}

async fn proxy(upstream: &str) -> Result<(), Failure> {
    let tokens = SpecialTokens { bos: Some(String::new()), eos: Some(String::new()), ..SpecialTokens::default() };
    let model = Loader::new().tokens(tokens).from_file(root().join(format!("templates/{FORMAT}.jinja")))?;
    let mut config = Config::new(UpstreamConfig::new(upstream, UpstreamApi::OpenAi)?);
    config.limits.memory = MEMORY;
    config.limits.concurrent = CONCURRENT;
    let proxy = Proxy::new(config, Models::new(vec![ServedModel::new(FORMAT, model)?])?)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    say(&format!("http://{}", listener.local_addr()?))?;
    Ok(proxy.serve(listener, std::future::pending()).await?)
}

/// A process of this program. It ends with this value.
struct Process {
    child: Child,
    url: String,
}

impl Process {
    fn start(arguments: &[&str]) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?).args(arguments).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut url)?;
        Ok(Self { child, url: url.trim().to_owned() })
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).ok()
    }

    /// Memory in KiB.
    fn memory(&self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// The most memory that it ever had, in KiB.
    fn peak(&self) -> Option<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> Option<u64> {
        let status = self.file("status")?;
        status.lines().find_map(|line| line.strip_prefix(name))?.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Seconds of processor time.
    fn time(&self) -> Option<f64> {
        let stat = self.file("stat")?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some((user + system) / TICKS)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The middle of some times, of which the shortest comes first, and the longest one.
fn middle(times: &[f64]) -> (f64, f64) {
    (times.get(times.len() / 2).copied().unwrap_or_default(), times.last().copied().unwrap_or_default())
}

async fn load(seconds: u64, streams: u64, with_crowd: bool) -> Result<(), Failure> {
    let upstream = Process::start(&["upstream"])?;
    let proxy = Process::start(&["proxy", &upstream.url])?;
    let counts = Counts::default();
    let client = unjinja_server::http::client_builder(&proxy.url.parse()?).build()?;
    let address = proxy.url.trim_start_matches("http://").to_owned();
    let mut others = Vec::new();
    if with_crowd {
        let [direct, through] = crowd::beside(&client, &upstream.url, &proxy.url).await?;
        let ((direct, _), (through, _)) = (middle(&direct), middle(&through));
        println!("first word, median: {direct:.2} ms from the upstream, {through:.2} ms through the proxy");
    }
    let idle = if with_crowd { Some(crowd::idle(&address).await?) } else { None };
    let end = Instant::now() + Duration::from_secs(seconds);
    let crowd_counts = Counts::default();
    if with_crowd {
        others.extend(crowd::slow(&address, &crowd_counts));
        others.extend(crowd::large(&client, &proxy.url, end, &crowd_counts));
        let (client, url, counts) = (client.clone(), proxy.url.clone(), crowd_counts.clone());
        others.push(tokio::spawn(async move {
            let waits = crowd::first_words(&client, &url, end).await;
            counts.note(waits.map(|waits| {
                let (middle, longest) = middle(&waits);
                println!("first word beside the crowd: {middle:.1} ms at the median, {longest:.1} ms at most");
            }));
        }));
    }
    let clients: Vec<_> = (0..streams)
        .map(|seed| tokio::spawn(repeat(client.clone(), proxy.url.clone(), seed, end, counts.clone())))
        .collect();
    let mut memory = Vec::new();
    for part in [0.1, 0.3, MIDDLE, 0.7, 0.95] {
        let at = end - Duration::from_secs_f64(seconds as f64 * (1.0 - part));
        tokio::time::sleep_until(at.into()).await;
        memory.extend(proxy.memory());
    }
    for client in clients {
        client.await?;
    }
    for other in others {
        other.await?;
    }
    drop(idle);
    let metrics = client.get(format!("{}/metrics", proxy.url)).send().await?.text().await?;
    let metric = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse::<f64>().ok()).unwrap_or_default()
    };
    let pieces = metric("unjinja_upstream_pieces_total");
    let (done, failures) = counts.told();
    println!("{streams} streams at once for {seconds} s: {done} complete, {failures} failed, {pieces} pieces");
    println!("memory of the proxy in KiB, at 10, 30, 50, 70 and 95 % of the time: {memory:?}");
    let microseconds = |seconds: f64| seconds * 1e6 / pieces.max(1.0);
    if let Some(time) = proxy.time() {
        println!("processor time of the proxy: {time:.2} s, {:.2} µs a piece", microseconds(time));
    }
    println!("of it parser and writer: {:.2} µs a piece", microseconds(metric("unjinja_own_seconds_total")));
    if with_crowd {
        let (done, failures) = crowd_counts.told();
        let peak = proxy.peak().unwrap_or_default();
        println!(
            "beside them: {done} answers to slow and large requests, {failures} failed; at most {peak} KiB of memory"
        );
        if failures > 0 || peak > WHOLE {
            return Err(format!("{failures} failures, {peak} KiB").into());
        }
    }
    if failures > 0 || done == 0 {
        return Err(format!("{failures} of {} streams failed", done + failures).into());
    }
    match memory[..] {
        // What large requests took, the allocator keeps.
        _ if with_crowd => Ok(()),
        [_, _, middle, .., last] if last > middle + middle / 20 => {
            Err(format!("memory grew from {middle} to {last} KiB").into())
        }
        _ => Ok(()),
    }
}

/// One client: asks again and again until the time is over.
async fn repeat(client: reqwest::Client, url: String, mut seed: u64, end: Instant, counts: Counts) {
    while Instant::now() < end {
        counts.note(ask(&client, &url, seed).await);
        seed += 1;
    }
}

async fn ask(client: &reqwest::Client, url: &str, seed: u64) -> Result<(), Failure> {
    let tool = json!({"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}});
    let body = json!({"model": FORMAT, "messages": [{"role": "user", "content": "Rain?"}], "tools": [tool],
        "seed": seed, "stream": true});
    let request = client.post(format!("{url}/v1/chat/completions")).body(body.to_string());
    let text = request.send().await?.error_for_status()?.text().await?;
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let [chunks @ .., "[DONE]"] = &data[..] else {
        return Err(format!("the stream has no end: {:?}", data.last()).into());
    };
    let mut arguments = String::new();
    for chunk in chunks {
        let chunk: Value = serde_json::from_str(chunk)?;
        let call = &chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"];
        arguments.push_str(call.as_str().unwrap_or_default());
    }
    let expected = if seed.is_multiple_of(2) { "{\"city\": \"Zürich\"}" } else { "" };
    if arguments != expected { Err(format!("the call is {arguments:?}").into()) } else { Ok(()) }
}
