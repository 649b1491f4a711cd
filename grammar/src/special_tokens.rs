//! Special tokens that a grammar names as tokens instead of spelling their texts.
//!
//! A program knows texts only. So before a grammar is made, each such token is folded into one character that no text has: a
//! code point for private use. All rules are made as ever, with that character in them, and a writer writes the token where it
//! meets the character.

use std::borrow::Cow;

use unjinja_runtime::abi::{
    Action, Confirm, Hole, Label, List, Marker, Markers, Nesting, NextName, Program, RepeatedName, State, Text,
    Transition,
};

use crate::expr::Class;

/// A special token of a model's vocabulary.
///
/// ```
/// use unjinja_grammar::SpecialToken;
///
/// let tokens = [SpecialToken::new("<tool_call>"), SpecialToken::with_id("</tool_call>", 151658)];
/// assert_eq!(tokens[1].id(), Some(151658));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialToken {
    text: String,
    id: Option<u32>,
}

impl SpecialToken {
    /// The token with this text, which a grammar names by its text. XGrammar names tokens by their numbers only, so that it gets the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), id: None }
    }

    /// The token with this text and this number in the vocabulary.
    pub fn with_id(text: impl Into<String>, id: u32) -> Self {
        Self { text: text.into(), id: Some(id) }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its number, if it is known.
    pub fn id(&self) -> Option<u32> {
        self.id
    }
}

/// The first of the characters that stand for tokens: the private use of plane 15, which has 65,534.
const FIRST: u32 = 0xF_0000;
const MOST: usize = 0xFFFE;

#[derive(Clone, Debug, Default)]
pub(super) struct Tokens(Vec<SpecialToken>);

impl Tokens {
    /// Those of these tokens that the engine can name.
    pub(super) fn new(tokens: &[SpecialToken], names: fn(&SpecialToken) -> bool) -> Self {
        let mut all: Vec<SpecialToken> = Vec::new();
        for token in tokens.iter().filter(|token| !token.text.is_empty() && names(token)).take(MOST) {
            if !all.iter().any(|known| known.text == token.text) {
                all.push(token.clone());
            }
        }
        // Of two tokens that begin alike, the longer one is folded first.
        all.sort_by_key(|token| std::cmp::Reverse(token.text.len()));
        Self(all)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of(&self, character: char) -> Option<&SpecialToken> {
        self.0.get(u32::from(character).checked_sub(FIRST)? as usize)
    }

    pub(super) fn characters(&self) -> impl Iterator<Item = char> {
        (0..self.0.len()).filter_map(|at| char::from_u32(FIRST + u32::try_from(at).ok()?))
    }

    /// The characters of a class that stand for tokens, and the class without them. `None` if there are none. A wide class
    /// contains them by chance, and one that is written as what it excludes comes from texts: both have no tokens.
    pub(super) fn in_class(&self, class: &Class) -> Option<(Class, Vec<char>)> {
        let wide = class.as_ranges().iter().any(|(first, last)| u32::from(*last) - u32::from(*first) > 0xFFFF);
        if wide || class.is_negated() {
            return None;
        }
        let tokens: Vec<char> = self.characters().filter(|&char| class.contains(char)).collect();
        if tokens.is_empty() {
            return None;
        }
        Some((class.intersect(&Class::of(&tokens).negate()), tokens))
    }

    /// A text with one character for each token in it.
    pub(super) fn fold(&self, text: &str) -> Text {
        let mut folded = Cow::Borrowed(text);
        for (token, character) in self.0.iter().zip(self.characters()) {
            if folded.contains(&token.text) {
                folded = Cow::Owned(folded.replace(&token.text, character.encode_utf8(&mut [0; 4])));
            }
        }
        Cow::Owned(folded.into_owned())
    }

    pub(super) fn unfold(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            match self.of(character) {
                Some(token) => out.push_str(&token.text),
                None => out.push(character),
            }
        }
        out
    }

    /// The program with one character for each token in its markers.
    pub(super) fn folded(&self, program: &Program) -> Program {
        let mut program = program.clone();
        program.states = Cow::Owned(program.states.iter().map(|state| self.state(state)).collect());
        for entry in program.entries.to_mut() {
            entry.read = self.fold(&entry.read);
        }
        program
    }

    fn state(&self, state: &State) -> State {
        let markers: Vec<Marker> = state.markers.list().iter().map(|marker| self.marker(marker)).collect();
        State {
            markers: Markers::of(markers.into()),
            transitions: state.transitions.iter().map(|step| self.transition(step)).collect::<Vec<_>>().into(),
            otherwise: state.otherwise.iter().map(|step| self.transition(step)).collect::<Vec<_>>().into(),
            hole: match &state.hole {
                Some(Hole::Literal(quote)) => Some(Hole::Literal(self.fold(quote))),
                hole => hole.clone(),
            },
            ..state.clone()
        }
    }

    fn marker(&self, marker: &Marker) -> Marker {
        let fold = |texts: &List<Text>| Cow::Owned(texts.iter().map(|text| self.fold(text)).collect());
        let name = |next: &NextName| NextName {
            kind: next.kind,
            before: self.fold(&next.before),
            after: self.fold(&next.after),
        };
        Marker {
            core: self.fold(&marker.core),
            repeats: marker.repeats.map(|name| {
                let at = marker.core.get(..name.at).map_or(name.at, |before| self.fold(before).len());
                RepeatedName { at, ..name }
            }),
            names: Cow::Owned(marker.names.iter().map(name).collect()),
            confirm: match &marker.confirm {
                Confirm::Nothing => Confirm::Nothing,
                Confirm::Next(cores) => Confirm::Next(fold(cores)),
                Confirm::End(cores) => Confirm::End(fold(cores)),
            },
            ..marker.clone()
        }
    }

    fn transition(&self, step: &Transition) -> Transition {
        let action = |action: &Action| match action {
            Action::NestedArgument(nesting) => Action::NestedArgument(self.nesting(nesting).into()),
            Action::EndNestedArgument(nesting) => Action::EndNestedArgument(self.nesting(nesting).into()),
            Action::StartLabelled(label) => {
                let label = Label { prefix: self.fold(&label.prefix), separator: self.fold(&label.separator) };
                Action::StartLabelled(label.into())
            }
            action => action.clone(),
        };
        Transition { actions: Cow::Owned(step.actions.iter().map(action).collect()), ..step.clone() }
    }

    fn nesting(&self, nesting: &Nesting) -> Nesting {
        Nesting {
            python: nesting.python,
            open: self.fold(&nesting.open),
            opened: self.fold(&nesting.opened),
            close: self.fold(&nesting.close),
            closed: self.fold(&nesting.closed),
            item: self.fold(&nesting.item),
        }
    }
}

/// Whether Lark can name a token by this text: it looks like `<…>`.
pub(super) fn is_name(text: &str) -> bool {
    let inside = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    inside.is_some_and(|inside| {
        !inside.is_empty()
            && !inside.starts_with('[')
            && !inside.contains(|c: char| c == '<' || c == '>' || c.is_whitespace())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_folded_and_unfolded() {
        let given = [SpecialToken::new("<a>"), SpecialToken::with_id("<a>b", 7), SpecialToken::new("[x]")];
        let tokens = Tokens::new(&given, |_| true);
        for text in ["", "<a><a>b[x]<c>", "<a", "é<a>"] {
            assert_eq!(tokens.unfold(&tokens.fold(text)), text);
        }
        let folded = tokens.fold("<a>b<a>");
        let ids: Vec<Option<u32>> = folded.chars().filter_map(|c| tokens.of(c)).map(SpecialToken::id).collect();
        assert_eq!(ids, [Some(7), None]);
        let named = |token: &SpecialToken| is_name(token.text());
        assert_eq!(Tokens::new(&given, named).characters().count(), 1);
    }
}
