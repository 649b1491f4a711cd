//! Completes an imported format with the analysis of its chat template.

use unjinja_spec::{CallIdPosition, Capabilities, ContentMode, FormatSpec, Header, MarkerKey, StartsIn};

/// An imported format with what only a chat template says, from its analysis: its name, its prompts and its tokens.
#[must_use]
pub fn completed(imported: FormatSpec, analysed: FormatSpec) -> FormatSpec {
    let mut spec = imported;
    spec.template = analysed.template;
    spec.capabilities = Capabilities {
        tool_calls: spec.capabilities.tool_calls,
        parallel_tool_calls: spec.capabilities.parallel_tool_calls,
        reasoning: spec.capabilities.reasoning,
        ..analysed.capabilities
    };
    spec.messages = analysed.messages;
    spec.generation_prompt = analysed.generation_prompt;
    spec.tokens = analysed.tokens;
    // A response template closes its content with whatever is syntax; only the chat template says what ends a turn.
    let (tools, header) = (&analysed.tools, &analysed.content.header);
    let ends = spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten();
    let closes: Vec<String> = std::iter::once(&spec.turn.end).chain(ends).cloned().collect();
    let found =
        |text: &str| closes.iter().find(|close| !text.trim().is_empty() && close.trim() == text.trim()).cloned();
    for (own, analysed) in
        [(&mut spec.tools.section_end, &tools.section_end), (&mut spec.tools.separator, &tools.separator)]
    {
        if let Some(text) = found(analysed).filter(|_| own.trim().is_empty()) {
            *own = text;
        }
    }
    let is_syntax = |text: &String| {
        let wraps = [&analysed.content.start, &analysed.content.end, &analysed.reasoning.empty];
        let others = [&tools.section_end, &tools.separator, &header.start];
        let is_rest = analysed.turn.end.trim().strip_suffix(text.trim()).is_some();
        is_rest || wraps.into_iter().chain(others).any(|other| other.trim() == text.trim())
    };
    if let Some(ends) = spec.alternatives.get_mut(&MarkerKey::TurnEnd) {
        ends.retain(|text| !is_syntax(text));
        if ends.is_empty() {
            spec.alternatives.remove(&MarkerKey::TurnEnd);
        }
    }
    if spec.content.mode == ContentMode::Plain || analysed.content.header != Header::default() {
        spec.content = analysed.content;
    }
    // What a prompt writes is no marker of the model.
    let opens = spec.reasoning.start.trim();
    let is_prompted = spec.generation_prompt.iter().any(|prompt| {
        prompt.starts_in == StartsIn::Reasoning && !opens.is_empty() && prompt.text.trim_end().ends_with(opens)
    });
    if is_prompted && analysed.reasoning.start.trim().is_empty() {
        spec.reasoning.start = analysed.reasoning.start;
    }
    // An id of a name and a number begins where only the chat template says.
    let (own, id) = (&mut spec.tools.call_id, tools.call_id.clone());
    if (own.position, id.position) == (CallIdPosition::InName, CallIdPosition::InName)
        && let Some(start) = spec.tools.per_call_start.strip_suffix(id.prefix.as_str())
    {
        spec.tools.per_call_start = start.to_owned();
        own.prefix = id.prefix;
    }
    spec.turn = analysed.turn;
    spec.reasoning.empty = analysed.reasoning.empty;
    spec.reasoning.field = analysed.reasoning.field;
    spec.reasoning.switch = analysed.reasoning.switch;
    spec.tokens.preserved = spec.preserved_tokens();
    spec
}
