//! The options of a parser, from Python's keyword arguments.

use pyo3::prelude::*;
use unjinja_dynamic::{Model, Options, Unparsed};

use crate::error::RequestError;
use crate::prompt::turn_of;
use crate::tools::tools_of;

/// What the caller knows about a turn. The methods that take these name them one by one, so that `help` shows them.
pub(crate) struct Known<'a, 'py> {
    pub(crate) tools: Option<&'a Bound<'py, PyAny>>,
    pub(crate) thinking: Option<bool>,
    pub(crate) prompt: Option<&'a Bound<'py, PyAny>>,
    pub(crate) continue_from: Option<&'a str>,
    pub(crate) parallel_tool_calls: bool,
    pub(crate) extract_reasoning: bool,
    pub(crate) calls_end_reasoning: bool,
    pub(crate) json_response: bool,
    pub(crate) unparsed: &'a str,
    pub(crate) special_tokens: Option<Vec<String>>,
}

impl Known<'_, '_> {
    pub(crate) fn options(self, model: &Model) -> PyResult<Options> {
        let unparsed = match self.unparsed {
            "content" => Unparsed::Content,
            "separate" => Unparsed::Separate,
            other => {
                let text = format!("unparsed: {other:?} is unknown; use \"content\" or \"separate\"");
                return Err(RequestError::new_err(text));
            }
        };
        let mut options = Options::new()
            .parallel_tool_calls(self.parallel_tool_calls)
            .extract_reasoning(self.extract_reasoning)
            .calls_end_reasoning(self.calls_end_reasoning)
            .json_response(self.json_response)
            .unparsed(unparsed);
        if let Some(tools) = tools_of(self.tools)? {
            options = options.tools(&tools.get().tools);
        }
        if let Some(on) = self.thinking {
            options = options.thinking(on);
        }
        if let Some(prompt) = self.prompt.filter(|prompt| !prompt.is_none()) {
            options = options.generation_prompt(turn_of(model, prompt)?);
        }
        if let Some(prefix) = self.continue_from {
            options = options.continue_from(prefix);
        }
        if let Some(tokens) = self.special_tokens {
            options = options.markers_are_special(tokens);
        }
        Ok(options)
    }
}
