//! What models write and templates do not: rules that add to the plan of what templates write. Each is a small function of the
//! plan and of facts of the spec; they are applied in the order of [`RULES`], and a later rule sees what an earlier one added.
//!
//! What a rule adds is marked here and nowhere else, so no grammar contains it.

mod adding;
mod facts;
mod forms;
mod prelude;

use super::canonical::source::Source;
use crate::plan::{Expr, RuleId, UNNAMED};

pub use adding::Rule;

macro_rules! rules {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// What each rule adds, in their order. The words are apart from it, so that a parser links none.
        const APPLY: &[fn(&Source<'_>, &mut Expr)] = &[$($module::apply),*];

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
    other_outer_name,
    // The name of a function, and what comes before it.
    missing_word,
    missing_name_closer,
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
    other_closer,
    argument_after_closer,
    turn_ends_in_value,
    unclosed_string,
    superfluous_quote,
    superfluous_comma,
    object_for_arguments,
    // The end of a call.
    missing_closers,
    outer_closer_first,
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

/// Adds all that is tolerated to the plan of what templates write, without what the rule `left_out` does.
pub(super) fn tolerate(spec: &Source<'_>, turn: &mut Expr, left_out: Option<RuleId>) {
    for (rule, apply) in (0..).zip(APPLY).filter(|(rule, _)| Some(*rule) != left_out) {
        apply(spec, turn);
        note(turn, rule);
    }
}

/// Notes the rule that has added literals.
fn note(expr: &mut Expr, by: RuleId) {
    match expr {
        Expr::Literal(literal) if literal.rule == Some(UNNAMED) => literal.rule = Some(by),
        Expr::Sequence(items) | Expr::Choice(items) => items.iter_mut().for_each(|item| note(item, by)),
        Expr::Tolerated(rule, item) => {
            *rule = if *rule == UNNAMED { by } else { *rule };
            note(item, by);
        }
        Expr::Repeat(item) | Expr::Option(item) | Expr::Part(_, item) => note(item, by),
        Expr::Literal(_) | Expr::Hole(_) | Expr::Action(_) => {}
    }
}
