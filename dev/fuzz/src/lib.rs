//! What must hold of any input, whoever wrote it, as functions: [`TARGETS`]. The fuzz targets under `targets/` call them
//! and nothing else; so do the tests of this crate, which need no fuzzer. Each takes any bytes and panics where
//! something does not hold; none may trust a byte.
//!
//! Inputs to begin with are made by [`seeds`] from what the repository has: templates, specs, cases, schemas.

#![expect(clippy::panic, reason = "a property that does not hold panics: that is what a fuzzer looks for")]

pub mod lossless;
pub mod models;
pub mod output;
pub mod schemas;
pub mod seeds;
pub mod sources;
pub mod specs;
pub mod templates;
pub mod values;

use output::Trial;

/// A property of any bytes.
pub struct Target {
    /// Its name, and that of the fuzz target.
    pub name: &'static str,
    /// What is looked at.
    pub about: &'static str,
    /// Panics where the property does not hold.
    pub run: fn(&[u8]),
    /// The longest input that is tried, in bytes.
    pub longest: usize,
}

/// All of them.
pub const TARGETS: [Target; 8] = [
    Target { name: "outputs", about: "any bytes and any cutting, through every model", run: outputs, longest: 1024 },
    Target {
        name: "markers",
        about: "texts spelled in a model's own markers, the same way",
        run: markers,
        longest: 96,
    },
    Target { name: "render", about: "any text as a template that is rendered", run: render, longest: 2048 },
    Target { name: "analyze", about: "any text as a template that is analysed", run: analyze, longest: 4096 },
    Target {
        name: "specs",
        about: "any text as a spec, lowered, generated and interpreted",
        run: specs,
        longest: 8192,
    },
    Target { name: "schemas", about: "any JSON as the schema of a tool, as a grammar", run: schemas, longest: 2048 },
    Target { name: "values", about: "any text as JSON that breaks off, and as Python", run: values, longest: 512 },
    Target { name: "sources", about: "any bytes as a file that holds templates", run: sources, longest: 16384 },
];

fn hold(result: Result<(), String>) {
    if let Err(problem) = result {
        panic!("{problem}");
    }
}

/// Any bytes, cut anywhere, through any model.
pub fn outputs(input: &[u8]) {
    if let Some((trial, text)) = Trial::read(input) {
        hold(trial.check(text));
    }
}

/// A text spelled in markers and parts of markers of the model that reads it.
pub fn markers(input: &[u8]) {
    if let Some((trial, rest)) = Trial::read(input) {
        hold(trial.check(&output::spelled(trial.model, rest)));
    }
}

/// Any text as a template that is rendered with an ordinary conversation.
pub fn render(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        hold(templates::render(text));
    }
}

/// Any text as a template that is analysed.
pub fn analyze(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        hold(templates::analyze(text));
    }
}

/// Any text as a format spec.
pub fn specs(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        hold(specs::check(text));
    }
}

/// Any JSON as the parameters of a tool.
pub fn schemas(input: &[u8]) {
    if let Some((&number, text)) = input.split_first()
        && let Ok(schema) = serde_json::from_slice(text)
    {
        hold(schemas::check(models::chosen(number.into()), &schema));
    }
}

/// Any text as JSON that breaks off, and as a Python literal.
pub fn values(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        hold(values::check(text));
    }
}

/// Any bytes as a file that holds templates.
pub fn sources(input: &[u8]) {
    if let Some((&number, bytes)) = input.split_first() {
        hold(sources::check(sources::FILES[usize::from(number) % sources::FILES.len()], bytes));
    }
}
