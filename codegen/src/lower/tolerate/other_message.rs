use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a header that no template writes",
    written: "A message has a channel or a sender that no template writes, or its recipient comes first.",
    read: "With a recipient that was offered, a call. Without one, the header is broken markup, and text follows.",
    diagnostic: Some("special_token"),
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let Some(named) = turn.find(PlanPart::Named).cloned() else { return };
    let call = |rest: Expr, answer: Expr| {
        let mut call = by_name(&named, Some(Action::StartRecipient), &|_| Expr::empty());
        call.change(&[PlanPart::NameEnd], &mut |_| rest.clone());
        match call {
            Expr::Sequence(mut items) => {
                let after = items.pop().unwrap_or_else(Expr::empty);
                items.push(after.or([answer]));
                Expr::Sequence(items)
            }
            other => other,
        }
    };
    let Some(message) = message(spec, &call) else { return };
    turn.also(&[PlanPart::Calls], vec![message]);
}

/// With a recipient, `call` reads on from its name up to what ends the header, or to the channel of the answer, which has no
/// recipient. Without one, the header is broken markup, and text follows.
fn message(spec: &Source<'_>, call: &dyn Fn(Expr, Expr) -> Expr) -> Option<Expr> {
    let header = &spec.content.header;
    let end = MarkerText::new(&header.end).core;
    let (to, namespace) = recipient(spec).filter(|_| !end.is_empty())?;
    let part = |core: &str| part(MarkerKey::CallStart, core);
    let word = |rest: Expr| Expr::sequence([hole(Hole::Id), rest]);
    let types = types_of_header(spec);
    let after_token = |token: &&str, rest: Expr| Expr::sequence([part(token), word(rest)]);
    // What may come after a word, up to the end of the header, which does this.
    let rest = |then: &Expr, with_recipient: Option<Expr>| {
        let closes = || Expr::sequence([part(end), then.clone()]);
        let more = || types.iter().map(|token| after_token(token, closes()));
        let after_blank = more().chain([word(closes())]).chain(with_recipient);
        let blank = Expr::sequence([part(" "), Expr::Choice(after_blank.collect())]);
        Expr::Choice(more().chain([closes(), blank]).collect())
    };
    let to = |role| Literal { before: " ".to_owned(), ..tolerated(MarkerKey::CallStart, to.trim(), role) };
    let channels = begins_of_headers(spec);
    // Directly after a recipient's name, only a token continues the header.
    let tokens = channels.iter().map(|token| after_token(token, rest(&Expr::empty(), None)));
    let tokens = tokens.chain(types.iter().map(|token| after_token(token, part(end)))).chain([part(end)]);
    let is_broken = Expr::Action(Action::OtherToken);
    let answers = header.answers.iter().filter(|name| !header.calls.contains(name));
    let answers: Vec<String> = answers.map(|name| [header.channel.as_str(), name].concat()).collect();
    let answer = |core: &String| Expr::sequence([part(core), rest(&is_broken, None)]);
    let call = call(Expr::Choice(tokens.collect()), Expr::Choice(answers.iter().map(answer).collect()));
    let named = |role| Expr::sequence([Expr::from(to(role)), part(namespace).optional(), call.clone()]);
    let broken = rest(&is_broken, Some(named(Role::Inner)));
    let opener = |core: &str| Expr::from(tolerated(MarkerKey::CallStart, core, Role::CallOpen));
    let to_somebody = |core: &String| {
        Expr::sequence([opener(core), Expr::from(to(Role::Inner)), word(rest(&is_broken, None))])
    };
    let openers = channels.iter().map(|token| opener(token)).collect();
    let message = Expr::sequence([Expr::Choice(openers), word(broken)]);
    let at_start = Expr::from(Literal { in_text: InText::Text, ..to(Role::CallOpen) });
    let to_call = Expr::sequence([at_start, call.clone()]);
    let first = Expr::Choice(answers.iter().map(to_somebody).chain([message, to_call]).collect());
    Some(Expr::sequence([Expr::Action(Action::Speculate), first]))
}
