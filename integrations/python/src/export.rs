//! Response templates, made of chat templates.

use pyo3::prelude::*;
use serde_json::{Value, json};
use unjinja_analyzer::verify;
use unjinja_dynamic::Model;
use unjinja_export::response_template::{
    Dialect, Example as RustExample, Export as RustExport, Loss as RustLoss, export, written_json,
};

use crate::error::{LoadError, RequestError, model_error};
use crate::json;

/// A response template, and what it does not express.
///
/// >>> import unjinja
/// >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
/// >>> export = unjinja.Model.from_template(template).export("transformers", count=20)
/// >>> export.response_template["start_anchor"], export.held, export.tried, export.losses
/// ('<assistant>', 20, 20, [])
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Export(RustExport);

impl Export {
    pub(crate) fn new(model: &Model, reader: Dialect, count: u32, seed: u64) -> PyResult<Self> {
        if !model.status().makes_parser() {
            let text = format!("{} is not supported; its gaps say why: {}", model.name(), model.gaps().join(" "));
            return Err(RequestError::new_err(text));
        }
        let template = model.parsed_template().map_err(model_error)?;
        let verification = verify(template, model.spec(), count, seed);
        let export = export(model.spec(), reader, &verification);
        export.map(Self).map_err(|problems| LoadError::new_err(problems.to_string()))
    }
}

/// The reader of a name.
pub(crate) fn dialect(name: &str) -> PyResult<Dialect> {
    name.parse().map_err(|_| {
        let known = Dialect::ALL.map(|dialect| format!("{:?}", dialect.name())).join(", ");
        RequestError::new_err(format!("reader: {name:?} is unknown; use one of {known}"))
    })
}

#[pymethods]
impl Export {
    /// The reader: `transformers`, `vllm` or `sglang`.
    #[getter]
    fn reader(&self) -> &'static str {
        self.0.dialect.name()
    }

    /// The response template, as it is in `tokenizer_config.json`.
    #[getter]
    fn response_template<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.0.json)
    }

    /// How many random conversations were tried.
    #[getter]
    fn tried(&self) -> u32 {
        self.0.tried
    }

    /// How many of them came back.
    #[getter]
    fn held(&self) -> u32 {
        self.0.held
    }

    /// What does not come back; empty if nothing is lost.
    #[getter]
    fn losses(&self) -> Vec<Loss> {
        self.0.losses.iter().cloned().map(Loss).collect()
    }

    /// What its user should know, and no response template can change.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// All of it, as `unjinja export --format json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let losses: Vec<Value> = self.0.losses.iter().map(loss).collect();
        let document = json!({
            "reader": self.0.dialect.name(), "response_template": self.0.json, "tried": self.0.tried,
            "held": self.0.held, "losses": losses, "notes": self.0.notes,
        });
        json::to_python(py, &document)
    }

    fn __repr__(&self) -> String {
        let (reader, held, tried) = (self.0.dialect.name(), self.0.held, self.0.tried);
        format!("Export({reader}, {held} of {tried} came back, {} losses)", self.0.losses.len())
    }
}

/// Something that a response template does not express.
#[pyclass(frozen, module = "unjinja")]
#[derive(Clone)]
pub(crate) struct Loss(RustLoss);

#[pymethods]
impl Loss {
    /// Its kind, such as `python_calls`. `docs/response-templates.md` lists them.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// The sentence for people.
    #[getter]
    fn sentence(&self) -> &'static str {
        self.0.kind.sentence()
    }

    /// How many of the random conversations it changed.
    #[getter]
    fn conversations(&self) -> u32 {
        self.0.count
    }

    /// The shortest output that shows it, or None.
    #[getter]
    fn example(&self) -> Option<Example> {
        self.0.example.clone().map(Example)
    }

    fn __repr__(&self) -> String {
        format!("Loss({}: {} conversations)", self.kind(), self.0.count)
    }
}

/// An output that is read as something else than was written.
#[pyclass(frozen, module = "unjinja")]
#[derive(Clone)]
pub(crate) struct Example(RustExample);

#[pymethods]
impl Example {
    /// The text of the turn, from the end of the prompt on.
    #[getter]
    fn output(&self) -> &str {
        &self.0.output
    }

    /// Whether it is read otherwise only when it arrives in small pieces.
    #[getter]
    fn in_pieces(&self) -> bool {
        self.0.in_pieces
    }

    /// The message that was written: `reasoning_content`, `content` and `tool_calls`.
    #[getter]
    fn written<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &written_json(&self.0.expected))
    }

    /// What is read, in the same form; None if reading failed.
    #[getter]
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.read.as_ref().ok().map(|reading| json::to_python(py, &reading.to_json())).transpose()
    }

    /// Why reading failed, or None.
    #[getter]
    fn error(&self) -> Option<String> {
        self.0.read.as_ref().err().map(ToString::to_string)
    }

    fn __repr__(&self) -> String {
        format!("Example({:?})", self.0.output)
    }
}

fn loss(loss: &RustLoss) -> Value {
    let example = loss.example.as_ref().map(|example| {
        let (read, error) = match &example.read {
            Ok(reading) => (reading.to_json(), Value::Null),
            Err(error) => (Value::Null, Value::from(error.to_string())),
        };
        json!({
            "output": example.output, "in_pieces": example.in_pieces, "written": written_json(&example.expected),
            "read": read, "error": error,
        })
    });
    json!({"kind": loss.kind.name(), "sentence": loss.kind.sentence(), "conversations": loss.count, "example": example})
}
