use super::forms::value;
use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a missing type",
    written: "A tag with the name of an argument lacks its type, or has it without quotes: the schema of the tool says it.",
    read: "The schema of the tool says the type.",
    diagnostic: None,
    case: "typed_parameters: a tag without its type",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let arguments = &spec.tools.arguments;
    let own = if spec.tools.format == ToolFormat::CallExpression {
        return;
    } else if !arguments.type_prefix.trim().is_empty() {
        type_after_name(spec, "string")
    } else if !arguments.other_name_suffix.is_empty() {
        arguments.name_suffix.clone()
    } else {
        return;
    };
    let Some(ends) = ends(spec, &own) else { return };
    turn.also(&[PlanPart::AfterKey], vec![value(spec, by_schema(spec), ends.clone())]);
}

/// What follows the name of an argument in a tag that lacks its type, or has it without quotes.
fn ends(spec: &Source<'_>, own: &str) -> Option<Expr> {
    let after = MarkerText::new(own).after.to_owned();
    let end = |core: &String| {
        Expr::from(Literal { after: after.clone(), ..tolerated(MarkerKey::ArgumentNameSuffix, core, Role::Inner) })
    };
    let ends = without_attribute(own)?;
    let [_, other] = without_attribute(spec.marker(MarkerKey::OtherNameSuffix)).unwrap_or_default();
    Some(Expr::Choice(ends.iter().chain(Some(&other).filter(|other| !other.is_empty())).map(end).collect()))
}

/// The rest of a tag after a name in quotes, if an attribute comes next: without that attribute, and with its value without quotes.
fn without_attribute(suffix: &str) -> Option<[String; 2]> {
    let core = MarkerText::new(suffix).core;
    let quote = ['"', '\''].into_iter().find(|quote| core.starts_with(*quote))?;
    let rest = &core[1..];
    let (name, value) = rest.trim_start().split_once('=')?;
    let is_attribute = rest.starts_with(' ') && !name.is_empty() && name.chars().all(char::is_alphanumeric);
    let (value, end) = value.strip_prefix(quote)?.split_once(quote)?;
    is_attribute.then(|| [format!("{quote}{end}"), format!("{quote} {name}={value}{end}")])
}
