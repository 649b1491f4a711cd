use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "the start of the turn twice",
    written: "The start of the turn, or the last tag of it, is written again, perhaps after white space.",
    read: "Syntax.",
    diagnostic: None,
    case: "",
};

/// Any of it may come before the repeated start.
const BLANKS: &str = "\n\n  \n\n";

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let start = MarkerText::new(&spec.turn.assistant_start);
    let last = start.tags().pop().filter(|tag| start.core.ends_with(tag)).unwrap_or_default();
    let mut starts: Vec<Expr> = Vec::new();
    for text in [start, MarkerText::new(last)] {
        let start = mark(literal(MarkerKey::AssistantStart, text, Role::Inner));
        let start = Expr::from(Literal { before: [BLANKS, text.before].concat(), ..start });
        if !is_empty(&start) && (is_tag(&start) || is_in_words(text)) && !starts.contains(&start) {
            starts.push(start);
        }
    }
    turn.also(&[PlanPart::Sections], before_another(spec));
    if starts.is_empty() {
        return;
    }
    turn.change(&[PlanPart::Start], &mut |label| match label {
        Expr::Option(label) => label.or(starts.clone()).optional(),
        _ => Expr::Choice(starts.clone()).optional(),
    });
}

/// What opens a message or a call, or its first token, directly before the same.
fn before_another(spec: &Source<'_>) -> Vec<Expr> {
    let start = [MarkerText::new(&spec.content.header.start).core, core(spec, MarkerKey::AssistantStart)];
    let openers = spec.markers().filter(|(key, _)| OPENERS.contains(key) || *key == MarkerKey::ContentStart);
    let tags = openers.filter_map(|(_, text)| MarkerText::new(text).tags().first().copied());
    let mut cores = BTreeSet::new();
    cores.extend(start.into_iter().chain(tags).filter(|core| begins_tag(core)));
    let again = |core: &str| Literal {
        followed_by: vec![core.to_owned()],
        ..tolerated(MarkerKey::AssistantStart, core, Role::ContentWrapper)
    };
    cores.into_iter().map(|core| Expr::from(again(core))).collect()
}
