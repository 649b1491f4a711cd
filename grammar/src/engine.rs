//! Grammars for the engines that know free text and special tokens, from the program to the text.
//!
//! [`GrammarOptions::target`](super::GrammarOptions::target) names these functions by pointers, so that an application that
//! writes GBNF alone links none of them.

use unjinja_runtime::abi::{Program, StateId};

use crate::builder::Builder;
use crate::error::GrammarError;
use crate::expr::Expr;
use crate::special_tokens::{SpecialToken, Tokens, is_name};
use crate::syntax::Manner;
use crate::target::Target;
use crate::turn::{Limits, Made, Texts, TurnRules};
use crate::values::Values;
use crate::{lark, xgrammar};

/// What a grammar is made of: the program, the state in which it begins, and what the prompt has already written.
pub(super) struct EngineInput<'a> {
    pub(super) program: &'a Program,
    pub(super) state: StateId,
    /// The beginning of a marker that the prompt ends with.
    pub(super) read: &'a str,
    /// The part of the turn that the prompt has already written.
    pub(super) rest: &'a str,
    pub(super) limits: Limits<'a>,
    pub(super) special_tokens: &'a [SpecialToken],
}

/// A grammar as text, and what was noticed about the schemas.
pub(super) type Written = Result<(String, Values), GrammarError>;

pub(super) type Make = fn(EngineInput<'_>) -> Written;

/// The function for a target. `None` for GBNF, which knows rules alone.
#[inline]
pub(super) fn of(target: Target) -> Option<Make> {
    match target {
        Target::Gbnf => None,
        Target::XGrammar => Some(for_xgrammar),
        Target::Llguidance => Some(for_llguidance),
    }
}

fn for_xgrammar(request: EngineInput<'_>) -> Written {
    make(request, |token| token.id().is_some(), true, xgrammar::structural_tag)
}

fn for_llguidance(request: EngineInput<'_>) -> Written {
    make(request, |token| token.id().is_some() || is_name(token.text()), false, lark::lark)
}

/// The grammar for an engine: which special tokens it can name, whether it counts what free text takes, and how it is written.
fn make(
    request: EngineInput<'_>,
    names: fn(&SpecialToken) -> bool,
    counts: bool,
    write: fn(&Builder, Expr) -> String,
) -> Written {
    let EngineInput { program, state, read, rest, limits, special_tokens } = request;
    let tokens = Tokens::new(special_tokens, names);
    let folded = (!tokens.is_empty()).then(|| tokens.folded(program));
    let program = folded.as_ref().unwrap_or(program);
    let manner = Manner { unlimited: counts, ..limits.manner };
    let texts = Texts::Whole { alternatives: |turn, key, max| turn.whole_text(key, max), counts };
    let limits = Limits { texts, manner, ..limits };
    let mut turn = TurnRules::new(program, limits);
    turn.builder.set_tokens(tokens.clone());
    let (made, values) = turn.whole(state, &tokens.fold(read));
    let (mut builder, root) = complete(made, &values)?;
    let root = builder.after(root, &tokens.fold(rest));
    if root == Expr::NOTHING {
        return Err(GrammarError::Nothing);
    }
    Ok((write(&builder, root), values))
}

/// The rules of a turn, if some text fits them.
pub(super) fn complete(made: Made, values: &Values) -> Result<(Builder, Expr), GrammarError> {
    if let Some((tool, error)) = &values.error {
        return Err(GrammarError::Schema(tool.clone(), error.clone()));
    }
    made.filter(|(_, root)| *root != Expr::NOTHING).ok_or(GrammarError::Nothing)
}
