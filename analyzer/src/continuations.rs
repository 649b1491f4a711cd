//! What no past turn shows: outputs that continue a prompt in the state in which the prompt leaves the model. Users live here:
//! the prompt has opened or closed reasoning, past turns are stripped of it, a server cuts the end of the turn.

use std::fmt;

use unjinja_runtime::{Interpreter, Message, Options, Tools, Unparsed, parse};
use unjinja_spec::{ContentMode, FormatSpec, MarkerText, ReasoningMode, ToolFormat};

use crate::conversation::Style;
use crate::message_kind::same;
use crate::probe::{Probe, Variable};
use crate::sentinels::SENTINELS;

/// What the user says, what the model thinks and what it answers.
pub(crate) const QUESTION: &str = "Hello!";
const REASONING: &str = "I see.";
const ANSWER: &str = "Good day.";

/// What an output shows that no past turn shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ContinuationKind {
    /// The prompt ends in reasoning, and the model closes it.
    OpenedByPrompt,
    /// The prompt ends after reasoning, or the format has none: the model answers.
    AnswersPrompt,
    /// The model opens reasoning itself, whether past turns show that or not.
    OpenedByModel,
    /// A part of the end of the turn follows the answer: a server stopped there.
    CutEnd,
    /// A value of a call expression is written in quotes that the template does not use.
    OtherQuotes,
    /// The turn comes later in the conversation, and the template writes it in another way there.
    LaterTurn,
    /// White space surrounds a text.
    Blanks,
}

impl fmt::Display for ContinuationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenedByPrompt => "reasoning that the prompt opens",
            Self::AnswersPrompt => "an answer after the prompt",
            Self::OpenedByModel => "reasoning that the model opens",
            Self::CutEnd => "an answer and a part of the end of the turn",
            Self::OtherQuotes => "a call with a value in other quotes",
            Self::LaterTurn => "a turn later in the conversation",
            Self::Blanks => "a text with white space around it",
        })
    }
}

/// An output that continues a prompt, and what the parser reads of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Continuation {
    /// What the output shows.
    pub kind: ContinuationKind,
    /// The prompt, as it was passed to the parser: all of it, or its end.
    pub prompt: String,
    /// The value of the thinking switch; `None` if it was not set.
    pub thinking: Option<bool>,
    /// The output of the model.
    pub output: String,
    /// The message that must come back.
    pub expected: Message,
    /// The message that the parser read.
    pub parsed: Message,
}

impl Continuation {
    /// Whether the parser read what it had to.
    pub fn held(&self) -> bool {
        came_back(&self.parsed, &self.expected)
    }
}

/// The state in which a prompt leaves the model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    InReasoning,
    AfterReasoning,
    /// Nothing in the prompt speaks of reasoning.
    Unsaid,
}

impl Left {
    fn by(prompt: &str, spec: &FormatSpec) -> Self {
        if spec.reasoning.mode == ReasoningMode::None {
            return Self::Unsaid;
        }
        let last =
            |marker: &str| Some(marker.trim()).filter(|core| !core.is_empty()).and_then(|core| prompt.rfind(core));
        match (last(&spec.reasoning.start), last(&spec.reasoning.end)) {
            (None, None) if spec.reasoning.start.trim().is_empty() => Self::InReasoning,
            (None, None) => Self::Unsaid,
            (start, end) if start > end => Self::InReasoning,
            _ => Self::AfterReasoning,
        }
    }
}

/// What the outputs are made of.
pub(crate) struct Continued<'p, 't> {
    pub probe: &'p Probe<'t>,
    pub parser: &'p Interpreter,
    pub spec: &'p FormatSpec,
    pub style: Style,
}

/// A prompt, and the value of the thinking switch with which it was rendered.
struct Prompt {
    thinking: Option<bool>,
    /// What `add_generation_prompt` adds, all that follows the user's message, and the whole prompt. A caller may pass any of them.
    forms: [String; 3],
}

impl Prompt {
    /// All that follows the user's message.
    fn end(&self) -> &str {
        &self.forms[1]
    }
}

impl Continued<'_, '_> {
    /// The outputs that continue a prompt without tools.
    pub(crate) fn texts(&self) -> Vec<Continuation> {
        let (spec, mut found) = (self.spec, Vec::new());
        let switch = &spec.reasoning.switch;
        let settings: &[Option<bool>] = if switch.is_empty() { &[None] } else { &[None, Some(true), Some(false)] };
        for thinking in settings {
            let extra: Vec<Variable> = thinking.iter().map(|on| (switch.clone(), (*on).into())).collect();
            let Ok(forms) = self.probe.prompt_ends(self.style, &extra) else { continue };
            let forms = forms.map(|form| form.replace(SENTINELS.user, QUESTION));
            let prompt = Prompt { thinking: *thinking, forms };
            let left = Left::by(prompt.end(), spec);
            let first = found.len();
            if left != Left::InReasoning && !self.needs_reasoning() {
                let output = self.answer(prompt.end(), "");
                found.push(self.text(ContinuationKind::AnswersPrompt, &prompt, output, false));
            }
            let opened = match left {
                Left::InReasoning => Some((ContinuationKind::OpenedByPrompt, "")),
                Left::Unsaid if spec.reasoning.mode != ReasoningMode::None => {
                    Some((ContinuationKind::OpenedByModel, spec.reasoning.start.as_str()))
                }
                Left::Unsaid | Left::AfterReasoning => None,
            };
            if let Some((kind, start)) = opened {
                let reasoning = [start, REASONING, &spec.reasoning.end].concat();
                found.push(self.text(kind, &prompt, self.answer(prompt.end(), &reasoning), true));
            }
            if thinking.is_none()
                && let Some(whole) = found.get(first).cloned()
            {
                found.extend(self.cut_ends(&prompt, &whole));
            }
        }
        found
    }

    /// Reasoning that the model opens after the header alone, where neither turns nor prompts leave room for it.
    pub(crate) fn opened_by_model(&self) -> Option<Continuation> {
        let (reasoning, header) = (&self.spec.reasoning, self.spec.turn.assistant_start.clone());
        if reasoning.mode == ReasoningMode::None || reasoning.start.trim().is_empty() {
            return None;
        }
        let prompt = Prompt { thinking: None, forms: [header.clone(), header.clone(), header] };
        let output = self.answer(prompt.end(), &[&reasoning.start, REASONING, &reasoning.end].concat());
        Some(self.text(ContinuationKind::OpenedByModel, &prompt, output, true))
    }

    /// Whether an answer without reasoning is written in another way than with it, so that no rule says how.
    fn needs_reasoning(&self) -> bool {
        self.spec.content.mode == ContentMode::WrappedWithReasoning
    }

    /// An answer after this reasoning, without the markers that the prompt has written.
    fn answer(&self, prompt: &str, reasoning: &str) -> String {
        let content = &self.spec.content;
        let is_wrapped = match content.mode {
            ContentMode::AlwaysWrapped => true,
            ContentMode::WrappedWithReasoning => !reasoning.is_empty(),
            ContentMode::Plain | ContentMode::WrappedWithCalls => false,
        };
        let written = if reasoning.is_empty() { written_by(prompt, &content.start) } else { 0 };
        let start = if is_wrapped { &content.start[written..] } else { "" };
        let end = if is_wrapped { content.end.as_str() } else { "" };
        [reasoning, start, ANSWER, end].concat()
    }

    /// The output with each part of the end of the turn that a server may leave.
    fn cut_ends(&self, prompt: &Prompt, whole: &Continuation) -> Vec<Continuation> {
        let end = MarkerText::new(&self.spec.turn.end);
        let has_reasoning = !whole.expected.reasoning_content.is_empty();
        let cut = |core| {
            let output = [&whole.output, end.before, core].concat();
            self.text(ContinuationKind::CutEnd, prompt, output, has_reasoning)
        };
        end.beginnings().into_iter().filter(|core| !core.is_empty()).map(cut).collect()
    }

    pub(crate) fn has_quotes(&self) -> bool {
        self.spec.tools.format == ToolFormat::CallExpression
    }

    /// The outputs in which a value of a call expression is in quotes of each kind. `body` is a turn with one call that came
    /// back, `value` the text that is an argument of it.
    pub(crate) fn other_quotes(&self, body: &str, value: &str, expected: &Message, tools: &Tools) -> Vec<Continuation> {
        let Some((before, after)) = body.split_once(value).filter(|(_, after)| !after.contains(value)) else {
            return Vec::new();
        };
        let own = [self.spec.tools.arguments.quote.as_str(), "'", "\""].into_iter().filter(|quote| !quote.is_empty());
        let quoted = own.into_iter().find_map(|quote| Some((before.strip_suffix(quote)?, after.strip_prefix(quote)?)));
        let (before, after) = quoted.unwrap_or((before, after));
        let prompt = self.spec.turn.assistant_start.clone();
        let options = Options::new().tools(tools).generation_prompt(&prompt);
        let outputs = ['\'', '"'].map(|quote| format!("{before}{quote}{value}{quote}{after}"));
        let continuation = |output: String| Continuation {
            kind: ContinuationKind::OtherQuotes,
            prompt: prompt.clone(),
            thinking: None,
            parsed: parse(self.parser.clone(), &output, &options),
            output,
            expected: expected.clone(),
        };
        outputs.into_iter().map(continuation).collect()
    }

    /// An output without calls; it has the answer, and perhaps the reasoning. Of the forms of the prompt, the
    /// first one counts with which it is read wrongly.
    fn text(&self, kind: ContinuationKind, prompt: &Prompt, output: String, has_reasoning: bool) -> Continuation {
        let mut expected = Message::new(ANSWER, Vec::new());
        if has_reasoning {
            expected.reasoning_content = REASONING.to_owned();
        }
        let read = |form: &str| {
            let options = Options::new().generation_prompt(form).unparsed(Unparsed::Separate);
            parse(self.parser.clone(), &output, &options)
        };
        let forms = prompt.forms.iter().filter(|form| !form.trim().is_empty());
        let wrong = forms.map(|form| (form, read(form))).find(|(_, parsed)| !came_back(parsed, &expected));
        let (form, parsed) = wrong.unwrap_or_else(|| (&prompt.forms[1], read(prompt.end())));
        let prompt_text = form.clone();
        Continuation { kind, prompt: prompt_text, thinking: prompt.thinking, output, expected, parsed }
    }
}

/// Whether a message came back, and nothing else: each marker was read as one.
fn came_back(parsed: &Message, expected: &Message) -> bool {
    same(parsed, expected) && parsed.unparsed.is_empty()
}

/// How many bytes of a marker are at the end of a prompt already.
fn written_by(prompt: &str, marker: &str) -> usize {
    let ends = marker.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.rev().find(|&end| prompt.ends_with(&marker[..end])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::error::Error;

    use unjinja_render::Template;
    use unjinja_spec::{StartsIn, Status};

    use super::*;
    use crate::{Naming, Verification, analyze, verify};

    /// Reasoning that the prompt opens or closes, as a switch says.
    const SWITCHED: &str = "{% for m in messages %}<|{{ m.role }}|>\n{% if m.role == 'assistant' %}\
        {% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{% endif %}\
        {{ m.content }}<|end|>\n{% endfor %}\
        {% if add_generation_prompt %}<|assistant|>\n{% if enable_thinking is defined and not enable_thinking %}\
        {{ '<think>\\n\\n</think>\\n\\n' }}{% elif enable_thinking is defined %}{{ '<think>\\n' }}{% endif %}{% endif %}";

    fn kinds(verification: &Verification) -> BTreeSet<ContinuationKind> {
        verification.continuations.iter().map(|one| one.kind).collect()
    }

    #[test]
    fn each_state_of_a_prompt_is_asked() -> Result<(), Box<dyn Error>> {
        use ContinuationKind::{AnswersPrompt, CutEnd, OpenedByModel, OpenedByPrompt};
        let template = Template::parse("switched.jinja", SWITCHED)?;
        let spec = analyze(&template, &Naming::of_file("switched.jinja"))?;
        let verification = verify(&template, &spec, 4, 1);
        assert_eq!(kinds(&verification), [OpenedByPrompt, AnswersPrompt, OpenedByModel, CutEnd].into());
        assert!(verification.all_held(), "{:?}", verification.wrong_continuations().collect::<Vec<_>>());
        let last = verification.covered();
        assert_eq!(last.last().map(String::as_str), Some("an answer and a part of the end of the turn"));
        Ok(())
    }

    #[test]
    fn what_a_spec_says_wrongly_of_prompts_is_found() -> Result<(), Box<dyn Error>> {
        let template = Template::parse("switched.jinja", SWITCHED)?;
        let mut spec = analyze(&template, &Naming::of_file("switched.jinja"))?;
        let opened = spec.generation_prompt.iter_mut().find(|prompt| prompt.starts_in == StartsIn::Reasoning);
        opened.ok_or("no prompt opens reasoning")?.starts_in = StartsIn::Content;
        let verification = verify(&template, &spec, 4, 1);
        assert_eq!(verification.held, verification.tried);
        assert!(!verification.all_held());
        let wrong: Vec<_> = verification.wrong_continuations().map(|one| (one.kind, one.thinking)).collect();
        assert_eq!(wrong, [(ContinuationKind::OpenedByPrompt, Some(true))]);
        let gaps = verification.gaps(&spec);
        let [(Status::Partial, gap)] = gaps.as_slice() else { return Err(format!("{gaps:?}").into()) };
        assert!(gap.contains("reasoning that the prompt opens"), "{gap}");
        assert!(!verification.covered().iter().any(|kind| kind == "reasoning that the prompt opens"));
        Ok(())
    }

    #[test]
    fn a_template_that_refuses_answers_is_read_from_its_prompts() -> Result<(), Box<dyn Error>> {
        let text = "{% for m in messages %}{% if m.role == 'assistant' %}{{ raise_exception('One turn.') }}{% endif %}\
            <|{{ m.role }}|>\n{{ m.content.split('</think>')[-1] }}<|end|>\n{% endfor %}\
            {% if add_generation_prompt %}<|assistant|>\n{% if enable_thinking is defined and not enable_thinking %}\
            {{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}";
        let template = Template::parse("once.jinja", text)?;
        let spec = analyze(&template, &Naming::of_file("once.jinja"))?;
        let turn = [&spec.turn.assistant_start, &spec.turn.end, &spec.reasoning.end].map(|marker| marker.trim());
        assert_eq!(turn, ["<|assistant|>", "<|end|>", "</think>"]);
        assert_eq!(spec.status, Status::Partial);
        assert!(spec.gaps.iter().any(|gap| gap.contains("refuses every answer")), "{:?}", spec.gaps);
        let verification = verify(&template, &spec, 4, 1);
        assert_eq!(verification.tried, 0);
        assert!(!verification.continuations.is_empty() && verification.all_held());
        Ok(())
    }

    #[test]
    fn values_are_asked_in_each_kind_of_quotes() -> Result<(), Box<dyn Error>> {
        let text = "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}\
            {% if m.tool_calls %}<|calls|>[{% for c in m.tool_calls %}{{ c.function.name }}(\
            {% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})\
            {{- ', ' if not loop.last }}{% endfor %}]<|end_calls|>{% endif %}<|end|>{% endfor %}\
            {% if add_generation_prompt %}<|assistant|>{% endif %}";
        let template = Template::parse("expressions.jinja", text)?;
        let spec = analyze(&template, &Naming::of_file("expressions.jinja"))?;
        assert_eq!(spec.tools.format, ToolFormat::CallExpression);
        let verification = verify(&template, &spec, 4, 1);
        let quoted = verification.continuations.iter().filter(|one| one.kind == ContinuationKind::OtherQuotes);
        let values: Vec<_> = quoted.map(|one| one.output.matches('\'').count()).collect();
        assert_eq!(values, [2, 0], "one with single quotes, one with double quotes");
        assert!(verification.all_held());
        Ok(())
    }
}
