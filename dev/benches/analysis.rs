//! How long the analysis of a template with its verification takes, and how much of that is rendering, for every template
//! of the corpus: `cargo bench -p unjinja-benches --bench analysis`, or with the number of passes, `… -- 50`.
//!
//! An analysis reports how many conversations it rendered, but not how long that took. As many conversations of the same shapes
//! are therefore rendered once more, which gives a close estimate. Labels are left out of it.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use unjinja_analyzer::{Naming, analyze, verify};
use unjinja_build::ROUND_TRIPS;
use unjinja_render::Template;

/// The most milliseconds of processor time that a template may take: in the median, and the slowest.
const LIMITS: [f64; 2] = [15.0, 60.0];

/// One template, and its time in each pass.
struct Subject {
    file: String,
    source: String,
    renders: u32,
    parsing: Vec<Duration>,
    analysis: Vec<Duration>,
    verification: Vec<Duration>,
    rendering: Vec<Duration>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes `--bench`. Without it (`cargo test`), one pass shows that the benchmark runs.
    let default = if arguments.iter().any(|argument| argument == "--bench") { 5 } else { 1 };
    let passes = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(default).max(1);
    let mut subjects = Vec::new();
    for folder in ["templates", "wild/templates", "wide/templates"] {
        subjects.extend(read(&corpus.join(folder))?);
    }
    let contexts = contexts();
    // The first pass only warms up.
    for pass in 0..=passes {
        for subject in &mut subjects {
            subject.pass(&contexts, pass > 0)?;
        }
    }
    report(&subjects, passes);
    Ok(())
}

/// The templates of a folder that can be analysed.
fn read(folder: &Path) -> Result<Vec<Subject>, Box<dyn Error>> {
    let mut subjects = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = fs::read_to_string(&path)?;
        let spec = Template::parse(&file, &source).ok().and_then(|t| analyze(&t, &Naming::of_file(&file)).ok());
        let Some(spec) = spec else {
            println!("{file} cannot be analysed and is left out");
            continue;
        };
        let times = || Vec::new();
        let renders = spec.evidence.renders + ROUND_TRIPS;
        let (parsing, analysis, verification, rendering) = (times(), times(), times(), times());
        subjects.push(Subject { file, source, renders, parsing, analysis, verification, rendering });
    }
    subjects.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(subjects)
}

impl Subject {
    /// How long it takes to parse, to analyse, to verify, and to render as often as that did.
    fn pass(&mut self, contexts: &[Value], counts: bool) -> Result<(), Box<dyn Error>> {
        let begin = now();
        let template = Template::parse(&self.file, black_box(&self.source))?;
        let parsing = now().saturating_sub(begin);
        let begin = now();
        let spec = black_box(analyze(&template, &Naming::of_file(&self.file)))?;
        let analysis = now().saturating_sub(begin);
        let begin = now();
        black_box(verify(&template, &spec, ROUND_TRIPS, 1));
        let verification = now().saturating_sub(begin);
        let begin = now();
        for context in contexts.iter().cycle().take(self.renders as usize) {
            // A template that refuses a conversation refuses it in probes, too.
            let _ = black_box(template.render(black_box(context)));
        }
        let rendering = now().saturating_sub(begin);
        if counts {
            self.parsing.push(parsing);
            self.analysis.push(analysis);
            self.verification.push(verification);
            self.rendering.push(rendering);
        }
        Ok(())
    }

    /// The median time of all but the rendering alone.
    fn whole(&self) -> Duration {
        median(&self.parsing) + median(&self.analysis) + median(&self.verification)
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

/// The processor time of this process, which other processes on the machine change little.
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn report(subjects: &[Subject], passes: usize) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let sum = |of: &dyn Fn(&Subject) -> Duration| -> Duration { subjects.iter().map(of).sum() };
    let all = sum(&Subject::whole);
    let share = |part: Duration| 100.0 * part.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut slowest: Vec<&Subject> = subjects.iter().collect();
    slowest.sort_by_key(|subject| std::cmp::Reverse(subject.whole()));
    let most = slowest.first().map_or(Duration::ZERO, |subject| subject.whole());
    let each: Vec<Duration> = subjects.iter().map(Subject::whole).collect();

    println!("{} templates, each the median of {passes} passes", subjects.len());
    println!("  median       {:8.1} ms  (limit {})", milliseconds(median(&each)), LIMITS[0]);
    println!("  slowest      {:8.1} ms  (limit {})", milliseconds(most), LIMITS[1]);
    println!("  all          {:8.1} ms", milliseconds(all));
    let part = |name: &str, of: &dyn Fn(&Subject) -> &[Duration]| {
        let time = sum(&|subject| median(of(subject)));
        println!("  {name:<12} {:8.1} ms  {:3.0} %", milliseconds(time), share(time));
    };
    part("parsing", &|subject| &subject.parsing);
    part("analysis", &|subject| &subject.analysis);
    part("verification", &|subject| &subject.verification);
    part("rendering", &|subject| &subject.rendering);
    println!("  slowest");
    for subject in slowest.into_iter().take(5) {
        let time = milliseconds(subject.whole());
        println!("    {time:8.1} ms  {} ({} renders)", subject.file, subject.renders);
    }
}
