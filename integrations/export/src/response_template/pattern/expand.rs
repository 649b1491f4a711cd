//! The texts that a simple pattern expands to. `\s*(?:</a>|</b>)` expands to two texts with white space before them; a name in
//! between is kept as a hole, and so is an id, which is any text of some characters.
//!
//! An import makes markers of them, and the check for vLLM's second implementation asks whether every match begins with one of
//! finitely many texts.

use unjinja_grammar::regex::{Assertion, Item, Named, Node, Set};
use unjinja_spec::REPEATED_NAME;

/// More texts than this are not markers any more.
const MOST: usize = 64;

/// One text that a pattern expands to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// Its parts in order; there are no two texts next to each other.
    pub pieces: Vec<Piece>,
    /// A condition on the text after the marker is part of it.
    pub looks_ahead: bool,
    /// A condition on the text before the marker is part of it.
    pub looks_behind: bool,
}

/// A part of an expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// White space that may be missing.
    Space,
    /// The text of a named group, and the set of its characters if it is one.
    Name(String, Option<Node>),
    /// Some characters of a set.
    Any(Node),
    /// What follows is not some text.
    Not,
}

/// The texts that a pattern expands to, at most 64. `Err` says what has no such texts.
pub(crate) fn expansions(node: &Node) -> Result<Vec<Expansion>, String> {
    let mut done = vec![Expansion::default()];
    add(node, &mut done)?;
    let mut distinct: Vec<Expansion> = Vec::new();
    for mut expansion in done {
        expansion.settle()?;
        if !distinct.contains(&expansion) {
            distinct.push(expansion);
        }
    }
    Ok(distinct)
}

/// Appends to each text what a part expands to.
fn add(node: &Node, done: &mut Vec<Expansion>) -> Result<(), String> {
    let push_all =
        |done: &mut Vec<Expansion>, piece: Piece| done.iter_mut().for_each(|one| one.pieces.push(piece.clone()));
    match node {
        Node::Char(char) => done.iter_mut().for_each(|expansion| expansion.push(*char)),
        Node::Sequence(parts) => {
            for part in parts {
                add(part, done)?;
            }
        }
        Node::Choice(parts) => {
            let before = std::mem::take(done);
            for part in parts {
                let mut branch = before.clone();
                add(part, &mut branch)?;
                extend(done, branch)?;
            }
        }
        Node::Repeat { part, .. } if is_space(part) => push_all(done, Piece::Space),
        Node::Repeat { part, least, most: Some(most), .. } if least == most && *most <= MOST as u32 => {
            for _ in 0..*most {
                add(part, done)?;
            }
        }
        Node::Repeat { part, least: 0, most: Some(1), .. } => {
            let mut with = done.clone();
            add(part, &mut with)?;
            extend(done, with)?;
        }
        Node::Repeat { .. } => match letters(node) {
            Some(set) => push_all(done, Piece::Any(set.clone())),
            None => return Err("a part of it may be repeated, and is no white space".to_owned()),
        },
        Node::Capture(Some(name), part) => {
            if done.iter().any(|expansion| expansion.name().is_some()) {
                return Err("it has two named groups".to_owned());
            }
            push_all(done, Piece::Name(name.clone(), letters(part).cloned()));
        }
        Node::Capture(None, part) | Node::Atomic(part) => add(part, done)?,
        Node::Assertion(Assertion::LastLine | Assertion::End) => {}
        Node::Assertion(_) => return Err("it asks where in the text it is".to_owned()),
        // The name that is the hole is written again.
        Node::Same(name) => {
            for expansion in done {
                match expansion.name() {
                    Some(hole) if hole == name => REPEATED_NAME.chars().for_each(|char| expansion.push(char)),
                    _ => return Err("it refers to a text that is no name in it".to_owned()),
                }
            }
        }
        // Text that must come before or after a marker is not part of it.
        Node::Look { negative: false, ahead, .. } => {
            for expansion in done {
                *if *ahead { &mut expansion.looks_ahead } else { &mut expansion.looks_behind } = true;
            }
        }
        Node::Look { ahead: true, .. } => push_all(done, Piece::Not),
        Node::Look { .. } => return Err("it looks at the text around it".to_owned()),
        Node::IgnoreCase(_) => return Err("upper and lower case are the same in it".to_owned()),
        Node::Set(_) if node.is_space() => push_all(done, Piece::Space),
        Node::Any | Node::Set(_) => return Err("a character of it may be one of many".to_owned()),
    }
    Ok(())
}

fn extend(done: &mut Vec<Expansion>, more: Vec<Expansion>) -> Result<(), String> {
    done.extend(more);
    match done.len() > MOST {
        true => Err(format!("it stands for more than {MOST} texts")),
        false => Ok(()),
    }
}

impl Expansion {
    /// The expansion that is this text.
    pub(crate) fn of_text(text: &str) -> Self {
        Self { pieces: vec![Piece::Text(text.to_owned())], ..Self::default() }
    }

    fn push(&mut self, char: char) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(char),
            _ => self.pieces.push(Piece::Text(char.to_string())),
        }
    }

    /// Takes in conditions on names, and names that are written again. A condition on anything but a name cannot be expressed.
    fn settle(&mut self) -> Result<(), String> {
        let is_name = |piece: Option<&Piece>| matches!(piece, Some(Piece::Name(..)));
        if (0..self.pieces.len()).any(|at| self.pieces[at] == Piece::Not && !is_name(self.pieces.get(at + 1))) {
            return Err("it looks at the text around it".to_owned());
        }
        self.pieces.retain(|piece| *piece != Piece::Not);
        let Some(letters) = self.pieces.iter().find_map(|piece| match piece {
            Piece::Name(_, letters) => letters.clone(),
            _ => None,
        }) else {
            return Ok(());
        };
        self.repeat_names(&letters);
        Ok(())
    }

    /// Takes texts of the characters of a name for that name.
    pub(crate) fn repeat_names(&mut self, letters: &Node) {
        let mut pieces: Vec<Piece> = Vec::new();
        for piece in std::mem::take(&mut self.pieces) {
            let piece =
                if piece == Piece::Any(letters.clone()) { Piece::Text(REPEATED_NAME.to_owned()) } else { piece };
            match (pieces.last_mut(), piece) {
                (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
                (_, piece) => pieces.push(piece),
            }
        }
        self.pieces = pieces;
    }

    /// The named group in it.
    pub(crate) fn name(&self) -> Option<&str> {
        self.pieces.iter().find_map(|piece| if let Piece::Name(name, _) = piece { Some(name.as_str()) } else { None })
    }

    /// Whether it is one text, with white space that may be missing.
    pub(crate) fn is_text(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_) | Piece::Space))
    }

    /// Whether white space may be missing in it.
    pub(crate) fn has_space(&self) -> bool {
        self.pieces.contains(&Piece::Space)
    }

    /// The whole text.
    pub(crate) fn text(&self) -> String {
        text_of(&self.pieces)
    }

    /// The texts between the holes: one more than there are holes.
    pub(crate) fn texts(&self) -> Vec<String> {
        let is_hole = |piece: &Piece| matches!(piece, Piece::Name(..) | Piece::Any(_));
        self.pieces.split(is_hole).map(text_of).collect()
    }

    /// The holes in order.
    pub(crate) fn holes(&self) -> Vec<&Piece> {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Name(..) | Piece::Any(_))).collect()
    }
}

/// The text of some pieces. White space that may be missing is left out at its ends, and a line break inside.
fn text_of(pieces: &[Piece]) -> String {
    let (mut out, mut is_after_space) = (String::new(), false);
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                if is_after_space && !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(text);
                is_after_space = false;
            }
            _ => is_after_space = true,
        }
    }
    out
}

/// Whether a set is that of digits.
pub(crate) fn is_digits(node: &Node) -> bool {
    matches!(node, Node::Set(Set { negated: false, items }) if *items == [Item::Named(Named::Digit)])
}

/// What every match of a part begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// One of finitely many texts.
    Literal,
    /// Nothing, or one of finitely many texts.
    LiteralOrNothing,
    /// Something else.
    Other,
}

/// Whether every match begins with one of finitely many texts, and nothing looks at the text around it. One implementation of
/// vLLM's reader takes no other patterns for markers.
pub(crate) fn begins_with_literal(node: &Node) -> bool {
    let looks_around = |node: &Node| matches!(node, Node::Look { .. } | Node::Same(_) | Node::Atomic(_));
    beginning(node) == Beginning::Literal && !node.any(&looks_around)
}

fn beginning(node: &Node) -> Beginning {
    match node {
        Node::Char(_) => Beginning::Literal,
        Node::Any | Node::Set(_) | Node::Same(_) | Node::Look { .. } | Node::IgnoreCase(_) => Beginning::Other,
        Node::Assertion(_) => Beginning::LiteralOrNothing,
        Node::Sequence(parts) => {
            let first = parts.iter().map(beginning).find(|one| *one != Beginning::LiteralOrNothing);
            first.unwrap_or(Beginning::LiteralOrNothing)
        }
        Node::Choice(parts) => parts.iter().map(beginning).fold(Beginning::Literal, |all, one| match (all, one) {
            (Beginning::Other, _) | (_, Beginning::Other) => Beginning::Other,
            (Beginning::Literal, one) => one,
            (all, _) => all,
        }),
        Node::Repeat { part, least, most, .. } => match (beginning(part), least, most) {
            (Beginning::Literal, 0, Some(_)) => Beginning::LiteralOrNothing,
            (Beginning::Literal, 1.., _) => Beginning::Literal,
            _ => Beginning::Other,
        },
        Node::Capture(_, part) | Node::Atomic(part) => beginning(part),
    }
}

/// Whether a repeated part is white space.
fn is_space(part: &Node) -> bool {
    match part {
        Node::Char(char) => char.is_whitespace(),
        Node::Set(_) => part.is_space(),
        Node::Sequence(parts) => !parts.is_empty() && parts.iter().all(is_space),
        _ => false,
    }
}

/// The set of characters that a part repeats.
pub(crate) fn letters(part: &Node) -> Option<&Node> {
    match part {
        Node::Repeat { part, most: None, .. } => {
            Some(part).filter(|part| matches!(***part, Node::Set(_) | Node::Any)).map(|part| &**part)
        }
        Node::Sequence(parts) if parts.len() == 1 => letters(&parts[0]),
        Node::Capture(None, part) => letters(part),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::*;

    #[test]
    fn a_name_that_is_written_again_is_part_of_the_marker() -> Result<(), String> {
        let after = |pattern: &str| {
            let pattern = Pattern::of_marker(pattern).map_err(|error| error.cause)?;
            let texts = expansions(pattern.node())?;
            Ok::<_, String>(texts.into_iter().filter_map(|text| text.texts().pop()).collect::<Vec<String>>())
        };
        let again = r#"to=(?P<name>[^ ]+)<\|text\|>\s*<run f="(?P=name)">"#;
        assert_eq!(after(again)?, ["<|text|>\n<run f=\"${name}\">"]);
        assert_eq!(after(r#"to=(?P<name>[^ ]+)<run f="[^ ]+">"#)?, ["<run f=\"${name}\">"]);
        assert!(after("(?P<a>x+)<(?P<b>y+)>(?P=a)").is_err());
        Ok(())
    }

    #[test]
    fn conditions_and_ids_are_told_apart() -> Result<(), String> {
        let of = |pattern: &str| expansions(Pattern::of_marker(pattern).map_err(|error| error.cause)?.node());
        let ids = of(r"<c>\s*f\.(?P<name>[a-z]+?):\d+<a>")?;
        let [id] = ids.as_slice() else { return Err("not one text".to_owned()) };
        assert_eq!(id.texts(), ["<c>\nf.", ":", "<a>"]);
        assert!(matches!(id.holes()[..], [Piece::Name(..), Piece::Any(digits)] if is_digits(digits)));
        let two = of(r"(?:<all>\[|(?<=\)),\s*)(?P<name>\w+)\(")?;
        let found: Vec<(bool, String)> = two.iter().map(|one| (one.looks_behind, one.texts()[0].clone())).collect();
        assert_eq!(found, [(false, "<all>[".to_owned()), (true, ",".to_owned())]);
        // Only a name can be said not to be something.
        assert!(of("to=(?!user)(?P<name>[a-z]+)").is_ok() && of("(?!user)to=").is_err());
        Ok(())
    }
}
