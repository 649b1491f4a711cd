use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "text after a call",
    written: "Text is between calls, or between the arguments and their closer, and the closers are special tokens.",
    read: "Broken markup, if a closer follows within 256 bytes. If not, content.",
    diagnostic: Some("unexpected_text"),
    case: "section_tags: text between calls and after arguments is broken markup",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let text = text(spec, &[MarkerKey::CallEnd, MarkerKey::SectionEnd]);
    let end = || Expr::Action(Action::EndCall);
    turn.change(&[PlanPart::CallEnd], &mut |own| {
        let closer = match &own {
            Expr::Sequence(items) => items.first().cloned(),
            _ => None,
        };
        let Some(closer) = closer.filter(|closer| !is_empty(closer) && !is_empty(&text)) else { return own };
        let after = Expr::sequence([text.clone(), closer.clone()]).optional();
        // If the closer is missing, text may come.
        let closer = closer.find(PlanPart::Closer).cloned().unwrap_or(closer);
        Expr::choice([Expr::sequence([closer, end()]), Expr::sequence([end(), after])])
    });
    let between = self::text(spec, &[MarkerKey::SectionEnd]);
    if !is_empty(&between) {
        turn.follow(&[PlanPart::Call], between.optional());
    }
}

/// Text where only one of these closers or another call may follow. Up to one of them, it is broken markup.
fn text(spec: &Source<'_>, closers: &[MarkerKey]) -> Expr {
    let special = |literals: Vec<Literal>| -> Vec<Literal> {
        literals.into_iter().filter(|literal| is_special(&literal.core)).collect()
    };
    let closers = special(tags(spec, closers));
    // Without a marker before it, the next call is what may come.
    let before_call = [MarkerKey::CallSeparator, MarkerKey::CallStart, MarkerKey::FunctionNamePrefix];
    let next_is_marked = before_call.iter().any(|key| !spec.marker(*key).trim().is_empty());
    if closers.is_empty() || !next_is_marked {
        return Expr::empty();
    }
    let text = up_to(special(openers(spec)), closers, HoleRole::InOrder);
    Expr::sequence([Expr::Action(Action::HoldBack).tolerated(), text])
}
