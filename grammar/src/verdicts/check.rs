//! Whether a value may still fit an alternative, and whether it does once it is complete.

use unjinja_runtime::literals::Start;

use crate::schema::{
    ANYTHING, ARRAY, Alternative, ArrayRule, BOOLEAN, INTEGER, Magnitude, NULL, NUMBER, NodeId, OBJECT, STRING, Table,
};

use super::frame::{Frame, Thread};
use super::number::Number;
use super::scalar::Scalar;

/// The types that a value may have, as its first byte says.
fn types(start: Start) -> u8 {
    match start {
        Start::Null => NULL,
        Start::Boolean(_) => BOOLEAN,
        Start::Number => NUMBER,
        Start::String => STRING,
        Start::Array => ARRAY,
        Start::Object => OBJECT,
    }
}

/// Strings that the text of the value is compared with, sorted.
fn strings(alternative: &Alternative) -> &[String] {
    alternative.listed.as_ref().map_or(&alternative.excluded, |listed| &listed.strings)
}

/// The beginning of an alternative.
pub(super) fn thread(slot: usize, at: usize, alternative: &Alternative, start: Start) -> Thread {
    let text = start == Start::String;
    let listed = (0, if text { strings(alternative).len() } else { 0 });
    let runs = alternative.patterns.iter().filter(|_| text).map(|pattern| pattern.automaton.start()).collect();
    let contains = alternative.array.as_ref().map_or(0, |array| array.contains.len());
    let contained = if start == Start::Array { vec![0; contains] } else { Vec::new() };
    Thread { slot, alternative: at, live: true, dying: false, listed, runs, contained }
}

/// Whether the type fits.
pub(super) fn has_type(alternative: &Alternative, start: Start) -> bool {
    alternative.types & types(start) != 0
}

/// Whether a value may begin so.
pub(super) fn begins(alternative: &Alternative, start: Start) -> bool {
    let value = match start {
        Start::Boolean(value) => {
            let listed = alternative.listed.as_ref().is_none_or(|listed| listed.booleans[usize::from(value)]);
            listed && !alternative.excluded_booleans[usize::from(value)]
        }
        _ => true,
    };
    value && has_type(alternative, start)
}

/// Whether it depends on the text of a string or number.
pub(super) fn listens(alternative: &Alternative, start: Start) -> bool {
    match start {
        Start::String => {
            let listed = alternative.listed.is_some() || !alternative.excluded.is_empty();
            listed || !alternative.patterns.is_empty() || !alternative.length.is_any()
        }
        Start::Number => {
            let limited = alternative.lower.is_some() || alternative.upper.is_some();
            limited || alternative.listed.is_some() || wants_integer(alternative)
        }
        _ => false,
    }
}

/// Whether no fraction is allowed.
pub(super) fn wants_integer(alternative: &Alternative) -> bool {
    alternative.types & NUMBER == INTEGER
}

/// The node of an item.
pub(super) fn item(alternative: &Alternative, at: usize) -> NodeId {
    alternative.array.as_ref().map_or(ANYTHING, |array| array.item(at))
}

/// The nodes that some items must fit.
pub(super) fn contains(alternative: &Alternative) -> impl Iterator<Item = &NodeId> {
    alternative.array.iter().flat_map(|array| array.contains.iter().map(|(node, _)| node))
}

/// Whether this number of items or members is allowed.
pub(super) fn counted(table: &Table, alternative: &Alternative, frame: &Frame) -> bool {
    let within = |max: Option<u32>| max.is_none_or(|max| frame.count <= max as usize);
    match frame.start {
        Start::Array => alternative.array.as_ref().is_none_or(|array| {
            within(array.count.max) && !table.is_nothing(array.item(frame.count.saturating_sub(1)))
        }),
        _ => alternative.object.as_ref().is_none_or(|object| within(object.count.max)),
    }
}

/// The nodes of which a member's value has to fit one; none if there may be no such member. The name is `None` if it is
/// longer than all that are declared.
pub(super) fn member(table: &Table, alternative: &Alternative, name: Option<&str>, mut node: impl FnMut(NodeId)) {
    let Some(object) = &alternative.object else { return node(ANYTHING) };
    let mut some = |id| {
        if !table.is_nothing(id) {
            node(id);
        }
    };
    let Some(name) = name else {
        // It is not known which patterns match.
        return if object.patterned.is_empty() { object.others.into_iter().for_each(some) } else { some(ANYTHING) };
    };
    if let Some(&id) = object.members.get(name) {
        return some(id);
    }
    if object.names.is_some_and(|names| !text_fits(table, names, name)) {
        return;
    }
    for (automaton, id) in &object.patterned {
        if automaton.matches(name) {
            some(*id);
        }
    }
    object.others.into_iter().for_each(some);
}

/// Whether a text fits a node, as a string.
fn text_fits(table: &Table, node: NodeId, text: &str) -> bool {
    let fits = |alternative: &Alternative| {
        let count = text.chars().count();
        let length = alternative.length;
        begins(alternative, Start::String)
            && alternative.listed.as_ref().is_none_or(|listed| listed.strings.iter().any(|string| string == text))
            && !alternative.excluded.iter().any(|string| string == text)
            && count >= length.min as usize
            && length.max.is_none_or(|max| count <= max as usize)
            && alternative.patterns.iter().all(|pattern| pattern.automaton.matches(text))
    };
    table.is_anything(node) || table.alternatives(node).iter().any(fits)
}

/// Reads a character of a string. `from` is its place, in bytes.
pub(super) fn read(alternative: &Alternative, thread: &mut Thread, character: char, from: usize) {
    let strings = strings(alternative);
    for (at, &byte) in character.encode_utf8(&mut [0; 4]).as_bytes().iter().enumerate() {
        let (first, last) = thread.listed;
        let all = &strings[first..last];
        let place = |string: &String| string.as_bytes().get(from + at).copied();
        let before = all.partition_point(|string| place(string) < Some(byte));
        let until = all.partition_point(|string| place(string) <= Some(byte));
        thread.listed = (first + before, first + until);
    }
    for (pattern, run) in alternative.patterns.iter().zip(&mut thread.runs) {
        pattern.automaton.read(run, character);
    }
}

/// Whether a string that begins so may fit.
pub(super) fn may_be(alternative: &Alternative, thread: &Thread, scalar: &Scalar) -> bool {
    is_listed_so_far(alternative, thread)
        && alternative.length.max.is_none_or(|max| scalar.characters <= u64::from(max))
        && !thread.runs.iter().any(|run| run.is_dead())
}

/// Whether a listed string or number begins like the value.
pub(super) fn is_listed_so_far(alternative: &Alternative, thread: &Thread) -> bool {
    alternative.listed.is_none() || thread.listed.0 < thread.listed.1
}

/// The listed numbers of a sign.
fn numbers<'t>(alternative: &'t Alternative, number: &Number) -> &'t [Magnitude] {
    alternative.listed.as_ref().map_or(&[], |listed| &listed.numbers[usize::from(number.negative)])
}

/// Reads the last digit of a number.
pub(super) fn count(alternative: &Alternative, thread: &mut Thread, number: &Number) {
    let numbers = numbers(alternative, number);
    let Some((at, digit)) = number.last() else {
        if number.is_unsized() {
            thread.listed = (0, numbers.len());
        }
        return;
    };
    let (first, last) = if at == 0 { (0, numbers.len()) } else { thread.listed };
    let all = &numbers[first..last];
    let before = all.partition_point(|listed| listed.digit(at) < digit);
    let until = all.partition_point(|listed| listed.digit(at) <= digit);
    thread.listed = (first + before, first + until);
}

/// Whether a number that begins so may fit.
pub(super) fn may_become(alternative: &Alternative, thread: &Thread, number: &Number) -> bool {
    may_be_listed(alternative, thread)
        && alternative.lower.as_ref().is_none_or(|lower| number.may_be_above(lower))
        && alternative.upper.as_ref().is_none_or(|upper| number.may_be_below(upper))
}

/// Whether a number that begins so may be among those listed.
pub(super) fn may_be_listed(alternative: &Alternative, thread: &Thread) -> bool {
    is_listed_so_far(alternative, thread) || alternative.listed.as_ref().is_some_and(|listed| listed.other_numbers)
}

/// Whether a value, now complete, fits.
pub(super) fn is(alternative: &Alternative, frame: &Frame, thread: &Thread, scalar: &Scalar) -> bool {
    match frame.start {
        Start::Null | Start::Boolean(_) => true,
        Start::String => {
            !listens(alternative, frame.start)
                || (is_listed(alternative, thread, scalar)
                    && scalar.characters >= u64::from(alternative.length.min)
                    && thread.runs.iter().all(|run| run.matches()))
        }
        Start::Number => {
            let number = &scalar.number;
            is_listed_number(alternative, thread, number)
                && (!wants_integer(alternative) || number.is_integer())
                && alternative.lower.as_ref().is_none_or(|lower| number.is_above(lower))
                && alternative.upper.as_ref().is_none_or(|upper| number.is_below(upper))
        }
        Start::Array => {
            let enough = |array: &ArrayRule| frame.count >= array.count.min as usize;
            alternative.array.as_ref().is_none_or(|array| enough(array) && lacking(array, thread).is_none())
        }
        Start::Object => alternative.object.as_ref().is_none_or(|object| {
            frame.count >= object.count.min as usize && object.required.iter().all(|(name, _)| frame.has_seen(*name))
        }),
    }
}

/// How many items an array, now complete, should have that fit `contains`, if it has fewer.
pub(super) fn lacking(array: &ArrayRule, thread: &Thread) -> Option<u32> {
    let mut pairs = array.contains.iter().zip(&thread.contained);
    pairs.find(|((_, times), contained)| contained < &times).map(|((_, times), _)| *times)
}

/// Whether a string, now complete, is among those listed, or among none that are excluded.
pub(super) fn is_listed(alternative: &Alternative, thread: &Thread, scalar: &Scalar) -> bool {
    let (first, last) = thread.listed;
    // Of strings that begin alike, the shortest comes first.
    let found = strings(alternative)[first..last].first().is_some_and(|string| string.len() == scalar.bytes);
    found == alternative.listed.is_some()
}

/// Whether a number, now complete, is among those listed.
pub(super) fn is_listed_number(alternative: &Alternative, thread: &Thread, number: &Number) -> bool {
    let Some(listed) = &alternative.listed else { return true };
    let (first, last) = thread.listed;
    listed.other_numbers || numbers(alternative, number)[first..last].iter().any(|one| number.compare(one).is_eq())
}
