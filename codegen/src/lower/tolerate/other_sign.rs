use super::prelude::*;

/// How a literal begins, in JSON or in Python: as a string, a list, an object, a number, or a word.
const BEGIN_LITERALS: [&str; 21] = [
    "\"", "'", "[", "{", "-", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "true", "false", "null", "True",
    "False", "None",
];

pub(super) const RULE: Rule = Rule {
    name: "a colon for an equals sign",
    written: "An equals sign is in place of the colon before a literal, or a colon in place of the equals sign.",
    read: "The same argument.",
    diagnostic: None,
    case: "quote_tokens: an equals sign for the colon",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let other = match spec.tools.arguments.name_suffix.trim() {
        ":" if spec.tools.format == ToolFormat::CallExpression => "=",
        "=" if spec.tools.format == ToolFormat::CallExpression => ":",
        _ => return,
    };
    turn.also(&[PlanPart::KeyEnd], vec![before_literal(other, &spec.tools.arguments.quote)]);
}

/// A sign that the template does not write, where a literal follows.
pub(super) fn before_literal(sign: &str, quote: &str) -> Expr {
    let sign = Literal { confirm: true, ..tolerated(MarkerKey::ArgumentNameSuffix, sign, Role::Inner) };
    let quotes = std::iter::once(quote).filter(|quote| !quote.is_empty() && !BEGIN_LITERALS.contains(quote));
    let literals = quotes.chain(BEGIN_LITERALS).map(|text| ahead(MarkerKey::ArgumentsPunctuation, text)).collect();
    Expr::sequence([Expr::from(sign), Expr::Choice(literals)])
}
