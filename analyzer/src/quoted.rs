//! Turns whose call quotes the template's own markers of roles, as an agent does that edits a chat template or reads about one.
//! This module makes the turns; it renders nothing.

use unjinja_spec::{Carrier, FormatSpec, MarkerKey, MarkerText, ReasoningMode, ToolFormat};

use crate::conversation::{AssistantMessage, Call};
use crate::sentinels::SENTINELS;

/// A turn for each marker around messages: one call, whose only argument has the marker between other words.
pub(crate) fn turns(spec: &FormatSpec) -> Vec<AssistantMessage> {
    if spec.tools.format == ToolFormat::None {
        return Vec::new();
    }
    // If only the end of reasoning is marked, a turn without that marker could be all answer or all reasoning.
    let must_reason = spec.reasoning.mode != ReasoningMode::None && spec.reasoning.start.trim().is_empty();
    let carrier = Carrier::of_field(&spec.reasoning.field).filter(|_| must_reason);
    let turn = |marker: &str| {
        let value = format!("It says {marker} there.");
        let turn = AssistantMessage::calls(&[Call::with(0, &[(SENTINELS.arguments[0], value.into())])]);
        match &carrier {
            Some(carrier) => turn.with_reasoning(carrier, SENTINELS.reasoning),
            None => turn,
        }
    };
    role_markers(spec).into_iter().map(turn).collect()
}

/// The texts with which the template begins and ends messages, without white space at their ends.
fn role_markers(spec: &FormatSpec) -> Vec<&str> {
    let turn = &spec.turn;
    let own = [&turn.user_start, &turn.user_end, &turn.assistant_start, &turn.end];
    let others = spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten();
    let tokens = spec.tokens.eos.iter().chain(&spec.tokens.other);
    let mut markers: Vec<&str> = Vec::new();
    for text in own.into_iter().chain(others).chain(tokens) {
        let core = MarkerText::new(text).core;
        if !core.is_empty() && !markers.contains(&core) {
            markers.push(core);
        }
    }
    markers
}

#[cfg(test)]
mod tests {
    use unjinja_spec::TemplateInfo;

    use super::*;

    #[test]
    fn each_marker_of_a_role_is_quoted_once() {
        let mut spec = FormatSpec::new(TemplateInfo::default());
        assert!(turns(&spec).is_empty(), "without calls nothing is quoted");
        spec.tools.format = ToolFormat::JsonNative;
        spec.turn.user_start = "[INST] ".to_owned();
        spec.turn.end = "</s>".to_owned();
        spec.tokens.eos = Some("</s>".to_owned());
        let values: Vec<String> = turns(&spec)
            .iter()
            .flat_map(|turn| &turn.calls)
            .flat_map(|call| call.arguments.values())
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect();
        assert_eq!(values, ["It says [INST] there.", "It says </s> there."]);
    }
}
