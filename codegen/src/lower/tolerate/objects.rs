use super::forms::marker;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "objects in a tag",
    written: "A call is a JSON object, or several are in a list, directly after the marker that opens a call in another form.",
    read: "A call.",
    diagnostic: None,
    case: "quote_tokens: a JSON object in place of a call expression",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if spec.tools.format == ToolFormat::JsonNative {
        return;
    }
    turn.change(&[PlanPart::Opened], &mut |opened| match opened {
        Expr::Sequence(mut items) if items.len() == 2 => {
            let (call, opener) = (items.pop(), items.pop());
            or_objects(spec, opener.unwrap_or_else(Expr::empty), call.unwrap_or_else(Expr::empty))
        }
        other => other,
    });
}

/// A call that opens with `opener`, continued by `call`. If that opener is one tag or token, objects may follow it.
fn or_objects(spec: &Source<'_>, opener: Expr, call: Expr) -> Expr {
    // Where a call ends as it begins, what follows a tag does not tell which of the two it is.
    let closes = |core: &str| spec.marker(MarkerKey::CallEnd).contains(core);
    let is_whole = |literal: &Literal| {
        // The bracket may be that of a list.
        let core = literal.core.strip_suffix('[').unwrap_or(&literal.core);
        is_one_tag(core) && !closes(core)
    };
    match opener {
        Expr::Part(_, opener) => or_objects(spec, *opener, call),
        Expr::Choice(forms) => {
            Expr::Choice(forms.into_iter().map(|form| or_objects(spec, form, call.clone())).collect())
        }
        Expr::Literal(literal) if is_whole(&literal) => after(spec, *literal, call),
        Expr::Sequence(items) => match items.split_first() {
            Some((Expr::Literal(literal), others)) if is_whole(literal) => {
                after(spec, (**literal).clone(), Expr::Sequence([others, &[call]].concat()))
            }
            _ => Expr::Sequence([items, vec![call]].concat()),
        },
        other => Expr::sequence([other, call]),
    }
}

/// What may follow one tag or token.
fn after(spec: &Source<'_>, literal: Literal, call: Expr) -> Expr {
    let whole = MarkerText::new(spec.marker(literal.key));
    // A token without its words may come before the marker with them.
    let with_words = Literal { after: whole.after.to_owned(), ..tolerated(literal.key, whole.core, Role::Inner) };
    let with_words = (literal.rule.is_some() && whole.core.starts_with(&literal.core))
        .then(|| Expr::sequence([Expr::from(with_words), call.clone()]));
    let calls = call.or(std::iter::once(objects(spec)).chain(with_words));
    Expr::sequence([Expr::from(literal), calls.named(PlanPart::AfterTag)])
}

/// Calls as JSON objects in a format that writes them otherwise.
fn objects(spec: &Source<'_>) -> Expr {
    let symbol =
        |core, peek| Expr::from(Literal { peek, ..tolerated(MarkerKey::CallPunctuation, core, Role::Inner) });
    let object = || Expr::sequence([hole(Hole::Object(CallShape::USUAL.into())), after_json(spec, false)]);
    let next = vec![
        Expr::Action(Action::EndCall),
        Expr::Action(Action::Speculate),
        symbol(",", false).optional(),
        symbol("{", true),
        object(),
    ];
    Expr::sequence([
        symbol("[", false).optional(),
        symbol("{", true),
        object(),
        Expr::Sequence(next).repeated(),
        symbol("]", false).optional(),
        end_of_call(marker(spec, MarkerKey::CallEnd, Role::Inner)),
    ])
}
