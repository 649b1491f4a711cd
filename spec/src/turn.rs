//! Where an assistant's turn begins in a rendered prompt. Nothing here renders.

use crate::model::FormatSpec;

impl FormatSpec {
    /// The part of a prompt that the assistant's turn begins with: what `add_generation_prompt` adds, or the
    /// end of the prompt where it adds nothing. Parser and grammar have to
    /// know it, because the model's output continues it. `before` is the same conversation rendered without
    /// `add_generation_prompt`.
    ///
    /// The marker of a turn alone does not show it: some formats have none, and in others the turn continues after the result
    /// of a call, so that the last marker in the prompt is that of the call.
    ///
    /// ```
    /// use unjinja_spec::FormatSpec;
    ///
    /// let spec = FormatSpec::from_toml(r#"
    /// spec_version = 1
    /// [template]
    /// name = "sample"
    /// file = "sample.jinja"
    /// sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    /// [turn]
    /// assistant_start = "<assistant>"
    /// "#, "sample.toml")?;
    /// let before = "<user>Rain?</><assistant><call>weather</call></><tool>Sunshine.</>";
    /// assert_eq!(spec.begun_by(&format!("{before}<assistant><think>"), before), "<assistant><think>");
    /// assert_eq!(spec.begun_by(before, before), "");
    /// # Ok::<(), unjinja_spec::SpecError>(())
    /// ```
    pub fn begun_by<'p>(&self, prompt: &'p str, before: &str) -> &'p str {
        let added = prompt.strip_prefix(before).unwrap_or_else(|| {
            // The template does more than add text: the last turn in the prompt is the one that the model writes.
            let start = Some(&self.turn.assistant_start).filter(|start| !start.is_empty());
            start.and_then(|start| prompt.rfind(start.as_str())).map_or("", |at| &prompt[at..])
        });
        if !added.trim().is_empty() {
            return added;
        }
        // A template may write the start of the turn together with the message before it. Then the end of the prompt says in
        // which state it leaves the model.
        let texts = self.generation_prompt.iter().map(|known| known.text.as_str());
        let ends = texts.filter(|text| !text.trim().is_empty() && prompt.ends_with(text)).max_by_key(|text| text.len());
        ends.map_or(added, |text| &prompt[prompt.len() - text.len()..])
    }
}
