//! Writes a pattern for the library that searches: the pattern itself, and the pattern of texts that could still become a
//! match of it.
//!
//! A reader that gets its text in pieces must know whether the end of what it has could be the start of a marker. Python's
//! module `regex` can be asked for that; the library here cannot. So the question is asked as a second pattern: one that
//! matches from a place where a match could begin to the end of the text, if the text ends inside a match. A match ends inside
//! `abc` after nothing, `a` or `ab`, which is `(?:\z|a\z|ab\z)`; inside a repetition, after some complete repetitions and a
//! part of one more; inside a second `(?P=x)` of a group `(?P<x>a+)`, after the first letters of that group, which is
//! `(?P<x>a*)a+(?P=x)\z`.

use unjinja_grammar::regex::{Assertion, Greed, Item, Named, Node, Set};

/// Which groups are written with their names.
#[derive(Clone, Copy)]
enum Names {
    None,
    /// All, under their own names.
    Own,
    /// All, under names with a number, because a pattern may have each name only once.
    Numbered(usize),
}

/// The pattern, with its named groups.
pub(crate) fn pattern(node: &Node) -> String {
    let mut out = String::new();
    write(node, Names::Own, &mut out);
    out
}

/// Whether [`beginning`] knows what begins the second text of each group that is referred to: the group is one set of
/// characters, repeated, and neither it nor the reference is in another group.
pub(crate) fn can_refer(node: &Node) -> bool {
    let is_reference = |node: &Node| matches!(node, Node::Same(_));
    let Node::Sequence(parts) = node else { return !node.any(&is_reference) };
    parts.iter().enumerate().all(|(at, part)| match part {
        Node::Same(name) => letters_of(&parts[..at], name).is_some(),
        other => !other.any(&is_reference),
    })
}

/// The set of characters that a group repeats, and the part that is the group.
fn letters_of<'p>(parts: &'p [Node], name: &str) -> Option<(usize, &'p Node)> {
    let is_group = |part: &Node| matches!(part, Node::Capture(Some(own), _) if own == name);
    let at = parts.iter().position(is_group)?;
    let Node::Capture(_, group) = &parts[at] else { return None };
    let Node::Repeat { part, least: 0 | 1, most: None, greed: Greed::Greedy | Greed::Lazy } = &**group else {
        return None;
    };
    matches!(**part, Node::Char(_) | Node::Any | Node::Set(_)).then_some((at, &**part))
}

/// The pattern of texts that end inside the second text of a group: before it, the group is divided into the letters that were
/// written again and those that were not.
fn begun_again(before: &[Node], name: &str, number: usize) -> Option<String> {
    let (group, letters) = letters_of(before, name)?;
    let names = Names::Numbered(number);
    let repeated =
        |least: u32| Node::Repeat { part: Box::new(letters.clone()), least, most: None, greed: Greed::Greedy };
    let (written, missing) = (Node::Capture(Some(name.to_owned()), Box::new(repeated(0))), repeated(1));
    let divided =
        [&before[..group], &[written, missing], &before[group + 1..], &[Node::Same(name.to_owned())]].concat();
    let mut out = String::new();
    write(&Node::Sequence(divided), names, &mut out);
    Some(out + "\\z")
}

/// The pattern of texts that end inside a match; `None` if a match needs no character.
pub(crate) fn beginning(node: &Node) -> Option<String> {
    match node {
        Node::Char(_) | Node::Any | Node::Set(_) => Some("\\z".to_owned()),
        // A reference is read with the sequence that it is in.
        Node::Assertion(_) | Node::Same(_) | Node::Look { ahead: false, .. } | Node::Look { negative: true, .. } => {
            None
        }
        Node::Sequence(parts) => {
            // Side by side and not one in the other: libraries limit how deep groups may be nested.
            let mut inside = Vec::new();
            let refers = parts.iter().any(|part| matches!(part, Node::Same(_)));
            for (number, part) in parts.iter().enumerate() {
                inside.extend(match part {
                    Node::Same(name) => begun_again(&parts[..number], name, number),
                    part => beginning(part).map(|beginning| {
                        let mut text = String::new();
                        let names = if refers { Names::Numbered(number) } else { Names::None };
                        write_all(&parts[..number], names, &mut text);
                        text + &beginning
                    }),
                });
            }
            (!inside.is_empty()).then(|| format!("(?:{})", inside.join("|")))
        }
        Node::Choice(parts) => {
            let inside: Vec<String> = parts.iter().filter_map(beginning).collect();
            (!inside.is_empty()).then(|| format!("(?:{})", inside.join("|")))
        }
        Node::Repeat { part, most, .. } => {
            let inside = beginning(part)?;
            let before = Node::Repeat {
                part: part.clone(),
                least: 0,
                most: match most {
                    Some(0) => return None,
                    Some(most) => Some(most - 1),
                    None => None,
                },
                greed: Greed::Greedy,
            };
            let mut text = String::new();
            write(&before, Names::None, &mut text);
            Some(text + &inside)
        }
        // What must follow may be cut off too.
        Node::Capture(_, part) | Node::Atomic(part) | Node::Look { part, .. } => beginning(part),
        Node::IgnoreCase(part) => Some(format!("(?i:{})", beginning(part)?)),
    }
}

fn write(node: &Node, names: Names, out: &mut String) {
    match node {
        Node::Char(char) if char.is_ascii_alphanumeric() || " \"'<>/=_:,;".contains(*char) => out.push(*char),
        Node::Char(char) => out.push_str(&number(*char)),
        Node::Any => out.push_str("(?s:.)"),
        Node::Set(set) => write_set(set, out),
        Node::Same(name) => out.push_str(&format!("(?P={})", names.of(name).unwrap_or_default())),
        Node::Assertion(Assertion::Start) => out.push_str("\\A"),
        Node::Assertion(Assertion::LastLine) => out.push_str("(?=\\n?\\z)"),
        Node::Assertion(Assertion::End) => out.push_str("\\z"),
        Node::Assertion(Assertion::WordEdge) => out.push_str("\\b"),
        Node::Assertion(Assertion::NoWordEdge) => out.push_str("\\B"),
        Node::Sequence(parts) => write_all(parts, names, out),
        Node::Choice(parts) => {
            for (number, part) in parts.iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "|" });
                write(part, names, out);
            }
        }
        Node::Repeat { part, least, most, greed } => {
            match **part {
                Node::Char(_) | Node::Any | Node::Set(_) => write(part, names, out),
                _ => write_in(part, "(?:", names, out),
            }
            let count = match (least, most) {
                (0, None) => "*".to_owned(),
                (1, None) => "+".to_owned(),
                (0, Some(1)) => "?".to_owned(),
                (least, None) => format!("{{{least},}}"),
                (least, Some(most)) => format!("{{{least},{most}}}"),
            };
            out.push_str(&count);
            out.push_str(match greed {
                Greed::Greedy => "",
                Greed::Lazy => "?",
                Greed::Possessive => "+",
            });
        }
        Node::Capture(name, part) => match name.as_ref().and_then(|name| names.of(name)) {
            Some(name) => write_in(part, &format!("(?P<{name}>"), names, out),
            // Groups without a name reach no message, so they need not capture.
            None => write_in(part, "(?:", names, out),
        },
        Node::Atomic(part) => write_in(part, "(?>", names, out),
        Node::Look { ahead, negative, part } => {
            let open = match (ahead, negative) {
                (true, false) => "(?=",
                (true, true) => "(?!",
                (false, false) => "(?<=",
                (false, true) => "(?<!",
            };
            write_in(part, open, names, out);
        }
        Node::IgnoreCase(part) => write_in(part, "(?i:", names, out),
    }
}

/// Writes parts that follow each other.
fn write_all(parts: &[Node], names: Names, out: &mut String) {
    for part in parts {
        match part {
            Node::Choice(_) => write_in(part, "(?:", names, out),
            _ => write(part, names, out),
        }
    }
}

impl Names {
    /// The name under which a group is written.
    fn of(self, name: &str) -> Option<String> {
        match self {
            Names::None => None,
            Names::Own => Some(name.to_owned()),
            Names::Numbered(number) => Some(format!("{name}_{number}")),
        }
    }
}

/// A character as a number, so that it means nothing else to the library.
fn number(char: char) -> String {
    format!("\\x{{{:x}}}", u32::from(char))
}

fn write_set(set: &Set, out: &mut String) {
    out.push_str(if set.negated { "[^" } else { "[" });
    for item in &set.items {
        match item {
            Item::Char(char) => out.push_str(&number(*char)),
            Item::Range(first, last) => out.push_str(&format!("{}-{}", number(*first), number(*last))),
            Item::Named(Named::Digit) => out.push_str("\\d"),
            Item::Named(Named::Space) => out.push_str("\\s"),
            Item::Named(Named::Word) => out.push_str("\\w"),
            Item::NotNamed(Named::Digit) => out.push_str("\\D"),
            Item::NotNamed(Named::Space) => out.push_str("\\S"),
            Item::NotNamed(Named::Word) => out.push_str("\\W"),
            Item::Property(name) => out.push_str(&format!("\\p{{{name}}}")),
            Item::NotProperty(name) => out.push_str(&format!("\\P{{{name}}}")),
        }
    }
    out.push(']');
}

fn write_in(node: &Node, open: &str, names: Names, out: &mut String) {
    out.push_str(open);
    write(node, names, out);
    out.push(')');
}
