//! Watches one statement of a template while it is rendered: what each of its operands writes, and which conditions hold there.
//! For that, a copy of the template writes signs around the operands, which no conversation contains.

use super::expression::quoted;
use super::renders::{MarkedRender, Renders};
use super::tree::{Leaf, LeafKind};
use crate::tags::Sign;

const START: char = '\u{F0000}';
const NEXT: char = '\u{F0001}';
const END: char = '\u{F0002}';

/// One run of the statement.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    /// What each operand wrote.
    pub(super) pieces: Vec<Written>,
    /// For each condition whether it held.
    pub(super) answers: Vec<bool>,
}

/// A text, and which of its bytes the model writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) text: String,
    pub(super) mask: Vec<bool>,
}

/// What comes before and after a statement that is written anew.
pub(super) struct Surroundings {
    /// All before it, with white space that another tag removes.
    pub(super) before: String,
    pub(super) after: String,
    pub(super) open: Sign,
    pub(super) close: Sign,
    /// Whether the statement is a text between tags.
    pub(super) is_text: bool,
}

impl Surroundings {
    pub(super) fn of(source: &str, leaf: &Leaf) -> Self {
        let (start, open, close) = match &leaf.kind {
            LeafKind::Text(written) => (written.start, Sign::None, Sign::None),
            LeafKind::Emit(tag) => (leaf.range.start, tag.open, tag.close),
            LeafKind::Opaque => (leaf.range.start, Sign::None, Sign::None),
        };
        let is_text = matches!(leaf.kind, LeafKind::Text(_));
        let (before, after) = (source[..start].to_owned(), source[leaf.range.end..].to_owned());
        Self { before, after, open, close, is_text }
    }

    /// The source with this in place of the statement.
    pub(super) fn around(&self, text: &str) -> String {
        format!("{}{text}{}", self.before, self.after)
    }

    /// The sign of a block tag in place of the beginning of the statement, so that the same white space stays before it.
    pub(super) fn block_open(&self) -> Sign {
        match self.open {
            Sign::Minus => Sign::Minus,
            _ => keeps_indent(&self.before),
        }
    }

    /// The same for the end.
    pub(super) fn block_close(&self) -> Sign {
        match self.close {
            Sign::Minus => Sign::Minus,
            _ => keeps_break(&self.after),
        }
    }
}

/// `+` where a block tag after this text would remove the white space before it.
pub(super) fn keeps_indent(before: &str) -> Sign {
    let rest = before.trim_end_matches([' ', '\t']);
    let at_line = rest.is_empty() || rest.ends_with('\n');
    if at_line && rest.len() < before.len() { Sign::Plus } else { Sign::None }
}

/// `+` where a block tag before this text would remove its line break.
pub(super) fn keeps_break(after: &str) -> Sign {
    if after.starts_with('\n') { Sign::Plus } else { Sign::None }
}

/// The tags of an expression.
fn emit(open: Sign, expression: &str, close: Sign) -> String {
    let sign = |sign: Sign| if sign == Sign::Minus { "-" } else { "" };
    format!("{{{{{} {expression} {}}}}}", sign(open), sign(close))
}

/// What happens in each run of a statement, for these conversations. Nothing if a condition fails, or changes the text.
pub(super) fn executions(
    trials: &Renders<'_>,
    tried: &[MarkedRender],
    around: &Surroundings,
    pieces: &[String],
    conditions: &[String],
) -> Option<Vec<Execution>> {
    let mut start = quoted(&START.to_string());
    for condition in conditions {
        start.push_str(&format!(" ~ ('1' if ({condition}) else '0')"));
    }
    let mut text = emit(around.open, &start, Sign::None);
    for (at, piece) in pieces.iter().enumerate() {
        let is_last = at + 1 == pieces.len();
        let sign = quoted(&if is_last { END } else { NEXT }.to_string());
        text.push_str(&emit(Sign::None, piece, Sign::None));
        text.push_str(&emit(Sign::None, &sign, if is_last { around.close } else { Sign::None }));
    }
    let template = trials.template_of(&around.around(&text))?;
    let mut found = Vec::new();
    for trial in tried {
        let Some(expected) = &trial.text else { continue };
        let text = template.render(&trial.context).ok()?;
        found.extend(read(&text, expected, &trial.mask, conditions.len())?);
    }
    Some(found)
}

/// Reads a render with signs. Nothing if it is another text without them.
fn read(text: &str, expected: &str, mask: &[bool], conditions: usize) -> Option<Vec<Execution>> {
    let mut found = Vec::new();
    let mut current: Option<Execution> = None;
    let mut at = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, &mut current) {
            (START, _) => {
                let answers = chars.by_ref().take(conditions).map(|c| c == '1').collect();
                current = Some(Execution { pieces: vec![Written::default()], answers });
            }
            (NEXT, Some(execution)) => execution.pieces.push(Written::default()),
            (END, _) => found.extend(current.take()),
            (c, current) => {
                let end = at + c.len_utf8();
                if !expected.get(at..)?.starts_with(c) {
                    return None;
                }
                if let Some(piece) = current.as_mut().and_then(|execution| execution.pieces.last_mut()) {
                    piece.text.push(c);
                    piece.mask.extend(mask.get(at..end)?);
                }
                at = end;
            }
        }
    }
    (at == expected.len()).then_some(found)
}
