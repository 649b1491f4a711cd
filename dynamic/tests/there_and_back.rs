//! There and back: a turn of the corpus is parsed, and the message, handed back to its template, renders the same turn.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use unjinja_dynamic::{Conversation, Loader, Model, Options, Tools};
use unjinja_testkit::{Failure, analyses, corpus, sample, share};

/// Templates of which some turns come back in another form: how many at most, and why.
const KNOWN: &[(&str, usize, &str)] = &[
    ("command-a-reasoning-08-2025.jinja", 1, "the arguments of the call are a text, against the schema of the tool"),
    (
        "functionary-medium-v2.2.jinja",
        15,
        "the turn begins with an empty message; it is not written again, because the template writes the call alone for null",
    ),
    (
        "tiiuae-falcon-h1-tiny-tool-calling-90m-hub.jinja",
        5,
        "a line break and the end of the turn are between answer and call, so the break is read as part of the answer",
    ),
];

/// One in so many templates is tried in the gate.
const ONE_IN: usize = 10;

/// The folders of the turns' templates.
fn folder(name: &str) -> String {
    if name == "templates" { name.to_owned() } else { format!("{name}/templates") }
}

/// The turn as its template writes the parsed message; why it does not.
fn back(model: &Model, row: &Value, tools: &Value) -> Result<String, String> {
    let mut options = Options::new().tools(&Tools::from_openai(tools).map_err(|error| error.to_string())?);
    options = options.generation_prompt(row["generation_prompt"].as_str().unwrap_or_default());
    let thinking = row["enable_thinking"].as_bool();
    if let Some(on) = thinking {
        options = options.thinking(on);
    }
    let message = model.parse(row["output"].as_str().unwrap_or_default(), &options);
    let mut messages = row["messages"].as_array().cloned().unwrap_or_default();
    messages.push(serde_json::to_value(&message).map_err(|error| error.to_string())?);
    let mut conversation = Conversation::new(messages).tools(tools.clone()).generation_prompt(false);
    if let Some(on) = thinking {
        conversation = conversation.thinking(on);
    }
    model.render(&conversation).map_err(|error| error.to_string())
}

#[test]
fn a_parsed_turn_renders_as_it_was() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let tools: Value = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let loader = Loader::new().cache(analyses()?);
    let (mut count, mut refused, mut with_prompt) = (0, 0, 0);
    let mut wrong = BTreeMap::<String, (usize, String)>::new();
    let mut rows = BTreeMap::<(String, String), Vec<Value>>::new();
    for file in ["turns.jsonl", "turns_late.jsonl"] {
        for line in fs::read_to_string(corpus.join(file))?.lines() {
            let row: Value = serde_json::from_str(line)?;
            if row["expect"]["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
                let [folder, template] =
                    ["folder", "template"].map(|key| row[key].as_str().unwrap_or_default().to_owned());
                rows.entry((folder, template)).or_default().push(row);
            }
        }
    }
    for ((name, template), rows) in sample(rows, ONE_IN) {
        let Ok(model) = loader.from_file(corpus.join(folder(&name)).join(&template)) else {
            refused += rows.len();
            continue;
        };
        for row in rows {
            count += 1;
            let offered = row["tools"].as_str().map_or(&row["tools"], |name| &tools[name]);
            let output = row["output"].as_str().unwrap_or_default();
            let text = back(&model, &row, offered);
            let begun = row["generation_prompt"].as_str().unwrap_or_default();
            if text.as_ref().is_ok_and(|text| text.contains(&format!("{begun}{output}"))) {
                with_prompt += 1;
            }
            if !text.as_ref().is_ok_and(|text| text.contains(output)) {
                let entry = wrong.entry(template.clone()).or_default();
                if entry.0 == 0 {
                    entry.1 = format!(
                        "{}: {output:?}\n    {:?}",
                        row["id"],
                        text.map(|text| text
                            [text.floor_char_boundary(text.len().saturating_sub(output.len() + 200))..]
                            .to_owned())
                    );
                }
                entry.0 += 1;
            }
        }
    }
    let lost: usize = wrong.values().map(|(count, _)| count).sum();
    println!("{} of {count} turns with calls render as they were; {refused} have no model", count - lost);
    // Some templates write the past turn without what their generation prompt begins it with.
    println!("{with_prompt} of them continue the generation prompt");
    let most = |file: &str| KNOWN.iter().find(|(known, ..)| *known == file).map_or(0, |(_, most, _)| *most);
    let new: Vec<String> = wrong
        .iter()
        .filter(|(file, (count, _))| *count > most(file))
        .map(|(file, (count, first))| format!("{file}: {count} turns, among them\n    {first}"))
        .collect();
    assert!(new.is_empty(), "turns that render otherwise:\n{}", new.join("\n"));
    assert!(count > share(4_000, ONE_IN) && refused < 10, "{count} turns, {refused} without a model");
    assert!(with_prompt * 100 > count * 90, "{with_prompt} of {count} turns continue their prompt");
    Ok(())
}
