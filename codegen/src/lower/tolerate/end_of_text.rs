use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a token that ends a text",
    written: "A token of the vocabulary that ends a text follows the end of the turn, or any other special token that the template writes.",
    read: "Syntax, if the output ends there.",
    diagnostic: None,
    case: "section_tags: a token that ends the text may follow",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let ends = ends_of_turn(spec);
    if ends.is_empty() && spec.tools.format == ToolFormat::None {
        return;
    }
    let is_end = |token: &&str| ends.iter().any(|end| matches!(end, Expr::Literal(end) if end.core == *token));
    // A model may begin the next turn with one of the other tokens: a server stops there. Where the template writes the end of the
    // turn only before the user's turn, that turn begins with it.
    let user =
        MarkerText::new(&spec.turn.user_start).tags().first().copied().filter(|_| spec.turn.end.trim().is_empty());
    let others = spec.tokens.other.iter().map(String::as_str).chain(user).filter(|token| is_special(token));
    let tokens: BTreeSet<&str> = ends_of_text(spec).into_iter().chain(others).filter(|token| !is_end(token)).collect();
    let tails = tokens.into_iter().map(|token| Expr::from(tolerated(MarkerKey::TurnEnd, token, Role::TurnEnd)));
    let tails = Expr::Choice(tails.collect()).optional();
    turn.follow(&[PlanPart::End], tails);
}
