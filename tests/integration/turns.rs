//! The turns of the corpus: what a template writes for a message must come back as that message, read with the spec that
//! the analysis derives from this template alone. And a spec must say what it lacks, with a conversation that shows it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::grammar::{load, refuses};
use crate::support::{Failure, corpus};
use serde_json::{Value, json};
use unjinja::{Interpreter, Message, Options, Tools, Unparsed, parse};
use unjinja_analyzer::{GapReport, gap_report, verify};
use unjinja_codegen::interpreter;
use unjinja_render::{FieldPart, Origin, RenderOptions, Template};
use unjinja_spec::{ReasoningMode, Status, ToolFormat};
use unjinja_testkit::turns::{self, ONE_IN, sampled_specs};
use unjinja_testkit::{share, whole};

/// Templates of which some turns are not read back: how many at most, and why.
const KNOWN: &[(&str, usize, &str)] = &[
    ("spitfire4794-supra-arith-hub.jinja", 4, "only a line break stands between reasoning and answer"),
    ("unsloth-gptoss.jinja", 3, "an answer next to a call is written as reasoning"),
    ("glimmer-chat-template-ollama.jinja", 5, "no rule has the recipient in the header and the name again in a tag"),
    ("tool-chat-template-muse-glimmer-vllm-0.33.0.jinja", 6, "as above"),
    ("test-chat-auto-parser-1-llama.cpp.jinja", 6, "it writes no answer, so the analysis ends with C1"),
    ("test-chat-template-utils-1-trl.jinja", 1, "only a call without arguments is written; the spec names the gap"),
];

/// What a parser reads of a turn with these tools.
pub fn read(parser: &Interpreter, row: &Value, tools: &Value) -> Result<Message, Failure> {
    let mut options = Options::new().tools(&Tools::from_openai(tools)?);
    options = options.parallel_tool_calls(row["parallel_tool_calls"].as_bool().unwrap_or(true));
    options = options.generation_prompt(row["generation_prompt"].as_str().unwrap_or(""));
    if let Some(on) = row["enable_thinking"].as_bool() {
        options = options.thinking(on);
    }
    if row["unparsed"] == "separate" {
        options = options.unparsed(Unparsed::Separate);
    }
    Ok(parse(parser.clone(), row["output"].as_str().unwrap_or(""), &options))
}

/// Whether a message is the expected one; white space at both ends of texts does not count.
pub fn is_expected(message: &Message, expected: &Value) -> bool {
    let text = |key: &str| expected[key].as_str().unwrap_or("").trim();
    let calls = expected["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let value = |text: &str| serde_json::from_str::<Value>(if text.trim().is_empty() { "{}" } else { text }).ok();
    message.content.trim() == text("content")
        && message.reasoning_content.trim() == text("reasoning_content")
        && message.tool_calls.len() == calls.len()
        && message.tool_calls.iter().zip(calls).all(|(call, wanted)| {
            let arguments = wanted["arguments"].as_str().map_or(Some(wanted["arguments"].clone()), value);
            call.name == wanted["name"] && value(&call.arguments).is_some() && value(&call.arguments) == arguments
        })
}

#[test]
fn what_templates_write_comes_back() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let specs = sampled_specs(&corpus, ONE_IN)?;
    let parsers: BTreeMap<_, Interpreter> =
        specs.iter().filter_map(|(key, (_, spec))| Some((key.clone(), interpreter(spec.as_ref()?).ok()?))).collect();
    let tools: Value = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
    let (mut count, mut wrong) = (0, BTreeMap::<&str, (usize, String)>::new());
    let rows = turns::turns(&corpus)?;
    for row in &rows {
        let [folder, file, output] = ["folder", "template", "output"].map(|key| row[key].as_str().unwrap_or(""));
        let offered = row["tools"].as_str().map_or(&row["tools"], |name| &tools[name]);
        let key = (folder.to_owned(), file.to_owned());
        if !specs.contains_key(&key) {
            continue;
        }
        count += 1;
        let parser = parsers.get(&key);
        let message = parser.map(|parser| read(parser, row, offered)).transpose()?;
        if !message.as_ref().is_some_and(|message| is_expected(message, &row["expect"])) {
            let entry = wrong.entry(file).or_insert_with(|| (0, format!("{}: {output:?}\n    {message:?}", row["id"])));
            entry.0 += 1;
        }
    }
    assert!(count > share(8_000, ONE_IN), "{count} turns");
    let most = |file: &str| KNOWN.iter().find(|(known, ..)| *known == file).map_or(0, |(_, most, _)| *most);
    let new: Vec<String> = wrong
        .iter()
        .filter(|(file, (count, _))| *count > most(file))
        .map(|(file, (count, first))| format!("{file}: {count} turns, among them\n    {first}"))
        .collect();
    assert!(new.is_empty(), "turns that are not read back:\n{}", new.join("\n"));
    let lost: usize = wrong.values().map(|(count, _)| count).sum();
    println!("{} of {count} turns come back", count - lost);
    Ok(())
}

#[test]
fn grammars_accept_the_calls_that_templates_write() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let judged = turns::judge(&corpus, |grammar, output| refuses(grammar, &load(grammar)?, output))?;
    println!("{judged}");
    assert!(judged.new.is_empty(), "turns that a grammar refuses:\n{}", judged.new.join("\n"));
    Ok(())
}

/// Whether any of these renders of an assistant's message shows the value of one of its fields.
fn shows(template: &Template, messages: &[Value], path: impl Fn(&str) -> bool) -> bool {
    let tool = json!({"type": "function", "function": {"name": "brobnig", "description": "", "parameters": {
        "type": "object", "properties": {"quell": {"type": "string"}}}}});
    messages.iter().any(|message| {
        let conversation = json!([{"role": "user", "content": "Hello."}, message]);
        [json!([tool]), Value::Null].iter().any(|tools| {
            let context = json!({"messages": conversation, "tools": tools, "add_generation_prompt": false,
                                 "bos_token": "", "eos_token": ""});
            let rendered = template.render_with(&context, &RenderOptions::new().label(true));
            rendered.result.is_ok()
                && rendered.labels.is_some_and(|labels| {
                    labels.spans().iter().any(|span| match &span.origin {
                        Origin::Field(field) => field.part == FieldPart::Value && path(&field.path),
                        Origin::Template => false,
                    })
                })
        })
    })
}

/// Messages with a call, in the ways in which servers write them.
fn calls() -> Vec<Value> {
    let mut messages = Vec::new();
    for arguments in [json!({"quell": "Nimdus"}), json!("{\"quell\": \"Nimdus\"}")] {
        for content in [Value::Null, json!(""), json!("Fine.")] {
            let function = json!({"name": "brobnig", "arguments": arguments});
            let call = json!({"type": "function", "id": "abcdefghi", "function": function});
            messages.push(json!({"role": "assistant", "content": content, "tool_calls": [call]}));
        }
    }
    messages
}

#[test]
fn a_supported_spec_lacks_nothing_that_is_rendered() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let (mut wrong, mut named) = (Vec::new(), Vec::new());
    for ((folder, file), (source, spec)) in sampled_specs(&corpus, ONE_IN)? {
        let Some(spec) = spec else { continue };
        let template = Template::parse(&file, &source)?;
        let no_calls = spec.tools.format == ToolFormat::None;
        let no_reasoning = spec.reasoning.mode == ReasoningMode::None;
        if spec.status == Status::Supported {
            let is_name = |path: &str| path == "messages[1].tool_calls[0].function.name";
            if no_calls && shows(&template, &calls(), is_name) {
                wrong.push(format!("{folder}/{file}: a call is rendered"));
            }
            let reasoning = ["reasoning_content", "reasoning", "thinking"]
                .map(|field| json!({"role": "assistant", "content": "Fine.", field: "Considered."}));
            let is_reasoning = |path: &str| {
                let field = path.strip_prefix("messages[1].");
                field.is_some_and(|field| field.starts_with("reasoning") || field == "thinking")
            };
            if no_reasoning && shows(&template, &reasoning, is_reasoning) {
                wrong.push(format!("{folder}/{file}: reasoning is rendered"));
            }
        }
        let mut why = spec.gaps.join("; ");
        if why.is_empty() {
            why = "the template tests for it or removes it, and no conversation renders it".to_owned();
        }
        if no_calls && source.contains("tool_calls") {
            named.push(format!("{folder}/{file}: `tool_calls`, but no calls: {why}"));
        }
        if no_reasoning && source.contains("</think>") {
            named.push(format!("{folder}/{file}: `</think>`, but no reasoning: {why}"));
        }
    }
    println!("{}", named.join("\n"));
    assert!(wrong.is_empty(), "supported, but the spec has none:\n{}", wrong.join("\n"));
    Ok(())
}

/// The closing tags in a template's string literals whose names speak of reasoning or of calls, and whose opening tags are there
/// as well.
fn speaking_tags(template: &Template) -> Vec<String> {
    let literals = template.string_literals();
    let closing = |(open, close): (&str, char)| -> Vec<String> {
        let starts = literals.iter().flat_map(|text| text.match_indices(open).map(|(at, _)| &text[at..]));
        let tags = starts.filter_map(|text| Some(text[..=text.find(close)?].to_owned()));
        tags.filter(|tag| !tag.contains(|c: char| c.is_whitespace() || c == '{')).collect()
    };
    let words = ["think", "thought", "reason", "tool_call", "toolcall", "function_call"];
    let speaks = |tag: &String| words.iter().any(|word| tag.to_lowercase().contains(word));
    let has_opener = |tag: &String| literals.iter().any(|text| text.contains(&tag.replacen('/', "", 1)));
    let tags = [("</", '>'), ("[/", ']')].into_iter().flat_map(closing);
    tags.filter(speaks).filter(has_opener).collect()
}

#[test]
fn tags_about_reasoning_and_calls_are_read_or_named() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let (mut count, mut wrong) = (0, Vec::new());
    for ((folder, file), (source, spec)) in sampled_specs(&corpus, ONE_IN)? {
        let Some(spec) = spec.filter(|spec| spec.status == Status::Supported) else { continue };
        let template = Template::parse(&file, &source)?;
        // What a prompt says about its own text, its tools and their results is no marker of an answer.
        let tool = json!({"type": "function", "function": {"name": "f", "description": "", "parameters": {}}});
        let prompt = |tools: Value| {
            let messages = json!([{"role": "user", "content": "Hello."}]);
            let context = json!({"messages": messages, "tools": tools, "add_generation_prompt": false,
                                 "bos_token": "", "eos_token": ""});
            template.render(&context).unwrap_or_default()
        };
        let prompts = [prompt(Value::Null), prompt(json!([tool]))];
        let prompted = spec.generation_prompt.iter().map(|prompt| prompt.text.as_str());
        let read: Vec<&str> = spec.markers().map(|(_, text)| text).chain(prompted).collect();
        for tag in speaking_tags(&template) {
            count += 1;
            if !read.iter().chain(&prompts.each_ref().map(String::as_str)).any(|text| text.contains(&tag)) {
                wrong.push(format!("{folder}/{file}: {tag}"));
            }
        }
    }
    println!("{count} tags");
    assert!(count > share(100, ONE_IN), "{count} tags");
    assert!(wrong.is_empty(), "supported, but these tags are not read:\n{}", wrong.join("\n"));
    Ok(())
}

/// Whether a report is right about its conversation: it is refused, or it is rendered as the report says, and another text in
/// the place of what is said to be lost changes nothing.
fn is_right(template: &Template, report: &GapReport) -> bool {
    let rendered = template.render(&report.conversation);
    if report.reason == "the template refuses it" {
        return rendered.is_err();
    }
    let mut other = report.conversation.clone();
    let message = &mut other["messages"][1];
    match report.reason.strip_prefix("the template does not render the ") {
        Some("call") => message["tool_calls"][0]["function"]["name"] = "brobnig".into(),
        Some("answer") => message["content"] = "Considered.".into(),
        Some(_) => {
            for (key, field) in message.as_object_mut().into_iter().flatten() {
                if !["role", "content", "tool_calls"].contains(&key.as_str()) {
                    *field = "Considered.".into();
                }
            }
        }
        None => {}
    }
    rendered.is_ok_and(|text| {
        text.contains(&report.rendered) && template.render(&other).is_ok_and(|unchanged| unchanged == text)
    })
}

#[test]
fn conversations_show_what_reports_say() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let (mut shown, mut silent, mut wrong) = (0, Vec::new(), Vec::new());
    for ((folder, file), (source, spec)) in sampled_specs(&corpus, ONE_IN)? {
        let Some(spec) = spec.filter(|spec| spec.status != Status::Supported) else { continue };
        let template = Template::parse(&file, &source)?;
        let report = gap_report(&template, &spec, &verify(&template, &spec, 64, 1), &file).ok_or("no report")?;
        if report.conversation.is_null() {
            silent.push(format!("{folder}/{report}"));
        } else if is_right(&template, &report) {
            shown += 1;
        } else {
            wrong.push(format!("{folder}/{file}: {report}"));
        }
    }
    println!("without a conversation:\n{}", silent.join("\n"));
    assert!(wrong.is_empty(), "untrue reports:\n{}", wrong.join("\n"));
    assert!(
        shown > if whole() { 15 } else { 1 } && silent.len() < 5,
        "{shown} conversations, {} reports without one",
        silent.len()
    );
    Ok(())
}
