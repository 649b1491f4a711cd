//! What a caller knows in addition to the template.

use unjinja_spec::FormatSpec;

/// What is known in addition to the template.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LintOptions {
    /// The special tokens of the tokenizer; `None` if they are not known, as for a bare `.jinja` file.
    pub special_tokens: Option<Vec<String>>,
    /// The template's spec, if it need not be analysed: one that an overlay corrected.
    pub spec: Option<FormatSpec>,
}

impl LintOptions {
    /// With the special tokens of the tokenizer.
    pub fn special_tokens(mut self, tokens: Vec<String>) -> Self {
        self.special_tokens = Some(tokens);
        self
    }

    /// With a spec, instead of an analysis.
    pub fn spec(mut self, spec: FormatSpec) -> Self {
        self.spec = Some(spec);
        self
    }
}
