use super::forms::marker;
use super::prelude::*;
use crate::lower::canonical::build::symbol;

/// How a Python dict begins, if it is not JSON.
const BEGIN_DICT: [&str; 2] = ["{'", "{ '"];

pub(super) const RULE: Rule = Rule {
    name: "braces and fences around JSON",
    written: "Braces too many, and code fences, are around JSON; a call that is written as JSON is a Python dict; several objects are in one tag.",
    read: "Braces and closers are broken markup, fences are syntax, objects are calls.",
    diagnostic: Some("stray_marker"),
    case: "hermes: braces too many after a call",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    turn.change(&[PlanPart::Json], &mut |json| Expr::sequence([fence(spec), json, after_json(spec, true)]));
    if spec.tools.format != ToolFormat::JsonNative {
        return;
    }
    let is_marked = !is_bare(spec);
    let start = marker(spec, MarkerKey::CallStart, Role::CallOpen);
    turn.change(&[PlanPart::Objects], &mut |calls| match calls {
        Expr::Sequence(items) if !spec.tools.tools_array_wrapped => {
            Expr::sequence([fence(spec), several(items, is_tag(&start))])
        }
        other => Expr::sequence([fence(spec), other]),
    });
    turn.follow(&[PlanPart::ListEnd], after_json(spec, is_marked));
    turn.change(&[PlanPart::Object], &mut |_| object(spec, is_marked));
}

/// Several objects after one opener, in a list, or one after the other if each has an opener of its own.
fn several(items: Vec<Expr>, is_tagged: bool) -> Expr {
    let Some((object, end)) = items.split_first() else { return Expr::empty() };
    // Not marked yet: grammars allow a list too.
    let symbol = |core| symbol(core, Role::Inner);
    let next = symbol(",").or(is_tagged.then(|| marked(opening_brace())));
    let more = vec![Expr::Action(Action::EndCall), Expr::Action(Action::Speculate), next, object.clone()];
    let close = symbol("]").named(PlanPart::ListEnd).optional();
    let list = vec![symbol("[").optional(), object.clone(), Expr::Sequence(more).repeated(), close];
    Expr::Sequence([list, end.to_vec()].concat())
}

/// A call as one JSON object or as a Python dict, whichever of the two the template writes.
fn object(spec: &Source<'_>, is_marked: bool) -> Expr {
    let object =
        |shape: CallShape| Expr::sequence([hole(Hole::Object(shape.into())), after_json(spec, is_marked)]);
    let shape = shape(spec);
    // A Python dict may be JSON anyway.
    if shape.python || !is_marked {
        return object(shape);
    }
    let begins = BEGIN_DICT.map(|core| ahead(MarkerKey::CallPunctuation, core));
    let dict = object(CallShape { python: true, ..shape.clone() });
    let own = Expr::choice([Expr::sequence([Expr::Choice(begins.into()), dict]), object(shape)]);
    // A brace too many before the object.
    let brace =
        Literal { followed_by: vec!["{".to_owned()], ..tolerated(MarkerKey::CallPunctuation, "{", Role::Inner) };
    Expr::sequence([Expr::from(brace).optional(), own])
}
