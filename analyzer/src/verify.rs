//! The test of a spec: the template renders random conversations, and an interpreted parser reads them back.
//!
//! If a message does not survive the round trip, either the template lost it (its render does not contain it) or the parser
//! read it wrongly.
//! Only the latter counts against the spec.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use unjinja_codegen::interpreter;
use unjinja_runtime::{Interpreter, Message, Options, Tools, parse};
use unjinja_spec::{EmptyContent, FormatSpec, ReasoningMode, RoundTrips, Status, TemplateInfo, ToolFormat};

mod after_results;
mod lacking;
mod later;

use lacking::*;

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
use crate::small_turns::small_turns;
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
