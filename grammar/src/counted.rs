//! Free text of a limited length up to a marker.
//!
//! A grammar counts only what it repeats, and text up to a marker is no repetition: it is an automaton whose states remember how
//! much of the marker has been read ([`Until`]). So each rule here is a state of that automaton *and* the number of characters
//! that were read. White space that the template writes next to the markers is not part of the text, and is not counted where a
//! parser removes it.
//!
//! This takes as many rules as the automaton has states, times the length. Where these are too many, the automaton's *rounds* are
//! counted instead: ways from its first state back to it. A round is one character, unless the text contains the beginning of a
//! marker. So no text is refused, and none is endless, but some that are too long are accepted.

use super::schema::Count;
use super::text_rules::class;
use super::until::{CharSet, Stop, Transition, Until};
use super::{Builder, Expr, RuleId};
use crate::small::{List, Map};

/// The maximum number of rules that count one text exactly.
const RULES: usize = 4096;

/// The maximum number of such rules for all texts of a grammar together.
const ALL_RULES: usize = 16_384;

/// The maximum length of the white space before a marker that is told apart from the text.
const LAYOUT: usize = 3;

/// Text between two markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Between<'t> {
    /// The markers at which it ends.
    pub(crate) stops: Vec<Stop<'t>>,
    /// White space before each of these markers.
    pub(crate) before: Vec<&'t str>,
    /// White space after the marker that opens it.
    pub(crate) after: &'t str,
}

/// The rules of a text with its closing marker, and whether they count exactly.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) expr: Expr,
    pub(crate) exact: bool,
}

/// The text, of a length within these limits, and the marker that ends it. `None` if nothing can be said about its length.
pub(crate) fn counted(builder: &mut Builder, name: &str, between: &Between<'_>, count: Count) -> Option<Counted> {
    let most = RULES.min(ALL_RULES.saturating_sub(builder.counting_rules()));
    let before = builder.len();
    if let Some(expr) = Exact::new(between, count).and_then(|maker| maker.write(builder, name, most)) {
        builder.spend_counting_rules(builder.len() - before);
        return Some(Counted { expr, exact: true });
    }
    Some(Counted { expr: rounds(builder, name, between, count.max?)?, exact: false })
}

/// The keywords that a text does not keep to, and why.
pub(crate) fn lost(count: Count, made: Option<&Counted>) -> Vec<(&'static str, &'static str)> {
    let (min, max) = match made {
        Some(Counted { exact: true, .. }) => return Vec::new(),
        Some(_) => (UNCOUNTED, "raw text that contains the beginning of its closing marker may be longer"),
        None => (UNCOUNTED, UNCOUNTED),
    };
    let keywords = [("minLength", min, count.min > 0), ("maxLength", max, count.max.is_some())];
    keywords.into_iter().filter(|(.., limited)| *limited).map(|(keyword, why, _)| (keyword, why)).list()
}

const UNCOUNTED: &str = "the limit is too high for a grammar of raw text";

// ----- exactly -----

/// What a rule remembers: the state of the automaton, how much of the white space after the opening marker was read (all of it,
/// as soon as other text comes), and the number of characters that were read, with those of a marker that has begun.
type Key = (usize, usize, u32);

/// How a text continues: with these characters to another rule, or with this one to its end.
enum Step {
    To(CharSet, usize),
    End(Option<char>),
}

struct Exact {
    until: Until,
    /// For each stop of the automaton: the marker that it is a form of, and its length.
    forms: Vec<(usize, u32)>,
    after: Vec<char>,
    count: Count,
    /// Counts above this one are alike.
    cap: u32,
}

impl Exact {
    /// `None` if white space before a marker cannot be told apart.
    fn new(between: &Between<'_>, count: Count) -> Option<Self> {
        let before = between.before.first().copied().unwrap_or_default();
        if between.before.iter().any(|other| *other != before) {
            return None;
        }
        let layouts = layouts(before)?;
        if layouts.len() > 1 && between.stops.iter().any(|stop| stop.peek) {
            return None;
        }
        // A marker with white space before it is a marker of its own: so it shows at its end which of them was there.
        let all = between.stops.iter().enumerate();
        let all = all
            .flat_map(|(marker, stop)| layouts.iter().map(move |layout| (marker, stop, [layout, stop.core].concat())));
        let all: Vec<(usize, &Stop<'_>, String)> = all.list();
        let forms: Vec<(usize, u32)> = all.iter().map(|(marker, _, core)| (*marker, length(core))).list();
        let stops: Vec<Stop<'_>> = all.iter().map(|(_, stop, core)| Stop { core, ..(*stop).clone() }).list();
        let until = Until::new(&stops);
        let longest = forms.iter().map(|(_, length)| *length).max().unwrap_or(0);
        let cap = count.max.unwrap_or(count.min).checked_add(longest)?;
        let after: Vec<char> = between.after.chars().list();
        Some(Self { until, forms, after, count, cap })
    }

    /// `None` if no text has this length, or if it takes more than `most` rules.
    fn write(&self, builder: &mut Builder, name: &str, most: usize) -> Option<Expr> {
        let mut keys: Vec<Key> = vec![(0, 0, 0)];
        let mut known: Map<Key, usize> = Map::new();
        known.insert((0, 0, 0), 0);
        let mut steps: Vec<Vec<Step>> = Vec::new();
        while let Some(&key) = keys.get(steps.len()) {
            let mut number = |key: Key| {
                *known.get_or_insert_with(key, || {
                    keys.push(key);
                    keys.len() - 1
                })
            };
            steps.push(self.steps(key, &mut number));
            if keys.len() > most {
                return None;
            }
        }
        let lives = lives(&steps);
        if !*lives.first()? {
            return None;
        }
        let rules: Vec<Option<RuleId>> = lives.iter().map(|lives| lives.then(|| builder.reserve(name))).list();
        for (steps, rule) in steps.iter().zip(&rules) {
            let Some(rule) = rule else { continue };
            let alternatives = steps.iter().filter_map(|step| match step {
                Step::To(chars, to) => rules[*to].map(|to| builder.sequence(&[class(builder, chars), to.into()])),
                Step::End(char) => Some(char.map_or(Expr::EMPTY, |char| builder.char(char))),
            });
            let alternatives = alternatives.list();
            builder.define(*rule, builder.choice(&alternatives));
        }
        Some((*rules.first()?)?.into())
    }

    fn steps(&self, (state, front, count): Key, number: &mut impl FnMut(Key) -> usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let Some(here) = self.until.states.get(state) else { return steps };
        for transition in &here.transitions {
            match transition {
                Transition::Char(chars, next) => {
                    let mut rest = chars.clone();
                    let layout = self.after.get(front..).unwrap_or_default();
                    for (offset, char) in layout.iter().enumerate() {
                        if rest.contains(*char) && !layout[..offset].contains(char) {
                            rest.remove(*char);
                            let only = CharSet { negated: false, chars: vec![*char] };
                            steps.push(Step::To(only, number((*next, front + offset + 1, 0))));
                        }
                    }
                    let count = self.cap.min(count + 1);
                    if !rest.is_empty() && (self.count.max.is_none() || count < self.cap) {
                        steps.push(Step::To(rest, number((*next, self.after.len(), count))));
                    }
                }
                Transition::Stop(char, stop) if self.is_longest(&here.transitions, *char, *stop) => {
                    let text = self.cap.min(count + 1).saturating_sub(self.forms[*stop].1);
                    if self.fits(text) {
                        steps.push(Step::End(Some(*char)));
                    }
                }
                Transition::Stop(..) => {}
                Transition::Peek(_) if self.fits(count) => steps.push(Step::End(None)),
                Transition::Peek(_) => {}
            }
        }
        steps
    }

    /// Whether no longer form of the same marker ends here: white space before a marker is never text.
    fn is_longest(&self, transitions: &[Transition], char: char, stop: usize) -> bool {
        let (marker, length) = self.forms[stop];
        transitions.iter().all(|other| match other {
            Transition::Stop(last, other) if *last == char => {
                self.forms[*other].0 != marker || self.forms[*other].1 <= length
            }
            _ => true,
        })
    }

    fn fits(&self, text: u32) -> bool {
        text >= self.count.min && self.count.max.is_none_or(|max| text <= max)
    }
}

/// What of this white space may be before a marker: some of its characters, in its order. `None` if it is too long.
fn layouts(before: &str) -> Option<Vec<String>> {
    let mut layouts = vec![String::new()];
    if before.chars().count() > LAYOUT {
        return None;
    }
    for char in before.chars() {
        for layout in layouts.clone() {
            let longer = format!("{layout}{char}");
            if !layouts.contains(&longer) {
                layouts.push(longer);
            }
        }
    }
    Some(layouts)
}

/// Which of these rules can come to an end.
fn lives(steps: &[Vec<Step>]) -> Vec<bool> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    let mut lives = vec![false; steps.len()];
    let mut queue = Vec::new();
    for (at, steps) in steps.iter().enumerate() {
        for step in steps {
            match step {
                Step::To(_, to) => users[*to].push(at),
                Step::End(_) => queue.push(at),
            }
        }
    }
    while let Some(at) = queue.pop() {
        if !std::mem::replace(&mut lives[at], true) {
            queue.append(&mut users[at]);
        }
    }
    lives
}

fn length(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

// ----- in rounds -----

/// At most `most` rounds, white space next to the markers, and the marker. `None` if no marker can be reached.
fn rounds(builder: &mut Builder, name: &str, between: &Between<'_>, most: u32) -> Option<Expr> {
    let until = Until::new(&between.stops);
    let round = part(builder, &format!("{name}-part"), &until, true)?;
    let end = part(builder, &format!("{name}-end"), &until, false)?;
    let mut all: Vec<Expr> = between.after.chars().map(|char| builder.option(builder.char(char))).list();
    // Before the end it cannot be told from the text.
    let before = between.before.iter().map(|before| length(before)).max().unwrap_or(0);
    let most = most.saturating_add(before);
    all.extend([builder.repeat(round, 0, Some(most)), end.into()]);
    Some(builder.rule(name, builder.sequence(&all)).into())
}

/// The rule of a way through the automaton from its first state: to this state again, or else to the end of the text.
fn part(builder: &mut Builder, name: &str, until: &Until, again: bool) -> Option<RuleId> {
    let steps = until.states.iter().map(|state| {
        let steps = state.transitions.iter().filter_map(|transition| match transition {
            Transition::Char(chars, next) => Some((class(builder, chars), Some(*next))),
            Transition::Stop(char, _) => (!again).then(|| (builder.char(*char), None)),
            Transition::Peek(_) => (!again).then_some((Expr::EMPTY, None)),
        });
        // A way to the end does not come back.
        steps.filter(|(_, next)| again || *next != Some(0)).list()
    });
    let steps: Vec<Vec<(Expr, Option<usize>)>> = steps.list();
    let ends = |next: &Option<usize>| next.is_none() || (again && *next == Some(0));
    let mut lives = vec![false; steps.len()];
    while let Some(more) = (0..steps.len())
        .find(|at| !lives[*at] && steps[*at].iter().any(|(_, next)| ends(next) || next.is_some_and(|next| lives[next])))
    {
        lives[more] = true;
    }
    let rules: Vec<Option<RuleId>> = lives.iter().map(|lives| lives.then(|| builder.reserve(name))).list();
    for (steps, rule) in steps.into_iter().zip(&rules) {
        let Some(rule) = rule else { continue };
        let alternatives = steps.into_iter().filter_map(|(expr, next)| match next {
            next if ends(&next) => Some(expr),
            next => rules[next?].map(|rule| builder.sequence(&[expr, rule.into()])),
        });
        let alternatives: Vec<Expr> = alternatives.list();
        builder.define(*rule, builder.choice(&alternatives));
    }
    rules.first().copied().flatten()
}

#[cfg(test)]
mod tests {
    use unjinja_gbnf::Grammar;

    use super::*;

    fn stop<'p>(core: &'p str, confirm: &[&'p str]) -> Stop<'p> {
        Stop { core, confirm: confirm.to_vec(), peek: false }
    }

    /// The grammar of a text between these markers, and whether it counts exactly.
    fn grammar(between: &Between<'_>, min: u32, max: Option<u32>) -> (Grammar, bool) {
        let mut builder = Builder::new();
        let made = counted(&mut builder, "text", between, Count { min, max }).unwrap();
        (Grammar::parse(&builder.grammar(made.expr)).unwrap(), made.exact)
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

    /// The length of the text before the first marker, if that is at the end and nowhere else. White space is left out on both
    /// sides as parsers do it.
    fn length_of(text: &str, between: &Between<'_>) -> Option<usize> {
        let ends = |stop: &Stop<'_>| Some((text.find(stop.core)?, stop.core.len()));
        let (at, long) = between.stops.iter().filter_map(ends).min_by_key(|(at, long)| at + long)?;
        let mut inside: Vec<char> = (at + long == text.len()).then(|| text[..at].chars().collect())?;
        let mut after = between.after.chars();
        while let Some(first) = inside.first()
            && after.any(|char| char == *first)
        {
            inside.remove(0);
        }
        for char in between.before[0].chars().rev() {
            if inside.last() == Some(&char) {
                inside.pop();
            }
        }
        Some(inside.len())
    }

    #[test]
    fn every_short_text_is_counted() {
        let mut checked = 0;
        for (cores, alphabet) in
            [(&["<>"][..], "a<>\n"), (&["<a>"], "a<>\n"), (&["aab"], "ab\n "), (&["<b", "<>"], "<>b\n")]
        {
            for (after, before) in [("", ""), ("\n", ""), ("", "\n"), ("\n", "\n"), ("\n ", " \n")] {
                let stops: Vec<Stop<'_>> = cores.iter().map(|core| stop(core, &[])).collect();
                let between = Between { before: vec![before; stops.len()], stops, after };
                let texts = texts(alphabet, 7);
                for (min, max) in [(0, Some(0)), (0, Some(2)), (1, Some(1)), (2, Some(4)), (1, None), (3, None)] {
                    let (grammar, exact) = grammar(&between, min, max);
                    assert!(exact, "{between:?} {min} {max:?}");
                    for text in &texts {
                        let length = length_of(text, &between).map(|length| length as u32);
                        let fits = length.is_some_and(|length| length >= min && max.is_none_or(|max| length <= max));
                        assert_eq!(grammar.check(text).is_ok(), fits, "{text:?}, {between:?} {min} {max:?}");
                        checked += 1;
                    }
                }
            }
        }
        assert!(checked > 1_000_000, "{checked}");
    }

    #[test]
    fn a_marker_without_its_confirmation_is_text() {
        let stops = vec![stop("</p>", &["<p>", "</f>"])];
        let between = Between { before: vec!["\n"; 1], stops, after: "\n" };
        let (grammar, exact) = grammar(&between, 2, Some(6));
        assert!(exact);
        for (text, fits) in [
            ("\nab\n</p>", true),
            ("\nabcdef\n</p>", true),
            ("\nabcdefg\n</p>", false),
            ("abcdef</p>", true),
            ("\na\n</p>", false),
            // The first closer is text, and counts.
            ("a</p>b</p>", true),
            ("ab</p>c</p>", false),
            ("\n</p><p>", false),
        ] {
            assert_eq!(grammar.check(text).is_ok(), fits, "{text:?}");
        }
    }

    #[test]
    fn what_is_left_for_the_next_state_is_not_counted() {
        let stops = vec![Stop { core: "<a>", confirm: Vec::new(), peek: true }];
        let (grammar, exact) = grammar(&Between { stops, before: vec![""], after: "" }, 1, Some(3));
        assert!(exact);
        for (text, fits) in [("", false), ("x", true), ("x<a", true), ("<a>", false), ("xyzw", false)] {
            assert_eq!(grammar.check(text).is_ok(), fits, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_counted_in_rounds() {
        let stops = vec![stop("</value>", &[])];
        let between = Between { stops, before: vec!["\n"], after: "\n" };
        for max in [2_000, 70_000] {
            let (grammar, exact) = grammar(&between, 1, Some(max));
            assert!(!exact);
            let text = |length: u32, inside: &str| {
                let inside_length = inside.chars().count();
                format!("\n{}{inside}\n</value>", "x".repeat(length as usize - inside_length))
            };
            if max == 2_000 {
                // Without white space before the marker, one more is accepted.
                let bare = format!("{}</value>", "x".repeat(max as usize + 1));
                for (text, fits) in [
                    (text(max, ""), true),
                    (text(max, "a < b </val"), true),
                    (text(max + 1, ""), false),
                    (format!("x{bare}"), false),
                    (bare, true),
                ] {
                    assert_eq!(grammar.check(&text).is_ok(), fits, "{} characters", text.len());
                }
            }
            let lost = lost(Count { min: 1, max: Some(max) }, Some(&Counted { expr: Expr::EMPTY, exact }));
            assert_eq!(lost.iter().map(|(keyword, _)| *keyword).collect::<Vec<_>>(), ["minLength", "maxLength"]);
        }
        let mut builder = Builder::new();
        assert!(counted(&mut builder, "text", &between, Count { min: 9_000, max: None }).is_none());
    }

    #[test]
    fn all_texts_together_take_a_limited_number_of_rules() {
        let mut builder = Builder::new();
        let mut exact = 0;
        for max in 200..260 {
            let stops = vec![stop("</value>", &[])];
            let between = Between { stops, before: vec![""], after: "" };
            let made = counted(&mut builder, "text", &between, Count { min: 0, max: Some(max) }).unwrap();
            exact += usize::from(made.exact);
        }
        assert!(exact > 3 && exact < 60, "{exact}");
        assert!(builder.len() < 2 * ALL_RULES, "{} rules", builder.len());
    }
}
