use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a call that breaks off",
    written: "A call breaks off. Up to the next closer or opener of a call, or the header of another message, all of it is broken markup.",
    read: "Broken markup, up to there.",
    diagnostic: Some("abandoned_call"),
    case: "section_tags: another call is never swallowed",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    if spec.tools.format == ToolFormat::None {
        return;
    }
    let keys = [MarkerKey::FunctionClose, MarkerKey::ArgumentsEnd, MarkerKey::CallEnd, MarkerKey::SectionEnd];
    let mut openers = openers(spec);
    for key in [MarkerKey::ReasoningStart, MarkerKey::ContentStart, MarkerKey::CallStart] {
        for text in std::iter::once(spec.marker(key)).chain(spec.headers(key)) {
            let header = tolerated(key, MarkerText::new(text).core, Role::Broken);
            if is_special(&header.core) && openers.iter().all(|other| other.core != header.core) {
                openers.push(header);
            }
        }
    }
    // Nothing leads here: a parser goes to this place where it gives up a call.
    let rest = up_to(openers, tags(spec, &keys), HoleRole::BrokenCall);
    let broken = Expr::sequence([rest, leftovers(spec)]);
    turn.also(&[PlanPart::Sections], vec![broken]);
}
