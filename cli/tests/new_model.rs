//! Follows `docs/new-model.md`: writes its files, runs its commands in order, and compares what they print with the page.
//! `UPDATE_EXPECT=1` rewrites the page.
//!
//! A fenced block whose info names a file is that file. In a block `console`, a line `$ COMMAND` is a command (see
//! `unjinja_testkit::commands`), and what follows up to the next one is what it prints.

use std::error::Error;
use std::fs;
use unjinja_testkit::root;

#[test]
fn the_way_to_a_new_model_can_be_walked() -> Result<(), Box<dyn Error>> {
    let path = root().join("docs/new-model.md");
    let written = fs::read_to_string(&path)?;
    let folder = crate::support::folder("new_model", "walk")?;
    let (mut walked, mut commands) = (String::new(), 0);
    let mut lines = written.lines();
    while let Some(line) = lines.next() {
        walked.push_str(line);
        walked.push('\n');
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let text: String = block.iter().map(|line| format!("{line}\n")).collect();
        match info.split_once(' ') {
            Some((_, file)) => {
                folder.write(file, text.as_bytes())?;
                walked.push_str(&text);
            }
            None if info == "console" => {
                for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                    commands += 1;
                    let said = folder.run(command, b"").map_err(|e| format!("{command}: {e}"))?;
                    // 1 is a result; 2 would be a mistake on the page.
                    assert!(said.code < 2, "{command}: {}", said.stderr);
                    walked.push_str(&format!("$ {command}\n{}{}", said.stdout, said.stderr));
                }
            }
            None => walked.push_str(&text),
        }
        walked.push_str("```\n");
    }
    assert!(commands > 8, "{commands} commands");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &walked)?;
    } else {
        let differs = walked.lines().zip(written.lines()).find(|(now, then)| now != then);
        assert!(walked == written, "docs/new-model.md differs, first in {differs:?}; UPDATE_EXPECT=1 rewrites it");
    }
    Ok(())
}
