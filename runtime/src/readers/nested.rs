//! Nested arguments: turns an object that is written as tags into JSON.
//!
//! `<city>Paris</city><zip>1</zip>` is the object `{"city": "Paris", "zip": 1}`. A tag that is repeated is a list, and so is
//! one of which the schema says so. The text is complete before it is read. It is read once, with a stack of its own, so
//! its depth is not limited by the program's.

use memchr::memmem;

use crate::limits::MAX_NAME;
use crate::program::Nesting;
use crate::readers::json::{escape_bytes_into, is_space};
use crate::readers::tagged::TaggedReader;
use crate::tools::{SchemaPlace, Types};

/// A part of the text, as start and end.
type Span = (usize, usize);

/// A tag of the text.
enum NestedTag<'s> {
    /// A tag opens. Members follow up to its `Close`, or its text.
    Open { name: Span, place: SchemaPlace<'s>, text: Option<Span>, repeated: bool },
    /// The tag that was opened last and has no text closes.
    Close,
}

/// Reads the members of an object and appends the object as JSON. Returns `false`, and appends nothing, if the text is
/// anything else.
pub(crate) fn object(text: &[u8], nesting: &Nesting, place: SchemaPlace<'_>, out: &mut Vec<u8>) -> bool {
    // Most values begin like no object. Nothing is allocated for them.
    let is_tag = begins(&text[skip_space(text, 0)..], nesting);
    match is_tag.then(|| tags(text, nesting, place)).flatten() {
        Some(tags) => {
            write(text, nesting, &tags, out);
            true
        }
        None => false,
    }
}

/// Appends text that holds no tags, as JSON of one of these types. The reader is used for its buffers.
pub(crate) fn leaf(reader: &mut TaggedReader, text: &[u8], types: Types, python: bool, out: &mut Vec<u8>) {
    if types == Types::OBJECT && text.is_empty() {
        return out.extend_from_slice(b"{}");
    }
    reader.restart(types, python);
    reader.begin(out);
    reader.feed(text, out);
    reader.finish(out);
}

/// Whether the text begins with an opening tag.
pub(crate) fn begins(text: &[u8], nesting: &Nesting) -> bool {
    opened(text, nesting).is_some()
}

/// The name in the opening tag at the start of the text, and where the tag ends.
fn opened(text: &[u8], nesting: &Nesting) -> Option<(Span, usize)> {
    let start = nesting.open.len();
    let rest = text.strip_prefix(nesting.open.as_bytes())?;
    let rest = &rest[..rest.len().min(MAX_NAME + nesting.opened.len())];
    let end = memmem::find(rest, nesting.opened.as_bytes())?;
    let name = &rest[..end];
    let fits = |&byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'<' | b'>' | b'/' | b'"');
    let is_name = !name.is_empty() && name.iter().all(fits);
    is_name.then_some(((start, start + end), start + end + nesting.opened.len()))
}

/// Where the closing tag of this name at the start of the text ends.
fn closed(text: &[u8], name: &[u8], nesting: &Nesting) -> Option<usize> {
    let rest = text.strip_prefix(nesting.close.as_bytes())?.strip_prefix(name)?;
    rest.strip_prefix(nesting.closed.as_bytes()).map(|rest| text.len() - rest.len())
}

fn skip_space(text: &[u8], from: usize) -> usize {
    from + text[from..].iter().take_while(|&&byte| is_space(byte)).count()
}

/// An object that is open while the text is read.
struct Open<'s> {
    name: Span,
    place: SchemaPlace<'s>,
    /// The index of its last member.
    last: Option<usize>,
}

/// Takes the text apart. `None` if it is not an object in tags.
fn tags<'s>(text: &[u8], nesting: &Nesting, place: SchemaPlace<'s>) -> Option<Vec<NestedTag<'s>>> {
    let mut tags: Vec<NestedTag<'s>> = Vec::new();
    let mut stack = vec![Open { name: (0, 0), place, last: None }];
    let mut at = 0;
    loop {
        at = skip_space(text, at);
        let top = stack.last_mut()?;
        if at == text.len() {
            return (stack.len() == 1 && !tags.is_empty()).then_some(tags);
        }
        if let Some(end) = closed(&text[at..], &text[top.name.0..top.name.1], nesting) {
            // The outermost object has no tag.
            if stack.len() == 1 {
                return None;
            }
            stack.pop();
            tags.push(NestedTag::Close);
            at += end;
            continue;
        }
        let (name, end) = opened(&text[at..], nesting)?;
        let name = (at + name.0, at + name.1);
        let word = &text[name.0..name.1];
        at += end;
        let place = std::str::from_utf8(word).map_or(SchemaPlace::UNKNOWN, |word| top.place.member(word));
        let before = top.last.replace(tags.len());
        if let Some(NestedTag::Open { name: other, repeated, .. }) = before.and_then(|before| tags.get_mut(before)) {
            *repeated = text[other.0..other.1] == *word;
        }
        let types = place.types();
        let may_nest = types.is_unknown() || types.intersects(Types::OBJECT | Types::ARRAY);
        if may_nest && begins(&text[skip_space(text, at)..], nesting) {
            tags.push(NestedTag::Open { name, place, text: None, repeated: false });
            stack.push(Open { name, place: place.item(), last: None });
            continue;
        }
        let closer = [nesting.close.as_bytes(), word, nesting.closed.as_bytes()].concat();
        let end = at + memmem::find(&text[at..], &closer)?;
        tags.push(NestedTag::Open { name, place, text: Some((at, end)), repeated: false });
        at = end + closer.len();
    }
}

/// An object that is open while JSON is written.
#[derive(Default)]
struct Writing {
    /// A member was written.
    begun: bool,
    /// The last member is a list that continues.
    list: bool,
    /// The object is the last item of a list.
    ends_list: bool,
}

fn write(text: &[u8], nesting: &Nesting, tags: &[NestedTag<'_>], out: &mut Vec<u8>) {
    let mut stack = vec![Writing::default()];
    let mut reader = TaggedReader::default();
    out.push(b'{');
    for tag in tags {
        let NestedTag::Open { name, place, text: value, repeated } = tag else {
            out.push(b'}');
            if stack.pop().is_some_and(|object| object.ends_list) {
                out.push(b']');
            }
            continue;
        };
        let Some(top) = stack.last_mut() else { return };
        let value = value.map(|(from, to)| &text[from..to]);
        let goes_on = std::mem::replace(&mut top.list, *repeated);
        if std::mem::replace(&mut top.begun, true) {
            out.extend_from_slice(b", ");
        }
        let is_list = *repeated || goes_on || begins_list(place.types(), value);
        if !goes_on {
            out.push(b'"');
            escape_bytes_into(&text[name.0..name.1], out);
            out.extend_from_slice(b"\": ");
            if is_list {
                out.push(b'[');
            }
        }
        let ends_list = is_list && !repeated;
        let Some(value) = value else {
            out.push(b'{');
            stack.push(Writing { ends_list, ..Writing::default() });
            continue;
        };
        let is_empty = ends_list && !goes_on && value.trim_ascii().is_empty();
        if !is_empty {
            let place = if is_list { place.item() } else { *place };
            leaf(&mut reader, value, place.types(), nesting.python, out);
        }
        if ends_list {
            out.push(b']');
        }
    }
    out.push(b'}');
}

/// Whether a tag that is not repeated is a list of one item: the schema asks for a list, and the text is not one.
pub(crate) fn begins_list(types: Types, value: Option<&[u8]>) -> bool {
    let is_json = |value: &[u8]| value.starts_with(b"[") || (value == b"null" && types.contains(Types::NULL));
    types.is_list() && value.is_none_or(|value| !is_json(value.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::References;

    static TAGS: Nesting = Nesting {
        python: false,
        open: std::borrow::Cow::Borrowed("<"),
        opened: std::borrow::Cow::Borrowed(">"),
        close: std::borrow::Cow::Borrowed("</"),
        closed: std::borrow::Cow::Borrowed(">"),
    };

    fn read(text: &str, schema: &serde_json::Value) -> Option<String> {
        let mut out = Vec::new();
        let references = References::of(schema);
        object(text.as_bytes(), &TAGS, SchemaPlace::of(schema, &references), &mut out)
            .then(|| String::from_utf8(out).expect("what is written is UTF-8"))
    }

    #[test]
    fn tags_are_members_and_repeated_tags_are_lists() {
        let anything = json!({});
        for (text, expected) in [
            ("<city>Paris</city>", r#"{"city": "Paris"}"#),
            (" <city>Paris</city>\n<zip>1</zip> ", r#"{"city": "Paris", "zip": 1}"#),
            ("<a><b>1</b><c>x</c></a><d>2</d>", r#"{"a": {"b": 1, "c": "x"}, "d": 2}"#),
            ("<a>1</a><a>2</a><b>3</b>", r#"{"a": [1, 2], "b": 3}"#),
            ("<a><b>1</b></a><a><b>2</b></a><c>3</c>", r#"{"a": [{"b": 1}, {"b": 2}], "c": 3}"#),
            ("<a><a>1</a></a>", r#"{"a": {"a": 1}}"#),
            ("<a></a>", r#"{"a": ""}"#),
            ("<a>x < y</a>", r#"{"a": "x < y"}"#),
        ] {
            assert_eq!(read(text, &anything).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_text_is_no_object() {
        let anything = json!({});
        for text in ["", "Paris", "<b>Paris</b>!", "<b>Paris", "<b>Paris</c>", "</b>", "<a b>1</a b>", "<>1</>"] {
            assert_eq!(read(text, &anything), None, "{text}");
        }
    }

    #[test]
    fn the_schema_types_the_members() {
        let schema = json!({"type": "object", "properties": {
            "zip": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "codes": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
            "people": {"type": "array", "items": {"$ref": "#/$defs/person"}},
            "home": {"type": "object", "properties": {"zip": {"type": "string"}}},
        }, "$defs": {"person": {"type": "object", "properties": {"age": {"type": "string"}}}}});
        for (text, expected) in [
            ("<zip>12345</zip><other>12345</other>", r#"{"zip": "12345", "other": 12345}"#),
            ("<tags>1</tags>", r#"{"tags": ["1"]}"#),
            ("<codes>1</codes>", r#"{"codes": [1]}"#),
            ("<codes>null</codes>", r#"{"codes": null}"#),
            ("<tags></tags><zip>1</zip>", r#"{"tags": [], "zip": "1"}"#),
            ("<tags>[\"1\"]</tags>", r#"{"tags": ["1"]}"#),
            ("<people><age>1</age></people>", r#"{"people": [{"age": "1"}]}"#),
            ("<home><zip>1</zip></home>", r#"{"home": {"zip": "1"}}"#),
            ("<zip><b>1</b></zip>", r#"{"zip": "<b>1</b>"}"#),
        ] {
            assert_eq!(read(text, &schema).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn depth_is_not_limited_by_the_stack() {
        let depth = 100_000;
        let text = ["<a>".repeat(depth), "1".to_owned(), "</a>".repeat(depth)].concat();
        assert!(read(&text, &json!({})).is_some_and(|json| json.len() > depth));
    }
}
