//! Says what does not fit, and what would.

use unjinja_runtime::literals::Start;

use crate::schema::{ARRAY, Alternative, BOOLEAN, Count, INTEGER, Limit, NULL, NUMBER, OBJECT, STRING, Table};

use super::check;
use super::frame::{Frame, Thread};
use super::scalar::Scalar;
use super::verdict::VerdictKind;

/// The maximum number of values, names or alternatives that a message spells out.
const SPELLED: usize = 8;

/// A verdict about arguments, without its call.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) path: String,
    pub(super) kind: VerdictKind,
    pub(super) expected: String,
    pub(super) found: String,
}

pub(super) fn malformed(path: String, expected: &str, found: Option<char>) -> Violation {
    let found = found.map_or_else(|| "the end of the arguments".to_owned(), |found| format!("{found:?}"));
    Violation { path, kind: VerdictKind::Malformed, expected: expected.to_owned(), found }
}

/// The member that is being read is not allowed.
pub(super) fn unknown_member(table: &Table, frame: &Frame, path: String) -> Violation {
    let mut names: Vec<&str> = Vec::new();
    for thread in frame.threads.iter().filter(|thread| thread.dying) {
        let node = frame.slots[thread.slot].node;
        let object = table.alternatives(node)[thread.alternative].object.as_ref();
        let members = object.into_iter().flat_map(|object| &object.members);
        names.extend(members.filter(|(_, node)| !table.is_nothing(**node)).map(|(name, _)| name.as_str()));
    }
    names.sort_unstable();
    names.dedup();
    let names = names.into_iter().map(|name| format!("`{name}`")).collect();
    let expected = match listed(names) {
        names if names.is_empty() => "no such member".to_owned(),
        names => format!("the member {names}"),
    };
    let cut = if frame.name_cut { "…" } else { "" };
    let found = format!("the member `{}{cut}`", frame.name);
    Violation { path, kind: VerdictKind::UnknownMember, expected, found }
}

/// The innermost value fits none of its alternatives: those that are dying are all that were left.
pub(super) fn violation(table: &Table, frame: &Frame, scalar: &Scalar, complete: bool, path: String) -> Violation {
    let mut kinds = Vec::new();
    let mut types = 0;
    let mut expected: Vec<String> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for thread in frame.threads.iter().filter(|thread| thread.live && thread.dying) {
        let alternative = &table.alternatives(frame.slots[thread.slot].node)[thread.alternative];
        let kind = kind(table, alternative, frame, thread, scalar);
        kinds.push(kind);
        match kind {
            VerdictKind::WrongType => types |= alternative.types,
            VerdictKind::MissingMember if missing.is_empty() => {
                missing = self::missing(alternative, frame);
                let names = missing.iter().take(SPELLED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                let member = if missing.len() == 1 { "member" } else { "members" };
                expected.push(format!("the {member} {names}"));
            }
            VerdictKind::MissingMember => {
                let names = self::missing(alternative, frame).into_iter().map(|name| format!("`{name}`"));
                expected.push(names.take(SPELLED).collect::<Vec<_>>().join(", "));
            }
            VerdictKind::MissingItem => {
                let lacking = alternative.array.as_ref().and_then(|array| check::lacking(array, thread));
                expected.push(format!("at least {} of the items that `contains` describes", lacking.unwrap_or(1)));
            }
            _ => expected.push(wanted(alternative, kind, frame)),
        }
    }
    let first = kinds.first().copied();
    let same = kinds.iter().all(|kind| Some(*kind) == first);
    let kind = first.filter(|_| same).unwrap_or(VerdictKind::NoAlternative);
    if types != 0 {
        expected.insert(0, type_names(types));
    }
    let mut unique: Vec<String> = Vec::new();
    for one in expected {
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    let kind = if unique.is_empty() { VerdictKind::NotListed } else { kind };
    let expected = if unique.is_empty() { "no value here".to_owned() } else { listed(unique) };
    Violation { path, kind, expected, found: found(frame, scalar, kind, complete) }
}

/// Why an alternative was ruled out.
fn kind(table: &Table, alternative: &Alternative, frame: &Frame, thread: &Thread, scalar: &Scalar) -> VerdictKind {
    if !check::has_type(alternative, frame.start) {
        return VerdictKind::WrongType;
    }
    match frame.start {
        Start::Null | Start::Boolean(_) => VerdictKind::NotListed,
        Start::String => {
            let too_long = alternative.length.max.is_some_and(|max| scalar.characters > u64::from(max));
            if !check::is_listed_so_far(alternative, thread) {
                VerdictKind::NotListed
            } else if too_long {
                VerdictKind::WrongLength
            } else if thread.runs.iter().any(|run| run.is_dead()) {
                VerdictKind::WrongPattern
            } else if scalar.characters < u64::from(alternative.length.min) {
                VerdictKind::WrongLength
            } else if !check::is_listed(alternative, thread, scalar) {
                VerdictKind::NotListed
            } else {
                VerdictKind::WrongPattern
            }
        }
        Start::Number => {
            let listed = check::may_be_listed(alternative, thread);
            if !listed || !check::is_listed_number(alternative, thread, &scalar.number) {
                VerdictKind::NotListed
            } else if check::wants_integer(alternative)
                && check::may_become(alternative, thread, &scalar.number)
                && !scalar.number.is_integer()
            {
                VerdictKind::WrongType
            } else {
                VerdictKind::OutOfRange
            }
        }
        Start::Array => {
            let array = alternative.array.as_ref();
            let enough = array.is_none_or(|array| frame.count >= array.count.min as usize);
            let lacks = enough && array.is_some_and(|array| check::lacking(array, thread).is_some());
            if lacks && check::counted(table, alternative, frame) {
                VerdictKind::MissingItem
            } else {
                VerdictKind::WrongItemCount
            }
        }
        Start::Object => {
            let count = alternative.object.as_ref().map(|object| object.count).unwrap_or_default();
            let too_many = count.max.is_some_and(|max| frame.count > max as usize);
            let missing = !too_many && !missing(alternative, frame).is_empty();
            if missing { VerdictKind::MissingMember } else { VerdictKind::WrongMemberCount }
        }
    }
}

fn missing<'t>(alternative: &'t Alternative, frame: &Frame) -> Vec<&'t str> {
    let required = alternative.object.iter().flat_map(|object| &object.required);
    let mut missing: Vec<&str> =
        required.filter(|(name, _)| !frame.has_seen(*name)).map(|(_, name)| name.as_str()).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// What an alternative requires.
fn wanted(alternative: &Alternative, kind: VerdictKind, frame: &Frame) -> String {
    match kind {
        VerdictKind::OutOfRange => range(alternative),
        VerdictKind::WrongLength => count(alternative.length, "characters"),
        VerdictKind::WrongPattern => {
            let names: Vec<&str> = alternative.patterns.iter().map(|pattern| pattern.name.as_str()).collect();
            format!("a string with the {}", names.join(" and the "))
        }
        VerdictKind::WrongItemCount => {
            let array = alternative.array.as_ref();
            let max = array.map(|array| array.count).unwrap_or_default();
            // Otherwise it is the schemas of items that allow no more.
            let most = u32::try_from(frame.count.saturating_sub(1)).unwrap_or(u32::MAX);
            let full = max.max.is_none_or(|max| frame.count <= max as usize) && frame.count >= max.min as usize;
            count(if full { Count { min: max.min, max: Some(most) } } else { max }, "items")
        }
        VerdictKind::WrongMemberCount => {
            count(alternative.object.as_ref().map(|object| object.count).unwrap_or_default(), "members")
        }
        _ => values(alternative),
    }
}

/// The listed values.
fn values(alternative: &Alternative) -> String {
    let Some(listed) = &alternative.listed else {
        let strings = alternative.excluded.iter().map(|string| format!("{string:?}"));
        let booleans = [false, true].into_iter().filter(|value| alternative.excluded_booleans[usize::from(*value)]);
        let excluded = strings.chain(booleans.map(|value| value.to_string()));
        return format!("a value other than {}", self::listed(excluded.take(SPELLED + 1).collect()));
    };
    let strings = listed.strings.iter().map(|string| format!("{string:?}"));
    let numbers = listed.numbers.iter().flatten().map(|number| number.text.clone());
    let booleans = [false, true].into_iter().filter(|value| listed.booleans[usize::from(*value)]);
    let null = (alternative.types & NULL != 0).then(|| "null".to_owned());
    let all = strings.chain(numbers).chain(booleans.map(|value| value.to_string())).chain(null);
    self::listed(all.take(SPELLED + 1).collect())
}

fn range(alternative: &Alternative) -> String {
    let side = |limit: &Option<Limit>, inclusive: &str, exclusive: &str| {
        let limit = limit.as_ref()?;
        Some(format!("{} {}", if limit.exclusive { exclusive } else { inclusive }, limit.value.text))
    };
    let (lower, upper) = (side(&alternative.lower, "at least", "above"), side(&alternative.upper, "at most", "below"));
    let sides: Vec<String> = lower.into_iter().chain(upper).collect();
    let name = if check::wants_integer(alternative) { "an integer" } else { "a number" };
    let of = if alternative.lower.as_ref().or(alternative.upper.as_ref()).is_some_and(|limit| limit.exclusive) {
        ""
    } else {
        "of "
    };
    format!("{name} {of}{}", sides.join(" and "))
}

fn count(count: Count, of: &str) -> String {
    match count {
        Count { min, max: Some(max) } if min == max => format!("exactly {min} {of}"),
        Count { min: 0, max: Some(max) } => format!("at most {max} {of}"),
        Count { min, max: Some(max) } => format!("{min} to {max} {of}"),
        Count { min, max: None } => format!("at least {min} {of}"),
    }
}

fn type_names(types: u8) -> String {
    let names = [
        (STRING, "a string"),
        (NUMBER, "a number"),
        (INTEGER, "an integer"),
        (BOOLEAN, "a boolean"),
        (NULL, "null"),
        (ARRAY, "an array"),
        (OBJECT, "an object"),
    ];
    let number = types & NUMBER == NUMBER;
    let names = names.into_iter().filter(|(bits, _)| types & bits == *bits && !(number && *bits == INTEGER));
    listed(names.map(|(_, name)| name.to_owned()).collect())
}

fn found(frame: &Frame, scalar: &Scalar, kind: VerdictKind, complete: bool) -> String {
    let more = if scalar.cut || !complete { "…" } else { "" };
    let members = |of: &str| format!("{} {of}{}", frame.count, if frame.count == 1 { "" } else { "s" });
    match frame.start {
        Start::Null => "null".to_owned(),
        Start::Boolean(value) if kind != VerdictKind::WrongType => value.to_string(),
        Start::Boolean(_) => "a boolean".to_owned(),
        Start::String if kind == VerdictKind::WrongType => "a string".to_owned(),
        Start::String if kind == VerdictKind::WrongLength => {
            format!("{} character{}{more}", scalar.characters, if scalar.characters == 1 { "" } else { "s" })
        }
        Start::String => format!("{:?}{more}", scalar.text),
        Start::Number if scalar.text.is_empty() => "a number".to_owned(),
        Start::Number => format!("{}{more}", scalar.text),
        Start::Array if kind == VerdictKind::WrongType => "an array".to_owned(),
        Start::Array => members("item"),
        Start::Object if kind == VerdictKind::MissingMember => "the end of the object".to_owned(),
        Start::Object if kind == VerdictKind::WrongType => "an object".to_owned(),
        Start::Object => members("member"),
    }
}

/// A list in words; long ones are cut.
fn listed(mut all: Vec<String>) -> String {
    let cut = all.len() > SPELLED;
    all.truncate(SPELLED);
    let last = if cut { Some("…".to_owned()) } else { all.pop() };
    match last {
        Some(last) if all.is_empty() => last,
        Some(last) if cut => format!("{}, {last}", all.join(", ")),
        Some(last) => format!("{} or {last}", all.join(", ")),
        None => String::new(),
    }
}
