//! Arguments that are written one by one, each with its name and its value.

use std::borrow::Cow;

use unjinja_runtime::abi::{Action, ArgumentKind, Hole, NameOf, Nesting, Origin, RepeatedName, is_special_token};
use unjinja_spec::{MarkerKey, MarkerText, ToolFormat, begins_tag};

use super::build::{confirmed, hole, is_empty, is_tag, line_break, literal, marker, seen_ahead, sequence, tolerated};
use super::lenient::{own_and_others, recovered};
use super::source::Source;
use super::turn_end::ends_of_turn;
use super::variants;
use crate::plan::{Expr, Literal, Role};

const CDATA: (&str, &str) = ("<![CDATA[", "]]>");

/// How a literal begins, in JSON or in Python: as a string, a list, an object, a number, or a word.
const BEGIN_LITERALS: [&str; 21] = [
    "\"", "'", "[", "{", "-", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "true", "false", "null", "True",
    "False", "None",
];

/// The JSON types that a template writes next to a value that is not a string.
const OTHER_TYPES: [&str; 6] = ["number", "integer", "boolean", "object", "array", "null"];

/// What may come after a value that nothing closes.
const AFTER_VALUE: [MarkerKey; 4] =
    [MarkerKey::ArgumentSeparator, MarkerKey::ArgumentsEnd, MarkerKey::FunctionClose, MarkerKey::CallEnd];

/// One argument: its name and its value.
pub(super) fn argument(spec: &Source<'_>) -> Expr {
    let prefix = marker(spec, MarkerKey::ArgumentNamePrefix, Role::Inner);
    let own = sequence(vec![hole(Hole::ArgumentName), after_name(spec)]);
    // Where any text may be between quotes, a name in quotes could be a part of it.
    if spec.tools.format != ToolFormat::CallExpression || !is_empty(&prefix) {
        return sequence(vec![prefix, own]);
    }
    // A model may write the name between quotes.
    let quoted = ["\"", "'"].map(|quote| {
        let begin = Expr::Literal(tolerated(MarkerKey::ArgumentsPunctuation, quote, Role::Inner));
        let ends = ["=", ":"].map(|sign| {
            let end = [quote, sign].concat();
            Expr::Literal(tolerated(MarkerKey::ArgumentNameSuffix, &end, Role::Inner))
        });
        sequence(vec![begin, hole(Hole::ArgumentName), value(spec, literal_kind(spec), Expr::Choice(ends.into()))])
    });
    Expr::Choice([vec![own], quoted.into()].concat())
}

/// A literal where the template writes text between quotes. `sign` is what follows the name of the argument.
fn literal_value(spec: &Source<'_>, sign: Expr) -> Expr {
    // Python's own quotes need no word.
    let quote = spec.quoted_by().map_or("", |(_, quote)| quote).trim_matches(['"', '\'']);
    sequence(vec![
        Expr::Action(Action::Argument(ArgumentKind::Literal)),
        sign,
        hole(Hole::Literal(quote.to_owned().into())),
        Expr::Action(Action::EndArgument),
    ])
}

/// How the values of a call expression are read.
fn literal_kind(spec: &Source<'_>) -> ArgumentKind {
    let arguments = &spec.tools.arguments;
    // With nothing between two arguments, a number ends where the next name begins.
    let apart = [&arguments.separator, &arguments.value_suffix, &arguments.name_prefix, &arguments.quote];
    let tight = apart.iter().all(|text| text.trim().is_empty());
    if tight { ArgumentKind::TightLiteral } else { ArgumentKind::Literal }
}

/// The rest of an argument, after its name.
pub(super) fn after_name(spec: &Source<'_>) -> Expr {
    let tools = &spec.tools;
    let arguments = &tools.arguments;
    let inner = |key| marker(spec, key, Role::Inner);
    let python = tools.uses_python_dicts;
    // In a call expression, values without a closer are written like literals by most models.
    let by_schema = match is_unclosed(spec) && begins_with_name(spec) {
        true => ArgumentKind::Quotable { python },
        false => ArgumentKind::BySchema { python },
    };
    if tools.format == ToolFormat::CallExpression {
        value(spec, literal_kind(spec), or_equals(spec, inner(MarkerKey::ArgumentNameSuffix)))
    } else if !arguments.type_prefix.trim().is_empty() {
        let text = value(spec, ArgumentKind::Text, types(spec, &["string"]));
        let other = value(spec, ArgumentKind::Other { python }, types(spec, &OTHER_TYPES));
        let untyped = without_type(spec, &type_after_name(spec, "string"));
        Expr::Choice([text, other].into_iter().chain(untyped.map(|end| value(spec, by_schema, end))).collect())
    } else if arguments.other_name_suffix.is_empty() {
        let own = value(spec, by_schema, inner(MarkerKey::ArgumentNameSuffix));
        let others = between_blanks(spec, by_schema).into_iter().chain(without_quote(spec));
        match [vec![own], others.collect()].concat() {
            alone if alone.len() == 1 => sequence(alone),
            choices => Expr::Choice(choices),
        }
    } else {
        let text = value(spec, ArgumentKind::Text, inner(MarkerKey::ArgumentNameSuffix));
        let other = value(spec, ArgumentKind::Other { python }, inner(MarkerKey::OtherNameSuffix));
        let untyped = without_type(spec, &arguments.name_suffix);
        Expr::Choice([text, other].into_iter().chain(untyped.map(|end| value(spec, by_schema, end))).collect())
    }
}

/// The value of an argument: all that follows the name.
fn value(spec: &Source<'_>, kind: ArgumentKind, suffix: Expr) -> Expr {
    let arguments = &spec.tools.arguments;
    let (mut begin, mut end) = (Action::Argument(kind), Action::EndArgument);
    if let (ArgumentKind::BySchema { python }, true) = (kind, arguments.nested) {
        let nesting = nesting(spec, python);
        begin = Action::NestedArgument(nesting.clone().into());
        end = Action::EndNestedArgument(nesting.into());
    }
    let reads = match kind {
        ArgumentKind::Literal | ArgumentKind::TightLiteral => Hole::Literal(arguments.quote.clone().into()),
        _ => Hole::Value,
    };
    let next_ends = reads == Hole::Value && begins_with_name(spec);
    let closer = || match (closer(spec), end_of_line(spec)) {
        (Some(closer), _) => Expr::Literal(closer),
        (None, Some(end)) if next_ends => Expr::Literal(end),
        (None, None) if next_ends && is_unclosed(spec) => seen_ahead(spec, &AFTER_VALUE),
        (None, _) => marker(spec, MarkerKey::ArgumentValueSuffix, Role::Inner),
    };
    // What follows a form that only models write may be written so, too.
    let (own, others) = own_and_others(closer());
    let mut closers = vec![confirmed(own)];
    closers.extend(Some(others).filter(|others| !is_empty(others)));
    if reads == Hole::Value {
        closers.extend([without_closer(spec), before_next(spec)].into_iter().filter(|expr| !is_empty(expr)));
        // A model may end its turn within a call.
        let is_closed = !closers.iter().all(is_empty) && !arguments.nested;
        let ends = ends_of_turn(spec).into_iter().filter(|end| is_closed && is_tag(end));
        closers.extend(ends.map(|end| sequence(vec![recovered(end), Expr::Action(Action::EndCallIncomplete)])));
    }
    if let Hole::Literal(_) = reads {
        closers.extend(unclosed_string(spec));
    }
    let closers = Expr::Choice(closers);
    let plain = vec![hole(reads.clone()), Expr::Action(end.clone()), superfluous_quote(spec), closers];
    let read = if arguments.cdata && reads == Hole::Value {
        let bracket =
            |text| Expr::Literal(literal(MarkerKey::ArgumentsPunctuation, MarkerText::new(text), Role::Inner));
        let (open, close) = (bracket(CDATA.0), confirmed(bracket(CDATA.1)));
        let within = sequence(vec![open, hole(reads), Expr::Action(end), close, closer()]);
        vec![Expr::Choice(vec![within, sequence(plain)])]
    } else {
        plain
    };
    let prefix = marker(spec, MarkerKey::ArgumentValuePrefix, Role::Inner);
    // After the tag that closes a name, a value may begin without its own tag.
    let prefix = match MarkerText::new(&arguments.name_suffix).tags().last() {
        Some(tag) if tag.starts_with("</") && is_tag(&prefix) => {
            Expr::Choice(vec![prefix, missing(MarkerText::new(&arguments.value_prefix))])
        }
        _ => prefix,
    };
    let suffix = or_opener_of_value(spec, suffix);
    sequence([vec![Expr::Action(begin), suffix, prefix], read].concat())
}

/// What follows the name of an argument. Where that is a tag that closes the name, it may be missing before the opener of the value.
fn or_opener_of_value(spec: &Source<'_>, suffix: Expr) -> Expr {
    let arguments = &spec.tools.arguments;
    let closer = MarkerText::new(&arguments.name_suffix);
    let opener = tolerated(MarkerKey::ArgumentValuePrefix, MarkerText::new(&arguments.value_prefix).core, Role::Inner);
    let opener = Expr::Literal(Literal { peek: true, ..opener });
    if !closer.core.starts_with("</") || !is_tag(&opener) {
        return suffix;
    }
    Expr::Choice(vec![suffix, sequence(vec![opener, missing(closer)])])
}

/// Values without the quote that the template writes around every value: other literals, also after the other sign.
fn without_quote(spec: &Source<'_>) -> Vec<Expr> {
    let Some((sign, quote)) = spec.quoted_by() else { return Vec::new() };
    let own = Expr::Literal(tolerated(MarkerKey::ArgumentNameSuffix, sign, Role::Inner));
    let own = literal_value(spec, own);
    if !spec.is_expression() {
        return vec![own];
    }
    let other = if sign == "=" { ":" } else { "=" };
    vec![own, literal_value(spec, before_literal(other, quote))]
}

/// A model may write an equals sign for the colon before a literal, or a colon for the equals sign.
fn or_equals(spec: &Source<'_>, own: Expr) -> Expr {
    let other = match spec.tools.arguments.name_suffix.trim() {
        ":" => "=",
        "=" => ":",
        _ => return own,
    };
    Expr::Choice(vec![own, before_literal(other, &spec.tools.arguments.quote)])
}

/// A sign that the template does not write, where a literal follows.
fn before_literal(sign: &str, quote: &str) -> Expr {
    let sign = Literal { confirm: true, ..tolerated(MarkerKey::ArgumentNameSuffix, sign, Role::Inner) };
    let begins = |text: &str| {
        Expr::Literal(Literal { peek: true, ..tolerated(MarkerKey::ArgumentsPunctuation, text, Role::Inner) })
    };
    let quotes = std::iter::once(quote).filter(|quote| !quote.is_empty() && !BEGIN_LITERALS.contains(quote));
    let literals = quotes.chain(BEGIN_LITERALS).map(begins).collect();
    sequence(vec![Expr::Literal(sign), Expr::Choice(literals)])
}

/// The end of a string whose closing quote token is missing: the end of the call, where the output or the turn ends after it.
fn unclosed_string(spec: &Source<'_>) -> Vec<Expr> {
    let core = |key| MarkerText::new(spec.marker(key)).core;
    let (quote, closer) = (core(MarkerKey::ArgumentQuote), core(MarkerKey::CallEnd));
    let end = [MarkerKey::ArgumentsEnd, MarkerKey::FunctionClose].map(core).concat();
    if quote.is_empty() || end.is_empty() || !is_special_token(closer.as_bytes()) {
        return Vec::new();
    }
    let turn_ends = ends_of_turn(spec);
    let turn_ends = turn_ends.iter().filter_map(|end| match end {
        Expr::Literal(end) => Some(end.core.as_str()),
        _ => None,
    });
    let ends = std::iter::once("").chain(turn_ends).map(|turn_end| {
        let end = tolerated(MarkerKey::ArgumentQuote, &[end.as_str(), closer, turn_end].concat(), Role::Unclosed);
        let end = Expr::Literal(Literal { peek: true, ..end });
        sequence(vec![end, Expr::Action(Action::MissingMarker(quote.to_owned().into()))])
    });
    ends.collect()
}

/// A quote token after a value that is between other quotes.
fn superfluous_quote(spec: &Source<'_>) -> Expr {
    let quote = spec.tools.arguments.quote.trim();
    if quote.is_empty() {
        return Expr::empty();
    }
    Expr::Literal(tolerated(MarkerKey::ArgumentQuote, quote, Role::Inner)).optional()
}

/// The value of an argument between blanks, where a template writes it on lines of its own.
fn between_blanks(spec: &Source<'_>, kind: ArgumentKind) -> Option<Expr> {
    let arguments = &spec.tools.arguments;
    let (opener, closer) = (MarkerText::new(&arguments.name_suffix), MarkerText::new(&arguments.value_suffix));
    let begins_line = [opener.after, &arguments.value_prefix].concat() == "\n";
    let on_lines = begins_line && closer.before == "\n";
    if !on_lines || arguments.nested || arguments.cdata || !begins_tag(closer.core) {
        return None;
    }
    let part = |key, core: &str| Expr::Literal(tolerated(key, core, Role::Inner));
    let closers = [format!(" {}", closer.core), closer.core.to_owned()];
    let closers = closers.iter().map(|core| confirmed(part(MarkerKey::ArgumentValueSuffix, core)));
    let unclosed = [without_closer(spec)].into_iter().filter(|expr| !is_empty(expr));
    Some(sequence(vec![
        Expr::Action(Action::Argument(kind)),
        part(MarkerKey::ArgumentNameSuffix, &format!("{} ", opener.core)),
        hole(Hole::Value),
        Expr::Action(Action::EndArgument),
        Expr::Choice(closers.chain(unclosed).collect()),
    ]))
}

/// The end of the call where the closer of a value is missing: the tags that close the call, with what may follow them.
fn without_closer(spec: &Source<'_>) -> Expr {
    let closers = [MarkerKey::FunctionClose, MarkerKey::CallEnd];
    let own = MarkerText::new(&spec.tools.arguments.value_suffix);
    let is_closer = |key: &MarkerKey| {
        let text = MarkerText::new(spec.marker(*key));
        begins_tag(text.core) && !own.core.is_empty() && text.core != own.core
    };
    let closers: Vec<MarkerKey> = closers.into_iter().filter(is_closer).collect();
    if closers.is_empty() || !begins_tag(own.core) {
        return Expr::empty();
    }
    let recovery = |expr| match recovered(expr) {
        // The white space before it is that of the closer that is missing.
        Expr::Literal(literal) => Expr::Literal(Literal { before: own.before.to_owned(), ..literal }),
        other => other,
    };
    let ahead = match seen_ahead(spec, &closers) {
        Expr::Choice(choices) => Expr::Choice(choices.into_iter().map(recovery).collect()),
        other => recovered(other),
    };
    sequence(vec![ahead, missing(own)])
}

/// The end of a value whose closer is missing: a line that begins the next argument.
fn before_next(spec: &Source<'_>) -> Expr {
    let arguments = &spec.tools.arguments;
    let (own, next) = (MarkerText::new(&arguments.value_suffix), MarkerText::new(&arguments.name_prefix));
    if !begins_tag(own.core) || !begins_tag(next.core) || MarkerText::pieces(&arguments.name_prefix).len() != 1 {
        return Expr::empty();
    }
    let line = Literal {
        before: "\n".to_owned(),
        confirm: true,
        named_next: true,
        peek: true,
        line: true,
        ..tolerated(MarkerKey::ArgumentNamePrefix, next.core, Role::Inner)
    };
    sequence(vec![Expr::Literal(line), missing(own)])
}

fn missing(marker: MarkerText<'_>) -> Expr {
    Expr::Action(Action::MissingMarker(marker.core.to_owned().into()))
}

/// The texts with one of these types between an argument's name and its value.
fn types(spec: &Source<'_>, names: &[&str]) -> Expr {
    let text = |name: &&str| {
        let text = type_after_name(spec, name);
        Expr::Literal(literal(MarkerKey::ArgumentTypePrefix, MarkerText::new(&text), Role::Inner))
    };
    Expr::Choice(names.iter().map(text).collect())
}

/// The text between an argument's name and its value with this type.
fn type_after_name(spec: &Source<'_>, name: &str) -> String {
    let arguments = &spec.tools.arguments;
    [&arguments.type_prefix, name, &arguments.type_suffix].concat()
}

/// What follows the name of an argument in a tag that lacks its type, or has it without quotes. In both cases the schema of the tool says
/// the type.
fn without_type(spec: &Source<'_>, own: &str) -> Option<Expr> {
    let after = MarkerText::new(own).after;
    let end = |core: &String| {
        Expr::Literal(Literal {
            after: after.to_owned(),
            ..tolerated(MarkerKey::ArgumentNameSuffix, core, Role::Inner)
        })
    };
    let others = spec.marker(MarkerKey::OtherNameSuffix);
    let ends = variants::without_attribute(own)?;
    let [_, other] = variants::without_attribute(others).unwrap_or_default();
    Some(Expr::Choice(ends.iter().chain(Some(&other).filter(|other| !other.is_empty())).map(end).collect()))
}

/// Whether an argument's name begins with the name itself: no marker announces it.
fn begins_with_name(spec: &Source<'_>) -> bool {
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

/// The line break at which the function's name ends, where an argument's name may come next.
pub(super) fn name_ends_at_line(spec: &Source<'_>) -> Option<Literal> {
    let next = begins_with_name(spec) && spec.tools.arguments.start.trim().is_empty();
    line_break(spec, MarkerKey::FunctionNameSuffix).filter(|_| next)
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

/// The beginning of a closer where no argument is open. It is left for what follows.
pub(super) fn unknown_closer(spec: &Source<'_>) -> Expr {
    let text = MarkerText::new(&spec.tools.arguments.close_prefix);
    let closer = literal(MarkerKey::ArgumentClosePrefix, text, Role::Inner);
    let closer = Expr::Literal(Literal { peek: true, origin: Origin::Recovery, ..closer });
    if is_empty(&closer) { Expr::empty() } else { closer }
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
