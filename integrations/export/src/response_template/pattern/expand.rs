//! The texts that a simple pattern expands to. `\s*(?:</a>|</b>)` expands to two texts with white space before them; a name in
//! between is kept as a hole.
//!
//! An import makes markers of them, and the check for vLLM's second implementation asks whether every match begins with one of
//! finitely many texts.

use unjinja_grammar::regex::{Assertion, Node};
use unjinja_spec::REPEATED_NAME;

/// More texts than this are not markers any more.
const MOST: usize = 16;

/// One text that a pattern expands to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// The text before the hole; the whole text without a hole.
    pub before: String,
    /// The name of the group that is the hole, and the text after it.
    pub hole: Option<(String, String)>,
    /// White space is allowed where the text has none: before, inside or after it.
    pub has_optional_space: bool,
    /// White space is allowed at the end of the text that is known until here.
    pub(crate) is_after_space: bool,
}

/// The texts that a pattern expands to, at most 16, with at most one named hole in each. White space that may be missing is
/// left out at the ends of texts, and a newline inside them. `Err` says what has no such texts.
pub(crate) fn expansions(node: &Node) -> Result<Vec<Expansion>, String> {
    let mut done = vec![Expansion::default()];
    add(node, &mut done)?;
    let mut distinct: Vec<Expansion> = Vec::new();
    for expansion in done {
        if !distinct.contains(&expansion) {
            distinct.push(expansion);
        }
    }
    Ok(distinct)
}

/// Appends to each text what a part expands to.
fn add(node: &Node, done: &mut Vec<Expansion>) -> Result<(), String> {
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
                done.extend(branch);
                if done.len() > MOST {
                    return Err(format!("it stands for more than {MOST} texts"));
                }
            }
        }
        Node::Repeat { part, least, most, .. } => {
            if is_space(part) {
                done.iter_mut().for_each(Expansion::push_space);
                return Ok(());
            }
            match (least, most) {
                (_, Some(most)) if least == most && *most <= MOST as u32 => {
                    for _ in 0..*most {
                        add(part, done)?;
                    }
                }
                (0, Some(1)) => {
                    let mut with = done.clone();
                    add(part, &mut with)?;
                    done.extend(with);
                    if done.len() > MOST {
                        return Err(format!("it stands for more than {MOST} texts"));
                    }
                }
                _ => return Err("a part of it may be repeated, and is no white space".to_owned()),
            }
        }
        Node::Capture(Some(name), _) => {
            for expansion in done {
                if expansion.hole.is_some() {
                    return Err("it has two named groups".to_owned());
                }
                expansion.hole = Some((name.clone(), String::new()));
                expansion.is_after_space = false;
            }
        }
        Node::Capture(None, part) | Node::Atomic(part) => add(part, done)?,
        Node::Assertion(Assertion::LastLine | Assertion::End) => {}
        Node::Assertion(_) => return Err("it asks where in the text it is".to_owned()),
        // The name that is the hole is written again.
        Node::Same(name) => {
            for expansion in done {
                match &expansion.hole {
                    Some((hole, _)) if hole == name => REPEATED_NAME.chars().for_each(|char| expansion.push(char)),
                    _ => return Err("it refers to a group".to_owned()),
                }
            }
        }
        // Text that must come before or after a marker is not part of it.
        Node::Look { negative: false, .. } => {}
        Node::Look { .. } => return Err("it looks at the text around it".to_owned()),
        Node::IgnoreCase(_) => return Err("upper and lower case are the same in it".to_owned()),
        Node::Set(_) if node.is_space() => done.iter_mut().for_each(Expansion::push_space),
        Node::Any | Node::Set(_) => return Err("a character of it may be one of many".to_owned()),
    }
    Ok(())
}

impl Expansion {
    fn push(&mut self, char: char) {
        let text = match &mut self.hole {
            Some((_, after)) => after,
            None => &mut self.before,
        };
        if std::mem::take(&mut self.is_after_space) && !text.is_empty() {
            text.push('\n');
        }
        text.push(char);
    }

    fn push_space(&mut self) {
        (self.has_optional_space, self.is_after_space) = (true, true);
    }
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
        Node::Sequence(parts) => parts.len() == 1 && is_space(&parts[0]),
        _ => false,
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
            Ok::<_, String>(texts.into_iter().filter_map(|text| Some(text.hole?.1)).collect::<Vec<String>>())
        };
        let again = r#"to=(?P<name>[^ ]+)<\|text\|>\s*<run f="(?P=name)">"#;
        assert_eq!(after(again)?, ["<|text|>\n<run f=\"${name}\">"]);
        assert!(after("(?P<a>x+)<(?P<b>y+)>(?P=a)").is_err());
        Ok(())
    }
}
