//! Text from a hostile template cannot break out of the place where a command prints it: a terminal, a page, an
//! annotation of a workflow, a summary in Markdown, TOML, Rust.

use std::error::Error;
use std::fs;
use unjinja_testkit::commands::CommandFolder;
use unjinja_testkit::root;

type Failure = Box<dyn Error>;

/// The text in a marker of a hostile template. It has no `'` and `\`, which have a meaning in Jinja.
const HOSTILE: &str =
    "\"#*/ {}|`<img src=x onerror=y></pre></code></script><script>\u{1b}[31m\u{1b}]0;t\u{7}\u{202e}::error::%0A";

/// The name of a hostile file.
const FILE: &str = "a\u{1b}[31m\u{202e} \"$(x)`,::error::.jinja";

/// Characters that move the cursor, colour a terminal or turn the text around.
fn moves(text: &str) -> bool {
    text.chars().any(|c| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    })
}

fn folder() -> Result<CommandFolder, Failure> {
    let folder = crate::support::folder("injection", "all")?;
    let template = fs::read_to_string(root().join("templates/hermes.jinja"))?;
    let hostile = template.replace("'<tool_call>\\n{", &format!("'<tool_call {HOSTILE}>\\n{{"));
    assert_ne!(template, hostile);
    folder.write(&format!("templates/{FILE}"), hostile.as_bytes())?;
    folder.write("fine/hermes.jinja", template.as_bytes())?;
    folder.write("hostile/hermes.jinja", hostile.as_bytes())?;
    let output =
        format!("{HOSTILE}<tool_call {HOSTILE}>\n{{\"name\": \"f\", \"arguments\": {{\"a\": \"b\"}}}}\n</tool_call>");
    folder.write("output.txt", output.as_bytes())?;
    assert_eq!(folder.run("unjinja analyze fine -o specs", b"")?.code, 0);
    Ok(folder)
}

#[test]
fn nothing_leaves_its_place() -> Result<(), Failure> {
    let folder = folder()?;
    let mut wrong = Vec::new();
    for command in [
        "unjinja analyze templates",
        "unjinja analyze hostile",
        "unjinja verify templates hostile --count 5",
        "unjinja check hostile --specs specs",
        "unjinja check templates --specs specs",
        "unjinja check templates hostile --specs specs --format github",
        "unjinja check templates hostile --specs specs --format markdown",
        "unjinja check templates --specs nowhere",
        "unjinja -v analyze hostile",
        "unjinja explain hostile/hermes.jinja --output output.txt",
        "unjinja explain hostile/hermes.jinja --output output.txt --html page.html",
        "unjinja parse --template hostile/hermes.jinja output.txt",
        "unjinja parse --template hostile/hermes.jinja --stream output.txt",
        "unjinja parse --template nowhere/\u{1b}[31m.jinja output.txt",
        "unjinja grammar --template hostile/hermes.jinja",
        "unjinja codegen hostile/hermes.jinja",
        "unjinja parse --model \u{1b}[31m\u{202e} output.txt",
    ] {
        let said = folder.run(command, b"")?;
        for (what, text) in [("output", &said.stdout), ("errors", &said.stderr)] {
            if moves(text) {
                wrong.push(format!("{command}: {what}: {text:?}"));
            }
        }
        if command.ends_with("markdown") && ["<img", "<script", "</script"].iter().any(|tag| said.stdout.contains(tag))
        {
            wrong.push(format!("{command}: {}", said.stdout));
        }
        if command.ends_with("github") {
            // One annotation a line, and nothing that begins another.
            let commands = said.stdout.lines().map(|line| {
                line.matches("::error ").count()
                    + line.matches("::warning ").count()
                    + line.matches("::notice ").count()
            });
            let starts = said.stdout.lines().all(|line| line.starts_with("::"));
            if said.stdout.is_empty() || !starts || commands.max() != Some(1) {
                wrong.push(format!("{command}: {}", said.stdout));
            }
        }
    }
    let page = folder.read("page.html")?;
    assert!(page.contains("onerror"), "the page does not show the marker");
    let data = page.split_once("id=\"explanation\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let (data, _) = data.ok_or("the page has no data")?;
    if moves(&page) || data.contains(['<', '>', '&']) || page.contains("<img") {
        wrong.push("the page holds what the template wrote".to_owned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
