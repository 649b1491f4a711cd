//! Chats through `unjinja serve` with a server that replays what a model wrote: answers, calls, errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper that fails is a test that fails")]

#[path = "../../../integrations/server/tests/proxy/replay.rs"]
mod replay;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use replay::Replay;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use unjinja_dynamic::Model;
use unjinja_server::http::{Config, Models, Proxy, Secret, ServedModel, UpstreamApi, UpstreamConfig};
use unjinja_testkit::root;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const CALL: &str = "<think>\nI have to count.\n</think>\n\nLet me see.\n<tool_call>\n{\"name\": \"count_words\", \
                    \"arguments\": {\"file\": \"poem.txt\"}}\n</tool_call><|im_end|>";
const ANSWER: &str = "<think>\nThe tool says 7.\n</think>\n\nIt has seven words.<|im_end|>";
const OUTSIDE: &str =
    "<tool_call>\n{\"name\": \"count_words\", \"arguments\": {\"file\": \"../poem.txt\"}}\n</tool_call>";

/// A proxy and what is behind it. Both end with this value.
struct Served {
    url: String,
    replay: Arc<Replay>,
    _runtime: Runtime,
}

impl Served {
    /// A proxy whose upstream gives these outputs one after the other.
    fn start(outputs: &[&str]) -> Result<Self, Failure> {
        let runtime = Runtime::new()?;
        let outputs = outputs.iter().map(|&text| text.to_owned()).collect();
        let replay = Replay {
            outputs: [("qwen3".to_owned(), outputs)].into(),
            in_turn: true,
            asked: Some(Mutex::default()),
            ..Replay::default()
        };
        let (url, replay) = runtime.block_on(async {
            let (upstream, replay) = replay.start().await?;
            let mut config = Config::new(UpstreamConfig::new(&upstream, UpstreamApi::OpenAi)?);
            config.key = Secret::new("sesame");
            let model = Model::from_file(root().join("templates/qwen3.jinja"))?;
            let proxy = Proxy::new(config, Models::new(vec![ServedModel::new("qwen3", model)?])?)?;
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let url = format!("http://{}", listener.local_addr()?);
            tokio::spawn(proxy.serve(listener, std::future::pending()));
            Ok::<_, Failure>((url, replay))
        })?;
        Ok(Self { url, replay, _runtime: runtime })
    }

    /// Runs the example in a folder with a poem, and types these lines. Returns what it prints, and its errors.
    fn chat(&self, typed: &str, key: &str, colours: bool) -> Result<(String, String), Failure> {
        // A folder of its own: tests that run at the same time would write one file.
        let port = self.url.rsplit(':').next().unwrap_or_default();
        let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chat").join(port);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("poem.txt"), "A wren sings,\nand nobody counts along.")?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_example-chat"));
        command.arg(&self.url).env("UNJINJA_API_KEY", key).env("NO_PROXY", "127.0.0.1").current_dir(folder);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        if colours {
            command.env("CLICOLOR_FORCE", "1");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        child.stdin.take().ok_or("no input")?.write_all(typed.as_bytes())?;
        let output = child.wait_with_output()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok((String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
    }
}

#[test]
fn a_tool_is_called_and_its_result_goes_back() -> Result<(), Failure> {
    let served = Served::start(&[CALL, ANSWER, OUTSIDE, ANSWER])?;
    let (said, errors) = served.chat("How long is the poem?\nAnd the other?\n", "sesame", false)?;
    let expected = "> I have to count.\nLet me see.\n\
                    count_words {\"file\": \"poem.txt\"} → 7\n\
                    The tool says 7.\nIt has seven words.\n\
                    > count_words {\"file\": \"../poem.txt\"} → error: only files of the current folder can be read\n\
                    The tool says 7.\nIt has seven words.\n\
                    > ";
    assert_eq!((said.as_str(), errors.as_str()), (expected, ""));
    let prompt = served.replay.last()["prompt"].as_str().unwrap_or_default().to_owned();
    for part in ["How long is the poem?", "<tool_response>\n7\n</tool_response>", "It has seven words.", "error: only"]
    {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
    Ok(())
}

#[test]
fn reasoning_is_dimmed() -> Result<(), Failure> {
    let served = Served::start(&[ANSWER])?;
    let (said, _) = served.chat("How long?\n", "sesame", true)?;
    // Each piece has the escape codes of its own.
    let dimmed: String = said.split("\u{1b}[2m").skip(1).filter_map(|part| part.split("\u{1b}[0m").next()).collect();
    assert_eq!(dimmed, "The tool says 7.", "{said:?}");
    Ok(())
}

#[test]
fn errors_are_shown_and_the_chat_goes_on() -> Result<(), Failure> {
    let served = Served::start(&[ANSWER])?;
    let (said, errors) = served.chat("Hello?\nIs anybody there?\n", "a wrong key", false)?;
    assert_eq!(said, "> > > ");
    assert_eq!(errors.matches("the server says (401 Unauthorized): this is not the API key").count(), 2, "{errors}");

    let nobody = Served { url: "http://127.0.0.1:1".to_owned(), ..served };
    let (_, errors) = nobody.chat("Hello?\n", "sesame", false)?;
    assert!(errors.starts_with("http://127.0.0.1:1/v1/chat/completions: "), "{errors}");
    Ok(())
}
