//! Writes a statement anew, in parts that the model writes always or never.

use super::conditions::{askable, candidates};
use super::expression::{conditional, literal, operands, operator_before, quoted, unwrapped};
use super::probe::{Surroundings, executions};
use super::renders::{MarkedRender, Renders};
use super::settle::{Operand, Segment, Settling};
use super::tree::{Leaf, LeafKind};
use crate::tags::Sign;

/// The variable that keeps a text whose parts are written one after the other.
const KEPT: &str = "written_text";

/// The source with this statement in parts; nothing if it cannot be taken apart.
pub(super) fn rewritten(trials: &Renders<'_>, tried: &[MarkedRender], source: &str, leaf: &Leaf) -> Option<String> {
    let around = Surroundings::of(source, leaf);
    let expression = match &leaf.kind {
        LeafKind::Text(written) => quoted(&source[written.clone()]),
        LeafKind::Emit(tag) => {
            let text = tag.content(source);
            unwrapped(text).unwrap_or(text).to_owned()
        }
        LeafKind::Opaque => return None,
    };
    if let Some((yes, test, no)) = conditional(&expression) {
        let emit = |text: &str| vec![Segment::Emit(text.to_owned())];
        let segment = Segment::If(test.to_owned(), emit(yes), no.map(emit).unwrap_or_default());
        return Some(around.around(&written(&[segment], &around)));
    }
    let found: Vec<Operand> = operands(&expression)
        .into_iter()
        .map(|range| Operand {
            text: expression[range.clone()].to_owned(),
            operator: operator_before(&expression, &range).unwrap_or('~'),
        })
        .collect();
    let pieces: Vec<String> = found.iter().map(|operand| operand.text.clone()).collect();
    let settle = |conditions: Vec<String>| {
        let runs = executions(trials, tried, &around, &pieces, &conditions)?;
        Settling { operands: found.clone(), runs, conditions }.settle()
    };
    // First without conditions, which would be wasted on most statements.
    let segments = settle(Vec::new()).or_else(|| {
        let conditions = candidates(source, leaf);
        settle(askable(trials, tried, &around, &pieces, &conditions))
    });
    let segments = segments.or_else(|| {
        // Operands that are conditionals themselves can be taken apart alone.
        let inner = |piece: &String| unwrapped(piece).is_some();
        (pieces.len() > 1 && pieces.iter().any(inner)).then(|| pieces.iter().cloned().map(Segment::Emit).collect())
    })?;
    let text = around.around(&written(&segments, &around));
    (text != source && segments != [Segment::Emit(expression)]).then_some(text)
}

/// The tags of these parts, with the white space of the statement that they replace.
fn written(segments: &[Segment], around: &Surroundings) -> String {
    let mut text = String::new();
    for (at, segment) in segments.iter().enumerate() {
        let (is_first, is_last) = (at == 0, at + 1 == segments.len());
        let sign = |is_end: bool, sign: Sign| if is_end { sign } else { Sign::None };
        let emit_signs = (minus(sign(is_first, around.open)), minus(sign(is_last, around.close)));
        let block_open = || if is_first { around.block_open() } else { Sign::None }.text();
        let block_close = || if is_last { around.block_close() } else { Sign::None }.text();
        match segment {
            Segment::Emit(expression) if around.is_text && is_plain(expression) => {
                text.push_str(&literal(expression).unwrap_or_default());
            }
            Segment::Emit(expression) => {
                let (open, close) = emit_signs;
                text.push_str(&format!("{{{{{open} {expression} {close}}}}}"));
            }
            Segment::Slices(expression, before, after) => {
                let end = if *after > 0 { format!("-{after}") } else { String::new() };
                let start = if *before > 0 { before.to_string() } else { String::new() };
                text.push_str(&format!("{{%{} set {KEPT} = {expression} %}}", block_open()));
                let mut slices = Vec::new();
                if *before > 0 {
                    slices.push(format!("{KEPT}[:{before}]"));
                }
                slices.push(format!("{KEPT}[{start}:{end}]"));
                if *after > 0 {
                    slices.push(format!("{KEPT}[-{after}:]"));
                }
                let count = slices.len();
                for (at, slice) in slices.into_iter().enumerate() {
                    let close = if at + 1 == count { emit_signs.1 } else { "" };
                    text.push_str(&format!("{{{{ {slice} {close}}}}}"));
                }
            }
            Segment::If(test, yes, no) => {
                let (before, after) = (String::new(), String::new());
                let inner =
                    Surroundings { before, after, open: Sign::None, close: Sign::None, is_text: around.is_text };
                text.push_str(&format!("{{%{} if {test} %}}{}", block_open(), written(yes, &inner)));
                if !no.is_empty() {
                    text.push_str(&format!("{{% else %}}{}", written(no, &inner)));
                }
                text.push_str(&format!("{{% endif {}%}}", block_close()));
            }
        }
    }
    text
}

/// Whether a literal can be a text between tags: no white space at its ends, which tags remove, and no brackets.
fn is_plain(expression: &str) -> bool {
    literal(expression).is_some_and(|text| !text.is_empty() && text.trim() == text && !text.contains(['{', '}']))
}

fn minus(sign: Sign) -> &'static str {
    if sign == Sign::Minus { "-" } else { "" }
}
