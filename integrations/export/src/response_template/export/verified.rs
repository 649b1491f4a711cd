//! The proof of an export: the random conversations of a template go through the executor, and each that comes back changed is
//! reported with the output that shows it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use unjinja_analyzer::{AfterResult, Rendered, Verification};
use unjinja_runtime::{Message, Tools};
use unjinja_spec::{FormatSpec, StartsIn};

use super::super::error::ReadError;
use super::super::problem::Problems;
use super::super::reading::{Reading, read, read_pieces};
use super::super::schema::ResponseTemplate;
use super::from_spec::{self, Draft};
use super::loss::LossKind;
use super::python_calls;

/// A response template that was made of a spec.
#[derive(Clone, Debug)]
pub struct Export {
    /// The template, as it is in `tokenizer_config.json`.
    pub json: Json,
    /// How many random conversations were tried.
    pub tried: u32,
    /// How many came back.
    pub held: u32,
    /// What does not come back, or is known not to be expressed.
    pub losses: Vec<Loss>,
    /// What its user should know, and no template can change.
    pub notes: Vec<String>,
}

/// Something that the template does not express.
#[derive(Clone, Debug)]
pub struct Loss {
    /// What it is.
    pub kind: LossKind,
    /// How many conversations it changed.
    pub count: u32,
    /// The shortest conversation that shows it; absent if none of those that were tried does.
    pub example: Option<Example>,
}

/// An output that is read as something else than was written.
#[derive(Clone, Debug)]
pub struct Example {
    /// The text of the turn from the end of the prompt on.
    pub output: String,
    /// It is read otherwise only when it arrives in small pieces.
    pub in_pieces: bool,
    /// What was written.
    pub expected: Message,
    /// What was read, or why nothing was.
    pub read: Result<Reading, ReadError>,
}

impl Export {
    /// Whether nothing is lost.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty()
    }
}

/// Makes a response template and tries it with the conversations of a verification of the same spec.
///
/// ```
/// use unjinja_analyzer::{Naming, analyze, verify_after_results};
/// use unjinja_export::response_template::export;
/// use unjinja_render::Template;
///
/// let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = Template::parse("hello.jinja", text)?;
/// let spec = analyze(&template, &Naming::of_file("hello.jinja"))?;
/// let export = export(&spec, &verify_after_results(&template, &spec, 20, 1))?;
/// assert_eq!((export.tried, export.held), (20, 20));
/// assert_eq!(export.json["start_anchor"], "<assistant>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The markers of the spec make no valid template: a marker is too long for a pattern.
pub fn export(spec: &FormatSpec, verification: &Verification) -> Result<Export, Problems> {
    let mut best: Option<Export> = None;
    let tails: BTreeSet<&str> = verification.after_results.iter().map(|after| after.tail.as_str()).collect();
    for draft in from_spec::drafts(spec, &tails) {
        let export = tried(draft, spec, verification)?;
        let is_whole = export.is_whole();
        if best.as_ref().is_none_or(|best| best.held < export.held) {
            best = Some(export);
        }
        if is_whole {
            break;
        }
    }
    best.ok_or_else(|| Problems(Vec::new()))
}

/// Tries one template with all conversations.
fn tried(draft: Draft, spec: &FormatSpec, verification: &Verification) -> Result<Export, Problems> {
    let Draft { json, losses } = draft;
    let template = ResponseTemplate::from_json(&json)?;
    let mut notes = Vec::new();
    if template.has_field("tool_calls") {
        notes.push("arguments do not stream: every reader gives them when the call is complete".to_owned());
    }
    if spec.turn.end.trim().is_empty() && spec.tokens.eos.is_none() {
        let next = "export tokenizer_config.json or GGUF, which say what `eos_token` is";
        notes.push(format!(
            "no token is known that ends a turn, so one that the model writes stays in the content: {next}"
        ));
    }
    let mut losses: Vec<Loss> = losses.into_iter().map(|kind| Loss { kind, count: 0, example: None }).collect();
    let mut held = 0;
    for turn in &verification.turns {
        match lost(&template, spec, turn) {
            None => held += 1,
            Some(example) => note(&mut losses, example),
        }
    }
    for after in &verification.after_results {
        match lost_after(&template, spec, after) {
            None => held += 1,
            // What is lost in any turn has nothing to do with the result.
            Some((example, true)) => note(&mut losses, example),
            Some((example, false)) => note_as(&mut losses, LossKind::AfterResult, example),
        }
    }
    for example in verification.quoting.iter().filter_map(|turn| lost(&template, spec, turn)) {
        // A call that is lost without a quote as well shows nothing new.
        if !losses.iter().any(|loss| loss.count > 0 && explains(loss.kind, difference(&example))) {
            note_as(&mut losses, LossKind::QuotedMarker, example);
        }
    }
    for loss in &mut losses {
        if loss.kind == LossKind::PythonCalls && loss.example.is_none() {
            let sample = sample(&template, spec);
            let is_lost = !sample.read.as_ref().is_ok_and(|reading| reading.is_same(&sample.expected));
            loss.example = is_lost.then_some(sample);
        }
    }
    // What was foreseen, and no conversation shows, is not a loss.
    let (losses, unseen) = losses.into_iter().partition::<Vec<Loss>, _>(|loss| loss.example.is_some());
    let unseen = unseen.into_iter().filter(|loss| loss.kind.is_told_unseen());
    notes.extend(unseen.map(|loss| format!("{}; no random conversation shows a loss", loss.kind)));
    let tried = u32::try_from(verification.turns.len() + verification.after_results.len()).unwrap_or(u32::MAX);
    Ok(Export { json, tried, held, losses, notes })
}

/// What a reader makes of a call in a format that the language cannot express.
fn sample(template: &ResponseTemplate, spec: &FormatSpec) -> Example {
    let (output, arguments) = python_calls::sample(spec);
    let expected = Message::new("", vec![unjinja_runtime::ToolCall::new("set_rules", arguments)]);
    let read = read(template, &spec.turn.assistant_start, &output, &[]);
    Example { output, in_pieces: false, expected, read }
}

/// How many conversations of a verification come back when a reader reads them with a template, which may be anybody's. Turns after
/// results of calls are among them.
#[must_use]
pub fn came_back(template: &ResponseTemplate, spec: &FormatSpec, verification: &Verification) -> u32 {
    let held = verification.turns.iter().filter(|turn| lost(template, spec, turn).is_none()).count();
    let after = verification.after_results.iter().filter(|after| lost_after(template, spec, after).is_none()).count();
    u32::try_from(held + after).unwrap_or(u32::MAX)
}

/// Adds a conversation to the loss that explains it, or makes a new one of it.
fn note(losses: &mut Vec<Loss>, example: Example) {
    let found = difference(&example);
    let explained = losses.iter().find(|loss| explains(loss.kind, found)).map(|loss| loss.kind);
    note_as(losses, explained.unwrap_or(found), example);
}

/// Adds a conversation to the loss of this kind.
fn note_as(losses: &mut Vec<Loss>, kind: LossKind, example: Example) {
    let at = losses.iter().position(|loss| loss.kind == kind).unwrap_or_else(|| {
        losses.push(Loss { kind, count: 0, example: None });
        losses.len() - 1
    });
    let loss = &mut losses[at];
    loss.count += 1;
    if loss.example.as_ref().is_none_or(|known| example.output.len() < known.output.len()) {
        loss.example = Some(example);
    }
}

/// Whether a foreseen loss changes this part of a message.
fn explains(kind: LossKind, found: LossKind) -> bool {
    kind == found
        || match kind {
            LossKind::PythonCalls | LossKind::NameAsKey | LossKind::UnmarkedCalls => {
                matches!(found, LossKind::Calls | LossKind::Arguments | LossKind::Failed)
            }
            LossKind::RepeatedName => {
                matches!(found, LossKind::Calls | LossKind::Arguments | LossKind::Content | LossKind::Failed)
            }
            LossKind::PythonValues => {
                matches!(found, LossKind::Arguments | LossKind::Calls | LossKind::Failed)
            }
            LossKind::NestedTags => found == LossKind::Arguments,
            LossKind::UnopenedReasoning => found == LossKind::Reasoning,
            LossKind::Label => found == LossKind::Content,
            _ => false,
        }
}

/// The part of the message that came back different, the most telling first.
pub(crate) fn difference(example: &Example) -> LossKind {
    let Ok(reading) = &example.read else { return LossKind::Failed };
    let names = |calls: &[&str]| calls.join("\n");
    let expected: Vec<&str> = example.expected.tool_calls.iter().map(|call| call.name.as_str()).collect();
    let read: Vec<&str> = reading.calls.iter().map(|call| call.name.as_str()).collect();
    if names(&expected) != names(&read) {
        return LossKind::Calls;
    }
    if reading.reasoning.trim() != example.expected.reasoning_content.trim() {
        return LossKind::Reasoning;
    }
    if reading.content.trim() != example.expected.content.trim() {
        return LossKind::Content;
    }
    LossKind::Arguments
}

/// One way in which a turn reaches a reader.
#[derive(Clone, Debug)]
pub struct Attempt<'t> {
    /// The prompt.
    pub prompt: String,
    /// The output: whole, or in small pieces.
    pub pieces: Vec<&'t str>,
    /// The tools that are offered, in OpenAI's form.
    pub tools: Vec<Json>,
}

/// The ways in which a turn of a verification reaches a reader: with the marker of the turn's end and without, whole and in
/// small pieces. The message must be the same.
#[must_use]
pub fn attempts<'t>(spec: &'t FormatSpec, turn: &'t Rendered) -> Vec<Attempt<'t>> {
    let (prompt, output) = split(spec, turn);
    ways(spec, format!("A question.{}{prompt}", spec.turn.assistant_start), output, &turn.tools)
}

/// The same for a turn after the result of a call.
#[must_use]
pub fn attempts_after<'t>(spec: &'t FormatSpec, after: &'t AfterResult) -> Vec<Attempt<'t>> {
    ways(spec, after.prompt.clone(), &after.turn.body, &after.turn.tools)
}

/// The ways in which an output reaches a reader after a prompt.
fn ways<'t>(spec: &'t FormatSpec, prompt: String, output: &'t str, tools: &Tools) -> Vec<Attempt<'t>> {
    // Generation stops at the token, before the white space that the template writes after it.
    let trimmed = output.trim_end();
    let without_end = from_spec::ends(spec).iter().find_map(|end| trimmed.strip_suffix(end.as_str()));
    let outputs = [without_end.map_or(output, |_| trimmed), without_end.unwrap_or(output)];
    let ways = outputs.into_iter().flat_map(|output| [vec![output], pieces(output)]);
    let tools = openai(tools);
    ways.map(|pieces| Attempt { prompt: prompt.clone(), pieces, tools: tools.clone() }).collect()
}

/// The first attempt to read a turn that gives another message; `None` if there is none.
pub(crate) fn lost(template: &ResponseTemplate, spec: &FormatSpec, turn: &Rendered) -> Option<Example> {
    first_lost(template, attempts(spec, turn), &turn.message)
}

/// The same for a turn after the result of a call, and whether another turn that the prompt leaves as much of is lost too.
pub(crate) fn lost_after(
    template: &ResponseTemplate,
    spec: &FormatSpec,
    after: &AfterResult,
) -> Option<(Example, bool)> {
    let AfterResult { tail, turn, .. } = after;
    let example = first_lost(template, attempts_after(spec, after), &turn.message)?;
    let begun = spec.generation_prompt.iter().filter_map(|prompt| prompt.text.strip_prefix(&spec.turn.assistant_start));
    let begun = begun.filter(|text| tail.ends_with(text)).max_by_key(|text| text.len()).unwrap_or_default();
    let first = format!("A question.{}{begun}", spec.turn.assistant_start);
    let in_any = first_lost(template, ways(spec, first, &turn.body, &turn.tools), &turn.message).is_some();
    Some((example, in_any))
}

fn first_lost(template: &ResponseTemplate, ways: Vec<Attempt<'_>>, expected: &Message) -> Option<Example> {
    ways.into_iter().find_map(|Attempt { prompt, pieces, tools }| {
        let read = read_pieces(template, &prompt, &pieces, &tools);
        let in_pieces = pieces.len() > 1;
        let is_same = read.as_ref().is_ok_and(|reading| reading.is_same(expected));
        (!is_same).then(|| Example { output: pieces.concat(), in_pieces, expected: expected.clone(), read })
    })
}

/// An output in pieces of a few characters each, as a server streams it.
fn pieces(output: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut rest, mut lengths) = (output, [1, 4, 2, 7, 3, 5].into_iter().cycle());
    while !rest.is_empty() {
        let length = lengths.next().unwrap_or(1);
        let (piece, after) = rest.split_at(rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A turn as what the prompt writes of it and what the model writes: the longest generation prompt that it begins with. Some
/// templates write a text into the prompt that they leave out of past turns.
fn split<'s>(spec: &'s FormatSpec, turn: &'s Rendered) -> (&'s str, &'s str) {
    let start = spec.turn.assistant_start.as_str();
    let tail = |prompt: &'s unjinja_spec::GenerationPrompt| prompt.text.strip_prefix(start);
    let prompts = || spec.generation_prompt.iter().filter_map(tail);
    let longest = prompts().filter(|text| turn.body.starts_with(text)).map(str::len).max().unwrap_or(0);
    let reasons = !turn.message.reasoning_content.is_empty();
    let thinking = spec.generation_prompt.iter().filter(|prompt| prompt.starts_in == StartsIn::Reasoning);
    match thinking.filter_map(tail).find(|text| !text.trim().is_empty()) {
        Some(text) if longest == 0 && reasons && spec.reasoning.start.trim().is_empty() => (text, &turn.body),
        _ => turn.body.split_at(longest),
    }
}

/// Tools in OpenAI's form.
fn openai(tools: &Tools) -> Vec<Json> {
    let function = |tool: &unjinja_runtime::Tool| json!({"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}});
    tools.iter().map(function).collect()
}
