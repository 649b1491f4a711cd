//! Draws random specs, and the behaviour of a template that its spec does not describe.

use unjinja_spec::{
    Content, ContentMode, FormatSpec, GenerationPrompt, Reasoning, ReasoningMode, StartsIn, TemplateInfo, ToolFormat,
    Tools,
};

use crate::behaviour::{Absent, AcceptedArguments, Behaviour, FIELDS, History, Messages, PARTS};
use crate::marker::{Alphabet, Markers};
use crate::node::Style;
use crate::rng::Rng;
use crate::{messages, tools};

/// A spec, and what else is needed to write its template.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The spec.
    pub spec: FormatSpec,
    /// What the template does that the spec does not describe.
    pub behaviour: Behaviour,
    /// The style in which the template is written.
    pub style: Style,
}

/// Draws a spec that is valid and can be lowered.
pub fn draw(rng: &mut Rng) -> Drawn {
    loop {
        let drawn = attempt(rng);
        if drawn.spec.check().is_ok() && unjinja_codegen::interpreter(&drawn.spec).is_ok() {
            return drawn;
        }
    }
}

fn attempt(rng: &mut Rng) -> Drawn {
    let style = Style::draw(rng);
    let mut behaviour = Behaviour { bos: rng.coin(), trims: rng.one_in(4), ..Behaviour::default() };
    let mut markers = Markers::new(rng);
    behaviour.alphabet = Some(markers.usual());
    let mut spec = FormatSpec::new(TemplateInfo {
        name: "drawn".into(),
        file: "drawn.jinja".into(),
        sha256: "0".repeat(64),
        ..TemplateInfo::default()
    });
    if markers.rng().one_in(10) {
        messages::draw(&mut markers, &mut spec, &mut behaviour);
    } else {
        one_message(&mut markers, &mut spec, &mut behaviour);
    }
    capabilities(markers.rng(), &mut spec, &mut behaviour);
    label(&mut markers, &mut spec, &mut behaviour);
    spec.tools.argument_order = tools::argument_order(markers.rng(), &spec.tools, &behaviour);
    Drawn { spec, behaviour, style }
}

/// A turn that is one message.
fn one_message(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    turn(markers, spec, behaviour);
    tools::draw(markers, spec, behaviour);
    reasoning(markers, spec, behaviour);
    content(markers, spec, behaviour);
    if spec.tools.format == ToolFormat::None && spec.content.mode != ContentMode::Plain {
        // Without a turn of calls to compare with, an empty block and the answer's opener look like one marker.
        behaviour.absent = Absent::Nothing;
        spec.reasoning.empty.clear();
        if spec.turn.assistant_start.is_empty() && spec.reasoning.field.is_empty() {
            // Every turn begins with the wrapper, so it cannot be told from the start of the turn.
            spec.content = Content::default();
        }
    }
    prompts(markers.rng(), spec, behaviour);
    if behaviour.absent == Absent::EmptyBlock && always_opened(spec) {
        behaviour.absent = Absent::Nothing;
    }
}

/// The markers around messages.
fn turn(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    let names = markers.rng().pick(&[("user", "assistant"), ("user", "model"), ("User", "Bot"), ("human", "gpt")]);
    let alphabet = markers.tags();
    let turn = &mut spec.turn;
    match markers.rng().below(4) {
        // One pair of markers, with the role in between.
        0 => {
            let (open, close) = markers.pair(alphabet);
            let after = markers.rng().pick(&["\n", "\n", "\n\n"]);
            turn.user_start = format!("{open}{}{after}", names.0);
            turn.assistant_start = format!("{open}{}{after}", names.1);
            behaviour.system_start = format!("{open}system{after}");
            turn.end = format!("{close}{}", markers.rng().pick(&["", "\n"]));
            behaviour.user_end.clone_from(&turn.end);
        }
        // A header between two markers.
        1 => {
            let (open, close) = markers.pair(alphabet);
            let after = markers.rng().pick(&["", "\n", "\n\n"]);
            turn.user_start = format!("{open}{}{close}{after}", names.0);
            turn.assistant_start = format!("{open}{}{close}{after}", names.1);
            behaviour.system_start = format!("{open}system{close}{after}");
            turn.end = format!("{}{}", markers.single(alphabet), markers.rng().pick(&["", "\n"]));
            behaviour.user_end.clone_from(&turn.end);
        }
        // A marker for each role.
        2 => {
            let after = markers.rng().pick(&["", "\n"]);
            turn.user_start = format!("{}{after}", markers.single(alphabet));
            turn.assistant_start = format!("{}{after}", markers.single(alphabet));
            behaviour.system_start = format!("{}{after}", markers.single(alphabet));
            turn.end = if markers.rng().one_in(4) { String::new() } else { markers.single(alphabet) };
            if markers.rng().coin() {
                behaviour.user_end.clone_from(&turn.end);
            }
        }
        // A pair around user messages, and nothing before an answer.
        _ => {
            (turn.user_start, behaviour.user_end) = markers.pair(alphabet);
            behaviour.system_start.clone_from(&turn.user_start);
            turn.end = markers.single(alphabet);
        }
    }
}

fn reasoning(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    let calls = spec.tools.format != ToolFormat::None;
    let reasoning = &mut spec.reasoning;
    let kind = markers.rng().below(10);
    if kind < 3 {
        return;
    }
    let alphabet = markers.tags();
    let (open, close) = markers.laid_out(alphabet);
    let after = markers.space();
    reasoning.end = format!("{close}{}", if after == " " { "" } else { after });
    reasoning.mode = ReasoningMode::TagBased;
    reasoning.field = match markers.rng().below(8) {
        0 => format!("{}_text", markers.word()),
        1 => PARTS.to_owned(),
        _ => markers.rng().pick(&FIELDS).to_owned(),
    };
    reasoning.start = open;
    match kind {
        3 => {
            // Only the end has a marker.
            reasoning.start = String::new();
            behaviour.history = markers.rng().pick(&[History::Always, History::AfterLastUser]);
        }
        4 if calls => reasoning.mode = ReasoningMode::ToolsOnly,
        5 | 6 => {
            behaviour.history = History::Never;
            reasoning.field = String::new();
        }
        _ if markers.rng().one_in(3) && calls_have_an_opener(&spec.tools) => {
            // Only the next section closes reasoning.
            behaviour.history = markers.rng().pick(&[History::Always, History::AfterLastUser]);
            reasoning.end.clear();
        }
        _ => {
            behaviour.history = markers.rng().pick(&[History::Always, History::Always, History::AfterLastUser]);
            behaviour.absent =
                markers.rng().pick(&[Absent::Nothing, Absent::Nothing, Absent::EmptyBlock, Absent::Closed]);
            if behaviour.absent == Absent::Closed {
                reasoning.empty.clone_from(&reasoning.end);
            }
        }
    }
}

/// Whether a marker opens the calls that is no mere word.
fn calls_have_an_opener(tools: &Tools) -> bool {
    let openers = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
    let first = openers.iter().find_map(|marker| marker.trim_start().chars().next());
    first.is_some_and(|first| !first.is_alphabetic())
}

/// Whether reasoning has no closer: the next section closes it.
fn is_open(reasoning: &Reasoning) -> bool {
    reasoning.mode != ReasoningMode::None && reasoning.end.is_empty()
}

fn content(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    if is_open(&spec.reasoning) {
        let alphabet = markers.tags();
        spec.content.mode = ContentMode::AlwaysWrapped;
        (spec.content.start, spec.content.end) = markers.laid_out(alphabet);
        if markers.rng().coin() && !spec.content.after_calls {
            spec.content.end.clear();
        }
        return;
    }
    let shown = spec.reasoning.mode == ReasoningMode::TagBased && !spec.reasoning.field.is_empty();
    spec.content.mode = match markers.rng().below(8) {
        0 => ContentMode::AlwaysWrapped,
        1 if shown && !spec.reasoning.start.is_empty() => ContentMode::WrappedWithReasoning,
        2 if spec.tools.format != ToolFormat::None && !spec.content.after_calls => ContentMode::WrappedWithCalls,
        _ => return,
    };
    let alphabet = markers.tags();
    (spec.content.start, spec.content.end) = markers.laid_out(alphabet);
    // Where an empty wrapper ends and the first call begins, only tags tell.
    let tells = spec.content.mode == ContentMode::WrappedWithCalls && alphabet != Alphabet::Tilde;
    behaviour.empty_wrapper = tells && markers.rng().coin();
}

/// What a turn with an answer begins with while tools are offered.
fn label(markers: &mut Markers<'_>, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    let first = spec.content.mode == ContentMode::Plain
        && behaviour.absent == Absent::Nothing
        && (spec.reasoning.mode == ReasoningMode::None || !spec.reasoning.field.is_empty())
        && spec.generation_prompt.iter().all(|prompt| prompt.starts_in == StartsIn::Content);
    if first && spec.capabilities.tools && !behaviour.prints_null && markers.rng().one_in(4) {
        spec.content.label = format!("{} ", markers.single(Alphabet::Word));
        behaviour.label_first = spec.reasoning.mode != ReasoningMode::None && markers.rng().coin();
    }
}

/// Whether every render contains the opener of reasoning (empty blocks included), and the closing marker is not the opener
/// with a slash. Then the opener cannot be told from the end of the turn's start. If all prompts are empty, the template may
/// as well have no prompt.
fn always_opened(spec: &FormatSpec) -> bool {
    let opened = format!("{}{}", spec.turn.assistant_start, spec.reasoning.start);
    let mut prompts = spec.generation_prompt.iter().map(|prompt| prompt.text.as_str());
    !spec.reasoning.end.contains('/')
        && (prompts.clone().all(str::is_empty) || prompts.all(|prompt| prompt.starts_with(&opened)))
}

/// What the thinking switch does.
fn prompts(rng: &mut Rng, spec: &mut FormatSpec, behaviour: &Behaviour) {
    let start = spec.turn.assistant_start.clone();
    let is_open = is_open(&spec.reasoning);
    let reasoning = &mut spec.reasoning;
    let opened = (format!("{start}{}", reasoning.start), StartsIn::Reasoning);
    let empty = (format!("{start}{}{}", reasoning.start, reasoning.end), StartsIn::Content);
    let closed = (format!("{start}{}", reasoning.end), StartsIn::Content);
    let delimiter = reasoning.mode != ReasoningMode::None && reasoning.start.is_empty();
    // If only the end of reasoning has a marker, output begins in reasoning.
    let bare = (start, if delimiter { StartsIn::Reasoning } else { StartsIn::Content });
    let mut add = |thinking, (text, starts_in): &(String, StartsIn)| {
        spec.generation_prompt.push(GenerationPrompt { thinking, text: text.clone(), starts_in: *starts_in });
    };
    let hidden = behaviour.history == History::Never;
    if reasoning.mode == ReasoningMode::None || (delimiter && rng.coin()) {
        return add(None, &bare);
    }
    if rng.coin() {
        return add(None, if !delimiter && (hidden || rng.one_in(3)) { &opened } else { &bare });
    }
    let switches = ["enable_thinking", "thinking", "enable_reasoning", "reasoning", "thinks_aloud", "with_plan"];
    reasoning.switch = rng.pick(&switches).to_owned();
    let ways = match (delimiter, hidden) {
        _ if is_open => vec![(&opened, &bare)],
        (true, _) => vec![(&bare, &closed)],
        (false, true) => vec![(&opened, &empty), (&opened, &bare), (&opened, &closed)],
        (false, false) => {
            vec![(&bare, &empty), (&opened, &empty), (&opened, &bare), (&opened, &closed), (&bare, &closed)]
        }
    };
    let (on, off) = rng.pick(&ways);
    add(None, if rng.coin() { on } else { off });
    add(Some(true), on);
    add(Some(false), off);
}

fn capabilities(rng: &mut Rng, spec: &mut FormatSpec, behaviour: &mut Behaviour) {
    let calls = spec.tools.format != ToolFormat::None;
    let can = &mut spec.capabilities;
    can.tool_calls = calls;
    can.tools = calls && !rng.one_in(8);
    behaviour.shows_example = can.tools && behaviour.messages == Messages::One && rng.one_in(3);
    can.parallel_tool_calls = calls && (!spec.tools.gen_id_field.is_empty() || !rng.one_in(10));
    can.parallel_tool_calls |= spec.tools.call_id.position == unjinja_spec::CallIdPosition::InName;
    can.parallel_tool_calls |= behaviour.counts_calls || behaviour.messages == Messages::InLines;
    behaviour.refuses = rng.coin();
    can.system_role = !rng.one_in(8);
    can.typed_content = rng.one_in(4);
    can.object_arguments = calls && behaviour.accepts != AcceptedArguments::Text;
    can.string_arguments = calls && behaviour.accepts != AcceptedArguments::Object;
    can.reasoning = spec.reasoning.mode != ReasoningMode::None;
    let plain =
        spec.content.mode == ContentMode::Plain && behaviour.history != History::Never && spec.reasoning.field != PARTS;
    behaviour.prints_null = calls && plain && rng.one_in(8);
    can.requires_nonnull_content = behaviour.prints_null;
}
