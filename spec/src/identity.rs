//! Whose a spec is, and what makes two specs the same format: every key that decides how an output is read.

use sha2::{Digest, Sha256};

use crate::document::Node;
use crate::evidence::Evidence;
use crate::messages::Messages;
use crate::model::{Capabilities, FormatSpec, SPEC_VERSION, TemplateInfo, Tokens};
use crate::status::Status;
use crate::write;

impl TemplateInfo {
    /// Where the template comes from, and which models have it, for people.
    pub fn of_models(&self) -> String {
        let source = if self.source.is_empty() { &self.file } else { &self.source };
        let ids = self.models.iter().filter(|id| *id != source);
        std::iter::once(source).chain(ids).cloned().collect::<Vec<_>>().join(", ")
    }
}

impl FormatSpec {
    /// The SHA-256 of the format, in lower-case hexadecimal digits. Two specs have the same hash if they differ in
    /// nothing but `template`, `capabilities`, `messages`, `tokens`, `evidence`, `status` and `gaps`. If the format has calls, an overlay
    /// that corrects one of them is then worth a look for the other.
    ///
    /// The hash of a spec is the same on every machine, and may change with the version of the spec language.
    ///
    /// ```
    /// # let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
    /// # let spec = unjinja_spec::FormatSpec::from_toml(&toml, "a.toml")?;
    /// let mut other = spec.clone();
    /// other.template.name = "another".to_owned();
    /// assert_eq!(other.format_hash(), spec.format_hash());
    /// other.turn.end = "<|end|>".to_owned();
    /// assert_ne!(other.format_hash(), spec.format_hash());
    /// # Ok::<(), unjinja_spec::SpecError>(())
    /// ```
    #[must_use]
    pub fn format_hash(&self) -> String {
        let format = FormatSpec {
            spec_version: SPEC_VERSION,
            status: Status::Supported,
            gaps: Vec::new(),
            template: TemplateInfo::default(),
            capabilities: Capabilities::default(),
            messages: Messages::default(),
            tokens: Tokens::default(),
            evidence: Evidence::default(),
            ..self.clone()
        };
        let digest = Sha256::digest(write::toml(&Node::from_serialize(&format)).as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
