//! Starts proxies in front of the replaying upstream.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use unjinja_dynamic::{Loader, Model, SpecialTokens};
use unjinja_server::http::{Config, Log, Models, Proxy, ServedModel, UpstreamApi, UpstreamConfig, client_builder};
use unjinja_testkit::root;

use super::replay::Replay;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A proxy that is running, and what it logged.
pub struct Running {
    pub url: String,
    pub replay: Arc<Replay>,
    pub log: Arc<Mutex<Vec<String>>>,
    pub client: Client,
    pub stop: Option<oneshot::Sender<()>>,
    pub served: tokio::task::JoinHandle<std::io::Result<()>>,
}

pub fn loaded(name: &str) -> Result<ServedModel, Failure> {
    Ok(ServedModel::new(name, model(name)?)?)
}

/// A model of `templates/`, as the proxy loads it.
pub fn model(name: &str) -> Result<Model, Failure> {
    let loader = Loader::new().tokens(SpecialTokens {
        bos: Some(String::new()),
        eos: Some(String::new()),
        ..SpecialTokens::default()
    });
    Ok(loader.from_file(root().join(format!("templates/{name}.jinja")))?)
}

impl Running {
    /// A proxy for these models. `change` may change its configuration.
    pub async fn start(
        replay: Replay,
        models: Vec<ServedModel>,
        api: UpstreamApi,
        change: impl FnOnce(&mut Config),
    ) -> Result<Self, Failure> {
        let (upstream, replay) = replay.start().await?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = log.clone();
        let mut config = Config::new(UpstreamConfig::new(&upstream, api)?);
        config.log = Log::to(move |line| lines.lock().unwrap().push(line.to_string()));
        config.diagnostics = true;
        // What the replay is to do wrong.
        config.upstream.pass_fields = vec!["fault".to_owned()];
        change(&mut config);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let proxy = Proxy::new(config, Models::new(models)?)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(proxy.serve(listener, async move {
            let _ = stopped.await;
        }));
        let client = client_builder(&url.parse()?).build()?;
        Ok(Self { url, replay, log, client, stop: Some(stop), served })
    }

    /// A proxy for one format, with one output to replay.
    pub async fn simple(output: &str, change: impl FnOnce(&mut Config)) -> Result<Self, Failure> {
        Self::paused(output, Duration::ZERO, change).await
    }

    pub async fn paused(output: &str, pause: Duration, change: impl FnOnce(&mut Config)) -> Result<Self, Failure> {
        let replay = Replay {
            outputs: [("qwen3".to_owned(), vec![output.to_owned()])].into(),
            pause,
            asked: Some(Mutex::default()),
            ..Replay::default()
        };
        Self::start(replay, vec![loaded("qwen3")?], UpstreamApi::OpenAi, change).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Response, Failure> {
        let request = self.client.post(format!("{}{path}", self.url)).header("content-type", "application/json");
        Ok(request.body(body.to_string()).send().await?)
    }

    /// The status, and the body as JSON.
    pub async fn json(&self, path: &str, body: &Value) -> Result<(u16, Value), Failure> {
        let answer = self.post(path, body).await?;
        let (status, text) = (answer.status().as_u16(), answer.text().await?);
        Ok((status, serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?))
    }

    pub async fn get(&self, path: &str) -> Result<(u16, String), Failure> {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }
}

/// A clock that does not move until a test turns it. Only tests with `start_paused` can have one.
pub struct Clock(#[allow(dead_code, reason = "it ends the blocking task")] std::sync::mpsc::Sender<()>);

impl Clock {
    pub fn stopped() -> Self {
        let (send, receive) = std::sync::mpsc::channel();
        // A paused clock moves by itself whenever nothing is ready, except while a blocking task runs.
        tokio::task::spawn_blocking(move || receive.recv());
        Self(send)
    }

    /// Turns the clock by a tenth of a second again and again, until something has come.
    pub async fn turn<T>(&self, awaited: impl Future<Output = T>) -> T {
        let mut awaited = std::pin::pin!(awaited);
        loop {
            let pause = tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(1)));
            tokio::select! {
                biased;
                done = &mut awaited => return done,
                _ = pause => tokio::time::advance(Duration::from_millis(100)).await,
            }
        }
    }
}

/// A request to chat completions with more fields.
pub fn chat(more: Value) -> Value {
    let tool = json!({"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
        "properties": {"city": {"type": "string"}}}}});
    let mut body =
        json!({"model": "qwen3", "messages": [{"role": "user", "content": "Rain in Zürich?"}], "tools": [tool]});
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    body
}

/// The data of all events in a stream.
pub fn events(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
}

pub const CALL: &str = "<think>\nHm, é.\n</think>\n\nLet me look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": \
                        {\"city\": \"Zürich\"}}\n</tool_call><|im_end|>";
