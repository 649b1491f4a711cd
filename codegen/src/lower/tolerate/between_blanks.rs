use super::missing_value_closer::without_closer;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a value between blanks",
    written: "A value is between blanks, where the template puts it on lines of its own.",
    read: "The blanks do not belong to it.",
    diagnostic: None,
    case: "xml_parameters: a value between blanks",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let arguments = &spec.tools.arguments;
    let (opener, closer) = (MarkerText::new(&arguments.name_suffix), MarkerText::new(&arguments.value_suffix));
    let begins_line = [opener.after, &arguments.value_prefix].concat() == "\n";
    let on_lines = begins_line && closer.before == "\n" && begins_tag(closer.core);
    if !on_lines || arguments.nested || arguments.cdata || !spec.is_untyped() {
        return;
    }
    let closers = [format!(" {}", closer.core), closer.core.to_owned()];
    let closers = closers.iter().map(|core| confirmed(part(MarkerKey::ArgumentValueSuffix, core)));
    let unclosed = [without_closer(spec, " ")].into_iter().filter(|expr| !is_empty(expr));
    let value = Expr::sequence([
        Expr::Action(Action::Argument(by_schema(spec))),
        part(MarkerKey::ArgumentNameSuffix, &format!("{} ", opener.core)),
        hole(Hole::Value),
        Expr::Action(Action::EndArgument),
        Expr::Choice(closers.chain(unclosed).collect()),
    ]);
    turn.also(&[PlanPart::AfterKey], vec![value]);
}
