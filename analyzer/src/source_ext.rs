//! Connects the reader of files, which knows no renderer, with the renderer and the analyzer.

use unjinja_render::{SpecialTokens, Template, TemplateError};
use unjinja_source::Source;
use unjinja_spec::BIG_INTEGER;

use crate::analyze::Naming;

/// What the renderer and the analyzer make of a [`Source`].
pub trait SourceExt {
    /// Parses the template. It renders with the special tokens that its file gives.
    ///
    /// ```
    /// use unjinja_analyzer::SourceExt;
    /// use unjinja_source::Source;
    ///
    /// let json = br#"{"chat_template": "{{ messages[0].content }}{{ eos_token }}", "eos_token": "</s>"}"#;
    /// let sources = Source::from_bytes("tokenizer_config.json", json)?;
    /// let context = serde_json::json!({"messages": [{"role": "user", "content": "Hello"}]});
    /// assert_eq!(sources[0].template()?.render(&context)?, "Hello</s>");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the template has a syntax error.
    fn template(&self) -> Result<Template, TemplateError>;

    /// The names that the template's spec gets. `origin` says where the template comes from, for people; it can be
    /// empty.
    fn naming(&self, origin: &str) -> Naming;
}

impl SourceExt for Source {
    fn template(&self) -> Result<Template, TemplateError> {
        let unjinja_source::SpecialTokens { bos, eos, others } = self.tokens.clone();
        let tokens = SpecialTokens { bos, eos, others };
        Ok(Template::parse(&self.file(), &self.text)?.with_tokens(tokens).with_integer_key(BIG_INTEGER))
    }

    fn naming(&self, origin: &str) -> Naming {
        Naming { name: self.name(), source: origin.to_owned(), file: self.file() }
    }
}
