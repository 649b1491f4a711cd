//! What models write in place of a turn, for each rule: a function from the text of a turn to all changes that make it deviate once, at
//! one place or at all places of a kind. Places are found by the markers of a spec, never by its name.

use std::ops::Range;

use unjinja_runtime::abi::is_special_token;
use unjinja_spec::{FormatSpec, MarkerKey as Key, MarkerText, ToolFormat, begins_tag};

/// The reasoning and the answer of the turn.
pub const REASONING: &str = "Hm, rain.";
pub const ANSWER: &str = "Look.";

/// The calls of the turn.
pub const CALLS: [(&str, &str); 3] = [
    ("get_weather", r#"{"city": "Paris", "days": 2, "metric": true}"#),
    ("now", "{}"),
    ("find_flight", r#"{"place": "Rome", "zone": "CET"}"#),
];

const KEYS: [&str; 5] = ["city", "days", "metric", "place", "zone"];
const VALUES: [&str; 5] = ["Paris", "2", "true", "Rome", "CET"];

/// A deviation, by the name of the rule that reads it.
pub struct Deviation {
    pub rule: &'static str,
    pub changes: fn(&FormatSpec, &str) -> Vec<Edits>,
}

macro_rules! deviations {
    ($($rule:literal: $changes:expr,)*) => {
        /// All deviations, in the order of the rules; after them those of values, which no rule of the format reads.
        pub const DEVIATIONS: &[Deviation] = &[$(Deviation { rule: $rule, changes: $changes }),*];
    };
}

deviations! {
    "a token without its words": short_marker,
    "another attribute": other_attribute,
    "the token before the arguments twice": |spec, text| after_name(text, true, tag(spec, Key::FunctionNameSuffix)),
    "doubled bars": doubled_bars,
    "a second bar": second_bar,
    "bars of ASCII": |spec, text| forms(spec, text, |core| core.replace('｜', "|").replace('▁', "_")),
    "a blank in an opener": blank_in_opener,
    "another word in a header": word_in_header,
    "another bracket": other_bracket,
    "objects in a tag": objects_in_tag,
    "an opener twice": |spec, text| twice(spec, text, &[Key::SectionStart, Key::CallStart]),
    "a missing wrapper": |spec, text| without(spec, text, &[Key::SectionStart, Key::CallStart]),
    "a missing opener of the first call": |spec, text| without(spec, text, &[Key::CallStart]),
    "a tag with a name alone": tag_alone,
    "a recipient without its namespace": other_recipient,
    "another separator of calls": other_separator,
    "a header that no template writes": other_message,
    "a missing opener of a key": missing_key_opener,
    "a missing marker before the arguments": missing_arguments_opener,
    "a tag that closes itself": self_closing,
    "the closer of reasoning after a name": |spec, text| {
        after_name(text, spec.tools.format == ToolFormat::TagWithTagged, core(spec, Key::ReasoningEnd))
    },
    "another opener for a name": |spec, text| junk(spec, text, "junk"),
    "a colon for an equals sign": |spec, text| after_key(spec, text, |key, sign| {
        format!("{key}{}", if sign == "=" { ":" } else { "=" })
    }),
    "a key in quotes": |spec, text| after_key(spec, text, |key, sign| format!("\"{key}\"{sign}")),
    "a tag of an argument twice": |spec, text| {
        twice(spec, text, &[Key::ArgumentNamePrefix, Key::ArgumentNameSuffix, Key::ArgumentValueSuffix])
    },
    "the closer of a key or a value for the other": other_closer,
    "an argument after the closer": argument_after_closer,
    "no tag after the name": |spec, text| without(spec, text, &[Key::FunctionNameSuffix]),
    "a word before the name is missing": missing_word,
    "another name of the tag around calls": |spec, text| {
        forms(spec, text, |core| core.replace("tool_call", "function_call"))
    },
    "the closer of all calls first": outer_closer_first,
    "a missing type": missing_type,
    "a value between blanks": |_, text| values(text, |value| (format!("\n{value}\n"), format!(" {value} "))),
    "a missing closer of a key": |spec, text| without(spec, text, &[Key::ArgumentNameSuffix]),
    "a missing opener of a value": |spec, text| without(spec, text, &[Key::ArgumentValuePrefix]),
    "a missing closer of a value": |spec, text| value_closer(spec, text, false),
    "the next argument ends a value": |spec, text| value_closer(spec, text, true),
    "a string without its closing token": |spec, text| quoted(spec, text, |value, _| value.to_owned()),
    "a quote token too many": |spec, text| quoted(spec, text, |value, quote| format!("'{value}'{quote}")),
    "a comma too many": |spec, text| before_bracket(spec, text, ","),
    "an object in place of arguments": object_for_arguments,
    "missing closers of a call": missing_closers,
    "a missing bracket": |spec, text| before_bracket(spec, text, ""),
    "braces and fences around JSON": json_extras,
    "text after a call": text_after,
    "a missing closer": |spec, text| {
        without(spec, text, &[Key::ArgumentsEnd, Key::FunctionClose, Key::CallEnd, Key::SectionEnd])
    },
    "another token around calls": other_token,
    "a closer twice": |spec, text| twice(spec, text, &[Key::FunctionClose, Key::CallEnd, Key::SectionEnd]),
    "an answer that opens in reasoning": answer_in_reasoning,
    "the opener of reasoning twice": |spec, text| twice(spec, text, &[Key::ReasoningStart]),
    "the start of the turn twice": |spec, _| vec![spliced(0..0, &spec.turn.assistant_start)],
    "a token that ends a text": |_, text| vec![spliced(text.len()..text.len(), "<|endoftext|>")],
    "only the end of a header": |spec, text| {
        at_each(text, core(spec, Key::ContentStart), |_| spec.content.header.end.clone())
    },
    "a token that closes nothing": stray_token,
    "the closer of reasoning again": |spec, text| twice(spec, text, &[Key::ReasoningEnd]),
    "a call in a code fence": code_fence,
    "a call that breaks off": |spec, text| junk(spec, text, "no "),
    "JSON: a comma too many": |_, text| json(text, |object| {
        let members = object.strip_suffix('}').filter(|members| *members != "{");
        members.map(|members| format!("{members},}}")).into_iter().collect()
    }),
    "JSON: single quotes": |_, text| values(text, |value| (format!("\"{value}\""), format!("'{value}'"))),
    "JSON: a word of Python": |_, text| at_each(text, ": true", |_| ": True".to_owned()),
    "JSON: a key without quotes": |_, text| at_each(text, "\"days\"", |_| "days".to_owned()),
}

/// The rules that no deviation shows here, with the reason.
pub const LEFT_OUT: [(&str, &str); 6] = [
    ("calls that are opened and not written", "the turn has no calls then"),
    ("a form of the opener of a name", "it limits what \"doubled bars\" and \"another attribute\" read"),
    ("another bracket after a name", "it limits what \"another bracket\" reads"),
    ("a value without its quotes", "no sample template and no supported one has quotes around every value"),
    ("the turn ends in a value", "the turn has no other end then: its last call is incomplete"),
    ("a call in reasoning", "nothing closes reasoning then, so the turn has no answer"),
];

/// The core of a marker.
pub fn core(spec: &FormatSpec, key: Key) -> &str {
    MarkerText::new(spec.marker(key)).core
}

/// The core of a marker that is a tag or a token.
fn tag(spec: &FormatSpec, key: Key) -> &str {
    Some(core(spec, key)).filter(|core| begins_tag(core)).unwrap_or_default()
}

fn is_special(core: &str) -> bool {
    is_special_token(core.as_bytes())
}

/// A change of a text: another one in each of these ranges.
pub type Edits = Vec<(Range<usize>, String)>;

/// A text with changes.
pub fn edited(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (range, other) in edits {
        out.extend([&text[at..range.start], other]);
        at = range.end;
    }
    out + &text[at..]
}

/// A change without what is the same at both ends of the two texts.
pub fn trimmed(text: &str, (range, other): &(Range<usize>, String)) -> (Range<usize>, String) {
    let same = |(one, other): &(char, char)| one == other;
    let length = |(one, _): (char, char)| one.len_utf8();
    let own = &text[range.clone()];
    let begin: usize = own.chars().zip(other.chars()).take_while(same).map(length).sum();
    let rest = own[begin..].chars().rev().zip(other[begin..].chars().rev());
    let end: usize = rest.take_while(same).map(length).sum();
    (range.start + begin..range.end - end, other[begin..other.len() - end].to_owned())
}

fn spliced(range: Range<usize>, other: &str) -> Edits {
    vec![(range, other.to_owned())]
}

/// Another text in place of this piece: at each of its places, and at all of them.
fn at_each(text: &str, piece: &str, other: impl Fn(&str) -> String) -> Vec<Edits> {
    if piece.is_empty() {
        return Vec::new();
    }
    let other = other(piece);
    let all: Edits = text.match_indices(piece).map(|(at, _)| (at..at + piece.len(), other.clone())).collect();
    all.iter().map(|edit| vec![edit.clone()]).chain((all.len() > 1).then(|| all.clone())).collect()
}

/// The markers of these keys twice: directly, and with the white space that the template writes after each.
fn twice(spec: &FormatSpec, text: &str, keys: &[Key]) -> Vec<Edits> {
    let twice = |key: &Key| {
        let after = MarkerText::new(spec.marker(*key)).after;
        let between: &[&str] = if after.is_empty() { &[""] } else { &["", after] };
        let again = |between: &&str| at_each(text, tag(spec, *key), |core| [core, between, core].concat());
        between.iter().flat_map(again).collect::<Vec<_>>()
    };
    keys.iter().flat_map(twice).collect()
}

/// The text without the markers of these keys: with the white space around them, and without that after them.
fn without(spec: &FormatSpec, text: &str, keys: &[Key]) -> Vec<Edits> {
    let gone = |key: &Key| {
        let core = tag(spec, *key);
        let with_layout = [core, MarkerText::new(spec.marker(*key)).after].concat();
        let mut texts = at_each(text, core, |_| String::new());
        if with_layout != core {
            texts.extend(at_each(text, &with_layout, |_| String::new()));
        }
        texts
    };
    keys.iter().flat_map(gone).collect()
}

/// Each marker in another form, and all of them in it.
fn forms(spec: &FormatSpec, text: &str, form: impl Fn(&str) -> String) -> Vec<Edits> {
    let mut cores: Vec<&str> = spec.markers().map(|(_, text)| MarkerText::new(text).core).collect();
    cores.retain(|core| form(core) != *core && text.contains(core));
    cores.sort_by_key(|core| std::cmp::Reverse(core.len()));
    cores.dedup();
    let mut changes: Vec<Edits> = cores.iter().flat_map(|core| at_each(text, core, &form)).collect();
    let mut all: Edits = changes.iter().filter(|edits| edits.len() == 1).flatten().cloned().collect();
    all.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    all.dedup_by(|next, edit| next.0.start < edit.0.end);
    changes.push(all);
    changes
}

/// The first token of a marker and what follows it.
fn token_and_rest(spec: &FormatSpec, key: Key) -> Option<(&str, &str)> {
    let piece = MarkerText::pieces(spec.marker(key)).into_iter().next()?;
    let token = piece.tags().first().copied().filter(|token| is_special(token))?;
    Some((token, piece.core.strip_prefix(token)?))
}

fn short_marker(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let keys = [Key::SectionStart, Key::CallStart, Key::ReasoningStart, Key::FunctionNamePrefix];
    let markers = keys.into_iter().filter_map(|key| token_and_rest(spec, key)).filter(|(_, rest)| !rest.is_empty());
    let short = |(token, rest): (&str, &str)| {
        let whole = [token, rest].concat();
        [at_each(text, &whole, |_| token.to_owned()), at_each(text, &whole, |whole| [whole, rest].concat())].concat()
    };
    markers.flat_map(short).collect()
}

fn other_attribute(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let places = [
        (Key::FunctionNamePrefix, Key::FunctionNameSuffix, CALLS.map(|(name, _)| name).to_vec()),
        (Key::ArgumentNamePrefix, Key::ArgumentNameSuffix, KEYS.to_vec()),
    ];
    let mut texts = Vec::new();
    for (prefix, suffix, names) in places {
        let (prefix, suffix) = (tag(spec, prefix), core(spec, suffix));
        let element = prefix.trim_end_matches(['"', '\'']).trim_end_matches('=').trim_end_matches(" name");
        if element == prefix || !suffix.ends_with('>') {
            continue;
        }
        for name in names {
            let own = [prefix, name, suffix].concat();
            for (open, close) in [("=", ">"), ("=\"", "\">"), (" name=\"", "\">")] {
                let other = [element, open, name, close].concat();
                texts.extend(at_each(text, &own, |_| other.clone()));
            }
        }
    }
    texts
}

fn doubled_bars(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let doubled = |core: &str| {
        let open = if core.starts_with("</") { "</" } else { "<" };
        ['|', '｜'].into_iter().find_map(|bar| {
            let (name, word) = core.strip_prefix(open)?.strip_prefix(bar)?.split_once(bar)?;
            word.starts_with(char::is_alphabetic).then(|| format!("{open}{bar}{bar}{name}{bar}{bar}{word}"))
        })
    };
    forms(spec, text, |core| doubled(core).unwrap_or_else(|| core.to_owned()))
}

fn second_bar(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let tokens = [Key::CallStart, Key::SectionStart, Key::ReasoningStart].map(|key| token_and_rest(spec, key));
    let tokens = tokens.into_iter().flatten().map(|(token, _)| token);
    let one_sided = tokens.filter(|token| token.starts_with("<|") && token.ends_with('>') && !token.ends_with("|>"));
    one_sided.flat_map(|token| at_each(text, token, |token| token.replace('>', "|>"))).collect()
}

fn blank_in_opener(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let markers = [Key::SectionStart, Key::CallStart].map(|key| token_and_rest(spec, key));
    let brackets = markers.into_iter().flatten().filter(|(_, rest)| rest.starts_with(['[', '(', '{']));
    brackets.flat_map(|(token, rest)| at_each(text, &[token, rest].concat(), |_| [token, " ", rest].concat())).collect()
}

fn word_in_header(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let header = &spec.content.header;
    let calls = CALLS.iter().filter(|_| !header.recipient.trim().is_empty());
    let headers = calls.filter_map(|(name, _)| between(text, name, header.end.trim()));
    headers.map(|range| spliced(range, " quickly")).collect()
}

/// Something directly after the name of each function, if the format may have it.
fn after_name(text: &str, may_have: bool, addition: &str) -> Vec<Edits> {
    let names = CALLS.iter().filter(|_| may_have && !addition.is_empty());
    names.flat_map(|(name, _)| at_each(text, name, |name| [name, addition].concat())).collect()
}

/// The brackets of each call of a call expression, in another form.
fn other_bracket(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let (open, close) = (core(spec, Key::FunctionNameSuffix), core(spec, Key::FunctionClose));
    let mut texts = Vec::new();
    for (name, _) in CALLS.iter().filter(|_| spec.tools.format == ToolFormat::CallExpression) {
        let Some(call) = between(text, &[name, open].concat(), close) else { continue };
        for (other, closing) in [("(", ")"), ("{", "}"), ("[", "]")] {
            let inner = [other, &text[call.clone()], closing].concat();
            texts.push(spliced(call.start - open.len()..call.end + close.len(), &inner));
        }
    }
    texts
}

/// What is between the first place of a text and the next place of another one, within one call.
fn between(text: &str, open: &str, close: &str) -> Option<Range<usize>> {
    let start = text.find(open)? + open.len();
    let end = start + text[start..].find(close)?;
    let is_one_call = !CALLS.iter().any(|(name, _)| text[start..end].contains(name));
    (!open.is_empty() && !close.is_empty() && is_one_call).then_some(start..end)
}

fn objects_in_tag(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let first = |keys: [Key; 2]| keys.into_iter().map(|key| tag(spec, key)).find(|core| !core.is_empty());
    let ends = (first([Key::CallStart, Key::SectionStart]), first([Key::CallEnd, Key::SectionEnd]));
    let (Some(open), Some(close)) = ends else { return Vec::new() };
    let object = |(name, arguments): &(&str, &str)| {
        let at = text.find(name).filter(|_| spec.tools.format != ToolFormat::JsonNative)?;
        let start = text[..at].rfind(open)? + open.len();
        let is_own = !CALLS.iter().any(|(name, _)| text[start..at].contains(name));
        let end = between(text, name, close).filter(|_| is_own)?.end;
        Some(spliced(start..end, &format!(r#"{{"name": "{name}", "arguments": {arguments}}}"#)))
    };
    CALLS.iter().filter_map(object).collect()
}

fn tag_alone(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let keys = [Key::SectionStart, Key::CallStart, Key::SectionEnd, Key::CallEnd].map(|key| tag(spec, key));
    let is_tag = !tag(spec, Key::FunctionNamePrefix).is_empty();
    let gone = |keys: &[&str]| {
        let cores = keys.iter().filter(|core| !core.is_empty());
        let mut all: Edits = cores.flat_map(|core| at_each(text, core, |_| String::new())).flatten().collect();
        all.sort_by_key(|(range, _)| (range.start, range.end));
        all.dedup();
        all
    };
    if is_tag { vec![gone(&keys[..2]), gone(&keys)] } else { Vec::new() }
}

fn other_recipient(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let recipient = spec.content.header.recipient.trim();
    let own = recipient.rfind('=').map_or(recipient, |at| &recipient[..=at]);
    if own == recipient { Vec::new() } else { at_each(text, recipient, |_| own.to_owned()) }
}

fn other_separator(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let own = core(spec, Key::CallSeparator);
    let mut texts = Vec::new();
    for (name, _) in CALLS[1..].iter().filter(|_| spec.tools.format == ToolFormat::CallExpression) {
        let Some(at) = text.find(name) else { continue };
        let before = text[..at].trim_end();
        let before = before.strip_suffix(own).unwrap_or(before);
        texts.extend([", ", "; "].map(|other| spliced(before.len()..at, other)));
    }
    texts
}

fn other_message(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let header = &spec.content.header;
    let calls = CALLS.iter().filter(|_| !header.channel.is_empty() && !header.recipient.is_empty());
    let other = |(name, _): &(&str, &str)| {
        let to = [header.recipient.as_str(), name].concat();
        let at = text.find(&to)?;
        let start = text[..at].rfind(header.start.as_str())? + header.start.len();
        let end = at + text[at..].find(&header.end)?;
        let is_header = !text[start..at].contains(&header.end);
        is_header.then(|| spliced(start..end, &[header.channel.as_str(), "tool", &to].concat()))
    };
    calls.filter_map(other).collect()
}

fn missing_key_opener(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let opener = tag(spec, Key::ArgumentNamePrefix);
    let mut texts = Vec::new();
    for (name, key) in [("get_weather", "city"), ("find_flight", "place")] {
        let Some(range) = between(text, name, key).filter(|range| text[range.clone()].trim() == opener) else {
            continue;
        };
        texts.extend(["", " "].map(|blank| spliced(range.clone(), blank)));
    }
    texts
}

fn missing_arguments_opener(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    if spec.tools.format != ToolFormat::TagWithJson {
        return Vec::new();
    }
    let openers = [Key::FunctionNameSuffix, Key::ArgumentsStart].map(|key| core(spec, key)).concat();
    CALLS
        .iter()
        .flat_map(|(name, _)| at_each(text, &[name, openers.as_str()].concat(), |_| (*name).to_owned()))
        .collect()
}

fn self_closing(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let open = [tag(spec, Key::FunctionNamePrefix), "now"].concat();
    let close = core(spec, Key::FunctionClose);
    let range = between(text, &open, close).filter(|_| core(spec, Key::FunctionNameSuffix).ends_with('>'));
    range.map(|range| spliced(range.start..range.end + close.len(), "/>")).into_iter().collect()
}

/// Openers that come again after this text.
fn junk(spec: &FormatSpec, text: &str, junk: &str) -> Vec<Edits> {
    let keys = [Key::SectionStart, Key::CallStart, Key::FunctionNamePrefix];
    let openers = keys.into_iter().map(|key| core(spec, key)).filter(|core| is_special(core));
    openers.flat_map(|core| at_each(text, core, |core| [core, junk, core].concat())).collect()
}

/// The names of arguments in a call expression, each with the sign after it.
fn after_key(spec: &FormatSpec, text: &str, other: impl Fn(&str, &str) -> String) -> Vec<Edits> {
    let sign = core(spec, Key::ArgumentNameSuffix);
    let keys = KEYS.iter().filter(|_| spec.tools.format == ToolFormat::CallExpression);
    keys.flat_map(|key| at_each(text, &[key, sign].concat(), |_| other(key, sign))).collect()
}

fn missing_type(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let arguments = &spec.tools.arguments;
    let types = ["string", "integer", "number", "boolean"].iter().filter(|_| !arguments.type_prefix.is_empty());
    let types = types.map(|name| [&arguments.type_prefix, *name, &arguments.type_suffix].concat());
    let mut texts = Vec::new();
    for own in types.chain([arguments.name_suffix.clone(), arguments.other_name_suffix.clone()]) {
        // A tag goes on after the name: `" type="string">`.
        let own = MarkerText::new(&own).core;
        let Some((attribute, end)) = own.strip_prefix("\" ").and_then(|rest| rest.split_once(['>'])) else { continue };
        let unquoted = format!("\" {}>{end}", attribute.replace('"', ""));
        texts.extend(at_each(text, own, |_| format!("\">{end}")));
        texts.extend(at_each(text, own, |_| unquoted.clone()));
    }
    texts
}

/// Values, each with what is around it, in another form.
fn values(text: &str, form: impl Fn(&str) -> (String, String)) -> Vec<Edits> {
    let forms = VALUES.iter().map(|value| form(value));
    forms.flat_map(|(own, other)| at_each(text, &own, |_| other.clone())).collect()
}

/// The closers of values that stand before another argument, or those that do not.
fn value_closer(spec: &FormatSpec, text: &str, before_next: bool) -> Vec<Edits> {
    let (closer, next) = (tag(spec, Key::ArgumentValueSuffix), tag(spec, Key::ArgumentNamePrefix));
    let places = text.match_indices(closer).filter(|_| !closer.is_empty() && !next.is_empty());
    let places = places.map(|(at, _)| (at, at + closer.len()));
    let places = places.filter(|(_, end)| text[*end..].trim_start().starts_with(next) == before_next);
    let blank = |end: usize| text[end..].len() - text[end..].trim_start().len();
    places.flat_map(|(at, end)| [spliced(at..end, ""), spliced(at..end + blank(end), "")]).collect()
}

/// Strings between quote tokens, in another form.
fn quoted(spec: &FormatSpec, text: &str, form: impl Fn(&str, &str) -> String) -> Vec<Edits> {
    let quote = tag(spec, Key::ArgumentQuote);
    let form = |value: &str| {
        let other = form(value, quote);
        // Other quotes are in place of both tokens; else only the closing one changes.
        let open = if other.starts_with('\'') { "" } else { quote };
        ([quote, value, quote].concat(), [open, &other].concat())
    };
    if quote.is_empty() { Vec::new() } else { values(text, form) }
}

/// This in place of the bracket that closes a call, or before it.
fn before_bracket(spec: &FormatSpec, text: &str, before: &str) -> Vec<Edits> {
    let keys = [Key::ArgumentsEnd, Key::FunctionClose].map(|key| core(spec, key));
    let bracket = keys.into_iter().find(|core| [")", "}", "]"].contains(core)).unwrap_or_default();
    let other = |bracket: &str| if before.is_empty() { String::new() } else { [before, bracket].concat() };
    if spec.tools.format == ToolFormat::TagWithJson { Vec::new() } else { at_each(text, bracket, other) }
}

fn object_for_arguments(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let keys = [Key::ArgumentsEnd, Key::FunctionClose, Key::CallEnd].map(|key| core(spec, key));
    let Some(close) = keys.into_iter().find(|core| !core.is_empty()) else { return Vec::new() };
    let open = core(spec, Key::FunctionNameSuffix);
    let written_one_by_one = matches!(spec.tools.format, ToolFormat::TagWithTagged | ToolFormat::CallExpression);
    let object = |(name, arguments): &(&str, &str)| {
        let range = between(text, &[name, open].concat(), close)?;
        Some(spliced(range, arguments))
    };
    CALLS.iter().filter(|_| written_one_by_one).filter_map(object).collect()
}

fn missing_closers(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let both = [spec.tools.function.close.as_str(), &spec.tools.per_call_end].concat();
    let both = MarkerText::new(&both);
    let with_layout = [both.core, both.after].concat();
    let mut texts = without(spec, text, &[Key::FunctionClose, Key::CallEnd]);
    texts.extend([both.core, &with_layout].into_iter().flat_map(|closers| at_each(text, closers, |_| String::new())));
    texts
}

/// The outermost objects of a text, by their braces.
fn objects(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for (at, brace) in text.match_indices(['{', '}']) {
        match (brace, open.pop()) {
            ("{", before) => open.extend(before.into_iter().chain([at])),
            (_, Some(start)) if open.is_empty() => found.push(start..at + 1),
            _ => {}
        }
    }
    found
}

/// Each object of JSON in other forms.
fn json(text: &str, forms: impl Fn(&str) -> Vec<String>) -> Vec<Edits> {
    let forms = |range: Range<usize>| (range.clone(), forms(&text[range]));
    let written =
        |(range, forms): (Range<usize>, Vec<String>)| forms.into_iter().map(move |form| spliced(range.clone(), &form));
    objects(text).into_iter().map(forms).flat_map(written).collect()
}

fn json_extras(_: &FormatSpec, text: &str) -> Vec<Edits> {
    json(text, |object| {
        let dict = object.replace('"', "'").replace("true", "True");
        vec![format!("{object}}}"), format!("{{{object}"), format!("```json\n{object}\n```"), dict]
    })
}

fn text_after(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let [call, section] =
        [Key::CallEnd, Key::SectionEnd].map(|key| core(spec, key)).map(|core| if is_special(core) { core } else { "" });
    let before = [call, section].into_iter().flat_map(|core| at_each(text, core, |core| [" so ", core].concat()));
    before.chain(at_each(text, call, |core| [core, " and "].concat())).collect()
}

fn other_token(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let tokens = spec.tokens.other.iter().filter(|token| is_special(token));
    let around = |token: &String| {
        let before = text.find('{').map(|at| spliced(at..at, token));
        before.into_iter().chain([spliced(text.len()..text.len(), token)])
    };
    tokens.flat_map(around).collect()
}

/// The answer opens where reasoning was to be closed.
fn answer_in_reasoning(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let (end, start) = (core(spec, Key::ReasoningEnd), core(spec, Key::ContentStart));
    let range = between(text, REASONING, start).filter(|range| text[range.clone()].trim() == end && !end.is_empty());
    range.map(|range| spliced(range, "")).into_iter().collect()
}

fn stray_token(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let (begin, end) = ANSWER.split_at(ANSWER.len() - 1);
    let closers = [Key::CallEnd, Key::SectionEnd].map(|key| core(spec, key));
    let closers = closers.into_iter().filter(|core| is_special(core));
    closers.flat_map(|core| at_each(text, ANSWER, |_| [begin, core, end].concat())).collect()
}

/// The calls of a turn as an example after its answer.
fn code_fence(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let openers = [Key::SectionStart, Key::CallStart, Key::FunctionNamePrefix].map(|key| core(spec, key));
    let Some(open) = openers.into_iter().find(|core| !core.is_empty()) else { return Vec::new() };
    let Some(at) = text.find(open) else { return Vec::new() };
    let ends = [core(spec, Key::TurnEnd), "<|endoftext|>"].into_iter().filter(|end| !end.is_empty());
    let end = ends.filter_map(|end| text[at..].find(end)).min().map_or(text.len(), |end| at + end);
    let calls = text[at..end].trim_end();
    at_each(text, ANSWER, |answer| format!("{answer}\n```\n{calls}\n```\n"))
}

/// The closer of a key where that of a value belongs, and the other way round.
fn other_closer(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let (key, value) = (tag(spec, Key::ArgumentNameSuffix), tag(spec, Key::ArgumentValueSuffix));
    if !key.starts_with("</") || !value.starts_with("</") {
        return Vec::new();
    }
    [at_each(text, key, |_| value.to_owned()), at_each(text, value, |_| key.to_owned())].concat()
}

/// The closer of the function where that of a value belongs.
fn argument_after_closer(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let (value, function) = (tag(spec, Key::ArgumentValueSuffix), tag(spec, Key::FunctionClose));
    if value.is_empty() || function.is_empty() { Vec::new() } else { at_each(text, value, |_| function.to_owned()) }
}

/// No word before the token that announces a name.
fn missing_word(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let prefix = core(spec, Key::FunctionNamePrefix);
    let word = prefix.find('<').map_or("", |at| &prefix[..at]);
    if word.is_empty() { Vec::new() } else { at_each(text, prefix, |_| prefix[word.len()..].to_owned()) }
}

/// The closer of all calls before that of the last call.
fn outer_closer_first(spec: &FormatSpec, text: &str) -> Vec<Edits> {
    let (call, all) = (tag(spec, Key::CallEnd), tag(spec, Key::SectionEnd));
    let (Some(first), Some(second)) = (text.rfind(call), text.rfind(all)) else { return Vec::new() };
    if call.is_empty() || all.is_empty() || second <= first {
        return Vec::new();
    }
    vec![vec![(first..first + call.len(), all.to_owned()), (second..second + all.len(), call.to_owned())]]
}
