//! The questions about what a template can render at all.

use serde_json::{Value, json};
use unjinja_render::RenderError;
use unjinja_spec::{ArgumentsForm, Capabilities, ContentForm, EmptyContent};

use super::call_turns::{CallTurns, shows_call};
use crate::conversation::{AssistantMessage, Call, Style, tools_for};
use crate::probe::Probe;
use crate::sentinels::SENTINELS;

pub(crate) struct Ability {
    /// The key of the spec.
    pub key: &'static str,
    /// What was rendered, in words.
    pub what: String,
    pub text: Result<String, RenderError>,
    pub holds: bool,
}

pub(super) fn abilities(probe: &Probe<'_>, style: Style, calls: Option<&CallTurns>) -> Vec<Ability> {
    let s = &SENTINELS;
    let user = style.user(s.user);
    let mut found = Vec::new();
    let mut shows = |key, what: &str, messages: &[Value], tools: &Value, holds: &dyn Fn(&str) -> bool| {
        let text = probe.render(messages, tools, true, &[]);
        let holds = text.as_ref().is_ok_and(|text| holds(text));
        found.push(Ability { key, what: what.to_owned(), text, holds });
    };
    let offered = tools_for(&[Call::probe(0)]);
    shows("tools", "tools that are offered", std::slice::from_ref(&user), &offered, &|t| t.contains(s.functions[0]));
    let system = json!({"role": "system", "content": style.content(s.content)});
    shows("system_role", "a system message", &[system, user], &Value::Null, &|text| text.contains(s.content));
    let parts = style.with_content(ContentForm::Parts).user(s.user);
    let prints_list = |text: &str| text.contains("'type'") || text.contains("\"type\"");
    shows("typed_content", "content as a list of typed parts", &[parts], &Value::Null, &|text| {
        text.contains(s.user) && !prints_list(text)
    });
    let Some(calls) = calls else { return found };
    let one = AssistantMessage::calls(&[Call::probe(0)]);
    for (key, arguments) in [("object_arguments", ArgumentsForm::Object), ("string_arguments", ArgumentsForm::Text)] {
        let usual = calls.style.with_arguments(arguments);
        for style in [usual, usual.with_empty(EmptyContent::Empty), usual.with_empty(EmptyContent::Null)] {
            let turn = probe.turn(&one, style, &calls.extra);
            let holds = turn.as_ref().is_ok_and(|turn| shows_call(turn, 0));
            found.push(Ability { key, what: style.words(), text: turn.map(|turn| turn.text), holds });
            if holds {
                break;
            }
        }
    }
    found
}

/// The capabilities of a spec, from the answers.
pub(crate) fn capabilities(abilities: &[Ability], calls: Option<&CallTurns>, reasoning: bool) -> Capabilities {
    let can = |key: &str| abilities.iter().any(|ability| ability.key == key && ability.holds);
    Capabilities {
        tools: can("tools"),
        tool_calls: calls.is_some(),
        parallel_tool_calls: calls.is_some_and(|calls| calls.two.is_some()),
        system_role: can("system_role"),
        typed_content: can("typed_content"),
        object_arguments: can("object_arguments"),
        string_arguments: can("string_arguments"),
        reasoning,
        requires_nonnull_content: calls.is_some_and(CallTurns::refuses_null),
    }
}
