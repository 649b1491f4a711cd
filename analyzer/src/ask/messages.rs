//! The questions about how messages are handed over: what the template takes beyond a single turn. They start from the style
//! that shows an answer and a call.

use serde_json::{Map, Value, json};
use unjinja_render::RenderError;
use unjinja_spec::{
    CallIdForm, CallIdPosition, Carrier, ContentWithCalls, EmptyContent, FormatSpec, Messages, ReasoningMode,
    SystemPlace,
};

use super::call_turns::{CallTurns, shows_call};
use crate::conversation::{AssistantMessage, Call, Style, tools_for};
use crate::observed::MessagePart;
use crate::probe::{Probe, Variable};
use crate::sentinels::SENTINELS;

/// An id as the API of OpenAI makes it.
const FREE_ID: &str = "call_Jx9QmZ0vTgRk3WbLyPd7Hf2A";

/// Asks how messages have to be handed over. `system` says whether the template renders a system message at all.
pub(super) fn messages(probe: &Probe<'_>, style: Style, calls: Option<&CallTurns>, system: bool) -> Messages {
    let mut needs = Messages { functions: probe.functions(), ..style.needs };
    needs.system = system_place(probe, style, system);
    let Some(calls) = calls else { return needs };
    needs.arguments = calls.style.needs.arguments;
    let asked = Asked { probe, style: calls.style, extra: &calls.extra };
    let (empty, ids) = asked.call_and_result().unwrap_or_else(|| {
        let empty = if calls.style.word { EmptyContent::Empty } else { calls.style.needs.content_of_calls };
        (empty, calls.style.needs.ids)
    });
    (needs.content_of_calls, needs.ids) = (empty, ids);
    needs.result_name = asked.reads_name(needs);
    needs
}

/// Where a system message may be: a later one is lost, or refused, by many templates.
fn system_place(probe: &Probe<'_>, style: Style, system: bool) -> SystemPlace {
    if !system {
        return SystemPlace::Nowhere;
    }
    let s = &SENTINELS;
    let said = |role: &str, text: &str| json!({"role": role, "content": style.content(text)});
    // Two of them: some templates keep the last one only.
    let first = said("system", s.reasoning);
    let talk =
        [first.clone(), style.user(s.user), said("assistant", s.word), said("system", s.content), style.user(s.user)];
    let render = |messages: &[Value]| probe.render(messages, &Value::Null, true, &[]);
    let without = [first, talk[1].clone(), talk[2].clone(), talk[4].clone()];
    let shows = |text: &String| text.contains(s.content) && text.contains(s.reasoning);
    if render(&without).is_err() || render(&talk).as_ref().is_ok_and(shows) {
        return SystemPlace::Anywhere;
    }
    SystemPlace::First
}

/// A template that renders calls, and the way in which it does.
struct Asked<'a, 't> {
    probe: &'a Probe<'t>,
    style: Style,
    extra: &'a [Variable],
}

impl Asked<'_, '_> {
    /// The content and the ids with which a call and its result are rendered. Of several contents, the one that writes least:
    /// some templates write a second, empty turn for an empty content, and others the word of a null.
    fn call_and_result(&self) -> Option<(EmptyContent, CallIdForm)> {
        let all = match self.style.needs.ids {
            CallIdForm::Any => [CallIdForm::Any, CallIdForm::Nine, CallIdForm::Named].to_vec(),
            other => vec![other],
        };
        all.into_iter().find_map(|ids| {
            let shown = |empty| self.length((empty, ids)).map(|length| (length, (empty, ids)));
            // The first of equals. No content at all is for templates that take neither of the others.
            let least = [EmptyContent::Empty, EmptyContent::Null].into_iter().filter_map(shown);
            let (_, way) = least.min_by_key(|(length, _)| *length).or_else(|| shown(EmptyContent::Absent))?;
            self.conversation(self.needs(way), true).is_ok().then_some(way)
        })
    }

    fn needs(&self, (content_of_calls, ids): (EmptyContent, CallIdForm)) -> Messages {
        Messages { content_of_calls, ids, ..self.style.needs }
    }

    /// The length of a turn with a call, if it shows the call.
    fn length(&self, way: (EmptyContent, CallIdForm)) -> Option<usize> {
        let style = Style { needs: self.needs(way), word: false, ..self.style };
        let turn = self.probe.turn(&call_with(way.1), style, self.extra).ok()?;
        shows_call(&turn, 0).then_some(turn.text.len())
    }

    /// Whether the name in the message with a result changes the render.
    fn reads_name(&self, needs: Messages) -> bool {
        self.conversation(needs, true).is_ok_and(|with| self.conversation(needs, false).ok() != Some(with))
    }

    /// A call, its result, and the prompt for the next turn.
    fn conversation(&self, needs: Messages, named: bool) -> Result<String, RenderError> {
        let style = Style { needs, word: false, ..self.style };
        let turn = call_with(needs.ids);
        let handed = turn.message(style);
        let id = &handed["tool_calls"][0]["id"];
        let mut result = json!({"role": "tool", "tool_call_id": id, "content": style.content(SENTINELS.content)});
        if named {
            result["name"] = turn.calls[0].name.as_str().into();
        }
        let offered = style.offer(tools_for(&turn.calls));
        self.probe.render(&[style.user(SENTINELS.user), handed, result], &offered, true, self.extra)
    }
}

/// What can be asked only when it is known how reasoning and calls are written.
pub(crate) fn with_format(probe: &Probe<'_>, calls: Option<&CallTurns>, spec: &FormatSpec) -> Messages {
    let mut needs = spec.messages;
    let Some(calls) = calls else {
        needs.calls_in_content = true;
        return needs;
    };
    let (start, end) = (&spec.reasoning.start, &spec.reasoning.end);
    if spec.reasoning.field.is_empty() && !end.trim().is_empty() {
        let carrier = Carrier::Tags(start.clone(), end.clone());
        let message = AssistantMessage::calls(&[Call::probe(0)]).with_reasoning(&carrier, SENTINELS.reasoning);
        let needs_now = Messages { reasoning_with_calls: true, ..calls.style.needs };
        let turn = probe.turn(&message, Style { needs: needs_now, ..calls.style }, &calls.extra);
        // A template may drop it, or write an empty block of its own before it.
        needs.reasoning_with_calls = turn.is_ok_and(|turn| {
            let once = turn.text.matches(end.trim()).count() == 1;
            once && shows_call(&turn, 0) && turn.first(MessagePart::Reasoning).is_some()
        });
    }
    // The template makes the ids of calls, and results have those of their messages.
    if needs.ids == CallIdForm::Any && spec.tools.call_id.position == CallIdPosition::InName {
        let asked = Asked { probe, style: calls.style, extra: &calls.extra };
        if asked.conversation(needs, true).is_ok_and(|text| text.contains(FREE_ID)) {
            needs.ids = CallIdForm::Named;
        }
    }
    let turns = Turns { probe, calls, spec };
    needs.one_call = calls.two.is_none() && turns.shows_two(Messages { one_call: true, ..needs });
    let thinks = !spec.reasoning.field.is_empty();
    if !calls.style.word && turns.with_content(needs, thinks) != Some(true) {
        // One of them alone is taken.
        let excludes = thinks && turns.with_content(needs, false) == Some(true);
        let in_reasoning = excludes.then_some(ContentWithCalls::InReasoning);
        // A template that loses later ones only writes the first one as the model does.
        let is_lost = !turns.shows_beside(needs);
        let others = [Some(ContentWithCalls::Apart), in_reasoning, is_lost.then_some(ContentWithCalls::Joined)];
        let mut ways = others.into_iter().flatten().map(|content_with_calls| Messages { content_with_calls, ..needs });
        needs = ways.find(|way| turns.with_content(*way, thinks) == Some(true)).unwrap_or(needs);
    }
    needs.drops_reasoning = turns.drop_reasoning(needs);
    needs
}

/// Turns with calls that are handed over as a spec says.
struct Turns<'a, 't> {
    probe: &'a Probe<'t>,
    calls: &'a CallTurns,
    spec: &'a FormatSpec,
}

impl Turns<'_, '_> {
    /// Whether two calls of one message are shown, and their results.
    fn shows_two(&self, needs: Messages) -> bool {
        let results = SENTINELS.unsorted[0];
        let turn = [self.message("", "", &[0, 1]), self.result(0, results[0]), self.result(1, results[1])];
        let [a, b] = [0, 1].map(|number| [SENTINELS.values[number], results[number]]);
        self.rendered(needs, turn.to_vec())
            .is_some_and(|text| [a, b].as_flattened().iter().all(|word| text.contains(word)))
    }

    /// Whether the content of a single turn with a call is shown.
    fn shows_beside(&self, needs: Messages) -> bool {
        let turn = vec![self.message("", SENTINELS.content, &[0])];
        self.rendered(needs, turn).is_some_and(|text| text.contains(SENTINELS.content))
    }

    /// Whether content and a call of one turn are shown, after a call with reasoning; and reasoning beside them, if the turn `thinks`.
    /// Whether the conversation can go on. `None` if it is refused.
    fn with_content(&self, needs: Messages, thinks: bool) -> Option<bool> {
        let s = &SENTINELS;
        let reasoned = [(s.reasoning, !self.spec.reasoning.field.is_empty()), (s.unsorted[0][0], thinks)];
        let [first, second] = reasoned.map(|(text, is_there)| if is_there { text } else { "" });
        let [begun, ended] = [s.unsorted[0][1], s.unsorted[0][2]];
        let mut turn = vec![
            self.message(first, "", &[0]),
            self.result(0, begun),
            self.message(second, s.content, &[1]),
            self.result(1, ended),
        ];
        let words = [first, s.values[0], begun, second, s.content, s.values[1], ended];
        let shown = self.rendered(needs, turn.clone()).map(|text| words.iter().all(|word| text.contains(word)));
        turn.extend([json!({"role": "assistant", "content": s.word}), json!({"role": "user", "content": s.user2})]);
        let goes_on = self.rendered(needs, turn)?;
        Some(shown? && [s.word, s.values[1]].iter().all(|word| goes_on.contains(word)))
    }

    /// Whether the template leaves reasoning out on purpose: it writes the content of a message before a result, and not its
    /// reasoning; or it knows reasoning by its tags, and cuts it out of an answer too.
    fn drop_reasoning(&self, needs: Messages) -> bool {
        let s = &SENTINELS;
        let reasoning = &self.spec.reasoning;
        let [begun, ended] = [s.unsorted[0][0], s.unsorted[0][1]];
        // Whichever of two texts is the reasoning.
        let texts = [[s.reasoning, s.content], [s.content, s.reasoning]];
        let drops = |calls: &[usize], rest: Vec<Value>| {
            texts.into_iter().all(|[thought, said]| {
                let turn = std::iter::once(self.message(thought, said, calls)).chain(rest.iter().cloned()).collect();
                let text = self.rendered(Messages { reasoning_with_calls: true, ..needs }, turn);
                text.is_some_and(|text| text.contains(said) && !text.contains(thought))
            })
        };
        // Some templates keep that of the last message.
        let later = vec![self.result(0, begun), self.message("", "", &[1]), self.result(1, ended)];
        let is_kept = !reasoning.field.is_empty() || needs.reasoning_with_calls;
        reasoning.mode != ReasoningMode::None && (drops(&[0], later) || (!is_kept && drops(&[], Vec::new())))
    }

    fn message(&self, reasoning: &str, content: &str, calls: &[usize]) -> Value {
        let call = |number: &usize| {
            let Call { name, id, arguments } = Call::probe(*number);
            json!({"type": "function", "id": id, "function": {"name": name, "arguments": arguments}})
        };
        let calls: Value = calls.iter().map(call).collect();
        json!({"role": "assistant", "reasoning_content": reasoning, "content": content, "tool_calls": calls})
    }

    fn result(&self, number: usize, text: &str) -> Value {
        json!({"role": "tool", "tool_call_id": SENTINELS.ids[number], "content": text})
    }

    fn rendered(&self, needs: Messages, turn: Vec<Value>) -> Option<String> {
        let mut spec = self.spec.clone();
        spec.messages = needs;
        let messages = std::iter::once(json!({"role": "user", "content": SENTINELS.user})).chain(turn).collect();
        let mut variables = Map::from_iter([("messages".to_owned(), messages)]);
        spec.hand_over(&mut variables);
        let offered = self.calls.style.offer(tools_for(&[Call::probe(0), Call::probe(1)]));
        let messages = variables["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        // Some templates write reasoning only where it is switched on.
        let switch = Some(&self.spec.reasoning.switch).filter(|switch| !switch.is_empty());
        let extra = self.calls.extra.iter().cloned().chain(switch.map(|switch| (switch.clone(), true.into())));
        self.probe.render(messages, &offered, true, &extra.collect::<Vec<_>>()).ok()
    }
}

/// A call whose id has this form. A template that takes any id must take one as the API of OpenAI makes it.
fn call_with(ids: CallIdForm) -> AssistantMessage {
    let mut call = Call::probe(0);
    if ids == CallIdForm::Any {
        call.id = FREE_ID.to_owned();
    }
    AssistantMessage::calls(&[call])
}

#[cfg(test)]
mod tests {
    use unjinja_render::Template;
    use unjinja_spec::{ContentWithCalls, EmptyContent, Messages, SystemPlace};

    use crate::analyze::{Naming, analyze};

    type Failure = Box<dyn std::error::Error>;

    const CALLS: &str = "{% for call in m.tool_calls or [] %}<call>\
        {{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}</call>{% endfor %}";

    /// What the spec says of a template that writes system messages and an assistant's message like this.
    fn messages(system: &str, assistant: &str) -> Result<Messages, Failure> {
        let source = format!(
            "{system}{{% for m in messages %}}{{% if m.role == 'user' %}}<|user|>{{{{ m.content }}}}\
             {{% elif m.role == 'tool' %}}<|tool|>{{{{ m.content }}}}{{% elif m.role == 'assistant' %}}{assistant}{{% endif %}}{{% endfor %}}\
             {{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        );
        let template = Template::parse("sample.jinja", &source)?;
        Ok(analyze(&template, &Naming::of_file("sample.jinja"))?.messages)
    }

    #[test]
    fn the_content_of_a_call_is_the_one_that_writes_least() -> Result<(), Failure> {
        let one_turn = |content: &str| format!("<|assistant|>{content}{CALLS}<|end|>");
        let two_turns = format!(
            "{{% if m.tool_calls %}}<|assistant|>{CALLS}<|end|>{{% endif %}}\
             {{% if m.content is not none %}}<|assistant|>{{{{ m.content }}}}<|end|>{{% endif %}}"
        );
        let refuses =
            "{% if m.tool_calls and m.content is defined %}{{ raise_exception('No content here.') }}{% endif %}";
        let cases = [
            ("a second turn", two_turns, EmptyContent::Null),
            ("the word None", one_turn("{{ m.content }}"), EmptyContent::Empty),
            ("nothing", one_turn("{{ m.content or '' }}"), EmptyContent::Empty),
            ("an error", one_turn(&format!("{refuses}{{{{ m.content }}}}")), EmptyContent::Absent),
        ];
        for (what, assistant, expected) in cases {
            assert_eq!(messages("", &assistant)?.content_of_calls, expected, "{what}");
        }
        Ok(())
    }

    #[test]
    fn turns_with_calls_are_asked_for_the_shape_that_is_taken() -> Result<(), Failure> {
        let thinks = "<|assistant|>{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}";
        let both = "{% if m.tool_calls and m.content and m.thinking %}{{ raise_exception('Not both.') }}{% endif %}";
        let alone = "{% if not (loop.last or m.tool_calls) and messages[loop.index].role == 'assistant' %}\
            {{ raise_exception('Not two.') }}{% endif %}";
        let two = "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('One.') }}{% endif %}";
        let once = "{% set said = messages[:loop.index0] | rejectattr('role', 'equalto', 'tool') | rejectattr('tool_calls', 'defined') | list %}\
            {% if not m.tool_calls and said and said[-1].role == m.role %}{{ raise_exception('Alternate.') }}{% endif %}";
        let usual = Messages::default();
        for (assistant, content_with_calls, one_call, calls_in_content) in [
            (format!("{thinks}{{{{ m.content }}}}{CALLS}<|end|>"), ContentWithCalls::Kept, false, false),
            (format!("{both}{thinks}{{{{ m.content }}}}{CALLS}<|end|>"), ContentWithCalls::Apart, false, false),
            (
                format!("{both}{alone}{thinks}{{{{ m.content }}}}{CALLS}<|end|>"),
                ContentWithCalls::InReasoning,
                false,
                false,
            ),
            (format!("{two}<|assistant|>{{{{ m.content }}}}{CALLS}<|end|>"), ContentWithCalls::Kept, true, false),
            (
                format!(
                    "<|assistant|>{{% if m.tool_calls %}}{CALLS}{{% else %}}{{{{ m.content }}}}{{% endif %}}<|end|>"
                ),
                ContentWithCalls::Apart,
                false,
                false,
            ),
            (
                format!(
                    "{once}<|assistant|>{{% if m.tool_calls %}}{CALLS}{{% else %}}{{{{ m.content }}}}{{% endif %}}<|end|>"
                ),
                ContentWithCalls::Joined,
                false,
                false,
            ),
            ("<|assistant|>{{ m.content }}<|end|>".to_owned(), ContentWithCalls::Kept, false, true),
        ] {
            let found = messages("", &assistant)?;
            let shape = Messages { content_with_calls, one_call, calls_in_content, ..usual };
            let found = Messages { system: usual.system, ..found };
            assert_eq!(found, shape, "{assistant}");
        }
        Ok(())
    }

    #[test]
    fn system_messages_are_lost_where_the_last_one_replaces_the_others() -> Result<(), Failure> {
        let assistant = format!("<|assistant|>{{{{ m.content or '' }}}}{CALLS}<|end|>");
        let every =
            "{% for m in messages %}{% if m.role == 'system' %}<|system|>{{ m.content }}{% endif %}{% endfor %}";
        let last = "{% set ns = namespace(text='') %}{% for m in messages %}\
             {% if m.role == 'system' %}{% set ns.text = m.content %}{% endif %}{% endfor %}<|system|>{{ ns.text }}";
        for (system, expected) in
            [(every, SystemPlace::Anywhere), (last, SystemPlace::First), ("", SystemPlace::Nowhere)]
        {
            assert_eq!(messages(system, &assistant)?.system, expected, "{system}");
        }
        Ok(())
    }
}
