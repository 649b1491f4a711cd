//! Where the model's output begins: nothing of a prompt becomes a part of the message, however the conversation goes.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Loader, Message, SpecialTokens};
use unjinja_server::openai::ChatRequest;
use unjinja_server::{CallIds, TemplateNeeds};
use unjinja_testkit::{corpus, root};

use super::setup::Failure;

/// Templates of the project and of the corpus.
fn templates() -> Result<Vec<PathBuf>, Failure> {
    let mut folders = vec![root().join("templates")];
    // Without a corpus, only the project's own templates are tried.
    if let Some(corpus) = corpus().map_err(|error| error.to_string())? {
        folders.extend(["templates", "wild"].map(|name| corpus.join(name)));
    }
    let mut files = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(folder)? {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jinja"));
    files.sort();
    Ok(files)
}

/// Conversations that end where the model is to answer.
fn conversations(id: &str) -> Vec<(&'static str, Value)> {
    let user = |text: &str| json!({"role": "user", "content": text});
    let function = json!({"name": "get_weather", "arguments": "{\"city\": \"Paris\"}"});
    let call = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": id, "type": "function", "function": function}]});
    let result = json!({"role": "tool", "tool_call_id": id, "content": "Sunshine."});
    vec![
        ("a question", json!([user("Rain?")])),
        ("a greeting before the question", json!([{"role": "assistant", "content": "Hello."}, user("Rain?")])),
        ("a second question", json!([user("Hi."), {"role": "assistant", "content": "Hello."}, user("Rain?")])),
        ("the result of a call", json!([user("Rain?"), call, result])),
    ]
}

#[test]
fn no_part_of_a_prompt_is_taken_for_output() -> Result<(), Failure> {
    let (mut problems, mut tried) = (Vec::new(), 0);
    for path in templates()? {
        let tokens = SpecialTokens { bos: Some("<s>".to_owned()), eos: Some("</s>".to_owned()) };
        let Ok(model) = Loader::new().tokens(tokens).from_file(&path) else { continue };
        if !model.status().makes_parser() {
            continue;
        }
        let needs =
            TemplateNeeds::of(model.spec()).tried(|context| model.render(&Conversation::from_context(context)).ok());
        let id = CallIds::new(needs.ids.clone()).next("get_weather", None);
        for (what, messages) in conversations(&id) {
            let tool = json!({"type": "function", "function": {"name": "get_weather", "description": "The weather.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Where."}}}}});
            let request = json!({"model": "m", "messages": messages, "tools": [tool]});
            let prepared = ChatRequest::from_value(&request)?.prepare(&needs)?;
            // A template may refuse a conversation.
            let Ok(prompt) = model.prompt(&Conversation::from_context(&prepared.context)) else { continue };
            tried += 1;
            let place = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let message = model.parse("", &prepared.prompt(prompt.turn()).options);
            let empty = Message { diagnostics: message.diagnostics.clone(), ..Message::default() };
            if message != empty {
                problems.push(format!("{place}: {what}: {message:?} from {:?}", prompt.turn()));
            }
        }
    }
    assert!(tried > 100, "{tried} prompts are too few to show anything");
    assert!(problems.is_empty(), "{} of {tried}:\n{}", problems.len(), problems.join("\n"));
    Ok(())
}
