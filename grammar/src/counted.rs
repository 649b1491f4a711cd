//! Free text of a limited length up to a marker.
//!
//! A grammar counts only what it repeats, and text up to a marker is no repetition: it is an automaton whose states remember how
//! much of the marker has been read ([`Until`]). So the automaton's *rounds* are counted: ways from its first state back to it. A
//! round is one character, unless the text contains the beginning of a marker. So no text that is short enough is refused, but some
//! that are too long are accepted, and a minimum cannot be checked.

use crate::builder::{Builder, MAX_COUNT};
use crate::expr::{Expr, RuleId};
use crate::schema::Count;
use crate::text_rules::class;
use crate::until::{Stop, Transition, Until};

/// Text between two markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Between<'t> {
    pub(crate) stops: Vec<Stop<'t>>,
    /// The markers that end it. The text can contain none of the others.
    pub(crate) ends: Vec<usize>,
    /// White space before each of the markers.
    pub(crate) before: Vec<&'t str>,
    /// White space after the marker that opens it.
    pub(crate) after: &'t str,
}

/// The text of at most `max` rounds, and the marker that ends it. `None` if the limit is too high or no marker can be reached.
pub(crate) fn counted(builder: &mut Builder, name: &str, between: &Between<'_>, max: u32) -> Option<Expr> {
    // White space before a marker cannot be told from the text.
    let before = between.before.iter().map(|before| before.chars().count()).max().unwrap_or(0);
    let most = max.saturating_add(u32::try_from(before).unwrap_or(u32::MAX));
    if most > MAX_COUNT {
        return None;
    }
    let until = Until::new(&between.stops);
    let round = part(builder, &format!("{name}-part"), &until, Way::Round)?;
    let end = part(builder, &format!("{name}-end"), &until, Way::To(&between.ends))?;
    let mut all: Vec<Expr> = between.after.chars().map(|char| builder.option(builder.char(char))).collect();
    all.extend([builder.repeat(round, 0, Some(most)), end.into()]);
    Some(builder.rule(name, builder.sequence(&all)).into())
}

/// For each group of stops, the text of at most `max` rounds that ends with one of them. `None` for a group that cannot be reached.
pub(crate) fn counted_each(
    builder: &mut Builder,
    name: &str,
    until: &Until,
    groups: &[Vec<usize>],
    max: u32,
) -> Vec<Option<Expr>> {
    let round = part(builder, &format!("{name}-part"), until, Way::Round);
    let rounds = round.map_or(Expr::EMPTY, |round| builder.repeat(round, 0, Some(max)));
    let rounds = Expr::from(builder.rule(name, rounds));
    let mut all = Vec::with_capacity(groups.len());
    for stops in groups {
        let end = part(builder, &format!("{name}-end"), until, Way::To(stops));
        all.push(end.map(|end| builder.sequence(&[rounds, end.into()])));
    }
    all
}

/// Where a way through an automaton leads from its first state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way<'s> {
    /// To the first state again.
    Round,
    /// To the end of the text, by one of these stops.
    To(&'s [usize]),
}

/// The keywords that a text does not keep to, and why. `is_limited` says whether its rounds are counted.
pub(crate) fn lost(count: Count, is_limited: bool) -> Vec<(&'static str, &'static str)> {
    let max = match is_limited {
        true => {
            "raw text may be longer if it contains the beginning of its closing marker, or no white space before it"
        }
        false => "the limit is too high for a grammar of raw text",
    };
    let min = (count.min > 0).then_some(("minLength", "raw text may be shorter: only its maximum is counted"));
    min.into_iter().chain(count.max.map(|_| ("maxLength", max))).collect()
}

/// The rule of a way through the automaton from its first state. `None` if it leads nowhere.
fn part(builder: &mut Builder, name: &str, until: &Until, way: Way<'_>) -> Option<RuleId> {
    let again = way == Way::Round;
    let leads = |stop: usize| match way {
        Way::Round => false,
        Way::To(stops) => stops.contains(&stop),
    };
    let steps = until.states.iter().map(|state| {
        let steps = state.transitions.iter().filter_map(|transition| match transition {
            Transition::Char(chars, next) => Some((class(builder, chars), Some(*next))),
            Transition::Stop(char, stop) => leads(*stop).then(|| (builder.char(*char), None)),
            Transition::Peek(stop) => leads(*stop).then_some((Expr::EMPTY, None)),
        });
        // A way to the end does not come back.
        steps.filter(|(_, next)| again || *next != Some(0)).collect()
    });
    let steps: Vec<Vec<(Expr, Option<usize>)>> = steps.collect();
    let ends = |next: &Option<usize>| next.is_none() || (again && *next == Some(0));
    let mut lives = vec![false; steps.len()];
    while let Some(more) = (0..steps.len())
        .find(|at| !lives[*at] && steps[*at].iter().any(|(_, next)| ends(next) || next.is_some_and(|next| lives[next])))
    {
        lives[more] = true;
    }
    let rules: Vec<Option<RuleId>> = lives.iter().map(|lives| lives.then(|| builder.reserve(name))).collect();
    for (steps, rule) in steps.into_iter().zip(&rules) {
        let Some(rule) = rule else { continue };
        let alternatives = steps.into_iter().filter_map(|(expr, next)| match next {
            next if ends(&next) => Some(expr),
            next => rules[next?].map(|rule| builder.sequence(&[expr, rule.into()])),
        });
        let alternatives: Vec<Expr> = alternatives.collect();
        builder.define(*rule, builder.choice(&alternatives));
    }
    rules.first().copied().flatten()
}

#[cfg(test)]
mod tests {
    use unjinja_gbnf::Grammar;

    use super::*;

    fn grammar(between: &Between<'_>, max: u32) -> Grammar {
        let mut builder = Builder::new();
        let made = counted(&mut builder, "text", between, max).unwrap();
        Grammar::parse(&builder.grammar(made)).unwrap()
    }

    #[test]
    fn characters_are_counted() {
        let stops = vec![Stop { core: "</value>", confirm: Vec::new(), peek: false }];
        let between = Between { stops, ends: vec![0], before: vec!["\n"], after: "\n" };
        for max in [0, 1, 30, 2_000] {
            let grammar = grammar(&between, max);
            let text = |length: u32| "x".repeat(length as usize);
            for (text, fits) in [
                (format!("\n{}\n</value>", text(max)), true),
                (format!("{}</value>", text(max)), true),
                // Without white space before the marker, one more is accepted.
                (format!("{}</value>", text(max + 1)), true),
                (format!("\n{}\n</value>", text(max + 1)), false),
                (format!("{}</value>", text(max + 2)), false),
                ("</val</value>".to_owned(), true),
                (format!("{}a < b </val</value>", text(max.saturating_sub(12))), max > 11),
            ] {
                assert_eq!(grammar.check(&text).is_ok(), fits, "{max}: {} characters", text.len());
            }
        }
        let limit = |max| counted(&mut Builder::new(), "text", &between, max);
        assert!(limit(MAX_COUNT - 1).is_some() && limit(MAX_COUNT).is_none());
    }

    /// All texts of these characters up to a length.
    fn texts(alphabet: &str, most: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..most {
            let to = all.len();
            for at in from..to {
                all.extend(alphabet.chars().map(|char| format!("{}{char}", all[at])).collect::<Vec<_>>());
            }
            from = to;
        }
        all
    }

    #[test]
    fn no_text_that_is_short_enough_is_refused() {
        let mut checked = 0;
        for (cores, alphabet) in
            [(&["<>"][..], "a<>\n"), (&["<a>"], "a<>\n"), (&["aab"], "ab\n "), (&["<b", "<>"], "<>b\n")]
        {
            let stop = |core: &&'static str| Stop { core, confirm: Vec::new(), peek: false };
            let (stops, ends) = (cores.iter().map(stop).collect(), (0..cores.len()).collect());
            let between = Between { stops, ends, before: vec![""; cores.len()], after: "" };
            for max in [0, 2, 4] {
                let grammar = grammar(&between, max);
                for text in texts(alphabet, 7) {
                    let ends = cores.iter().filter_map(|core| Some(text.find(core)? + core.len()));
                    let ends_first = ends.min() == Some(text.len());
                    let core = cores.iter().find(|core| text.ends_with(**core)).map_or(0, |core| core.len());
                    let fits = ends_first && text.len() - core <= max as usize;
                    let accepted = grammar.check(&text).is_ok();
                    assert!(accepted || !fits, "{text:?} {between:?} {max}");
                    assert!(!accepted || ends_first, "{text:?} {between:?} {max}");
                    checked += usize::from(fits);
                }
            }
        }
        assert!(checked > 500, "{checked}");
    }
}
