//! What models write and templates do not: rules that add to the plan of what templates write. Each is a small function of the
//! plan and of facts of the spec; they are applied in the order of [`RULES`], and a later rule sees what an earlier one added.
//!
//! What a rule adds is marked here and nowhere else, so no grammar contains it.

mod facts;

use unjinja_runtime::abi::{Action, ArgumentKind};
use unjinja_spec::{MarkerKey, MarkerText};

use super::canonical::arguments::value as written_value;
use super::canonical::build::{literal, marker as written_marker, without_name};
use super::canonical::source::Source;
use crate::plan::{Expr, Literal, Part, Role};

/// One way in which models deviate from templates.
pub struct Rule {
    /// Its name, in words that people use in a report.
    pub name: &'static str,
    /// What a model writes.
    pub written: &'static str,
    /// How it is read.
    pub read: &'static str,
    /// The diagnostic that it gives, or may give.
    pub diagnostic: Option<&'static str>,
    /// The case of `tests/cases/` that shows it: file and name. Empty if no sample template has it.
    pub case: &'static str,
    /// Adds to a plan what the rule tolerates.
    apply: fn(&Source<'_>, &mut Expr),
}

macro_rules! rules {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// All rules, in their order.
        pub const RULES: &[Rule] = &[$($module::RULE),*];
    };
}

rules! {
    // Other forms of one marker.
    short_marker,
    other_attribute,
    doubled_token,
    doubled_bars,
    second_bar,
    ascii_bars,
    blank_in_opener,
    // The name of a function, and what comes before it.
    word_in_header,
    other_bracket,
    objects,
    opener_twice,
    missing_wrapper,
    abandoned_section,
    missing_call_opener,
    tag_alone,
    other_recipient,
    other_separator,
    other_message,
    other_prefix,
    other_suffix,
    missing_key_opener,
    missing_arguments_opener,
    self_closing,
    closer_after_name,
    next_opener,
    // Arguments.
    other_sign,
    quoted_key,
    key_tag_twice,
    missing_type,
    between_blanks,
    without_quote,
    missing_key_closer,
    missing_value_opener,
    missing_value_closer,
    next_argument,
    turn_ends_in_value,
    unclosed_string,
    superfluous_quote,
    superfluous_comma,
    object_for_arguments,
    // The end of a call.
    missing_closers,
    missing_bracket,
    json_extras,
    text_after,
    missing_closer,
    // The turn.
    other_token_before_calls,
    closer_twice,
    answer_in_reasoning,
    call_in_reasoning,
    reasoning_twice,
    start_twice,
    end_of_text,
    end_of_header,
    stray_token,
    reasoning_closer_again,
    code_fence,
    broken_call,
}

/// How many of the rules are about other forms of one marker.
const FORMS: usize = 7;

/// Adds all that is tolerated to the plan of what templates write, without what the rule `left_out` does.
pub(super) fn tolerate(spec: &Source<'_>, turn: &mut Expr, left_out: &str) {
    for rule in RULES.iter().filter(|rule| rule.name != left_out) {
        (rule.apply)(spec, turn);
        name(turn, rule.name);
    }
}

/// Notes the rule that has added literals.
fn name(expr: &mut Expr, rule: &'static str) {
    match expr {
        Expr::Literal(literal) if literal.rule == Some("") => literal.rule = Some(rule),
        Expr::Sequence(items) | Expr::Choice(items) => items.iter_mut().for_each(|item| name(item, rule)),
        Expr::Tolerated(of, item) => {
            *of = if of.is_empty() { rule } else { of };
            name(item, rule);
        }
        Expr::Repeat(item) | Expr::Option(item) | Expr::Part(_, item) => name(item, rule),
        Expr::Literal(_) | Expr::Hole(_) | Expr::Action(_) => {}
    }
}

/// A literal that no template writes at this place. White space around it is not part of it.
fn tolerated(key: MarkerKey, core: &str, role: Role) -> Literal {
    let (core, repeats) = without_name(key, core);
    mark(Literal { core, repeats, ..literal(key, MarkerText::new(""), role) })
}

/// Marks a literal as one that no template writes at its place.
fn mark(literal: Literal) -> Literal {
    Literal { rule: Some(""), ..literal }
}

/// The same for an expression that is a literal.
fn marked(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(literal) => Expr::Literal(mark(literal)),
        other => other,
    }
}

/// A tolerated literal as an expression.
fn part(key: MarkerKey, core: &str) -> Expr {
    Expr::Literal(tolerated(key, core, Role::Inner))
}

/// A tolerated literal that what follows reads again.
fn ahead(key: MarkerKey, core: &str) -> Expr {
    Expr::Literal(Literal { peek: true, ..tolerated(key, core, Role::Inner) })
}

/// A marker in all its forms.
fn marker(spec: &Source<'_>, key: MarkerKey, role: Role) -> Expr {
    let mut marker = written_marker(spec, key, role);
    for rule in &RULES[..FORMS] {
        (rule.apply)(spec, &mut marker);
    }
    marker
}

/// The form of a marker that the template writes, and those that only models write.
fn own_and_others(marker: &Expr) -> (Expr, Expr) {
    let marker = match marker {
        Expr::Part(_, inner) => inner,
        other => other,
    };
    let Expr::Choice(forms) = marker else { return (marker.clone(), Expr::empty()) };
    let (others, own): (Vec<_>, Vec<_>) = forms.iter().cloned().partition(is_tolerated);
    let one_of = |forms: Vec<Expr>| if forms.is_empty() { Expr::empty() } else { Expr::Choice(forms) };
    (one_of(own), one_of(others))
}

/// Whether this is a literal that no template writes at its place.
fn is_tolerated(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(Literal { rule: Some(_), .. }))
}

/// Adds forms of markers to all that are in a plan.
fn or_forms(spec: &Source<'_>, turn: &mut Expr, forms: impl Fn(MarkerKey, &str) -> Vec<String>) {
    turn.each(&mut |part, inner| {
        let Part::Marker(key) = part else { return };
        let text = spec.marker(key);
        let forms = forms(key, text);
        if forms.is_empty() {
            return;
        }
        let own = first_literal(inner).cloned();
        let form = |core: &String| form(key, text, core, own.as_ref());
        let added: Vec<Expr> = forms.iter().map(form).collect();
        *inner = match std::mem::replace(inner, Expr::empty()) {
            Expr::Option(choices) => choices.or(added).optional(),
            other => other.or(added),
        };
    });
}

/// Another form of a marker.
fn form(key: MarkerKey, text: &str, core: &str, own: Option<&Literal>) -> Expr {
    let whole = MarkerText::new(text);
    let role = own.map_or(Role::Inner, |own| own.role);
    // A token alone opens a call only before the name of a tool.
    let opens = role == Role::CallOpen && facts::is_special(core);
    // The name of a function has no line break in it, but text that is no call may.
    let ends_name = key == MarkerKey::FunctionNameSuffix;
    let confirm = opens || (ends_name && (core.ends_with('\n') || own.is_some_and(|own| own.confirm)));
    let (before, after) = (whole.before.to_owned(), whole.after.to_owned());
    Expr::Literal(Literal { before, after, confirm, named_next: opens, ..tolerated(key, core, role) })
}

fn first_literal(expr: &Expr) -> Option<&Literal> {
    match expr {
        Expr::Literal(literal) => Some(literal),
        Expr::Sequence(items) | Expr::Choice(items) => items.iter().find_map(first_literal),
        Expr::Repeat(item) | Expr::Option(item) | Expr::Tolerated(_, item) | Expr::Part(_, item) => first_literal(item),
        Expr::Hole(_) | Expr::Action(_) => None,
    }
}

/// A call from the marker before its name on, with another marker there, and if given, another way to begin.
fn by_name(named: &Expr, start: Option<Action>, prefix: impl Fn(Expr) -> Expr) -> Expr {
    let Expr::Sequence(items) = named else { return named.clone() };
    let mut items = items.clone();
    if let Some(first) = items.first_mut() {
        *first = prefix(std::mem::replace(first, Expr::empty()));
    }
    let mut call = Expr::Sequence(items);
    if let Some(start) = start {
        call.change(&[Part::AfterName], &mut |after| started(&after, start.clone()));
    }
    call
}

/// What follows a name, with another way to begin the call.
fn started(after_name: &Expr, start: Action) -> Expr {
    match after_name {
        Expr::Sequence(items) => Expr::Sequence([&[Expr::Action(start)], items.get(1..).unwrap_or_default()].concat()),
        other => other.clone(),
    }
}

/// How a call begins after its name.
fn start_of(after_name: &Expr) -> Option<&Action> {
    match after_name {
        Expr::Sequence(items) | Expr::Choice(items) => items.first().and_then(start_of),
        Expr::Tolerated(_, item) => start_of(item),
        Expr::Action(action) => Some(action),
        _ => None,
    }
}

/// The value of an argument with all forms of its markers.
fn value(spec: &Source<'_>, kind: ArgumentKind, end_of_name: Expr) -> Expr {
    let mut value = written_value(spec, kind, end_of_name);
    for rule in &RULES[..FORMS] {
        (rule.apply)(spec, &mut value);
    }
    value
}

/// What rules are made of.
mod prelude {
    pub(super) use std::collections::BTreeSet;

    pub(super) use unjinja_runtime::Channel;
    pub(super) use unjinja_runtime::abi::{Action, ArgumentKind, CallShape, Hole, InText};
    pub(super) use unjinja_spec::{CallIdPosition, MarkerKey, MarkerText, ToolFormat, begins_tag, tags as tags_in};

    pub(super) use super::facts::*;
    pub(super) use super::missing_value_closer::without_closer;
    pub(super) use super::other_sign::before_literal;
    pub(super) use super::{
        Rule, ahead, by_name, mark, marked, marker, or_forms, own_and_others, part, start_of, started, tolerated, value,
    };
    pub(super) use crate::lower::canonical::arguments::{by_schema, literal_kind, type_after_name};
    pub(super) use crate::lower::canonical::build::{
        confirmed, hole, is_empty, is_tag, literal, normalised, opening_brace, seen_ahead,
    };
    pub(super) use crate::lower::canonical::ends_of_turn;
    pub(super) use crate::lower::canonical::native::{is_bare, is_named, shape};
    pub(super) use crate::lower::canonical::source::Source;
    pub(super) use crate::lower::canonical::tagged::{end_of_call, is_bracketed, needs_brace};
    pub(super) use crate::plan::{Expr, HoleRole, Literal, Openers, Part, PlanHole, Role};
}
