use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a token that ends a text",
    written: "A token of the vocabulary that ends a text follows the end of the turn, or any other special token that the template writes, or the header of the next message or a beginning of it.",
    read: "Syntax, if the output ends there.",
    diagnostic: None,
    case: "section_tags: a token that ends the text may follow",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let ends = ends_of_turn(spec);
    let is_end = |token: &&str| ends.iter().any(|end| matches!(end, Expr::Literal(end) if end.core == *token));
    // A model may begin the next turn with one of the other tokens: a server stops there. Where the template writes the end of the
    // turn only before the user's turn, that turn begins with it.
    let header = MarkerText::new(&spec.turn.user_start);
    let user = header.tags().first().copied().filter(|_| spec.turn.end.trim().is_empty());
    let others = spec.tokens.other.iter().map(String::as_str).chain(user).filter(|token| is_special(token));
    let others = ends_of_text(spec).into_iter().chain(others);
    let others = others.filter(|_| !ends.is_empty() || spec.tools.format != ToolFormat::None);
    let mut tokens = BTreeSet::new();
    tokens.extend(others.chain(next_headers(spec)).filter(|token| !is_end(token)));
    if tokens.is_empty() {
        return;
    }
    let tail = |token: &str| {
        let mut tail = tolerated(MarkerKey::TurnEnd, token, Role::TurnEnd);
        // What the user's header begins with may be all of it, which shows that more follows.
        tail.confirm = header.core.starts_with(token);
        tail
    };
    let in_words = user_in_words(spec).map(|header| header.core);
    let tails = tokens.into_iter().map(|token| match in_words == Some(token) {
        true => Expr::from(on_its_line(spec, tail(token))),
        false => Expr::from(tail(token)),
    });
    let tails = Expr::Choice(tails.collect()).optional();
    turn.follow(&[PlanPart::End], tails);
}

/// The headers with which the next message may begin, and their beginnings. One that is a token alone is among the other tokens.
fn next_headers<'s>(spec: &'s Source<'_>) -> impl Iterator<Item = &'s str> {
    let headers = [&spec.turn.assistant_start, &spec.turn.user_start].map(|text| MarkerText::new(text));
    let is_header = |header: &MarkerText<'_>| is_special(header.core) && !is_one_tag(header.core);
    let begins = headers.into_iter().filter(is_header).flat_map(MarkerText::beginnings);
    // With the user's header the turn is over, and more may follow.
    let user = MarkerText::new(&spec.turn.user_start).core;
    begins.filter(move |begin| *begin != user).chain(user_in_words(spec).map(|header| header.core))
}
