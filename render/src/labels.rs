//! The public types of a labelled render: what each piece of the output is and where it comes from.

use std::ops::Range;
use std::sync::Arc;

use crate::error::SourcePosition;

/// The origin of each byte of a labelled render. See [`RenderOptions::label`](crate::RenderOptions::label).
///
/// The spans cover the whole text, in order and without gaps. Two neighbours have the same origin only where two parts of
/// one field meet: in `{{ eos_token }}{{ eos_token }}`, or where a `replace` removed what was between them. So the text of a
/// [`FieldPart::Value`] span without encodings other than `Trim`, `Slice` and `Replace` is always a part of the field's value.
///
/// ```
/// use unjinja_render::{Encoding, Origin, FieldPart, RenderOptions, Template};
///
/// let template = Template::parse("t.jinja", "<user>{{ messages[0].content | trim }}</user>")?;
/// let context = serde_json::json!({ "messages": [{ "content": " Hi! " }] });
/// let rendered = template.render_with(&context, &RenderOptions::new().label(true));
/// let text = rendered.result?;
/// let labels = rendered.labels.ok_or("a labelled render has labels")?;
/// let spans = labels.spans();
/// assert_eq!(spans.len(), 3);
/// assert_eq!(&text[spans[1].range.clone()], "Hi!");
/// let Origin::Field(field) = &spans[1].origin else { return Err("a field".into()) };
/// assert_eq!((&*field.path, field.part), ("messages[0].content", FieldPart::Value));
/// assert_eq!(*field.encodings, [Encoding::Trim]);
/// assert_eq!(spans[2].origin, Origin::Template);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is labelled
///
/// - **Strings** keep their labels through concatenation, formatting, slices, splits, joins, replacements, trimming,
///   changes of case, escaping, serialisation, macros and captured blocks. Each character has its own label.
/// - **Numbers, booleans and `null`** have one label each, which goes wherever the value goes. The result of arithmetic
///   carries the label of an operand and [`Encoding::Other`]; so do the length of a value and the position of a part in it.
/// - **Objects and lists** of the context label the punctuation of `tojson` and `str` ([`FieldPart::Syntax`]); what they hold
///   is labelled as above. Lists and dicts that the template builds itself have template text as punctuation.
///
/// # What is not labelled
///
/// - The result of a test or a comparison that is printed (`{{ a == b }}`). [`Reads::decided`](crate::Reads::decided) lists
///   the field.
/// - Counts of what a loop does: `loop.index`, `loop.length`.
/// - A missing field, and an empty text that is printed: there is no byte that could have a label.
/// - Values beyond the first 1.3 million of a context.
///
/// Where an operation cannot be followed (`urlencode`, `striptags`), its whole result has one label: that of the first
/// labelled operand, with [`Encoding::Other`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    pub(crate) spans: Vec<Span>,
    pub(crate) items: Vec<LoopItem>,
    pub(crate) statements: Vec<(usize, SourcePosition)>,
    pub(crate) incomplete: bool,
}

impl Labels {
    /// The spans of the text, from the first byte to the last.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Which parts of the text loops wrote for the elements of a list: `{% for m in messages %}` writes one for each message. They
    /// say to which message text of the template belongs.
    ///
    /// They are in the order in which they end: a loop inside of another comes first. What a loop writes in a macro or a captured
    /// block is not among them, and neither are elements that do not come from the context.
    ///
    /// ```
    /// use unjinja_render::{RenderOptions, Template};
    ///
    /// let template = Template::parse("t.jinja", "{% for m in messages %}<{{ m.role }}>{% endfor %}")?;
    /// let context = serde_json::json!({ "messages": [{ "role": "user" }, { "role": "tool" }] });
    /// let rendered = template.render_with(&context, &RenderOptions::new().label(true));
    /// let labels = rendered.labels.ok_or("a labelled render has labels")?;
    /// let items: Vec<_> = labels.items().iter().map(|item| (item.range.clone(), &*item.path)).collect();
    /// assert_eq!(items, [(0..6, "messages[0]"), (6..12, "messages[1]")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn items(&self) -> &[LoopItem] {
        &self.items
    }

    /// The place of the statement that wrote the byte at this offset of the text: of a `{{`, or of the first visible character of a
    /// text between tags. What a macro or a captured block makes has the place of the `{{` that writes it. `None` beyond the text.
    ///
    /// ```
    /// use unjinja_render::{RenderOptions, Template};
    ///
    /// let template = Template::parse("t.jinja", "{% if name %}\n  Hello {{ name }}{% endif %}")?;
    /// let rendered = template.render_with(&serde_json::json!({ "name": "Ada" }), &RenderOptions::new().label(true));
    /// let labels = rendered.labels.ok_or("a labelled render has labels")?;
    /// let at = rendered.result?.find("Ada").ok_or("the name")?;
    /// let position = labels.statement_at(at).ok_or("a statement")?;
    /// assert_eq!((position.line, position.column), (2, 9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statement_at(&self, offset: usize) -> Option<SourcePosition> {
        let next = self.statements.partition_point(|(end, _)| *end <= offset);
        self.statements.get(next).map(|(_, position)| *position)
    }

    /// Whether every value of the context has a label. If the context has more than 1.3 million values, text of the others looks
    /// like text of the template.
    pub fn is_complete(&self) -> bool {
        !self.incomplete
    }
}

/// What a loop wrote for one element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopItem {
    /// Byte range in the text; never empty.
    pub range: Range<usize>,
    /// The path of the element in the context: `messages[1]`.
    pub path: Arc<str>,
}

/// A part of the output with one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Byte range in the text; never empty.
    pub range: Range<usize>,
    /// Where this part comes from.
    pub origin: Origin,
}

/// Where a part of the output comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Text or a constant of the template, or something computed without any field.
    Template,
    /// A field of the context.
    Field(Field),
}

/// A field of the context, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The path in the context: `messages[1].content`, `tools[0].function.name`, `bos_token`. Keys are written as they are,
    /// also where they contain dots or spaces.
    pub path: Arc<str>,
    /// Which part of the field this is.
    pub part: FieldPart,
    /// What was done to the field's text, in the order in which it was done. Repetitions are left out where they change
    /// nothing, as in a trim of a trimmed text. More than eight end in [`Encoding::Other`].
    pub encodings: Arc<[Encoding]>,
}

/// Which part of a field a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldPart {
    /// The key of an object's entry. The path is that of the entry.
    Key,
    /// The text of a string, a number, a boolean or a `null`.
    Value,
    /// Punctuation that was added when the field was serialised or quoted: braces, brackets, commas, colons, quotes, line
    /// breaks and indentation. The path is that of the object, the list or the string. The quotes of a key belong to its
    /// object; those of a key that was taken out and quoted alone have the path of the entry.
    Syntax,
}

/// What was done to the text of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// Written as JSON, by `tojson`.
    Json,
    /// Written as Python's `repr` does it: in a printed list or object, or with `%r`.
    PythonRepr,
    /// Python's `str` of a number, a boolean or `None`.
    Str,
    /// Trimmed at one end or both, whether or not there was anything to remove.
    Trim,
    /// In capital letters.
    Upper,
    /// In small letters.
    Lower,
    /// The first letter in upper case, all others in lower case.
    Capitalize,
    /// Each word with a capital first letter.
    Title,
    /// A `replace` found something in this text. The label is on what was left of it.
    Replace,
    /// HTML-escaped.
    Escape,
    /// A part of the text: of a slice, an index, a split, a removed prefix or suffix, or lines that were indented.
    Slice,
    /// Something else, after which the text need not resemble the field.
    Other,
}
