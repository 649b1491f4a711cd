use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a token that closes nothing",
    written: "The answer has a special token where it closes nothing: broken markup. What ends the turn makes all that follows broken markup too.",
    read: "Broken markup.",
    diagnostic: Some("stray_marker"),
    case: "section_tags: a stray special token is broken markup",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    stop_answer_at(turn, Role::Stray);
    let ends = ends_before_more(spec);
    let is_end = |tag: &Literal| ends.iter().any(|end| end.core == tag.core);
    // The parts of a header are not markers by themselves.
    let is_marker = |key: &MarkerKey| *key != MarkerKey::UserStart && !key.as_str().starts_with("content.header.");
    let keys: Vec<MarkerKey> = MarkerKey::ALL.iter().copied().filter(is_marker).collect();
    // A tag that is not a special token may be prose.
    let strays = tags(spec, &keys).into_iter().filter(|tag| is_special(&tag.core)).map(|tag| (tag, Action::Unparsed));
    let others = other_tokens(spec).map(|token| (token, Action::OtherToken));
    let broken = |(tag, action)| Expr::sequence([Expr::from(tag), Expr::Action(action)]);
    let strays = strays.chain(others).filter(|(tag, _)| !is_end(tag)).map(broken);
    let rest = PlanHole::text(Channel::Unparsed, Vec::new(), Openers::Any);
    let has_ends = !ends.is_empty();
    let over = Expr::Choice(ends.iter().cloned().map(Expr::from).collect());
    let end = Expr::sequence([over, Expr::Action(Action::AfterEnd), Expr::Hole(rest)]);
    let all: Vec<Expr> = strays.chain(has_ends.then_some(end)).collect();
    turn.also(&[PlanPart::Sections], all);
}
