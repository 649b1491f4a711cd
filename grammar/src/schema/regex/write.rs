//! Writes a regular expression as rules for the inside of a JSON string.

use super::super::json;
use super::node::{Node, Why};
use crate::builder::{Builder, MAX_COUNT};
use crate::expr::{Class, Expr, ExprKind};
use crate::syntax::Syntax;

impl Node {
    pub(super) fn write(&self, builder: &mut Builder, hint: &str) -> Result<Expr, Why> {
        let mut each =
            |nodes: &[Self]| nodes.iter().map(|node| node.write(builder, hint)).collect::<Result<Vec<_>, _>>();
        Ok(match self {
            Self::Class(class) => encoded(builder, class),
            Self::Start | Self::End => Expr::EMPTY,
            Self::Sequence(nodes) => {
                let parts = each(nodes)?;
                builder.sequence(&parts)
            }
            Self::Choice(nodes) => {
                let alternatives = each(nodes)?;
                builder.choice(&alternatives)
            }
            Self::Repeat(body, ..) if body.length().1 == Some(0) => Expr::EMPTY,
            Self::Repeat(body, _, max) if body.length().0 == 0 => {
                // llama.cpp reports the repetition of an expression that can be empty as left recursion.
                let body = body.without_empty().ok_or("a part that can be empty is repeated")?;
                Self::Repeat(Box::new(body), 0, *max).write(builder, hint)?
            }
            Self::Repeat(body, min, max) => {
                let max = max.filter(|max| max.saturating_sub(*min) <= MAX_COUNT);
                let body = body.write(builder, hint)?;
                let body = match builder.kind(body) {
                    ExprKind::Class(_) | ExprKind::Rule(_) | ExprKind::Text(_) => body,
                    _ => builder.rule(&format!("{hint}-part"), body).into(),
                };
                builder.repeat(body, *min, max)
            }
        })
    }

    /// The same expression without the empty text, if that is simple to express.
    fn without_empty(&self) -> Option<Self> {
        /// The maximum number of parts that may be empty and are treated one by one.
        const TOLD_APART: usize = 4;
        match self {
            Self::Start | Self::End => None,
            node if node.length().0 > 0 => Some(node.clone()),
            Self::Repeat(body, _, max) => {
                let body = body.without_empty()?;
                Some(Self::Repeat(Box::new(body), 1, *max))
            }
            Self::Choice(nodes) => {
                let nodes: Vec<Self> = nodes.iter().filter_map(Self::without_empty).collect();
                (!nodes.is_empty()).then_some(Self::Choice(nodes))
            }
            Self::Sequence(nodes) => {
                // The first part that is not empty, followed by anything of the later ones.
                let nodes: Vec<&Self> = nodes.iter().filter(|node| node.length().1 != Some(0)).collect();
                (nodes.len() <= TOLD_APART).then_some(())?;
                let first = |at: usize| {
                    let rest = nodes[at + 1..].iter().map(|&node| node.clone());
                    Some(Self::Sequence([nodes[at].without_empty()?].into_iter().chain(rest).collect()))
                };
                let alternatives: Vec<Self> = (0..nodes.len()).filter_map(first).collect();
                (!alternatives.is_empty()).then_some(Self::Choice(alternatives))
            }
            Self::Class(_) => Some(self.clone()),
        }
    }
}

/// One code point of a class in a JSON string.
fn encoded(builder: &mut Builder, class: &Class) -> Expr {
    let has = |first: char, last: char| class.positive().iter().any(|&(from, to)| from <= first && last <= to);
    if has('\0', char::MAX) {
        return json::character(builder).into();
    }
    let mut alternatives = Vec::new();
    let plain = class.intersect(&json::unescaped(builder));
    if !plain.is_empty() {
        // Uses the shorter of the two ways to write the class.
        let others = Class::ranges(&Class::ranges(&plain.positive()).negate().positive()).negate();
        let shorter = if others.as_ranges().len() < plain.as_ranges().len() { others } else { plain };
        alternatives.push(builder.class(shorter));
    }
    if let Syntax::Raw { .. } = builder.syntax() {
        return builder.choice(&alternatives);
    }
    let mut escapes: Vec<Expr> = Vec::new();
    let short: Vec<char> =
        json::SHORT_ESCAPES.iter().filter(|(means, _)| class.contains(*means)).map(|short| short.1).collect();
    if !short.is_empty() {
        escapes.push(builder.class(Class::of(&short)));
    }
    if has('\0', '\u{1f}') {
        escapes.push(builder.sequence(&[
            builder.text("u00"),
            builder.class(Class::of(&['0', '1'])),
            json::hex(builder),
        ]));
    } else {
        for code in (0..0x20_u8).filter(|&code| class.contains(char::from(code))) {
            let last = char::from_digit(u32::from(code & 15), 16).unwrap_or('0');
            let last = Class::of(&[last, last.to_ascii_uppercase()]);
            escapes.push(builder.sequence(&[builder.text(format!("u00{}", code >> 4)), builder.class(last)]));
        }
    }
    // The class `.` lacks two line ends in this range. Accepting their escapes does no harm.
    if has('\u{80}', '\u{2027}') && has('\u{202a}', char::MAX) {
        escapes.push(json::foreign_escape(builder).into());
    }
    if !escapes.is_empty() {
        alternatives.push(builder.sequence(&[builder.text("\\"), builder.choice(&escapes)]));
    }
    let expr = builder.choice(&alternatives);
    if let ExprKind::Class(_) = builder.kind(expr) { expr } else { builder.rule("class", expr).into() }
}
