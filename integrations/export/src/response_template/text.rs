//! White space as Python's strings see it, which is a little more than what Unicode calls white space.

/// Whether `str.isspace` holds for a character. Python adds four control characters to Unicode's property.
pub(crate) fn is_space(char: char) -> bool {
    char.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&char)
}

/// `text.strip()`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}
