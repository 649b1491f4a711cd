//! The test of a spec: the template renders random conversations, and an interpreted parser reads them back.
//!
//! If a message does not survive the round trip, either the template lost it (its render does not contain it) or the parser
//! read it wrongly.
//! Only the latter counts against the spec.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use unjinja_codegen::interpreter;
use unjinja_runtime::{Interpreter, Message, Options, Tools, parse};
use unjinja_spec::{
    Carrier, EmptyContent, FormatSpec, MarkerKey, ReasoningMode, RoundTrips, Status, TemplateInfo, ToolFormat,
};

use crate::ask::working_style;
use crate::continuations::{Continuation, ContinuationKind, Continued, QUESTION};
use crate::conversation::{AssistantMessage, Call, Style, tools_for};
use crate::error::quoted;
use crate::message_kind::{MessageKind, same};
use crate::observed::MessagePart;
use crate::probe::{Probe, Variable};
use crate::quoted;
use crate::random::Random;
use crate::sentinels::SENTINELS;
use crate::smallest::small_turns;
use crate::text;
use unjinja_render::{RenderError, Template, with_big_stack};

/// How many turns are tried after results of calls, and the text of each result.
const AFTER_RESULTS: usize = 12;
const RESULT: &str = "Nineteen degrees.";

/// The results of the random conversations.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// How many were rendered.
    pub tried: u32,
    /// How many gave the same message back.
    pub held: u32,
    /// How many the template cannot render, or renders without part of the message.
    pub lost_by_template: u32,
    /// How many of these have a text that the template changes, and that came back as the template writes it.
    pub changed_by_template: u32,
    /// The conversations that gave another message back.
    pub failures: Vec<Failure>,
    /// The turns that gave the same message back.
    pub turns: Vec<Rendered>,
    /// The figures of each kind of conversation that was tried.
    pub kinds: BTreeMap<MessageKind, RoundTrips>,
    /// Turns with a call that quotes a marker of the template's roles, and that gave the same message back. They do not count
    /// among the conversations.
    pub quoting: Vec<Rendered>,
    /// What no past turn shows: outputs that continue the template's prompts. They do not count among the conversations.
    pub continuations: Vec<Continuation>,
    /// Turns that follow the result of a call, and that gave the same message back. They do not count among the conversations.
    pub after_results: Vec<AfterResult>,
    /// Why no parser can be made from the spec, so that nothing was tried.
    pub refused: Vec<String>,
}

/// A turn that follows the result of a call.
#[derive(Clone, Debug)]
pub struct AfterResult {
    /// The whole prompt.
    pub prompt: String,
    /// What of the prompt follows the text of the last result.
    pub tail: String,
    /// What the model writes after it.
    pub turn: Rendered,
}

/// An assistant turn that gave the same message back.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The render, without the part that the generation prompt writes.
    pub body: String,
    /// What was rendered.
    pub message: Message,
    /// The tools that were offered.
    pub tools: Tools,
}

/// A conversation that gave another message back.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The render of the assistant's turn.
    pub rendered: String,
    /// What was rendered.
    pub expected: Message,
    /// What the parser read.
    pub parsed: Message,
    pub(crate) turn: AssistantMessage,
}

impl Verification {
    /// Whether every conversation and every continuation of a prompt came back.
    pub fn all_held(&self) -> bool {
        self.held == self.tried && self.wrong_continuations().next().is_none()
    }

    /// The continuations of prompts that were read wrongly.
    pub fn wrong_continuations(&self) -> impl Iterator<Item = &Continuation> {
        self.continuations.iter().filter(|one| !one.held())
    }

    /// What the parser of the spec gets wrong: each kind of conversation of which more than one in ten came back as
    /// something else, and what the spec claims and nothing tried. Each with the status that the spec deserves.
    pub fn gaps(&self, spec: &FormatSpec) -> Vec<(Status, String)> {
        let refused = self.refused.iter().map(|why| (Status::Unsupported, format!("no parser can be made: {why}")));
        let mut gaps: Vec<(Status, String)> = refused.collect();
        let wrong: Vec<_> = self.kinds.iter().filter(|(_, tally)| tally.held * 10 < tally.tried * 9).collect();
        let is_wrong = |failure: &&Failure| wrong.iter().any(|(kind, _)| **kind == MessageKind::of(&failure.expected));
        let shortest = self.failures.iter().filter(is_wrong).min_by_key(|failure| failure.rendered.len());
        if let Some(shortest) = shortest {
            let status = match wrong.iter().any(|(kind, _)| kind.is_answer()) {
                true => Status::Unsupported,
                false => Status::Partial,
            };
            let figure = |(kind, tally): &(&MessageKind, &RoundTrips)| {
                format!("{} of {} with {kind}", tally.tried - tally.held, tally.tried)
            };
            let figures = wrong.iter().map(figure).collect::<Vec<_>>().join(", ");
            let turn = quoted(&shortest.rendered);
            gaps.push((status, format!("some random turns came back wrong ({figures}); the shortest is {turn}")));
        }
        let wrong: Vec<&Continuation> = self.wrong_continuations().collect();
        if let Some(shortest) = wrong.iter().min_by_key(|one| one.output.len()) {
            let mut kinds = BTreeSet::new();
            kinds.extend(wrong.iter().map(|one| one.kind));
            let kinds = kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let [prompt, output] = [&shortest.prompt, &shortest.output].map(|text| quoted(text));
            let gap =
                format!("what follows a prompt came back wrong ({kinds}); after {prompt}, the shortest is {output}");
            gaps.push((Status::Partial, gap));
        }
        gaps.extend(self.untried(spec).map(|what| (Status::Partial, what.to_owned())));
        gaps
    }

    /// What the spec claims, and nothing tried.
    fn untried(&self, spec: &FormatSpec) -> impl Iterator<Item = &'static str> {
        let calls = spec.tools.format != ToolFormat::None && spec.capabilities.tool_calls;
        let calls = calls && spec.evidence.described.tool_calls.is_none();
        let is_tried = self.tried + self.changed_by_template > 0;
        let gaps = [
            (!is_tried, "no random turn could be rendered whole, so past turns are not verified"),
            (
                is_tried && calls && !self.kinds.keys().any(|kind| kind.calls > 0),
                "no random turn with a call could be rendered, so calls are not verified",
            ),
            (
                is_tried && spec.reasoning.mode != ReasoningMode::None && !self.tried_reasoning(),
                "no turn with reasoning could be rendered, so reasoning is not verified",
            ),
        ];
        let was_refused = !self.refused.is_empty();
        gaps.into_iter().filter(move |(is_gap, _)| *is_gap && !was_refused).map(|(_, gap)| gap)
    }

    fn tried_reasoning(&self) -> bool {
        let continued = |one: &Continuation| !one.expected.reasoning_content.is_empty();
        self.kinds.keys().any(|kind| kind.reasoning) || self.continuations.iter().any(continued)
    }

    /// The kinds of conversations that were tried, in words.
    pub fn covered(&self) -> Vec<String> {
        let held = self.kinds.iter().filter(|(_, tally)| tally.held == tally.tried);
        let wrong: Vec<_> = self.wrong_continuations().map(|one| one.kind).collect();
        let mut continued = BTreeSet::new();
        continued.extend(self.continuations.iter().map(|one| one.kind));
        let continued = continued.iter().filter(|kind| !wrong.contains(kind));
        held.map(|(kind, _)| kind.to_string()).chain(continued.map(ToString::to_string)).collect()
    }

    /// The figures that a spec records.
    pub fn round_trips(&self) -> RoundTrips {
        RoundTrips { tried: self.tried, held: self.held }
    }
}

/// Renders and parses back `count` random assistant messages; the same seed gives the same ones.
///
/// A spec that is marked as unsupported is tried too, as far as a parser can be made from it: the failures then show what
/// is wrong. If the template was seen to render calls, they are drawn although such a spec has none.
///
/// ```
/// use unjinja_analyzer::{Naming, analyze, verify};
/// use unjinja_render::Template;
///
/// let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = Template::parse("hello.jinja", text)?;
/// let spec = analyze(&template, &Naming::of_file("hello.jinja"))?;
/// let verification = verify(&template, &spec, 20, 1);
/// assert_eq!((verification.tried, verification.held), (20, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(template: &Template, spec: &FormatSpec, count: u32, seed: u64) -> Verification {
    // One stack for all renders; without one, nothing is tried.
    with_big_stack(|| verify_here(template, spec, count, seed, false)).unwrap_or_default()
}

/// As [`verify`], and tries turns that follow the results of calls too: what is exported must read them.
pub fn verify_after_results(template: &Template, spec: &FormatSpec, count: u32, seed: u64) -> Verification {
    with_big_stack(|| verify_here(template, spec, count, seed, true)).unwrap_or_default()
}

/// The assistant turn that a template writes for these calls, each a name and its arguments as a JSON object, without
/// the part that the generation prompt writes. `None` if the template cannot render them.
pub fn render_calls(template: &Template, spec: &FormatSpec, calls: &[(&str, &str)]) -> Option<String> {
    let mut turn = AssistantMessage::default();
    for (number, (name, arguments)) in calls.iter().enumerate() {
        let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else { return None };
        turn.calls.push(Call { name: (*name).to_owned(), id: format!("call{number:05}"), arguments });
    }
    let rendered = with_big_stack(|| {
        let probe = Probe::new(template);
        {
            let (style, extra) = working_style(&probe);
            probe.turn_text(&turn, style_of(style, spec), &extra)
        }
    });
    let rendered = rendered.ok()?.ok()?;
    let body = until_end(&rendered, spec);
    Some(text::without_start(body, &spec.turn.assistant_start).to_owned())
}

/// How messages are handed over to the template: as the spec says.
fn style_of(style: Style, spec: &FormatSpec) -> Style {
    Style { needs: spec.messages, ..style }
}

fn verify_here(template: &Template, spec: &FormatSpec, count: u32, seed: u64, after_results: bool) -> Verification {
    let mut result = Verification::default();
    let probe = Probe::new(template);
    let trials = match Trials::new(&probe, spec) {
        Ok(trials) => trials,
        Err(refused) => return Verification { refused, ..result },
    };
    let mut random = Random::new(seed);
    // Some templates lose most messages, so the number of attempts is limited.
    for _ in 0..count * 4 {
        if result.tried == count {
            break;
        }
        let (turn, expected) = random.turn(spec);
        let kind = MessageKind::of(&expected);
        let trial = trials.run(&turn, expected);
        if let TrialOutcome::Lost(why) = &trial {
            result.lost_by_template += 1;
            result.changed_by_template += u32::from(matches!(why, Lost::Changes(_)));
            continue;
        }
        let held = u32::from(matches!(trial, TrialOutcome::Held(_)));
        let tally = result.kinds.entry(kind).or_default();
        (tally.tried, tally.held) = (tally.tried + 1, tally.held + held);
        (result.tried, result.held) = (result.tried + 1, result.held + held);
        match trial {
            TrialOutcome::Held(rendered) => result.turns.extend(rendered),
            TrialOutcome::Failed(failure) => result.failures.push(*failure),
            TrialOutcome::Lost(_) => {}
        }
    }
    result.continuations = trials.continuations();
    if !result.tried_reasoning() {
        result.continuations.extend(trials.continued().opened_by_model());
    }
    let small = small_turns(spec);
    let mut kinds = Vec::new();
    let new = small.iter().filter(|turn| {
        let kind = MessageKind::of(&message_of(turn));
        let is_new = !kinds.contains(&kind);
        kinds.push(kind);
        is_new
    });
    result.continuations.extend(new.filter_map(|turn| trials.later(turn)));
    result.continuations.extend(small.iter().filter_map(|turn| trials.in_blanks(turn)));
    result.quoting = trials.quoting();
    if after_results {
        result.after_results = trials.after_results(&mut random);
    }
    result
}

/// A template and the parser of its spec: what a trial of one conversation needs.
pub(crate) struct Trials<'p, 't> {
    probe: &'p Probe<'t>,
    parser: Interpreter,
    pub(crate) spec: &'p FormatSpec,
    style: Style,
    /// The variables that have to be set for calls.
    for_calls: Vec<Variable>,
    /// The variables that have to be set for reasoning: some templates show it only if it is switched on.
    for_reasoning: Vec<Variable>,
}

pub(crate) enum TrialOutcome {
    /// The template does not render the whole message as one turn, so the conversation says nothing about the parser.
    Lost(Lost),
    /// The same message came back; with the turn, if it is complete in itself.
    Held(Option<Rendered>),
    Failed(Box<Failure>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    Refused(String),
    Lacks(MessagePart, String),
    SeveralTurns(String),
    /// This turn has the answer in the place of reasoning.
    LikeReasoning(String),
    /// This turn has another text than the message, and that text came back.
    Changes(String),
}

impl Lost {
    /// The text; empty if the template refused the turn.
    pub(crate) fn rendered(&self) -> &str {
        match self {
            Lost::Refused(_) => "",
            Lost::Lacks(_, rendered)
            | Lost::SeveralTurns(rendered)
            | Lost::LikeReasoning(rendered)
            | Lost::Changes(rendered) => rendered,
        }
    }
}

/// The parser of a spec, even if its status forbids one; otherwise why none can be made.
pub(crate) fn parser(spec: &FormatSpec) -> Result<Interpreter, Vec<String>> {
    // Which template it is does not matter here, and may not be known yet.
    let template = TemplateInfo { name: "t".into(), file: "t".into(), sha256: "0".repeat(64), ..Default::default() };
    let mut spec = spec.clone();
    (spec.status, spec.gaps, spec.template) = (Status::Supported, Vec::new(), template);
    if let Err(error) = spec.check() {
        return Err(error.problems.into_iter().map(|problem| problem.cause).collect());
    }
    interpreter(&spec).map_err(|error| error.problems.iter().map(ToString::to_string).collect())
}

impl<'p, 't> Trials<'p, 't> {
    /// An error if no parser can be made from the spec, not even if its status is left aside.
    pub(crate) fn new(probe: &'p Probe<'t>, spec: &'p FormatSpec) -> Result<Self, Vec<String>> {
        let parser = parser(spec)?;
        let (style, extra) = working_style(probe);
        Ok(Self::with(probe, spec, parser, style, extra))
    }

    /// With a parser and a way to hand over messages that are known to work.
    pub(crate) fn with(
        probe: &'p Probe<'t>,
        spec: &'p FormatSpec,
        parser: Interpreter,
        style: Style,
        for_calls: Vec<Variable>,
    ) -> Self {
        let mut trials =
            Self { probe, parser, spec, style: style_of(style, spec), for_calls, for_reasoning: Vec::new() };
        trials.switch_on(None);
        trials
    }

    /// Sets this variable in conversations with reasoning; without one, the switch of the spec.
    pub(crate) fn switch_on(&mut self, variable: Option<&str>) {
        let name = variable.unwrap_or(&self.spec.reasoning.switch);
        self.for_reasoning = if name.is_empty() { Vec::new() } else { vec![(name.to_owned(), true.into())] };
    }

    /// How a turn is handed over: as the spec says. A turn with one call has null as its content where the template takes that,
    /// because clients write it.
    fn style_for(&self, turn: &AssistantMessage) -> Style {
        let can = &self.spec.capabilities;
        // Null is only known to work in a turn whose calls are rendered.
        let takes_null = can.tool_calls && !can.requires_nonnull_content;
        if takes_null && turn.calls.len() == 1 { self.style.with_empty(EmptyContent::Null) } else { self.style }
    }

    pub(crate) fn run(&self, turn: &AssistantMessage, expected: Message) -> TrialOutcome {
        let (probe, spec, style) = (self.probe, self.spec, self.style_for(turn));
        let extra = self.variables(turn);
        let tools = tools_for(&turn.calls);
        let offered = if turn.calls.is_empty() { Value::Null } else { style.offer(tools.clone()) };
        let ends = [spec.turn.assistant_start.as_str(), spec.turn.end.as_str()];
        let quick = probe.turn_between(turn, &offered, style, &extra, ends).and_then(|rendered| {
            let trial = self.judge(turn, expected.clone(), &tools, &extra, rendered);
            matches!(trial, TrialOutcome::Held(Some(_))).then_some(trial)
        });
        if let Some(trial) = quick {
            return trial;
        }
        match probe.turn_text(turn, style, &extra) {
            Ok(rendered) => self.judge(turn, expected, &tools, &extra, rendered),
            Err(error) => TrialOutcome::Lost(Lost::Refused(error.message().to_owned())),
        }
    }

    /// Turns that quote a marker of the template's roles, as far as they come back.
    fn quoting(&self) -> Vec<Rendered> {
        let held = |turn: AssistantMessage| {
            let (extra, mut message) = (self.variables(&turn), message_of(&turn));
            let rendered = self.probe.turn_text(&turn, self.style_for(&turn), &extra).ok()?;
            for call in &mut message.tool_calls {
                call.id = call.id.take().filter(|id| rendered.contains(id.as_str()));
            }
            let tools = Tools::from_openai(&tools_for(&turn.calls)).unwrap_or_default();
            let options = Options::new().tools(&tools).generation_prompt(self.begun(&turn, false, &extra));
            let body = text::without_start(until_end(&rendered, self.spec), &self.spec.turn.assistant_start).to_owned();
            let parsed = parse(self.parser.clone(), &body, &options);
            same(&parsed, &message).then_some(Rendered { body, message, tools })
        };
        quoted::turns(self.spec).into_iter().filter_map(held).collect()
    }

    /// Random turns after the results of a call, of a call with text before it, and of two calls, as far as they come back.
    fn after_results(&self, random: &mut Random) -> Vec<AfterResult> {
        if self.spec.tools.format == ToolFormat::None || !self.spec.capabilities.tool_calls {
            return Vec::new();
        }
        let calls = [Call::probe(0), Call::probe(1)];
        let one = AssistantMessage::calls(&calls[..1]);
        let text = one.clone().with_content(SENTINELS.content);
        let before = [one, text, AssistantMessage::calls(&calls)];
        let mut found = Vec::new();
        for asked in before.iter().cycle().take(AFTER_RESULTS) {
            let (turn, expected) = random.turn(self.spec);
            found.extend(self.after_result(asked, &turn, expected));
        }
        found
    }

    /// A turn after the results of the calls of another one.
    fn after_result(
        &self,
        asked: &AssistantMessage,
        turn: &AssistantMessage,
        mut message: Message,
    ) -> Option<AfterResult> {
        let (style, extra) = (self.style_for(asked), [self.variables(asked), self.variables(turn)].concat());
        let offered = tools_for(&[asked.calls.as_slice(), &turn.calls].concat());
        let mut messages = vec![style.user(SENTINELS.user), asked.message(style)];
        let results = asked.calls.iter().enumerate().map(|(number, call)| style.result(number, call, RESULT));
        messages.extend(results);
        let shown = style.offer(offered.clone());
        let prompt = self.probe.render(&messages, &shown, true, &extra).ok()?;
        let tail = prompt.get(prompt.rfind(RESULT)? + RESULT.len()..)?.to_owned();
        messages.push(turn.message(self.style_for(turn)));
        let whole = self.probe.render(&messages, &shown, false, &extra).ok()?;
        let body = match whole.strip_prefix(&prompt) {
            Some(output) => until_end(output, self.spec).to_owned(),
            // A past turn may lack what the prompt has of a new one.
            None => {
                let fresh = self.probe.turn_text(turn, self.style_for(turn), &extra).ok()?;
                let body = text::without_start(until_end(&fresh, self.spec), &self.spec.turn.assistant_start);
                let begun = |tail: &str| {
                    (1..=body.len()).rev().find(|at| body.get(..*at).is_some_and(|begun| tail.ends_with(begun)))
                };
                // White space after a marker that the prompt writes may differ.
                let begun = begun(&tail).or_else(|| begun(tail.trim_end()));
                let opener = self.spec.reasoning.start.trim();
                let is_open = !opener.is_empty() && tail.trim_end().ends_with(opener);
                body.get(begun.or((!is_open).then_some(0))?..)?.to_owned()
            }
        };
        for call in &mut message.tool_calls {
            call.id = call.id.take().filter(|id| body.contains(id.as_str()));
        }
        let tools = Tools::from_openai(&offered).unwrap_or_default();
        let parsed =
            parse(self.parser.clone(), &body, &Options::new().tools(&tools).generation_prompt(self.begun_in(&tail)));
        same(&parsed, &message).then_some(AfterResult { prompt, tail, turn: Rendered { body, message, tools } })
    }

    /// What the end of a prompt has of the turn, with its start.
    fn begun_in(&self, tail: &str) -> String {
        let start = self.spec.turn.assistant_start.as_str();
        if let Some(at) = tail.rfind(start).filter(|_| !start.is_empty()) {
            return tail.get(at..).unwrap_or_default().to_owned();
        }
        let known = self.spec.generation_prompt.iter().filter_map(|prompt| prompt.text.strip_prefix(start));
        let begun = known.filter(|text| tail.ends_with(text)).max_by_key(|text| text.len());
        format!("{start}{}", begun.unwrap_or_default())
    }

    fn continued(&self) -> Continued<'_, 't> {
        let Self { probe, parser, spec, style, .. } = self;
        Continued { probe, parser, spec, style: *style }
    }

    /// Outputs that continue the template's prompts, each parsed.
    fn continuations(&self) -> Vec<Continuation> {
        let continued = self.continued();
        let mut found = continued.texts();
        let call = Call::probe(0);
        if continued.has_quotes()
            && let turn = AssistantMessage::calls(std::slice::from_ref(&call))
            && let TrialOutcome::Held(Some(rendered)) = self.run(&turn, message_of(&turn))
        {
            let values = call.arguments.values().filter_map(Value::as_str);
            found.extend(
                values.flat_map(|value| {
                    continued.other_quotes(&rendered.body, value, &rendered.message, &rendered.tools)
                }),
            );
        }
        found
    }

    /// The turn later in a conversation, where the template writes it in another way there.
    fn later(&self, turn: &AssistantMessage) -> Option<Continuation> {
        let Self { probe, spec, .. } = self;
        let (style, extra) = (self.style_for(turn), self.variables(turn));
        let tools = turn.tools(style);
        let place = |before| probe.turn_among([before, Vec::new()], turn, &tools, style, &extra).ok();
        let exchange = [style.user("One?\n"), AssistantMessage::content("Two.").message(style)];
        let (first, later) = (place(Vec::new())?.text, place([exchange.clone(), exchange].concat())?.text);
        let mut expected = message_of(turn);
        let start = spec.turn.assistant_start.trim();
        // Where nothing opens the turn, its header cannot be told from it.
        if first == later || start.is_empty() || lacking(&later, &expected).is_some() {
            return None;
        }
        let TrialOutcome::Held(Some(held)) = self.run(turn, expected.clone()) else { return None };
        let header = &first[..first.find(held.body.trim())?];
        let after_start = || later.split_once(start).map(|(_, body)| body);
        let output = until_end(later.strip_prefix(header).or_else(after_start).unwrap_or(&later), spec).to_owned();
        let prompt = self.begun(turn, false, &extra).to_owned();
        let options = Options::new().tools(&held.tools).generation_prompt(&prompt);
        let parsed = parse(self.parser.clone(), &output, &options);
        expected.tool_calls.iter_mut().for_each(|call| call.id = None);
        Some(Continuation { kind: ContinuationKind::LaterTurn, prompt, thinking: None, output, expected, parsed })
    }

    /// The turn with white space around its texts, if it does not come back.
    fn in_blanks(&self, turn: &AssistantMessage) -> Option<Continuation> {
        let in_blanks = |text: &str| if text.is_empty() { String::new() } else { format!("\n{text}\n\n") };
        let reasoning = turn.reasoning.as_ref().map(|(carrier, text)| (carrier.clone(), in_blanks(text)));
        let other = AssistantMessage { content: in_blanks(&turn.content), reasoning, ..turn.clone() };
        if other == *turn || !matches!(self.run(turn, message_of(turn)), TrialOutcome::Held(_)) {
            return None;
        }
        let TrialOutcome::Failed(failed) = self.run(&other, message_of(&other)) else { return None };
        let Failure { rendered: output, expected, parsed, .. } = *failed;
        let prompt = self.begun(&other, false, &self.variables(&other)).to_owned();
        Some(Continuation { kind: ContinuationKind::Blanks, prompt, thinking: None, output, expected, parsed })
    }

    fn judge(
        &self,
        turn: &AssistantMessage,
        mut expected: Message,
        tools: &Value,
        extra: &[Variable],
        rendered: String,
    ) -> TrialOutcome {
        let (probe, spec, style) = (self.probe, self.spec, self.style_for(turn));
        for call in &mut expected.tool_calls {
            // Many formats have no ids, and some make their own.
            call.id = call.id.take().filter(|id| rendered.contains(id.as_str()));
        }
        let lacking = lacking(&rendered, &expected);
        if let Some(part) = lacking.filter(|_| !message_is_plain(&expected)) {
            return TrialOutcome::Lost(Lost::Lacks(part, rendered));
        }
        if is_several_turns(&rendered, spec, &expected) {
            return TrialOutcome::Lost(Lost::SeveralTurns(rendered));
        }
        let start = spec.turn.assistant_start.as_str();
        let tools = Tools::from_openai(tools).unwrap_or_default();
        let options = Options::new().tools(&tools);
        let read = |rendered: &str, begun: &str| {
            let body = until_end(rendered, spec);
            parse(self.parser.clone(), text::without_start(body, start), &options.clone().generation_prompt(begun))
        };
        let begun = self.begun(turn, false, extra);
        let parsed = read(&rendered, begun);
        let is_changed = || self.changed(turn, &expected, extra).is_some_and(|changed| same(&parsed, &changed));
        if let Some(part) = lacking {
            let is_changed = is_changed();
            return TrialOutcome::Lost(if is_changed { Lost::Changes(rendered) } else { Lost::Lacks(part, rendered) });
        }
        if same(&parsed, &expected) {
            let body = until_end(&rendered, spec);
            let body = text::without_start(body, start).to_owned();
            return TrialOutcome::Held(Some(Rendered { body, message: expected, tools }));
        }
        // What follows an opener, and no closer, is an answer in the place of reasoning.
        let (open, close) = (spec.reasoning.start.trim(), spec.reasoning.end.trim());
        let opened = !open.is_empty() && begun != start && begun.trim_end().ends_with(open);
        let lacks_closer = !open.is_empty() && expected.reasoning_content.is_empty() && !rendered.contains(close);
        if opened && lacks_closer || is_same_as_reasoning(probe, spec, turn, style, &rendered) {
            return TrialOutcome::Lost(Lost::LikeReasoning(rendered));
        }
        // Some templates leave the last turn of a conversation open; then the same turn in the past counts.
        let past = || {
            let begun = self.begun(turn, true, extra);
            probe.past_turn(turn, style, extra).is_ok_and(|past| same(&read(&past.text, begun), &expected))
        };
        if message_is_plain(&expected) && past() {
            return TrialOutcome::Held(None);
        }
        if lacks_closer && text::without_start(&rendered, start).trim_start().starts_with(open) {
            return TrialOutcome::Lost(Lost::LikeReasoning(rendered));
        }
        if let Some(part) = unescaped(&rendered, turn, spec) {
            return TrialOutcome::Lost(Lost::Lacks(part, rendered));
        }
        if is_changed() {
            return TrialOutcome::Lost(Lost::Changes(rendered));
        }
        TrialOutcome::Failed(Box::new(Failure { rendered, expected, parsed, turn: turn.clone() }))
    }

    /// The message with the texts that the template writes in the place of its own; `None` if it changes none.
    fn changed(&self, turn: &AssistantMessage, expected: &Message, extra: &[Variable]) -> Option<Message> {
        let shown = self.probe.turn(turn, self.style_for(turn), extra).ok()?;
        let mut message = expected.clone();
        for (_, part, text) in turn.texts() {
            let written = shown.only(part).map(|range| &shown.text[range]).filter(|written| *written != text);
            match (part, written) {
                (MessagePart::Content, Some(written)) => message.content = written.to_owned(),
                (MessagePart::Reasoning, Some(written)) => message.reasoning_content = written.to_owned(),
                _ => {}
            }
        }
        (!same(&message, expected)).then_some(message)
    }

    /// The text before this turn's own that belongs to the turn: its start, or what the template writes of it together with
    /// the user's message. Before a past turn that may be less than at the end of a prompt.
    fn begun(&self, turn: &AssistantMessage, past: bool, extra: &[Variable]) -> &str {
        let (start, known) = (self.spec.turn.assistant_start.as_str(), &self.spec.generation_prompt);
        if !start.trim().is_empty() || known.iter().all(|prompt| prompt.text.trim().is_empty()) {
            return start;
        }
        let added = self.probe.prompt_ends(self.style, extra).map_or_else(|_| String::new(), |[added, ..]| added);
        match self.probe.before_turn(turn, past, self.style_for(turn), extra) {
            Ok(before) if added.trim().is_empty() => {
                let ends = known.iter().map(|prompt| prompt.text.as_str());
                let ends = ends.filter(|text| !text.trim().is_empty() && before.trim_end().ends_with(text.trim_end()));
                ends.max_by_key(|text| text.len()).unwrap_or(start)
            }
            _ => start,
        }
    }

    /// The variables that a render of this turn needs.
    fn variables(&self, turn: &AssistantMessage) -> Vec<Variable> {
        let mut variables = if turn.reasoning.is_some() { self.for_reasoning.clone() } else { Vec::new() };
        if !turn.calls.is_empty() {
            variables.extend(self.for_calls.iter().cloned());
        }
        variables
    }

    /// The conversation of a turn, as `unjinja render` takes it: with the variables that it needs, and then with all that the
    /// trial gave the template.
    pub(crate) fn conversations(&self, turn: &AssistantMessage) -> [Value; 2] {
        let (style, variables) = (self.style_for(turn), self.variables(turn));
        let messages = vec![style.user(SENTINELS.user), turn.message(style)];
        let tools = turn.tools(style);
        let mut needed = Map::from_iter([("messages".to_owned(), Value::from(messages.clone()))]);
        if !tools.is_null() {
            needed.insert("tools".to_owned(), tools.clone());
        }
        needed.extend(variables.iter().cloned());
        [Value::Object(needed), self.probe.context(messages, &tools, false, &variables)]
    }

    /// A prompt, as `unjinja render` takes it, with this value of the thinking switch.
    pub(crate) fn prompt(&self, thinking: Option<bool>) -> Value {
        let mut prompt = Map::new();
        prompt.insert("messages".to_owned(), Value::from(vec![self.style.user(QUESTION)]));
        prompt.insert("add_generation_prompt".to_owned(), true.into());
        prompt.extend(thinking.map(|on| (self.spec.reasoning.switch.clone(), on.into())));
        Value::Object(prompt)
    }

    pub(crate) fn render(&self, conversation: &Value) -> Result<String, RenderError> {
        self.probe.template.render(conversation)
    }
}

/// The message of a turn: what must come back.
pub(crate) fn message_of(turn: &AssistantMessage) -> Message {
    let calls = turn.calls.iter().map(|call| {
        let arguments = Value::Object(call.arguments.clone()).to_string();
        unjinja_runtime::ToolCall::new(&call.name, arguments).with_id(&call.id)
    });
    let mut message = Message::new(&turn.content, calls.collect());
    message.reasoning_content = turn.reasoning.as_ref().map(|(_, text)| text.clone()).unwrap_or_default();
    message
}

/// A turn without what the template writes after it.
fn until_end<'r>(rendered: &'r str, spec: &FormatSpec) -> &'r str {
    let core = spec.turn.end.trim();
    match rendered.rfind(core) {
        Some(at) if !core.is_empty() && !rendered.trim_end().ends_with(core) => &rendered[..at + core.len()],
        _ => rendered,
    }
}

/// Whether the template wrote one message as several turns: the end of a turn is inside it, and another turn or message begins
/// there. In formats whose turns are several messages, markers hold the text that also ends the turn.
fn is_several_turns(rendered: &str, spec: &FormatSpec, message: &Message) -> bool {
    let (start, end) = (spec.turn.assistant_start.trim(), spec.turn.end.trim());
    let turn = until_end(rendered, spec).trim_end();
    let inner = turn.strip_suffix(end).unwrap_or(turn);
    let of_turn = [MarkerKey::AssistantStart, MarkerKey::TurnEnd, MarkerKey::UserStart];
    let holds_end = |(key, text): &(MarkerKey, &str)| !of_turn.contains(key) && text.contains(end);
    let ends_messages = spec.markers().any(|marker| holds_end(&marker));
    // What a marker holds is no end of the turn.
    let whole = spec.markers().filter(holds_end).filter(|(_, text)| text.trim() != end);
    let inner = &whole.fold(inner.to_owned(), |inner, (_, text)| inner.replace(text.trim(), "\n"));
    // A call that comes after the end of an answer is lost, unless a header begins a turn for it.
    let is_after_answer = !message.content.is_empty() && message.tool_calls.len() == 1;
    let header = match unjinja_spec::tags(start).first() {
        _ if ends_messages => Some(start),
        first => first.copied().filter(|_| is_after_answer),
    };
    let begins = |(at, _): (usize, &str)| {
        let rest = inner[at + end.len()..].trim_start();
        header.is_none_or(|header| !header.is_empty() && rest.starts_with(header))
    };
    !end.is_empty() && inner.match_indices(end).any(begins)
}

/// Whether the template writes an answer together with calls like reasoning: then no parser can tell them apart.
fn is_same_as_reasoning(
    probe: &Probe<'_>,
    spec: &FormatSpec,
    turn: &AssistantMessage,
    style: Style,
    rendered: &str,
) -> bool {
    if turn.content.is_empty() || turn.calls.is_empty() || spec.reasoning.mode == ReasoningMode::None {
        return false;
    }
    let (open, before) = (spec.reasoning.start.trim(), rendered.split(turn.content.as_str()).next().unwrap_or(""));
    if !open.is_empty() && before.trim_end().ends_with(open) {
        return true;
    }
    let Some(carrier) = Carrier::of_field(&spec.reasoning.field).filter(|_| turn.reasoning.is_none()) else {
        return false;
    };
    let other = AssistantMessage { content: String::new(), ..turn.clone() }.with_reasoning(&carrier, &turn.content);
    probe.turn_text(&other, style, &[]).is_ok_and(|other| other == rendered)
}

fn message_is_plain(message: &Message) -> bool {
    message.tool_calls.is_empty() && message.reasoning_content.is_empty()
}

/// The part of a message of which a render lacks a word; `None` if it has all words of the texts and the names of the calls.
fn lacking(rendered: &str, message: &Message) -> Option<MessagePart> {
    let lacks = |text: &str| text.split_whitespace().any(|word| !rendered.contains(word));
    if let Some(number) = message.tool_calls.iter().position(|call| !rendered.contains(&call.name)) {
        return Some(MessagePart::Name(number));
    }
    let texts = [(MessagePart::Reasoning, &message.reasoning_content), (MessagePart::Content, &message.content)];
    texts.into_iter().find(|(_, text)| lacks(text)).map(|(part, _)| part)
}

/// A text among the arguments that a parser takes for another one, because the template writes it without what makes it whole:
/// between quotes without the escapes that it needs, or without quotes where a literal may be, though it begins with a quote
/// itself. Models write literals.
fn unescaped(rendered: &str, turn: &AssistantMessage, spec: &FormatSpec) -> Option<MessagePart> {
    let are_literals =
        matches!(spec.tools.format, ToolFormat::CallExpression | ToolFormat::JsonNative | ToolFormat::TagWithJson);
    let is_written = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('\n', "\\n");
        let literal = |quote: char| format!("{quote}{}{quote}", escaped.replace(quote, &format!("\\{quote}")));
        ['\'', '"'].into_iter().any(|quote| rendered.contains(&literal(quote)))
    };
    // Where only a separator ends a value, a literal is read first.
    let arguments = &spec.tools.arguments;
    let unclosed = arguments.value_suffix.trim().is_empty() && !arguments.separator.trim().is_empty();
    let is_bare = |text: &str| text.starts_with(['\'', '"']) && !is_written(text);
    let needs_escapes = |text: &str| text.contains(['\\', '\'', '"', '\n']);
    let is_lost = |text: &str| {
        if are_literals { needs_escapes(text) && !is_written(text) } else { unclosed && is_bare(text) }
    };
    let lacks = |value: &Value| value.as_str().is_some_and(is_lost);
    let mut calls = turn.calls.iter().enumerate();
    calls.find_map(|(number, call)| Some(MessagePart::Value(number, call.arguments.values().position(lacks)?)))
}
