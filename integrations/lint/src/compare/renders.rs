//! Whether two templates render alike, and the smallest conversation that they render differently.

use std::collections::BTreeSet;

use serde::Serialize;
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RenderDifference {
    /// The variables of the render, with each special token that a template reads and its file does not give.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    pub conversation: Value,
    /// What the old template writes.
    pub old: Rendered,
    /// What the new template writes.
    pub new: Rendered,
}

/// What a template makes of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rendered {
    /// The render.
    Text(String),
    /// Why the template fails.
    Error(String),
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
        let render = |subject: &Subject| match subject.text(conversation) {
            Ok(text) => Rendered::Text(text),
            Err(error) => Rendered::Error(format!("{} (line {})", error.message(), error.line())),
        };
        let texts = (render(old), render(new));
        let alike = texts.0 == texts.1 || matches!(texts, (Rendered::Error(_), Rendered::Error(_)));
        (!alike).then(|| Self {
            conversation: assumed.add_to(new.with_tokens(old.context(conversation))),
            old: texts.0,
            new: texts.1,
        })
    }

    fn kind(&self) -> DifferenceKind {
        let words = |text: &str| text.split_whitespace().collect::<String>();
        match (&self.old, &self.new) {
            (Rendered::Text(old), Rendered::Text(new)) if words(old) == words(new) => DifferenceKind::Space,
            (Rendered::Text(_), Rendered::Text(_)) => DifferenceKind::Text,
            (old, _) => DifferenceKind::Fails(matches!(old, Rendered::Error(_))),
        }
    }
}

/// How the renders of two templates compare.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RenderComparison {
    /// Whether every conversation comes out alike.
    pub alike: bool,
    /// How many conversations were tried.
    pub tried: usize,
    /// How many come out different. One that both templates refuse is no difference.
    pub differing: usize,
    /// How many of these differ in white space only.
    pub space: usize,
    /// The smallest conversation that comes out different; null if there is none.
    pub difference: Option<RenderDifference>,
    /// The special tokens of which only one file says the text. Both templates were rendered with it.
    pub assumed_tokens: Vec<String>,
}

/// Renders all conversations with which one of the templates was tried.
pub(super) fn compare(old: &Subject, new: &Subject, assumed: &Assumed) -> RenderComparison {
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
    let mut compared =
        RenderComparison { tried: conversations.len(), assumed_tokens: assumed.names(), ..RenderComparison::default() };
    let mut found: Vec<(Conversation, RenderDifference)> = Vec::new();
    for (_, conversation) in conversations {
        let Some(difference) = RenderDifference::of([old, new], assumed, &conversation) else { continue };
        compared.differing += 1;
        compared.space += usize::from(difference.kind() == DifferenceKind::Space);
        if found.len() < MADE_SMALLER {
            found.push((conversation, difference));
        }
    }
    let smaller =
        found.into_iter().map(|(conversation, difference)| small([old, new], assumed, conversation, difference));
    compared.alike = compared.differing == 0;
    compared.difference = smaller.min_by_key(|difference| difference.conversation.to_string().len());
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
