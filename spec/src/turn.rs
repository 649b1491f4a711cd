//! Where an assistant's turn begins in a rendered prompt. Nothing here renders.

use crate::model::Turn;

impl Turn {
    /// The part of a prompt that the assistant's turn begins with: what `add_generation_prompt` adds. Parser and grammar have to
    /// know it, because the model's output continues it. `before` is the same conversation rendered without
    /// `add_generation_prompt`.
    ///
    /// The marker of a turn alone does not show it: some formats have none, and in others the turn goes on behind the result
    /// of a call, so that the last marker in the prompt is that of the call.
    ///
    /// ```
    /// use unjinja_spec::Turn;
    ///
    /// let turn = Turn { assistant_start: "<assistant>".into(), ..Turn::default() };
    /// let before = "<user>Rain?</><assistant><call>weather</call></><tool>Sunshine.</>";
    /// assert_eq!(turn.begun_by(&format!("{before}<assistant><think>"), before), "<assistant><think>");
    /// assert_eq!(turn.begun_by(before, before), "");
    /// ```
    pub fn begun_by<'p>(&self, prompt: &'p str, before: &str) -> &'p str {
        prompt.strip_prefix(before).unwrap_or_else(|| {
            // The template does more than add text: the last turn in the prompt is the one that the model writes.
            let start = Some(&self.assistant_start).filter(|start| !start.is_empty());
            start.and_then(|start| prompt.rfind(start.as_str())).map_or("", |at| &prompt[at..])
        })
    }
}
