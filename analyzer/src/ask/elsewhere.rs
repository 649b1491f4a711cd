//! R2: the prompts of other conversations than one message: with tools, a system message, documents, several turns or a result, and
//! with each value that the template compares a variable or the message with. A template may open reasoning only there.

use serde_json::{Value, json};

use super::call_turns::CallTurns;
use super::prompts::Prompt;
use crate::conversation::{AssistantMessage, Call, Style, tools_for};
use crate::probe::{Probe, Variable};
use crate::sentinels::SENTINELS;

pub(crate) struct PromptElsewhere {
    /// What the conversation has, in words: `with tools`.
    pub with: String,
    pub prompt: Prompt,
    /// What the template says before the first message of the user.
    pub own_text: String,
}

/// Values that are tried for one variable, and for all.
const MOST_VALUES: usize = 12;
const MOST_PROMPTS: usize = 48;

struct Conversation {
    with: String,
    messages: Vec<Value>,
    tools: Value,
    extra: Vec<Variable>,
    last: &'static str,
}

/// The prompts of other conversations, where they say something else than that of one message.
pub(super) fn prompts_elsewhere(
    probe: &Probe<'_>,
    style: Style,
    calls: Option<&CallTurns>,
    switches: &[String],
) -> Vec<PromptElsewhere> {
    let alone = Conversation::alone(style, String::new(), Vec::new());
    let Some(usual) = alone.prompt(probe, None) else { return Vec::new() };
    let mut all = conversations(probe, style, calls);
    all.extend(values(probe, style, switches));
    all.truncate(MOST_PROMPTS);
    all.iter().filter_map(|conversation| conversation.prompt(probe, Some(&usual))).collect()
}

impl Conversation {
    fn alone(style: Style, with: String, extra: Vec<Variable>) -> Self {
        let s = &SENTINELS;
        Self { with, messages: vec![style.user(s.user)], tools: Value::Null, extra, last: s.user }
    }

    /// The prompt, if it says something else than `usual`.
    fn prompt(&self, probe: &Probe<'_>, usual: Option<&PromptElsewhere>) -> Option<PromptElsewhere> {
        let Self { with, messages, tools, extra, last } = self;
        let after = probe.render(messages, tools, true, extra).ok()?;
        let end_of = |text: &str| text.rfind(last).map(|at| text[at + last.len()..].to_owned());
        let tail = end_of(&after)?;
        let own_text = after.split_once(SENTINELS.user).map_or("", |(own, _)| own).to_owned();
        if usual.is_some_and(|usual| usual.prompt.tail == tail && usual.own_text == own_text) {
            return None;
        }
        let before = probe.render(messages, tools, false, extra).ok()?;
        let text = end_of(&before).and_then(|end| tail.strip_prefix(&end).map(str::to_owned)).unwrap_or_default();
        Some(PromptElsewhere { with: with.clone(), prompt: Prompt { switch: None, text, tail }, own_text })
    }
}

/// A value with which a variable takes effect.
pub(super) fn value_of(name: &str) -> Value {
    match name {
        "documents" => json!([{"title": SENTINELS.word, "text": SENTINELS.word}]),
        _ => true.into(),
    }
}

/// Conversations with more than one message, or with more than messages.
fn conversations(probe: &Probe<'_>, style: Style, calls: Option<&CallTurns>) -> Vec<Conversation> {
    let s = &SENTINELS;
    let alone = |with: &str| Conversation::alone(style, with.to_owned(), Vec::new());
    let answer = AssistantMessage::content(s.content).message(style);
    let exchange = vec![style.user(s.user), answer];
    let last = vec![style.user(s.user2)];
    let system = json!({"role": "system", "content": style.content(s.word)});
    let offered = tools_for(&[Call::probe(0), Call::probe(1)]);
    let mut all = vec![
        Conversation { tools: offered.clone(), ..alone("with tools") },
        Conversation { messages: vec![system, style.user(s.user)], ..alone("with a system message") },
        Conversation {
            messages: [exchange.clone(), last.clone()].concat(),
            last: s.user2,
            ..alone("of several turns")
        },
        Conversation {
            messages: [exchange.clone(), exchange, last].concat(),
            last: s.user2,
            ..alone("of several turns")
        },
    ];
    if probe.variables.contains("documents") {
        let extra = vec![("documents".to_owned(), value_of("documents"))];
        all.push(Conversation { extra, ..alone("with documents") });
    }
    if let Some(calls) = calls {
        let call = AssistantMessage::calls(&[Call::probe(0)]).message(calls.style);
        let result = json!({"role": "tool", "tool_call_id": s.ids[0], "name": s.functions[0],
                            "content": calls.style.content(s.word)});
        let messages = vec![calls.style.user(s.user), call, result];
        let (tools, extra) = (calls.style.offer(offered), calls.extra.clone());
        all.push(Conversation { messages, tools, extra, last: s.word, ..alone("after a result") });
    }
    all
}

/// One message, with each value that the template compares a variable with, and with each text that it looks for in the message.
fn values(probe: &Probe<'_>, style: Style, switches: &[String]) -> Vec<Conversation> {
    let user = || vec![style.user(SENTINELS.user)];
    let mut all = Vec::new();
    probe.look(&probe.context(user(), &Value::Null, true, &[]));
    for name in switches {
        // A template may ask whether the variable is set, or is a text, first.
        for value in [Value::from(true), SENTINELS.word.into()] {
            probe.look(&probe.context(user(), &Value::Null, true, &[(name.clone(), value)]));
        }
        let values = probe.sought(name).into_iter().filter(|value| value != SENTINELS.word);
        all.extend(values.take(MOST_VALUES).map(|value| {
            let with = format!("with `{name}` = {value:?}");
            Conversation::alone(style, with, vec![(name.clone(), value.into())])
        }));
    }
    let is_word = |text: &String| !text.trim().is_empty() && !text.starts_with(['<', '{', '[']) && text.len() <= 40;
    let texts = probe.sought("messages[0].content").into_iter().filter(is_word).take(MOST_VALUES);
    all.extend(texts.map(|text| {
        let messages = vec![style.user(&format!("{} {text}", SENTINELS.user))];
        Conversation { messages, ..Conversation::alone(style, format!("after a message with {text:?}"), Vec::new()) }
    }));
    all
}
