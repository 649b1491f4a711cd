use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another word in a header",
    written: "A header has a word after the recipient that no template writes, alone or after the token that announces such a word.",
    read: "Syntax.",
    diagnostic: None,
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let header = &spec.content.header;
    let end = MarkerText::new(&header.end).core;
    if header.recipient.trim().is_empty() || end.is_empty() {
        return;
    }
    let part = |core: &str| part(MarkerKey::FunctionNameSuffix, core);
    let word = || Expr::sequence([hole(Hole::Id), part(end)]);
    let tokens = types_of_header(spec);
    let after_token = || tokens.iter().map(|token| Expr::sequence([part(token), word()]));
    turn.change(&[PlanPart::NameEnd], &mut |own| {
        // The arguments may follow without an end of the header.
        let brace = marked(opening_brace());
        let after_blank = std::iter::once(own.clone()).chain(after_token()).chain([word(), brace]);
        let blank = Expr::sequence([part(" "), Expr::Choice(after_blank.collect())]);
        // The token may follow the channel without a blank.
        let channels = header.calls.iter().filter(|_| !tokens.is_empty()).map(|name| {
            let channel = part(&[header.channel.as_str(), name].concat());
            Expr::sequence([channel, Expr::Choice(after_token().collect())])
        });
        own.or(after_token().chain([blank]).chain(channels))
    });
}
