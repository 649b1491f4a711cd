//! JSON pointers to places in a document.

/// Makes a JSON pointer lead to a member of the value that it leads to, or to an item of it.
///
/// ```
/// let mut pointer = "/properties".to_owned();
/// unjinja_runtime::schema::extend_pointer(&mut pointer, "km/h");
/// assert_eq!(pointer, "/properties/km~1h");
/// ```
pub fn extend_pointer(pointer: &mut String, name: &str) {
    pointer.push('/');
    for character in name.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}
