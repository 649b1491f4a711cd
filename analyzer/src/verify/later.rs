//! The same turns elsewhere: later in a conversation, and with white space around their texts.

use super::*;

impl Trials<'_, '_> {
    /// The turn later in a conversation, where the template writes it in another way there.
    pub(super) fn later(&self, turn: &AssistantMessage) -> Option<Continuation> {
        let Self { probe, spec, .. } = self;
        let (style, extra) = (self.style_for(turn), self.variables(turn));
        let tools = turn.tools(style);
        let place = |before| probe.turn_among([before, Vec::new()], turn, &tools, style, &extra).ok();
        let exchange = [style.user("One?\n"), AssistantMessage::content("Two.").message(style)];
        let (first, later) = (place(Vec::new())?.text, place([exchange.clone(), exchange].concat())?.text);
        let mut expected = message_of(turn);
        let start = spec.turn.assistant_start.trim();
        // Where nothing opens the turn, its header cannot be told from it.
        if first == later || start.is_empty() || lacking(&later, &expected).is_some() {
            return None;
        }
        let TrialOutcome::Held(Some(held)) = self.run(turn, expected.clone()) else { return None };
        let header = &first[..first.find(held.body.trim())?];
        let after_start = || later.split_once(start).map(|(_, body)| body);
        let output = until_end(later.strip_prefix(header).or_else(after_start).unwrap_or(&later), spec).to_owned();
        let prompt = self.begun(turn, false, &extra).to_owned();
        let options = Options::new().tools(&held.tools).generation_prompt(&prompt);
        let parsed = parse(self.parser.clone(), &output, &options);
        expected.tool_calls.iter_mut().for_each(|call| call.id = None);
        Some(Continuation { kind: ContinuationKind::LaterTurn, prompt, thinking: None, output, expected, parsed })
    }

    /// The turn with white space around its texts, if it does not come back.
    pub(super) fn in_blanks(&self, turn: &AssistantMessage) -> Option<Continuation> {
        let in_blanks = |text: &str| if text.is_empty() { String::new() } else { format!("\n{text}\n\n") };
        let reasoning = turn.reasoning.as_ref().map(|(carrier, text)| (carrier.clone(), in_blanks(text)));
        let other = AssistantMessage { content: in_blanks(&turn.content), reasoning, ..turn.clone() };
        if other == *turn || !matches!(self.run(turn, message_of(turn)), TrialOutcome::Held(_)) {
            return None;
        }
        let TrialOutcome::Failed(failed) = self.run(&other, message_of(&other)) else { return None };
        let Failure { rendered: output, expected, parsed, .. } = *failed;
        let prompt = self.begun(&other, false, &self.variables(&other)).to_owned();
        Some(Continuation { kind: ContinuationKind::Blanks, prompt, thinking: None, output, expected, parsed })
    }
}
