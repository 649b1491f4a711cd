//! `unjinja check` finds what changed, says whether the change breaks parsers, finds overlay keys that change nothing, and
//! prints a command that accepts the changes.

use std::error::Error;
use std::fs;

use serde_json::Value;
use unjinja_analyzer::{Naming, verify};
use unjinja_codegen::interpreter;
use unjinja_render::Template;
use unjinja_runtime::{Message, Options, ToolCall, parse};
use unjinja_spec::FormatSpec;
use unjinja_testkit::commands::{CommandFolder, Said};
use unjinja_testkit::root;

type Failure = Box<dyn Error>;

/// A folder with a copy of one of the templates and its committed spec.
struct Committed {
    folder: CommandFolder,
    template: String,
}

impl Committed {
    fn new(name: &str, template: &str) -> Result<Self, Failure> {
        let committed =
            Self { folder: crate::support::folder("check", name)?, template: format!("templates/{template}.jinja") };
        committed.folder.write(&committed.template, &fs::read(root().join(&committed.template))?)?;
        committed.folder.run("mkdir specs", b"")?;
        let written = committed.check("--write")?;
        assert_eq!(written.code, 0, "{}", written.stderr);
        Ok(committed)
    }

    fn check(&self, more: &str) -> Result<Said, Failure> {
        self.folder.run(&format!("unjinja check templates --specs specs {more}"), b"")
    }

    /// Changes the template's text.
    fn edit(&self, from: &str, to: &str) -> Result<(), Failure> {
        let text = self.folder.read(&self.template)?;
        assert!(text.contains(from), "{from:?} is not in the template");
        self.folder.write(&self.template, text.replace(from, to).as_bytes())
    }
}

#[test]
fn nothing_changed() -> Result<(), Failure> {
    let committed = Committed::new("nothing", "hermes")?;
    let said = committed.check("")?;
    assert_eq!((said.code, said.stdout.as_str()), (0, "1 of 1 unchanged\n"), "{}", said.stderr);
    assert_eq!(committed.check("--quiet")?.stdout, "");
    Ok(())
}

/// A change of a template as its author might make it, and the expected report.
struct Edit {
    name: &'static str,
    template: &'static str,
    edits: &'static [(&'static str, &'static str)],
    /// The expected effect on a parser that was built before.
    effect: &'static str,
    /// Keys that the report must list, with the effect of each.
    says: &'static [(&'static str, &'static str)],
}

const EDITS: &[Edit] = &[
    Edit {
        name: "a renamed tag",
        template: "hermes",
        edits: &[("tool_call>", "function_call>")],
        effect: "breaking",
        says: &[
            ("tools.per_call_start", "breaking"),
            ("tools.per_call_end", "breaking"),
            ("tokens.preserved", "breaking"),
        ],
    },
    Edit {
        name: "a dropped newline",
        template: "hermes",
        edits: &[("'<tool_call>\\n{", "'<tool_call>{")],
        effect: "compatible",
        says: &[("tools.per_call_start", "compatible")],
    },
    Edit {
        name: "reasoning removed",
        template: "qwen3",
        edits: &[
            ("reasoning and loop.index0 > ns.question", "false"),
            ("elif '</think>' in content", "elif false"),
            ("content.split('</think>', 1)", "[content]"),
            ("halves[0].replace('<think>', '').strip('\\n')", "''"),
            ("'<think>\\n' + reasoning + '\\n</think>\\n\\n'", "''"),
            ("{{- '<think>\\n\\n</think>\\n\\n' }}", "{{- '' }}"),
        ],
        effect: "compatible",
        says: &[("reasoning.mode", "compatible")],
    },
    Edit {
        name: "a new id field",
        template: "hermes",
        edits: &[("~ '}\\n</tool_call>'", "~ ', \"call_id\": \"' ~ call.id ~ '\"}\\n</tool_call>'")],
        effect: "breaking",
        says: &[("tools.id_field", "breaking")],
    },
    Edit {
        name: "another key for the arguments",
        template: "qwen3",
        edits: &[("\", \"arguments\": ' }}", "\", \"payload\": ' }}")],
        effect: "breaking",
        says: &[("tools.args_field", "breaking")],
    },
    Edit {
        name: "another end of the turn",
        template: "qwen3",
        edits: &[("<|im_end|>", "<|end|>")],
        effect: "breaking",
        says: &[("turn.end", "breaking")],
    },
    Edit {
        name: "the prompt opens the reasoning",
        template: "qwen3",
        edits: &[(
            "{{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}",
            "{{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- else %}\n        {{- '<think>\\n' }}\n    {%- endif %}",
        )],
        effect: "breaking",
        says: &[("generation_prompt[thinking=unset].starts_in", "breaking")],
    },
    Edit {
        name: "another sentence in the system prompt",
        template: "qwen3",
        edits: &[("These functions are at your disposal", "You may use these functions")],
        effect: "informational",
        says: &[("template.sha256", "informational")],
    },
    Edit {
        name: "one call a turn",
        template: "qwen3",
        edits: &[("for call in message.tool_calls or []", "for call in (message.tool_calls or [])[:1]")],
        effect: "compatible",
        says: &[("capabilities.parallel_tool_calls", "compatible")],
    },
    Edit {
        name: "arguments in tags instead of JSON",
        template: "xml_parameters",
        edits: &[(
            "{{- '<parameter=' ~ name ~ '>\\n' ~ value_of(value) ~ '\\n</parameter>\\n' }}",
            "{{- '<arg_key>' ~ name ~ '</arg_key>\\n<arg_value>' ~ value_of(value) ~ '</arg_value>\\n' }}",
        )],
        effect: "breaking",
        says: &[("tools.arguments.name_prefix", "breaking"), ("tools.arguments.value_suffix", "breaking")],
    },
    Edit {
        name: "another variable switches thinking",
        template: "qwen3",
        edits: &[("enable_thinking", "thinking")],
        effect: "informational",
        says: &[("reasoning.switch", "informational")],
    },
    Edit {
        name: "Python's literals instead of JSON",
        template: "hermes",
        edits: &[("f.arguments | tojson", "f.arguments | string")],
        effect: "breaking",
        says: &[("tools.uses_python_dicts", "breaking")],
    },
];

#[test]
fn an_edit_is_reported_with_its_effect() -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for edit in EDITS {
        let committed = Committed::new(&edit.name.replace([' ', '\''], "_"), edit.template)?;
        let spec = format!("specs/{}.toml", edit.template);
        let old = FormatSpec::from_toml(&committed.folder.read(&spec)?, &spec)?;
        for (from, to) in edit.edits {
            committed.edit(from, to)?;
        }
        let said = committed.check("--format json")?;
        assert_eq!(said.code, 1, "{}: {}{}", edit.name, said.stdout, said.stderr);
        let report: Value = serde_json::from_str(&said.stdout)?;
        let row = &report["specs"][0];
        if row["effect"] != edit.effect {
            wrong.push(format!("{}: judged {}, is {}: {row:#}", edit.name, row["effect"], edit.effect));
        }
        for (key, effect) in edit.says {
            let changes = row["changes"].as_array().ok_or("no changes")?;
            if !changes.iter().any(|change| change["key"] == *key && change["effect"] == *effect) {
                wrong.push(format!("{}: `{key}` is not called {effect}: {row:#}", edit.name));
            }
        }
        // The report is right: the old parser reads what the new template writes if and only if it says so.
        let template = Template::parse(&committed.template, &committed.folder.read(&committed.template)?)?;
        let (read, all) = read_by(&old, &template)?;
        assert!(all >= 50, "{}: {all} turns", edit.name);
        if (read < all) != (edit.effect == "breaking") {
            wrong.push(format!("{}: {read} of {all} turns read by the old parser", edit.name));
        }
        // The command that it prints accepts the changes.
        let command = report["mend"].as_str().ok_or("no command mends")?;
        assert_eq!(committed.folder.run(command, b"")?.code, 0);
        assert_eq!(committed.check("")?.code, 0, "{}", edit.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Of the turns that a template writes after each of its generation prompts: how many the parser of the old spec reads
/// like the template's own parser, with diagnostics only if that has any, and how many there are.
fn read_by(old: &FormatSpec, template: &Template) -> Result<(u32, u32), Failure> {
    let new = unjinja_build::analyze_text(template.source(), &Naming::of_file("edited.jinja"))?;
    let (before, after) = (interpreter(old)?, interpreter(&new)?);
    let (mut read, mut all) = (0, 0);
    for turn in verify(template, &new, 100, 1).turns {
        for prompt in &new.generation_prompt {
            let written = prompt.text.strip_prefix(new.turn.assistant_start.as_str()).unwrap_or_default();
            let Some(output) = turn.body.strip_prefix(written) else { continue };
            let mut options = Options::new().tools(&turn.tools);
            if let Some(on) = prompt.thinking {
                options = options.thinking(on);
            }
            all += 1;
            let expected = parse(after.clone(), output, &options);
            read += u32::from(same(&parse(before.clone(), output, &options), &expected));
        }
    }
    Ok((read, all))
}

fn same(a: &Message, b: &Message) -> bool {
    let call = |call: &ToolCall| (call.name.clone(), call.arguments_value().ok(), call.id.clone());
    let calls = |message: &Message| message.tool_calls.iter().map(call).collect::<Vec<_>>();
    a.content.trim() == b.content.trim()
        && a.reasoning_content.trim() == b.reasoning_content.trim()
        && calls(a) == calls(b)
        && a.diagnostics.is_empty() == b.diagnostics.is_empty()
}

#[test]
fn new_and_gone_specs_are_reported_and_written() -> Result<(), Failure> {
    let committed = Committed::new("moved", "hermes")?;
    committed.folder.write("templates/other.jinja", committed.folder.read(&committed.template)?.as_bytes())?;
    let old = root().join(env!("CARGO_TARGET_TMPDIR")).join("check/moved").join(&committed.template);
    fs::remove_file(old)?;
    let said = committed.check("--format json")?;
    assert_eq!(said.code, 1);
    let report: Value = serde_json::from_str(&said.stdout)?;
    let outcome = |name: &str| {
        let row = report["specs"].as_array()?.iter().find(|row| row["name"] == name)?;
        row["outcome"].as_str().map(str::to_owned)
    };
    assert_eq!(outcome("other").as_deref(), Some("new"));
    assert_eq!(outcome("hermes").as_deref(), Some("gone"));
    // If files are named, others are not reported.
    let one = committed.folder.run("unjinja check templates/other.jinja --specs specs --format json", b"")?;
    assert!(!one.stdout.contains("gone"), "{}", one.stdout);
    assert_eq!(committed.check("--write")?.code, 0);
    assert!(committed.folder.read("specs/hermes.toml").is_err());
    assert_eq!(committed.check("")?.code, 0);
    Ok(())
}

#[test]
fn a_template_that_breaks_leaves_its_spec_alone() -> Result<(), Failure> {
    let committed = Committed::new("broken", "hermes")?;
    let spec = committed.folder.read("specs/hermes.toml")?;
    committed.edit("{%- if add_generation_prompt %}", "{%- if add_generation_prompt")?;
    for more in ["", "--write", "--format github", "--format markdown"] {
        let said = committed.check(more)?;
        assert_eq!(said.code, 1, "{more}");
        assert!(said.stdout.contains("template syntax"), "{more}: {}", said.stdout);
        assert!(!said.stdout.contains("gone"), "{more}: {}", said.stdout);
    }
    assert_eq!(committed.folder.read("specs/hermes.toml")?, spec);
    Ok(())
}

#[test]
fn an_invalid_spec_is_reported_and_rewritten() -> Result<(), Failure> {
    let committed = Committed::new("no_spec", "hermes")?;
    let good = committed.folder.read("specs/hermes.toml")?;
    for text in ["spec_version = ", "\u{0}", "[template]\nname = 3\n"] {
        committed.folder.write("specs/hermes.toml", text.as_bytes())?;
        let said = committed.check("")?;
        assert_eq!(said.code, 1);
        assert!(said.stdout.contains("the committed spec cannot be read"), "{}", said.stdout);
        assert_eq!(committed.check("--write")?.code, 0);
        assert_eq!(committed.folder.read("specs/hermes.toml")?, good);
    }
    Ok(())
}

#[test]
fn an_overlay_that_changes_nothing_is_an_error() -> Result<(), Failure> {
    let committed = Committed::new("idle", "hermes")?;
    let overlay = "specs/hermes.overlay.toml";
    committed.folder.write(overlay, b"[tools]\n# The analysis says so too.\nname_field = \"name\"\n")?;
    let said = committed.check("")?;
    assert_eq!(said.code, 1);
    assert!(
        said.stdout.contains("specs/hermes.overlay.toml:3: error: unused: `tools.name_field` changes nothing"),
        "{}",
        said.stdout
    );
    // `--write` never changes an overlay.
    assert_eq!(committed.check("--write")?.code, 1);
    let annotated = committed.check("--format github")?.stdout;
    assert!(annotated.starts_with("::error file=specs/hermes.overlay.toml,line=3,"), "{annotated}");
    committed
        .folder
        .write(overlay, b"[tools]\n# The model was trained on another key.\nname_field = \"function\"\n")?;
    assert_eq!(committed.check("")?.code, 0);
    Ok(())
}

#[test]
fn two_templates_of_one_name_are_reported() -> Result<(), Failure> {
    let committed = Committed::new("one_name", "hermes")?;
    committed.folder.write("more/hermes.jinja", &fs::read(root().join("templates/qwen3.jinja"))?)?;
    let said = committed.folder.run("unjinja check templates more --specs specs", b"")?;
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains("its spec would be called `hermes`, like that of hermes.jinja"), "{}", said.stdout);
    Ok(())
}

#[test]
fn what_fails_a_check_can_be_chosen() -> Result<(), Failure> {
    let committed = Committed::new("fail_on", "hermes")?;
    let codes = || -> Result<Vec<i32>, Failure> {
        let levels = ["", "--fail-on informational", "--fail-on compatible", "--fail-on breaking"];
        levels.iter().map(|level| Ok(committed.check(level)?.code)).collect()
    };
    assert_eq!(codes()?, [0, 0, 0, 0]);
    let hermes = committed.folder.read("templates/hermes.jinja")?;
    committed.folder.write("templates/hermes.jinja", format!("{{# New. #}}{hermes}").as_bytes())?;
    assert_eq!(codes()?, [1, 1, 0, 0]);
    let said = committed.check("--fail-on breaking")?;
    assert!(said.stderr.starts_with("1 difference; to accept: unjinja check "), "{}", said.stderr);
    // A template without a spec breaks no parser; one that does not work does.
    committed.folder.write("templates/other.jinja", hermes.as_bytes())?;
    assert_eq!(codes()?, [1, 1, 1, 0]);
    committed.folder.write("templates/other.jinja", b"{{")?;
    assert_eq!(codes()?, [1, 1, 1, 1]);
    committed.folder.write("templates/other.jinja", hermes.as_bytes())?;
    committed.edit("tool_call>", "call>")?;
    assert_eq!(codes()?, [1, 1, 1, 1]);
    let diff = "unjinja diff specs/hermes.toml changed/hermes.toml --fail-on breaking";
    committed.folder.run("unjinja analyze templates/hermes.jinja -o changed", b"")?;
    assert_eq!(committed.folder.run(diff, b"")?.code, 1);
    Ok(())
}
