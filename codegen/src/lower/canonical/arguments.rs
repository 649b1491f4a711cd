//! Arguments that are written one by one, each with its name and its value.

use std::borrow::Cow;

use unjinja_runtime::abi::{Action, ArgumentKind, Hole, NameOf, Nesting, RepeatedName};
use unjinja_spec::{MarkerKey, MarkerText, ToolFormat};

use super::build::{confirmed, hole, line_break, literal, marker, seen_ahead};
use super::source::Source;
use crate::plan::{Expr, Literal, PlanPart, Role};

const CDATA: (&str, &str) = ("<![CDATA[", "]]>");

/// The JSON types that a template writes next to a value that is not a string.
const OTHER_TYPES: [&str; 6] = ["number", "integer", "boolean", "object", "array", "null"];

/// What may come after a value that nothing closes.
const AFTER_VALUE: [MarkerKey; 4] =
    [MarkerKey::ArgumentSeparator, MarkerKey::ArgumentsEnd, MarkerKey::FunctionClose, MarkerKey::CallEnd];

/// One argument: its name and its value.
pub(super) fn argument(spec: &Source<'_>) -> Expr {
    let prefix = marker(spec, MarkerKey::ArgumentNamePrefix, Role::Inner);
    Expr::sequence([prefix, hole(Hole::ArgumentName), after_name(spec).named(PlanPart::AfterKey)])
}

/// The rest of an argument, after its name.
fn after_name(spec: &Source<'_>) -> Expr {
    let arguments = &spec.tools.arguments;
    let inner = |key| marker(spec, key, Role::Inner);
    let (text, other) = if spec.tools.format == ToolFormat::CallExpression {
        return value(spec, literal_kind(spec), inner(MarkerKey::ArgumentNameSuffix));
    } else if !arguments.type_prefix.trim().is_empty() {
        (types(spec, &["string"]), types(spec, &OTHER_TYPES))
    } else if arguments.other_name_suffix.is_empty() {
        return value(spec, by_schema(spec), inner(MarkerKey::ArgumentNameSuffix));
    } else {
        (inner(MarkerKey::ArgumentNameSuffix), inner(MarkerKey::OtherNameSuffix))
    };
    let other_kind = ArgumentKind::Other { python: spec.tools.uses_python_dicts };
    Expr::choice([value(spec, ArgumentKind::Text, text), value(spec, other_kind, other)])
}

/// How the values of a call expression are read.
pub(in crate::lower) fn literal_kind(spec: &Source<'_>) -> ArgumentKind {
    let arguments = &spec.tools.arguments;
    // With nothing between two arguments, a number ends where the next name begins.
    let apart = [&arguments.separator, &arguments.value_suffix, &arguments.name_prefix, &arguments.quote];
    let tight = apart.iter().all(|text| text.trim().is_empty());
    if tight { ArgumentKind::TightLiteral } else { ArgumentKind::Literal }
}

/// How values are read whose type only the schema of the tool says.
pub(in crate::lower) fn by_schema(spec: &Source<'_>) -> ArgumentKind {
    let python = spec.tools.uses_python_dicts;
    // In a call expression, values without a closer are written like literals by most models.
    match is_unclosed(spec) && begins_with_name(spec) {
        true => ArgumentKind::Quotable { python },
        false => ArgumentKind::BySchema { python },
    }
}

/// The value of an argument: all that follows the name, from the marker `end` on.
pub(in crate::lower) fn value(spec: &Source<'_>, kind: ArgumentKind, end_of_name: Expr) -> Expr {
    let arguments = &spec.tools.arguments;
    let (mut begin, mut end) = (Action::Argument(kind), Action::EndArgument);
    if let (ArgumentKind::BySchema { python }, true) = (kind, arguments.nested) {
        let nesting = nesting(spec, python);
        begin = Action::NestedArgument(nesting.clone().into());
        end = Action::EndNestedArgument(nesting.into());
    }
    let (reads, part) = match kind {
        ArgumentKind::Literal | ArgumentKind::TightLiteral => {
            (Hole::Literal(arguments.quote.clone().into()), PlanPart::LiteralEnd)
        }
        _ => (Hole::Value, PlanPart::ValueEnd),
    };
    let closer = || value_end(spec, part);
    let closed = Expr::choice([confirmed(closer())]).named(part);
    let plain = Expr::sequence([hole(reads.clone()), Expr::Action(end.clone()), closed]);
    let read = if arguments.cdata && part == PlanPart::ValueEnd {
        let bracket = |text| Expr::from(literal(MarkerKey::ArgumentsPunctuation, MarkerText::new(text), Role::Inner));
        let (open, close) = (bracket(CDATA.0), confirmed(bracket(CDATA.1)));
        Expr::choice([Expr::sequence([open, hole(reads), Expr::Action(end), close, closer()]), plain])
    } else {
        plain
    };
    let prefix = marker(spec, MarkerKey::ArgumentValuePrefix, Role::Inner).named(PlanPart::ValueStart);
    Expr::sequence([Expr::Action(begin), end_of_name.named(PlanPart::KeyEnd), prefix, read])
}

/// What closes a value.
fn value_end(spec: &Source<'_>, part: PlanPart) -> Expr {
    let next_ends = part == PlanPart::ValueEnd && begins_with_name(spec);
    match (closer(spec), end_of_line(spec)) {
        (Some(closer), _) => Expr::from(closer),
        (None, Some(end)) if next_ends => Expr::from(end),
        (None, None) if next_ends && is_unclosed(spec) => seen_ahead(spec, &AFTER_VALUE),
        (None, _) => marker(spec, MarkerKey::ArgumentValueSuffix, Role::Inner),
    }
}

/// The texts with one of these types between an argument's name and its value.
fn types(spec: &Source<'_>, names: &[&str]) -> Expr {
    let text = |name: &&str| {
        let text = type_after_name(spec, name);
        Expr::from(literal(MarkerKey::ArgumentTypePrefix, MarkerText::new(&text), Role::Inner))
    };
    Expr::Choice(names.iter().map(text).collect())
}

/// The text between an argument's name and its value with this type.
pub(in crate::lower) fn type_after_name(spec: &Source<'_>, name: &str) -> String {
    let arguments = &spec.tools.arguments;
    [&arguments.type_prefix, name, &arguments.type_suffix].concat()
}

/// Whether an argument's name begins with the name itself: no marker announces it.
pub(in crate::lower) fn begins_with_name(spec: &Source<'_>) -> bool {
    let arguments = &spec.tools.arguments;
    let (name, closer) = (&arguments.name_prefix, &arguments.close_prefix);
    spec.tools.format == ToolFormat::TagWithTagged && [name, closer].iter().all(|text| text.trim().is_empty())
}

/// The line break at which a value ends, in formats that write each argument on lines of its own.
fn end_of_line(spec: &Source<'_>) -> Option<Literal> {
    let arguments = &spec.tools.arguments;
    let lines = arguments.separator.trim().is_empty() && !arguments.cdata;
    let end = line_break(spec, MarkerKey::ArgumentValueSuffix).filter(|_| lines)?;
    Some(Literal { named_next: true, ..end })
}

/// Whether nothing closes a value: it ends at the separator or at the end of all arguments.
fn is_unclosed(spec: &Source<'_>) -> bool {
    let arguments = &spec.tools.arguments;
    !arguments.cdata && arguments.value_suffix.trim().is_empty() && !arguments.separator.trim().is_empty()
}

/// The closer that repeats the argument's name, if the format has one.
fn closer(spec: &Source<'_>) -> Option<Literal> {
    let arguments = &spec.tools.arguments;
    let (before, after) = (MarkerText::new(&arguments.close_prefix), MarkerText::new(&arguments.close_suffix));
    let core = [before.core, after.core].concat();
    let text = MarkerText { core: &core, before: before.before, after: after.after };
    let repeats = Some(RepeatedName { of: NameOf::Argument, at: before.core.len() });
    (!before.is_layout()).then(|| Literal { repeats, ..literal(MarkerKey::ArgumentClosePrefix, text, Role::Inner) })
}

fn nesting(spec: &Source<'_>, python: bool) -> Nesting {
    let arguments = &spec.tools.arguments;
    let core = |text: &str| Cow::Owned(text.trim().to_owned());
    Nesting {
        python,
        open: core(&arguments.name_prefix),
        opened: core(&arguments.name_suffix),
        close: core(&arguments.close_prefix),
        closed: core(&arguments.close_suffix),
        item: core(&arguments.item),
    }
}
