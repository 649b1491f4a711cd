//! Grammars for constrained sampling.

use pyo3::prelude::*;
use unjinja_dynamic::Grammar as RustGrammar;

/// A grammar, and what a sampler needs with it.
#[pyclass(frozen, module = "unjinja")]
pub(crate) struct Grammar(pub(crate) RustGrammar);

#[pymethods]
impl Grammar {
    /// The text of the grammar. Empty if nothing has to be constrained.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the grammar holds only from a trigger on.
    #[getter]
    fn lazy(&self) -> bool {
        self.0.lazy
    }

    /// The triggers of a lazy grammar: pairs of a kind (`word` or `pattern`) and a text.
    #[getter]
    fn triggers(&self) -> Vec<(&'static str, &str)> {
        self.0.triggers.iter().map(|trigger| (trigger.kind(), trigger.value())).collect()
    }

    /// Special tokens that the detokenizer must keep as text.
    #[getter]
    fn preserved_tokens(&self) -> Vec<&str> {
        self.0.preserved_tokens.iter().map(String::as_str).collect()
    }

    /// Texts that end a turn.
    #[getter]
    fn stops(&self) -> Vec<&str> {
        self.0.stops.iter().map(String::as_str).collect()
    }

    /// The part of the constrained text that the prompt already contains. The sampler must be fed with it first.
    #[getter]
    fn prefill(&self) -> &str {
        &self.0.prefill
    }

    /// Where the grammar accepts more than the schemas allow, in sentences.
    #[getter]
    fn widened(&self) -> Vec<String> {
        let place = |tool: &str| if tool.is_empty() { "the response".to_owned() } else { format!("the tool {tool:?}") };
        self.0.widened.iter().map(|wider| format!("{}: {}", place(&wider.tool), wider.what)).collect()
    }

    fn __str__(&self) -> &str {
        &self.0.text
    }
}
