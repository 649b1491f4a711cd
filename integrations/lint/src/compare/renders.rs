//! Whether two templates render alike, and the smallest conversation that they render differently.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::tokens::Assumed;
use crate::conversation::Conversation;
use crate::experiment::smallest;
use crate::subject::Subject;

/// The old template and the new one.
type Pair<'s> = [&'s Subject; 2];

/// How many of the conversations that come out different are made smaller. The smallest of one may be larger than that of another.
const MADE_SMALLER: usize = 12;

/// A conversation that two templates render differently.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RenderDifference {
    /// The variables of the render, with each special token that a template reads and its file does not give.
    pub conversation: Value,
    /// What the old template writes, or why it fails.
    pub old: Result<String, String>,
    /// What the new template writes, or why it fails.
    pub new: Result<String, String>,
}

/// In what two renders differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DifferenceKind {
    Space,
    Text,
    /// One of the templates fails. Whether it is the old one.
    Fails(bool),
}

impl RenderDifference {
    /// `None` if both templates write the same, or both fail.
    fn of([old, new]: Pair<'_>, assumed: &Assumed, conversation: &Conversation) -> Option<Self> {
        let render = |subject: &Subject| {
            let text = subject.text(conversation);
            text.map_err(|error| format!("{} (line {})", error.message(), error.line()))
        };
        let texts = (render(old), render(new));
        let alike = texts.0 == texts.1 || (texts.0.is_err() && texts.1.is_err());
        (!alike).then(|| Self {
            conversation: assumed.add_to(new.with_tokens(old.context(conversation))),
            old: texts.0,
            new: texts.1,
        })
    }

    fn kind(&self) -> DifferenceKind {
        let words = |text: &str| text.split_whitespace().collect::<String>();
        match (&self.old, &self.new) {
            (Ok(old), Ok(new)) if words(old) == words(new) => DifferenceKind::Space,
            (Ok(_), Ok(_)) => DifferenceKind::Text,
            (old, _) => DifferenceKind::Fails(old.is_err()),
        }
    }
}

/// How the renders of two templates compare.
#[derive(Default)]
pub(super) struct ComparedRenders {
    /// How many conversations were rendered.
    pub(super) tried: usize,
    /// How many come out different.
    pub(super) differing: usize,
    /// How many of these in white space only.
    pub(super) differing_in_space: usize,
    /// The smallest of them.
    pub(super) smallest: Option<RenderDifference>,
}

/// Renders all conversations with which one of the templates was tried.
pub(super) fn compare(old: &Subject, new: &Subject, assumed: &Assumed) -> ComparedRenders {
    let contexts = old.tried().into_iter().chain(new.tried());
    let mut seen = BTreeSet::new();
    let mut conversations: Vec<(String, Conversation)> = contexts
        .filter_map(|context| {
            let conversation = Conversation::from_context(&context);
            let key = conversation.context().to_string();
            seen.insert(key.clone()).then_some((key, conversation))
        })
        .collect();
    conversations.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    let mut compared = ComparedRenders { tried: conversations.len(), ..ComparedRenders::default() };
    let mut found: Vec<(Conversation, RenderDifference)> = Vec::new();
    for (_, conversation) in conversations {
        let Some(difference) = RenderDifference::of([old, new], assumed, &conversation) else { continue };
        compared.differing += 1;
        compared.differing_in_space += usize::from(difference.kind() == DifferenceKind::Space);
        if found.len() < MADE_SMALLER {
            found.push((conversation, difference));
        }
    }
    let smaller =
        found.into_iter().map(|(conversation, difference)| small([old, new], assumed, conversation, difference));
    compared.smallest = smaller.min_by_key(|difference| difference.conversation.to_string().len());
    compared
}

/// The smallest part of a conversation that comes out different in the same way.
fn small(
    pair: Pair<'_>,
    assumed: &Assumed,
    conversation: Conversation,
    difference: RenderDifference,
) -> RenderDifference {
    let like = |smaller: &Conversation, known: &RenderDifference| {
        RenderDifference::of(pair, assumed, smaller).filter(|other| other.kind() == known.kind())
    };
    let (conversation, difference) = smallest(conversation, difference, like);
    let without_prompt = Conversation { generation_prompt: false, ..conversation.clone() };
    let without_variables = Conversation { variables: Map::new(), ..conversation.clone() };
    let without_both = Conversation { variables: Map::new(), ..without_prompt.clone() };
    let mut smaller = [without_both, without_variables, without_prompt].into_iter().filter(|one| *one != conversation);
    match smaller.find_map(|smaller| Some((like(&smaller, &difference)?, smaller))) {
        Some((other, smaller)) => smallest(smaller, other, like).1,
        None => difference,
    }
}
