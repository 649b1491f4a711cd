//! A pass over the tokens before parsing. It refuses what the parser would take too easily (blocks that
//! are never closed) or could choke on (chains without end), and prepares the source: line ends become
//! `\n` as in Jinja2, `{% generation %}` becomes a scope of the same length, so that positions hold.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;

/// Tokens in one `{{ … }}` or `{% … %}`: a chain of operators nests as deep as it is long.
const TAG_TOKENS: usize = 5_000;
/// `elif`s in one `if`.
const ELIFS: usize = 1_000;

/// A problem and its line.
pub(super) type Problem = (usize, String);

/// The source with line ends as Jinja2 normalises them.
pub(super) fn normalise(source: &str) -> String {
    source.replace("\r\n", "\n").replace('\r', "\n")
}

struct Open<'s> {
    word: &'s str,
    line: usize,
    elifs: usize,
}

/// Checks the tokens and returns the source to parse.
pub(super) fn prepare(source: &str, syntax: &SyntaxConfig) -> Result<String, Problem> {
    let mut patched = source.to_owned();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut tag: Vec<(Token<'_>, usize)> = Vec::new();
    let (mut tokens_in_tag, mut braces, mut brackets) = (0, 0_usize, 0_usize);
    for item in tokenize(source, false, syntax.clone()) {
        // The parser meets the same error and says it better.
        let Ok((token, span)) = item else { break };
        let line = usize::from(span.start_line);
        match token {
            Token::BlockStart | Token::VariableStart => {
                tag.clear();
                (tokens_in_tag, braces, brackets) = (0, 0, 0);
                if matches!(token, Token::BlockStart) {
                    tag.push((token, line));
                }
            }
            Token::BlockEnd => close_tag(&tag, &mut open)?,
            token => {
                tokens_in_tag += 1;
                if tokens_in_tag > TAG_TOKENS {
                    return Err((line, format!("one tag of more than {TAG_TOKENS} tokens")));
                }
                match token {
                    Token::BracketOpen | Token::ParenOpen => brackets += 1,
                    Token::BracketClose | Token::ParenClose => brackets = brackets.saturating_sub(1),
                    Token::BraceOpen => braces += 1,
                    // What follows would be read as if it still stood in the tag.
                    Token::BraceClose if braces == 0 && brackets == 0 => {
                        let cause = "`}` closes nothing here; `{{` is closed with `}}`, `{%` with `%}`";
                        return Err((line, cause.to_owned()));
                    }
                    Token::BraceClose => braces = braces.saturating_sub(1),
                    _ => {}
                }
                if tag.len() == 1 {
                    let from = span.start_offset as usize;
                    match token {
                        Token::Ident("generation") => blank(&mut patched, from, "with", 10),
                        Token::Ident("endgeneration") => blank(&mut patched, from, "endwith", 13),
                        _ => {}
                    }
                }
                if !tag.is_empty() {
                    tag.push((token, line));
                }
            }
        }
    }
    match open.pop() {
        Some(Open { word, line, .. }) => {
            Err((line, format!("`{word}` is opened here and never closed with `end{word}`")))
        }
        None => Ok(patched),
    }
}

/// Overwrites `width` bytes by `word` and spaces.
fn blank(patched: &mut String, from: usize, word: &str, width: usize) {
    patched.replace_range(from..from + width, &format!("{word:width$}"));
}

/// Keeps the stack of open blocks.
fn close_tag<'s>(tag: &[(Token<'s>, usize)], open: &mut Vec<Open<'s>>) -> Result<(), Problem> {
    let Some(&(Token::Ident(word), line)) = tag.get(1) else { return Ok(()) };
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
                if *elifs > ELIFS {
                    return Err((line, format!("more than {ELIFS} branches in one `if`")));
                }
                Ok(())
            }
            Some(Open { word: "for", .. }) if word == "else" => Ok(()),
            _ => Err((line, format!("`{word}` outside of an `if`"))),
        },
        _ => match word.strip_prefix("end") {
            Some(closed) if !closed.is_empty() => match open.pop() {
                Some(top) if top.word == closed => Ok(()),
                Some(top) => Err((
                    line,
                    format!("`{word}` where `end{}` is due: `{}` was opened in line {}", top.word, top.word, top.line),
                )),
                None => Err((line, format!("`{word}` closes nothing"))),
            },
            _ => Ok(()),
        },
    }
}

/// `{% set x %}…{% endset %}` has no `=` outside of brackets.
fn is_set_block(tag: &[(Token<'_>, usize)]) -> bool {
    let mut depth = 0usize;
    for (token, _) in tag {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => depth = depth.saturating_sub(1),
            Token::Assign if depth == 0 => return false,
            _ => {}
        }
    }
    true
}
