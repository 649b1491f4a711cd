//! Calls in which each argument is written separately: between markers (`tools.format = "tag_with_tagged"`) or as a
//! literal after its name (`call_expression`).

use std::ops::Range;

use unjinja_spec::{Arguments, CallId, CallIdPosition, Function, ToolFormat, Tools};

use super::super::frame::Frame;
use super::around::{Around, Bodies, body, counted, split_close, split_prefix};
use crate::ask::{CallTurns, MARKUP};
use crate::error::{Gap, gap, quoted};
use crate::experiment::Experiment;
use crate::observed::{LabelledTurn, MessagePart};
use crate::sentinels::SENTINELS;
use crate::text;

/// How values are written, and how strings differ from other values.
#[derive(Debug, Default)]
struct Encoding {
    /// The text between an argument's name and a string.
    before_string: String,
    /// The text between an argument's name and another value, if it differs by more than a quote.
    before_other: Option<String>,
    /// The quote around a string, if values are literals.
    quote: Option<String>,
}

/// What T4 expects.
const IN_ORDER: &str = "the name, an argument's name and its value, in this order";

/// The text between an argument's name and its value, and the text after the value.
fn around_value(turn: &LabelledTurn) -> Option<(&str, &str)> {
    let key = turn.from(turn.first(MessagePart::Name(0))?.end, MessagePart::Key(0, 0))?;
    let value = turn.from(key.end, MessagePart::Value(0, 0))?;
    Some((&turn.text[key.end..value.start], &turn.text[value.end..]))
}

/// A2: a string and a number under the same name.
fn encoding(one: &LabelledTurn, number: Option<&LabelledTurn>) -> Option<Encoding> {
    let (before_string, after_string) = around_value(one)?;
    let mut encoding = Encoding { before_string: before_string.to_owned(), ..Encoding::default() };
    let Some((before, after)) = number.and_then(around_value).filter(|(before, _)| *before != before_string) else {
        return Some(encoding);
    };
    let quote = before_string.strip_prefix(before);
    match quote.filter(|quote| after_string.strip_prefix(*quote) == Some(after)) {
        Some(quote) => {
            encoding.quote = Some(quote.to_owned());
            encoding.before_string = before.to_owned();
        }
        None => encoding.before_other = Some(before.to_owned()),
    }
    Some(encoding)
}

/// The places of an argument's name and its value, quotes included, and of the name where it is repeated after the value.
struct Argument {
    key: Range<usize>,
    value: Range<usize>,
    again: Option<Range<usize>>,
}

impl Argument {
    fn of(turn: &LabelledTurn, quote: &str, call: usize, argument: usize, from: usize) -> Option<Self> {
        let key = turn.from(from, MessagePart::Key(call, argument))?;
        let value = turn.from(key.end, MessagePart::Value(call, argument))?;
        let next = turn.holes.iter().find(|hole| hole.range.start >= value.end);
        let again = next.filter(|hole| hole.part == MessagePart::Key(call, argument)).map(|hole| hole.range.clone());
        let value = value.start.checked_sub(quote.len())?..(value.end + quote.len()).min(turn.text.len());
        Some(Self { key, value, again })
    }

    fn end(&self) -> usize {
        self.again.as_ref().map_or(self.value.end, |again| again.end)
    }
}

/// The words for the JSON types of values, as far as numbers go.
const NUMBER_WORDS: [&str; 2] = ["number", "integer"];

/// The text before and after the type word in the text between an argument's name and its value.
fn type_word(before_string: &str, before_number: &str) -> Option<(String, String)> {
    let (prefix, suffix) = before_string.split_once("string")?;
    let same = |word: &&str| before_number == format!("{prefix}{word}{suffix}");
    NUMBER_WORDS.into_iter().find(same).map(|_| (prefix.to_owned(), suffix.to_owned()))
}

pub(super) fn find(calls: &CallTurns, frame: &Frame, bodies: &Bodies) -> Result<Tools, Gap> {
    let of = |turn: &Option<LabelledTurn>| turn.as_ref().map(|turn| body(turn, frame).with_repeated_names());
    let one = &bodies.one;
    let Some(name) = one.first(MessagePart::Name(0)) else {
        return gap(Experiment::T3, "the function's name", quoted(&one.text));
    };
    let Some(encoding) = encoding(one, of(&calls.number).as_ref()) else {
        return gap(Experiment::T4, IN_ORDER, quoted(&one.text));
    };
    let quote = encoding.quote.clone().unwrap_or_default();
    let Some(alone) = Argument::of(one, &quote, 0, 0, name.end) else {
        return gap(Experiment::T4, IN_ORDER, quoted(&one.text));
    };
    // T5: one and two arguments.
    let Some(both) = of(&calls.two_arguments) else {
        return gap(Experiment::T5, "a call with two arguments", "that the template cannot render it");
    };
    let places = both
        .first(MessagePart::Name(0))
        .and_then(|name| Argument::of(&both, &quote, 0, 0, name.end))
        .and_then(|first| Some((Argument::of(&both, &quote, 0, 1, first.end())?, first)));
    let Some((second, first)) = places else {
        return gap(Experiment::T5, "two arguments, one after the other", quoted(&both.text));
    };
    let between = &one.text[alone.key.end..alone.value.start];
    if both.text[second.key.end..second.value.start] != *between {
        let expected = "the same text between name and value of both arguments";
        return gap(Experiment::T4, expected, quoted(&both.text));
    }
    // T6: no argument at all.
    let none = of(&calls.no_arguments);
    let none = none.as_ref().and_then(|none| Some(&none.text[none.first(MessagePart::Name(0))?.end..]));
    let literal = encoding.quote.is_some();
    let texts = Texts {
        head: &one.text[name.end..alone.key.start],
        step: &both.text[first.end()..second.key.start],
        tail: &both.text[second.end()..],
        none,
    };
    let cuts = Cuts::of(&texts, literal);
    // A value may end at a line break, or at a separator that the name of an argument follows.
    let ends =
        !cuts.value_suffix.trim().is_empty() || cuts.value_suffix.contains('\n') || !cuts.separator.trim().is_empty();
    if !ends && !literal && alone.again.is_none() {
        return gap(Experiment::A2, "a marker after each argument's value", quoted(texts.step));
    }
    let (middle, call_id) = match &bodies.two {
        Some(pair) => between_calls(pair, &quote, texts.head, cuts.value_suffix)?,
        None => (None, None),
    };
    let around = Around::split(&one.text[..name.start], middle, cuts.after_values, &bodies.turn_end);
    let function = FunctionCuts::of(&around, &cuts, &bodies.prompted_header, literal);
    let mut arguments = arguments(&encoding, between, &cuts)?;
    arguments.cdata = calls.markup.as_ref().is_some_and(|turn| turn.text.contains(&format!("<![CDATA[{MARKUP}]]>")));
    if let Some(again) = &alone.again {
        arguments.close_prefix = one.text[alone.value.end..again.start].to_owned();
        arguments.close_suffix = std::mem::take(&mut arguments.value_suffix);
        arguments.nested = writes_nested(calls, &arguments);
        arguments.item = item_of(calls, &arguments).filter(|_| arguments.nested).unwrap_or_default();
    }
    let (mut name_suffix, mut id) = (cuts.name_suffix.to_owned(), CallId::default());
    if let Some((prefix, suffix)) = call_id.filter(|(prefix, _)| name_suffix.starts_with(prefix)) {
        let suffix = suffix.strip_suffix(cuts.first_name_prefix).unwrap_or(suffix);
        id = CallId {
            position: CallIdPosition::BetweenFuncAndArgs,
            prefix: prefix.to_owned(),
            suffix: suffix.strip_suffix(cuts.arguments_start).unwrap_or(suffix).to_owned(),
        };
        name_suffix.clear();
    }
    let tools = Tools {
        format: if literal { ToolFormat::CallExpression } else { ToolFormat::TagWithTagged },
        uses_python_dicts: !literal && prints_python(calls),
        function: Function {
            name_prefix: function.name_prefix.to_owned(),
            name_suffix,
            close: function.close.to_owned(),
        },
        arguments,
        call_id: id,
        ..Tools::default()
    };
    let (start, end) = (function.start.to_owned(), function.end.to_owned());
    let mut around = Around { per_call_start: start, per_call_end: end, ..around.clone() };
    let in_lines = around.separator.is_empty() && !around.section_end.trim().is_empty();
    if literal && in_lines && around.per_call_end.trim().is_empty() {
        // White space between two expressions separates them; the last one has it too.
        around.separator = std::mem::take(&mut around.per_call_end);
        around.section_end.insert_str(0, &around.separator);
    }
    Ok(around.apply(tools, &bodies.lead))
}

/// The texts that T5 and T6 compare.
struct Texts<'t> {
    /// From the function's name to the first argument's name: the name's suffix, the start of the arguments, the prefix of an argument's
    /// name.
    head: &'t str,
    /// From a value to the next argument's name: the value's suffix, the separator, the prefix of an argument's name.
    step: &'t str,
    /// After the last value: its suffix, the end of the arguments, the closers.
    tail: &'t str,
    /// After the function's name in a call without arguments.
    none: Option<&'t str>,
}

/// Those texts, cut into the parts of the format.
struct Cuts<'t> {
    name_suffix: &'t str,
    arguments_start: &'t str,
    /// The prefix of an argument's name, before the first one and before another one.
    first_name_prefix: &'t str,
    name_prefix: &'t str,
    value_suffix: &'t str,
    separator: &'t str,
    after_values: &'t str,
}

impl<'t> Cuts<'t> {
    fn of(texts: &Texts<'t>, literal: bool) -> Self {
        let Texts { head, step, tail, none } = *texts;
        // What is there without arguments, too, does not belong to an argument's name.
        let belongs_to_name = none.map_or(0, |none| text::common_prefix(head, none));
        let prefix_length = prefix_length(texts, head.len() - belongs_to_name, literal);
        let (head, first_name_prefix) = head.split_at(head.len() - prefix_length);
        let (step, name_prefix) = step.split_at(step.len() - prefix_length);
        let mut suffix_length = if literal { 0 } else { text::common_prefix(step, tail) };
        // White space that is there without arguments, too, does not belong to a value.
        let belongs_to_name = belongs_to_name.min(head.len());
        let closers = none.map_or(0, |none| text::common_suffix(tail, &none[belongs_to_name..]));
        let before_closers = tail.len() - closers;
        if before_closers < suffix_length && tail[before_closers..suffix_length].trim().is_empty() {
            suffix_length = before_closers;
        }
        let (value_suffix, separator) = step.split_at(suffix_length);
        let common = none.map_or(0, |none| text::common_prefix(head, none));
        let name_suffix_length = if common == 0 || head[common..].trim().is_empty() { head.len() } else { common };
        let (name_suffix, arguments_start) = head.split_at(name_suffix_length.max(text::end_of_repeated_name(head)));
        let after_values = &tail[suffix_length..];
        Self { name_suffix, arguments_start, first_name_prefix, name_prefix, value_suffix, separator, after_values }
    }
}

/// The length of the prefix of an argument's name. `limit` is its length without what a call without arguments has too; a prefix that
/// would be only white space within the limit may be longer.
fn prefix_length(texts: &Texts, limit: usize, literal: bool) -> usize {
    let Texts { head, step, tail, none } = *texts;
    let longest = text::common_suffix(head, step).max(unfinished(head, step));
    let length = match head[head.len() - longest.min(limit)..].trim() {
        "" if !head[head.len() - longest..].trim().is_empty() => longest,
        _ => longest.min(limit),
    };
    none.filter(|_| !literal).and_then(|none| whole_prefix(head, step, tail, none, length)).unwrap_or(length)
}

/// The text from the first call's last value to the second call's name, and the texts around a call's id.
type BetweenCalls<'t> = (Option<&'t str>, Option<(&'t str, &'t str)>);

/// T2: two calls.
fn between_calls<'t>(
    pair: &'t LabelledTurn,
    quote: &str,
    head: &'t str,
    value_suffix: &str,
) -> Result<BetweenCalls<'t>, Gap> {
    let ends = pair
        .first(MessagePart::Name(0))
        .and_then(|name| Argument::of(pair, quote, 0, 0, name.end))
        .and_then(|first| Some((first.end(), pair.from(first.end(), MessagePart::Name(1))?)));
    let Some((from, second_name)) = ends else {
        return gap(Experiment::T2, "each of two calls to look like a call alone", quoted(&pair.text));
    };
    let text = &pair.text[from..second_name.start];
    let second_head =
        pair.from(second_name.end, MessagePart::Key(1, 0)).map(|key| &pair.text[second_name.end..key.start]);
    let call_id = second_head.filter(|second| *second != head).and_then(|second| counted(head, second));
    Ok((Some(text.strip_prefix(value_suffix).unwrap_or(text)), call_id))
}

/// The text around one call, cut into that of the call and that of its function.
struct FunctionCuts<'t> {
    start: &'t str,
    name_prefix: &'t str,
    close: &'t str,
    end: &'t str,
}

impl<'t> FunctionCuts<'t> {
    fn of(around: &'t Around, cuts: &Cuts, prompted_header: &str, literal: bool) -> Self {
        // A token before every tag: before an argument's name, and before what closes the call.
        let before_tags = cuts.name_prefix.rfind('<').map_or("", |open| cuts.name_prefix[..open].trim());
        let is_before_all = !before_tags.is_empty() && cuts.after_values.trim_start().starts_with(before_tags);
        let before_tags = if is_before_all { before_tags } else { "" };
        let (start, name_prefix) = split_prefix(&around.per_call_start, prompted_header, before_tags);
        let end = around.per_call_end.as_str();
        let last = cuts.name_suffix.trim_end().chars().last();
        let opens_bracket =
            last.map(closing).is_some_and(|closing| !closing.is_empty() && end.trim_start().starts_with(closing));
        let named_close = text::end_of_repeated_name(end);
        let (close, end) = if named_close > 0 {
            end.split_at(named_close)
        } else if literal || opens_bracket {
            // The bracket that the name opened is closed first.
            let bracket = end.trim_start().chars().next().map_or(0, char::len_utf8);
            end.split_at(end.len() - end.trim_start().len() + bracket)
        } else {
            split_close(name_prefix, end, before_tags)
        };
        Self { start, name_prefix, close, end }
    }
}

/// The markers of arguments. `between` is the text between an argument's name and its value.
fn arguments(encoding: &Encoding, between: &str, cuts: &Cuts) -> Result<Arguments, Gap> {
    let (name_suffix, value_prefix) = if encoding.quote.is_some() { (between, "") } else { split_between(between) };
    let types = encoding.before_other.as_deref().and_then(|other| type_word(between, other));
    let other = encoding.before_other.as_deref().filter(|_| types.is_none()).map(split_between);
    if let Some((_, other_prefix)) = other.filter(|(_, other_prefix)| *other_prefix != value_prefix) {
        let seen = format!("{value_prefix:?} before strings, {other_prefix:?} before others");
        return gap(Experiment::A2, "the same text before every value", seen);
    }
    let mut arguments = Arguments {
        start: cuts.arguments_start.to_owned(),
        name_prefix: cuts.name_prefix.to_owned(),
        name_suffix: name_suffix.to_owned(),
        other_name_suffix: other.map_or(String::new(), |(suffix, _)| suffix.to_owned()),
        // A token around strings, not a quote of JSON or Python.
        quote: encoding.quote.clone().filter(|quote| !matches!(quote.as_str(), "\"" | "'")).unwrap_or_default(),
        value_prefix: value_prefix.to_owned(),
        value_suffix: cuts.value_suffix.to_owned(),
        separator: cuts.separator.to_owned(),
        ..Arguments::default()
    };
    if let Some((prefix, suffix)) = types {
        (arguments.type_prefix, arguments.type_suffix) = (prefix, suffix);
        (arguments.name_suffix, arguments.value_prefix) = (String::new(), String::new());
    }
    Ok(arguments)
}

/// The bracket that closes another one; empty if it opens nothing.
fn closing(open: char) -> &'static str {
    match open {
        '(' => ")",
        '[' => "]",
        '{' => "}",
        _ => "",
    }
}

/// T6: the text before an argument's name, if a token of it begins what closes the call, too. Then a call without arguments is the
/// same call without what comes from the first such text to the end of the last argument.
fn whole_prefix(head: &str, step: &str, tail: &str, none: &str, length: usize) -> Option<usize> {
    let longest = text::common_suffix(head, step);
    // The end of a tag belongs to what is before it.
    let shared = &head[head.len() - longest..];
    let end_of_tag = shared.find('>').filter(|at| !shared[..*at].contains('<'));
    let longest = longest - end_of_tag.map_or(0, |at| at + 1);
    let more = &head[head.len().checked_sub(longest)?..head.len() - length.min(longest)];
    let value_suffix = text::common_prefix(&step[..step.len() - longest], tail);
    let is_same = none == [&head[..head.len() - longest], &tail[value_suffix..]].concat();
    (is_same && !more.trim().is_empty()).then_some(longest)
}

/// ValueTypes: whether the members of an object are written as tags.
fn writes_nested(calls: &CallTurns, arguments: &Arguments) -> bool {
    let member = element(arguments, SENTINELS.arguments[1]);
    calls.others.iter().any(|(kind, turn)| *kind == "object" && without_space(&turn.text).contains(&member))
}

/// ValueTypes: the name of the tag around an item of a list; `None` if a list repeats the tag of its argument.
fn item_of(calls: &CallTurns, arguments: &Arguments) -> Option<String> {
    let (_, turn) = calls.others.iter().find(|(kind, _)| *kind == "array")?;
    let turn = without_space(&turn.text);
    let (prefix, suffix) = (without_space(&arguments.name_prefix), without_space(&arguments.name_suffix));
    let opener = [&prefix, SENTINELS.arguments[0], &suffix, &prefix].concat();
    let rest = &turn[turn.find(&opener)? + opener.len()..];
    let name = &rest[..rest.find(&suffix)?];
    turn.contains(&element(arguments, name)).then(|| name.to_owned())
}

/// A value in a tag of this name, without white space: a line break may belong to the tag or to what comes next.
fn element(arguments: &Arguments, name: &str) -> String {
    let Arguments { name_prefix, name_suffix, close_prefix, close_suffix, .. } = arguments;
    without_space(&[name_prefix, name, name_suffix, SENTINELS.values[1], close_prefix, name, close_suffix].concat())
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The length of the unfinished tag that both texts end with; 0 if they end in different ones.
fn unfinished(a: &str, b: &str) -> usize {
    let tail = |text: &str| text.rfind('<').filter(|at| !text[*at..].contains('>')).map_or(0, |at| text.len() - at);
    let (x, y) = (tail(a), tail(b));
    if x == y && a[a.len() - x..] == b[b.len() - y..] { x } else { 0 }
}

/// Splits the text between an argument's name and its value into the end of the name and the beginning of the value.
fn split_between(text: &str) -> (&str, &str) {
    let end = text.find(['>', ']']).map_or(text.len(), |at| at + 1);
    if text[..end].trim().is_empty() { ("", text) } else { text.split_at(end) }
}

/// ValueTypes: whether values are written as Python prints them.
fn prints_python(calls: &CallTurns) -> bool {
    let quoted = format!("'{}'", SENTINELS.values[1]);
    calls.others.iter().any(|(kind, turn)| match *kind {
        "object" => turn.text.contains(&quoted),
        "boolean" => turn.text.contains("True") && !turn.text.contains("true"),
        _ => false,
    })
}
