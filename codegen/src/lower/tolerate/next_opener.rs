use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another opener for a name",
    written: "Another call opens with a special token where the name of a call was to come: that call is abandoned.",
    read: "Broken markup, up to there.",
    diagnostic: Some("abandoned_call"),
    case: "args_marker: another call opens where a name was to come",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let abandoned = |opener: Literal| {
        let opener = Literal { peek: true, role: Role::Inner, ..opener };
        Expr::sequence([Expr::from(opener), Expr::Action(Action::Unparsed)])
    };
    let openers = || openers(spec).into_iter().filter(|opener| is_special(&opener.core)).map(abandoned);
    turn.also(&[PlanPart::AfterName], openers().collect());
}
