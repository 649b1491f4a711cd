//! The line-oriented modes, on every case of the corpus: interpreted and compiled, whole and in pieces, the answers are
//! the same lines in the same order. Whether they are right is for `tests/corpus_cases.rs` of the root package.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

type Failure = Box<dyn Error>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Gives the command lines of input; returns the lines that it answers.
fn answers(arguments: &[&Path], lines: &[Value]) -> Result<Vec<Value>, Failure> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "the writer panicked")??;
    assert!(output.status.success());
    String::from_utf8(output.stdout)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[test]
fn both_modes_and_all_pieces_give_the_same_lines() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let cases: Vec<Value> =
        fs::read_to_string(corpus.join("cases.jsonl"))?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let templates = corpus.join("templates");
    let interpreted: [&Path; 4] = ["parse".as_ref(), "--jsonl".as_ref(), "--templates".as_ref(), &templates];
    let compiled: [&Path; 3] = ["parse".as_ref(), "--jsonl".as_ref(), "--models".as_ref()];
    let whole = answers(&compiled, &cases)?;
    assert_eq!(whole.len(), cases.len());
    for (case, answer) in cases.iter().zip(&whole) {
        assert_eq!(case["id"], answer["id"]);
    }
    assert!(whole.iter().filter(|answer| answer.get("message").is_some()).count() > 100);
    for chunk in [None, Some(1), Some(3), Some(7)] {
        let mut lines = cases.clone();
        for line in &mut lines {
            line["chunk"] = json!(chunk);
        }
        assert!(answers(&compiled, &lines)? == whole, "compiled, pieces of {chunk:?} bytes");
        for ((case, answer), other) in cases.iter().zip(&whole).zip(answers(&interpreted, &lines)?) {
            let file = case["template"].as_str().unwrap_or_default();
            // An overlay is part of the compiled parser, but not of what the analysis finds.
            if !has_overlay(file)? && answer.get("message").is_some() {
                assert_eq!(*answer, other, "{file}: interpreted, pieces of {chunk:?} bytes");
            }
        }
    }
    Ok(())
}

/// Whether the committed spec of a template file has an overlay.
fn has_overlay(file: &str) -> Result<bool, Failure> {
    for entry in fs::read_dir(root().join("generated/specs"))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".overlay.toml") {
            let spec = path.to_string_lossy().replace(".overlay.toml", ".toml");
            if fs::read_to_string(spec)?.contains(&format!("{file:?}")) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[test]
fn renders_are_those_of_the_oracle() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let conversations: Vec<Value> = serde_json::from_str(&fs::read_to_string(corpus.join("conversations.json"))?)?;
    for folder in [corpus.clone(), corpus.join("wild")] {
        let rows = fs::read_to_string(folder.join("renders.jsonl"))?;
        let rows: Vec<Value> = rows.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let rows: Vec<&Value> = rows.iter().filter(|row| row["text"].is_string()).collect();
        let lines = rows.iter().map(|row| {
            let conversation = conversations.iter().find(|one| one["name"] == row["conversation"]);
            let context = conversation.map(|one| one["context"].clone());
            json!({"id": [row["template"], row["conversation"]], "template": row["template"], "context": context})
        });
        let lines: Vec<Value> = lines.collect();
        let templates = folder.join("templates");
        // The oracle rendered with the variables of the conversations only.
        let arguments: [&Path; 4] = ["render".as_ref(), "--jsonl".as_ref(), "--templates".as_ref(), &templates];
        let answers = answers(&arguments, &lines)?;
        assert_eq!(answers.len(), rows.len());
        for (row, (line, answer)) in rows.iter().zip(lines.iter().zip(&answers)) {
            assert_eq!(answer["id"], line["id"]);
            assert_eq!(answer["text"], row["text"], "{}", line["id"]);
        }
        assert!(rows.len() > 800, "{} renders", rows.len());
    }
    Ok(())
}
