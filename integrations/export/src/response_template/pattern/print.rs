//! Writes a pattern for the library that searches: the pattern itself, and the pattern of texts that could still become a
//! match of it.
//!
//! A reader that gets its text in pieces must know whether the end of what it has could be the start of a marker. Python's
//! module `regex` can be asked for that; the library here cannot. So the question is asked as a second pattern: one that
//! matches from a place where a match could begin to the end of the text, if the text ends inside a match. A match ends inside
//! `abc` after nothing, `a` or `ab`, which is `(?:\z|a\z|ab\z)`; inside a repetition, after some complete repetitions and a
//! part of one more.

use unjinja_grammar::regex::{Assertion, Greed, Item, Named, Node, Set};

/// The pattern, with its named groups.
pub(crate) fn pattern(node: &Node) -> String {
    let mut out = String::new();
    write(node, true, &mut out);
    out
}

/// The pattern of texts that end inside a match; `None` if a match needs no character.
pub(crate) fn beginning(node: &Node) -> Option<String> {
    match node {
        Node::Char(_) | Node::Any | Node::Set(_) => Some("\\z".to_owned()),
        // Markers do not refer to groups, and only of markers it is asked whether they begin.
        Node::Assertion(_) | Node::Same(_) | Node::Look { ahead: false, .. } | Node::Look { negative: true, .. } => {
            None
        }
        Node::Sequence(parts) => {
            // Side by side and not one in the other: libraries limit how deep groups may be nested.
            let (mut before, mut inside) = (String::new(), Vec::new());
            for part in parts {
                inside.extend(beginning(part).map(|beginning| format!("{before}{beginning}")));
                match part {
                    Node::Choice(_) => write_in(part, "(?:", false, &mut before),
                    _ => write(part, false, &mut before),
                }
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
            write(&before, false, &mut text);
            Some(text + &inside)
        }
        // What must follow may be cut off too.
        Node::Capture(_, part) | Node::Atomic(part) | Node::Look { part, .. } => beginning(part),
        Node::IgnoreCase(part) => Some(format!("(?i:{})", beginning(part)?)),
    }
}

fn write(node: &Node, with_names: bool, out: &mut String) {
    match node {
        Node::Char(char) if char.is_ascii_alphanumeric() || " \"'<>/=_:,;".contains(*char) => out.push(*char),
        Node::Char(char) => out.push_str(&number(*char)),
        Node::Any => out.push_str("(?s:.)"),
        Node::Set(set) => write_set(set, out),
        Node::Same(name) => out.push_str(&format!("(?P={name})")),
        Node::Assertion(Assertion::Start) => out.push_str("\\A"),
        Node::Assertion(Assertion::LastLine) => out.push_str("(?=\\n?\\z)"),
        Node::Assertion(Assertion::End) => out.push_str("\\z"),
        Node::Assertion(Assertion::WordEdge) => out.push_str("\\b"),
        Node::Assertion(Assertion::NoWordEdge) => out.push_str("\\B"),
        Node::Sequence(parts) => {
            for part in parts {
                match part {
                    Node::Choice(_) => write_in(part, "(?:", with_names, out),
                    _ => write(part, with_names, out),
                }
            }
        }
        Node::Choice(parts) => {
            for (number, part) in parts.iter().enumerate() {
                out.push_str(if number == 0 { "" } else { "|" });
                write(part, with_names, out);
            }
        }
        Node::Repeat { part, least, most, greed } => {
            match **part {
                Node::Char(_) | Node::Any | Node::Set(_) => write(part, with_names, out),
                _ => write_in(part, "(?:", with_names, out),
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
        Node::Capture(Some(name), part) if with_names => write_in(part, &format!("(?P<{name}>"), with_names, out),
        // Groups without a name reach no message, so they need not capture.
        Node::Capture(_, part) => write_in(part, "(?:", with_names, out),
        Node::Atomic(part) => write_in(part, "(?>", with_names, out),
        Node::Look { ahead, negative, part } => {
            let open = match (ahead, negative) {
                (true, false) => "(?=",
                (true, true) => "(?!",
                (false, false) => "(?<=",
                (false, true) => "(?<!",
            };
            write_in(part, open, with_names, out);
        }
        Node::IgnoreCase(part) => write_in(part, "(?i:", with_names, out),
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

fn write_in(node: &Node, open: &str, with_names: bool, out: &mut String) {
    out.push_str(open);
    write(node, with_names, out);
    out.push(')');
}
