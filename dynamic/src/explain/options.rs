//! What is explained.

use unjinja_runtime::Tools;

/// What is explained in addition to a template or a spec: an output, and what its request says.
#[derive(Clone, Copy, Debug)]
pub struct ExplainOptions<'a> {
    pub(super) output: Option<&'a [u8]>,
    pub(super) over: bool,
    pub(super) tools: Option<&'a Tools>,
    pub(super) generation_prompt: Option<&'a str>,
}

impl Default for ExplainOptions<'_> {
    fn default() -> Self {
        Self { output: None, over: true, tools: None, generation_prompt: None }
    }
}

impl<'a> ExplainOptions<'a> {
    /// No output, and calls of any tool.
    pub fn new() -> Self {
        Self::default()
    }

    /// An output of the model, whose bytes are to be explained.
    pub fn output(mut self, output: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.output = Some(output.as_ref());
        self
    }

    /// Whether the output is complete. If not, the explanation shows what is held back. The default is true.
    pub fn over(mut self, over: bool) -> Self {
        self.over = over;
        self
    }

    /// The tools that the request offers. The default takes calls of any tool.
    pub fn tools(mut self, tools: &'a Tools) -> Self {
        self.tools = Some(tools);
        self
    }

    /// What the prompt has of the assistant's turn. The default is the template's first generation prompt.
    pub fn generation_prompt(mut self, prompt: &'a str) -> Self {
        self.generation_prompt = Some(prompt);
        self
    }
}
