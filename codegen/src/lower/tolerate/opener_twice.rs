use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "an opener twice",
    written: "A marker that opens a call, or all calls, comes twice.",
    read: "Syntax.",
    diagnostic: None,
    case: "hermes: the opener of a call comes twice",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    turn.change(&[PlanPart::Section], &mut |section| match section {
        Expr::Sequence(mut items) if items.len() == 2 => {
            let (calls, opener) = (items.pop(), items.pop());
            or_again(normalised(opener.unwrap_or_else(Expr::empty)), calls.unwrap_or_else(Expr::empty))
        }
        other => other,
    });
    if spec.tools.format != ToolFormat::JsonNative {
        turn.change(&[PlanPart::Opened], &mut after_tag);
        return;
    }
    turn.change(&[PlanPart::Opened], &mut |opened| match opened {
        Expr::Sequence(items) => match items.split_first() {
            Some((start, call)) => Expr::sequence([start.clone(), after(start, call.to_vec())]),
            None => Expr::Sequence(items),
        },
        other => other,
    });
}

/// What follows each tag that the template writes.
fn after_tag(opened: Expr) -> Expr {
    match opened {
        Expr::Choice(forms) => Expr::Choice(forms.into_iter().map(after_tag).collect()),
        Expr::Sequence(items) => match items.as_slice() {
            [Expr::Literal(literal), calls @ Expr::Part(PlanPart::AfterTag, _)] if literal.rule.is_none() => {
                Expr::sequence([Expr::Literal(literal.clone()), again(literal, calls.clone())])
            }
            _ => Expr::Sequence(items),
        },
        other => other,
    }
}

/// What follows an opener that is one tag.
fn after(start: &Expr, call: Vec<Expr>) -> Expr {
    match normalised(start.clone()) {
        Expr::Literal(opener) if is_tag(start) => again(&opener, Expr::Sequence(call)),
        _ => Expr::Sequence(call),
    }
}

/// All calls after their opener, which a model may write twice if it is one tag.
fn or_again(opener: Expr, calls: Expr) -> Expr {
    match opener {
        Expr::Literal(literal) if is_one_tag(&literal.core) => {
            let calls = again(&literal, calls);
            Expr::sequence([Expr::Literal(literal), calls])
        }
        Expr::Choice(forms) => Expr::Choice(forms.into_iter().map(|form| or_again(form, calls.clone())).collect()),
        other => Expr::sequence([other, calls]),
    }
}

/// What follows the marker that opens a call. If it comes a third time, no call opens before it.
fn again(opener: &Literal, call: Expr) -> Expr {
    let layout = opener.after.clone();
    let second = Literal { after: layout, ..tolerated(opener.key, &opener.core, Role::Inner) };
    let third = Literal { peek: true, after: String::new(), ..second.clone() };
    let abandoned = Expr::sequence([Expr::from(third), Expr::Action(Action::Unparsed)]);
    let after = Expr::choice([call.clone(), abandoned]);
    call.or([Expr::sequence([Expr::from(second), after])])
}
