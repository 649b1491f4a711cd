//! Response templates, made of chat templates.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use unjinja_analyzer::verify;
use unjinja_dynamic::Model;
use unjinja_export::response_template::{
    Example as RustExample, Export as RustExport, Loss as RustLoss, Reading, export,
};
use unjinja_lint::lint_response_template;

use crate::data::{Fields, Reduced, no_list};
use crate::error::{LoadError, RequestError, model_error};
use crate::json::{self, Json};
use crate::lint::Finding;

/// A response template, and what it does not express. Made by `Model.export`.
///
/// >>> import unjinja
/// >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
/// >>> export = unjinja.Model.from_template(template).export(count=20)
/// >>> export.response_template["start_anchor"], export.held, export.tried, export.losses
/// ('<assistant>', 20, 20, [])
///
/// Args:
///     response_template: The response template, a dict.
///     tried: How many random conversations were tried.
///     held: How many of them came back.
///     losses: What does not come back, a list of `Loss`.
///     notes: What its user should know, in sentences.
///     findings: What `unjinja lint` says of the response template, a list of `Finding`.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(PartialEq)]
pub(crate) struct Export {
    /// The response template, as it is in `tokenizer_config.json`.
    #[pyo3(get)]
    response_template: Json,
    /// How many random conversations were tried.
    #[pyo3(get)]
    tried: u32,
    /// How many of them came back.
    #[pyo3(get)]
    held: u32,
    losses: Vec<Loss>,
    /// What its user should know, and no response template can change.
    #[pyo3(get)]
    notes: Vec<String>,
    findings: Vec<Finding>,
}

impl Export {
    pub(crate) fn new(model: &Model, count: u32, seed: u64) -> PyResult<Self> {
        if !model.status().makes_parser() {
            let text = format!("{} is not supported; its gaps say why: {}", model.name(), model.gaps().join(" "));
            return Err(RequestError::new_err(text));
        }
        let template = model.parsed_template().map_err(model_error)?;
        let verification = verify(template, model.spec(), count, seed);
        let export = export(model.spec(), &verification);
        let RustExport { json, tried, held, losses, notes } =
            export.map_err(|problems| LoadError::new_err(problems.to_string()))?;
        let losses = losses.into_iter().map(Loss::new).collect();
        let found = lint_response_template(&json, template, model.spec(), &verification);
        let findings = found.into_iter().map(Finding::new).collect();
        Ok(Self { response_template: Json(json), tried, held, losses, notes, findings })
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Export")
            .needed("response_template", &self.response_template)?
            .needed("tried", self.tried)?
            .needed("held", self.held)?
            .needed("losses", self.losses())?
            .needed("notes", &self.notes)?
            .optional("findings", self.findings(), no_list(py))
    }
}

#[pymethods]
impl Export {
    #[new]
    #[pyo3(
        signature = (response_template, tried, held, losses, notes, findings=Vec::new()),
        text_signature = "(response_template, tried, held, losses, notes, findings=())"
    )]
    fn made(
        response_template: &Bound<'_, PyAny>,
        tried: u32,
        held: u32,
        losses: Vec<PyRef<'_, Loss>>,
        notes: Vec<String>,
        findings: Vec<PyRef<'_, Finding>>,
    ) -> PyResult<Self> {
        let response_template = Json(json::from_python(response_template, "response_template", RequestError::new_err)?);
        let losses = losses.iter().map(|loss| (*loss).clone()).collect();
        let findings = findings.iter().map(|finding| (*finding).clone()).collect();
        Ok(Self { response_template, tried, held, losses, notes, findings })
    }

    /// What does not come back; empty if nothing is lost.
    #[getter]
    fn losses(&self) -> Vec<Loss> {
        self.losses.clone()
    }

    /// What `unjinja lint` says of the response template.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        self.findings.clone()
    }

    /// All of it, as `unjinja export --format json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = self.fields(py)?.dict()?;
        let findings = self.findings.iter().map(|finding| finding.to_dict(py)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item("findings", findings)?;
        let losses = self.losses.iter().map(|loss| loss.to_dict(py)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item("losses", losses)?;
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// Something that a response template does not express.
///
/// Args:
///     kind: Its kind, such as `python_calls`. `docs/response-templates.md` lists them.
///     sentence: The sentence for people.
///     conversations: How many of the random conversations it changed.
///     example: The shortest output that shows it, an `Example` or None.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(Clone, PartialEq)]
pub(crate) struct Loss {
    /// Its kind, such as `python_calls`. `docs/response-templates.md` lists them.
    #[pyo3(get)]
    kind: String,
    /// The sentence for people.
    #[pyo3(get)]
    sentence: String,
    /// How many of the random conversations it changed.
    #[pyo3(get)]
    conversations: u32,
    example: Option<Example>,
}

impl Loss {
    fn new(loss: RustLoss) -> Self {
        Self {
            kind: loss.kind.name().to_owned(),
            sentence: loss.kind.sentence().to_owned(),
            conversations: loss.count,
            example: loss.example.map(Example::new),
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Loss")
            .needed("kind", &self.kind)?
            .needed("sentence", &self.sentence)?
            .needed("conversations", self.conversations)?
            .or_none("example", self.example())
    }
}

#[pymethods]
impl Loss {
    #[new]
    #[pyo3(signature = (kind, sentence, conversations, example=None))]
    fn made(kind: String, sentence: String, conversations: u32, example: Option<PyRef<'_, Example>>) -> Self {
        Self { kind, sentence, conversations, example: example.map(|example| (*example).clone()) }
    }

    /// The shortest output that shows it, or None.
    #[getter]
    fn example(&self) -> Option<Example> {
        self.example.clone()
    }

    /// All fields by their names; the example is a dict too.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = self.fields(py)?.dict()?;
        dict.set_item("example", self.example.as_ref().map(|example| example.to_dict(py)).transpose()?)?;
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}

/// An output that is read as something else than was written.
///
/// Args:
///     output: The text of the turn, from the end of the prompt on.
///     in_pieces: Whether it is read otherwise only when it arrives in small pieces.
///     written: The message that was written: `reasoning_content`, `content` and `tool_calls`.
///     read: What is read, in the same form; None if reading failed.
///     error: Why reading failed, or None.
#[pyclass(frozen, eq, module = "unjinja")]
#[derive(Clone, PartialEq)]
pub(crate) struct Example {
    /// The text of the turn, from the end of the prompt on.
    #[pyo3(get)]
    output: String,
    /// Whether it is read otherwise only when it arrives in small pieces.
    #[pyo3(get)]
    in_pieces: bool,
    /// The message that was written: `reasoning_content`, `content` and `tool_calls`.
    #[pyo3(get)]
    written: Json,
    /// What is read, in the same form; None if reading failed.
    #[pyo3(get)]
    read: Option<Json>,
    /// Why reading failed, or None.
    #[pyo3(get)]
    error: Option<String>,
}

impl Example {
    fn new(example: RustExample) -> Self {
        Self {
            output: example.output,
            in_pieces: example.in_pieces,
            written: Json(Reading::from(&example.expected).to_json()),
            read: example.read.as_ref().ok().map(|reading| Json(reading.to_json())),
            error: example.read.err().map(|error| error.to_string()),
        }
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Fields<'py>> {
        Fields::new(py, "Example")
            .needed("output", &self.output)?
            .needed("in_pieces", self.in_pieces)?
            .needed("written", &self.written)?
            .or_none("read", self.read.as_ref())?
            .or_none("error", &self.error)
    }
}

#[pymethods]
impl Example {
    #[new]
    #[pyo3(signature = (output, in_pieces, written, read=None, error=None))]
    fn made(
        output: String,
        in_pieces: bool,
        written: &Bound<'_, PyAny>,
        read: Option<&Bound<'_, PyAny>>,
        error: Option<String>,
    ) -> PyResult<Self> {
        let value = |value, name| json::from_python(value, name, RequestError::new_err).map(Json);
        let written = value(written, "written")?;
        let read = read.map(|read| value(read, "read")).transpose()?;
        Ok(Self { output, in_pieces, written, read, error })
    }

    /// All fields by their names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.fields(py)?.dict()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.fields(py)?.repr()
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        this.get().fields(this.py())?.reduced(this.get_type())
    }
}
