use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the closer of reasoning again",
    written: "The closer of reasoning comes before anything else that the answer has: at the end of a line, or before a call or the closer itself.",
    read: "Syntax.",
    diagnostic: None,
    case: "qwen3: the closer of reasoning comes again",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let text = MarkerText::new(&spec.reasoning.end);
    if text.tags() != [text.core] || is_special(text.core) || spec.reasoning.start.trim() == text.core {
        return;
    }
    let again = Literal {
        before: text.before.to_owned(),
        in_text: InText::Text,
        ..tolerated(MarkerKey::ReasoningEnd, text.core, Role::Stray)
    };
    let rest = text.after.strip_prefix('\n').unwrap_or_default();
    let line = Literal { core: [text.core, "\n"].concat(), after: rest.to_owned(), ..again.clone() };
    let mut next = vec![text.core.to_owned()];
    next.extend(openers(spec).into_iter().map(|opener| opener.core));
    let before = Literal { followed_by: next, ..again };
    turn.also(&[PlanPart::Sections], [line, before].map(Expr::from).into());
}
