//! How long the grammar of a request's tools takes to build: `cargo bench -p unjinja-benches --bench grammar`, or with
//! the number of passes, `… -- 500`.
//!
//! The request has 32 tools with 8 parameters of various types. For comparison, reading the same schemas from JSON text is measured
//! in the same run, in turns: every request pays for that anyway.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use unjinja::Tools;
use unjinja::{GrammarExt, GrammarOptions};
use unjinja_grammar::{Builder, choice, compile_schema};

const TOOLS: usize = 32;

/// The templates whose grammars are built: one with calls in JSON, one with tags.
const TURNS: [&str; 2] = ["qwen3", "xml_parameters"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes `--bench`. Without it (`cargo test`), one pass shows that the benchmark runs.
    let default = if arguments.iter().any(|argument| argument == "--bench") { 300 } else { 1 };
    let passes = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(default).max(1);
    for (about, closed) in [("any others allowed", false), ("additionalProperties: false", true)] {
        let schemas: Vec<Value> = (0..TOOLS).map(|tool| parameters(tool, closed)).collect();
        let text = Value::from(schemas.clone()).to_string();
        let (mut reading, mut building) = (Vec::new(), Vec::new());
        let mut size = 0;
        // The first pass only warms up.
        for pass in 0..=passes {
            let start = Instant::now();
            black_box(serde_json::from_str::<Value>(black_box(&text))?);
            let read = start.elapsed();
            let start = Instant::now();
            size = black_box(grammar(black_box(&schemas))?).len();
            let built = start.elapsed();
            if pass > 0 {
                reading.push(read);
                building.push(built);
            }
        }
        let (read, built) = (median(&mut reading), median(&mut building));
        println!("{TOOLS} tools of 8 parameters, {about}: {} bytes of schemas, {size} bytes of grammar", text.len());
        println!("  serde_json::from_str  {:8.1} µs", micros(read));
        println!("  their grammar         {:8.1} µs   {:.1} times that", micros(built), micros(built) / micros(read));
        // The whole grammar of a turn, as a server asks for it.
        let tools = tools(&schemas)?;
        for parser in unjinja_app::all().iter().filter(|parser| TURNS.contains(&&*parser.info().name)) {
            let mut building = Vec::new();
            for _ in 0..passes {
                let start = Instant::now();
                black_box(parser.grammar(black_box(&tools), &GrammarOptions::new())?);
                building.push(start.elapsed());
            }
            let built = micros(median(&mut building));
            println!("  turn, {:<15} {built:8.1} µs   {:.1} times that", parser.info().name, built / micros(read));
        }
    }
    Ok(())
}

/// The tools of a request that have these parameters.
fn tools(schemas: &[Value]) -> Result<Tools, Box<dyn Error>> {
    let tool = |(at, schema): (usize, &Value)| json!({"type": "function", "function": {"name": format!("tool_{at}"), "parameters": schema}});
    Ok(Tools::from_openai(&schemas.iter().enumerate().map(tool).collect())?)
}

fn grammar(schemas: &[Value]) -> Result<String, Box<dyn Error>> {
    let mut builder = Builder::new();
    let mut tools = Vec::with_capacity(schemas.len());
    for (at, schema) in schemas.iter().enumerate() {
        tools.push(compile_schema(&mut builder, &format!("tool-{at}"), schema)?.0);
    }
    Ok(builder.grammar(choice(tools)))
}

/// The parameters of one tool.
fn parameters(tool: usize, closed: bool) -> Value {
    let described = |mut schema: Value, what: &str| {
        schema["description"] = json!(format!("The {what} that tool number {tool} works with, in plain words."));
        schema
    };
    let properties: [(&str, Value); 8] = [
        ("query", json!({"type": "string"})),
        ("path", json!({"type": "string", "minLength": 1, "maxLength": 255})),
        ("limit", json!({"type": "integer", "minimum": 1, "maximum": 100 + tool})),
        ("unit", json!({"enum": ["celsius", "fahrenheit", format!("kelvin_{tool}")]})),
        ("when", json!({"type": ["string", "null"], "format": "date-time"})),
        ("tags", json!({"type": "array", "items": {"type": "string"}, "maxItems": 10})),
        ("exact", json!({"type": "boolean", "default": false})),
        (
            "place",
            json!({"type": "object", "properties": {"lat": {"type": "number", "minimum": -90, "maximum": 90},
                "lon": {"type": "number", "minimum": -180, "maximum": 180}}, "required": ["lat", "lon"]}),
        ),
    ];
    let properties: Map<String, Value> = properties
        .into_iter()
        .map(|(name, schema)| (format!("{name}_{}", tool % 8), described(schema, name)))
        .collect();
    let required: Vec<&String> = properties.keys().take(2).collect();
    let mut schema = json!({"type": "object", "required": required, "properties": properties});
    if closed {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
