//! Checks that no byte of an output was lost: the reported texts occur in it in order, with nothing between them but the
//! markers of the format and their white space.
//!
//! The check knows the markers of the spec and nothing about the parser, so it is lenient where only a parser could decide:
//! inside a call it looks for the name, and for the arguments if they are JSON as the model wrote it.

use std::collections::BTreeSet;

use unjinja::testing::{Piece, Transcript, bytes_from_prompt};
use unjinja::{Diagnostic, DiagnosticKind, Options};
use unjinja_spec::{MarkerKey, MarkerText, REPEATED_NAME, ToolFormat};

use crate::models::Model;

/// The reported parts, in the form that the check needs.
enum ReportedPart {
    Text(Vec<u8>),
    /// `mended`: the arguments were malformed, and may be other JSON than the model wrote.
    Call {
        name: Vec<u8>,
        arguments: Vec<u8>,
        complete: bool,
        mended: bool,
    },
}

/// Checks that a transcript accounts for every byte of a text.
///
/// # Errors
/// How far it does.
pub fn check(model: &Model, options: &Options, text: &[u8], found: &Transcript) -> Result<(), String> {
    let text = String::from_utf8_lossy(text).into_owned();
    let parts = parts(found);
    let mut best = 0;
    for read in read_before(model, options) {
        let whole = [read.as_bytes(), text.as_bytes()].concat();
        match Judge::new(model, &whole, &parts).run() {
            Ok(()) => return Ok(()),
            Err(at) => best = best.max(at.saturating_sub(read.len())),
        }
    }
    let at = (0..=best.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    Err(format!("not accounted for after byte {at}: {:?}\n  of {text:?}\n  found {:?}", &text[at..], found.events))
}

/// Texts that the end of the prompt may have contributed, one of these.
fn read_before(model: &Model, options: &Options) -> BTreeSet<String> {
    let length = bytes_from_prompt(&*model.parser.stream(options));
    let mut reads = BTreeSet::new();
    if length == 0 {
        reads.insert(String::new());
    }
    let entries = &model.parser.program().entries;
    reads.extend(entries.iter().map(|entry| entry.read.to_string()).filter(|read| read.len() == length));
    let starts =
        model.spec.generation_prompt.iter().map(|prompt| &prompt.text).chain([&model.spec.turn.assistant_start]);
    reads.extend(starts.filter_map(|text| text.get(text.len().checked_sub(length)?..).map(str::to_owned)));
    reads
}

fn parts(found: &Transcript) -> Vec<ReportedPart> {
    let mut parts = Vec::new();
    let is_malformed = |one: &Diagnostic| one.kind == DiagnosticKind::MalformedArguments;
    for event in &found.events {
        match (event, parts.last_mut()) {
            (Piece::Reasoning(text) | Piece::Content(text) | Piece::Unparsed(text), _) => {
                parts.push(ReportedPart::Text(text.clone().into_bytes()))
            }
            (Piece::Start(index, name, _), _) => {
                let name = name.clone().into_bytes();
                let mut diagnostics = found.message.diagnostics.iter();
                let mended = diagnostics.any(|one| is_malformed(one) && one.call == Some(*index));
                parts.push(ReportedPart::Call { name, arguments: Vec::new(), complete: false, mended });
            }
            (Piece::Arguments(_, json), Some(ReportedPart::Call { arguments, .. })) => arguments.extend(json.bytes()),
            (Piece::End(_, true), Some(ReportedPart::Call { complete, .. })) => *complete = true,
            _ => {}
        }
    }
    parts
}

/// The markers that repeat the function's name, with the names of the reported calls.
fn with_names(model: &Model, parts: &[ReportedPart]) -> Vec<String> {
    let name = |part: &ReportedPart| match part {
        ReportedPart::Call { name, .. } => Some(String::from_utf8_lossy(name).into_owned()),
        ReportedPart::Text(_) => None,
    };
    let names: BTreeSet<String> = parts.iter().filter_map(name).collect();
    let repeats = model.spec.markers().filter(|(key, text)| key.may_repeat_name() && text.contains(REPEATED_NAME));
    repeats.flat_map(|(_, text)| names.iter().map(|name| text.replace(REPEATED_NAME, name))).collect()
}

struct Judge<'a> {
    model: &'a Model,
    text: &'a [u8],
    parts: &'a [ReportedPart],
    /// For each place, where a marker that begins there may end, white space before and after it included.
    after_marker: Vec<Vec<usize>>,
    /// For each place, whether a closed call may end there.
    may_end: Vec<bool>,
}

/// A state of the check: the number of whole parts found, and of bytes of the next one.
type State = (usize, usize);

impl<'a> Judge<'a> {
    fn new(model: &'a Model, text: &'a [u8], parts: &'a [ReportedPart]) -> Self {
        let with_names = with_names(model, parts);
        let markers = model.markers.iter().chain(&with_names).map(|marker| marker.trim());
        // A server may stop in the end of the turn.
        let spec = &model.spec;
        let ends = spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten().chain([&spec.turn.end]);
        let ends = ends.flat_map(|end| MarkerText::new(end).beginnings());
        let mut cores: Vec<&[u8]> = markers.chain(ends).map(str::as_bytes).collect();
        cores.retain(|core| !core.is_empty());
        cores.dedup();
        let space = |at: usize| text[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let mut after_marker = vec![Vec::new(); text.len() + 1];
        let mut may_end = vec![false; text.len() + 1];
        for from in (0..text.len()).rev() {
            let start = from + space(from);
            if start > from {
                after_marker[from] = after_marker[start].clone();
                continue;
            }
            for core in cores.iter().filter(|core| text[start..].starts_with(core)) {
                let end = start + core.len();
                after_marker[from].extend(end..=end + space(end));
                may_end[end..=end + space(end)].fill(true);
            }
            if matches!(text[start], b'}' | b']' | b')') {
                may_end[start + 1..=start + 1 + space(start + 1)].fill(true);
            }
        }
        for at in 0..=text.len() {
            may_end[at] |= at == text.len() || !after_marker[at].is_empty();
        }
        Self { model, text, parts, after_marker, may_end }
    }

    /// Follows all possible assignments at once. If none reaches the end, returns how far they got.
    fn run(&self) -> Result<(), usize> {
        let mut at: Vec<BTreeSet<State>> = vec![BTreeSet::new(); self.text.len() + 1];
        at[0].insert((0, 0));
        let mut furthest = 0;
        for from in 0..=self.text.len() {
            let mut open: Vec<State> = at[from].iter().copied().collect();
            while let Some(state) = open.pop() {
                furthest = from;
                // A part that is used up is followed by the next one without reading a byte.
                if let Some(ReportedPart::Text(text)) = self.parts.get(state.0)
                    && state.1 == text.len()
                    && at[from].insert((state.0 + 1, 0))
                {
                    open.push((state.0 + 1, 0));
                }
                for (to, next) in self.steps(from, state) {
                    if at[to].insert(next) && to == from {
                        open.push(next);
                    }
                }
            }
        }
        let done = |state: &State| *state == (self.parts.len(), 0);
        if at[self.text.len()].iter().any(done) { Ok(()) } else { Err(furthest) }
    }

    fn steps(&self, from: usize, state: State) -> Vec<(usize, State)> {
        let mut steps: Vec<(usize, State)> = self.after_marker[from].iter().map(|&to| (to, state)).collect();
        match self.parts.get(state.0) {
            Some(ReportedPart::Text(text))
                if text.get(state.1).is_some_and(|byte| self.text.get(from) == Some(byte)) =>
            {
                steps.push((from + 1, (state.0, state.1 + 1)));
            }
            Some(ReportedPart::Call { name, arguments, complete, mended }) => {
                for to in self.call_ends(from, name, arguments, *complete, *mended) {
                    let inside = self.text_inside(&self.text[from..to], state.0 + 1);
                    steps.extend((0..=inside).map(|count| (to, (state.0 + 1, count))));
                }
            }
            _ => {}
        }
        steps
    }

    /// How much of a part may be inside the text of the call before it: members of the call's object that the format does
    /// not know are reported after the call.
    fn text_inside(&self, call: &[u8], part: usize) -> usize {
        // A model may write an object in place of tags.
        let is_object = matches!(self.model.spec.tools.format, ToolFormat::JsonNative | ToolFormat::TagWithJson)
            || call.trim_ascii_start().starts_with(b"{")
            || call.windows(2).any(|pair| pair == b"{\"");
        let Some(ReportedPart::Text(text)) = self.parts.get(part).filter(|_| is_object) else { return 0 };
        let mut rest = call.iter();
        text.iter().take_while(|byte| rest.any(|other| other == *byte)).count()
    }

    /// The places where a call that begins here may end.
    fn call_ends(
        &self,
        from: usize,
        name: &[u8],
        arguments: &[u8],
        complete: bool,
        mended: bool,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let find = |part: &[u8]| {
            let at = self.text[from..].windows(part.len().max(1)).position(|window| window == part);
            at.map(|at| from + at + part.len())
        };
        let is_json = match self.model.spec.tools.format {
            ToolFormat::JsonNative | ToolFormat::TagWithJson => !self.model.spec.tools.uses_python_dicts,
            _ => false,
        };
        // A model may write a Python dict in place of JSON.
        let begins_dict = |part: &[u8]| part.starts_with(b"{'") || part.starts_with(b"{ '");
        let is_json = is_json && !(from..self.text.len()).any(|at| begins_dict(&self.text[at..]));
        // A name may contain escapes. Arguments that the model wrote as JSON occur as they are, or inside a string.
        let mut least = Some(find(name).unwrap_or(from));
        if is_json && !arguments.is_empty() && arguments != b"{}" {
            let rest = &self.text[from..];
            let rewritten = || find_unescaped(rest, arguments).or_else(|| find_escaped(rest, arguments));
            let words = || mended.then(|| find_words(rest, arguments)).flatten();
            let found = find(arguments).or_else(|| rewritten().or_else(words).map(|at| from + at));
            least = least.and_then(|least| Some(least.max(found?)));
        }
        let first = least.unwrap_or(self.text.len() + 1);
        let arguments = arguments.to_vec();
        // A quote closes arguments that are a text.
        let quoted = self.text.get(first) == Some(&b'"');
        let fits = move |&to: &usize| {
            let after_quote = quoted && to == first + 1;
            to > from
                && (!complete
                    || to == first
                    || after_quote
                    || self.text[..to].ends_with(&arguments)
                    || self.may_end[to])
        };
        (first..=self.text.len()).filter(fits)
    }
}

/// The end of a part whose words the text contains, those of Python in place of those of JSON.
fn find_words(text: &[u8], part: &[u8]) -> Option<usize> {
    let ((words, ends), (part, _)) = (words(text), words(part));
    let start = words.windows(part.len().max(1)).position(|window| window == part)?;
    ends.get(start + part.len().checked_sub(1)?).copied()
}

/// The letters and digits of a text with the words of JSON in place of those of Python, and where each ends in the text.
fn words(text: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut words, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(&byte) = text.get(at) {
        // Mending writes escapes.
        if byte == b'\\' {
            at += if text.get(at + 1) == Some(&b'u') { 6 } else { 2 };
            continue;
        }
        let python = [(&b"None"[..], &b"null"[..]), (b"True", b"true"), (b"False", b"false")];
        let word = python.iter().find(|(python, _)| text[at..].starts_with(python));
        let (taken, length) = word.map_or((&text[at..=at], 1), |(python, json)| (*json, python.len()));
        at += length;
        if byte.is_ascii_alphanumeric() {
            words.extend_from_slice(taken);
            ends.resize(words.len(), at);
        }
    }
    (words, ends)
}

/// The end of a part that has escapes where the text has control characters, or backslashes that make no escape.
fn find_escaped(text: &[u8], part: &[u8]) -> Option<usize> {
    let end = |from: usize| {
        let (mut at, mut rest) = (from, part);
        while !rest.is_empty() {
            let byte = *text.get(at)?;
            let escape = serde_json::Value::from(char::from(byte).to_string()).to_string();
            let escape = escape.trim_matches('"').as_bytes();
            let (after, length) = match (byte, text.get(at + 1)) {
                (b'\\', Some(b'\'')) => (rest.strip_prefix(br"\u0027").or_else(|| rest.strip_prefix(br"\'")), 2),
                (b'\\', Some(next)) if br#""\/bfnrtu"#.contains(next) => (rest.strip_prefix(&[byte, *next]), 2),
                (b'\\', Some(_)) => (rest.strip_prefix(br"\\").or_else(|| rest.strip_prefix(br"\")), 1),
                _ => (rest.strip_prefix(&[byte]), 1),
            };
            rest = after.or_else(|| rest.strip_prefix(escape).filter(|_| byte < b' '))?;
            at += length;
        }
        Some(at)
    };
    (0..text.len()).find_map(end)
}

/// The end of a part that the text contains with JSON escapes.
fn find_unescaped(text: &[u8], part: &[u8]) -> Option<usize> {
    let (mut bytes, mut ends, mut at) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = text.get(at) {
        let digits = |at: usize| text.iter().skip(at).take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let hex = |at: usize| {
            let digits = std::str::from_utf8(text.get(at..at + 4).filter(|_| digits(at) == 4)?).ok()?;
            u32::from_str_radix(digits, 16).ok()
        };
        let (char, length) = match (byte, text.get(at + 1)) {
            (b'\\', Some(b'n')) => (Some('\n'), 2),
            (b'\\', Some(b't')) => (Some('\t'), 2),
            (b'\\', Some(b'r')) => (Some('\r'), 2),
            (b'\\', Some(b'b')) => (Some('\u{8}'), 2),
            (b'\\', Some(b'f')) => (Some('\u{c}'), 2),
            (b'\\', Some(b'"' | b'\\' | b'/')) => (text.get(at + 1).map(|&byte| char::from(byte)), 2),
            (b'\\', Some(b'u')) => match (hex(at + 2), text.get(at + 6..at + 8), hex(at + 8)) {
                (Some(high @ 0xD800..0xDC00), Some(b"\\u"), Some(low @ 0xDC00..0xE000)) => {
                    (char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)), 12)
                }
                (Some(code), ..) => (Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)), 6),
                // An escape that lacks digits is one character.
                (None, ..) => (Some(char::REPLACEMENT_CHARACTER), 2 + digits(at + 2)),
            },
            _ => (None, 1),
        };
        at += length;
        match char {
            Some(char) => bytes.extend(char.encode_utf8(&mut [0; 4]).bytes()),
            None => bytes.push(byte),
        }
        ends.resize(bytes.len(), at);
    }
    let start = bytes.windows(part.len().max(1)).position(|window| window == part)?;
    ends.get(start + part.len().checked_sub(1)?).copied()
}
