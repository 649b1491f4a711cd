//! What rules add to a plan, and the one place where it is marked as tolerated.

use unjinja_runtime::abi::Action;
use unjinja_spec::{MarkerKey, MarkerText};

use crate::lower::canonical::build::{literal, without_name};
use crate::lower::canonical::source::Source;
use crate::plan::{Expr, Literal, PlanPart, Role, UNNAMED};

/// One way in which models deviate from templates, in words.
#[derive(Clone, Copy, Debug)]
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
}

/// A literal that no template writes at this place. White space around it is not part of it.
pub(super) fn tolerated(key: MarkerKey, core: &str, role: Role) -> Literal {
    let (core, repeats) = without_name(key, core);
    mark(Literal { core, repeats, ..literal(key, MarkerText::new(""), role) })
}

/// Marks a literal as one that no template writes at its place.
pub(super) fn mark(literal: Literal) -> Literal {
    Literal { rule: Some(UNNAMED), ..literal }
}

/// The same for an expression that is a literal.
pub(super) fn marked(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(literal) => Expr::from(mark(*literal)),
        other => other,
    }
}

/// A tolerated literal as an expression.
pub(super) fn part(key: MarkerKey, core: &str) -> Expr {
    Expr::from(tolerated(key, core, Role::Inner))
}

/// A tolerated literal that what follows reads again.
pub(super) fn ahead(key: MarkerKey, core: &str) -> Expr {
    Expr::from(Literal { peek: true, ..tolerated(key, core, Role::Inner) })
}

/// The form of a marker that the template writes, and those that only models write.
pub(super) fn own_and_others(marker: &Expr) -> (Expr, Expr) {
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
pub(super) fn is_tolerated(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(literal) if literal.rule.is_some())
}

/// Adds forms of markers to all that are in a plan.
pub(super) fn or_forms(spec: &Source<'_>, turn: &mut Expr, forms: &dyn Fn(MarkerKey, &str) -> Vec<String>) {
    turn.each(&mut |part, inner| {
        let PlanPart::Marker(key) = part else { return };
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
pub(super) fn form(key: MarkerKey, text: &str, core: &str, own: Option<&Literal>) -> Expr {
    let whole = MarkerText::new(text);
    let role = own.map_or(Role::Inner, |own| own.role);
    // A token alone opens a call only before the name of a tool.
    let opens = role == Role::CallOpen && unjinja_runtime::abi::is_special_token(core.as_bytes());
    // The name of a function has no line break in it, but text that is no call may.
    let ends_name = key == MarkerKey::FunctionNameSuffix;
    let confirm = opens || (ends_name && (core.ends_with('\n') || own.is_some_and(|own| own.confirm)));
    let (before, after) = (whole.before.to_owned(), whole.after.to_owned());
    Expr::from(Literal { before, after, confirm, named_next: opens, ..tolerated(key, core, role) })
}

pub(super) fn first_literal(expr: &Expr) -> Option<&Literal> {
    match expr {
        Expr::Literal(literal) => Some(literal),
        Expr::Sequence(items) | Expr::Choice(items) => items.iter().find_map(first_literal),
        Expr::Repeat(item) | Expr::Option(item) | Expr::Tolerated(_, item) | Expr::Part(_, item) => first_literal(item),
        Expr::Hole(_) | Expr::Action(_) => None,
    }
}

/// A call from the marker before its name on, with another marker there, and if given, another way to begin.
pub(super) fn by_name(named: &Expr, start: Option<Action>, prefix: &dyn Fn(Expr) -> Expr) -> Expr {
    let Expr::Sequence(items) = named else { return named.clone() };
    let mut items = items.clone();
    if let Some(first) = items.first_mut() {
        *first = prefix(std::mem::replace(first, Expr::empty()));
    }
    let mut call = Expr::Sequence(items);
    if let Some(start) = start {
        call.change(&[PlanPart::AfterName], &mut |after| started(&after, start.clone()));
    }
    call
}

/// What follows a name, with another way to begin the call.
pub(super) fn started(after_name: &Expr, start: Action) -> Expr {
    match after_name {
        Expr::Sequence(items) => Expr::Sequence([&[Expr::Action(start)], items.get(1..).unwrap_or_default()].concat()),
        other => other.clone(),
    }
}

/// How a call begins after its name.
pub(super) fn start_of(after_name: &Expr) -> Option<&Action> {
    match after_name {
        Expr::Sequence(items) | Expr::Choice(items) => items.first().and_then(start_of),
        Expr::Tolerated(_, item) => start_of(item),
        Expr::Action(action) => Some(action),
        _ => None,
    }
}

/// Ends the text of the answer at literals of this role, too.
pub(super) fn stop_answer_at(turn: &mut Expr, role: Role) {
    turn.change(&[PlanPart::Answer], &mut |text| match text {
        Expr::Hole(mut hole) => {
            hole.until.push(role);
            Expr::Hole(hole)
        }
        other => other,
    });
}
