//! Random formats in which a turn is several messages, each with a header.

use unjinja_spec::{ContentMode, FormatSpec, GenerationPrompt, MarkerKey, ReasoningMode, StartsIn, ToolFormat};

use crate::behaviour::{Behaviour, FIELDS, History, Messages};
use crate::marker::{Alphabet, Markers};
use crate::names::name_again;
use crate::{tagged, tools};

/// Draws everything between the beginning and the end of a turn.
pub fn draw(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    match markers.rng().below(4) {
        0 => addressed(markers, spec, behaviour),
        1 => by_role(markers, spec, behaviour),
        2 => by_channel(markers, spec, behaviour),
        _ => in_lines(markers, spec, behaviour),
    }
    let reasoning = &mut spec.reasoning;
    if reasoning.start.is_empty() || markers.rng().one_in(4) {
        (reasoning.start, reasoning.end) = (String::new(), String::new());
    } else {
        reasoning.mode = ReasoningMode::TagBased;
        reasoning.field = markers.rng().pick(&FIELDS).to_owned();
        behaviour.history = markers.rng().pick(&[History::Always, History::AfterLastUser]);
    }
}

/// What formats call the user and the assistant.
const ROLES: [(&str, &str); 3] = [("user", "assistant"), ("user", "model"), ("human", "gpt")];

/// An alphabet of tags.
fn tags(markers: &mut Markers<'_>) -> Alphabet {
    match markers.tags() {
        Alphabet::Tilde => Alphabet::Pipe,
        other => other,
    }
}

/// Headers such as `<|x|>assistant`, of which all of a turn share the first part, with which the prompt ends. Returns what begins each
/// message but the first one.
fn headers(
    spec: &mut FormatSpec,
    behaviour: &mut Behaviour,
    roles: (&str, &str),
    [open, next, text, over]: [&str; 4],
) -> String {
    let header = format!("{open}{}", roles.1);
    let step = format!("{next}{header}");
    spec.turn.user_start = format!("{open}{}{text}", roles.0);
    spec.turn.assistant_start.clone_from(&header);
    spec.turn.end = over.to_owned();
    behaviour.user_end = over.to_owned();
    behaviour.system_start = format!("{open}system{text}");
    spec.generation_prompt = vec![GenerationPrompt { thinking: None, text: header, starts_in: StartsIn::Content }];
    spec.reasoning.end.clone_from(&step);
    spec.content.mode = ContentMode::AlwaysWrapped;
    // Only an answer before a call has an end of its own.
    spec.alternatives.insert(MarkerKey::ContentEnd, vec![step.clone()]);
    step
}

/// The header says whom a message is for: `<|x|>assistant to=self<|y|>`.
fn addressed(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    behaviour.messages = Messages::Addressed;
    let alphabet = tags(markers);
    let [open, next, text, over] = std::array::from_fn(|_| markers.single(alphabet));
    let roles = markers.rng().pick(&ROLES);
    let to = markers.rng().pick(&[" to=", " recipient=", " -> "]);
    let own = markers.rng().pick(&["self", "thoughts", "notes"]);
    let step = headers(spec, behaviour, roles, [&open, &next, &text, &over]);
    spec.reasoning.start = format!("{to}{own}{text}");
    spec.content.start = format!("{to}{}{text}", roles.0);
    let tools = &mut spec.tools;
    if markers.rng().coin() {
        tools.format = ToolFormat::TagWithJson;
        tools::accepted(markers, tools, behaviour);
    } else {
        tools.format = ToolFormat::TagWithTagged;
        tagged::arguments(markers, tools, behaviour);
    }
    tools.per_call_start = to.to_owned();
    tools.function.name_suffix = text;
    if tools.format == ToolFormat::TagWithTagged || markers.rng().coin() {
        name_again(markers, tools);
    }
    tools.separator = step;
}

/// The role says what a message is: `<|x|>assistant/notes`. The calls are one list for the functions, and the token after the last
/// message says who is next.
fn by_role(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    behaviour.messages = Messages::ByRole;
    let alphabet = tags(markers);
    let (open, close) = markers.pair(alphabet);
    let [over, wait] = std::array::from_fn(|_| format!("{}\n", markers.single(alphabet)));
    let roles = markers.rng().pick(&ROLES);
    let notes = markers.rng().pick(&["/notes", "/thoughts", ":private"]);
    let calls = markers.rng().pick(&[" -> function/call", " to functions", "/calls"]);
    let turn = &mut spec.turn;
    turn.user_start = format!("{open}{}\n", roles.0);
    turn.end = over;
    behaviour.user_end = format!("{close}\n");
    behaviour.system_start = format!("{open}system\n");
    let header = format!("{open}{}", roles.1);
    spec.generation_prompt =
        vec![GenerationPrompt { thinking: None, text: header.clone(), starts_in: StartsIn::Marker }];
    spec.reasoning.start = format!("{header}{notes}\n");
    spec.reasoning.end = format!("{close}\n");
    spec.content.mode = ContentMode::AlwaysWrapped;
    spec.content.start = format!("{header}\n");
    spec.content.end.clone_from(&close);
    let tools = &mut spec.tools;
    tools.format = ToolFormat::JsonNative;
    tools.tools_array_wrapped = true;
    behaviour.lead = "\n".to_owned();
    tools.section_start = format!("\n{header}{calls}\n");
    tools.section_end = format!("{close}{wait}");
    tools::json_object(markers, tools, behaviour);
}

/// The header names a channel: `<|x|>assistant<|y|>final<|z|>`. An answer before a call is on another channel than an answer alone.
fn by_channel(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    behaviour.messages = Messages::ByChannel;
    let alphabet = tags(markers);
    let [open, next, channel, text, over] = std::array::from_fn(|_| markers.single(alphabet));
    let roles = markers.rng().pick(&ROLES);
    let (own, answers, calls) = markers.rng().pick(&[
        ("analysis", "final", "commentary"),
        ("notes", "reply", "tools"),
        ("plan", "text", "work"),
    ]);
    let to = markers.rng().pick(&[" to=functions.", " to=", " -> "]);
    let step = headers(spec, behaviour, roles, [&open, &next, &text, &over]);
    spec.reasoning.start = format!("{channel}{own}{text}");
    spec.content.start = format!("{channel}{answers}{text}");
    spec.alternatives.insert(MarkerKey::ContentStart, vec![format!("{channel}{calls}{text}")]);
    let tools = &mut spec.tools;
    tools.format = ToolFormat::TagWithJson;
    tools::accepted(markers, tools, behaviour);
    tools.per_call_start = format!("{channel}{calls}{to}");
    tools.function.name_suffix = text;
    tools.separator = step;
}

/// The header has a line for the role and one for the recipient, and the prompt ends before the recipient.
fn in_lines(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    behaviour.messages = Messages::InLines;
    let alphabet = tags(markers);
    let [by, to, text, over] = std::array::from_fn(|_| markers.single(alphabet));
    let roles = markers.rng().pick(&ROLES);
    let all = markers.rng().pick(&["all", "everyone"]);
    let header = |role: &str| format!("{by}{role}\n{to}");
    let turn = &mut spec.turn;
    turn.user_start = format!("{}{all}\n{text}", header(roles.0));
    turn.end = format!("{over}\n");
    behaviour.user_end = "\n".to_owned();
    behaviour.system_start = format!("{}{all}\n{text}", header("system"));
    let own = header(roles.1);
    spec.generation_prompt = vec![GenerationPrompt { thinking: None, text: own.clone(), starts_in: StartsIn::Marker }];
    spec.content.mode = ContentMode::AlwaysWrapped;
    spec.content.start = format!("{own}{all}\n{text}");
    let tools = &mut spec.tools;
    tools.format = ToolFormat::TagWithJson;
    tools::accepted(markers, tools, behaviour);
    behaviour.lead = "\n".to_owned();
    tools.per_call_start = format!("\n{own}");
    tools.function.name_suffix = format!("\n{text}");
    tools.separator = "\n".to_owned();
}
