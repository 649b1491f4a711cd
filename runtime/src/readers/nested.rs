//! Nested arguments: turns an object that is written as tags into JSON.
//!
//! `<city>Paris</city><zip>1</zip>` is the object `{"city": "Paris", "zip": 1}`. A tag that is repeated is a list, and so is
//! one of which the schema says so. Where the items of a list have a tag of their own, `<item>1</item><item>2</item>` is the
//! list `[1, 2]`. The text is complete before it is read. It is read once, with a stack of its own, so
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
    Open { name: Span, place: SchemaPlace<'s>, text: Option<Span>, repeated: bool, form: Form },
    /// The tag that was opened last and has no text closes.
    Close,
}

/// What the tags within a tag are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The members of an object.
    Members,
    /// The items of a list, each in a tag of its own.
    Items,
}

/// Reads the members of an object, or the items of a list that have tags of their own, and appends them as JSON. Returns
/// `false`, and appends nothing, if the text is anything else.
pub(crate) fn object(text: &[u8], nesting: &Nesting, place: SchemaPlace<'_>, out: &mut Vec<u8>) -> bool {
    // Most values begin like no object. Nothing is allocated for them.
    let is_tag = begins(&text[skip_space(text, 0)..], nesting);
    match is_tag.then(|| tags(text, nesting, place)).flatten() {
        Some((form, tags)) => {
            write(text, nesting, form, &tags, out);
            true
        }
        None => false,
    }
}

/// What the tags at the start of the text are: items only if the first has the name of items, and the schema does not ask for
/// an object.
fn form(text: &[u8], nesting: &Nesting, place: SchemaPlace<'_>) -> Form {
    let Some((name, _)) = opened(text, nesting).filter(|_| !nesting.item.is_empty()) else { return Form::Members };
    let types = place.types();
    let may_be_list = types.is_unknown() || types.intersects(Types::ARRAY);
    match may_be_list && text[name.0..name.1] == *nesting.item.as_bytes() {
        true => Form::Items,
        false => Form::Members,
    }
}

/// Appends text that holds no tags, as JSON of one of these types. The reader is used for its buffers.
pub(crate) fn leaf(reader: &mut TaggedReader, text: &[u8], types: Types, python: bool, out: &mut Vec<u8>) {
    if text.is_empty() && (types == Types::OBJECT || types == Types::ARRAY) {
        return out.extend_from_slice(if types == Types::OBJECT { b"{}" } else { b"[]" });
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

/// Where the first closing tag of this name at or after `from` begins, and where it ends.
fn closer(text: &[u8], from: usize, name: &[u8], nesting: &Nesting) -> Option<(usize, usize)> {
    let mut places = memmem::find_iter(&text[from..], nesting.close.as_bytes()).map(|at| from + at);
    places.find_map(|at| Some((at, at + closed(&text[at..], name, nesting)?)))
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
    form: Form,
}

/// Takes the text apart. `None` if it is neither an object nor a list in tags.
fn tags<'s>(text: &[u8], nesting: &Nesting, place: SchemaPlace<'s>) -> Option<(Form, Vec<NestedTag<'s>>)> {
    let mut tags: Vec<NestedTag<'s>> = Vec::new();
    let mut at = skip_space(text, 0);
    let outermost = form(&text[at..], nesting, place);
    let mut stack = vec![Open { name: (0, 0), place, last: None, form: outermost }];
    loop {
        at = skip_space(text, at);
        let top = stack.last_mut()?;
        if at == text.len() {
            return (stack.len() == 1 && !tags.is_empty()).then_some((outermost, tags));
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
        let place = match top.form {
            Form::Items if word != nesting.item.as_bytes() => return None,
            Form::Items => top.place.item(),
            Form::Members => std::str::from_utf8(word).map_or(SchemaPlace::UNKNOWN, |word| top.place.member(word)),
        };
        let before = top.last.replace(tags.len());
        if top.form == Form::Members
            && let Some(NestedTag::Open { name: other, repeated, .. }) = before.and_then(|before| tags.get_mut(before))
        {
            *repeated = text[other.0..other.1] == *word;
        }
        let types = place.types();
        let may_nest = types.is_unknown() || types.intersects(Types::OBJECT | Types::ARRAY);
        let inside = &text[skip_space(text, at)..];
        if may_nest && begins(inside, nesting) {
            let form = form(inside, nesting, place);
            // Where a list repeats a tag, the members are those of one item.
            let inner = if nesting.item.is_empty() { place.item() } else { place };
            tags.push(NestedTag::Open { name, place, text: None, repeated: false, form });
            stack.push(Open { name, place: inner, last: None, form });
            continue;
        }
        let (end, next) = closer(text, at, word, nesting)?;
        tags.push(NestedTag::Open { name, place, text: Some((at, end)), repeated: false, form: Form::Members });
        at = next;
    }
}

/// An object that is open while JSON is written.
#[derive(Default)]
struct Writing {
    begun: bool,
    /// The last member is a list that continues.
    list: bool,
    /// The object is the last item of a list.
    ends_list: bool,
    /// The tags are the items of a list.
    items: bool,
}

impl Writing {
    fn of(form: Form) -> Self {
        Self { items: form == Form::Items, ..Self::default() }
    }

    /// The brackets around it.
    fn brackets(&self) -> (u8, u8) {
        if self.items { (b'[', b']') } else { (b'{', b'}') }
    }
}

fn write(text: &[u8], nesting: &Nesting, form: Form, tags: &[NestedTag<'_>], out: &mut Vec<u8>) {
    let outermost = Writing::of(form);
    let mut reader = TaggedReader::default();
    let (open, close) = outermost.brackets();
    let mut stack = vec![outermost];
    out.push(open);
    for tag in tags {
        let NestedTag::Open { name, place, text: value, repeated, form } = tag else {
            let Some(closed) = stack.pop() else { return };
            out.push(closed.brackets().1);
            if closed.ends_list {
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
        let is_list = *repeated || goes_on || nesting.item.is_empty() && begins_list(place.types(), value);
        if !goes_on && !top.items {
            out.push(b'"');
            escape_bytes_into(&text[name.0..name.1], out);
            out.extend_from_slice(b"\": ");
        }
        if !goes_on && is_list {
            out.push(b'[');
        }
        let ends_list = is_list && !repeated;
        let Some(value) = value else {
            let inner = Writing { ends_list, ..Writing::of(*form) };
            out.push(inner.brackets().0);
            stack.push(inner);
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
    out.push(close);
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
        item: std::borrow::Cow::Borrowed(""),
    };

    /// Tags after a token, in which each item of a list has a tag of its own.
    static ITEMS: Nesting = Nesting {
        python: false,
        open: std::borrow::Cow::Borrowed("~<"),
        opened: std::borrow::Cow::Borrowed(">"),
        close: std::borrow::Cow::Borrowed("~</"),
        closed: std::borrow::Cow::Borrowed(">"),
        item: std::borrow::Cow::Borrowed("item"),
    };

    fn read(text: &str, schema: &serde_json::Value) -> Option<String> {
        read_with(&TAGS, text, schema)
    }

    fn read_with(nesting: &Nesting, text: &str, schema: &serde_json::Value) -> Option<String> {
        let mut out = Vec::new();
        let references = References::of(schema);
        object(text.as_bytes(), nesting, SchemaPlace::of(schema, &references), &mut out)
            .then(|| String::from_utf8(out).expect("what is written is UTF-8"))
    }

    #[test]
    fn items_may_have_a_tag_of_their_own() {
        let schema = json!({"type": "object", "properties": {
            "tags": {"type": "array", "items": {"type": "string"}},
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
            "item": {"type": "string"},
            "box": {"type": "object", "properties": {"item": {"type": "string"}}},
            "none": {"type": "array"},
        }});
        for (text, expected) in [
            ("~<tags>~<item>1~</item>~<item>x~</item>~</tags>", r#"{"tags": ["1", "x"]}"#),
            ("~<tags>~<item>1~</item>~</tags>", r#"{"tags": ["1"]}"#),
            ("~<other>~<item>1~</item>~<item>x~</item>~</other>", r#"{"other": [1, "x"]}"#),
            (
                "~<grid>~<item>~<item>1~</item>~</item>~<item>~<item>2~</item>~</item>~</grid>",
                r#"{"grid": [[1], [2]]}"#,
            ),
            ("~<a>~<item>~<b>1~</b>~</item>~<item>~<b>2~</b>~</item>~</a>", r#"{"a": [{"b": 1}, {"b": 2}]}"#),
            ("~<box>~<item>1~</item>~</box>", r#"{"box": {"item": "1"}}"#),
            ("~<item>1~</item>~<x>2~</x>", r#"{"item": "1", "x": 2}"#),
            ("~<none>~</none>", r#"{"none": []}"#),
            ("~<tags>[\"1\"]~</tags>", r#"{"tags": ["1"]}"#),
        ] {
            assert_eq!(read_with(&ITEMS, text, &schema).as_deref(), Some(expected), "{text}");
        }
        let list = json!({"type": "array", "items": {"type": "string"}});
        let text = "~<item>1~</item> ~<item>2~</item>";
        assert_eq!(read_with(&ITEMS, text, &list).as_deref(), Some(r#"["1", "2"]"#));
        assert_eq!(read_with(&ITEMS, "~<item>1~</item>~<other>2~</other>", &list), None);
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
