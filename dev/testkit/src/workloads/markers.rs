//! The markers that a parser looks for at a point of a format, read off its plan.

use unjinja::Channel;
use unjinja::abi::Hole;
use unjinja_codegen::plan::{Expr, Literal, Plan};

/// The markers that a parser looks for, each once, in the order of the plan.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    /// In plain answer text.
    pub content: Vec<String>,
    /// In reasoning.
    pub reasoning: Vec<String>,
    /// After the raw text of an argument's value.
    pub value: Vec<String>,
}

impl Markers {
    /// The markers of a plan.
    pub fn of(plan: &Plan) -> Self {
        let mut markers = Self::default();
        follow(&plan.turn, &[], &mut markers);
        markers
    }
}

/// What an expression may begin with where `next` may follow it. Notes what may follow the holes in it.
fn follow<'p>(expr: &'p Expr, next: &[&'p Literal], markers: &mut Markers) -> Vec<&'p Literal> {
    match expr {
        Expr::Literal(literal) => vec![literal],
        Expr::Action(_) => next.to_vec(),
        Expr::Hole(hole) => {
            let noted = match hole.reads {
                Hole::Text(Channel::Content) => &mut markers.content,
                Hole::Text(Channel::Reasoning) => &mut markers.reasoning,
                Hole::Value => &mut markers.value,
                _ => return Vec::new(),
            };
            let ends = |literal: &&&Literal| match hole.reads {
                Hole::Text(_) => hole.until.contains(&literal.role),
                _ => true,
            };
            for literal in next.iter().filter(ends) {
                if !noted.contains(&literal.core) {
                    noted.push(literal.core.clone());
                }
            }
            // Text may be empty.
            if matches!(hole.reads, Hole::Text(_)) { next.to_vec() } else { Vec::new() }
        }
        Expr::Tolerated(_, part) | Expr::Part(_, part) => follow(part, next, markers),
        Expr::Sequence(parts) => parts.iter().rev().fold(next.to_vec(), |next, part| follow(part, &next, markers)),
        Expr::Choice(ways) => ways.iter().flat_map(|way| follow(way, next, markers)).collect(),
        Expr::Option(part) => [follow(part, next, markers), next.to_vec()].concat(),
        Expr::Repeat(part) => {
            let first = follow(part, next, markers);
            let next = [first, next.to_vec()].concat();
            [follow(part, &next, markers), next].concat()
        }
    }
}
