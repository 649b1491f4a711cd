use super::forms::value;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a key in quotes",
    written: "The name of an argument in a call expression is in quotes.",
    read: "That argument.",
    diagnostic: None,
    case: "python_calls: names in quotes",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    // Where any text may be between quotes, a name in quotes could be a part of it.
    let has_prefix = !spec.tools.arguments.name_prefix.trim().is_empty();
    if spec.tools.format != ToolFormat::CallExpression || has_prefix {
        return;
    }
    let quoted = |quote: &str| {
        let begin = part(MarkerKey::ArgumentsPunctuation, quote);
        let ends = ["=", ":"].map(|sign| part(MarkerKey::ArgumentNameSuffix, &[quote, sign].concat()));
        Expr::sequence([begin, hole(Hole::ArgumentName), value(spec, literal_kind(spec), Expr::Choice(ends.into()))])
    };
    let token = spec.tools.arguments.quote.trim();
    let quotes = || ["\"", "'"].into_iter().chain(Some(token).filter(|token| is_special(token)));
    turn.also(&[PlanPart::Argument], quotes().map(quoted).collect());
}
