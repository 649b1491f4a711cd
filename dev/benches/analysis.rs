//! How long the analysis of the corpus takes, and how much of that is rendering:
//! `cargo bench -p unjinja-benches --bench analysis`, or with the number of passes, `… -- 50`.
//!
//! The corpus is not part of the project. It is looked for at `$UNJINJA_CORPUS`, else beside the project.
//!
//! An analysis reports how many conversations it rendered, but not how long that took. As many conversations of the same shapes
//! are therefore rendered once more, which gives a close estimate. The fixed cost of a render is measured with an empty template.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unjinja_analyzer::{Naming, analyze};
use unjinja_render::Template;

/// The time limit for the whole corpus.
const BUDGET: Duration = Duration::from_secs(2);

/// One template, and its time in each pass.
struct Subject {
    file: String,
    source: String,
    renders: u32,
    parsing: Vec<Duration>,
    analysis: Vec<Duration>,
    rendering: Vec<Duration>,
    /// As many renders of a template that does nothing.
    idling: Vec<Duration>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("UNJINJA_CORPUS").map_or_else(beside, PathBuf::from);
    if !corpus.join("templates").is_dir() {
        println!("SKIPPED: no corpus at {} (set UNJINJA_CORPUS to its folder)", corpus.display());
        return Ok(());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes `--bench`. Without it (`cargo test`), one pass shows that the benchmark runs.
    let default = if arguments.iter().any(|argument| argument == "--bench") { 20 } else { 1 };
    let passes = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(default).max(1);
    measure("released", &corpus.join("templates"), passes)?;
    measure("wild", &corpus.join("wild/templates"), passes)
}

fn measure(what: &str, folder: &Path, passes: usize) -> Result<(), Box<dyn Error>> {
    let mut subjects = subjects(folder)?;
    let contexts = contexts();
    // The first pass only warms up.
    for pass in 0..=passes {
        for subject in &mut subjects {
            let [parsing, analysis, rendering, idling] = subject.pass(&contexts)?;
            if pass > 0 {
                subject.parsing.push(parsing);
                subject.analysis.push(analysis);
                subject.rendering.push(rendering);
                subject.idling.push(idling);
            }
        }
    }
    report(what, &subjects, passes);
    Ok(())
}

fn subjects(folder: &Path) -> Result<Vec<Subject>, Box<dyn Error>> {
    let mut subjects = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = fs::read_to_string(&path)?;
        let (parsing, analysis, rendering, idling) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        subjects.push(Subject { file, source, renders: 0, parsing, analysis, rendering, idling });
    }
    subjects.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(subjects)
}

impl Subject {
    /// How long it takes to parse, to analyse, to render as often as that did, and to do nothing as often.
    fn pass(&mut self, contexts: &[Value]) -> Result<[Duration; 4], Box<dyn Error>> {
        let begin = Instant::now();
        let template = Template::parse(&self.file, black_box(&self.source))?;
        let parsing = begin.elapsed();

        let naming = Naming::of_file(&self.file);
        let begin = Instant::now();
        let spec = black_box(analyze(&template, &naming))?;
        let analysis = begin.elapsed();

        self.renders = spec.evidence.renders;
        let replay = |template: &Template, contexts: &[Value]| {
            let begin = Instant::now();
            for context in contexts.iter().cycle().take(spec.evidence.renders as usize) {
                // A template that refuses a conversation refuses it in probes, too.
                let _ = black_box(template.render(black_box(context)));
            }
            begin.elapsed()
        };
        let rendering = replay(&template, contexts);
        let idling = replay(&Template::parse("empty", "")?, &[json!({})]);
        Ok([parsing, analysis, rendering.saturating_sub(idling), idling])
    }
}

/// Conversations of the same shapes as the probes.
fn contexts() -> Vec<Value> {
    let user = json!({"role": "user", "content": "Quellwort ombrel?"});
    let last = json!({"role": "user", "content": "Trivant hesk."});
    let system = json!({"role": "system", "content": "Norvel umbrick."});
    let answer = json!({"role": "assistant", "content": "Fendrill osk."});
    let reasoned = json!({"role": "assistant", "content": "Fendrill osk.", "reasoning_content": "Wexler drom", "thinking": "Wexler drom"});
    let call = |name: &str, id: &str, key: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": {key: "Plimset"}}});
    let calls = [call("dorfal_get", "callone01", "vintrap"), call("sumbrel_put", "calltwo02", "hoskin")];
    let one = json!({"role": "assistant", "content": "", "tool_calls": calls[..1]});
    let two = json!({"role": "assistant", "content": "", "tool_calls": calls});
    let tool = |name: &str| {
        let text = json!({"type": "string", "description": "a text"});
        json!({"type": "function", "function": {"name": name, "description": "does something", "parameters": {
            "type": "object", "properties": {"vintrap": text, "hoskin": text}, "required": [],
        }}})
    };
    let tools = json!([tool("dorfal_get"), tool("sumbrel_put")]);
    let plain = [
        json!([user]),
        json!([user, answer]),
        json!([user, answer, last]),
        json!([user, reasoned]),
        json!([user, reasoned, last]),
        json!([system, user]),
    ];
    let calling = [json!([user]), json!([user, one]), json!([user, two]), json!([user, one, last])];
    let context = |messages: &Value, prompt: bool| json!({"messages": messages, "add_generation_prompt": prompt, "bos_token": "", "eos_token": ""});
    let mut contexts = Vec::new();
    for messages in &plain {
        contexts.push(context(messages, messages.as_array().is_some_and(|messages| messages.len() == 1)));
    }
    for messages in &calling {
        let mut context = context(messages, false);
        context["tools"] = tools.clone();
        contexts.push(context);
    }
    contexts
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn report(what: &str, subjects: &[Subject], passes: usize) {
    let total = |of: &dyn Fn(&Subject) -> &[Duration]| -> Vec<Duration> {
        (0..passes).map(|pass| subjects.iter().map(|subject| of(subject)[pass]).sum()).collect()
    };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let parsing = total(&|subject| &subject.parsing);
    let analysis = total(&|subject| &subject.analysis);
    let rendering = median(&total(&|subject| &subject.rendering));
    let whole: Vec<Duration> = parsing.iter().zip(&analysis).map(|(a, b)| *a + *b).collect();
    let (least, most) = (whole.iter().min().copied(), whole.iter().max().copied());
    let pass = median(&whole);
    let share = |part: Duration| 100.0 * part.as_secs_f64() / pass.as_secs_f64().max(f64::MIN_POSITIVE);
    let renders: u32 = subjects.iter().map(|subject| subject.renders).sum();

    println!("{what}: {} templates, median of {passes} passes", subjects.len());
    println!(
        "  whole pass   {:8.1} ms  (from {:.1} to {:.1}; {:.0} % of the budget)",
        milliseconds(pass),
        milliseconds(least.unwrap_or_default()),
        milliseconds(most.unwrap_or_default()),
        100.0 * pass.as_secs_f64() / BUDGET.as_secs_f64(),
    );
    println!("  parsing      {:8.1} ms  {:3.0} %", milliseconds(median(&parsing)), share(median(&parsing)));
    println!("  rendering    {:8.1} ms  {:3.0} %  ({renders} renders)", milliseconds(rendering), share(rendering));
    let mut slowest: Vec<&Subject> = subjects.iter().collect();
    slowest.sort_by_key(|subject| std::cmp::Reverse(median(&subject.analysis)));
    let idling = median(&total(&|subject| &subject.idling));
    let each = idling.as_secs_f64() * 1e6 / f64::from(renders.max(1));
    println!(
        "               {:8.1} ms more, {each:.0} µs each, where each has a stack of its own",
        milliseconds(idling)
    );
    println!("  slowest");
    for subject in slowest.into_iter().take(5) {
        let time = milliseconds(median(&subject.analysis));
        println!("    {time:8.1} ms  {} ({} renders)", subject.file, subject.renders);
    }
}
