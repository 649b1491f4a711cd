//! Structural tags for XGrammar, as JSON.
//!
//! The tag is one grammar in XGrammar's EBNF for the whole turn, made of the same rules as GBNF, but for free text: the engine has a
//! macro for text without certain strings, which costs it a hundredth of the same text spelled as rules. One grammar says each call
//! once, wherever it may begin; formats of a structural tag would repeat it behind each marker. It is never a `json_schema`: the engine
//! has its own idea of white space, of the order of properties and of what a schema leaves open, so that it would refuse turns that
//! templates write.

mod ebnf;
mod strings;

use crate::builder::Builder;
use crate::expr::Expr;
use crate::syntax::json_text;

pub(super) fn structural_tag(builder: &Builder, root: Expr) -> String {
    let grammar = json_text(&ebnf::grammar(builder, root));
    [r#"{"type":"structural_tag","format":{"type":"grammar","grammar":"#, &grammar, "}}"].concat()
}
