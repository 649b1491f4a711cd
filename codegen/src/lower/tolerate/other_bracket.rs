use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another bracket",
    written: "Other brackets are around the arguments of a call expression that a special token announces.",
    read: "As the usual brackets. Only an offered name makes a call, if any was offered.",
    diagnostic: None,
    case: "quote_tokens: round brackets",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if !spec.is_announced() || spec.tools.format != ToolFormat::CallExpression {
        return;
    }
    let places = [
        (PlanPart::NameEnd, MarkerKey::FunctionNameSuffix, ["(", "{", "["]),
        (PlanPart::FunctionEnd, MarkerKey::FunctionClose, [")", "}", "]"]),
    ];
    for (place, key, brackets) in places {
        let core = spec.marker(key).trim();
        if !brackets.contains(&core) {
            continue;
        }
        // What follows the call may be a bracket, too.
        let follows = |bracket: &str| {
            [MarkerKey::CallEnd, MarkerKey::SectionEnd].iter().any(|key| spec.marker(*key).trim().starts_with(bracket))
        };
        let others = || brackets.iter().filter(|bracket| **bracket != core && !follows(bracket));
        turn.also(&[place], others().map(|bracket| part(key, bracket)).collect());
    }
}
