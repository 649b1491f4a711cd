//! `unjinja explain`: that its JSON is what the committed schema says, and that nothing from a template or an output
//! reaches a terminal or a page unescaped. What it prints is among the transcripts of `commands.rs`.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

type Failure = Box<dyn Error>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the program in the root of the repository.
fn unjinja(arguments: &[&str]) -> Result<Output, Failure> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
    Ok(command.args(arguments).env_remove("UNJINJA_LOG").env_remove("NO_COLOR").current_dir(root()).output()?)
}

/// What is explained in the tests below: arguments, and the exit code.
const CASES: [(&[&str], i32); 8] = [
    (&["templates/hermes.jinja", "--output", "cli/tests/page/hermes.txt", "--tools", "cli/tests/page/tools.json"], 0),
    (&["templates/xml_parameters.jinja", "--output", "cli/tests/page/xml_parameters.txt"], 0),
    (&["templates/channels.jinja", "--output", "cli/tests/page/channels.txt", "--partial"], 0),
    (&["templates/typed_parameters.jinja", "--generation-prompt", "</think>"], 0),
    (&["generated/specs/openai_gpt_oss_120b.toml", "--overlay", "generated/specs/openai_gpt_oss_120b.overlay.toml"], 0),
    (&["cli/tests/page/hostile.jinja", "--output", "cli/tests/page/hostile.txt"], 0),
    (&["cli/tests/page/unsupported.jinja"], 0),
    (&["cli/tests/page/refuses.jinja"], 1),
];

#[test]
fn its_json_is_what_the_schema_says() -> Result<(), Failure> {
    let schema: Value = serde_json::from_str(&fs::read_to_string(root().join("docs/json/explain.schema.json"))?)?;
    let validator = jsonschema::validator_for(&schema)?;
    for (arguments, code) in CASES {
        let output = unjinja(&[&["explain", "--format", "json"], arguments].concat())?;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let document: Value = serde_json::from_slice(&output.stdout)?;
        let problems: Vec<String> =
            validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{arguments:?}: {}", problems.join("\n"));
    }
    Ok(())
}

#[test]
fn a_terminal_gets_no_control_character_of_others() -> Result<(), Failure> {
    for (arguments, _) in CASES {
        for color in ["always", "never"] {
            let output = unjinja(&[&["-v", "explain", "--color", color], arguments].concat())?;
            let (said, logged) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
            assert!(said.contains('\u{1b}') == (color == "always"), "{arguments:?}");
            let (plain, logged) = (without_colours(&said)?, without_colours(&logged)?);
            let hidden = |c: char| {
                (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(!plain.contains(hidden), "{arguments:?}: a hidden character");
            assert!(!logged.contains(hidden), "{arguments:?}: a hidden character in the log");
        }
    }
    Ok(())
}

/// A text without our own colours: a number or several, and an `m`. Any other escape is an error.
fn without_colours(text: &str) -> Result<String, Failure> {
    let mut pieces = text.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (codes, rest) = piece.split_once('m').ok_or("an escape that is no colour")?;
        let numbers = codes.strip_prefix('[').unwrap_or("x");
        if !numbers.chars().all(|c| c.is_ascii_digit() || c == ';') {
            return Err(format!("an escape that is no colour: {codes:?}").into());
        }
        plain.push_str(rest);
    }
    Ok(plain)
}

#[test]
fn colour_obeys_the_environment() -> Result<(), Failure> {
    let colours = |variable: Option<(&str, &str)>, arguments: &[&str]| -> Result<bool, Failure> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
        command.args(["explain", "generated/specs/qwen3_coder.toml"]).args(arguments).current_dir(root());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variable);
        Ok(command.output()?.stdout.contains(&0x1b))
    };
    // Nobody reads a terminal here.
    assert!(!colours(None, &[])?);
    assert!(colours(Some(("CLICOLOR_FORCE", "1")), &[])?);
    assert!(!colours(Some(("NO_COLOR", "1")), &[])?);
    assert!(colours(Some(("NO_COLOR", "1")), &["--color", "always"])?);
    Ok(())
}

/// A page is the same for every file, apart from its JSON, in which nothing can end the element that holds it.
#[test]
fn a_page_holds_a_file_only_as_json() -> Result<(), Failure> {
    let mut frames = BTreeSet::new();
    for (arguments, _) in CASES {
        let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explain.html");
        let path = page.to_str().ok_or("a path that is no text")?;
        let output = unjinja(&[&["explain", "--html", path], arguments].concat())?;
        let said = String::from_utf8(output.stdout)?;
        assert_eq!(said.lines().count(), 1, "{said}");
        let text = fs::read_to_string(&page)?;
        let (before, rest) = text.split_once("id=\"explanation\">").ok_or("a page without data")?;
        let (data, after) = rest.split_once("</script>").ok_or("data without an end")?;
        let hidden = |c: char| {
            c.is_control() || matches!(c, '<' | '>' | '&' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!data.contains(hidden), "{arguments:?}: markup or a hidden character");
        let shown: Value = serde_json::from_str(data)?;
        let printed = unjinja(&[&["explain", "--format", "json"], arguments].concat())?;
        assert_eq!(shown, serde_json::from_slice::<Value>(&printed.stdout)?, "{arguments:?}");
        frames.insert(format!("{before}{after}"));
    }
    assert_eq!(frames.len(), 1, "a file changes the page outside of its JSON");
    let frame = frames.pop_first().unwrap_or_default();
    for bad in ["<img", "<link", "<iframe", "http:", "https:", "url(", "@import", "innerHTML", "eval("] {
        assert!(!frame.contains(bad), "{bad}");
    }
    Ok(())
}

#[test]
fn comparisons_are_logged_as_they_run() -> Result<(), Failure> {
    let template = "templates/hermes.jinja";
    let silent = unjinja(&["analyze", "--quiet", template])?;
    assert!(silent.stderr.is_empty());
    let spoken = unjinja(&["analyze", "--quiet", "-v", template])?;
    assert_eq!(silent.stdout, spoken.stdout, "the log is on standard error");
    let log = String::from_utf8(spoken.stderr)?;
    assert!(log.lines().all(|line| line.starts_with("hermes.jinja: ")), "{log}");
    let two = log.lines().find(|line| line.starts_with("hermes.jinja: T2 one call | two calls: ")).ok_or("no T2")?;
    assert!(two.contains("tools.per_call_start = \"\\n<tool_call>\\n\""), "{two}");
    // The variable does the same, and every command that analyses has it.
    for arguments in [
        &["verify", "--count", "2", template][..],
        &["codegen", template],
        &["grammar", "--quiet", "--template", template],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unjinja"));
        let output = command.args(arguments).env("UNJINJA_LOG", "1").current_dir(root()).output()?;
        assert_eq!(String::from_utf8(output.stderr)?, log, "{arguments:?}");
    }
    Ok(())
}

/// Texts on their grounds have the contrast of 4.5 that WCAG asks for (AA), light and dark.
#[test]
fn the_page_can_be_read() -> Result<(), Failure> {
    let css = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/explain/page/page.css"))?;
    let (light, rest) = css.split_once("@media (prefers-color-scheme: dark)").ok_or("no dark colours")?;
    let (dark, _) = rest.split_once("* {").ok_or("no end of the dark colours")?;
    let on_all =
        ["text", "muted", "accent"].into_iter().flat_map(|text| ["bg", "surface", "sunken"].map(|on| (text, on)));
    let tints = ["user", "content", "reasoning", "name", "argument", "value", "id", "mark", "bad"];
    let mut pairs: Vec<(String, String)> = on_all.map(|(text, on)| (text.to_owned(), on.to_owned())).collect();
    for tint in tints {
        pairs.push(("text".to_owned(), format!("{tint}-bg")));
        pairs.push(("surface".to_owned(), tint.to_owned()));
    }
    for (text, on) in [("good", "good-bg"), ("bad", "bad-bg"), ("mark", "mark-bg"), ("bad", "sunken"), ("good", "bg")] {
        pairs.push((text.to_owned(), on.to_owned()));
    }
    for (scheme, block) in [("light", light), ("dark", dark)] {
        for (text, on) in &pairs {
            let (a, b) = (luminance(block, text)?, luminance(block, on)?);
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{scheme}: --{text} on --{on}: {contrast:.2}");
        }
    }
    Ok(())
}

/// The relative luminance of a colour that a block of CSS names.
fn luminance(css: &str, name: &str) -> Result<f64, Failure> {
    let (_, rest) = css.split_once(&format!("--{name}: #")).ok_or_else(|| format!("no --{name}"))?;
    let part = |at: usize| -> Result<f64, Failure> {
        let value = f64::from(u8::from_str_radix(rest.get(at..at + 2).ok_or("a short colour")?, 16)?) / 255.0;
        Ok(if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
    };
    Ok(0.2126 * part(0)? + 0.7152 * part(2)? + 0.0722 * part(4)?)
}
