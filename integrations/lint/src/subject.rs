//! The template under test, with what is known of it: how it wants its messages, what the analysis found, and a parser. All
//! renders of the linter go through here.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};
use unjinja_analyzer::{AnalyzeError, GapReport, Naming, ROUND_TRIPS, analyze, gap_report, verify};
use unjinja_codegen::interpreter;
use unjinja_render::{
    Clock, Encoding, Field, FieldPart, Labels, Origin, Reads, RenderError, RenderOptions, Rendered, SourcePosition,
    SpecialTokens, Template,
};
use unjinja_runtime::{Interpreter, Message, Options, Tools, parse};
use unjinja_spec::{ArgumentsForm, CallIdForm, FormatSpec, Messages, Status, ToolFormat};

use super::conversation::{Conversation, Manner, words};

/// What replaces the special tokens whose texts are not known.
const BOS: &str = "<s>";
const EOS: &str = "</s>";
const OTHER: &str = "<unk>";

/// The steps that all renders of one template may take together.
const MOST_STEPS: u64 = 60_000_000;

/// A template and what is known of it.
pub(crate) struct Subject {
    template: Template,
    /// The special tokens that were given.
    given: SpecialTokens,
    pub variables: BTreeSet<String>,
    /// How to hand over messages without calls.
    pub(super) plain: Manner,
    /// How to hand over calls so that they are rendered; `None` if there is no way.
    pub(super) calls: Option<Manner>,
    /// What the analysis found; `None` if it failed.
    pub(crate) spec: Option<FormatSpec>,
    /// What the analysis could not read back.
    pub gap: Option<GapReport>,
    pub(crate) parser: Option<Interpreter>,
    texts: RefCell<HashMap<String, Result<String, RenderError>>>,
    /// The steps that all further renders may take together.
    steps_left: Cell<u64>,
    /// The shortest variables of a render that transformers refuses, and why.
    refused: RefCell<Option<(Value, String)>>,
}

/// A labelled render.
pub(super) struct Labelled {
    pub text: String,
    pub labels: Labels,
    pub reads: Reads,
}

impl Labelled {
    /// The pieces of the text that come from fields, in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&Field, &str)> {
        self.labels.spans().iter().filter_map(|span| match &span.origin {
            Origin::Field(field) => Some((field, self.text.get(span.range.clone()).unwrap_or_default())),
            Origin::Template => None,
        })
    }

    /// The pieces of values that come from fields at or below a path.
    pub(super) fn values_at<'l>(&'l self, path: &'l str) -> impl Iterator<Item = (&'l Field, &'l str)> {
        let below = move |field: &Field| {
            field.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.fields().filter(move |(field, _)| below(field) && field.part == FieldPart::Value)
    }
}

/// Whether an encoding is Python's way to write a value.
pub(super) fn is_python(field: &Field) -> bool {
    field.encodings.contains(&Encoding::PythonRepr)
}

impl Subject {
    /// Analyses the template, unless its spec is known.
    pub(super) fn new(template: &Template, known: Option<&FormatSpec>) -> (Self, Result<(), AnalyzeError>) {
        let name = template.name();
        let given = template.tokens().clone();
        let tokens = SpecialTokens {
            bos: Some(given.bos.clone().unwrap_or_else(|| BOS.to_owned())),
            eos: Some(given.eos.clone().unwrap_or_else(|| EOS.to_owned())),
            others: given.others.clone(),
        };
        let template = template.clone().with_tokens(tokens);
        let mut subject = Self {
            variables: template.variables(),
            given,
            template,
            plain: Manner::usual(),
            calls: None,
            spec: None,
            gap: None,
            parser: None,
            texts: RefCell::default(),
            steps_left: Cell::new(MOST_STEPS),
            refused: RefCell::default(),
        };
        let analysed =
            known.map_or_else(|| analyze(&subject.template, &Naming::of_file(name)), |spec| Ok(spec.clone()));
        let analysed = match analysed {
            Ok(mut spec) => {
                let verification = verify(&subject.template, &spec, ROUND_TRIPS, 1);
                if known.is_none() && spec.status.makes_parser() {
                    for (status, gap) in verification.gaps(&spec) {
                        spec.add_gap(status, gap);
                    }
                }
                if spec.status != Status::Supported {
                    subject.gap = gap_report(&subject.template, &spec, &verification, name);
                }
                subject.parser = spec.status.makes_parser().then(|| interpreter(&spec).ok()).flatten();
                subject.plain = Manner { needs: spec.messages, word: false };
                subject.spec = Some(spec);
                subject.calls = subject.call_manner();
                Ok(())
            }
            Err(error) => Err(error),
        };
        (subject, analysed)
    }

    /// The variables of a render, with a text for each special token that the template reads and its file does not give. So
    /// whoever renders the template with them sees what was seen here.
    pub(crate) fn context(&self, conversation: &Conversation) -> Value {
        self.with_tokens(conversation.context())
    }

    /// These variables of a render, with the special tokens that are missing.
    pub(crate) fn with_tokens(&self, mut context: Value) -> Value {
        let Some(variables) = context.as_object_mut() else { return context };
        for name in self.variables.iter().filter(|name| name.ends_with("_token")) {
            let (given, text) = match name.as_str() {
                "bos_token" => (self.given.bos.is_some(), BOS),
                "eos_token" => (self.given.eos.is_some(), EOS),
                _ => (self.given.others.contains_key(name), OTHER),
            };
            if !given {
                variables.entry(name.clone()).or_insert_with(|| text.into());
            }
        }
        context
    }

    /// What a render is without a text for one special token. The others have one.
    pub(super) fn without_token(
        &self,
        conversation: &Conversation,
        name: &str,
    ) -> (Value, Result<String, RenderError>) {
        let mut context = self.context(conversation);
        if let Some(variables) = context.as_object_mut() {
            variables.shift_remove(name);
        }
        let template = self.template.clone().with_tokens(self.given.clone());
        let text = template.render(&context);
        (context, text)
    }

    pub(crate) fn template(&self) -> &Template {
        &self.template
    }

    pub(crate) fn text(&self, conversation: &Conversation) -> Result<String, RenderError> {
        let context = self.context(conversation);
        let key = context.to_string();
        if let Some(known) = self.texts.borrow().get(&key) {
            return known.clone();
        }
        let text = self.render(&context, RenderOptions::new()).result;
        self.texts.borrow_mut().insert(key, text.clone());
        text
    }

    pub(super) fn labelled(&self, conversation: &Conversation) -> Option<Labelled> {
        let rendered = self.render(&self.context(conversation), RenderOptions::new().label(true).record_reads(true));
        Some(Labelled { text: rendered.result.ok()?, labels: rendered.labels?, reads: rendered.reads })
    }

    /// The variables of all renders that were made until now.
    pub(crate) fn tried(&self) -> Vec<Value> {
        let mut keys: Vec<String> = self.texts.borrow().keys().cloned().collect();
        keys.sort_unstable();
        keys.iter().filter_map(|key| serde_json::from_str(key).ok()).collect()
    }

    /// The statement of the template that writes the byte at this offset of a render.
    pub(super) fn statement(&self, conversation: &Conversation, offset: usize) -> Option<SourcePosition> {
        self.labelled(conversation)?.labels.statement_at(offset)
    }

    /// A render within the steps that are left. A render takes some thousand steps, so only a template that does not end, or
    /// nearly so, meets the limit; then all further renders fail at once.
    fn render(&self, context: &Value, options: RenderOptions) -> Rendered {
        let mut limits = self.template.limits().clone();
        limits.fuel = limits.fuel.min(self.steps_left.get());
        let rendered = self.template.render_with(context, &options.limits(limits));
        self.steps_left.set(self.steps_left.get().saturating_sub(rendered.steps));
        if let Some(why) = &rendered.refused_by_transformers {
            let mut known = self.refused.borrow_mut();
            let length = context.to_string().len();
            if known.as_ref().is_none_or(|(known, _)| length < known.to_string().len()) {
                *known = Some((context.clone(), why.clone()));
            }
        }
        rendered
    }

    /// A conversation that transformers refuses, and why.
    pub(super) fn refused_by_transformers(&self) -> Option<(Value, String)> {
        self.refused.borrow().clone()
    }

    /// The text at another time.
    pub(super) fn text_at(&self, conversation: &Conversation, clock: Clock) -> Option<String> {
        self.template.clone().with_clock(clock).render(&self.context(conversation)).ok()
    }

    /// The special tokens of the renders.
    pub(super) fn tokens(&self) -> &SpecialTokens {
        self.template.tokens()
    }

    /// The special tokens that are known.
    pub(super) fn given_tokens(&self) -> &SpecialTokens {
        &self.given
    }

    pub(super) fn source(&self) -> &str {
        self.template.source()
    }

    /// How to hand over calls so that their names and arguments are rendered: as the spec says, or with a word as the content. A
    /// spec whose calls nobody can read says nothing about their arguments, nor about ids that hold the name.
    fn call_manner(&self) -> Option<Manner> {
        let usual = self.plain;
        let named = Manner { needs: Messages { ids: CallIdForm::Named, ..usual.needs }, ..usual };
        let manners = [usual, Manner { word: true, ..usual }, usual.with_arguments(ArgumentsForm::Text), named];
        let shows = |manner: &Manner| {
            let result = manner.result(0);
            let turns =
                [vec![manner.user(), manner.call()], vec![manner.user(), manner.call(), result, manner.answer()]];
            turns.into_iter().any(|turn| {
                let turn = Conversation::of(turn).with_tools();
                self.labelled(&turn).is_some_and(|labelled| {
                    let has = |path: &str, word: &str| {
                        labelled.values_at(path).any(|(field, piece)| piece.contains(word) && !is_python(field))
                    };
                    let calls = "messages[1].tool_calls[0]";
                    has(calls, words::TOOL) && has(calls, words::VALUE)
                })
            })
        };
        let shows_somehow = |manner: &Manner| {
            let turn = Conversation::of([manner.user(), manner.call()]).with_tools();
            self.labelled(&turn).is_some_and(|labelled| {
                let has =
                    |word: &str| labelled.values_at("messages[1].tool_calls[0]").any(|(_, text)| text.contains(word));
                has(words::TOOL) && has(words::VALUE)
            })
        };
        manners.iter().find(|manner| shows(manner)).or_else(|| manners.iter().find(|m| shows_somehow(m))).copied()
    }

    /// Whether the offered tools are in the prompt.
    pub(super) fn offers_tools(&self) -> bool {
        let offered = Conversation::of([self.plain.user()]).with_tools().prompting();
        self.text(&offered).is_ok_and(|text| text.contains(words::TOOL))
    }

    /// The name of the field from which the template takes reasoning, if it is one field.
    pub(super) fn reasoning_field(&self) -> Option<&str> {
        let field = self.spec.as_ref()?.reasoning.field.as_str();
        (!field.is_empty() && !field.contains('.')).then_some(field)
    }

    /// The variables that switch reasoning on, if there is a switch.
    pub(super) fn reasoning_on(&self) -> Map<String, Value> {
        let switch = self.spec.as_ref().map_or("", |spec| spec.reasoning.switch.as_str());
        if switch.is_empty() { Map::new() } else { Map::from_iter([(switch.to_owned(), true.into())]) }
    }

    pub(super) fn tool_format(&self) -> ToolFormat {
        self.spec.as_ref().map_or(ToolFormat::None, |spec| spec.tools.format)
    }

    /// What the parser reads of the last turn of a conversation, which must be the assistant's; `None` if there is no
    /// parser, or no turn to be seen.
    pub(super) fn read_back(&self, conversation: &Conversation) -> Option<Message> {
        let (parser, spec) = (self.parser.as_ref()?, self.spec.as_ref()?);
        let (_, earlier) = conversation.messages.split_last()?;
        let before = Conversation { messages: earlier.to_vec(), ..conversation.clone() };
        let full = self.text(conversation).ok()?;
        let history = self.text(&before).ok()?;
        let prompt = self.text(&before.prompting()).ok()?;
        let start = spec.turn.assistant_start.as_str();
        let (opening, body) = match (full.strip_prefix(&prompt), full.strip_prefix(&history)) {
            (Some(body), _) => (prompt.strip_prefix(&history).unwrap_or(start), body),
            (None, Some(turn)) => (start, turn.strip_prefix(start)?),
            (None, None) => {
                let at = full.rfind(start).filter(|_| !start.trim().is_empty())?;
                (start, &full[at + start.len()..])
            }
        };
        let core = spec.turn.end.trim();
        let body = match body.rfind(core) {
            Some(at) if !core.is_empty() => &body[..at + core.len()],
            _ => body,
        };
        let tools = conversation.tools.as_ref().map(Tools::from_openai)?.ok()?;
        Some(parse(parser.clone(), body, &Options::new().tools(&tools).generation_prompt(opening)))
    }
}
