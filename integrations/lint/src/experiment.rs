//! A controlled experiment: a conversation that the template renders, and the same conversation changed in one respect. If
//! the change does harm, the conversation is made as small as it can be.

use unjinja_render::{RenderError, RenderErrorKind, SourcePosition};

use super::conversation::Conversation;
use super::difference::{around, common_prefix, count_word, excerpts};
use super::subject::Subject;

/// What a change did to the prompt.
#[derive(Clone, Debug)]
pub(super) enum Harm {
    Fails(RenderError),
    /// The template calls `raise_exception`.
    Refuses(RenderError),
    /// A word of Python is written that was not there before.
    Writes(&'static str),
    /// A text of the conversation is not in the prompt.
    Loses(String),
    /// A text of the conversation is in the prompt less often than before.
    LosesOne(String),
    /// The prompt is another one, although it should be the same.
    Differs,
}

impl Harm {
    /// What happens, to follow "the template …" or similar.
    pub(super) fn words(&self) -> String {
        match self {
            Harm::Fails(error) => format!("the template fails: {}", one_line(error.message())),
            Harm::Refuses(error) => format!("the template refuses it: {}", one_line(error.message())),
            Harm::Writes(word) => format!("the prompt says `{word}`"),
            Harm::Loses(text) => format!("{text:?} is not in the prompt"),
            Harm::LosesOne(text) => format!("the prompt does not say {text:?} in its place"),
            Harm::Differs => "the prompt comes out different".to_owned(),
        }
    }

    fn is_like(&self, other: &Harm) -> bool {
        let loses = |harm: &Harm| matches!(harm, Harm::Loses(_) | Harm::LosesOne(_));
        std::mem::discriminant(self) == std::mem::discriminant(other) || loses(self) && loses(other)
    }
}

/// A message of the renderer in one line, without full stop.
pub(super) fn one_line(message: &str) -> String {
    const LONGEST: usize = 200;
    let mut words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(LONGEST) {
        words.truncate(end);
        words.push('…');
    }
    words.trim_end_matches('.').to_owned()
}

/// Where a render failed.
fn position(error: &RenderError) -> Option<SourcePosition> {
    Some(SourcePosition { line: u32::try_from(error.line()).ok()?, column: error.column()? })
}

/// What counts as harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// The prompt must stay the same.
    Same,
    /// The prompt must stay the same, apart from white space.
    SameWords,
    /// No text of the conversation may be lost that was in the prompt before, and no `None` may be written.
    NothingLost,
    /// The same, and every text that the change adds must be in the prompt.
    AllThere,
    /// No text of the conversation may be in the prompt less often than before.
    AsOften,
}

/// A conversation that shows harm.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub harm: Harm,
    pub conversation: Conversation,
    pub expected: String,
    pub actual: String,
    /// The statement of the template that fails, or that writes what should not be there, or that no longer writes what should.
    pub position: Option<SourcePosition>,
}

/// Changes a conversation in one respect.
pub(super) type Change<'a> = &'a dyn Fn(&mut Conversation);

impl Subject {
    /// Makes the experiment. `None` if there is no harm, or if the unchanged conversation cannot be rendered, so that
    /// nothing can be said.
    pub(super) fn experiment(&self, base: &Conversation, change: Change<'_>, check: Check) -> Option<Shown> {
        let shown = self.harm(base, change, check)?;
        let (base, mut shown) = smallest(base.clone(), shown, |smaller, shown| {
            self.harm(smaller, change, check).filter(|other| other.harm.is_like(&shown.harm))
        });
        shown.position = self.position(&base, &shown);
        Some(shown)
    }

    /// The statement that a harm is about.
    fn position(&self, base: &Conversation, shown: &Shown) -> Option<SourcePosition> {
        let (before, after) = match &shown.harm {
            Harm::Fails(error) | Harm::Refuses(error) => return position(error),
            _ => (self.text(base).ok()?, self.text(&shown.conversation).ok()?),
        };
        let at = common_prefix(&before, &after);
        match &shown.harm {
            // A text that was never there has no statement that writes it.
            Harm::Loses(text) => self.statement(base, before.rfind(text.as_str())?),
            Harm::LosesOne(_) => self.statement(base, at),
            _ => {
                // White space may come of a text between two tags; what is visible tells more.
                let rest = &after[at..];
                let blank = rest.len() - rest.trim_start().len();
                let from = if blank < rest.len() { at + blank } else { at };
                self.statement(&shown.conversation, from).or_else(|| self.statement(base, at))
            }
        }
    }

    fn harm(&self, base: &Conversation, change: Change<'_>, check: Check) -> Option<Shown> {
        let before = self.text(base).ok()?;
        let mut changed = base.clone();
        change(&mut changed);
        if changed == *base {
            return None;
        }
        let (harm, expected, actual) = match self.text(&changed) {
            // That says more about the limit than about the conversation.
            Err(error) if error.kind() == RenderErrorKind::Limit => return None,
            Err(error) => {
                let actual = format!("{} (line {})", one_line(error.message()), error.line());
                let harm = match error.kind() {
                    RenderErrorKind::Raised => Harm::Refuses(error),
                    _ => Harm::Fails(error),
                };
                (harm, "a prompt".to_owned(), actual)
            }
            Ok(after) => {
                let harm = harm_in(base, &before, &changed, &after, check)?;
                let (expected, actual) = match &harm {
                    Harm::Loses(text) if !before.contains(text.as_str()) => {
                        (format!("a prompt that contains {text:?}"), around(&after, common_prefix(&before, &after)))
                    }
                    _ => excerpts(&before, &after),
                };
                (harm, expected, actual)
            }
        };
        Some(Shown { harm, conversation: changed, expected, actual, position: None })
    }
}

/// The smallest conversation that still shows the same: without the tools, and without one message after the other. `test` says what a
/// smaller one shows, if that is the same as what is known.
pub(crate) fn smallest<T>(
    mut base: Conversation,
    mut shown: T,
    test: impl Fn(&Conversation, &T) -> Option<T>,
) -> (Conversation, T) {
    let mut at = 0;
    let mut next = Conversation { tools: None, ..base.clone() };
    loop {
        match test(&next, &shown) {
            Some(smaller) if next != base => (shown, base) = (smaller, next),
            // The first attempt concerns the tools, and the others a message each.
            _ if next.messages.len() == base.messages.len() => {}
            _ => at += 1,
        }
        if base.messages.len() < 2 || at >= base.messages.len() {
            return (base, shown);
        }
        next = base.clone();
        next.messages.remove(at);
        if !next.makes_sense() {
            next = base.clone();
            at += 1;
        }
    }
}

fn harm_in(base: &Conversation, before: &str, changed: &Conversation, after: &str, check: Check) -> Option<Harm> {
    match check {
        Check::Same => return (before != after).then_some(Harm::Differs),
        Check::SameWords => return (!same_words(before, after)).then_some(Harm::Differs),
        Check::NothingLost | Check::AllThere | Check::AsOften => {}
    }
    let texts = changed.texts();
    let known = base.texts();
    for word in ["None", "Undefined"] {
        if count_word(after, word) > count_word(before, word) && !texts.iter().any(|text| text.contains(word)) {
            return Some(Harm::Writes(word));
        }
    }
    let is_due = |text: &String| before.contains(text.as_str()) || check == Check::AllThere && !known.contains(text);
    let lost = texts.iter().find(|text| is_due(text) && !holds(after, text));
    let less = |text: &&String| after.matches(text.as_str()).count() < before.matches(text.as_str()).count();
    let less_often = || texts.iter().filter(|_| check == Check::AsOften).find(less);
    lost.map(|text| Harm::Loses(text.clone())).or_else(|| less_often().map(|text| Harm::LosesOne(text.clone())))
}

fn same_words(a: &str, b: &str) -> bool {
    let visible = |text: &'_ str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    visible(a) == visible(b)
}

/// Whether a text is in a prompt, apart from white space at its ends.
fn holds(prompt: &str, text: &str) -> bool {
    prompt.contains(text.trim())
}
