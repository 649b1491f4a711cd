//! A plan as text for people: one line for each part, with literals and holes.

use std::fmt::Write as _;

use unjinja_runtime::Channel;
use unjinja_runtime::abi::Hole;

use super::{Expr, PlanPart};

/// A plan as text. Literals are in quotes, with `{name}` where a marker repeats a name; holes are in braces; `?` is once or not at
/// all, `*` any number of times, `|` one of several.
pub(crate) fn notation(turn: &Expr) -> String {
    let mut parts = Parts { lines: vec![("turn".to_owned(), None)], known: Vec::new() };
    let first = parts.written(turn, Level::Choice);
    parts.lines[0].1 = Some(first);
    let width = parts.lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, line) in &parts.lines {
        let _ = writeln!(text, "{name:width$} = {}", line.as_deref().unwrap_or_default());
    }
    text
}

/// How tightly the text around an expression holds together.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Choice,
    Sequence,
    Single,
}

struct Parts<'e> {
    /// The lines, each with the name of its part; the text comes once it is written.
    lines: Vec<(String, Option<String>)>,
    /// The parts that have a line.
    known: Vec<(&'e Expr, String)>,
}

impl<'e> Parts<'e> {
    fn written(&mut self, expr: &'e Expr, level: Level) -> String {
        match expr {
            Expr::Literal(literal) => {
                let name = literal.repeats.map_or("", |_| "{name}");
                let (begin, end) = literal.core.split_at(literal.up_to_name().len());
                format!(
                    "\"{}{}{name}{}{}\"",
                    escaped(&literal.before),
                    escaped(begin),
                    escaped(end),
                    escaped(&literal.after)
                )
            }
            Expr::Hole(hole) => format!("{{{}}}", what(&hole.reads)),
            Expr::Action(_) | Expr::Tolerated(..) => String::new(),
            Expr::Sequence(items) => {
                let items: Vec<String> = items.iter().map(|item| self.written(item, Level::Sequence)).collect();
                joined(items, " ", level > Level::Sequence)
            }
            Expr::Choice(items) => {
                let items: Vec<String> = items.iter().map(|item| self.written(item, Level::Sequence)).collect();
                joined(items, " | ", level > Level::Choice)
            }
            Expr::Repeat(item) => suffixed(self.written(item, Level::Single), "*"),
            Expr::Option(item) => suffixed(self.written(item, Level::Single), "?"),
            Expr::Part(part, item) => match word(*part) {
                Some(word) => self.named(word, item),
                None => self.written(item, level),
            },
        }
    }

    /// The name of a part. A part that is met first gets a line of its own.
    fn named(&mut self, word: &str, item: &'e Expr) -> String {
        if let Some((_, name)) = self.known.iter().find(|(known, _)| *known == item) {
            return name.clone();
        }
        let same =
            self.lines.iter().filter(|(name, _)| name.trim_end_matches(|c: char| c.is_ascii_digit()) == word).count();
        let name = if same == 0 { word.to_owned() } else { format!("{word}{}", same + 1) };
        let at = self.lines.len();
        self.lines.push((name.clone(), None));
        let line = self.written(item, Level::Choice);
        if line.is_empty() {
            self.lines.remove(at);
            return String::new();
        }
        self.lines[at].1 = Some(line);
        self.known.push((item, name.clone()));
        name
    }
}

fn joined(items: Vec<String>, between: &str, brackets: bool) -> String {
    let mut items: Vec<String> = items.into_iter().filter(|item| !item.is_empty()).collect();
    items.dedup();
    // Two literals in a row are one text.
    let text = items.join(between);
    if brackets && items.len() > 1 { format!("({text})") } else { text }
}

fn suffixed(item: String, suffix: &str) -> String {
    if item.is_empty() { item } else { item + suffix }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

/// The word for a part that has a line of its own.
fn word(part: PlanPart) -> Option<&'static str> {
    Some(match part {
        PlanPart::Calls => "calls",
        PlanPart::Opened => "call",
        PlanPart::Named => "function",
        PlanPart::Rest => "body",
        PlanPart::Argument => "argument",
        PlanPart::AfterKey => "value",
        _ => return None,
    })
}

/// The word for a hole.
fn what(hole: &Hole) -> &'static str {
    match hole {
        Hole::Text(Channel::Content) => "content",
        Hole::Text(Channel::Reasoning) => "reasoning",
        Hole::Text(Channel::Unparsed) => "unparsed",
        Hole::Name => "name",
        Hole::Id => "id",
        Hole::ArgumentName => "key",
        Hole::Value => "value: text",
        Hole::Literal(_) => "value: literal",
        Hole::Json => "arguments: JSON",
        Hole::Python => "arguments: Python",
        Hole::Object(shape) if shape.python => "call: Python",
        Hole::Object(_) => "call: JSON",
    }
}
