//! Specs that are refused, and the messages they get: `bad/NAME.toml` and `bad/NAME.expected`.

use std::path::Path;

use unjinja_spec::FormatSpec;
use unjinja_testkit::expect;

#[test]
fn bad_specs_get_their_messages() -> Result<(), Box<dyn std::error::Error>> {
    expect::folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad"), "toml", |name, text| {
        match FormatSpec::from_toml(text, name) {
            Ok(_) => Ok("accepted\n".to_owned()),
            Err(error) => {
                for problem in &error.problems {
                    assert_eq!(problem.file, name);
                    assert!(problem.line >= 1 && problem.column >= 1, "{problem:?}");
                    assert!(!problem.cause.is_empty() && !problem.next_step.is_empty(), "{problem:?}");
                }
                Ok(error.to_string())
            }
        }
    })
}

#[test]
fn no_text_makes_it_panic() {
    // Every prefix of a spec, and the spec with each byte replaced by each of a few odd ones.
    let spec = include_str!("base.toml");
    for cut in (0..spec.len()).filter(|cut| spec.is_char_boundary(*cut)) {
        let _ = FormatSpec::from_toml(&spec[..cut], "cut.toml").map_err(|error| error.to_string());
    }
    let step = 3;
    for at in (0..spec.len()).step_by(step) {
        for odd in ["\"", "[", "=", "\n", "1", "\u{202E}", "."] {
            if let (Some(before), Some(after)) = (spec.get(..at), spec.get(at + 1..)) {
                let damaged = format!("{before}{odd}{after}");
                let _ = FormatSpec::from_toml(&damaged, "odd.toml").map_err(|error| error.to_string());
            }
        }
    }
    let deep = ["a.".repeat(100_000) + "a = 1", "a = ".to_owned() + &"[".repeat(100_000)];
    for text in deep {
        assert!(FormatSpec::from_toml(&text, "deep.toml").is_err());
    }
}

#[test]
fn many_problems_stay_readable() {
    let text: String = (0..5000).map(|index| format!("key_{index} = 1\n")).collect();
    let problems = FormatSpec::from_toml(&text, "many.toml").map_err(|error| error.problems.len());
    assert!(matches!(problems, Err(2..=80)), "{problems:?}");
}

#[test]
fn messages_show_no_hidden_characters() {
    let text = "spec_version = 1\n\"\u{202E}evil\u{1B}\" = \"\u{200B}\"\n[reasoning]\nmode = \"\u{2028}x\"\n";
    let message = FormatSpec::from_toml(text, "a\u{1B}.toml").map_err(|error| error.to_string());
    let message = message.err().unwrap_or_default();
    assert!(message.contains("\\u202Eevil"), "{message}");
    let hidden = message.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{200B}'..='\u{202E}').contains(c));
    assert_eq!(hidden, None, "{message}");
}
