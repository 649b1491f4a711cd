//! Expressions as text: the operands of a sum of texts, the branches of a conditional, and string literals.

use std::iter;
use std::ops::Range;

use crate::tags::{name, string};

/// Words and operators that bind weaker than `+`: an expression with one of them is no sum.
const WEAKER: [&str; 6] = ["and", "or", "not", "in", "is", "if"];

/// A token of an expression outside of brackets.
enum Item<'e> {
    Word(&'e str),
    Operator(char),
}

/// The words and operators outside of brackets and strings, with their places.
fn items(expression: &str) -> Vec<(Range<usize>, Item<'_>)> {
    let (mut found, mut at, mut depth) = (Vec::new(), 0, 0_i32);
    while let Some(c) = expression[at..].chars().next() {
        let rest = &expression[at..];
        if let Some(text) = string(rest) {
            at += text.len();
            continue;
        }
        let word = name(rest);
        if !word.is_empty() {
            if depth == 0 {
                found.push((at..at + word.len(), Item::Word(word)));
            }
            at += word.len();
            continue;
        }
        let end = at + c.len_utf8();
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            c if depth == 0 && !c.is_whitespace() => found.push((at..end, Item::Operator(c))),
            _ => {}
        }
        at = end;
    }
    found
}

/// A text between brackets that enclose all of it: `(a + b)` is `a + b`.
pub(super) fn unwrapped(expression: &str) -> Option<&str> {
    let inner = expression.strip_prefix('(')?.strip_suffix(')')?;
    let (mut depth, mut at) = (0_i32, 0);
    while let Some(c) = inner[at..].chars().next() {
        at += string(&inner[at..]).map_or(c.len_utf8(), str::len);
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    (depth == 0 && !inner.trim().is_empty()).then(|| inner.trim())
}

/// The operands of a sum of texts, `a + b ~ c`, as places in the expression. One operand if it is no sum.
pub(super) fn operands(expression: &str) -> Vec<Range<usize>> {
    let whole: Vec<Range<usize>> = iter::once(0..expression.len()).collect();
    let mut cuts = Vec::new();
    let mut previous: Option<(usize, char)> = None;
    for (range, item) in items(expression) {
        match item {
            Item::Word(word) if WEAKER.contains(&word) => {
                // A test or a filter may be called so: `x | in`. Nobody does that.
                return whole;
            }
            Item::Operator('<' | '>' | '=' | '!' | '-' | ',' | ':') => return whole,
            Item::Operator(c @ ('+' | '~')) => {
                let sign = expression[..range.start].trim().is_empty()
                    || previous.is_some_and(|(end, _)| expression[end..range.start].trim().is_empty());
                if sign {
                    return whole;
                }
                previous = Some((range.end, c));
                cuts.push(range);
            }
            _ => {}
        }
    }
    let mut from = 0;
    let mut found = Vec::new();
    for cut in cuts.into_iter().chain(iter::once(expression.len()..expression.len())) {
        let operand = &expression[from..cut.start];
        let lead = operand.len() - operand.trim_start().len();
        let start = from + lead;
        found.push(start..start + operand.trim().len());
        from = cut.end;
    }
    if found.iter().any(Range::is_empty) { whole } else { found }
}

pub(super) fn operator_before(expression: &str, operand: &Range<usize>) -> Option<char> {
    expression[..operand.start].trim_end().chars().next_back()
}

/// `a if test else b`: its value, its test, and its other value.
pub(super) fn conditional(expression: &str) -> Option<(&str, &str, Option<&str>)> {
    let items = items(expression);
    let word = |wanted: &str, from: usize| {
        items.iter().find(|(range, item)| range.start >= from && matches!(item, Item::Word(word) if *word == wanted))
    };
    let (when, _) = word("if", 0)?;
    let yes = expression[..when.start].trim();
    let (test, no) = match word("else", when.end) {
        Some((otherwise, _)) => {
            (expression[when.end..otherwise.start].trim(), Some(expression[otherwise.end..].trim()))
        }
        None => (expression[when.end..].trim(), None),
    };
    (!yes.is_empty() && !test.is_empty()).then_some((yes, test, no))
}

/// The tests of all conditionals in an expression, also in brackets.
pub(super) fn asked_in(expression: &str) -> Vec<&str> {
    let (mut found, mut open): (Vec<&str>, Vec<(usize, i32)>) = (Vec::new(), Vec::new());
    let (mut at, mut depth) = (0, 0_i32);
    while let Some(c) = expression[at..].chars().next() {
        let rest = &expression[at..];
        let word = name(rest);
        let closes = matches!(c, ')' | ']' | '}' | ',') || word == "else";
        if closes && open.last().is_some_and(|(_, of)| *of == depth) {
            found.extend(open.pop().map(|(from, _)| expression[from..at].trim()));
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if word == "if" => open.push((at + word.len(), depth)),
            _ => {}
        }
        let quoted = string(rest).map(str::len);
        at += quoted.unwrap_or(if word.is_empty() { c.len_utf8() } else { word.len() });
    }
    found.extend(open.into_iter().map(|(from, _)| expression[from..].trim()));
    found
}

/// The text of an expression that is one string literal with plain escapes.
pub(super) fn literal(expression: &str) -> Option<String> {
    let text = string(expression).filter(|text| text.len() == expression.len())?;
    let mut chars = text.get(1..text.len() - 1)?.chars();
    let mut value = String::new();
    while let Some(c) = chars.next() {
        value.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                c @ ('\\' | '\'' | '"') => c,
                _ => return None,
            },
            c => c,
        });
    }
    Some(value)
}

/// A text as a string literal.
pub(super) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut written = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\r' => written.push_str("\\r"),
            '\\' => written.push_str("\\\\"),
            c if c == quote => {
                written.push('\\');
                written.push(c);
            }
            c => written.push(c),
        }
    }
    written.push(quote);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(expression: &str) -> Vec<&str> {
        operands(expression).into_iter().map(|range| &expression[range]).collect()
    }

    #[test]
    fn sums_are_split_at_their_operators_only() {
        assert_eq!(parts("'<|' + m['a' + b] ~ (x + y) | trim + '+'"), ["'<|'", "m['a' + b]", "(x + y) | trim", "'+'"]);
        for whole in
            ["a - b + c", "a + b if c else d", "a == b + c", "not a + b", "+a + b", "a + + b", "x is y", "a + "]
        {
            assert_eq!(parts(whole), [whole]);
        }
    }

    #[test]
    fn brackets_and_conditionals_are_taken_apart() {
        assert_eq!(unwrapped("(a + (b))"), Some("a + (b)"));
        assert_eq!(unwrapped("(a) + (b)"), None);
        assert_eq!(unwrapped("(a, b)"), None);
        assert_eq!(conditional("'if' if (a if b else c) else d"), Some(("'if'", "(a if b else c)", Some("d"))));
        assert_eq!(conditional("a if b"), Some(("a", "b", None)));
        assert_eq!(conditional("a + b"), None);
        assert_eq!(asked_in("f('if', a if b else (c if d.e)) + x if y"), ["b", "d.e", "y"]);
    }

    #[test]
    fn literals_come_back() {
        for text in ["<|im_end|>\n", "it's", "\"it's\" \\ \t\r", ""] {
            assert_eq!(literal(&quoted(text)).as_deref(), Some(text));
        }
        assert_eq!(literal(r"'\x41'"), None);
        assert_eq!(literal("'a' 'b'"), None);
    }
}
