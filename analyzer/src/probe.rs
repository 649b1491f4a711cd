//! The probe: renders conversations in which every field carries a sentinel, and cuts the assistant's turn out of the
//! render.
//!
//! It keeps all renders of one template within common limits of time and size, and never renders the same conversation
//! twice. It draws no conclusions.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::conversation::{AssistantMessage, Call, Style, tools_for};
use crate::sentinels::Sentinels;
use crate::text;
use crate::trace::{Comparison, Experiment};
use unjinja_render::{Reads, RenderError, RenderErrorKind, RenderOptions, Rendered, Template};

/// Receives each comparison.
pub(crate) type Observer<'o> = dyn FnMut(&Comparison) + Send + 'o;

/// A template and its renders so far.
pub(crate) struct Probe<'t> {
    pub template: &'t Template,
    observer: Option<RefCell<&'t mut Observer<'t>>>,
    renders: Cell<u32>,
    cache: RefCell<HashMap<String, Result<String, RenderError>>>,
    /// The steps that are left for all further renders together.
    fuel: Cell<u64>,
    /// The first limit that a render exceeded. Nothing is rendered after that.
    limit: RefCell<Option<RenderError>>,
}

/// Steps for all renders of one template together, because a hostile template can stay just below the limit of a single
/// render in each of them. The largest chat template of the corpus takes a tenth of it.
const FUEL: u64 = 4_000_000;

/// Bytes of one render at most; all renders are kept and compared. The largest one of the corpus has eight thousand.
const OUTPUT_BYTES: usize = 256 << 10;

impl<'t> Probe<'t> {
    pub(crate) fn new(template: &'t Template) -> Self {
        Self {
            template,
            observer: None,
            renders: Cell::new(0),
            cache: RefCell::default(),
            fuel: Cell::new(FUEL),
            limit: RefCell::default(),
        }
    }

    /// A probe that passes each comparison to `observer`.
    pub(crate) fn observed(template: &'t Template, observer: Option<&'t mut Observer<'t>>) -> Self {
        Self { observer: observer.map(RefCell::new), ..Self::new(template) }
    }

    /// Passes a comparison to the observer. Without an observer, `note` is not called. It must report what the analysis
    /// has seen: it may ask for renders that were made before, but not for new ones.
    pub(crate) fn note(
        &self,
        s: &Sentinels,
        experiment: Experiment,
        varied: impl std::fmt::Display,
        note: impl FnOnce(&mut Comparison),
    ) {
        let Some(observer) = &self.observer else { return };
        let renders = self.renders();
        let mut comparison = Comparison::new(experiment, varied.to_string(), s);
        note(&mut comparison);
        debug_assert_eq!(renders, self.renders(), "{experiment}: a note renders nothing new");
        observer.borrow_mut()(&comparison.finish(s));
    }

    /// The limit that a render exceeded, if one did. Then the conclusions may be incomplete.
    pub(crate) fn limit(&self) -> Option<RenderError> {
        self.limit.borrow().clone()
    }

    /// One render. Its steps count towards the common limit.
    fn run(&self, context: &Value, watch: bool) -> (Result<String, RenderError>, Reads) {
        if let Some(limit) = self.limit() {
            return (Err(limit), Reads::default());
        }
        self.renders.set(self.renders.get() + 1);
        let mut limits = self.template.limits().clone();
        limits.fuel = limits.fuel.min(self.fuel.get());
        limits.output_bytes = limits.output_bytes.min(OUTPUT_BYTES);
        let options = RenderOptions::new().limits(limits).record_reads(watch);
        let Rendered { result, reads, steps, .. } = self.template.render_with(context, &options);
        self.fuel.set(self.fuel.get().saturating_sub(steps));
        if let Err(error) = &result
            && error.kind() == RenderErrorKind::Limit
        {
            *self.limit.borrow_mut() = Some(error.clone());
        }
        (result, reads)
    }

    /// How many distinct conversations were rendered.
    pub(crate) fn renders(&self) -> u32 {
        self.renders.get()
    }

    /// Renders messages; `extra` holds further template variables.
    pub(crate) fn render(
        &self,
        messages: &[Value],
        tools: &Value,
        generation_prompt: bool,
        extra: &[(&str, Value)],
    ) -> Result<String, RenderError> {
        let context = self.context(messages, tools, generation_prompt, extra);
        let key = context.to_string();
        if let Some(known) = self.cache.borrow().get(&key) {
            return known.clone();
        }
        let (rendered, _) = self.run(&context, false);
        self.cache.borrow_mut().insert(key, rendered.clone());
        rendered
    }

    /// The fields that the template looks for in an assistant's message.
    pub(crate) fn fields_read(&self, s: &Sentinels, calls: Option<Style>) -> Vec<String> {
        let user = json!({"role": "user", "content": s.user});
        let call = Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())]);
        let answer = AssistantMessage::content(s.content);
        let mut turns = vec![(answer.message(Style::PLAIN), Value::Null)];
        if let Some(style) = calls {
            let tools = tools_for(s, std::slice::from_ref(&call));
            turns.push((AssistantMessage::calls(std::slice::from_ref(&call)).message(style), tools));
        }
        let mut fields = Vec::new();
        for (message, tools) in turns {
            let context = self.context(&[user.clone(), message], &tools, false, &[]);
            let (text, reads) = self.run(&context, true);
            let calls = context["messages"][1].get("tool_calls").is_some();
            self.note(s, Experiment::MessageFields, if calls { "a turn with a call" } else { "an answer" }, |note| {
                let paths: Vec<&str> =
                    reads.paths().iter().filter_map(|path| path.strip_prefix("messages[].")).collect();
                note.result("the conversation", &text);
                note.because(format!("the template reads these fields of messages: {}", paths.join(", ")));
            });
            for path in reads.paths() {
                if let Some(field) = path.strip_prefix("messages[].")
                    && !field.contains(['.', '['])
                    && !fields.iter().any(|known| known == field)
                {
                    fields.push(field.to_owned());
                }
            }
        }
        fields
    }

    /// The text of an assistant's turn after one user message: everything that the turn adds to the render.
    pub(crate) fn turn(&self, s: &Sentinels, message: &AssistantMessage, style: Style) -> Result<String, RenderError> {
        self.turn_with(s, message, style, &[])
    }

    pub(crate) fn turn_with(
        &self,
        s: &Sentinels,
        message: &AssistantMessage,
        style: Style,
        extra: &[(&str, Value)],
    ) -> Result<String, RenderError> {
        let tools = if message.calls.is_empty() { Value::Null } else { tools_for(s, &message.calls) };
        let user = json!({"role": "user", "content": s.user});
        let whole = self.render(&[user.clone(), message.message(style)], &tools, false, extra)?;
        let start = self.turn_start(s, &whole, &user, &tools, extra);
        let after = self.after_turn(&whole, start, &user, &tools, extra);
        Ok(whole[start..whole.len() - after].to_owned())
    }

    /// The length of the text that the template writes after the last message, whichever message that is.
    fn after_turn(&self, whole: &str, start: usize, user: &Value, tools: &Value, extra: &[(&str, Value)]) -> usize {
        let Ok(before) = self.render(std::slice::from_ref(user), tools, false, extra) else { return 0 };
        let common = text::common_prefix(&before, whole);
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

    /// Where the turn after the first user message begins.
    fn turn_start(&self, s: &Sentinels, whole: &str, user: &Value, tools: &Value, extra: &[(&str, Value)]) -> usize {
        let least = whole.rfind(s.user).map_or(0, |at| at + s.user.len());
        let common = match self.render(std::slice::from_ref(user), tools, false, extra) {
            Ok(before) if whole.starts_with(&before) => before.len(),
            // A template that always writes a generation prompt: the part in common with an answer is the start.
            Ok(before) => {
                let answer = AssistantMessage::content(s.content).message(Style::PLAIN);
                let answer = self.render(&[user.clone(), answer], tools, false, extra).unwrap_or_default();
                let common = text::common_prefix(&before, whole);
                let common = if answer.is_empty() { common } else { common.min(text::common_prefix(&before, &answer)) };
                // The start of a turn may equal the beginning of what follows it; the generation prompt tells them
                // apart.
                let prompt = self.render(std::slice::from_ref(user), tools, true, extra).unwrap_or_default();
                let prompt = prompt.strip_prefix(before.as_str()).unwrap_or("");
                let looks = (1..=prompt.len()).rev().filter(|&n| prompt.is_char_boundary(n)).map(|n| &prompt[..n]);
                let same = looks.into_iter().find(|start| whole[..common].ends_with(start)).map_or(0, str::len);
                common - same
            }
            Err(_) => least,
        };
        common.max(least)
    }

    /// The text of a turn that another user message follows, up to that message's sentinel.
    pub(crate) fn past_turn(
        &self,
        s: &Sentinels,
        message: &AssistantMessage,
        style: Style,
    ) -> Result<String, RenderError> {
        let tools = if message.calls.is_empty() { Value::Null } else { tools_for(s, &message.calls) };
        let user = json!({"role": "user", "content": s.user});
        let user2 = json!({"role": "user", "content": s.user2});
        let whole = self.render(&[user.clone(), message.message(style), user2], &tools, false, &[])?;
        let start = self.turn_start(s, &whole, &user, &tools, &[]);
        let end = text::after(&whole, start, s.user2).map_or(whole.len(), |range| range.start);
        Ok(whole[start..end].to_owned())
    }

    /// What `add_generation_prompt` adds after a user message.
    pub(crate) fn generation_prompt(
        &self,
        s: &Sentinels,
        tools: &Value,
        extra: &[(&str, Value)],
    ) -> Result<String, RenderError> {
        let user = json!({"role": "user", "content": s.user});
        let before = self.render(std::slice::from_ref(&user), tools, false, extra)?;
        let after = self.render(&[user], tools, true, extra)?;
        let least = after.rfind(s.user).map_or(0, |at| at + s.user.len());
        let start = if after.starts_with(&before) { before.len() } else { text::common_prefix(&before, &after) };
        let prompt = &after[start.max(least)..];
        self.note(s, Experiment::GenerationPrompt, Given(extra), |note| {
            note.render("add_generation_prompt = false", &before).render("add_generation_prompt = true", &after);
            note.found("generation_prompt.text", prompt);
            note.because(if prompt.is_empty() {
                "nothing is added after the user message"
            } else {
                "it is added after the user message"
            });
        });
        Ok(prompt.to_owned())
    }

    /// The variables of a render.
    fn context(&self, messages: &[Value], tools: &Value, generation_prompt: bool, extra: &[(&str, Value)]) -> Value {
        let mut context = Map::new();
        context.insert("messages".into(), messages.to_vec().into());
        context.insert("add_generation_prompt".into(), generation_prompt.into());
        // Tokens that the template's file does not state are defined and empty.
        let tokens = self.template.tokens();
        context.insert("bos_token".into(), tokens.bos.as_deref().unwrap_or_default().into());
        context.insert("eos_token".into(), tokens.eos.as_deref().unwrap_or_default().into());
        context.insert("datetime".into(), "2026-01-15".into());
        // Some templates take the offered functions as JSON text.
        let functions: Vec<&Value> =
            tools.as_array().into_iter().flatten().filter_map(|tool| tool.get("function")).collect();
        context.insert("functions".into(), json!(functions).to_string().into());
        if tools.is_array() {
            context.insert("tools".into(), tools.clone());
        }
        for (name, value) in extra {
            context.insert((*name).to_owned(), value.clone());
        }
        Value::Object(context)
    }
}

/// Template variables that an experiment sets, in words.
struct Given<'v>(&'v [(&'v str, Value)]);

impl std::fmt::Display for Given<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("without and with a generation prompt")?;
        self.0.iter().try_for_each(|(name, value)| write!(f, ", {name} = {value}"))
    }
}
