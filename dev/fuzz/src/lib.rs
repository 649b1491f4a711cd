//! Properties that must hold for any input, as functions: [`TARGETS`]. Each takes any bytes and panics if its property does not
//! hold; it must not assume anything about the bytes. The fuzz targets under `targets/` only call these functions. The tests
//! of this crate call them too, without a fuzzer.
//!
//! [`seeds`] makes the first inputs from the templates, specs, cases and schemas of the repository.

#![expect(clippy::panic, reason = "a property that does not hold panics: that is what a fuzzer looks for")]

pub mod lossless;
pub mod models;
pub mod output;
pub mod prose;
pub mod schemas;
pub mod seeds;
pub mod sources;
pub mod specs;
pub mod templates;
pub mod values;

use output::Trial;

/// A property that must hold for any bytes.
pub struct Target {
    /// Its name, which is also the name of the fuzz target.
    pub name: &'static str,
    /// What the input is used as.
    pub about: &'static str,
    /// Panics where the property does not hold.
    pub run: fn(&[u8]),
    /// The longest input that is tried, in bytes.
    pub longest: usize,
}

/// All properties.
pub const TARGETS: [Target; 9] = [
    Target { name: "outputs", about: "any bytes and any cutting, through every model", run: outputs, longest: 1024 },
    Target {
        name: "markers",
        about: "texts spelled in a model's own markers, the same way",
        run: markers,
        longest: 96,
    },
    Target { name: "prose", about: "a marker in the middle of a sentence of an answer", run: prose, longest: 96 },
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

/// Any bytes as the output of any model, cut anywhere.
pub fn outputs(input: &[u8]) {
    if let Some((trial, text)) = Trial::read(input) {
        hold(trial.check(text));
    }
}

/// A text made of markers and parts of markers of the model that reads it.
pub fn markers(input: &[u8]) {
    if let Some((trial, rest)) = Trial::read(input) {
        hold(trial.check(&output::spelled(trial.model, rest)));
    }
}

/// A sentence with a marker in it, as the answer of a model.
pub fn prose(input: &[u8]) {
    hold(prose::any(input));
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

/// Any text as truncated JSON, and as a Python literal.
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
