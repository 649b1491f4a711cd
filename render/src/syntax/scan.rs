//! A pass over the tokens before parsing.
//!
//! It refuses two things: what minijinja accepts and Jinja2 does not (blocks that are never closed, a stray `}`), and
//! sources whose nesting could overflow the parser's stack. It also rewrites `{% generation %}`, a tag of Hugging Face that
//! minijinja does not know, into a `with` block of the same length, so that lines and offsets stay right.

use crate::stack::Bounds;
use crate::syntax::parser::{Bracket, Located, Token, tokens};
use crate::syntax::problem::Problem;

/// A block that is open, and where.
struct Open<'s> {
    word: &'s str,
    line: usize,
    elifs: usize,
}

/// What has been read of the current tag.
#[derive(Default)]
struct Tag<'s> {
    /// The tokens after `{%`; empty in `{{`.
    block: Vec<(Token<'s>, usize)>,
    is_block: bool,
    tokens: usize,
    braces: usize,
    brackets: usize,
}

/// Checks the tokens and returns the source to parse.
pub(crate) fn check(source: &str, bounds: &Bounds) -> Result<String, Problem> {
    let mut patched = source.to_owned();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut tag = Tag::default();
    for Located { token, line, start } in tokens(source)? {
        match token {
            Token::TagStart { block } => tag = Tag { is_block: block, ..Tag::default() },
            Token::BlockEnd => close_tag(&tag.block, &mut open, bounds)?,
            token => {
                tag.tokens += 1;
                if tag.tokens > bounds.tag_tokens {
                    let limit = bounds.tag_tokens;
                    return Err(Problem::new(line, format!("this tag has more than {limit} tokens")));
                }
                tag.count_brackets(token, line)?;
                if open.len() + tag.braces + tag.brackets > bounds.source_depth {
                    let limit = bounds.source_depth;
                    return Err(Problem::new(line, format!("blocks and brackets are nested deeper than {limit}")));
                }
                if tag.is_block {
                    match token {
                        Token::Name("generation") if tag.block.is_empty() => overwrite(&mut patched, start, "with", 10),
                        Token::Name("endgeneration") if tag.block.is_empty() => {
                            overwrite(&mut patched, start, "endwith", 13);
                        }
                        _ => {}
                    }
                    tag.block.push((token, line));
                }
            }
        }
    }
    match open.pop() {
        Some(Open { word, line, .. }) => {
            Err(Problem::new(line, format!("`{word}` is opened here and never closed with `end{word}`")))
        }
        None => Ok(patched),
    }
}

impl Tag<'_> {
    fn count_brackets(&mut self, token: Token<'_>, line: usize) -> Result<(), Problem> {
        match token {
            Token::Open(Bracket::Other) => self.brackets += 1,
            Token::Close(Bracket::Other) => self.brackets = self.brackets.saturating_sub(1),
            Token::Open(Bracket::Brace) => self.braces += 1,
            // minijinja would continue and read the text after the tag as a part of the tag.
            Token::Close(Bracket::Brace) if self.braces == 0 && self.brackets == 0 => {
                let cause = "`}` closes nothing here; `{{` is closed with `}}`, `{%` with `%}`";
                return Err(Problem::new(line, cause));
            }
            Token::Close(Bracket::Brace) => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        Ok(())
    }
}

/// Overwrites `width` bytes from `start` with `word` and spaces.
fn overwrite(patched: &mut String, start: usize, word: &str, width: usize) {
    patched.replace_range(start..start + width, &format!("{word:width$}"));
}

/// Updates the stack of open blocks at the end of a `{% … %}` tag.
fn close_tag<'s>(tag: &[(Token<'s>, usize)], open: &mut Vec<Open<'s>>, bounds: &Bounds) -> Result<(), Problem> {
    let Some(&(Token::Name(word), line)) = tag.first() else { return Ok(()) };
    let opens = match word {
        "for" | "if" | "with" | "filter" | "macro" | "call" | "block" | "autoescape" | "generation" => true,
        "set" => is_set_block(tag),
        _ => false,
    };
    if opens {
        open.push(Open { word, line, elifs: 0 });
        return Ok(());
    }
    match word {
        "elif" | "else" => match open.last_mut() {
            Some(Open { word: "if", elifs, .. }) => {
                *elifs += 1;
                if *elifs > bounds.elifs {
                    return Err(Problem::new(line, format!("more than {} branches in one `if`", bounds.elifs)));
                }
                Ok(())
            }
            Some(Open { word: "for", .. }) if word == "else" => Ok(()),
            _ => Err(Problem::new(line, format!("`{word}` outside of an `if`"))),
        },
        _ => match word.strip_prefix("end") {
            Some(closed) if !closed.is_empty() => match open.pop() {
                Some(top) if top.word == closed => Ok(()),
                Some(top) => Err(Problem::new(
                    line,
                    format!("`{word}` found, `end{0}` expected: `{0}` was opened in line {1}", top.word, top.line),
                )),
                None => Err(Problem::new(line, format!("`{word}` closes nothing"))),
            },
            _ => Ok(()),
        },
    }
}

/// Whether a `set` tag opens a block: `{% set x %}…{% endset %}` has no `=` outside of brackets.
fn is_set_block(tag: &[(Token<'_>, usize)]) -> bool {
    let mut depth = 0usize;
    for (token, _) in tag {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth = depth.saturating_sub(1),
            Token::Assign if depth == 0 => return false,
            _ => {}
        }
    }
    true
}
