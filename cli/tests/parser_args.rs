//! The flags `--model`, `--spec` and `--overlay` and the overlay next to a template, with every command that takes a
//! template: each is applied by the same rules, and conflicts are wrong usage.

use std::fs;

use unjinja_testkit::commands::CommandFolder;
use unjinja_testkit::{Failure, root};

/// The tags of the overlays, which the template does not write.
const OVERLAY: &str = "[tools]
# The model was trained on other tags than its template writes.
per_call_start = \"<|call|>\"
per_call_end = \"<|done|>\" # The same.
";

/// A template that writes a token that no `.jinja` file gives.
const WITH_EOS: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\
    {% if m.role == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

const CALL: &str = "<|call|>{\"name\": \"f\", \"arguments\": {}}<|done|>";

/// A command, its exit code, and a text that it prints on standard output (for 0 and 1) or standard error (for 2).
type Case = (&'static str, i32, &'static str);

/// Where no overlay is next to the template.
const PLAIN: &[Case] = &[
    ("unjinja analyze hermes.jinja", 0, "<tool_call>"),
    ("unjinja analyze hermes.jinja --overlay other.toml", 0, "per_call_start = \"<|call|>\""),
    ("unjinja analyze hermes.jinja --spec specs/hermes.toml", 0, "<tool_call>"),
    ("unjinja analyze hermes.jinja --spec specs/hermes.toml --overlay other.toml", 0, "per_call_start = \"<|call|>\""),
    ("unjinja analyze eos.jinja --spec specs/hermes.toml", 1, ""),
    ("unjinja analyze eos.jinja --model Qwen/Qwen3-0.6B", 1, ""),
    ("unjinja verify hermes.jinja --count 20", 0, "20 of 20 survived the round trip"),
    ("unjinja verify hermes.jinja --count 20 --overlay other.toml", 1, " of 20 survived the round trip"),
    ("unjinja verify hermes.jinja --count 20 --spec specs/hermes.toml", 0, "20 of 20 survived the round trip"),
    ("unjinja verify hermes.jinja --count 20 --spec specs/qwen3.toml", 0, "of 20 survived the round trip"),
    ("unjinja verify qwen3.jinja --count 20 --model qwen3-0.6b", 0, "20 of 20 survived the round trip"),
    ("unjinja verify qwen3.jinja --count 20 --model zai-org/GLM-4.6", 1, "of 20 survived the round trip"),
    ("unjinja check hermes.jinja --specs specs", 0, "1 of 1 unchanged"),
    ("unjinja check hermes.jinja --specs specs --overlay other.toml", 1, "tools.per_call_start"),
    ("unjinja check hermes.jinja --specs specs --overlay idle.toml", 1, "changes nothing"),
    ("unjinja check hermes.jinja --spec specs/hermes.toml", 0, "1 of 1 unchanged"),
    ("unjinja check hermes.jinja --spec specs/qwen3.toml", 1, "reasoning.mode"),
    ("unjinja check qwen3.jinja --model Qwen/Qwen3-0.6B", 1, "template.sha256"),
    ("unjinja render eos.jinja context.json", 0, "<assistant>Hello"),
    ("unjinja render eos.jinja context.json --overlay tokens.toml", 0, "<assistant>Hello<end>"),
    ("unjinja render eos.jinja context.json --spec eos.toml", 0, "<assistant>Hello<spec>"),
    ("unjinja render eos.jinja context.json --spec eos.toml --overlay tokens.toml", 0, "<assistant>Hello<end>"),
    ("unjinja render eos.jinja context.json --model Qwen/Qwen3-0.6B", 2, "--model changes nothing here"),
    ("unjinja parse --template hermes.jinja call.txt", 0, "<|call|>"),
    ("unjinja parse --template hermes.jinja --overlay other.toml call.txt", 0, "tool call 0  f"),
    ("unjinja parse --spec specs/hermes.toml call.txt", 0, "<|call|>"),
    ("unjinja parse --spec specs/hermes.toml --overlay other.toml call.txt", 0, "tool call 0  f"),
    ("unjinja parse --model Qwen/Qwen3-0.6B call.txt", 0, "<|call|>"),
    ("unjinja parse --model Qwen/Qwen3-0.6B --overlay other.toml call.txt", 0, "tool call 0  f"),
    ("unjinja grammar --template hermes.jinja", 0, "<tool_call>"),
    ("unjinja grammar --template hermes.jinja --overlay other.toml", 0, "<|call|>"),
    ("unjinja grammar --spec specs/hermes.toml", 0, "<tool_call>"),
    ("unjinja grammar --spec specs/hermes.toml --overlay other.toml", 0, "<|call|>"),
    ("unjinja grammar --model Qwen/Qwen3-0.6B", 0, "<tool_call>"),
    ("unjinja grammar --model Qwen/Qwen3-0.6B --overlay other.toml", 0, "<|call|>"),
    ("unjinja codegen hermes.jinja", 0, "<tool_call>"),
    ("unjinja codegen hermes.jinja --overlay other.toml", 0, "<|call|>"),
    ("unjinja codegen specs/hermes.toml --overlay other.toml", 0, "<|call|>"),
    ("unjinja codegen --spec specs/hermes.toml", 0, "`hermes`"),
    ("unjinja codegen --model Qwen/Qwen3-0.6B", 0, "`qwen_qwen3_0_6b`"),
    ("unjinja codegen --model Qwen/Qwen3-0.6B --overlay other.toml", 0, "<|call|>"),
    ("unjinja explain hermes.jinja --overlay other.toml", 0, "<|call|>"),
    ("unjinja explain specs/hermes.toml --overlay other.toml", 0, "<|call|>"),
    ("unjinja explain --spec specs/hermes.toml", 0, "<tool_call>"),
    ("unjinja explain --model openai/gpt-oss-120b", 0, "<|channel|>"),
    ("unjinja explain --model Qwen/Qwen3-0.6B --overlay other.toml", 0, "<|call|>"),
];

/// Where an overlay is next to the template and next to the spec.
const NEXT_TO_THEM: &[Case] = &[
    ("unjinja analyze hermes.jinja", 0, "per_call_start = \"<|call|>\""),
    ("unjinja analyze hermes.jinja --overlay idle.toml", 0, "<tool_call>"),
    ("unjinja analyze hermes.jinja --spec plain/hermes.toml", 0, "<tool_call>"),
    ("unjinja verify hermes.jinja --count 20", 1, " of 20 survived the round trip"),
    ("unjinja verify hermes.jinja --count 20 --overlay idle.toml", 0, "20 of 20 survived the round trip"),
    ("unjinja check hermes.jinja --specs plain", 1, "tools.per_call_start"),
    // The overlay goes with the specs of this folder: it is applied by those who read them.
    ("unjinja check hermes.jinja --specs .", 0, "1 of 1 unchanged"),
    ("unjinja render eos.jinja context.json", 0, "<assistant>Hello<end>"),
    ("unjinja parse --template hermes.jinja call.txt", 0, "tool call 0  f"),
    ("unjinja parse --spec hermes.toml call.txt", 0, "tool call 0  f"),
    ("unjinja parse --template hermes.jinja --overlay idle.toml call.txt", 0, "<|call|>"),
    ("unjinja grammar --template hermes.jinja", 0, "<|call|>"),
    ("unjinja codegen hermes.jinja", 0, "<|call|>"),
    ("unjinja codegen hermes.toml", 0, "<|call|>"),
    ("unjinja explain hermes.jinja", 0, "<|call|>"),
    ("unjinja explain --spec hermes.toml", 0, "<|call|>"),
];

/// Wrong usage.
const WRONG: &[Case] = &[
    ("unjinja analyze hermes.jinja --model a --spec b", 2, "cannot be used with"),
    ("unjinja verify hermes.jinja --model a --spec b", 2, "cannot be used with"),
    ("unjinja check hermes.jinja --model a --spec b", 2, "cannot be used with"),
    ("unjinja render hermes.jinja --model a --spec b", 2, "cannot be used with"),
    ("unjinja parse --model a --spec b", 2, "cannot be used with"),
    ("unjinja grammar --model a --spec b", 2, "cannot be used with"),
    ("unjinja codegen --model a --spec b", 2, "cannot be used with"),
    ("unjinja explain --model a --spec b", 2, "cannot be used with"),
    ("unjinja parse --template hermes.jinja --model a", 2, "cannot be used with"),
    ("unjinja grammar --template hermes.jinja --spec a", 2, "cannot be used with"),
    ("unjinja codegen hermes.jinja --spec a", 2, "cannot be used with"),
    ("unjinja codegen hermes.jinja --model a", 2, "cannot be used with"),
    ("unjinja explain hermes.jinja --spec a", 2, "cannot be used with"),
    ("unjinja explain hermes.jinja --model a", 2, "cannot be used with"),
    ("unjinja check hermes.jinja --specs specs --spec specs/hermes.toml", 2, "cannot be used with"),
    ("unjinja check qwen3.jinja --model Qwen/Qwen3-0.6B --write", 2, "cannot be used with"),
    ("unjinja check hermes.jinja", 2, "required"),
    ("unjinja codegen", 2, "required"),
    ("unjinja explain", 2, "required"),
    ("unjinja render --jsonl --templates . --overlay other.toml", 2, "cannot be used with"),
    ("unjinja parse --jsonl --templates . --overlay other.toml", 2, "cannot be used with"),
    ("unjinja grammar --jsonl --models --spec specs/hermes.toml", 2, "cannot be used with"),
    (
        "unjinja analyze hermes.jinja qwen3.jinja --overlay other.toml",
        2,
        "--overlay is about one template, but there are 2",
    ),
    ("unjinja analyze hermes.jinja qwen3.jinja --spec specs/hermes.toml", 2, "--spec is about one template"),
    ("unjinja verify hermes.jinja qwen3.jinja --model Qwen/Qwen3-0.6B", 2, "--model is about one template"),
    ("unjinja check hermes.jinja qwen3.jinja --specs specs --overlay other.toml", 2, "--overlay is about one template"),
    ("unjinja analyze hermes.jinja --overlay nowhere.toml", 2, "nowhere.toml: No such file"),
    ("unjinja analyze hermes.jinja --spec nowhere.toml", 2, "nowhere.toml: No such file"),
    ("unjinja check hermes.jinja --spec nowhere.toml", 2, "nowhere.toml: there is no such spec"),
    ("unjinja verify hermes.jinja --overlay wrong.toml", 2, "unknown key `per_call_strat`"),
    ("unjinja render hermes.jinja context.json --overlay wrong.toml", 2, "unknown key `per_call_strat`"),
    ("unjinja codegen hermes.jinja --overlay wrong.toml", 2, "unknown key `per_call_strat`"),
    ("unjinja explain hermes.jinja --overlay wrong.toml", 2, "unknown key `per_call_strat`"),
    ("unjinja explain --model qwen_qwenn3_0_6b", 2, "did you mean qwen_qwen3_0_6b?"),
    ("unjinja verify hermes.jinja --model qwen_qwenn3_0_6b", 2, "did you mean qwen_qwen3_0_6b?"),
];

fn folder(name: &str) -> Result<CommandFolder, Failure> {
    let folder = crate::support::folder("parser_args", name)?;
    for template in ["hermes", "qwen3"] {
        let file = format!("{template}.jinja");
        folder.write(&file, &fs::read(root().join("templates").join(&file))?)?;
        folder.run(&format!("unjinja analyze {file} -o specs"), b"")?;
    }
    folder.write("eos.jinja", WITH_EOS.as_bytes())?;
    folder.write("other.toml", OVERLAY.as_bytes())?;
    folder.write("idle.toml", b"[tools]\n# The analysis finds it too.\nname_field = \"name\"\n")?;
    folder.write("tokens.toml", b"[tokens]\n# From the tokenizer.\neos = \"<end>\"\n")?;
    folder.write("wrong.toml", b"[tools]\nper_call_strat = \"x\" # A slip.\n")?;
    folder.write("call.txt", CALL.as_bytes())?;
    let context = br#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}"#;
    folder.write("context.json", context)?;
    Ok(folder)
}

fn check(folder: &CommandFolder, cases: &[Case]) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for (command, code, text) in cases {
        let said = folder.run(command, b"")?;
        let printed = if *code == 2 { &said.stderr } else { &said.stdout };
        if said.code != *code || !printed.contains(text) {
            wrong.push(format!(
                "$ {command}\n{}{}-- exit {}, not {code} with {text:?}",
                said.stdout, said.stderr, said.code
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
    Ok(())
}

#[test]
fn flags_are_applied_by_every_command() -> Result<(), Failure> {
    let folder = folder("flags")?;
    let spec = folder.run("unjinja analyze eos.jinja", b"")?.stdout;
    let with_eos = spec.replace("[tokens]\n", "[tokens]\neos = \"<spec>\"\n");
    assert!(with_eos != spec, "the spec has no table [tokens]: {spec}");
    folder.write("eos.toml", with_eos.as_bytes())?;
    check(&folder, PLAIN)
}

#[test]
fn overlays_next_to_the_input_are_applied_by_every_command() -> Result<(), Failure> {
    let folder = folder("next_to")?;
    for file in ["hermes.toml", "plain/hermes.toml"] {
        let spec = folder.read("specs/hermes.toml")?;
        folder.write(file, spec.as_bytes())?;
    }
    folder.write("hermes.overlay.toml", OVERLAY.as_bytes())?;
    folder.write("eos.overlay.toml", folder.read("tokens.toml")?.as_bytes())?;
    check(&folder, NEXT_TO_THEM)?;
    // What is written into the overlay's own folder is not corrected twice.
    assert_eq!(folder.run("unjinja analyze hermes.jinja -o .", b"")?.code, 0);
    assert_eq!(folder.read("hermes.toml")?, folder.read("specs/hermes.toml")?);
    Ok(())
}

#[test]
fn conflicts_are_wrong_usage() -> Result<(), Failure> {
    check(&folder("wrong")?, WRONG)
}

#[test]
fn checking_one_spec_writes_that_file() -> Result<(), Failure> {
    let folder = folder("one_spec")?;
    let template = folder.read("hermes.jinja")?.replace("tool_call>", "function_call>");
    folder.write("new/hermes-v2.jinja", template.as_bytes())?;
    let command = "unjinja check new/hermes-v2.jinja --spec specs/hermes.toml";
    let said = folder.run(command, b"")?;
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains(&format!("to accept: {command} --write")), "{}", said.stderr);
    assert_eq!(folder.run(&format!("{command} --write"), b"")?.code, 0);
    let spec = folder.read("specs/hermes.toml")?;
    assert!(spec.contains("<function_call>") && spec.contains("file = \"hermes.jinja\""), "{spec}");
    assert_eq!(folder.run(command, b"")?.code, 0);
    Ok(())
}
