//! A server on loopback that completes text: it replays one output in pieces, with a pause before each, and keeps the heads of
//! and bodies of the requests. With a certificate it speaks TLS.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What it replays, and what it was asked.
#[derive(Clone)]
pub struct Upstream {
    pub address: SocketAddr,
    pieces: Arc<Vec<String>>,
    pause: Duration,
    heads: Arc<Mutex<Vec<String>>>,
    bodies: Arc<Mutex<Vec<Value>>>,
    told: Arc<Mutex<HashMap<String, Value>>>,
    /// An answer goes on when it gets this.
    gate: Arc<Mutex<()>>,
}

impl Upstream {
    /// Replays this output, a word at a time. Its threads end with the test.
    pub fn start(
        listener: TcpListener,
        output: &str,
        pause: Duration,
        tls: Option<Arc<ServerConfig>>,
    ) -> Result<Self, Failure> {
        let pieces = output.split_inclusive(' ').map(str::to_owned).collect();
        let (address, pieces) = (listener.local_addr()?, Arc::new(pieces));
        let (heads, bodies, told, gate) = Default::default();
        let upstream = Self { address, pieces, pause, heads, bodies, told, gate };
        let server = upstream.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (server, tls) = (server.clone(), tls.clone());
                // A client that goes away is not a failure.
                std::thread::spawn(move || drop(server.accept(connection, tls)));
            }
        });
        Ok(upstream)
    }

    /// Until this is dropped, no answer goes on.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, this path has this answer. Every other path is `ok`.
    pub fn tell(&self, path: &str, answer: Value) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), answer);
    }

    /// The heads of the requests until now.
    pub fn heads(&self) -> String {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// The body of the last request for text.
    pub fn last(&self) -> Value {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner).last().cloned().unwrap_or_default()
    }

    fn accept(&self, connection: TcpStream, tls: Option<Arc<ServerConfig>>) -> Result<(), Failure> {
        match tls {
            None => self.answer(connection),
            Some(config) => self.answer(StreamOwned::new(ServerConnection::new(config)?, connection)),
        }
    }

    fn answer(&self, connection: impl Read + Write) -> Result<(), Failure> {
        let mut reader = BufReader::new(connection);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
            head.push_str(&line);
        }
        let body = serde_json::from_reader((&mut reader).take(length));
        let path = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
        let said = path.map(|path| match self.told.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            Some(answer) => answer.to_string(),
            None => "ok".to_owned(),
        });
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).push(head);
        let out = reader.get_mut();
        if let Some(said) = said {
            let length = said.len();
            return Ok(write!(out, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{said}")?);
        }
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner).push(body?);
        out.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
        for piece in self.pieces.iter() {
            std::thread::sleep(self.pause);
            drop(self.hold());
            let chunk = json!({"choices": [{"index": 0, "text": piece, "finish_reason": null}]});
            write!(out, "data: {chunk}\n\n")?;
            out.flush()?;
        }
        let last = json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]});
        write!(out, "data: {last}\n\ndata: [DONE]\n\n")?;
        Ok(out.flush()?)
    }
}
