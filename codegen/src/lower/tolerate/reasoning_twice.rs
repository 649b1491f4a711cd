use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the opener of reasoning twice",
    written: "The opener of reasoning is written again although the prompt or the model itself has just written it, with the start of the turn or without.",
    read: "Syntax.",
    diagnostic: None,
    case: "qwen3: the opener of reasoning is repeated",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let again = openers(spec);
    if !again.is_empty() {
        let again = Expr::Choice(again).repeated();
        turn.follow(&[PlanPart::ReasoningStart], again);
    }
}

fn openers(spec: &Source<'_>) -> Vec<Expr> {
    let whole = MarkerText::new(&spec.reasoning.start);
    let mut again: Vec<Expr> = Vec::new();
    let own =
        [(MarkerKey::AssistantStart, &spec.turn.assistant_start), (MarkerKey::ReasoningStart, &spec.reasoning.start)];
    let others = spec.alternatives.get(&MarkerKey::ReasoningStart).into_iter().flatten();
    for (key, text) in own.into_iter().chain(others.map(|text| (MarkerKey::ReasoningStart, text))) {
        for core in parts(text) {
            // Where this may begin another section, it is that section unless the opener follows.
            let begins = |(other, text): (MarkerKey, &str)| OPENERS.contains(&other) && text.len() > core.len() && text.starts_with(core);
            let is_other = key == MarkerKey::AssistantStart && spec.markers().any(|(other, text)| begins((other, text)));
            let followed_by = if is_other { vec![whole.core.to_owned()] } else { Vec::new() };
            let tag = Literal { after: whole.after.to_owned(), followed_by, ..tolerated(key, core, Role::Inner) };
            let tag = Expr::from(tag);
            let closes = MarkerText::new(&spec.reasoning.end).tags().contains(&core);
            if (is_tag(&tag) || is_bracketed(core)) && !closes && !again.contains(&tag) {
                again.push(tag);
            }
        }
    }
    again
}

/// Whether a marker is a name in brackets that are not a tag's, such as `◁think▷`.
fn is_bracketed(core: &str) -> bool {
    let is_bracket = |c: char| !c.is_alphanumeric() && !c.is_ascii() && !c.is_whitespace();
    core.len() >= 4 && core.starts_with(is_bracket) && core.ends_with(is_bracket) && !core.contains(char::is_whitespace)
}
