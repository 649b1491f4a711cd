//! `unjinja serve --tokenizer`: which tokenizer a model has, and what is said if something is wrong.
#![cfg(feature = "serve")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper that fails is a test that fails")]

use std::process::Command;

use unjinja_testkit::root;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The command in front of no upstream, with two models or one.
fn command(names: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9", "--upstream-api", "openai"]);
    command.env_remove("UNJINJA_API_KEY").env_remove("UNJINJA_UPSTREAM_API_KEY");
    let template = root().join("templates/qwen3.jinja");
    for name in names {
        command.arg("--template").arg(format!("{name}={}", template.display()));
    }
    command
}

/// What it says when it refuses to start.
fn refusal(command: &mut Command) -> Result<String, Failure> {
    let output = command.output()?;
    assert_eq!(output.status.code(), Some(2));
    Ok(String::from_utf8(output.stderr)?)
}

#[cfg(not(feature = "tokens"))]
#[test]
fn a_command_without_tokenizers_says_where_they_are() -> Result<(), Failure> {
    let said = refusal(command(&["m"]).args(["--tokenizer", "models/m"]))?;
    assert!(said.contains("cargo install unjinja-cli --features tokens") && said.contains("container"), "{said}");
    Ok(())
}

#[cfg(feature = "tokens")]
mod with_tokens {
    use std::fs;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::PathBuf;
    use std::process::Stdio;
    use std::time::Duration;

    use serde_json::{Map, Value, json};

    use super::*;
    use crate::support::upstream::Upstream;

    /// A folder with a tokenizer of the visible letters of ASCII, and what `tokenizer_config.json` says.
    fn folder(name: &str, special: &[&str], config: Option<Value>) -> Result<PathBuf, Failure> {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tokenizers").join(name);
        fs::create_dir_all(&folder)?;
        let letters: Map<_, _> = (' '..='~').chain(['\n']).zip(0..).map(|(c, id)| (c.to_string(), json!(id))).collect();
        let token = |(number, text): (usize, &&str)| {
            json!({"id": letters.len() + number, "content": text, "special": true, "single_word": false, "lstrip": false,
                   "rstrip": false, "normalized": false})
        };
        let added: Vec<Value> = special.iter().enumerate().map(token).collect();
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
            "pre_tokenizer": null, "post_processor": null, "decoder": null,
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": letters, "merges": []},
        });
        fs::write(folder.join("tokenizer.json"), tokenizer.to_string())?;
        if let Some(config) = config {
            fs::write(folder.join("tokenizer_config.json"), config.to_string())?;
        }
        Ok(folder)
    }

    #[test]
    fn a_tokenizer_is_that_of_a_model() -> Result<(), Failure> {
        let place = folder("qwen3", &["<|im_start|>", "<|im_end|>"], None)?;
        let place = place.to_str().ok_or("a path that is no text")?;
        for (names, tokenizers, expected) in [
            (&["m"][..], vec!["nowhere".to_owned()], "nowhere: there is no such file; name the model's folder"),
            (&["m", "n"], vec![place.to_owned()], "with several models, write it as NAME=FOLDER"),
            (&["m", "n"], vec![format!("x={place}")], "no model is called \"x\""),
            (&["m"], vec![format!("x={place}")], "no model is called \"x\""),
            (
                &["m"],
                vec![format!("{}/templates/qwen3.jinja", root().display())],
                "use the `tokenizer.json` of the model",
            ),
        ] {
            let arguments = tokenizers.iter().flat_map(|one| ["--tokenizer", one]);
            let said = refusal(command(names).args(arguments))?;
            assert!(said.contains(expected), "{tokenizers:?}: {said}");
        }
        let said = refusal(command(&["m"]).args(["--tokenizer", place, "--bos", "upstream"]))?;
        assert!(said.contains("leave out --bos upstream, or --tokenizer"), "{said}");
        Ok(())
    }

    const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
        {% if add_generation_prompt %}<|assistant|>{% endif %}";

    #[test]
    fn prompts_go_as_ids() -> Result<(), Failure> {
        let special = ["<s>", "<|user|>", "<|assistant|>", "<|end|>"];
        let place = folder("bos", &special, Some(json!({"bos_token": "<s>"})))?;
        // A template without its tokenizer: the texts of its tokens come from the tokenizer's folder.
        let template = place.with_file_name("alone.jinja");
        fs::write(&template, TEMPLATE)?;
        let upstream = Upstream::start(TcpListener::bind("127.0.0.1:0")?, "Hi.", Duration::ZERO, None)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--upstream-api", "openai"]);
        command.arg("--upstream").arg(format!("http://{}", upstream.address));
        command.arg("--template").arg(&template).arg("--tokenizer").arg(&place);
        let mut running = command.stderr(Stdio::piped()).spawn()?;
        let mut said = String::new();
        let lines = BufReader::new(running.stderr.take().ok_or("no standard error")?).lines();
        for line in lines.map_while(Result::ok) {
            said += &line;
            if line.starts_with("listening on ") {
                break;
            }
        }
        assert!(said.contains("prompts go as token ids") && !said.contains("bos_token"), "{said}");
        let address = said.rsplit("http://").next().and_then(|rest| rest.split(' ').next()).ok_or("no address")?;
        let mut client = TcpStream::connect(address)?;
        let body = json!({"messages": [{"role": "user", "content": "a<|end|>"}]}).to_string();
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}", body.len());
        write!(client, "{head}\r\nconnection: close\r\n\r\n{body}")?;
        let mut answer = String::new();
        client.read_to_string(&mut answer)?;
        running.kill()?;
        running.wait()?;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Hi."), "{answer}");
        let spelled = "a<|end|>".chars().map(|c| u32::from(c) - u32::from(' '));
        // 96 letters, and then the special tokens.
        let ids: Vec<u32> = [96, 97].into_iter().chain(spelled).chain([99, 98]).collect();
        assert_eq!(upstream.last()["prompt"], json!(ids));
        Ok(())
    }
}
