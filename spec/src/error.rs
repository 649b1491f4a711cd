//! The problems of a spec or an overlay, each with its place, its cause and the next step.
//!
//! A file may be hostile: a message never prints its control characters.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::text;

/// Characters of a source line that an excerpt shows at most.
const EXCERPT_WIDTH: usize = 100;

/// Why a spec or an overlay was refused: all problems that could be found at once, in the order of the file.
///
/// ```
/// use unjinja_spec::FormatSpec;
///
/// let error = FormatSpec::from_toml("spec_version = 1\n[tool]\n", "x.toml").unwrap_err();
/// assert!(error.problems.iter().any(|problem| problem.line == 2));
/// println!("{error}"); // every problem, with an excerpt and what to do
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The problems; at least one.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong with a spec or an overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The file as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The key at fault, dotted from the top of the spec (`tools.function.name_prefix`); empty for a syntax error.
    pub key: String,
    /// What is wrong.
    pub cause: String,
    /// What to do about it.
    pub next_step: String,
    /// The line of the file with the place underlined.
    pub excerpt: String,
}

impl Problem {
    /// A problem at a place of a text that is not a spec, reported in the same form. Line and column count from 1; a place
    /// beyond the text is its end.
    ///
    /// ```
    /// let problem = unjinja_spec::Problem::at("tools.json", "[\n  {]\n", (2, 4), "a key is missing here", "close the brace");
    /// assert!(problem.to_string().contains("2 |   {]\n  |    ^\n"), "{problem}");
    /// ```
    #[must_use]
    pub fn at(
        file: &str,
        text: &str,
        place: (usize, usize),
        cause: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        let start: usize = text.split_inclusive('\n').take(place.0.saturating_sub(1)).map(str::len).sum();
        let line = text[start..].lines().next().unwrap_or_default();
        let offset = line.char_indices().nth(place.1.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
        let start = (start + offset).min(text.trim_end().len());
        let end = text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
        SpecFile { file: file.to_owned(), text: text.to_owned() }.problem(Some(start..end), "", cause, next)
    }
}

impl SpecError {
    /// The problems of one file in the order of the file; `None` without problems.
    pub(crate) fn from_problems(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by_cached_key(|problem| (problem.line, problem.column));
        problems.dedup();
        (!problems.is_empty()).then_some(Self { problems })
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = text::visible(&self.file);
        writeln!(f, "error: {}", self.cause)?;
        writeln!(f, " --> {file}:{}:{}", self.line, self.column)?;
        write!(f, "{}", self.excerpt)?;
        writeln!(f, "  = next: {}", self.next_step)
    }
}

/// A file that problems are found in.
#[derive(Clone, Debug)]
pub(crate) struct SpecFile {
    /// The file as the caller named it.
    pub(crate) file: String,
    /// Its text.
    pub(crate) text: String,
}

impl SpecFile {
    /// A problem with the text at `span`; without a span, with the file as a whole.
    pub(crate) fn problem(
        &self,
        span: Option<Range<usize>>,
        key: impl Into<String>,
        cause: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Problem {
        let span = span.unwrap_or(0..0);
        let (line, column) = text::line_and_column(&self.text, span.start);
        Problem {
            file: self.file.clone(),
            line,
            column,
            key: key.into(),
            cause: cause.into(),
            next_step: next_step.into(),
            excerpt: self.excerpt(line, column, &span),
        }
    }

    /// The line that holds the place, with the place underlined, cut to a readable width.
    fn excerpt(&self, line: usize, column: usize, span: &Range<usize>) -> String {
        let Some(source) = self.text.lines().nth(line - 1) else {
            return String::new();
        };
        let source = source.trim_start_matches('\u{FEFF}');
        let first = if column > EXCERPT_WIDTH * 3 / 4 { column - EXCERPT_WIDTH / 2 } else { 0 };
        let wanted = self
            .text
            .get(span.clone())
            .and_then(|marked| marked.lines().next())
            .map_or(0, |marked| marked.chars().count());
        let mut shown = String::from(if first > 0 { "…" } else { "" });
        let (mut indent, mut underline) = (shown.chars().count(), 0);
        for (index, c) in source.chars().enumerate().skip(first).take(EXCERPT_WIDTH) {
            let c = if c == '\t' { " ".to_owned() } else { text::visible(c.encode_utf8(&mut [0; 4])) };
            let width = c.chars().count();
            if index + 1 < column {
                indent += width;
            } else if index + 1 < column + wanted {
                underline += width;
            }
            shown.push_str(&c);
        }
        if source.chars().count() > first + EXCERPT_WIDTH {
            shown.push('…');
        }
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        let marks = "^".repeat(underline.max(1));
        format!("{gutter} |\n{number} | {shown}\n{gutter} | {}{marks}\n", " ".repeat(indent))
    }
}
