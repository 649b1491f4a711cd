//! Removes the Markdown code fence that a model may put around an answer that has to be JSON.

/// A filter that the answer goes through. An application that does not use one does not link any.
pub(crate) trait Filter: Send + Sync {
    /// Takes the next piece and passes on the part that is certain.
    fn push(&mut self, text: &str, out: &mut dyn FnMut(&str));

    fn finish(&mut self, out: &mut dyn FnMut(&str));
}

/// Removes an opening fence with its label, and a closing fence. All other text passes.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    state: State,
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Only white space and the beginning of a fence have come.
    #[default]
    Start,
    /// An opening fence was taken.
    Inside,
    Plain,
}

const TICKS: &str = "```";
/// The longest label after the opening ticks, with the newline.
const LABEL: usize = 16;

impl Fence {
    pub(crate) fn filter() -> Box<dyn Filter> {
        Box::<Self>::default()
    }

    fn give_up(&mut self, out: &mut dyn FnMut(&str)) {
        self.state = State::Plain;
        if !self.held.is_empty() {
            out(&self.held);
            self.held.clear();
        }
    }
}

impl Filter for Fence {
    fn push(&mut self, text: &str, out: &mut dyn FnMut(&str)) {
        match self.state {
            State::Plain => out(text),
            State::Start => {
                self.held.push_str(text);
                let body = self.held.trim_start();
                if let Some(label) = body.strip_prefix(TICKS) {
                    match label.split_once('\n') {
                        Some((label, rest)) if is_label(label) => {
                            let rest = rest.to_owned();
                            self.state = State::Inside;
                            self.held.clear();
                            self.push(&rest, out);
                        }
                        None if is_label(label) => {}
                        _ => self.give_up(out),
                    }
                } else if !TICKS.starts_with(body) {
                    self.give_up(out);
                }
            }
            State::Inside => {
                self.held.push_str(text);
                let safe = match self.held.rfind(TICKS) {
                    // Only white space follows.
                    Some(at) if self.held[at + TICKS.len()..].trim().is_empty() => self.held[..at].trim_end().len(),
                    _ => {
                        let ticks = self.held.len() - self.held.trim_end_matches('`').len();
                        let ticks = ticks.min(TICKS.len() - 1);
                        self.held[..self.held.len() - ticks].trim_end().len()
                    }
                };
                if safe > 0 {
                    out(&self.held[..safe]);
                    self.held.drain(..safe);
                }
            }
        }
    }

    fn finish(&mut self, out: &mut dyn FnMut(&str)) {
        if self.state == State::Inside && self.held.trim() == TICKS {
            self.held.clear();
        }
        self.give_up(out);
    }
}

fn is_label(label: &str) -> bool {
    label.len() < LABEL
        && label.trim_end().bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, step: usize) -> String {
        let mut fence = Fence::default();
        let mut out = String::new();
        for piece in text.as_bytes().chunks(step) {
            fence.push(std::str::from_utf8(piece).unwrap(), &mut |t| out.push_str(t));
        }
        fence.finish(&mut |t| out.push_str(t));
        out
    }

    #[test]
    fn a_fence_around_the_answer_is_removed_and_nothing_else() {
        for (text, expected) in [
            ("```json\n{\"a\": 1}\n```", "{\"a\": 1}"),
            ("```\n{\"a\": \"``` x\"}\n```\n", "{\"a\": \"``` x\"}"),
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("  {\"a\": 1} ", "  {\"a\": 1} "),
            ("``x``", "``x``"),
            ("```json\n{\"a\"", "{\"a\""),
            ("```json", "```json"),
            ("```json\n1\n``", "1\n``"),
        ] {
            for step in [1, 2, 3, 100] {
                assert_eq!(run(text, step), expected, "{text:?} by {step}");
            }
        }
    }
}
