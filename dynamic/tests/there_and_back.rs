//! There and back: a turn of the corpus is parsed, and the message, handed back to its template, renders the same turn.

use std::collections::BTreeMap;
use std::fs;

use super::templates::files;
use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Loader, MissingKind, Model, Options, Tools};
use unjinja_spec::{ReasoningMode, ToolFormat};
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

/// Integers beyond 64 bits are written with all their digits, as Python writes them, and floats as floats.
#[test]
fn long_integers_keep_their_digits() -> Result<(), Failure> {
    let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ {'name': c.function.name, \
        'arguments': c.function.arguments} | tojson }}</call>{% endfor %}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let given = "{\"a\": -100000000000000000001, \"b\": [18446744073709551616, 1e20], \"c\": \"\\\"99999999999999999999\", \"d\": 18446744073709551615, \
        \"e\": {\"$serde_json::private::Number\": \"1}</call>\"}}";
    let call = json!({"type": "function", "function": {"name": "add", "arguments": given}});
    let messages = json!([{"role": "user", "content": "Add."}, {"role": "assistant", "tool_calls": [call]}]);
    let prompt = Model::from_template(template)?.prompt(&Conversation::new(messages))?;
    assert!(prompt.text().contains(&given.replace("1e20", "1e+20")), "{}", prompt.text());
    assert_eq!(prompt.missing(), []);
    Ok(())
}

/// Why a template does not take back some message that its parser returns, and the templates.
const LOSE: &[(&str, &str)] = &[
    (
        "content beside calls is lost, and in a message of its own it breaks the order of the roles, or makes the template fail",
        "command-a-reasoning-08-2025 nvidia-llama-3.1-nemotron-nano-8b-v1-hub",
    ),
    ("messages of the role `tool` are not written", "granite-3.0-1b-a400m-instruct glm4-vllm"),
    ("the roles must alternate, and results count", "c4ai-command-r7b-12-2024"),
    ("calls are lost after another call", "command-a-axolotl"),
    ("a variable is undefined", "fireworks-ai-llama-3-firefunction-v2"),
    (
        "the template fails: a number is joined with a text, a field of no namespace is set, a generator is written as JSON, or the name \
         of a tool is read outside of its function",
        "microsoft-frogmini-14b-2510-hub mirothinker llama-cpp-deepseek-r1 deepseekr1-sglang",
    ),
];

/// One in so many templates is asked in the gate.
const ASKED: usize = 10;

/// A call as a parser may return it: the second one is of a function that is not offered, and its arguments are cut short.
fn call(at: usize) -> Value {
    let arguments = ["{\"city\": \"Ulmbrec0\", \"days\": 2}", "{\"city\": \"Ulmbrec1\", \"days", "{}"][at];
    let id = format!("call_Jx9QmZ0vTgRk3WbLyPd7Hf2{at}");
    json!({"id": id, "type": "function", "function": {"name": format!("rain{at}"), "arguments": arguments}})
}

/// A message that a parser may return, and the results of its calls, sent as they were ready: the last one first.
fn returned(reasoning: bool, content: bool, calls: &[usize]) -> Vec<Value> {
    let mut message = json!({"role": "assistant", "content": if content { "Dunvask looks." } else { "" }});
    if reasoning {
        // Some servers send it in two fields.
        for field in ["reasoning_content", "reasoning"] {
            message[field] = "Skelmor wonders.".into();
        }
    }
    let next = json!({"role": "user", "content": "And now?"});
    if calls.is_empty() {
        return vec![message, next];
    }
    message["tool_calls"] = calls.iter().map(|at| call(*at)).collect();
    let result =
        |at: &usize| json!({"role": "tool", "tool_call_id": call(*at)["id"], "content": format!("Osktarn{at}")});
    std::iter::once(message).chain(calls.iter().rev().map(result)).collect()
}

/// What the template does not take back of the messages that its parser may return.
fn lost(model: &Model) -> Vec<String> {
    let spec = model.spec();
    let both = [false, true];
    let thinks = if spec.reasoning.mode == ReasoningMode::None { &both[..1] } else { &both };
    let calls: &[&[usize]] = if spec.tools.format == ToolFormat::None { &[&[]] } else { &[&[], &[0], &[2], &[0, 1]] };
    let properties = json!({"city": {"type": "string", "description": "A city."}, "days": {"type": "integer", "description": "Days."}});
    let tool = |name: &str| {
        json!({"type": "function", "function": {"name": name, "description": "Says it.",
            "parameters": {"type": "object", "properties": properties}}})
    };
    let mut lost = Vec::new();
    let parts = thinks.iter().flat_map(|reasoning| both.map(|content| (*reasoning, content)));
    for ((reasoning, content), calls) in parts.flat_map(|parts| calls.iter().map(move |calls| (parts, *calls))) {
        if !content && calls.is_empty() {
            continue;
        }
        let mut messages = vec![json!({"role": "user", "content": "Begin."})];
        if !calls.is_empty() {
            messages.extend(returned(reasoning, false, &[0]));
        }
        messages.extend(returned(reasoning, content, calls));
        let tools = [tool("rain0"), tool("rain2")];
        let tools: Value = tools.into_iter().filter(|_| !calls.is_empty()).collect();
        let mut conversation = Conversation::new(messages).tools(tools);
        if reasoning {
            conversation = conversation.thinking(true);
        }
        let why = match model.prompt(&conversation) {
            Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
            Ok(prompt) => {
                // A template may print no tools: that is no matter of messages.
                let missing = prompt.missing().into_iter().filter(|one| one.kind != MissingKind::Tool);
                let names: Vec<String> = missing.map(|one| one.to_string()).collect();
                let at = |text: &str| prompt.text().rfind(text);
                match calls.len() == 2 && at("Osktarn0") > at("Osktarn1") {
                    _ if !names.is_empty() => names.join(", "),
                    true => "the results are swapped".to_owned(),
                    false => continue,
                }
            }
        };
        lost.push(format!("reasoning: {reasoning}, content: {content}, calls: {calls:?}: {why}"));
    }
    lost
}

/// Every message that a parser can return is taken back, with the results of its calls in their order, and nothing of it is missing.
#[test]
fn what_a_parser_returns_is_taken_back() -> Result<(), Failure> {
    let mut paths = files("templates", "jinja")?;
    for folder in corpus()?.iter().flat_map(|corpus| {
        ["templates", "wild/templates", "wide/templates", "late/templates"].map(|name| corpus.join(name))
    }) {
        paths.extend(files(&folder.to_string_lossy(), "jinja")?);
    }
    let loader = Loader::new().cache(analyses()?);
    let (mut count, mut known, mut wrong) = (0, BTreeMap::<String, String>::new(), Vec::new());
    for path in sample(paths, ASKED) {
        let Ok(model) = loader.from_file(&path) else { continue };
        count += 1;
        let lost = lost(&model).join("\n    ");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((why, _)) = LOSE.iter().find(|(_, names)| names.split(' ').any(|listed| listed == name)) {
            println!("{name}: {why}:\n    {lost}");
            // Folders may have templates of one name.
            known.entry(name).or_default().push_str(&lost);
        } else if !lost.is_empty() {
            wrong.push(format!("{name} loses:\n    {lost}"));
        }
    }
    println!("{} of {count} templates take back what their parsers return", count - known.len() - wrong.len());
    let stale = known.iter().filter(|(_, lost)| lost.is_empty());
    wrong.extend(stale.map(|(name, _)| format!("{name} is listed, and loses nothing")));
    assert!(wrong.is_empty(), "not as the list says:\n{}", wrong.join("\n"));
    assert!(count >= 4, "{count} templates were asked");
    Ok(())
}
