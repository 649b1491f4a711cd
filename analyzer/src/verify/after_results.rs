//! Turns that follow the result of a call: what is exported must read them.

use super::*;

impl Trials<'_, '_> {
    /// Random turns after the results of a call, of a call with text before it, and of two calls, as far as they come back.
    pub(super) fn after_results(&self, random: &mut Random) -> Vec<AfterResult> {
        if self.spec.tools.format == ToolFormat::None || !self.spec.capabilities.tool_calls {
            return Vec::new();
        }
        let calls = [Call::probe(0), Call::probe(1)];
        let one = AssistantMessage::calls(&calls[..1]);
        let text = one.clone().with_content(SENTINELS.content);
        let before = [one, text, AssistantMessage::calls(&calls)];
        let mut found = Vec::new();
        for asked in before.iter().cycle().take(AFTER_RESULTS) {
            let (turn, expected) = random.turn(self.spec);
            found.extend(self.after_result(asked, &turn, expected));
        }
        found
    }

    /// A turn after the results of the calls of another one.
    fn after_result(
        &self,
        asked: &AssistantMessage,
        turn: &AssistantMessage,
        mut message: Message,
    ) -> Option<AfterResult> {
        let (style, extra) = (self.style_for(asked), [self.variables(asked), self.variables(turn)].concat());
        let offered = tools_for(&[asked.calls.as_slice(), &turn.calls].concat());
        let mut messages = vec![style.user(SENTINELS.user), asked.message(style)];
        let results = asked.calls.iter().enumerate().map(|(number, call)| style.result(number, call, RESULT));
        messages.extend(results);
        let shown = style.offer(offered.clone());
        let prompt = self.probe.render(&messages, &shown, true, &extra).ok()?;
        let tail = prompt.get(prompt.rfind(RESULT)? + RESULT.len()..)?.to_owned();
        messages.push(turn.message(self.style_for(turn)));
        let whole = self.probe.render(&messages, &shown, false, &extra).ok()?;
        let body = match whole.strip_prefix(&prompt) {
            Some(output) => until_end(output, self.spec).to_owned(),
            // A past turn may lack what the prompt has of a new one.
            None => {
                let fresh = self.probe.turn_text(turn, self.style_for(turn), &extra).ok()?;
                let body = text::without_start(until_end(&fresh, self.spec), &self.spec.turn.assistant_start);
                let begun = |tail: &str| {
                    (1..=body.len()).rev().find(|at| body.get(..*at).is_some_and(|begun| tail.ends_with(begun)))
                };
                // White space after a marker that the prompt writes may differ.
                let begun = begun(&tail).or_else(|| begun(tail.trim_end()));
                let opener = self.spec.reasoning.start.trim();
                let is_open = !opener.is_empty() && tail.trim_end().ends_with(opener);
                body.get(begun.or((!is_open).then_some(0))?..)?.to_owned()
            }
        };
        for call in &mut message.tool_calls {
            call.id = call.id.take().filter(|id| body.contains(id.as_str()));
        }
        let tools = Tools::from_openai(&offered).unwrap_or_default();
        let parsed =
            parse(self.parser.clone(), &body, &Options::new().tools(&tools).generation_prompt(self.begun_in(&tail)));
        same(&parsed, &message).then_some(AfterResult { prompt, tail, turn: Rendered { body, message, tools } })
    }

    /// What the end of a prompt has of the turn, with its start.
    fn begun_in(&self, tail: &str) -> String {
        let start = self.spec.turn.assistant_start.as_str();
        if let Some(at) = tail.rfind(start).filter(|_| !start.is_empty()) {
            return tail.get(at..).unwrap_or_default().to_owned();
        }
        let known = self.spec.generation_prompt.iter().filter_map(|prompt| prompt.text.strip_prefix(start));
        let begun = known.filter(|text| tail.ends_with(text)).max_by_key(|text| text.len());
        format!("{start}{}", begun.unwrap_or_default())
    }
}
