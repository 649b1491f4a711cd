//! Writes a template that renders the format of a drawn spec.

use unjinja_spec::{ContentMode, MarkerKey, ReasoningMode, ToolFormat};

use crate::behaviour::{Absent, History, Messages, PARTS};
use crate::calls;
use crate::draw::Drawn;
use crate::node::{Join, Layout, Node, either, print, text, when};
use crate::written::alternative;

/// The template of a drawn spec.
pub fn template(drawn: &Drawn) -> String {
    let mut nodes = Vec::new();
    if drawn.style.comments && drawn.style.layout != Layout::Line {
        nodes.push(Node::Do("set note = 'drawn by unjinja'".to_owned()));
    }
    if drawn.behaviour.bos {
        nodes.push(Node::Words("bos_token".to_owned()));
    }
    nodes.extend(listing(drawn));
    let m = drawn.style.message;
    let role = drawn.style.get(m, "role");
    let last = drawn.behaviour.history == History::AfterLastUser;
    if last {
        nodes.push(Node::Do("set asked = namespace(last=-1)".to_owned()));
        let found = vec![when(format!("{role} == 'user'"), vec![Node::Do("set asked.last = position".to_owned())])];
        nodes.push(messages(m, true, found));
    }
    nodes.push(messages(m, last, roles(drawn)));
    nodes.extend(prompt(drawn));
    print(&nodes, &drawn.style)
}

fn messages(var: &str, counted: bool, body: Vec<Node>) -> Node {
    Node::For {
        var: var.to_owned(),
        of: "messages".to_owned(),
        index: counted.then(|| "position".to_owned()),
        separator: String::new(),
        body,
    }
}

/// The tools offered, in a system turn of their own.
fn listing(drawn: &Drawn) -> Vec<Node> {
    if !drawn.spec.capabilities.tools {
        return Vec::new();
    }
    let mut body = vec![text(format!("{}You may call these:\n", drawn.behaviour.system_start))];
    if drawn.style.macros {
        body.push(Node::For {
            var: "tool".to_owned(),
            of: "tools".to_owned(),
            index: None,
            separator: "\n".to_owned(),
            body: vec![Node::Words("tool | tojson".to_owned())],
        });
    } else {
        body.push(Node::Words("tools | tojson".to_owned()));
    }
    if drawn.behaviour.shows_example {
        let tools = &drawn.spec.tools;
        body.push(text(format!(
            "\nWrite a call between {} and {}.",
            format!("{}{}", tools.section_start, tools.per_call_start).trim(),
            format!("{}{}", tools.per_call_end, tools.section_end).trim()
        )));
    }
    body.push(text(&drawn.behaviour.user_end));
    vec![when("tools", body)]
}

/// What is written for each role.
fn roles(drawn: &Drawn) -> Vec<Node> {
    let (spec, behaviour, style) = (&drawn.spec, &drawn.behaviour, &drawn.style);
    let m = style.message;
    let role = style.get(m, "role");
    let content = style.get(m, "content");
    let said = if spec.capabilities.typed_content {
        Node::Words(format!("{content} if {content} is string else {content} | map(attribute='text') | join"))
    } else {
        Node::Words(content)
    };
    let system = if spec.capabilities.system_role {
        vec![text(&behaviour.system_start), said.clone(), text(&behaviour.user_end)]
    } else {
        vec![Node::Value(format!("raise_exception({})", style.literal("No system messages.")))]
    };
    let user = vec![text(&spec.turn.user_start), said.clone(), text(&behaviour.user_end)];
    let tool = vec![text(&behaviour.system_start), text("Result: "), said, text(&behaviour.user_end)];
    let shown = if behaviour.history == History::AfterLastUser { "position > asked.last" } else { "true" };
    let assistant = vec![Node::Part {
        name: "assistant_turn".to_owned(),
        parameters: vec![("turn".to_owned(), m.to_owned()), ("shown".to_owned(), shown.to_owned())],
        recursive: false,
        body: assistant(drawn),
    }];
    let is = |name: &str| format!("{role} == {}", style.literal(name));
    let branches = vec![(is("system"), system), (is("user"), user), (is("assistant"), assistant), (is("tool"), tool)];
    if style.separate_roles {
        branches.into_iter().map(|(condition, body)| when(condition, body)).collect()
    } else {
        vec![Node::If(branches, Vec::new())]
    }
}

/// An assistant's turn.
fn assistant(drawn: &Drawn) -> Vec<Node> {
    let (spec, behaviour, style) = (&drawn.spec, &drawn.behaviour, &drawn.style);
    let mut nodes = vec![text(&spec.turn.assistant_start)];
    let content = style.get("turn", "content");
    let calls = style.get("turn", "tool_calls");
    let reasoning = &spec.reasoning;
    let parts = reasoning.field == PARTS;
    if parts {
        nodes.extend(held(drawn, &content));
    }
    let thinks = reasoning.mode != ReasoningMode::None && !reasoning.field.is_empty();
    let mut has_thought = String::from("false");
    if behaviour.label_first {
        let said = if parts { "held.said" } else { &*content };
        nodes.push(when(format!("tools and {said}"), vec![text(&spec.content.label)]));
    }
    if thinks {
        let thought = if parts { "held.thought".to_owned() } else { style.get("turn", &reasoning.field) };
        has_thought = thought.clone();
        if behaviour.history == History::AfterLastUser {
            has_thought = format!("shown and {has_thought}");
        }
        if reasoning.mode == ReasoningMode::ToolsOnly {
            has_thought = format!("{calls} and {has_thought}");
        }
        let block = vec![text(&reasoning.start), Node::Words(thought), text(&reasoning.end)];
        let absent = absent(drawn);
        let absent = if absent.is_empty() { Vec::new() } else { vec![text(absent)] };
        nodes.push(either(has_thought.clone(), block, absent));
    }
    let said = if behaviour.history == History::Never {
        let end = style.literal(reasoning.end.trim());
        nodes.push(Node::Do(format!("set said = {content} or ''")));
        let cut = format!("set said = said.split({end})[-1].lstrip('\\n')");
        nodes.push(when(format!("{end} in said"), vec![Node::Do(cut)]));
        "said".to_owned()
    } else if parts {
        "held.said".to_owned()
    } else {
        content
    };
    if !spec.content.label.is_empty() && !behaviour.label_first {
        let first = if thinks { format!(" and not ({has_thought})") } else { String::new() };
        nodes.push(when(format!("tools and {said}{first}"), vec![text(&spec.content.label)]));
    }
    let answer = answer(drawn, &said, &has_thought, &calls);
    let end = text(&spec.turn.end);
    let end = match behaviour.messages {
        Messages::ByRole => when(format!("not {calls}"), vec![end]),
        _ => end,
    };
    if !spec.content.after_calls {
        nodes.push(answer.clone());
    }
    if spec.tools.format != ToolFormat::None {
        let mut body = Vec::new();
        if !behaviour.lead.is_empty() {
            body.push(when(said.clone(), vec![text(&behaviour.lead)]));
        }
        body.extend(calls::calls(drawn, &calls));
        nodes.push(when(calls, vec![Node::Block("written".to_owned(), body)]));
    }
    if spec.content.after_calls {
        nodes.push(answer);
    }
    nodes.push(end);
    nodes
}

/// Divides the parts of a content into reasoning and answer.
fn held(drawn: &Drawn, content: &str) -> Vec<Node> {
    let style = &drawn.style;
    let set = |field: &str, value: &str| Node::Do(format!("set held.{field} = {value}"));
    let part = either(
        format!("{} == 'thinking'", style.get("part", "type")),
        vec![set("thought", &style.get("part", "thinking"))],
        vec![set("said", &style.get("part", "text"))],
    );
    let parts = Node::For {
        var: "part".to_owned(),
        of: format!("{content} or []"),
        index: None,
        separator: String::new(),
        body: vec![part],
    };
    vec![
        Node::Do("set held = namespace(thought='', said='')".to_owned()),
        either(format!("{content} is string"), vec![set("said", content)], vec![parts]),
    ]
}

/// What is written in a turn without reasoning.
pub fn absent(drawn: &Drawn) -> String {
    let reasoning = &drawn.spec.reasoning;
    match drawn.behaviour.absent {
        Absent::Nothing => String::new(),
        Absent::EmptyBlock => format!("{}{}", reasoning.start, reasoning.end),
        Absent::Closed => reasoning.end.clone(),
    }
}

fn answer(drawn: &Drawn, said: &str, has_thought: &str, has_calls: &str) -> Node {
    let content = &drawn.spec.content;
    let value = Node::Words(if drawn.behaviour.trims { format!("{said} | trim") } else { said.to_owned() });
    if drawn.behaviour.prints_null {
        return Node::Value(said.to_owned());
    }
    // An answer before a call may have markers of its own.
    let marker = |key| match alternative(&drawn.spec, key) {
        Some(other) => either(has_calls, vec![text(other)], vec![text(drawn.spec.marker(key))]),
        None => text(drawn.spec.marker(key)),
    };
    let wrapped = vec![marker(MarkerKey::ContentStart), value.clone(), marker(MarkerKey::ContentEnd)];
    match content.mode {
        ContentMode::Plain => when(said, vec![value]),
        ContentMode::AlwaysWrapped => when(said, wrapped),
        ContentMode::WrappedWithReasoning => when(said, vec![either(has_thought, wrapped, vec![value])]),
        ContentMode::WrappedWithCalls if drawn.behaviour.empty_wrapper => {
            let inside = vec![text(&content.start), when(said, vec![value.clone()]), text(&content.end)];
            either(has_calls, inside, vec![when(said, vec![value])])
        }
        ContentMode::WrappedWithCalls => when(said, vec![either(has_calls, wrapped, vec![value])]),
    }
}

/// What the generation prompt is.
fn prompt(drawn: &Drawn) -> Vec<Node> {
    let (spec, style) = (&drawn.spec, &drawn.style);
    let of = |thinking: Option<bool>| {
        spec.generation_prompt.iter().find(|p| p.thinking == thinking).map(|prompt| prompt.text.as_str())
    };
    let Some(unset) = of(None).filter(|_| spec.generation_prompt.iter().any(|p| !p.text.is_empty())) else {
        return Vec::new();
    };
    let switch = &spec.reasoning.switch;
    let start = spec.turn.assistant_start.as_str();
    let rest = |text: &str| text.strip_prefix(start).unwrap_or(text).to_owned();
    let body = match (of(Some(true)), of(Some(false))) {
        (Some(on), Some(off)) => {
            let (condition, then, otherwise) = if unset == on {
                let is_off = match style.join {
                    Join::Apart => format!("{switch} is defined and not {switch}"),
                    Join::Tilde => format!("{switch} is defined and {switch} is false"),
                    Join::Plus => format!("not ({switch} | default(true))"),
                };
                (is_off, off, on)
            } else {
                let is_on = match style.join {
                    Join::Apart => switch.clone(),
                    Join::Tilde => format!("{switch} is defined and {switch} is true"),
                    Join::Plus => format!("{switch} | default(false)"),
                };
                (is_on, on, off)
            };
            let otherwise = rest(otherwise);
            let otherwise = if otherwise.is_empty() { Vec::new() } else { vec![text(otherwise)] };
            let then = rest(then);
            let choice = if then.is_empty() {
                when(format!("not ({condition})"), otherwise)
            } else {
                either(condition, vec![text(then)], otherwise)
            };
            vec![text(start), choice]
        }
        _ => vec![text(unset)],
    };
    vec![when("add_generation_prompt", body)]
}
