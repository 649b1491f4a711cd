//! Takes the pattern of an argument apart: the texts around its groups `key` and `value`.

use unjinja_spec::Arguments;

use super::super::pattern::{Expansion, Node, Piece, expansions, letters};

/// What may be around a value.
const CDATA: [&str; 2] = ["<![CDATA[", "]]>"];

/// Takes a tag pattern apart. What is looked for after the tag only says where a value ends.
pub(super) fn arguments(node: &Node) -> Result<Arguments, String> {
    let Node::Sequence(parts) = node else { return Err("it is no sequence of texts and groups".to_owned()) };
    let (mut out, mut tag) = (Arguments::default(), Tag::default());
    for part in parts {
        match part {
            Node::Capture(Some(name), _) if name == "key" && tag.seen == 0 => tag.seen = 1,
            Node::Capture(Some(name), _) if name == "value" && tag.seen == 1 => tag.seen = 2,
            Node::Same(name) if name == "key" && tag.seen == 2 && tag.repeats.is_none() => {
                tag.repeats = Some(std::mem::take(&mut tag.segments[2]));
            }
            // The type of the value, which is any word.
            Node::Repeat { .. } if tag.seen == 1 && tag.kind.is_none() && is_word(part) => {
                tag.kind = Some(std::mem::take(&mut tag.segments[1]));
            }
            Node::Look { ahead: true, negative: false, part } if tag.seen == 2 => tag.next = Some((**part).clone()),
            part => tag.add(part)?,
        }
    }
    if tag.seen < 2 {
        return Err("it needs the groups `key` and `value`".to_owned());
    }
    out.cdata = tag.is_cdata;
    out.name_prefix = tag.text(0);
    let between = tag.text(1);
    match tag.kind.take() {
        Some(before) => (out.type_prefix, out.type_suffix) = (text_of(&before), between),
        None => out.name_suffix = between,
    }
    if let Some(other) = tag.other.take() {
        out.other_name_suffix = other;
    }
    if let Some(separator) = tag.next.as_ref().and_then(|next| separator(next, &out.name_prefix)) {
        out.separator = separator;
    }
    out.value_prefix = if tag.space_before { "\n".to_owned() } else { String::new() };
    let (space, after) = (if tag.space_after { "\n" } else { "" }, tag.text(2));
    match tag.repeats.take() {
        Some(before) => {
            out.close_prefix = format!("{space}{}", text_of(&before));
            out.close_suffix = after;
        }
        None if !after.is_empty() => out.value_suffix = format!("{space}{after}"),
        None if tag.next.as_ref().is_some_and(ends_line) => out.value_suffix = "\n".to_owned(),
        None => return Err("it needs a text after the value".to_owned()),
    }
    Ok(out)
}

/// The texts of an argument until here.
#[derive(Default)]
struct Tag {
    /// Before the name, between name and value, and after the value.
    segments: [Vec<Piece>; 3],
    /// How many of the two groups were seen.
    seen: usize,
    /// The text before the type of the value.
    kind: Option<Vec<Piece>>,
    /// Another text between name and value.
    other: Option<String>,
    /// The text between the value and the name that is repeated.
    repeats: Option<Vec<Piece>>,
    /// What must follow.
    next: Option<Node>,
    space_before: bool,
    space_after: bool,
    is_cdata: bool,
}

impl Tag {
    fn text(&self, segment: usize) -> String {
        text_of(&self.segments[segment])
    }

    fn add(&mut self, part: &Node) -> Result<(), String> {
        let texts = expansions(part)?;
        if texts.iter().any(|text| !text.is_text()) {
            return Err("a part of it may be repeated, and is no white space".to_owned());
        }
        let segment = &mut self.segments[self.seen];
        match texts.as_slice() {
            [one] => {
                let is_layout = one.text().chars().all(|char| char == '\n');
                self.space_before |= is_layout && self.seen == 1;
                self.space_after |= is_layout && self.seen == 2 && segment.is_empty();
                match is_layout {
                    true => segment.push(Piece::Space),
                    false => {
                        // White space inside a value's marker is not at the value's start.
                        self.space_before &= self.seen != 1;
                        segment.extend(one.pieces.iter().cloned());
                    }
                }
            }
            [without, one] if without.text().is_empty() && CDATA.contains(&one.text().as_str()) => self.is_cdata = true,
            // The text after a name depends on the value.
            [one, other] if self.seen == 1 && self.other.is_none() => {
                self.other = Some(format!("{}{}", text_of(segment), other.text()));
                segment.extend(one.pieces.iter().cloned());
            }
            _ => return Err("a part of it is one of several texts".to_owned()),
        }
        Ok(())
    }
}

fn text_of(pieces: &[Piece]) -> String {
    Expansion { pieces: pieces.to_vec(), ..Expansion::default() }.text()
}

fn is_word(part: &Node) -> bool {
    letters(part).is_some_and(|set| matches!(set, Node::Set(_)) && !set.is_space())
}

/// The text between an argument and the prefix of the next one, if what must follow begins with one.
fn separator(next: &Node, prefix: &str) -> Option<String> {
    let first = if let Node::Choice(parts) = next { parts.first()? } else { next };
    let texts = expansions(first).ok()?;
    let [one] = texts.as_slice() else { return None };
    let text = one.texts().into_iter().next()?;
    let separator = text.trim().strip_suffix(prefix.trim())?.trim();
    (!prefix.trim().is_empty() && !separator.is_empty()).then(|| separator.to_owned())
}

/// Whether a part begins with the end of a line.
fn ends_line(part: &Node) -> bool {
    match part {
        Node::Char(char) => *char == '\n',
        Node::Sequence(parts) | Node::Choice(parts) => parts.first().is_some_and(ends_line),
        _ => false,
    }
}
