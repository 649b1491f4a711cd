//! Writes the record of an analysis: for each comparison, what was rendered, which keys of the spec it decided, and why.

use serde_json::Value;
use unjinja_spec::FormatSpec;

use super::Comparison;
use crate::ask::{CallTurns, NUMBER, Observed, Prompt, Reasoned};
use crate::experiment::Experiment;
use crate::observed::LabelledTurn;
use crate::probe::Variable;

/// The comparisons of an analysis, in the order in which `explain` lists their subjects.
pub(crate) fn comparisons(o: &Observed, spec: &FormatSpec) -> Vec<Comparison> {
    let record = Record { spec: serde_json::to_value(spec).unwrap_or_default() };
    let mut list = Vec::new();
    list.push(
        Comparison::new(Experiment::MessageFields, "an answer, and a turn with a call")
            .render("the answer", o.answer.text.as_str())
            .because(format!("the template looks for these fields of a message: {}", o.fields.join(", "))),
    );
    for (index, (style, extra, turn)) in o.styles.iter().enumerate() {
        let works = index + 1 == o.styles.len() && o.calls.is_some();
        let one = Comparison::new(Experiment::CallStyle, format!("{}{}", style.words(), settings(extra)))
            .result("one call", text_of(turn));
        list.push(if works {
            one.found("capabilities.tool_calls", true)
                .because("the name and the argument are rendered; the analysis passes calls in this form from here on")
        } else {
            one.because("the name or the argument is not rendered")
        });
    }
    turns(o, &record, &mut list);
    prompts(o, &record, &mut list);
    for reasoned in &o.reasoning {
        list.push(reasoning(o, reasoned, &record));
    }
    for split in &o.split {
        let what = format!("{} in the middle of an answer {}", split.tag, split.with);
        let one = Comparison::new(Experiment::HiddenHistory, what.trim_end())
            .result("the last message", text_of(&split.last))
            .result("followed by another", text_of(&split.past));
        list.push(if split.is_removed(&spec.reasoning.end) {
            record
                .found(one, "reasoning.mode reasoning.start reasoning.end")
                .because("the template removes it, or the text before it")
        } else {
            one.because("the template does not split on it")
        });
    }
    if let Some(calls) = &o.calls {
        let mut calls = CallRecord { calls, record: &record, gaps: &spec.gaps, list: &mut list };
        calls.calls(&o.answer);
        calls.arguments();
        calls.content();
    }
    for ability in &o.abilities {
        let key = format!("capabilities.{}", ability.key);
        let one = Comparison::new(Experiment::Capability, ability.what.as_str());
        let one = one.result("the conversation", ability.text.as_ref().map(String::as_str));
        list.push(if ability.holds {
            one.found(&key, true).because("it is rendered")
        } else {
            one.because("it is not rendered")
        });
    }
    let handed = Comparison::new(Experiment::Capability, "a call, its result, and a later system message");
    list.push(record.found(handed, MESSAGES).because("the template renders them in these forms"));
    Experiment::ALL
        .iter()
        .flat_map(|experiment| list.extract_if(.., |one| one.experiment == *experiment).collect::<Vec<_>>())
        .collect()
}

fn settings(extra: &[Variable]) -> String {
    extra.iter().map(|(name, value)| format!(", {name} = {value}")).collect()
}

fn text_of<E>(turn: &Result<LabelledTurn, E>) -> Result<&str, &E> {
    turn.as_ref().map(|turn| turn.text.as_str())
}

/// The keys that say how messages are handed over.
const MESSAGES: &str = "messages.content messages.content_of_calls messages.arguments messages.ids messages.system \
    messages.reasoning_with_calls messages.drops_reasoning messages.result_name messages.content_with_calls \
    messages.one_call messages.calls_in_content messages.functions.form messages.functions.always";

struct Record {
    spec: Value,
}

impl Record {
    /// What the spec says of the generation prompt with this value of the switch.
    fn generation_prompt(&self, thinking: Option<bool>) -> Option<&str> {
        let mut prompts = self.spec.get("generation_prompt")?.as_array()?.iter();
        let is_it = |prompt: &&Value| prompt.get("thinking").and_then(Value::as_bool) == thinking;
        prompts.find(is_it)?.get("text")?.as_str()
    }

    /// Adds what the spec says of these keys, unless it says nothing. Blanks are between the keys.
    fn found(&self, mut one: Comparison, keys: &str) -> Comparison {
        for key in keys.split(' ') {
            let value = self.spec.pointer(&format!("/{}", key.replace('.', "/")));
            let nothing = [Value::Null, false.into(), "".into(), "none".into()];
            if let Some(value) = value.filter(|value| !nothing.contains(value)) {
                one = one.found(key, value.clone());
            }
        }
        one
    }
}

fn turns(o: &Observed, record: &Record, list: &mut Vec<Comparison>) {
    let mut start = Comparison::new(Experiment::C1, "the common beginning of all turns")
        .render("an answer", o.answer.text.as_str());
    for prompt in o.first_prompts() {
        start = start.render("a generation prompt", prompt.text.as_str());
    }
    if let Some(calls) = &o.calls {
        start = start.render("a call", calls.one.text.as_str());
    }
    list.push(
        record
            .found(start, "turn.assistant_start")
            .because("all turns begin with it; a marker of reasoning or of the answer in it is left out"),
    );
    let mut ends =
        Comparison::new(Experiment::C1, "an answer at the end of the conversation | one followed by another message")
            .render("the last message", o.answer.text.as_str());
    let mut user = Comparison::new(Experiment::UserTurn, "between an answer and the next user message")
        .render("a user message alone", o.user_alone.as_str());
    if let Some(past) = &o.past {
        ends = ends.render("followed by another", past.text.as_str());
        user = user.render("from the assistant's turn to that message", past.text.as_str());
    }
    list.push(record.found(ends, "turn.end content.mode content.start content.end").because(
        "the text around the answer in both renders belongs to the turn; what goes beyond the turn's start and end \
             is a wrapper of the answer",
    ));
    list.push(
        record
            .found(user, "turn.user_start")
            .because("it follows the end of the turn, or is the last tag before the message"),
    );
}

/// The generation prompts and R2.
fn prompts(o: &Observed, record: &Record, list: &mut Vec<Comparison>) {
    for prompt in &o.prompts {
        let one = match &prompt.switch {
            None => Comparison::new(Experiment::GenerationPrompt, "without and with a generation prompt"),
            Some((name, on)) => Comparison::new(Experiment::R2, format!("the generation prompt, {name} = {on}")),
        };
        let one = match prompt.adds_nothing() {
            true => one.render("nothing is added; what follows the user message", prompt.tail.as_str()),
            false => one.render("what is added after the user message", prompt.text.as_str()),
        };
        let thinking = prompt.switch.as_ref().map(|(_, on)| *on);
        let known = record.generation_prompt(thinking).unwrap_or(&prompt.text);
        let one = one.found("generation_prompt.text", known);
        list.push(match &prompt.switch {
            Some((name, _)) if record.spec.pointer("/reasoning/switch") == Some(&name.as_str().into()) => {
                record.found(one, "reasoning.switch").because("it changes a marker of reasoning in the prompt")
            }
            Some(_) => one.because("it changes the prompt, but no marker of reasoning in it"),
            None => one.because("it is added after the user message"),
        });
    }
    let opener = record.spec.pointer("/reasoning/start").and_then(Value::as_str).unwrap_or_default().trim();
    let opens = |prompt: &Prompt| !opener.is_empty() && prompt.tail.contains(opener);
    for one in o.elsewhere.iter().filter(|one| opens(&one.prompt) && !o.prompts.iter().any(opens)) {
        let what = Comparison::new(Experiment::R2, format!("the prompt without anything else | {}", one.with));
        let what = what.render("what follows the last message", one.prompt.tail.as_str());
        let found = record.found(what, "reasoning.mode reasoning.start reasoning.end");
        list.push(found.because("only this prompt ends in what opens reasoning"));
    }
    for switched in &o.switched {
        let name = &switched.name;
        let one = Comparison::new(Experiment::R2, format!("the whole prompt, {name} = true | {name} = false"))
            .render(format!("{name} = true"), switched.on.as_str())
            .render(format!("{name} = false"), switched.off.as_str());
        let keys = "reasoning.switch reasoning.start reasoning.end content.mode content.start content.end";
        list.push(if record.spec.pointer("/reasoning/switch") == Some(&name.as_str().into()) {
            record
                .found(one, keys)
                .because("when switched on, the prompt names the tags for reasoning and for the answer")
        } else {
            one.because("when switched on, the prompt names no further pair of tags")
        });
    }
}

/// R1 and R3.
fn reasoning(o: &Observed, reasoned: &Reasoned, record: &Record) -> Comparison {
    let field = reasoned.carrier.field();
    let set = settings(&reasoned.extra);
    let mut one = Comparison::new(Experiment::R1, format!("an answer without `{field}` | with `{field}`{set}"))
        .render("without", o.answer.text.as_str());
    if let Some(turn) = &reasoned.with_answer {
        one = one.render("with", turn.text.as_str());
    }
    if let Some(turn) = &reasoned.with_call {
        one = one.render("with, and a call", turn.text.as_str());
    }
    let keys = "reasoning.mode reasoning.start reasoning.end reasoning.empty \
        reasoning.field content.mode content.start content.end";
    match reasoned.is_marked() {
        true => record.found(one, keys).because("the text around the reasoning is its markers"),
        false if reasoned.is_shown() => one.because("no marker follows its text, so it is not reasoning"),
        false => one.because("its text is not rendered exactly once before the answer"),
    }
}

/// Writes down the comparisons of turns with calls.
struct CallRecord<'r> {
    calls: &'r CallTurns,
    record: &'r Record,
    gaps: &'r [String],
    list: &'r mut Vec<Comparison>,
}

impl CallRecord<'_> {
    /// Adds a comparison of these turns, which found these keys. A gap of the spec tells better why than `because`.
    fn add(
        &mut self,
        experiment: Experiment,
        varied: &str,
        renders: &[(&str, Option<&LabelledTurn>)],
        keys: &str,
        because: &str,
    ) {
        let mut one = Comparison::new(experiment, varied);
        for (of, turn) in renders {
            if let Some(turn) = turn {
                one = one.render(*of, turn.text.as_str());
            }
        }
        let gap = self.gaps.iter().find(|gap| gap.starts_with(&format!("{experiment}: ")));
        let because = gap.map_or(because, String::as_str);
        self.list.push(self.record.found(one, keys).because(because));
    }

    /// What tells the family of formats, and the markers around calls, names and ids.
    fn calls(&mut self, answer: &LabelledTurn) {
        let calls = self.calls;
        let (one, two) = (("one call", Some(&calls.one)), ("two calls", calls.two.as_ref()));
        self.add(
            Experiment::T1,
            "no call | one call",
            &[("no call", Some(answer)), one],
            "tools.format tools.tools_array_wrapped tools.parameter_order",
            "the places of name and arguments tell the family of formats",
        );
        self.add(
            Experiment::T2,
            "one call | two calls",
            &[one, two],
            "tools.section_start tools.section_end tools.per_call_start tools.per_call_end tools.separator \
             capabilities.parallel_tool_calls",
            "what is written once belongs to all calls, what is written for each call to the call",
        );
        self.add(
            Experiment::T3,
            "two function names",
            &[("two calls", calls.two.as_ref().or(Some(&calls.one)))],
            "tools.name_field tools.function_field tools.fun_name_is_key tools.function.name_prefix tools.function.close",
            "the text around each name is the same",
        );
        self.add(
            Experiment::T7,
            "two call ids",
            &[one, two],
            "tools.id_field tools.gen_id_field tools.call_id.position tools.call_id.prefix tools.call_id.suffix",
            "the text around each id is the same, or a number counts the calls",
        );
    }

    /// The markers around arguments, and how values are written.
    fn arguments(&mut self) {
        let calls = self.calls;
        let one = ("one call", Some(&calls.one));
        self.add(
            Experiment::T4,
            "name, arguments and values",
            &[one],
            "tools.args_field tools.arguments.name_suffix tools.arguments.value_prefix tools.arguments.end",
            "the literals between name, argument and value are their markers",
        );
        self.add(
            Experiment::A2,
            &format!("a string | {NUMBER}"),
            &[("a string", Some(&calls.one)), ("a number", calls.number.as_ref())],
            "tools.arguments.quote tools.arguments.other_name_suffix",
            "what differs next to the value tells its type",
        );
        self.add(
            Experiment::T5,
            "one argument | two arguments",
            &[one, ("two arguments", calls.two_arguments.as_ref())],
            "tools.arguments.name_prefix tools.arguments.value_suffix tools.arguments.separator",
            "text that also follows the last value ends a value, text that also precedes the first name begins a name, \
             and the rest between two arguments separates them",
        );
        self.add(
            Experiment::T5,
            "arguments, and keys of an object, that are not sorted",
            &[("not sorted", calls.unsorted.as_ref())],
            "tools.argument_order",
            "the order in which they are written is that of the message, or a sorted one",
        );
        self.add(
            Experiment::T6,
            "no argument | one argument",
            &[("no argument", calls.no_arguments.as_ref()), one],
            "tools.function.name_suffix tools.arguments.start",
            "the text after the name in both belongs to the name, and the rest to the arguments",
        );
        let others: Vec<(&str, Option<&LabelledTurn>)> =
            calls.others.iter().map(|(kind, turn)| (*kind, Some(turn))).collect();
        self.add(
            Experiment::ValueTypes,
            "values of other types",
            &others,
            "tools.uses_python_dicts",
            "they are written as in JSON or as in Python",
        );
    }

    /// What may be in a turn beside calls.
    fn content(&mut self) {
        let calls = self.calls;
        self.add(
            Experiment::ContentBesideCalls,
            "a call alone | a call after an answer",
            &[("one call", Some(&calls.one)), ("an answer and a call", calls.after_answer.as_ref())],
            "content.after_calls alternatives.content.start alternatives.content.end alternatives.turn.end",
            "what differs from an answer alone is another form of the same markers",
        );
        let null = Comparison::new(Experiment::NullContent, "a call with content that is null");
        let null = null.result("one call", text_of(&calls.null));
        let null = self.record.found(null, "capabilities.requires_nonnull_content");
        self.list.push(null.because(match calls.refuses_null() {
            true => "the template refuses it, or prints the null",
            false => "null is treated as empty content",
        }));
    }
}
