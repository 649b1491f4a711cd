//! Free text of a limited length up to a marker.
//!
//! A grammar counts only what it repeats, and text up to a marker is no repetition: it is an automaton whose states remember how
//! much of the marker has been read ([`Until`]). So the automaton's *rounds* are counted: ways from its first state back to it. A
//! round is one character, unless the text contains the beginning of a marker. So no text that is short enough is refused, but some
//! that are too long are accepted, and a minimum cannot be checked.
//!
//! A small model that may not write a marker writes its beginning again and again, which is one round without end. So where the
//! engine knows nothing but rules and the limit is low, the characters are counted: in the states between which texts go back and
//! forth, each number of characters that are left is a rule of its own.

use crate::builder::{Builder, MAX_COUNT};
use crate::expr::{Expr, RuleId};
use crate::schema::Count;
use crate::text_rules::class;
use crate::until::{CharSet, Stop, Transition, Until};

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

/// The alternatives that a text may have for the numbers of characters that are left.
const MOST_ALTERNATIVES: usize = 10_000;

/// The states of an automaton whose texts are counted by character.
const MOST_STATES: usize = 300;

/// The text of at most `max` rounds, and the marker that ends it, and whether characters are counted. `None` if the limit is too high or no
/// marker can be reached. `strictly` leaves no round without end.
pub(crate) fn counted(
    builder: &mut Builder,
    name: &str,
    between: &Between<'_>,
    max: u32,
    strictly: bool,
) -> Option<(Expr, bool)> {
    // White space before a marker cannot be told from the text.
    let before = between.before.iter().max_by_key(|before| before.chars().count()).copied().unwrap_or_default();
    let most = max.saturating_add(u32::try_from(before.chars().count()).unwrap_or(u32::MAX));
    if most > MAX_COUNT {
        return None;
    }
    let until = Until::new(&between.stops);
    let mut all: Vec<Expr> = between.after.chars().map(|char| builder.option(builder.char(char))).collect();
    let last = if most == max + 1 { before.chars().collect() } else { Vec::new() };
    let left = strictly.then(|| Left::new(&until, most, last).text(builder, &between.ends)).flatten();
    let exact = left.is_some() && most <= max + 1;
    match left {
        Some(text) => all.push(text),
        None => {
            let round = part(builder, &format!("{name}-part"), &until, Route::Round)?;
            let end = part(builder, &format!("{name}-end"), &until, Route::To(&between.ends))?;
            all.extend([builder.repeat(round, 0, Some(most)), end.into()]);
        }
    }
    Some((builder.rule(name, builder.sequence(&all)).into(), exact))
}

/// For each group of stops, the text of at most `max` rounds that ends with one of them. `None` for a group that cannot be reached.
pub(crate) fn counted_each(
    builder: &mut Builder,
    name: &str,
    until: &Until,
    groups: &[Vec<usize>],
    max: u32,
    strictly: bool,
) -> Vec<Option<Expr>> {
    if strictly {
        let left = Left::new(until, max, Vec::new());
        let all: Vec<Option<Expr>> = groups.iter().map(|stops| left.text(builder, stops)).collect();
        if all.iter().any(Option::is_some) {
            return all;
        }
    }
    let round = part(builder, &format!("{name}-part"), until, Route::Round);
    let rounds = round.map_or(Expr::EMPTY, |round| builder.repeat(round, 0, Some(max)));
    let rounds = Expr::from(builder.rule(name, rounds));
    let mut all = Vec::with_capacity(groups.len());
    for stops in groups {
        let end = part(builder, &format!("{name}-end"), until, Route::To(stops));
        all.push(end.map(|end| builder.sequence(&[rounds, end.into()])));
    }
    all
}

/// Where a part of a text leads from the first state of its automaton.
#[derive(Clone, Copy)]
enum Route<'s> {
    /// To the first state again.
    Round,
    /// To the end of the text, by one of these stops.
    To(&'s [usize]),
}

/// The keywords that a text does not keep to, and why. `exact` says whether its characters are counted or its rounds; `None` if neither are.
pub(crate) fn lost(count: Count, exact: Option<bool>) -> Vec<(&'static str, &'static str)> {
    let max = match exact {
        Some(true) => None,
        Some(false) => Some(
            "raw text may be longer if it contains the beginning of its closing marker, or no white space before it",
        ),
        None => Some("the limit is too high for a grammar of raw text"),
    };
    let min = (count.min > 0).then_some(("minLength", "raw text may be shorter: only its maximum is counted"));
    min.into_iter().chain(max.filter(|_| count.max.is_some()).map(|why| ("maxLength", why))).collect()
}

/// The numbers of characters that are left of a text, as rules.
struct Left<'u> {
    until: &'u Until,
    /// How many characters of a marker each state has read.
    depths: Vec<usize>,
    /// These characters.
    pending: Vec<Vec<char>>,
    /// The states in which characters are counted, the deepest first: the first one, those that one character of a marker leads to, and
    /// those to which a character leads that does not go on with a marker.
    counted: Vec<usize>,
    most: usize,
    /// The last character that is counted can only be one of these: white space that is written before the marker. Empty if it can be any.
    last: Vec<char>,
}

/// A way from a counted state to another.
struct Way {
    from: usize,
    step: Expr,
    /// For the last character that is counted, if that is possible.
    last_step: Option<Expr>,
    to: usize,
    /// How many characters are certain then to be no part of a marker.
    read: usize,
}

impl<'u> Left<'u> {
    fn new(until: &'u Until, most: u32, last: Vec<char>) -> Self {
        let mut depths = vec![usize::MAX; until.states.len()];
        let mut pending = vec![Vec::new(); until.states.len()];
        let mut queue = vec![0];
        depths[0] = 0;
        while let Some(from) = queue.pop() {
            for (set, to) in chars(until, from) {
                if depths[to] == usize::MAX {
                    depths[to] = depths[from] + 1;
                    pending[to] = pending[from].iter().chain(&set.chars).copied().collect();
                    queue.insert(0, to);
                }
            }
        }
        let mut counted: Vec<usize> = (0..depths.len()).filter(|state| depths[*state] < 2).collect();
        for (from, depth) in depths.iter().enumerate() {
            let back = chars(until, from).map(|(_, to)| to).filter(|to| depths[*to] <= *depth);
            let more: Vec<usize> = back.filter(|to| !counted.contains(to)).collect();
            counted.extend(more);
        }
        counted.sort_unstable_by_key(|state| (usize::MAX - depths[*state], *state));
        counted.dedup();
        Self { until, depths, pending, counted, most: most as usize, last }
    }

    /// The text with one of these stops; `None` if it would take too many rules. Equal texts share their rules, whatever their limits are.
    fn text(&self, builder: &mut Builder, stops: &[usize]) -> Option<Expr> {
        if self.depths.len() > MOST_STATES || self.most > MOST_ALTERNATIVES {
            return None;
        }
        let same = builder.number_of(&self.until.states, stops);
        let ends: Vec<Option<RuleId>> =
            self.counted.iter().map(|from| self.uncounted(builder, same, *from, None, stops)).collect();
        let mut ways: Vec<Way> = Vec::new();
        let deepest = self.depths.iter().copied().max().unwrap_or(0);
        for from in &self.counted {
            for (set, to) in chars(self.until, *from).filter(|(_, to)| self.counted.contains(to)) {
                let (step, last_step) = (class(builder, set), self.last_step(builder, *from, set, to));
                ways.push(Way { from: *from, step, last_step, to, read: self.read(*from, to) });
            }
            for to in &self.counted {
                for read in 0..=deepest + 1 {
                    let mut way = |last| self.uncounted(builder, same, *from, Some((*to, read, last)), &[]);
                    let Some(step) = way(false).map(Expr::from) else { continue };
                    let last_step = if self.last.is_empty() { Some(step) } else { way(true).map(Expr::from) };
                    ways.push(Way { from: *from, step, last_step, to: *to, read });
                }
            }
        }
        if ways.len().saturating_mul(self.most) > MOST_ALTERNATIVES {
            return None;
        }
        let mut left: Vec<Vec<Option<Expr>>> = Vec::with_capacity(self.most + 1);
        for most in 0..=self.most {
            let mut texts: Vec<Option<Expr>> = vec![None; self.counted.len()];
            // What is read without being counted leads to deeper states, which come first.
            for (at, from) in self.counted.iter().enumerate() {
                let mut alternatives: Vec<Expr> = ends[at].iter().map(|end| (*end).into()).collect();
                for way in ways.iter().filter(|way| way.from == *from) {
                    let Some(rest) = most.checked_sub(way.read) else { continue };
                    let Some(to) = self.counted.iter().position(|state| *state == way.to) else { continue };
                    let rest_of = if way.read == 0 { texts[to] } else { left[rest][to] };
                    let step = if rest == 0 && way.read > 0 { way.last_step } else { Some(way.step) };
                    alternatives.extend(step.zip(rest_of).map(|(step, rest)| builder.sequence(&[step, rest])));
                }
                texts[at] = (!alternatives.is_empty()).then(|| builder.rule("t", builder.choice(&alternatives)).into());
            }
            left.push(texts);
        }
        // The first state is the least deep.
        *left.pop()?.last()?
    }

    /// How many characters are certain to be no part of a marker after this step.
    fn read(&self, from: usize, to: usize) -> usize {
        (self.depths[from] + 1).saturating_sub(self.depths[to])
    }

    /// The step, if the last character that is counted then may be the last of all.
    fn last_step(&self, builder: &Builder, from: usize, set: &CharSet, to: usize) -> Option<Expr> {
        // The counted ones are those that the step does not leave pending; the last is the step's own if it leaves none.
        let at = self.depths[from].checked_sub(self.depths[to]);
        match at.and_then(|at| self.pending[from].get(at)) {
            _ if self.last.is_empty() || at.is_none() => Some(class(builder, set)),
            Some(char) => self.last.contains(char).then(|| class(builder, set)),
            None => {
                let last = self.last.iter().filter(|last| set.chars.contains(last) != set.negated);
                let last: Vec<Expr> = last.map(|last| builder.char(*last)).collect();
                (!last.is_empty()).then(|| builder.choice(&last))
            }
        }
    }

    /// The rule of the ways from a counted state, through states that are not counted: to a counted state, with so many characters
    /// read, of which the last may be the last of all if the flag is set, or to one of the stops.
    fn uncounted(
        &self,
        builder: &mut Builder,
        same: usize,
        from: usize,
        goal: Option<(usize, usize, bool)>,
        stops: &[usize],
    ) -> Option<RuleId> {
        let (to, read, last) = goal.unwrap_or((usize::MAX, 0, false));
        let key = format!("left {same} {from} {to} {read} {}", usize::from(last));
        if let Some(known) = builder.kept(&key) {
            return Some(known);
        }
        let rule = way(builder, "t", from, &|builder, state| {
            let steps = chars(self.until, state).filter_map(|(set, to)| match (self.counted.contains(&to), goal) {
                (false, _) => Some((class(builder, set), Some(to))),
                // Steps between counted states are no ways.
                (true, Some((goal, read, last))) if state != from && (goal, read) == (to, self.read(state, to)) => {
                    let step = if last { self.last_step(builder, state, set, to) } else { Some(class(builder, set)) };
                    step.map(|step| (step, None))
                }
                (true, _) => None,
            });
            steps.chain(stopping(builder, self.until, state, stops)).collect()
        })?;
        builder.keep(&key, rule);
        Some(rule)
    }
}

/// The characters that lead from a state to others.
fn chars(until: &Until, state: usize) -> impl Iterator<Item = (&CharSet, usize)> {
    until.states[state].transitions.iter().filter_map(|transition| match transition {
        Transition::Char(set, to) => Some((set, *to)),
        Transition::Stop(..) | Transition::Peek(_) => None,
    })
}

/// The steps of a state that end a text with one of these stops.
fn stopping<'s>(
    builder: &'s Builder,
    until: &'s Until,
    state: usize,
    stops: &'s [usize],
) -> impl Iterator<Item = (Expr, Option<usize>)> + 's {
    until.states[state].transitions.iter().filter_map(move |transition| match transition {
        Transition::Char(..) => None,
        Transition::Stop(char, stop) => stops.contains(stop).then(|| (builder.char(*char), None)),
        Transition::Peek(stop) => stops.contains(stop).then_some((Expr::EMPTY, None)),
    })
}

/// The rule of a way through the automaton from its first state. `None` if it leads nowhere.
fn part(builder: &mut Builder, name: &str, until: &Until, kind: Route<'_>) -> Option<RuleId> {
    way(builder, name, 0, &|builder, state| {
        let steps = chars(until, state).map(|(set, to)| (class(builder, set), to));
        match kind {
            Route::Round => steps.map(|(set, to)| (set, Some(to).filter(|to| *to != 0))).collect(),
            // A way to the end does not come back.
            Route::To(stops) => {
                let on = steps.filter(|(_, to)| *to != 0).map(|(set, to)| (set, Some(to)));
                on.chain(stopping(builder, until, state, stops)).collect()
            }
        }
    })
}

/// What may come next in a state, and the state to which it leads; `None` is the end of the way.
type Steps = Vec<(Expr, Option<usize>)>;

/// The rule of the ways from a state. `steps` says for a state which characters come next, and to which state they lead; `None` is the
/// end of the way. Without an end there is no rule.
fn way(builder: &mut Builder, name: &str, from: usize, steps: &dyn Fn(&Builder, usize) -> Steps) -> Option<RuleId> {
    let mut states = vec![from];
    let mut all: Vec<Steps> = Vec::new();
    while let Some(state) = states.get(all.len()) {
        let steps = steps(builder, *state);
        for to in steps.iter().filter_map(|(_, to)| *to) {
            if !states.contains(&to) {
                states.push(to);
            }
        }
        all.push(steps);
    }
    let at = |state: usize| states.iter().position(|known| *known == state);
    let mut lives = vec![false; all.len()];
    while let Some(more) = (0..all.len()).find(|index| {
        !lives[*index] && all[*index].iter().any(|(_, to)| to.is_none_or(|to| at(to).is_some_and(|to| lives[to])))
    }) {
        lives[more] = true;
    }
    let rules: Vec<Option<RuleId>> = lives.iter().map(|lives| lives.then(|| builder.reserve(name))).collect();
    for (steps, rule) in all.into_iter().zip(&rules) {
        let Some(rule) = rule else { continue };
        let alternatives = steps.into_iter().filter_map(|(expr, to)| match to {
            None => Some(expr),
            Some(to) => rules[at(to)?].map(|rule| builder.sequence(&[expr, rule.into()])),
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

    fn grammar(between: &Between<'_>, max: u32, strictly: bool) -> Grammar {
        let mut builder = Builder::new();
        let (made, _) = counted(&mut builder, "text", between, max, strictly).unwrap();
        Grammar::parse(&builder.grammar(made)).unwrap()
    }

    #[test]
    fn characters_are_counted() {
        let stops = vec![Stop { core: "</value>", confirm: Vec::new(), peek: false }];
        let between = Between { stops, ends: vec![0], before: vec!["\n"], after: "\n" };
        for (max, strictly) in [(0, false), (1, false), (30, false), (2_000, false), (0, true), (1, true), (400, true)]
        {
            let grammar = grammar(&between, max, strictly);
            let text = |length: u32| "x".repeat(length as usize);
            for (text, fits) in [
                (format!("\n{}\n</value>", text(max)), true),
                (format!("{}</value>", text(max)), true),
                // Without white space before the marker, one more is accepted where rounds are counted.
                (format!("{}</value>", text(max + 1)), !strictly),
                (format!("\n{}\n</value>", text(max + 1)), false),
                (format!("{}</value>", text(max + 2)), false),
                ("</val</value>".to_owned(), !strictly || max > 4),
                (format!("{}a < b </val</value>", text(max.saturating_sub(12))), max > 11),
                ("</val".repeat(max as usize) + "</value>", !strictly || max == 0),
            ] {
                assert_eq!(grammar.check(&text).is_ok(), fits, "{max}: {} characters", text.len());
            }
        }
        let limit = |max| counted(&mut Builder::new(), "text", &between, max, true);
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
            let mut between = Between { stops, ends, before: vec![""; cores.len()], after: "" };
            for (max, strictly, before) in [
                (0, false, ""),
                (2, false, ""),
                (4, false, ""),
                (0, true, ""),
                (2, true, ""),
                (4, true, ""),
                (3, true, "\n"),
            ] {
                between.before = vec![before; cores.len()];
                let grammar = grammar(&between, max, strictly);
                for text in texts(alphabet, 7) {
                    let ends = cores.iter().filter_map(|core| Some(text.find(core)? + core.len()));
                    let ends_first = ends.min() == Some(text.len());
                    let core = cores.iter().find(|core| text.ends_with(**core)).map_or(0, |core| core.len());
                    let body = &text[..text.len() - core];
                    let fits = ends_first && body.strip_suffix(before).unwrap_or(body).len() <= max as usize;
                    let accepted = grammar.check(&text).is_ok();
                    assert!(accepted || !fits, "{text:?} {between:?} {max}");
                    assert!(!accepted || ends_first && (!strictly || fits), "{text:?} {between:?} {max}");
                    checked += usize::from(fits);
                }
            }
        }
        assert!(checked > 500, "{checked}");
    }
}
