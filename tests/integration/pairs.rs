//! Any two deviations in one output: each is read alone, and both together are read too, or the message says that something is wrong,
//! or they are text. No call has a wrong argument, and none is there that nobody wrote.

mod deviations;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use unjinja::testing::{Cut, Random, Transcript};
use unjinja::{Interpreter, Message, Options, Tools, Unparsed};
use unjinja_analyzer::render_calls;
use unjinja_codegen::{RULES, program_without};
use unjinja_render::Template;
use unjinja_spec::{FormatSpec, MarkerKey, StartsIn, ToolFormat};
use unjinja_testkit::{expect, released_template, whole};

use crate::support::{Failure, Model, corpus, models, own_models, root};
use deviations::{ANSWER, CALLS, DEVIATIONS, Deviation, Edits, LEFT_OUT, REASONING, edited, trimmed};

const SEED: u64 = 52;

const OTHER_CALL: &str = "a call that nobody wrote";
const OTHER_ARGUMENT: &str = "a wrong argument";

/// Two rules in either order whose deviations together make a text that says something else: what comes of it, and why.
const UNDECIDED: &[(&str, &str, &str, &str)] = &[
    (
        "text after a call",
        "missing closers of a call",
        OTHER_ARGUMENT,
        "half a closer and text may belong to the value",
    ),
    ("another opener for a name", "a missing wrapper", OTHER_CALL, "a word before a name is a part of it"),
    (
        "another opener for a name",
        "a missing opener of the first call",
        OTHER_CALL,
        "a word before a name is a part of it",
    ),
    ("a string without its closing token", "a comma too many", OTHER_ARGUMENT, "the comma may belong to the string"),
    (
        "a string without its closing token",
        "JSON: a comma too many",
        OTHER_ARGUMENT,
        "the comma may belong to the string",
    ),
    (
        "a string without its closing token",
        "braces and fences around JSON",
        OTHER_ARGUMENT,
        "the brace may belong to the string",
    ),
];

/// A format, and a turn of it that is read as it was written.
struct Format {
    name: String,
    spec: FormatSpec,
    parser: Interpreter,
    options: Options,
    text: String,
    reasoning: &'static str,
    answer: &'static str,
    calls: Vec<(&'static str, Value)>,
    /// For each deviation, the changes with which the text is read as the turn.
    read: Vec<Vec<Edits>>,
}

/// What became of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Read,
    Diagnosed,
    /// Text is markup, or markup text, and nothing says so.
    Unsaid,
    Wrong(&'static str),
}

fn tools() -> Result<Tools, Failure> {
    Ok(Tools::from_json(
        r#"[{"name": "get_weather", "parameters": {"type": "object", "properties": {
            "city": {"type": "string"}, "days": {"type": "integer"}, "metric": {"type": "boolean"}}}},
        {"name": "find_flight", "parameters": {"type": "object", "properties": {
            "place": {"type": "string"}, "zone": {"type": "string"}}}},
        {"name": "now", "parameters": {"type": "object", "properties": {}}}]"#,
    )?)
}

impl Format {
    /// The format with the fullest turn that it reads; else why it has none.
    fn new(model: Model, template: &Template) -> Result<Self, &'static str> {
        let Model { spec, parser } = model;
        if spec.tools.format == ToolFormat::None {
            return Err("it has no calls");
        }
        let prompts = spec.generation_prompt.iter();
        let prompt =
            prompts.filter(|prompt| prompt.starts_in != StartsIn::Reasoning).map(|prompt| prompt.text.as_str());
        let prompt = prompt.chain([spec.turn.assistant_start.as_str()]).next().unwrap_or_default().to_owned();
        let tools = tools().map_err(|_| "the tools are no tools")?;
        let options = Options::new().tools(&tools).generation_prompt(&prompt).unparsed(Unparsed::Separate);
        let written = prompt.strip_prefix(&spec.turn.assistant_start).unwrap_or_default().to_owned();
        let mut format = Self {
            name: spec.template.name.clone(),
            spec,
            parser,
            options,
            text: String::new(),
            reasoning: "",
            answer: "",
            calls: Vec::new(),
            read: Vec::new(),
        };
        for count in (1..=CALLS.len()).rev() {
            let Some(calls) = render_calls(template, &format.spec, &CALLS[..count]) else { continue };
            let calls = calls.strip_prefix(&written).unwrap_or(&calls);
            if format.begin(calls, count) {
                format.read = DEVIATIONS.iter().map(|deviation| format.read_alone(deviation)).collect();
                return Ok(format);
            }
        }
        let is_rendered = render_calls(template, &format.spec, &CALLS[..1]).is_some();
        Err(if is_rendered { "the turn is not read" } else { "the template does not render the calls" })
    }

    /// Puts reasoning and an answer before these calls, as far as the turn is read then.
    fn begin(&mut self, calls: &str, count: usize) -> bool {
        let (thinking, content) = (self.spec.reasoning.clone(), self.spec.content.clone());
        let empty = thinking.empty.trim();
        let calls = calls.trim_start().strip_prefix(empty).filter(|_| !empty.is_empty()).unwrap_or(calls).to_owned();
        let parsed = |(name, text): &(&'static str, &str)| Some((*name, serde_json::from_str(text).ok()?));
        self.calls = CALLS[..count].iter().filter_map(parsed).collect();
        let reasoning = [&thinking.start, REASONING, &thinking.end].concat();
        // A message before others may have another end, and the next one a start of its own.
        let ends = self.spec.alternatives.get(&MarkerKey::ContentEnd).cloned().unwrap_or_default();
        let starts = [&content.header.start, &self.spec.turn.assistant_start, &self.spec.tools.per_call_start];
        let next = [content.header.message_end.as_str(), &content.header.start].concat();
        let ends = [next].into_iter().filter(|next| !next.is_empty()).chain(ends).chain([content.end]);
        let ends = ends.chain(starts.into_iter().cloned());
        let mut answers: Vec<String> = ends.map(|end| [&content.start, ANSWER, &end].concat()).collect();
        answers.extend([ANSWER.to_owned(), String::new()]);
        for reasoning in [&*reasoning, ""] {
            for answer in &answers {
                self.text = [reasoning, answer, &calls].concat();
                self.reasoning = if reasoning.is_empty() { "" } else { REASONING };
                self.answer = if answer.is_empty() { "" } else { ANSWER };
                if self.judge(&self.text).0 == Verdict::Read {
                    return true;
                }
            }
        }
        false
    }

    /// The changes of a deviation with which the text is read as the turn. Those that are read wrongly are printed.
    fn read_alone(&self, deviation: &Deviation) -> Vec<Edits> {
        let mut changes = (deviation.changes)(&self.spec, &self.text);
        changes.retain(|edits| {
            let text = edited(&self.text, edits);
            let (verdict, message) = self.judge(&text);
            if let Verdict::Wrong(why) = verdict {
                println!("ALONE\t{why}\t{}\t\t{}\t{text:?}\t{message:?}", deviation.rule, self.name);
            }
            verdict == Verdict::Read && text != self.text
        });
        changes
    }

    /// Whether a deviation is read only with its rule, at some place.
    fn needs_rule(&self, number: usize) -> bool {
        let Ok(program) = program_without(&self.spec, DEVIATIONS[number].rule) else { return false };
        let without = Interpreter::new(program);
        self.read[number].iter().any(|edits| self.judge_with(&without, &edited(&self.text, edits)).0 != Verdict::Read)
    }

    fn judge(&self, text: &str) -> (Verdict, Message) {
        self.judge_with(&self.parser, text)
    }

    /// Reads a text whole and in pieces.
    fn judge_with(&self, parser: &Interpreter, text: &str) -> (Verdict, Message) {
        let read = |cut: &Cut| Transcript::of(parser, text.as_bytes(), cut, &self.options);
        let all = read(&Cut::Whole);
        for cut in [Cut::Chunks(1), Cut::Chunks(7)] {
            let pieces = read(&cut);
            if pieces.disorder().is_some() || pieces.message != all.message {
                return (Verdict::Wrong("pieces are read otherwise"), all.message);
            }
        }
        (self.verdict(text, &all.message), all.message)
    }

    fn verdict(&self, text: &str, message: &Message) -> Verdict {
        let mut left: Vec<&(&str, Value)> = self.calls.iter().collect();
        let mut is_all = message.tool_calls.len() == left.len();
        for call in &message.tool_calls {
            let arguments = serde_json::from_str::<Value>(&call.arguments).ok();
            let is_call = |(name, wanted): &&(&str, Value)| call.name == *name && arguments.as_ref() == Some(wanted);
            match left.iter().position(is_call) {
                Some(at) => {
                    is_all &= at == 0;
                    left.remove(at);
                }
                None if !call.complete => {}
                None if left.iter().any(|(name, _)| call.name == *name) => return Verdict::Wrong(OTHER_ARGUMENT),
                None => return Verdict::Wrong(OTHER_CALL),
            }
            is_all &= call.complete;
        }
        let is_text =
            message.reasoning_content.trim() == self.reasoning && message.content.trim() == self.content(text);
        match is_all && left.is_empty() && is_text {
            true => Verdict::Read,
            false if message.diagnostics.is_empty() => Verdict::Unsaid,
            false => Verdict::Diagnosed,
        }
    }

    /// The answer of a text: with the code fence after it, where the calls are an example.
    fn content<'t>(&self, text: &'t str) -> &'t str {
        let begin = [ANSWER, "\n```\n"].concat();
        let Some(at) = text.find(&begin) else { return self.answer };
        let code = at + begin.len();
        text[code..].find("```").map_or(self.answer, |end| &text[at..code + end + 3])
    }

    /// Texts with both deviations, each with the first one at another place. Where there is none, why.
    fn both(&self, first: usize, second: usize) -> Result<Vec<String>, &'static str> {
        let names = [DEVIATIONS[first].rule, DEVIATIONS[second].rule].concat();
        let mut random = Random::new(names.bytes().fold(SEED, |seed, byte| (seed ^ u64::from(byte)).rotate_left(7)));
        let (mut firsts, mut why) = (self.read[first].clone(), "the first leaves no place for the second");
        let mut found = Vec::new();
        while !firsts.is_empty() && found.len() < most() {
            let one = firsts.swap_remove(random.below(firsts.len()));
            let once = edited(&self.text, &one);
            let mut both: Vec<String> = self.read[second].iter().filter_map(|other| self.merged(&one, other)).collect();
            // What changes the same place is looked for in what the first has left.
            let then = (DEVIATIONS[second].changes)(&self.spec, &once);
            both.extend(
                then.iter().filter(|edits| self.is_known(second, &once, edits)).map(|edits| edited(&once, edits)),
            );
            let count = both.len();
            both.retain(|both| *both != self.text && *both != once);
            if both.len() < count {
                why = "the second undoes the first";
            }
            if !both.is_empty() {
                found.push(both.swap_remove(random.below(both.len())));
            }
        }
        if found.is_empty() { Err(why) } else { Ok(found) }
    }

    /// The text with two changes, if they are in different places.
    fn merged(&self, one: &Edits, other: &Edits) -> Option<String> {
        let mut all: Edits = one.iter().chain(other).map(|edit| trimmed(&self.text, edit)).collect();
        all.sort_by_key(|(range, _)| range.start);
        let is_apart = all.windows(2).all(|pair| pair[0].0.end < pair[1].0.start);
        is_apart.then(|| edited(&self.text, &all))
    }

    /// Whether a change of another text is one that is read alone: the same at all places, or at a place with the same text on one
    /// side.
    fn is_known(&self, deviation: usize, other: &str, edits: &Edits) -> bool {
        let changes = |text: &str, edits: &Edits| -> BTreeSet<(String, String)> {
            edits.iter().map(|(range, new)| (text[range.clone()].to_owned(), new.clone())).collect()
        };
        let is_here = |known: &Edits| match (known.as_slice(), edits.as_slice()) {
            ([(known, _)], [(range, _)]) => {
                self.text[..known.start] == other[..range.start] || self.text[known.end..] == other[range.end..]
            }
            (known, edits) => known.len() > 1 && edits.len() > 1,
        };
        let new = changes(other, edits);
        self.read[deviation].iter().any(|known| is_here(known) && changes(&self.text, known) == new)
    }
}

/// How many texts there are of a pair in a format.
fn most() -> usize {
    if whole() { 16 } else { 1 }
}

/// What became of all pairs.
#[derive(Default)]
struct Table {
    /// For each pair of deviations, how many texts were read, were diagnosed, are not told, are undecided, were wrong.
    counts: BTreeMap<(usize, usize), [usize; 5]>,
    /// For each pair of deviations that never meet, why.
    apart: BTreeMap<(usize, usize), &'static str>,
    wrong: Vec<String>,
}

impl Table {
    fn add(&mut self, format: &Format) {
        for (first, second) in pairs() {
            if format.read[first].is_empty() || format.read[second].is_empty() {
                continue;
            }
            match format.both(first, second) {
                Err(why) => drop(self.apart.insert((first, second), why)),
                Ok(texts) => texts.iter().for_each(|text| self.judge(format, (first, second), text)),
            }
        }
    }

    fn judge(&mut self, format: &Format, pair: (usize, usize), text: &str) {
        let (verdict, message) = format.judge(text);
        let [one, other] = [pair.0, pair.1].map(|number| DEVIATIONS[number].rule);
        let is_undecided = |why: &str| {
            let is_it = |(first, second, what, _): &(&str, &str, &str, &str)| {
                *what == why && [[one, other], [other, one]].contains(&[*first, *second])
            };
            UNDECIDED.iter().any(is_it)
        };
        let column = match verdict {
            Verdict::Read => 0,
            Verdict::Diagnosed => 1,
            Verdict::Unsaid => 2,
            Verdict::Wrong(why) if is_undecided(why) => 3,
            Verdict::Wrong(why) => {
                self.wrong.push(format!("WRONG\t{why}\t{one}\t{other}\t{}\t{text:?}\t{message:?}", format.name));
                4
            }
        };
        self.counts.entry(pair).or_default()[column] += 1;
    }

    /// A line for each rule, with a cell for each rule that comes with it.
    fn matrix(&self) -> String {
        let mut text =
            "read/diagnosed/not told/undecided/wrong; - for no place, . for no format that has both\n".to_owned();
        for (first, deviation) in DEVIATIONS.iter().enumerate() {
            write!(text, "{first:2} {:38}", deviation.rule).ok();
            for second in 0..DEVIATIONS.len() {
                let cell = match self.counts.get(&(first, second)) {
                    Some(counts) => counts.map(|count| count.to_string()).join("/"),
                    None if self.apart.contains_key(&(first, second)) => "-".to_owned(),
                    None => ".".to_owned(),
                };
                write!(text, " {cell:>10}").ok();
            }
            text.push('\n');
        }
        text
    }

    /// How many pairs and texts are read, diagnosed, undecided and wrong, and why the others cannot meet.
    fn summary(&self) -> String {
        let mut rows: BTreeMap<(usize, String), [usize; 2]> = BTreeMap::new();
        for pair in pairs() {
            let Some(counts) = self.counts.get(&pair) else {
                let why = self.apart.get(&pair).copied().unwrap_or("no format has both");
                rows.entry((5, format!("cannot meet: {why}"))).or_default()[0] += 1;
                continue;
            };
            let worst = (0..5).rev().find(|column| counts[*column] > 0).unwrap_or_default();
            for (column, (what, count)) in ["read", "diagnosed", "text without a word about it", "undecided", "wrong"]
                .iter()
                .zip(counts)
                .enumerate()
            {
                let row = rows.entry((column, (*what).to_owned())).or_default();
                row[0] += usize::from(column == worst);
                row[1] += count;
            }
        }
        let mut text = "| two rules in one output | ordered pairs | outputs |\n|---|---|---|\n".to_owned();
        for ((column, what), [pairs, texts]) in rows {
            let texts = if column == 5 { String::new() } else { texts.to_string() };
            writeln!(text, "| {what} | {pairs} | {texts} |").ok();
        }
        text.push_str("\n| undecided | with | because |\n|---|---|---|\n");
        for (first, second, _, why) in UNDECIDED {
            writeln!(text, "| {first} | {second} | {why} |").ok();
        }
        text.push_str("\n| left out | because |\n|---|---|\n");
        for (rule, why) in LEFT_OUT {
            writeln!(text, "| {rule} | {why} |").ok();
        }
        text
    }
}

/// All ordered pairs of two deviations.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    let all = 0..DEVIATIONS.len();
    all.clone().flat_map(move |first| all.clone().map(move |second| (first, second))).filter(|(one, two)| one != two)
}

/// The pairs in each of these formats that reads the turn.
fn table(formats: Vec<(Model, String)>) -> Result<Table, Failure> {
    let mut table = Table::default();
    let mut shown = vec![[0, 0]; DEVIATIONS.len()];
    for (model, source) in formats {
        let name = model.spec.template.name.clone();
        let template = Template::parse(&model.spec.template.file, &source)?;
        match Format::new(model, &template) {
            Err(why) => println!("{name}: left out, {why}"),
            Ok(format) => {
                println!("{name}: {:?}", format.text);
                for (number, [read, needed]) in
                    shown.iter_mut().enumerate().filter(|(at, _)| !format.read[*at].is_empty())
                {
                    *read += 1;
                    // A program for each takes long.
                    *needed += usize::from(whole() && format.needs_rule(number));
                }
                table.add(&format);
            }
        }
    }
    for (deviation, [read, needed]) in DEVIATIONS.iter().zip(shown) {
        let needed = if whole() { format!(", {needed} of them only with the rule") } else { String::new() };
        println!("{:40} {read} formats{needed}", deviation.rule);
    }
    println!("{}{}{}", table.matrix(), table.summary(), table.wrong.join("\n"));
    Ok(table)
}

#[test]
fn every_rule_is_in_the_table_or_left_out_with_a_reason() {
    let known = |name: &str| {
        DEVIATIONS.iter().filter(|deviation| deviation.rule == name).count()
            + LEFT_OUT.iter().filter(|(rule, _)| *rule == name).count()
    };
    let wrong: Vec<&str> = RULES.iter().map(|rule| rule.name).filter(|name| known(name) != 1).collect();
    assert!(wrong.is_empty(), "not once in the table of deviations: {wrong:?}");
}

#[test]
fn two_deviations_of_our_own_formats_are_read_or_diagnosed() -> Result<(), Failure> {
    let source = |model: Model| {
        let source = fs::read_to_string(root().join("templates").join(&model.spec.template.file))?;
        Ok((model, source))
    };
    let table = table(own_models()?.into_iter().map(source).collect::<Result<_, Failure>>()?)?;
    // A run of the whole has more outputs than the page.
    let page =
        if whole() { Ok(()) } else { expect::part(&root().join("docs/deviations.md"), "pairs", &table.summary()) };
    assert!(table.wrong.is_empty(), "{} outputs are read wrongly", table.wrong.len());
    page
}

#[test]
fn two_deviations_of_released_formats_are_read_or_diagnosed() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let source = |model: Model| {
        let source = released_template(&corpus, &model.spec.template.sha256)?;
        Ok((model, source))
    };
    let table = table(models()?.into_iter().map(source).collect::<Result<_, Failure>>()?)?;
    assert!(table.wrong.is_empty(), "{} outputs are read wrongly", table.wrong.len());
    Ok(())
}
