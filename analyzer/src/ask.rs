//! The questions: the fixed set of conversations that a template renders, each different from another in one respect.
//! If a template refuses a conversation, or does not show a field, other ways to ask are tried in a fixed order.
//!
//! This module draws no conclusions beyond which way to ask works.

use serde_json::{Map, Value, json};
use unjinja_render::RenderError;
use unjinja_spec::{ArgumentsForm, CallIdForm, Carrier, ContentForm, EmptyContent, Messages};

use crate::conversation::{AssistantMessage, Call, Offer, Style, tools_for};
use crate::error::AnalyzeError;
use crate::observed::{LabelledHole, LabelledTurn, MessagePart};
use crate::probe::{Probe, Variable};
use crate::sentinels::SENTINELS;
use crate::text;
pub(crate) use abilities::{Ability, capabilities};
pub(crate) use call_turns::CallTurns;
use call_turns::shows_call;
pub(crate) use elsewhere::PromptElsewhere;
use elsewhere::{prompts_elsewhere, value_of};
use marks::{marker_candidates, written};
pub(crate) use messages::with_format;
pub(crate) use prompts::{Prompt, speaks_of_thinking};
use prompts::{encloses_user, from_last_tag, opens_user, prompts, switches};
pub(crate) use splits::Split;
use splits::{laid_out_splits, other_splits, splits, splits_elsewhere};

mod abilities;
mod call_turns;
mod elsewhere;
mod marks;
mod messages;
mod prompts;
mod splits;

pub(crate) struct Observed {
    /// How messages without calls are handed over.
    pub style: Style,
    /// C1: an answer.
    pub answer: LabelledTurn,
    /// The template refuses every answer, so that the one here is put together from a prompt.
    pub refuses_answers: bool,
    /// C1: an answer that another user message follows.
    pub past: Option<LabelledTurn>,
    /// C1: an answer while tools are offered.
    pub with_tools: Option<LabelledTurn>,
    /// What the template writes between a user's message and an answer: the last one, and one that another message follows.
    pub headers: Vec<String>,
    /// A user message alone.
    pub user_alone: String,
    /// R2: the generation prompts.
    pub prompts: Vec<Prompt>,
    /// R2: the prompts of other conversations, where they differ.
    pub elsewhere: Vec<PromptElsewhere>,
    /// R2: for each variable, the whole prompt with it switched on and off, where they differ.
    pub switched: Vec<Switched>,
    /// The fields of a message that the template looks for.
    pub fields: Vec<String>,
    /// R1 and R3, for each carrier that was tried.
    pub reasoning: Vec<Reasoned>,
    /// The texts that may hold markers: the template's string literals, and what it looks for in answers.
    pub written: Vec<String>,
    /// The texts that may be markers, from these.
    pub marks: Vec<String>,
    /// Those that are tried as the end of reasoning: none where turns show reasoning.
    pub candidates: Vec<String>,
    /// HiddenHistory: for each candidate, an answer with it in the middle.
    pub split: Vec<Split>,
    /// The ways to hand over calls that were tried, up to the one that worked.
    pub styles: Tried,
    /// T1 to T7, A1 and A2; `None` if no way to ask shows a call.
    pub calls: Option<CallTurns>,
    /// What the template can render at all.
    pub abilities: Vec<Ability>,
    /// How messages have to be handed over.
    pub messages: Messages,
}

/// Two whole prompts that differ in one variable.
pub(crate) struct Switched {
    pub name: String,
    pub on: String,
    pub off: String,
}

/// Reasoning that a message carries.
pub(crate) struct Reasoned {
    pub carrier: Carrier,
    /// The variables that had to be set.
    pub extra: Vec<Variable>,
    pub with_answer: Option<LabelledTurn>,
    pub with_call: Option<LabelledTurn>,
}

pub(crate) const NUMBER: u32 = 4711;

/// Variables that every question sets, and functions.
const ALWAYS_SET: &str = "messages tools functions add_generation_prompt bos_token eos_token datetime raise_exception \
    strftime_now";

/// How many styles are tried with each variable.
const FEW_STYLES: usize = 4;

pub(crate) const MARKUP: &str = "Ulmbrec & <Osk>\nTarn";

/// Ways to hand over calls that differ from the usual one in more respects than this are not tried.
const MOST_CHANGES: usize = 2;

impl Observed {
    pub(crate) fn ask(probe: &Probe<'_>) -> Result<Self, AnalyzeError> {
        let message = AssistantMessage::content(SENTINELS.content);
        let (style, answer, refuses_answers) = match answer(probe) {
            Ok((style, answer)) => (style, answer, false),
            Err(error) => {
                let style = Style::usual();
                (style, prompted_answer(probe, style).ok_or(error)?, true)
            }
        };
        let past = probe.past_turn(&message, style, &[]).ok().map(|past| anchored(past, &answer));
        let with_tools = probe.turn_offering(&message, &tools_for(&[Call::probe(0)]), style, &[]).ok();
        let (styles, calls) = calls(probe, style);
        let mut fields = probe.fields_read(&message, style);
        if let Some(calls) = &calls {
            let read = probe.fields_read(&AssistantMessage::calls(&[Call::probe(0)]), calls.style);
            fields.extend(read);
            fields.sort_unstable();
            fields.dedup();
        }
        let switches = switches(probe);
        let prompts = prompts(probe, style, &switches);
        let elsewhere = prompts_elsewhere(probe, style, calls.as_ref(), &switches);
        let user = [style.user(SENTINELS.user)];
        let user_alone = probe.render(&user, &Value::Null, false, &[]).unwrap_or_default();
        let reasoning = reasoning(probe, style, calls.as_ref(), &switches, &fields, &user_alone);
        // What is shown only with a switch may still be removed without it.
        let shown = reasoning.iter().any(|reasoned| reasoned.is_marked() && reasoned.extra.is_empty());
        let written = written(probe);
        let marks = marker_candidates(probe, &written);
        let candidates = if shown { Vec::new() } else { marks.clone() };
        let mut split = splits(probe, style, &candidates);
        if !split.iter().any(Split::drops) {
            let found = laid_out_splits(probe, style, &candidates, &written)
                .or_else(|| splits_elsewhere(probe, style, calls.as_ref(), &candidates, &written, &switches));
            split.extend(found);
        }
        // A template may remove reasoning in several forms. Tags that its own text or calls hold are something else.
        let calls_text = calls.iter().map(|calls| calls.one.text.as_str());
        let texts = reasoning.iter().flat_map(Reasoned::next_texts).chain(calls_text).chain([user_alone.as_str()]);
        let texts: Vec<&str> = texts.collect();
        let is_elsewhere = |tag: &str| texts.iter().any(|text| text.contains(tag));
        let is_tried = |tag: &str| split.iter().any(|split| split.tag == tag);
        let others =
            marks.iter().filter(|tag| text::opening_tag(tag).is_some() && !is_elsewhere(tag) && !is_tried(tag));
        let others = other_splits(probe, style, others);
        split.extend(others);
        let whole = |switch: &String, on: bool| {
            probe.render(&user, &Value::Null, true, &[(switch.clone(), on.into())]).unwrap_or_default()
        };
        let switched =
            switches.iter().map(|name| Switched { name: name.clone(), on: whole(name, true), off: whole(name, false) });
        let abilities = abilities::abilities(probe, style, calls.as_ref());
        let system = abilities.iter().any(|ability| ability.key == "system_role" && ability.holds);
        let messages = messages::messages(probe, style, calls.as_ref(), system);
        Ok(Self {
            style,
            answer,
            refuses_answers,
            past,
            with_tools,
            headers: headers(probe, style),
            user_alone,
            prompts,
            elsewhere,
            fields,
            switched: if shown { Vec::new() } else { switched.filter(|s| s.on != s.off).collect() },
            reasoning,
            written,
            marks,
            candidates,
            split,
            styles,
            abilities,
            messages,
            calls,
        })
    }
}

impl Observed {
    pub(crate) fn shows_calls(&self) -> bool {
        let named = |turn: &LabelledTurn| turn.first(MessagePart::Name(0)).is_some();
        self.calls.is_some() || self.styles.iter().any(|(_, _, turn)| turn.as_ref().is_ok_and(named))
    }

    /// Whether this tag and its counterpart enclose a user's message. Then they are not markers of the assistant's turn.
    pub(crate) fn encloses_user(&self, end: &str) -> bool {
        let whole = self.switched.iter().flat_map(|switched| [switched.on.as_str(), switched.off.as_str()]);
        whole.chain([self.user_alone.as_str()]).any(|text| encloses_user(text, end))
    }

    /// What every prompt says before the first message.
    pub(crate) fn own_text(&self) -> &str {
        self.user_alone.split_once(SENTINELS.user).map_or("", |(before, _)| before)
    }

    /// What prompts say before the first message of the user, and in which conversations: first in every one.
    pub(crate) fn own_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let elsewhere = self.elsewhere.iter().map(|one| (one.with.as_str(), one.own_text.as_str()));
        std::iter::once(("", self.own_text())).chain(elsewhere)
    }

    /// A usual field of reasoning that is rendered without a marker after it.
    pub(crate) fn unmarked_reasoning(&self) -> Option<&str> {
        let shown = self.reasoning.iter().filter(|reasoned| reasoned.is_shown() && !reasoned.is_marked());
        shown.map(|reasoned| reasoned.carrier.field()).find(|field| REASONING_FIELDS.contains(field))
    }

    /// A variable that changes the prompt, and whose name says that it switches thinking.
    pub(crate) fn thinking_switch(&self) -> Option<&str> {
        let names = self.prompts.iter().filter_map(|prompt| prompt.switch.as_ref().map(|(name, _)| name.as_str()));
        names.into_iter().find(|name| speaks_of_thinking(name))
    }

    /// The prompt without a switch, and those of the first switch that changes it.
    pub(crate) fn first_prompts(&self) -> Vec<&Prompt> {
        let first = self.prompts.iter().find_map(|prompt| prompt.switch.as_ref().map(|(name, _)| name));
        let is_first = |prompt: &&Prompt| prompt.switch.as_ref().is_none_or(|(name, _)| Some(name) == first);
        self.prompts.iter().filter(is_first).collect()
    }
}

/// C1: what the template writes between a user's message and an answer, at the end and in the past.
fn headers(probe: &Probe<'_>, style: Style) -> Vec<String> {
    let s = &SENTINELS;
    let conversation = [style.user(s.user), AssistantMessage::content(s.content).message(style), style.user(s.user2)];
    let between = |text: String| {
        let answer = text.find(s.content)?;
        let from = text[..answer].rfind(s.user)? + s.user.len();
        Some(text[from..answer].to_owned())
    };
    let renders =
        [2, 3].into_iter().filter_map(|count| probe.render(&conversation[..count], &Value::Null, false, &[]).ok());
    renders.filter_map(between).collect()
}

/// A past turn from where it begins like the last turn. A template may write a user message in another way if it is not
/// the last one; then the cut lies too early.
fn anchored(past: LabelledTurn, answer: &LabelledTurn) -> LabelledTurn {
    let lead = answer.lead();
    if lead.trim().is_empty() || !past.lead()[..text::common_prefix(past.lead(), lead)].trim().is_empty() {
        return past;
    }
    let begins = |at: &usize| !lead[..text::common_prefix(&past.lead()[*at..], lead)].trim().is_empty();
    let places = past.lead().char_indices().map(|(at, _)| at).filter(begins);
    match places.max_by_key(|at| text::common_prefix(&past.lead()[*at..], lead)) {
        Some(at) => past.tail(at),
        None => past,
    }
}

/// C1: the first way to hand over an answer that shows it once.
pub(crate) fn answer(probe: &Probe<'_>) -> Result<(Style, LabelledTurn), AnalyzeError> {
    let message = AssistantMessage::content(SENTINELS.content);
    let mut first = None;
    for form in [ContentForm::Text, ContentForm::Parts] {
        let style = Style::usual().with_content(form);
        let mut turn = probe.turn(&message, style, &[]);
        if turn.as_ref().is_ok_and(|turn| probe.find_number(turn.lead(), style)) {
            turn = probe.turn(&message, style, &[]);
        }
        if let Ok(turn) = &turn
            && turn.only(MessagePart::Content).is_some()
        {
            return Ok((style, turn.clone()));
        }
        first.get_or_insert(turn);
    }
    let (name, source) = (probe.template.name(), probe.template.source());
    Err(match first {
        Some(Ok(turn)) => {
            AnalyzeError::answer_not_found(name, source, &turn.text, turn.all(MessagePart::Content).count())
        }
        Some(Err(error)) => AnalyzeError::no_answer(name, &error),
        None => AnalyzeError::answer_not_found(name, source, "", 0),
    })
}

/// In place of an answer that the template refuses: a generation prompt, the answer, and what ends a user's message. Without a
/// generation prompt or such an end nothing is known.
fn prompted_answer(probe: &Probe<'_>, style: Style) -> Option<LabelledTurn> {
    let is_refused = probe.turn(&AssistantMessage::content(SENTINELS.content), style, &[]).is_err();
    let [start, tail, _] = probe.prompt_ends(style, &[]).ok().filter(|_| is_refused)?;
    let end = tail.strip_suffix(start.as_str())?;
    if start.trim().is_empty() || end.trim().is_empty() {
        return None;
    }
    let range = start.len()..start.len() + SENTINELS.content.len();
    let text = format!("{start}{}{end}", SENTINELS.content);
    Some(LabelledTurn { text, holes: vec![LabelledHole { range, part: MessagePart::Content }] })
}

// ----- reasoning -----

/// Usual names of the message field that carries reasoning.
const REASONING_FIELDS: [&str; 6] = ["reasoning_content", "reasoning", "thinking", "thought", "thoughts", "tool_plan"];

const OTHER_FIELDS: &str = "role content tool_calls tool_call_id name function_call id type refusal audio images recipient \
    prefix documents";

impl Reasoned {
    /// Whether a turn holds the reasoning once, before an answer or in a turn with a call.
    pub(crate) fn is_shown(&self) -> bool {
        self.before_answer().is_some() || self.before_call().is_some()
    }

    /// The turn with reasoning and then an answer.
    pub(crate) fn before_answer(&self) -> Option<&LabelledTurn> {
        self.with_answer.as_ref().filter(|turn| {
            let (reasoning, content) = (turn.only(MessagePart::Reasoning), turn.only(MessagePart::Content));
            matches!((reasoning, content), (Some(reasoning), Some(content)) if reasoning.end <= content.start)
        })
    }

    /// The turn with reasoning and a call.
    pub(crate) fn before_call(&self) -> Option<&LabelledTurn> {
        // What takes the place of the call is not reasoning.
        let both = |turn: &&LabelledTurn| {
            turn.only(MessagePart::Reasoning).is_some() && turn.first(MessagePart::Name(0)).is_some()
        };
        self.with_call.as_ref().filter(both)
    }
}

/// R1 and R3: for each carrier, whether and how reasoning is rendered. The last one is the first that shows it.
fn reasoning(
    probe: &Probe<'_>,
    style: Style,
    calls: Option<&CallTurns>,
    switches: &[String],
    fields: &[String],
    user_alone: &str,
) -> Vec<Reasoned> {
    let carriers = carriers(probe, fields);
    let mut settings = vec![Vec::new()];
    settings.extend(switches.iter().map(|switch| vec![(switch.clone(), Value::from(true))]));
    let mut tried = Vec::new();
    for extra in settings {
        for carrier in &carriers {
            let answer = AssistantMessage::content(SENTINELS.content).with_reasoning(carrier, SENTINELS.reasoning);
            let call = AssistantMessage::calls(&[Call::probe(0)]).with_reasoning(carrier, SENTINELS.reasoning);
            let reasoned = Reasoned {
                carrier: carrier.clone(),
                extra: extra.clone(),
                with_answer: probe.turn(&answer, style, &extra).ok(),
                with_call: calls.and_then(|calls| {
                    let extra = [calls.extra.as_slice(), &extra].concat();
                    probe.turn(&call, calls.style, &extra).ok()
                }),
            };
            let opens_user = reasoned.opener().is_some_and(|open| opens_user(user_alone, open));
            if opens_user && reasoned.closer().is_some_and(|end| encloses_user(user_alone, end)) {
                // The field holds a user's message.
                continue;
            }
            let is_marked = reasoned.is_marked();
            tried.push(reasoned);
            if is_marked {
                return tried;
            }
        }
    }
    // A text that no marker follows is not reasoning but, for example, a name or a date.
    tried
}

impl Reasoned {
    pub(crate) fn is_marked(&self) -> bool {
        self.next_texts().any(|text| !text.trim().is_empty())
    }

    /// The last tag before the reasoning, and what is between the two.
    fn opener(&self) -> Option<&str> {
        let turn = self.before_answer().or(self.before_call())?;
        let before = &turn.text[..turn.only(MessagePart::Reasoning)?.start];
        Some(from_last_tag(before))
    }

    fn closer(&self) -> Option<&str> {
        self.next_texts().find_map(|text| text::tags(text).first().copied())
    }

    /// The text between the reasoning and what follows it, before an answer and before a call.
    fn next_texts(&self) -> impl Iterator<Item = &str> {
        [self.before_answer(), self.before_call()].into_iter().flatten().filter_map(|turn| {
            let from = turn.only(MessagePart::Reasoning)?.end;
            let end = turn.holes.iter().map(|hole| hole.range.start).filter(|start| *start >= from).min();
            Some(&turn.text[from..end.unwrap_or(turn.text.len())])
        })
    }
}

/// The ways to carry reasoning: the usual field names that the template mentions, typed parts, then whatever else it
/// looks for in an assistant's message.
pub(crate) fn carriers(probe: &Probe<'_>, read: &[String]) -> Vec<Carrier> {
    let source = probe.template.source();
    let mut fields: Vec<&str> = REASONING_FIELDS.into_iter().filter(|field| source.contains(field)).collect();
    let usual = fields.len();
    for field in read.iter().map(String::as_str) {
        if !OTHER_FIELDS.split(' ').any(|other| other == field) && !fields.contains(&field) {
            fields.push(field);
        }
    }
    let mut carriers: Vec<Carrier> = fields.into_iter().map(|field| Carrier::Field(field.to_owned())).collect();
    if source.contains("'thinking'") || source.contains("\"thinking\"") {
        carriers.insert(usual, Carrier::Parts);
    }
    carriers
}

// ----- calls -----

/// The ways to hand over calls, those that differ least from the usual one first.
fn call_styles(style: Style) -> Vec<Style> {
    use EmptyContent::{Absent, Empty, Null};
    let mut styles = Vec::new();
    for tools in [Offer::Wrapped, Offer::None, Offer::Flat] {
        for ids in [CallIdForm::Any, CallIdForm::Named, CallIdForm::Counted] {
            for arguments in [ArgumentsForm::Object, ArgumentsForm::Text] {
                let style = Style { needs: Messages { ids, arguments, ..style.needs }, tools, ..style };
                styles.extend([Empty, Null, Absent].map(|empty| style.with_empty(empty)));
                styles.push(Style { word: true, ..style });
            }
        }
    }
    let changes = |style: &Style| {
        let (needs, usual) = (&style.needs, Messages::default());
        usize::from(style.word || needs.content_of_calls != usual.content_of_calls)
            + usize::from(needs.arguments != usual.arguments)
            + usize::from(needs.ids != usual.ids)
            + usize::from(style.tools != Offer::Wrapped)
    };
    styles.retain(|style| changes(style) <= MOST_CHANGES);
    // Null content and arguments as text are usual enough to come before everything else.
    styles.sort_by_cached_key(|style| {
        (usize::from(style.needs.ids != CallIdForm::Any || style.tools != Offer::Wrapped), changes(style))
    });
    styles
}

/// The first way to hand over messages with which an answer and, if possible, a call are shown.
pub(crate) fn working_style(probe: &Probe<'_>) -> (Style, Vec<Variable>) {
    let style = answer(probe).map_or(Style::usual(), |(style, _)| style);
    call_style(probe, style).1.map_or((style, Vec::new()), |(style, extra, _)| (style, extra))
}

type Tried = Vec<(Style, Vec<Variable>, Result<LabelledTurn, RenderError>)>;

/// A way to hand over calls that shows one: the style, the variables that have to be set, and the turn.
type Way = (Style, Vec<Variable>, LabelledTurn);

/// Finds a way to hand over calls: the last one that was tried, if it shows a call.
fn call_style(probe: &Probe<'_>, style: Style) -> (Tried, Option<Way>) {
    let one = AssistantMessage::calls(&[Call::probe(0)]);
    let mut tried = Vec::new();
    // Whatever a template does with calls, it must name the field.
    if !probe.template.source().contains("tool_calls") {
        return (tried, None);
    }
    let styles = call_styles(style);
    let without = styles.iter().map(|style| (*style, Vec::new()));
    // Some templates render calls only if a variable is set.
    let variables = probe.variables.iter().filter(|name| !ALWAYS_SET.split(' ').any(|set| set == *name));
    let variables: Vec<Variable> = variables.map(|name| (name.clone(), value_of(name))).collect();
    let with = variables
        .iter()
        .flat_map(|variable| styles.iter().take(FEW_STYLES).map(move |style| (*style, vec![variable.clone()])));
    for (style, extra) in without.chain(with) {
        let turn = probe.turn(&one, style, &extra);
        let shown = turn.as_ref().ok().filter(|turn| shows_call(turn, 0)).cloned();
        tried.push((style, extra.clone(), turn));
        if let Some(turn) = shown {
            return (tried, Some((style, extra, turn)));
        }
    }
    (tried, None)
}

/// Finds a way to hand over calls, and asks everything about them.
fn calls(probe: &Probe<'_>, style: Style) -> (Tried, Option<CallTurns>) {
    let (tried, found) = call_style(probe, style);
    (tried, found.map(|(style, extra, one)| call_turns(probe, style, extra, one)))
}

/// Arguments, and an object in one of them, whose keys are not sorted.
fn unsorted() -> [(&'static str, Value); 3] {
    let ([first, second, third], inner) = (SENTINELS.unsorted[0], SENTINELS.unsorted[1]);
    let object: Map<String, Value> =
        inner.into_iter().map(|key| (key.to_owned(), SENTINELS.values[1].into())).collect();
    [(first, SENTINELS.values[0].into()), (second, object.into()), (third, SENTINELS.values[1].into())]
}

fn call_turns(probe: &Probe<'_>, style: Style, extra: Vec<Variable>, one: LabelledTurn) -> CallTurns {
    let s = &SENTINELS;
    let ask = |message: &AssistantMessage| probe.turn(message, style, &extra).ok();
    let call = |arguments: &[(&str, Value)]| ask(&AssistantMessage::calls(&[Call::with(0, arguments)]));
    let two = ask(&AssistantMessage::calls(&[Call::probe(0), Call::probe(1)]));
    let values = [
        ("boolean", json!(true)),
        ("object", json!({s.arguments[1]: s.values[1]})),
        ("array", json!([s.values[1]])),
        ("fraction", json!(47.25)),
        ("null", Value::Null),
    ];
    CallTurns {
        style,
        two: two.filter(|turn| shows_call(turn, 0) && shows_call(turn, 1)),
        after_answer: ask(&AssistantMessage::calls(&[Call::probe(0)]).with_content(s.content)),
        no_arguments: call(&[]),
        two_arguments: call(&[(s.arguments[0], s.values[0].into()), (s.arguments[1], s.values[1].into())]),
        unsorted: call(&unsorted()),
        number: call(&[(s.arguments[0], json!(NUMBER))]),
        markup: call(&[(s.arguments[0], MARKUP.into())]),
        others: values
            .into_iter()
            .filter_map(|(kind, value)| Some((kind, call(&[(s.arguments[0], value)])?)))
            .collect(),
        null: probe.turn(&AssistantMessage::calls(&[Call::probe(0)]), style.with_empty(EmptyContent::Null), &extra),
        one,
        extra,
    }
}
