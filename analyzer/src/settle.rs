//! Chooses among the conclusions: the parser of a spec must read back the turns that the conclusions were drawn from. What
//! it does not read back is left out of the spec, and named.

use std::collections::BTreeMap;

use unjinja_runtime::Interpreter;
use unjinja_spec::{Content, FormatSpec, MarkerKey, Reasoning, ReasoningMode, Status, ToolFormat, Tools};

use crate::ask::{Observed, speaks_of_thinking};
use crate::conclude::{self, Evidence, PromptEnd, is_in_header};
use crate::error::Gap;
use crate::message_kind::MessageKind;
use crate::probe::Probe;
use crate::small_turns::small_turns;
use crate::text;
use crate::verify::{TrialOutcome, Trials, message_of, parser};

/// What is missing from a spec if tools are offered and the template renders no calls.
pub(crate) const NO_CALL_SHOWN: &str =
    "tools are offered, but no render shows a call, so how the model writes calls is unknown";

/// How a gap ends if the template's text has to do with reasoning that no render shows.
pub(crate) const NO_REASONING: &str = "no render shows reasoning";

/// How a gap ends if the template's text has to do with calls that no render shows.
pub(crate) const NO_CALL: &str = "no render shows a call";

/// A spec, and what is wrong with it.
struct Candidate {
    spec: FormatSpec,
    /// What the conclusions could not express.
    gaps: Vec<Gap>,
    /// Why no parser can be made from it.
    refused: Vec<String>,
    /// How often each kind of conversation is not read back.
    wrong: Wrong,
    /// A render shows reasoning with a marker, and the spec has none.
    lacks_reasoning: bool,
}

impl Candidate {
    fn new(probe: &Probe<'_>, o: &Observed, spec: FormatSpec, gaps: Vec<Gap>) -> Self {
        let (mut refused, mut wrong) = (Vec::new(), Wrong::default());
        match parser(&spec) {
            Ok(parser) => wrong = Wrong::of(probe, o, &spec, parser),
            Err(problems) => refused = problems,
        }
        let shows_reasoning = o.reasoning.iter().any(|reasoned| reasoned.is_marked());
        let lacks_reasoning = shows_reasoning && spec.reasoning.mode == ReasoningMode::None;
        Self { spec, gaps, refused, wrong, lacks_reasoning }
    }

    fn rank(&self) -> Rank {
        Rank {
            refused: !self.refused.is_empty(),
            loses_answers: self.wrong.mostly(MessageKind::is_answer),
            lacks_reasoning: self.lacks_reasoning,
            failed: self.wrong.0.values().map(|tally| tally.failed).sum(),
            gaps: self.gaps.len(),
        }
    }

    /// Whether its parser reads most conversations of every kind without calls.
    fn reads_texts(&self) -> bool {
        self.refused.is_empty() && !self.wrong.mostly(|kind| kind.calls == 0)
    }

    /// The same without calls, and perhaps without reasoning and the markers of the answer.
    fn without(&self, reasoning: bool) -> FormatSpec {
        let mut spec = self.spec.clone();
        spec.tools = Tools::default();
        spec.alternatives.clear();
        spec.reasoning.ended_by_call = false;
        spec.content.after_calls = false;
        if reasoning {
            (spec.reasoning, spec.content) = (Reasoning::default(), Content::default());
        }
        spec
    }
}

/// How bad a candidate is. The candidate with the least rank wins. The fields are compared in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    refused: bool,
    /// Its parser loses more than half of the answers of some kind.
    loses_answers: bool,
    /// It has no reasoning, so it is not asked for turns with reasoning either.
    lacks_reasoning: bool,
    /// The number of conversations that are not read back.
    failed: usize,
    gaps: usize,
}

impl Rank {
    const PERFECT: Self = Self { refused: false, loses_answers: false, lacks_reasoning: false, failed: 0, gaps: 0 };
}

/// How many of the smallest conversations of a kind were read back wrongly.
#[derive(Default)]
struct Tally {
    tried: usize,
    failed: usize,
}

/// For each kind, how many of the smallest conversations that a template may render were read back wrongly.
#[derive(Default)]
struct Wrong(BTreeMap<MessageKind, Tally>);

impl Wrong {
    fn of(probe: &Probe<'_>, o: &Observed, spec: &FormatSpec, parser: Interpreter) -> Self {
        let (style, extra) = o.calls.as_ref().map_or((o.style, &[][..]), |calls| (calls.style, &calls.extra));
        let trials = Trials::with(probe, spec, parser, style, extra.to_vec());
        let mut kinds: BTreeMap<MessageKind, Tally> = BTreeMap::new();
        for turn in small_turns(spec) {
            let message = message_of(&turn);
            let kind = MessageKind::of(&message);
            let trial = trials.run(&turn, message);
            if !matches!(trial, TrialOutcome::Lost(_)) {
                let tally = kinds.entry(kind).or_default();
                tally.tried += 1;
                tally.failed += usize::from(matches!(trial, TrialOutcome::Failed(_)));
            }
        }
        Self(kinds)
    }

    /// Whether more than half of the conversations of such a kind fail.
    fn mostly(&self, is_such: impl Fn(&MessageKind) -> bool) -> bool {
        self.0.iter().any(|(kind, tally)| is_such(kind) && tally.failed * 2 > tally.tried)
    }

    fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter(|(_, tally)| tally.failed > 0).map(|(kind, tally)| match tally {
            Tally { tried, failed } if failed == tried => format!("the parser does not read back {kind}"),
            Tally { tried, failed } => format!("the parser does not read back {failed} of {tried} forms of {kind}"),
        })
    }
}

/// The spec of what was observed, with its status and gaps.
pub(crate) fn settle(probe: &Probe<'_>, o: &Observed) -> FormatSpec {
    let mut best: Option<Candidate> = None;
    for evidence in Evidence::ALL {
        let (spec, gaps) = conclude::format(o, evidence);
        if best.as_ref().is_some_and(|best| best.spec == spec) {
            continue;
        }
        let candidate = Candidate::new(probe, o, spec, gaps);
        let better = best.as_ref().is_none_or(|best| candidate.rank() < best.rank());
        if better {
            best = Some(candidate);
        }
        if best.as_ref().is_some_and(|best| best.rank() == Rank::PERFECT) {
            break;
        }
    }
    let Some(first) = best else { return conclude::format(o, Evidence::ALL[0]).0 };
    let mut reasons = first.refused.clone();
    reasons.extend(first.gaps.iter().map(ToString::to_string));
    reasons.extend(first.wrong.sentences());
    let mut chosen = first;
    // What makes the parser fail is left out, as little as possible.
    for without_reasoning in [false, true] {
        let calls_fail = chosen.wrong.mostly(|kind| kind.calls > 0 && !kind.reasoning && !kind.answer);
        if chosen.reads_texts() && !(calls_fail && chosen.spec.tools.format != ToolFormat::None) {
            break;
        }
        let less = Candidate::new(probe, o, chosen.without(without_reasoning), Vec::new());
        if less.reads_texts() || !chosen.reads_texts() {
            chosen = less;
        }
    }
    let reads_answers = chosen.refused.is_empty() && !chosen.wrong.mostly(MessageKind::is_answer);
    let mut spec = chosen.spec;
    let status = if reads_answers { Status::Partial } else { Status::Unsupported };
    reasons.extend(slips(&mut spec));
    for reason in reasons.into_iter().chain(missing(o, &spec)) {
        if !spec.gaps.contains(&reason) {
            spec.add_gap(status, reason);
        }
    }
    spec
}

/// The markers that begin with a letter or digit directly after a text. After an argument's value it is left out: models write what
/// comes then.
fn slips(spec: &mut FormatSpec) -> Vec<String> {
    let arguments = &mut spec.tools.arguments;
    let value = match arguments.value_suffix.as_str() {
        "" => (MarkerKey::ArgumentClosePrefix, &mut arguments.close_prefix),
        _ => (MarkerKey::ArgumentValueSuffix, &mut arguments.value_suffix),
    };
    let texts = [
        (MarkerKey::ReasoningEnd, &mut spec.reasoning.end),
        (MarkerKey::ContentEnd, &mut spec.content.end),
        (MarkerKey::TurnEnd, &mut spec.turn.end),
    ];
    let slip = |(key, text): (MarkerKey, &mut String)| {
        let letter = text.chars().next().filter(|c| c.is_alphanumeric())?;
        let rest = text.trim_start_matches(char::is_alphanumeric);
        if key.as_str().starts_with("tools") && !rest.trim().is_empty() {
            *text = rest.to_owned();
        }
        let key = key.as_str();
        Some(format!(
            "`{key}` begins with {letter:?} directly after a value: no marker does, so the template may have a slip"
        ))
    };
    std::iter::once(value).chain(texts).filter_map(slip).collect()
}

/// What the spec lacks although the template shows it, or is told to show it.
fn missing(o: &Observed, spec: &FormatSpec) -> Vec<String> {
    let mut gaps = Vec::new();
    if o.refuses_answers {
        gaps.push(
            "the template refuses every answer, so its turn is taken from the prompt and a user's message".to_owned(),
        );
    }
    let can = &spec.capabilities;
    let known = |open: &str| spec.markers().any(|(key, text)| key != MarkerKey::AssistantStart && text.contains(open));
    let usual = o.prompts.iter().map(|prompt| ("a prompt".to_owned(), prompt));
    let elsewhere = o.elsewhere.iter().map(|one| (format!("the prompt {}", one.with), &one.prompt));
    let ends = usual.chain(elsewhere).filter_map(|(what, prompt)| Some((what, PromptEnd::of(o, prompt)?)));
    let mut named = Vec::new();
    for (what, end) in ends {
        let open = end.open;
        let gap = if end.is_sure && !spec.reasoning.start.contains(&open) {
            format!("{what} ends in {open}, but the spec does not say that this opens reasoning")
        } else if !end.is_sure && spec.reasoning.mode == ReasoningMode::None && !known(&open) {
            format!("{what} ends in {open}, and nothing shows whether it opens reasoning")
        } else {
            continue;
        };
        // Several prompts may show the same.
        if !named.contains(&open) {
            gaps.push(gap);
            named.push(open);
        }
    }
    if spec.tools.format == ToolFormat::None {
        if o.shows_calls() {
            gaps.push("the template renders tool calls, but the spec does not say how they are written".to_owned());
        } else if can.tools {
            gaps.push(NO_CALL_SHOWN.to_owned());
        }
    }
    let cut = o.split.iter().filter(|split| split.drops() && !o.encloses_user(&split.tag));
    if let Some(split) = cut.into_iter().find(|split| !known(&split.tag)) {
        gaps.push(format!("past answers are cut at {}, and the spec has no marker of it", split.tag));
    }
    if spec.tools.format == ToolFormat::None && !o.shows_calls() && !can.tools {
        let is_call = |end: &&String| ["tool_call", "toolcall", "function_call"].iter().any(|word| end.contains(word));
        let closes = |end: &&String| text::opening_tag(end).is_some_and(|open| o.marks.contains(&open));
        let end = o.marks.iter().filter(is_call).filter(closes).find(|end| !known(end));
        gaps.extend(end.map(|end| format!("the text of the template has {end}, and {NO_CALL}")));
    }
    if spec.reasoning.mode == ReasoningMode::None {
        let is_marker = |tag: &str| spec.markers().any(|(_, text)| text.contains(tag)) || is_in_header(o, tag);
        let spoken = |text| {
            text::tags(text).into_iter().find(|tag| speaks_of_thinking(tag) && !is_marker(tag) && !o.encloses_user(tag))
        };
        if let Some((with, tag)) = o.own_texts().find_map(|(with, text)| Some((with, spoken(text)?))) {
            let prompt = format!("the prompt {with}");
            gaps.push(format!("{} speaks of {tag}, and {NO_REASONING}", prompt.trim_end()));
        }
        if o.reasoning.iter().any(|reasoned| reasoned.is_marked()) {
            gaps.push("the template renders reasoning, but the spec does not say how it is written".to_owned());
        } else if let Some(field) = o.unmarked_reasoning() {
            gaps.push(format!(
                "the template renders `{field}` with nothing that marks its end, so it is read as the answer"
            ));
        } else if let Some(name) = o.thinking_switch() {
            gaps.push(format!("`{name}` changes the prompt, but no render shows reasoning"));
        }
    }
    gaps
}
