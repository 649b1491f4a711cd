//! The conversations with which marks are tried: each kind of turn alone, and random ones of all kinds. The words are those of a
//! harmless conversation, so that no text of a template is among them.

use serde_json::{Map, Value, json};
use unjinja_dynamic::Conversation;

const WORDS: [&str; 12] =
    ["amber", "bridge", "cinder", "dune", "ember", "fjord", "grove", "heron", "islet", "juniper", "kelp", "lagoon"];

/// Numbers that are the same in each run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        // The constants of Knuth's MMIX.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }

    fn words(&mut self) -> String {
        let count = 1 + self.below(4);
        let word = |draws: &mut Self| WORDS.get(draws.below(12) as usize).copied().unwrap_or("amber");
        (0..count).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}

/// Makes messages.
struct Writer {
    draws: Draws,
    calls: usize,
}

impl Writer {
    fn user(&mut self) -> Value {
        json!({"role": "user", "content": format!("Please describe {}.", self.draws.words())})
    }

    fn answer(&mut self) -> Value {
        json!({"role": "assistant", "content": format!("Here is {}.", self.draws.words())})
    }

    fn said(&mut self, content: &str) -> Value {
        json!({"role": "assistant", "content": content})
    }

    fn thinking(&mut self, mut message: Value, is_long: bool) -> Value {
        let mut text = format!("Considering {}.", self.draws.words());
        if is_long {
            text.push_str(&format!("\n\nThen {}\n- {}", self.draws.words(), self.draws.words()));
        }
        message["reasoning_content"] = text.into();
        message
    }

    /// A turn with calls.
    fn calling(&mut self, content: &str, count: usize) -> Value {
        let calls: Vec<Value> = (0..count)
            .map(|_| {
                self.calls += 1;
                let mut arguments = Map::new();
                arguments.insert("place".to_owned(), self.draws.words().into());
                if self.draws.below(2) == 0 {
                    arguments.insert("limit".to_owned(), (1 + self.draws.below(98)).into());
                }
                let arguments = Value::Object(arguments).to_string();
                json!({
                    "id": format!("call{:05}", self.calls), "type": "function",
                    "function": {"name": "find_place", "arguments": arguments},
                })
            })
            .collect();
        json!({"role": "assistant", "content": content, "tool_calls": calls})
    }

    /// A result for each call of a message.
    fn results(&mut self, message: &Value) -> Vec<Value> {
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        let result = |call: &Value| {
            let text = format!("{{\"found\": \"{}\"}}", self.draws.words());
            json!({"role": "tool", "tool_call_id": call["id"], "name": "find_place", "content": text})
        };
        calls.iter().map(result).collect()
    }

    /// A turn of any kind and what comes before the next one.
    fn turn(&mut self, with_tools: bool) -> Vec<Value> {
        let mut message = match self.draws.below(if with_tools { 5 } else { 2 }) {
            0 | 1 => self.answer(),
            2 => self.calling("", 1),
            3 => self.calling("Looking it up.", 1),
            _ => self.calling("", 2),
        };
        if self.draws.below(2) == 0 {
            let is_long = self.draws.below(2) == 0;
            message = self.thinking(message, is_long);
        }
        let mut turn = vec![message];
        match turn.first().filter(|message| message["tool_calls"].is_array()).cloned() {
            Some(message) => turn.extend(self.results(&message)),
            None => turn.push(self.user()),
        }
        turn
    }
}

fn tools() -> Value {
    let place = json!({"type": "string", "description": "the place"});
    let limit = json!({"type": "integer", "description": "how many"});
    json!([{"type": "function", "function": {
        "name": "find_place", "description": "Finds a place",
        "parameters": {"type": "object", "properties": {"place": place, "limit": limit}, "required": ["place"]},
    }}])
}

/// A conversation that ends where its last message does.
fn of(messages: Vec<Value>) -> Conversation {
    Conversation::new(messages).generation_prompt(false)
}

/// One conversation of each kind.
pub(super) fn of_each_kind() -> Vec<Conversation> {
    let mut w = Writer { draws: Draws(35), calls: 0 };
    let system = json!({"role": "system", "content": "Answer briefly."});
    let mut found = Vec::new();
    let mut add = |messages: Vec<Value>| found.push(of(messages));
    add(vec![w.user(), w.answer()]);
    add(vec![w.user(), w.said("")]);
    add(vec![w.user(), w.said("  Amber and dune \n"), w.user(), w.said("\nA heron\n\n")]);
    add(vec![w.user(), w.said("caf\u{e9} \u{6f22}\u{5b57}\n\n- one\n```json\n{\"a\": 1}\n```")]);
    add(vec![system.clone(), w.user(), w.answer()]);
    add(vec![w.user(), w.answer(), w.user(), w.answer(), w.user(), w.answer()]);
    add(vec![system.clone(), w.user(), w.answer(), w.user(), w.answer()]);
    let (first, second) = (w.answer(), w.answer());
    let (first, second) = (w.thinking(first, false), w.thinking(second, true));
    add(vec![w.user(), first.clone()]);
    add(vec![w.user(), first.clone(), w.user(), second.clone()]);
    add(vec![w.user(), w.answer(), w.user(), second.clone()]);
    add(vec![w.user(), second, w.user(), w.answer()]);
    let (one, said, two) = (w.calling("", 1), w.calling("Looking it up.", 1), w.calling("", 2));
    let mut plain: Vec<Vec<Value>> = Vec::new();
    for call in [&one, &said, &two] {
        let thought = w.thinking(call.clone(), true);
        for call in [call.clone(), thought] {
            plain.push(vec![w.user(), call.clone()]);
            let results = w.results(&call);
            plain.push([vec![w.user(), call.clone()], results.clone()].concat());
            plain.push([vec![w.user(), call.clone()], results.clone(), vec![w.answer()]].concat());
            let closing = w.answer();
            let closing = w.thinking(closing, false);
            plain.push([vec![system.clone(), w.user(), call], results, vec![closing, w.user(), w.answer()]].concat());
        }
    }
    found.extend(plain.into_iter().map(|messages| of(messages).tools(tools())));
    found.push(of(vec![w.user(), w.answer()]).tools(tools()));
    let open = vec![w.user(), w.answer(), w.user()];
    found.push(of(open.clone()).generation_prompt(true));
    found.push(of(open).tools(tools()).generation_prompt(true));
    found
}

/// Conversations whose contents hold the format's markers of reasoning: whole, and one of the two alone. Many templates take reasoning out
/// of them.
pub(super) fn with_inline_reasoning(start: &str, end: &str) -> Vec<Conversation> {
    let (start, end) = (start.trim(), end.trim());
    if end.is_empty() {
        return Vec::new();
    }
    let mut w = Writer { draws: Draws(7), calls: 0 };
    let mut text = || format!("Considering {}.", w.draws.words());
    let mut contents = vec![format!("{start}\n{}\n{end}\n\n{}", text(), text()), format!("{}{end}{}", text(), text())];
    if !start.is_empty() {
        contents.push(format!("{start}{}", text()));
        contents.push(format!("{start}\n\n{end}\n\n{}", text()));
    }
    let mut found = Vec::new();
    for content in &contents {
        found.push(of(vec![w.user(), w.said(content)]));
        found.push(of(vec![w.user(), w.said(content), w.user(), w.answer()]));
        found.push(of(vec![w.user(), w.answer(), w.user(), w.said(content)]));
    }
    for content in contents.iter().take(2) {
        let call = w.calling(content, 1);
        let results = w.results(&call);
        let messages = [vec![w.user(), call], results, vec![w.said(content)]].concat();
        found.push(of(messages).tools(tools()));
    }
    found
}

/// Random conversations with turns of all kinds.
pub(super) fn random(count: usize) -> Vec<Conversation> {
    let mut w = Writer { draws: Draws(1), calls: 0 };
    (0..count)
        .map(|_| {
            let with_tools = w.draws.below(2) == 0;
            let mut messages = Vec::new();
            if w.draws.below(3) == 0 {
                messages.push(json!({"role": "system", "content": format!("Speak of {}.", w.draws.words())}));
            }
            messages.push(w.user());
            for _ in 0..1 + w.draws.below(4) {
                messages.extend(w.turn(with_tools));
            }
            if w.draws.below(2) == 0 {
                messages.push(w.answer());
            }
            let conversation = of(messages).generation_prompt(w.draws.below(4) == 0);
            if with_tools { conversation.tools(tools()) } else { conversation }
        })
        .collect()
}

/// The same with reasoning switched on, and switched off.
pub(super) fn with_switch(conversations: &[Conversation]) -> Vec<Conversation> {
    let with = |on: bool| conversations.iter().map(move |conversation| conversation.clone().thinking(on));
    with(true).chain(with(false)).collect()
}
