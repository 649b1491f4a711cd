//! The probe: renders conversations whose fields carry sentinels, and cuts the assistant's turn out of the render.
//!
//! It keeps all renders of one template within common limits of time and size, and never renders the same conversation
//! twice. It draws no conclusions.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use serde_json::{Map, Value};
use unjinja_render::{
    FieldPart, Labels, Origin, Reads, RenderError, RenderErrorKind, RenderOptions, Rendered, Span, Template,
};
use unjinja_spec::{Functions, FunctionsForm, Messages};

use crate::conversation::{AssistantMessage, Call, Style, tools_for};
use crate::observed::{LabelledHole, LabelledTurn};
use crate::sentinels::SENTINELS;
use crate::text;

pub(crate) type Variable = (String, Value);

/// A text, and where its parts come from, if that was asked.
struct Labelled {
    text: String,
    labels: Option<Labels>,
}

/// A template and its renders until now.
pub(crate) struct Probe<'t> {
    pub template: &'t Template,
    /// The variables that the template reads. Others are not handed over, which saves a third of the time.
    pub variables: BTreeSet<String>,
    renders: Cell<u32>,
    cache: RefCell<HashMap<String, Result<Rc<Labelled>, RenderError>>>,
    /// The steps that are left for all further renders together.
    fuel: Cell<u64>,
    /// The bytes that are left for all further renders together.
    bytes: Cell<usize>,
    /// The error with which the common limits were used up. Nothing is rendered after that.
    limit: RefCell<Option<RenderError>>,
    /// What the template needs of the variable `functions`.
    functions: OnceCell<Functions>,
    /// What labelled renders looked for in their fields.
    reads: RefCell<Reads>,
    /// What follows a number in the header of the assistant's turn, which changes with the place in the conversation. The turn
    /// begins with it.
    after_number: OnceCell<String>,
}

/// Steps for all renders of one template together, because a hostile template can stay just below the limit of a single
/// render in each of them. The largest chat template of the corpus takes a tenth of it.
const FUEL: u64 = 4_000_000;

/// Bytes of one render at most. The largest one of the corpus has eight thousand.
const OUTPUT_BYTES: usize = 256 << 10;

/// Bytes of all renders together, because all are kept and compared.
const ALL_BYTES: usize = 32 << 20;

impl<'t> Probe<'t> {
    pub(crate) fn new(template: &'t Template) -> Self {
        Self {
            template,
            variables: template.variables(),
            renders: Cell::new(0),
            cache: RefCell::default(),
            fuel: Cell::new(FUEL),
            bytes: Cell::new(ALL_BYTES),
            limit: RefCell::default(),
            functions: OnceCell::new(),
            reads: RefCell::default(),
            after_number: OnceCell::new(),
        }
    }

    /// The limit of all renders together, if it was exceeded. Then the conclusions may be incomplete.
    pub(crate) fn limit(&self) -> Option<RenderError> {
        self.limit.borrow().clone()
    }

    /// How many distinct conversations were rendered.
    pub(crate) fn renders(&self) -> u32 {
        self.renders.get()
    }

    /// One render. Its steps count towards the common limit.
    fn run(&self, context: &Value, options: RenderOptions) -> Rendered {
        if let Some(limit) = self.limit() {
            return Rendered {
                result: Err(limit),
                reads: Reads::default(),
                steps: 0,
                labels: None,
                refused_by_transformers: None,
            };
        }
        self.renders.set(self.renders.get() + 1);
        let mut limits = self.template.limits().clone();
        limits.fuel = limits.fuel.min(self.fuel.get());
        limits.output_bytes = limits.output_bytes.min(OUTPUT_BYTES.min(self.bytes.get()));
        let rendered = self.template.render_with(context, &options.limits(limits));
        self.fuel.set(self.fuel.get().saturating_sub(rendered.steps));
        self.bytes.set(self.bytes.get().saturating_sub(rendered.result.as_ref().map_or(0, String::len)));
        // One conversation may well be too much for a template, and another one not.
        let used_up = self.fuel.get() == 0 || self.bytes.get() < OUTPUT_BYTES;
        if let Err(error) = &rendered.result
            && error.kind() == RenderErrorKind::Limit
            && used_up
        {
            *self.limit.borrow_mut() = Some(error.clone());
        }
        rendered
    }

    /// Renders messages; `extra` holds further template variables.
    pub(crate) fn render(
        &self,
        messages: &[Value],
        tools: &Value,
        generation_prompt: bool,
        extra: &[Variable],
    ) -> Result<String, RenderError> {
        let context = self.context(messages.to_vec(), tools, generation_prompt, extra);
        self.labelled(&context, false).map(|labelled| labelled.text.clone())
    }

    fn labelled(&self, context: &Value, label: bool) -> Result<Rc<Labelled>, RenderError> {
        let key = context.to_string();
        match self.cache.borrow().get(&key) {
            Some(Ok(known)) if label && known.labels.is_none() => {}
            Some(known) => return known.clone(),
            None => {}
        }
        let Rendered { result, labels, reads, .. } = self.run(context, RenderOptions::new().label(label));
        self.reads.borrow_mut().merge(&reads);
        let labelled = result.map(|text| Rc::new(Labelled { text, labels }));
        self.cache.borrow_mut().insert(key, labelled.clone());
        labelled
    }

    /// The fields that the template looks for in this message, which comes after a user message.
    pub(crate) fn fields_read(&self, message: &AssistantMessage, style: Style) -> Vec<String> {
        let messages = [style.user(SENTINELS.user), message.message(style)];
        let context = self.context(messages.into(), &message.tools(style), false, &[]);
        let reads = self.run(&context, RenderOptions::new().record_reads(true)).reads;
        let fields = reads.paths().iter().filter_map(|path| path.strip_prefix("messages[]."));
        fields.filter(|field| !field.contains(['.', '['])).map(str::to_owned).collect()
    }

    /// The texts that labelled renders looked for in this field, or compared with it. The template may have put them together.
    pub(crate) fn sought(&self, path: &str) -> Vec<String> {
        self.reads.borrow().sought(path).map(str::to_owned).collect()
    }

    /// A labelled render of these variables without the text; only what it looks for in its fields is of interest.
    pub(crate) fn look(&self, context: &Value) {
        let _ = self.labelled(context, true);
    }

    /// What follows the user's message, up to the next one, where `message` is the answer to it. `before` comes before both,
    /// `after` follows both.
    pub(crate) fn turn_among(
        &self,
        [before, after]: [Vec<Value>; 2],
        message: &AssistantMessage,
        tools: &Value,
        style: Style,
        extra: &[Variable],
    ) -> Result<LabelledTurn, RenderError> {
        let place = before.len() + 1;
        let messages = [before, vec![style.user(SENTINELS.user), message.message(style)], after].concat();
        let labelled = self.labelled(&self.context(messages, tools, false, extra), true)?;
        let start = labelled.text.rfind(SENTINELS.user).map_or(0, |at| at + SENTINELS.user.len());
        let end = text::after(&labelled.text, start, SENTINELS.user2).map_or(labelled.text.len(), |range| range.start);
        Ok(observe_at(&labelled, start..end, message, place, style))
    }

    /// The assistant's turn after one user message: everything that the turn adds to the render.
    pub(crate) fn turn(
        &self,
        message: &AssistantMessage,
        style: Style,
        extra: &[Variable],
    ) -> Result<LabelledTurn, RenderError> {
        self.turn_offering(message, &message.tools(style), style, extra)
    }

    /// The assistant's turn after one user message, while these tools are offered.
    pub(crate) fn turn_offering(
        &self,
        message: &AssistantMessage,
        tools: &Value,
        style: Style,
        extra: &[Variable],
    ) -> Result<LabelledTurn, RenderError> {
        let user = style.user(SENTINELS.user);
        let context = self.context(vec![user.clone(), message.message(style)], tools, false, extra);
        let labelled = self.labelled(&context, true)?;
        let range = self.turn_range(&labelled.text, &user, tools, style, extra);
        Ok(observe(&labelled, range, message, style))
    }

    /// The text of the assistant's turn after one user message.
    pub(crate) fn turn_text(
        &self,
        message: &AssistantMessage,
        style: Style,
        extra: &[Variable],
    ) -> Result<String, RenderError> {
        let (user, tools) = (style.user(SENTINELS.user), message.tools(style));
        let whole = self.render(&[user.clone(), message.message(style)], &tools, false, extra)?;
        Ok(whole[self.turn_range(&whole, &user, &tools, style, extra)].to_owned())
    }

    /// The text of the assistant's turn after one user message, if it begins with `start` and `end` is in it. This takes
    /// one render, because nothing has to be compared. What the template writes after the turn is included.
    pub(crate) fn turn_between(
        &self,
        message: &AssistantMessage,
        tools: &Value,
        style: Style,
        extra: &[Variable],
        [start, end]: [&str; 2],
    ) -> Option<String> {
        if start.trim().is_empty() || end.trim().is_empty() {
            return None;
        }
        let messages = vec![style.user(SENTINELS.user), message.message(style)];
        let context = self.context(messages, tools, false, extra);
        let whole = self.run(&context, RenderOptions::new()).result.ok()?;
        let user = whole.rfind(SENTINELS.user)? + SENTINELS.user.len();
        let turn = &whole[user + whole[user..].find(start.trim())?..];
        turn.contains(end.trim()).then(|| turn.to_owned())
    }

    /// The range of the last turn in a render.
    fn turn_range(&self, whole: &str, user: &Value, tools: &Value, style: Style, extra: &[Variable]) -> Range<usize> {
        let before = self.render(std::slice::from_ref(user), tools, false, extra).ok();
        let start = self.turn_start(whole, before.as_deref(), user, tools, style, extra);
        start..whole.len() - before.map_or(0, |before| after_turn(whole, start, &before))
    }

    /// The turn, which another user message follows, up to the text of that message.
    pub(crate) fn past_turn(
        &self,
        message: &AssistantMessage,
        style: Style,
        extra: &[Variable],
    ) -> Result<LabelledTurn, RenderError> {
        self.turn_before(message, Vec::new(), style, extra)
    }

    /// The turn, which another exchange follows, up to the text of the user's message in it. Some templates treat the last
    /// answer of a conversation unlike those before it.
    pub(crate) fn earlier_turn(&self, message: &AssistantMessage, style: Style) -> Result<LabelledTurn, RenderError> {
        let answer = AssistantMessage::content(SENTINELS.word).message(style);
        self.turn_before(message, vec![answer], style, &[])
    }

    /// The turn, which another user message follows, and after that these messages.
    fn turn_before(
        &self,
        message: &AssistantMessage,
        more: Vec<Value>,
        style: Style,
        extra: &[Variable],
    ) -> Result<LabelledTurn, RenderError> {
        let (user, tools) = (style.user(SENTINELS.user), message.tools(style));
        let messages = [vec![user.clone(), message.message(style), style.user(SENTINELS.user2)], more].concat();
        let context = self.context(messages, &tools, false, extra);
        let labelled = self.labelled(&context, true)?;
        let whole = &labelled.text;
        let before = self.render(std::slice::from_ref(&user), &tools, false, extra).ok();
        let start = self.turn_start(whole, before.as_deref(), &user, &tools, style, extra);
        let end = text::after(whole, start, SENTINELS.user2).map_or(whole.len(), |range| range.start);
        Ok(observe(&labelled, start..end, message, style))
    }

    /// What the template writes before the assistant's turn after one user message, which another one may follow.
    pub(crate) fn before_turn(
        &self,
        message: &AssistantMessage,
        past: bool,
        style: Style,
        extra: &[Variable],
    ) -> Result<String, RenderError> {
        let (user, tools) = (style.user(SENTINELS.user), message.tools(style));
        let mut messages = vec![user.clone(), message.message(style)];
        messages.extend(past.then(|| style.user(SENTINELS.user2)));
        let mut whole = self.render(&messages, &tools, false, extra)?;
        let before = self.render(std::slice::from_ref(&user), &tools, false, extra).ok();
        whole.truncate(self.turn_start(&whole, before.as_deref(), &user, &tools, style, extra));
        Ok(whole)
    }

    /// What `add_generation_prompt` adds after a user message, all that follows that message in the prompt, and the whole
    /// prompt.
    pub(crate) fn prompt_ends(&self, style: Style, extra: &[Variable]) -> Result<[String; 3], RenderError> {
        let user = [style.user(SENTINELS.user)];
        let before = self.render(&user, &Value::Null, false, extra)?;
        let after = self.render(&user, &Value::Null, true, extra)?;
        let least = after.rfind(SENTINELS.user).map_or(0, |at| at + SENTINELS.user.len());
        let start = if after.starts_with(&before) { before.len() } else { text::common_prefix(&before, &after) };
        // A template may also write something before the messages, such as a system message of its own.
        let end_of_user = before.rfind(SENTINELS.user).map(|at| &before[at + SENTINELS.user.len()..]);
        let start = match end_of_user.filter(|end| start < least && after[least..].starts_with(end)) {
            Some(end) => least + end.len(),
            None => start,
        };
        let start = self.without_number(&after, start.max(least));
        Ok([after[start..].to_owned(), after[least..].to_owned(), after])
    }

    /// Where the turn after the first user message begins. `before` is that message alone.
    fn turn_start(
        &self,
        whole: &str,
        before: Option<&str>,
        user: &Value,
        tools: &Value,
        style: Style,
        extra: &[Variable],
    ) -> usize {
        let least = whole.rfind(SENTINELS.user).map_or(0, |at| at + SENTINELS.user.len());
        let common = match before {
            Some(before) if whole.starts_with(before) => before.len(),
            // A template that always writes a generation prompt: the part in common with an answer is the start.
            Some(before) => {
                let answer = AssistantMessage::content(SENTINELS.content).message(style);
                let answer = self.render(&[user.clone(), answer], tools, false, extra).unwrap_or_default();
                let common = text::common_prefix(before, whole);
                let common = if answer.is_empty() { common } else { common.min(text::common_prefix(before, &answer)) };
                // The start of a turn may equal the beginning of what follows it; the generation prompt tells them
                // apart.
                let prompt = self.render(std::slice::from_ref(user), tools, true, extra).unwrap_or_default();
                let prompt = prompt.strip_prefix(before).unwrap_or("");
                let looks = (1..=prompt.len()).rev().filter(|&n| prompt.is_char_boundary(n)).map(|n| &prompt[..n]);
                let same = looks.into_iter().find(|start| whole[..common].ends_with(start)).map_or(0, str::len);
                common - same
            }
            None => least,
        };
        self.without_number(whole, common.max(least))
    }

    /// The start of a turn without the number in its header.
    fn without_number(&self, whole: &str, start: usize) -> usize {
        let end = self.after_number.get().and_then(|end| whole[start..].find(end.as_str()));
        end.filter(|at| *at <= LONGEST_NUMBERED).map_or(start, |at| start + at)
    }

    /// Whether the prompts of this template write a number in the header that changes with the place in the conversation.
    /// Turns then begin after it. An answer that another answer comes before tells.
    pub(crate) fn find_number(&self, lead: &str, style: Style) -> bool {
        // A digit in a name is no number.
        if !lead.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word.parse::<u32>().is_ok()) {
            return false;
        }
        let [answer, user] = [AssistantMessage::content(SENTINELS.content).message(style), style.user(SENTINELS.user)];
        let at = |exchanges: usize| {
            let exchange = [style.user(SENTINELS.user2), answer.clone()];
            let mut messages = vec![exchange; exchanges].concat();
            messages.push(user.clone());
            let after_user = |text: String| Some(text[text.rfind(SENTINELS.user)? + SENTINELS.user.len()..].to_owned());
            let prompt = after_user(self.render(&messages, &Value::Null, true, &[]).ok()?)?;
            messages.push(answer.clone());
            let turn = after_user(self.render(&messages, &Value::Null, false, &[]).ok()?)?;
            let header = turn[..turn.find(SENTINELS.content)?].to_owned();
            prompt.starts_with(&header).then_some(header)
        };
        let (Some(first), Some(later)) = (at(0), at(3)) else { return false };
        let common = text::common_suffix(&first, &later);
        let end = first[first.len() - common..].trim_start_matches(|c: char| c.is_ascii_digit());
        first != later && !end.trim().is_empty() && self.after_number.set(end.to_owned()).is_ok()
    }

    pub(crate) fn context(
        &self,
        messages: Vec<Value>,
        tools: &Value,
        generation_prompt: bool,
        extra: &[Variable],
    ) -> Value {
        self.context_with(self.functions(), messages, tools, generation_prompt, extra)
    }

    /// What the template needs of the variable `functions`.
    pub(crate) fn functions(&self) -> Functions {
        if !self.variables.contains("functions") {
            return Functions::default();
        }
        *self.functions.get_or_init(|| {
            let (user, offered) = (Style::usual().user(SENTINELS.user), tools_for(&[Call::probe(0)]));
            Functions::find(SENTINELS.functions[0], |form, offers| {
                let tools = if offers { &offered } else { &Value::Null };
                let functions = Functions { form, always: form != FunctionsForm::Unset };
                let context = self.context_with(functions, vec![user.clone()], tools, true, &[]);
                self.labelled(&context, false).ok().map(|labelled| labelled.text.clone())
            })
        })
    }

    /// The variables with `functions` as it says.
    fn context_with(
        &self,
        functions: Functions,
        messages: Vec<Value>,
        tools: &Value,
        generation_prompt: bool,
        extra: &[Variable],
    ) -> Value {
        let mut context = Map::new();
        context.insert("messages".into(), messages.into());
        context.insert("add_generation_prompt".into(), generation_prompt.into());
        // Tokens that the template's file does not state are defined and empty.
        let tokens = self.template.tokens();
        context.insert("bos_token".into(), tokens.bos.as_deref().unwrap_or_default().into());
        context.insert("eos_token".into(), tokens.eos.as_deref().unwrap_or_default().into());
        context.insert("datetime".into(), "2026-01-15".into());
        if tools.is_array() {
            context.insert("tools".into(), tools.clone());
        }
        Messages { functions, ..Messages::default() }.set_functions(&mut context);
        // Renders are remembered by their variables: those that the template does not read make no difference.
        context.retain(|name, _| name == "messages" || self.variables.contains(name));
        context.extend(extra.iter().cloned());
        Value::Object(context)
    }
}

/// The length of the text that the template writes after the last message, whichever message that is. `before` is the
/// render without the turn that begins at `start`.
fn after_turn(whole: &str, start: usize, before: &str) -> usize {
    let common = text::common_prefix(before, whole);
    match before.get(common..) {
        Some(after) if !after.is_empty() && whole[start..].ends_with(after) => {
            // The turn begins like this text, so its start was cut too late by that much; the end makes up for it.
            let moved = common.saturating_sub(start);
            let lost = &whole[start..start + moved];
            let end = whole.len() - after.len();
            if moved > 0 && whole[..end].ends_with(lost) { after.len() + moved } else { after.len() }
        }
        _ => 0,
    }
}

/// The most bytes of a header before and in its number.
const LONGEST_NUMBERED: usize = 64;

/// Which of the messages of a render is the assistant's.
const PLACE: usize = 1;

/// A turn's text with the places of the message's parts. A part is where the render says that it comes from the
/// field of the part. A field may hold several parts (arguments as JSON text, reasoning in tags within the content);
/// then the words tell them apart.
fn observe(whole: &Labelled, turn: Range<usize>, message: &AssistantMessage, style: Style) -> LabelledTurn {
    observe_at(whole, turn, message, PLACE, style)
}

/// The same for the message at another place in the conversation.
fn observe_at(
    whole: &Labelled,
    turn: Range<usize>,
    message: &AssistantMessage,
    place: usize,
    style: Style,
) -> LabelledTurn {
    let message_path = format!("messages[{place}].");
    let words = message.words(style);
    let mut holes: Vec<LabelledHole> = Vec::new();
    for span in whole.labels.iter().flat_map(|labels| labels.spans()) {
        let Origin::Field(field) = &span.origin else { continue };
        let Some(path) = field.path.strip_prefix(&message_path).filter(|_| field.part != FieldPart::Syntax) else {
            continue;
        };
        if span.range.start < turn.start || turn.end < span.range.end {
            continue;
        }
        let (text, at) = (&whole.text[span.range.clone()], span.range.start - turn.start);
        let found = words.iter().flat_map(|(word, part)| {
            text.match_indices(word.as_str())
                .map(|(from, _)| LabelledHole { range: at + from..at + from + word.len(), part: *part })
        });
        let before = holes.len();
        holes.extend(found);
        // What has another form than the field, but comes from it: in capital letters, as `True`, as a list.
        if holes.len() == before
            && let Some(part) = message.part_at(path, field.part == FieldPart::Key)
        {
            holes.push(LabelledHole { range: at..at + text.len(), part });
        }
    }
    LabelledTurn { text: whole.text[turn.clone()].to_owned(), holes: without_overlap(holes) }.with_changed(
        whole,
        turn.start,
        message,
        &message_path,
    )
}

/// The holes in order. Of two that overlap, the longer one counts.
fn without_overlap(mut holes: Vec<LabelledHole>) -> Vec<LabelledHole> {
    holes.sort_by_cached_key(|hole| (hole.range.start, usize::MAX - hole.range.len()));
    let mut end = 0;
    holes.retain(|hole| {
        let free = hole.range.start >= end;
        if free {
            end = hole.range.end;
        }
        free
    });
    holes
}

impl LabelledTurn {
    /// The turn with the texts that the template changes: what comes from the field of a text, and does not show it as it is. Quotes
    /// that an encoding adds are a part of it. `start` is where the turn begins in the whole render.
    fn with_changed(mut self, whole: &Labelled, start: usize, message: &AssistantMessage, message_path: &str) -> Self {
        let spans = whole.labels.as_ref().map(Labels::spans).unwrap_or_default();
        for (field, part, text) in message.texts() {
            let path = format!("{message_path}{field}");
            let is_here = |span: &&Span| {
                let inside = start <= span.range.start && span.range.end <= start + self.text.len();
                inside && matches!(&span.origin, Origin::Field(field) if *field.path == *path)
            };
            let here: Vec<&Span> = spans.iter().filter(is_here).collect();
            let (Some(first), Some(last)) = (here.first(), here.last()) else { continue };
            let range = first.range.start - start..last.range.end - start;
            let is_syntax =
                |span: &&&Span| matches!(&span.origin, Origin::Field(field) if field.part == FieldPart::Syntax);
            let is_changed = self.first(part).is_none() || here.iter().any(|span| is_syntax(&span));
            let is_other =
                |hole: &LabelledHole| hole.part != part && hole.range.start < range.end && range.start < hole.range.end;
            if is_changed && range.len() * 2 >= text.len() && !self.holes.iter().any(is_other) {
                self.holes.retain(|hole| hole.part != part);
                self.holes.push(LabelledHole { range, part });
            }
        }
        self.holes = without_overlap(self.holes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Templates that take the offered functions in each form, and one that shows them without the variable.
    #[test]
    fn functions_are_offered_in_the_form_that_the_template_reads() -> Result<(), unjinja_render::TemplateError> {
        let turn = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}";
        let cases = [
            ("{% for f in functions %}{{ f.name + ': ' + f.description }}{% endfor %}", FunctionsForm::List, false),
            ("{{ functions | tojson }}", FunctionsForm::List, true),
            ("{% if functions %}{{ functions }}{% endif %}", FunctionsForm::Text, false),
            ("{{ 'Functions: ' + functions }}", FunctionsForm::Text, true),
            (
                "{% if tools %}{{ tools | tojson }}{% elif functions %}{{ functions }}{% endif %}",
                FunctionsForm::Unset,
                false,
            ),
            ("{{ functions is defined }}", FunctionsForm::Unset, false),
        ];
        for (head, form, always) in cases {
            let template = Template::parse("functions.jinja", &format!("{head}{turn}"))?;
            let probe = Probe::new(&template);
            let user = [Style::usual().user(SENTINELS.user)];
            let offered = probe.render(&user, &tools_for(&[Call::probe(0)]), true, &[]);
            assert!(
                offered.is_ok_and(|text| form == FunctionsForm::Unset || text.contains(SENTINELS.functions[0])),
                "{head}"
            );
            assert!(probe.render(&user, &Value::Null, true, &[]).is_ok(), "{head}");
            assert_eq!(probe.functions.get(), Some(&Functions { form, always }), "{head}");
        }
        Ok(())
    }
}
