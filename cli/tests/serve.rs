//! `unjinja serve` as a process: how it starts, which keys it takes, how it ends, and what it says if something is wrong.
#![cfg(all(feature = "serve", unix))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper that fails is a test that fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::serving::{Failure, LONG, Serve, command, local, template};
use crate::support::upstream::Upstream;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::TcpSocket;
use unjinja_testkit::root;

/// A port at which nothing listens yet: connections are refused. While the socket lives, no other program gets the port.
fn reserved() -> Result<TcpSocket, Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    Ok(socket)
}

fn listen(socket: TcpSocket) -> Result<TcpListener, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    let listener = socket.listen(128)?.into_std()?;
    listener.set_nonblocking(false)?;
    Ok(listener)
}

/// A file for a test.
fn file(name: &str, text: &str) -> Result<PathBuf, Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serve");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), text)?;
    Ok(folder.join(name))
}

/// An upstream whose answer has `words` words, and takes `milliseconds` for each.
fn slow(words: usize, milliseconds: u64) -> Result<(Upstream, String), Failure> {
    let upstream = Upstream::start(local()?, &"word ".repeat(words), Duration::from_millis(milliseconds), None)?;
    let url = format!("http://{}", upstream.address);
    Ok((upstream, url))
}

/// The content that the proxy reads in an output, with the format of this template.
pub fn content_of(template: &Path, output: &str) -> Result<String, Failure> {
    let upstream = Upstream::start(local()?, output, Duration::ZERO, None)?;
    let serve = Serve::with(template, &format!("http://{}", upstream.address), &[], &[])?;
    let answer = serve.answer("")?;
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|event| *event != "[DONE]");
    let mut content = String::new();
    for event in events {
        let event: serde_json::Value = serde_json::from_str(event)?;
        content.push_str(event["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
    }
    Ok(content)
}

#[test]
fn an_answer_is_completed_at_the_first_signal() -> Result<(), Failure> {
    for name in ["TERM", "INT"] {
        let (upstream, url) = slow(40, 5)?;
        let mut serve = Serve::start(&url, &[], &[])?;
        let mut connection = BufReader::new(serve.ask("")?);
        let mut text = String::new();
        while !text.contains("word ") {
            assert!(connection.read_line(&mut text)? > 0, "{text}");
        }
        // The answer does not end before new connections are refused.
        let held = upstream.hold();
        serve.signal(name)?;
        serve.waits_for("shutting down");
        let began = Instant::now();
        while TcpStream::connect(&serve.address).is_ok() {
            assert!(began.elapsed() < LONG, "{name}: new connections are accepted after the signal");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(serve.child.try_wait()?.is_none(), "{name}: it has ended before the answer");
        drop(held);
        connection.read_to_string(&mut text)?;
        assert_eq!((text.matches("word ").count(), text.contains("data: [DONE]")), (40, true), "{name}: {text}");
        assert_eq!(serve.ended()?.code(), Some(0), "{name}");
    }
    Ok(())
}

#[test]
fn a_second_signal_ends_it_at_once() -> Result<(), Failure> {
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        let (_upstream, url) = slow(10_000, 25)?;
        let mut serve = Serve::start(&url, &[], &[])?;
        let mut connection = BufReader::new(serve.ask("")?);
        let mut text = String::new();
        while !text.contains("word ") {
            assert!(connection.read_line(&mut text)? > 0, "{text}");
        }
        serve.signal(name)?;
        serve.waits_for("shutting down");
        serve.signal(name)?;
        assert_eq!(serve.ended()?.code(), Some(code), "{name}");
    }
    Ok(())
}

#[test]
fn keys_come_from_files_and_from_the_environment() -> Result<(), Failure> {
    let (upstream, url) = slow(1, 0)?;
    let (own, other) = (file("key", "from-a-file\n")?, file("upstream_key", "  to-the-upstream\r\n")?);
    let (own, other) = (own.display().to_string(), other.display().to_string());
    let variables = [("UNJINJA_API_KEY", "from-a-variable"), ("UNJINJA_UPSTREAM_API_KEY", "another-variable")];
    let status = |answer: &str| answer.split(' ').nth(1).unwrap_or_default().to_owned();

    let serve = Serve::start(&url, &["-v"], &variables)?;
    let lines = serve.said();
    // How the template was analysed is another command's log: the page has five lines at most.
    assert!(lines.lines().count() <= 6, "{lines}");
    for (headers, expected) in [
        ("authorization: Bearer from-a-variable\r\n", "200"),
        ("x-api-key: from-a-variable\r\n", "200"),
        ("x-api-key: from-a-file\r\n", "401"),
        ("", "401"),
    ] {
        let answer = serve.answer(headers)?;
        assert_eq!(status(&answer), expected, "{headers}{answer}");
    }
    assert!(upstream.heads().contains("authorization: Bearer another-variable\r\n"), "{}", upstream.heads());
    assert!(!upstream.heads().contains("from-a-variable"), "the client's key is not passed on");
    let logged = serve.waits_for("401");
    assert!(!logged.contains("variable"), "{logged}");

    // A file overrides the variable, and white space around a key is no part of it.
    let serve = Serve::start(&url, &["-v", "--api-key-file", &own, "--upstream-api-key-file", &other], &variables)?;
    assert_eq!(status(&serve.answer("x-api-key: from-a-file\r\n")?), "200");
    assert_eq!(status(&serve.answer("x-api-key: from-a-variable\r\n")?), "401");
    assert!(upstream.heads().contains("authorization: Bearer to-the-upstream\r\n"), "{}", upstream.heads());
    let logged = serve.waits_for("401");
    assert!(!logged.contains("from-a") && !logged.contains("to-the-upstream"), "{logged}");
    Ok(())
}

#[test]
fn an_upstream_that_is_down_may_come_later() -> Result<(), Failure> {
    let socket = reserved()?;
    let address = socket.local_addr()?;
    let serve = Serve::start(&format!("http://{address}"), &["--upstream-api", "openai"], &[])?;
    let said = serve.waits_for("every request asks it again");
    assert!(said.contains("warning: the upstream cannot be reached: "), "{said}");
    let answer = serve.answer("")?;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("check that it runs"), "{answer}");
    assert!(!answer.contains(&address.to_string()), "clients do not learn the address: {answer}");
    let _upstream = Upstream::start(listen(socket)?, "Here.", Duration::ZERO, None)?;
    let answer = serve.answer("")?;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("Here."), "{answer}");
    Ok(())
}

#[test]
fn an_upstream_that_is_being_started_is_waited_for() -> Result<(), Failure> {
    let socket = reserved()?;
    let address = socket.local_addr()?;
    let mut waits = command();
    waits.args(["--listen", "127.0.0.1:0", "--upstream", &format!("http://{address}"), "--template"]).arg(template());
    // It begins once the command has said that it waits.
    let (mut socket, mut upstream) = (Some(socket), None);
    let serve = Serve::heard(waits, |line| {
        if line.contains("it cannot be reached: Connection refused") && line.contains("; waiting") {
            upstream = socket.take().map(|socket| Upstream::start(listen(socket)?, "Here.", Duration::ZERO, None));
        }
    })?;
    let _upstream = upstream.ok_or_else(|| format!("it did not wait: {}", serve.said()))??;
    assert!(serve.answer("")?.starts_with("HTTP/1.1 200 "));
    // One that nobody starts is an error: it is not known what it will be.
    let mut command = command();
    let patience = ["--upstream", "http://127.0.0.1:1", "--connect-timeout", "1", "--template"];
    let output = command.args(["--listen", "127.0.0.1:0"]).args(patience).arg(template()).output()?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("start it first, or say what it is with --upstream-api and --template"), "{said}");
    Ok(())
}

/// The command for an upstream that is asked what it is.
fn alone(upstream: &Upstream) -> Command {
    let mut command = command();
    command.args(["--listen", "127.0.0.1:0", "--upstream", &format!("http://{}", upstream.address)]);
    command
}

#[test]
fn llama_cpp_says_which_template_it_has() -> Result<(), Failure> {
    let upstream = Upstream::start(local()?, "Here.", Duration::ZERO, None)?;
    let text = std::fs::read_to_string(template())?;
    upstream
        .tell("/props", json!({"default_generation_settings": {"n_ctx": 512}, "chat_template": text, "bos_token": ""}));
    upstream.tell("/v1/models", json!({"data": [{"id": "models/some.gguf"}]}));
    let said = Serve::of(alone(&upstream))?.said();
    assert!(said.contains("upstream: llama.cpp; serves models/some.gguf (512 tokens)\n"), "{said}");
    assert!(
        said.contains("model models/some.gguf: template from the upstream; supported")
            && said.contains("enforced by the upstream, which gets a grammar (GBNF)")
            && said.contains("texts of requests are searched for <|im_end|> <|im_start|>; a tokenizer"),
        "{said}"
    );
    Ok(())
}

#[test]
fn the_folder_of_an_upstreams_model_has_its_template() -> Result<(), Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first_contact");
    std::fs::create_dir_all(&folder)?;
    std::fs::copy(template(), folder.join("chat_template.jinja"))?;
    let upstream = Upstream::start(local()?, "Here.", Duration::ZERO, None)?;
    let models = |root: &Path| json!({"data": [{"id": "mine", "root": root, "max_model_len": 4096}]});
    upstream.tell("/v1/models", models(&folder));
    let serve = Serve::of(alone(&upstream))?;
    assert!(serve.said().contains("; serves mine (4096 tokens)\nmodel mine: template from "), "{}", serve.said());
    let answer = serve.answer("")?;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("Here."), "{answer}");
    assert_eq!(upstream.last()["model"], "mine");
    upstream.tell("/v1/models", models(Path::new("/nowhere/mine")));
    let output = alone(&upstream).output()?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("it serves \"/nowhere/mine\"") && said.contains("--template"), "{said}");
    upstream.tell("/v1/models", json!({}));
    let said = String::from_utf8(alone(&upstream).output()?.stderr)?;
    assert!(said.contains("it answers, but lists no model") && said.contains("--template"), "{said}");
    Ok(())
}

#[test]
fn an_address_in_use_is_reported() -> Result<(), Failure> {
    let taken = local()?;
    let address = taken.local_addr()?.to_string();
    let mut command = command();
    command
        .args(["--listen", &address, "--upstream", "http://127.0.0.1:1", "--upstream-api", "openai", "--template"])
        .arg(template());
    let output = command.output()?;
    let said = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&address) && said.contains("choose another address with --listen"), "{said}");
    Ok(())
}

/// Runs a command that does not start. Returns what it says.
fn refused(arguments: &[&str], template: &Path) -> Result<String, Failure> {
    let mut command = command();
    command
        .args(["--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--upstream-api", "openai", "--template"])
        .arg(template);
    let mut child = command.args(arguments).stderr(Stdio::piped()).spawn()?;
    let began = Instant::now();
    while child.try_wait()?.is_none() && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(10));
    }
    // If it has started, it would not end by itself.
    child.kill()?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    Ok(said)
}

#[test]
fn a_limit_of_nothing_is_refused() -> Result<(), Failure> {
    for limit in [
        "--max-body",
        "--max-concurrent",
        "--max-tokens",
        "--connect-timeout",
        "--first-token-timeout",
        "--idle-timeout",
        "--client-timeout",
    ] {
        let said = refused(&[limit, "0"], &template())?;
        assert!(said.contains(limit) && said.contains("give a whole number of at least 1"), "{said}");
    }
    Ok(())
}

/// A template that concatenates BOS with text is served as one that writes it alone.
#[test]
fn a_template_without_its_tokens_is_served_where_the_upstream_adds_bos() -> Result<(), Failure> {
    let path = root().join("templates/bare_json.jinja").display().to_string();
    let (upstream, url) = slow(1, 0)?;
    for (bos, is_told) in [("auto", true), ("upstream", false)] {
        let serve = Serve::with(&path, &url, &["--bos", bos], &[])?;
        let answer = serve.answer("")?;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let asked = upstream.last();
        let prompt = asked["prompt"].as_str().unwrap_or_default();
        assert!(prompt.starts_with("<|start_header_id|>system<|end_header_id|>"), "{prompt}");
        assert_eq!(asked["add_special_tokens"], true, "{bos}");
        let said = serve.said();
        assert_eq!(
            said.contains("the template writes bos_token, and this file does not say what that is"),
            is_told,
            "{said}"
        );
    }
    let said = refused(&["--bos", "template"], Path::new(&path))?;
    assert!(said.contains("bare_json") && said.contains("bos_token"), "{said}");
    assert!(said.contains("tokenizer_config.json or GGUF file"), "{said}");
    Ok(())
}

/// What requests will meet is told before the first one.
#[test]
fn a_template_that_needs_more_is_told_at_the_start() -> Result<(), Failure> {
    let template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content + eos_token }}{% endfor %}<|assistant|>{{ '' + datetime }}";
    let path = file(&format!("needs_more_{}.jinja", std::process::id()), template)?.display().to_string();
    let (_upstream, url) = slow(1, 0)?;
    let said = Serve::with(&path, &url, &[], &[])?.said();
    assert!(said.contains("the template reads eos_token, and this file does not say what that is"), "{said}");
    assert!(said.contains("refuses every small conversation: 'datetime' is undefined (line 1)"), "{said}");
    assert!(said.contains("chat_template_kwargs"), "{said}");
    Ok(())
}

/// A template that begins prompts with BOS.
#[cfg(feature = "fetch")]
const WRITES_BOS: &str = "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>{% endif %}";

#[cfg(feature = "fetch")]
#[test]
fn prompts_begin_with_the_bos_of_the_model() -> Result<(), Failure> {
    use crate::support::hub::{Answer, Hub};
    use serde_json::{Value, json};

    let hub = Hub::start()?;
    let tokens = json!({"bos_token": "<s>", "eos_token": "</s>"});
    let whole = json!({"bos_token": "<s>", "chat_template": WRITES_BOS});
    let put = |model: &str, file: &str, text: String| hub.put(model, "main", file, Answer::File(text));
    put("org/split", "chat_template.jinja", WRITES_BOS.to_owned());
    put("org/split", "tokenizer_config.json", tokens.to_string());
    put("org/whole", "tokenizer_config.json", whole.to_string());
    put("org/alone", "chat_template.jinja", WRITES_BOS.to_owned());
    let folder = |name: &str| format!("bos_{name}_{}", std::process::id());
    let path = file(&format!("{}.jinja", folder("alone")), WRITES_BOS)?.display().to_string();
    let config = file(&format!("{}.tokenizer_config.json", folder("whole")), &whole.to_string())?.display().to_string();
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder("home"));
    let (endpoint, home) = (hub.endpoint(), home.display().to_string());
    let variables = [("HF_ENDPOINT", endpoint.as_str()), ("HF_HOME", home.as_str())];

    let (upstream, url) = slow(1, 0)?;
    let handed_over = |template: &str,
                       bos: &str,
                       variables: &[(&str, &str)]|
     -> Result<(String, Value, String), Failure> {
        let serve = Serve::with(template, &url, &["--bos", bos], variables)?;
        let answer = serve.answer("")?;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let asked = upstream.last();
        Ok((asked["prompt"].as_str().unwrap_or_default().to_owned(), asked["add_special_tokens"].clone(), serve.said()))
    };
    let prompt = "<|user|>Hello<|end|><|assistant|>";
    for template in ["org/split", "org/whole", &config] {
        let (text, adds, said) = handed_over(template, "auto", &variables)?;
        assert_eq!((text, adds), (format!("<s>{prompt}"), json!(false)), "{template}");
        assert!(!said.contains("warning: "), "{said}");
        let (text, adds, _) = handed_over(template, "upstream", &variables)?;
        assert_eq!((text.as_str(), adds), (prompt, json!(true)), "{template}");
    }
    for template in ["org/alone", &path] {
        let (text, adds, said) = handed_over(template, "auto", &variables)?;
        assert_eq!((text.as_str(), adds), (prompt, json!(true)), "{template}");
        assert!(said.contains("the template writes bos_token") && said.contains("tokenizer_config.json"), "{said}");
    }
    let said = refused(&["--bos", "template"], Path::new(&path))?;
    assert!(said.contains("the template writes bos_token, and this file does not say what that is"), "{said}");
    // What was downloaded is enough to start without a network.
    let nowhere = [("HF_ENDPOINT", "http://127.0.0.1:9"), ("HF_HOME", home.as_str())];
    for template in ["org/split", "org/whole"] {
        assert_eq!(handed_over(template, "auto", &nowhere)?.0, format!("<s>{prompt}"), "{template}");
    }
    std::fs::remove_dir_all(home)?;
    Ok(())
}

#[test]
fn a_certificate_can_be_trusted() -> Result<(), Failure> {
    let folder = root().join("cli/tests/tls");
    let certificate = CertificateDer::from_pem_file(folder.join("server.pem"))?;
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key"))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
    let authority = folder.join("authority.pem");
    let upstream = Upstream::start(local()?, "Safely.", Duration::ZERO, Some(Arc::new(config)))?;
    let url = format!("https://{}", upstream.address);

    let mut untold = command();
    let output = untold.args(["--listen", "127.0.0.1:0", "--upstream", &url, "--template"]).arg(template()).output()?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("certificate") && said.contains("SSL_CERT_FILE") && !said.contains("waiting"), "{said}");
    let serve = Serve::start(&url, &["--upstream-api", "openai"], &[])?;
    let said = serve.waits_for("every request asks it again");
    assert!(said.contains("certificate") && said.contains("SSL_CERT_FILE"), "{said}");
    let answer = serve.answer("")?;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("certificate"), "{answer}");
    assert_eq!(upstream.heads(), "", "nothing was sent");

    let serve = Serve::start(&url, &[], &[("SSL_CERT_FILE", &authority.display().to_string())])?;
    let answer = serve.answer("")?;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("Safely."), "{answer}");
    Ok(())
}

#[test]
fn a_hangup_reads_the_template_again_and_a_broken_one_changes_nothing() -> Result<(), Failure> {
    let template = |word: &str| {
        let message = format!("<|{{{{ m.role }}}}|>{word} {{{{ m.content }}}}<|end|>");
        format!(
            "{{% for m in messages %}}{message}{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        )
    };
    let path = file("hangup.jinja", &template("First"))?;
    let (upstream, url) = slow(1, 0)?;
    let serve = Serve::with(&path, &url, &[], &[])?;
    let asked = || -> Result<String, Failure> {
        serve.answer("")?;
        Ok(upstream.last()["prompt"].as_str().unwrap_or_default().to_owned())
    };
    assert!(asked()?.contains("First Hello"));
    for (text, said, word) in [
        ("{% for".to_owned(), "nothing was reloaded", "First"),
        (template("Second"), "reloaded: the templates of all models (1)", "Second"),
    ] {
        file("hangup.jinja", &text)?;
        serve.signal("HUP")?;
        serve.waits_for(said);
        assert!(asked()?.contains(&format!("{word} Hello")), "{}", serve.said());
    }
    Ok(())
}

/// What `date` of the machine prints in a time zone.
fn date(zone: &str, format: &str) -> Result<String, Failure> {
    let output = Command::new("date").arg(format!("+{format}")).env("TZ", zone).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[test]
fn prompts_tell_the_date_of_the_time_zone() -> Result<(), Failure> {
    let format = "%d %B %Y, %H";
    let template = file(
        "dated.jinja",
        &format!(
            "{{{{ strftime_now('{format}') }}}}{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>{{% endfor %}}\
             {{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        ),
    )?;
    let (upstream, url) = slow(1, 0)?;
    // Always another day.
    for zone in ["<+14>-14", "<-12>12"] {
        let serve = Serve::with(&template, &url, &[], &[("TZ", zone)])?;
        let before = date(zone, format)?;
        assert!(serve.answer("")?.starts_with("HTTP/1.1 200 "));
        let prompt = upstream.last()["prompt"].as_str().unwrap_or_default().to_owned();
        let now = [before, date(zone, format)?];
        assert!(now.iter().any(|now| prompt.starts_with(&format!("{now}<|user|>"))), "{prompt} at {now:?}");
        let rendered = |arguments: &[&str]| -> Result<String, Failure> {
            let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
            command
                .arg("render")
                // transformers refuses an empty conversation.
                .args(["--as", "jinja2"])
                .arg(&template)
                .args(arguments)
                .env("TZ", zone)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let mut child = command.spawn()?;
            child.stdin.take().ok_or("no input")?.write_all(b"{\"messages\": []}")?;
            Ok(String::from_utf8(child.wait_with_output()?.stdout)?)
        };
        assert_eq!(rendered(&[])?.trim(), "15 January 2026, 12");
        let now = [date(zone, format)?, rendered(&["--now"])?.trim().to_owned(), date(zone, format)?];
        assert!(now[1] == now[0] || now[1] == now[2], "{now:?}");
    }
    Ok(())
}
