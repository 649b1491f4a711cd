//! The functions that JavaScript calls. Texts and bytes go through buffers of this module: JavaScript asks where a buffer is,
//! writes what it hands over, and reads the answer there. So no function takes a pointer, and none has an unsafe block.
//!
//! | buffer | what |
//! |---|---|
//! | input | what JavaScript hands over; for `call`, a list `[operation, arguments]` in JSON, and then other bytes |
//! | output | the answer of a call in JSON; for `push` and `finish`, the texts of all events, one after the other |
//! | records | four numbers for each event: its kind, an index, and the lengths of its two texts |

#![allow(unsafe_code, reason = "exported names")]

use std::cell::RefCell;

use serde_json::Value;
use unjinja_bindings::Step;
use unjinja_dynamic::{CallIds, Chunk, Event};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::objects::Objects;
use crate::{messages, operations};

/// All that the module remembers.
#[derive(Default)]
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
    records: Vec<u32>,
    objects: Objects,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// The answer of a call: it failed.
const FAILED: u32 = u32::MAX;

/// An absent text in a record.
const ABSENT: u32 = u32::MAX;

/// Where a buffer is. Memory of WebAssembly has 32 bits.
fn address<T>(buffer: &[T]) -> u32 {
    u32::try_from(buffer.as_ptr().addr()).unwrap_or(0)
}

fn length(text: &[u8]) -> u32 {
    u32::try_from(text.len()).unwrap_or(ABSENT)
}

/// Makes the input buffer at least this long, and says where it is. It stays there until it is made longer.
#[unsafe(no_mangle)]
pub extern "C" fn input(size: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        let size = size as usize;
        if state.input.len() < size {
            state.input.resize(size, 0);
        }
        address(&state.input)
    })
}

/// Where the output is.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> u32 {
    STATE.with_borrow(|state| address(&state.output))
}

/// How long the output is.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> u32 {
    STATE.with_borrow(|state| length(&state.output))
}

/// Where the records are.
#[unsafe(no_mangle)]
pub extern "C" fn records() -> u32 {
    STATE.with_borrow(|state| address(&state.records))
}

/// Gives the buffers back to the allocator, if they are larger than anybody needs for a stream.
#[unsafe(no_mangle)]
pub extern "C" fn shrink() {
    STATE.with_borrow_mut(|state| {
        (state.input, state.output, state.records) = Default::default();
    });
}

/// Gives the seed of ids: there is no clock here, and no source of random numbers.
#[unsafe(no_mangle)]
pub extern "C" fn seed(high: u32, low: u32) {
    CallIds::seed(u64::from(high) << 32 | u64::from(low));
}

/// How many objects there are.
#[unsafe(no_mangle)]
pub extern "C" fn objects() -> u32 {
    STATE.with_borrow(|state| u32::try_from(state.objects.len()).unwrap_or(u32::MAX))
}

/// Removes an object.
#[unsafe(no_mangle)]
pub extern "C" fn free(number: u32) {
    STATE.with_borrow_mut(|state| state.objects.remove(number));
}

/// Runs an operation on the object of this number. The first `head` bytes of the input are the list `[operation, arguments]`, and
/// the others up to `total` come apart. Returns 0, or [`FAILED`] with the failure in the output.
#[unsafe(no_mangle)]
pub extern "C" fn call(number: u32, head: u32, total: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        let State { input, output, objects, .. } = state;
        let all = input.get(..total as usize).unwrap_or_default();
        let (head, bytes) = all.split_at(all.len().min(head as usize));
        let result = unjinja_render::without_threads(|| {
            let (name, arguments) = head_of(head)?;
            operations::run(objects, &name, number, Arguments::new(arguments), bytes)
        });
        output.clear();
        match result {
            Ok(value) => {
                output.extend_from_slice(value.as_bytes());
                0
            }
            Err(failure) => {
                output.extend_from_slice(failure.to_json().as_bytes());
                FAILED
            }
        }
    })
}

/// The operation and its arguments.
fn head_of(head: &[u8]) -> Result<(String, Value), Failure> {
    match serde_json::from_slice(head) {
        Ok(Value::Array(list)) => {
            let mut list = list.into_iter();
            match (list.next(), list.next()) {
                (Some(Value::String(name)), arguments) => Ok((name, arguments.unwrap_or_default())),
                _ => Err(Failure::request("a call is a list of an operation and its arguments")),
            }
        }
        Ok(_) => Err(Failure::request("a call is a list of an operation and its arguments")),
        // JavaScript writes JSON, so this is about depth, or about half a character.
        Err(error) => {
            let is_deep = error.to_string().contains("recursion limit");
            let next = if is_deep {
                "hand over values that are nested less deep"
            } else {
                "write whole characters: half a surrogate pair is none"
            };
            Err(Failure::request(format!("the arguments cannot be read: {error}\n  = next: {next}")))
        }
    }
}

/// Reads more of the output: the first `length` bytes of the input. `kind` is 0 for a text, 1 for a token, and 2 for a special
/// token. Returns the number of events, or [`FAILED`] with the failure in the output.
#[unsafe(no_mangle)]
pub extern "C" fn push(number: u32, length: u32, kind: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        let input = std::mem::take(&mut state.input);
        let piece = Chunk::from(input.get(..length as usize).unwrap_or_default());
        let step = match kind {
            0 => Step::Push(piece),
            kind => Step::token(piece, kind == 2),
        };
        let count = step_of(state, number, step);
        state.input = input;
        count
    })
}

/// The output is over. Returns the number of events, or [`FAILED`] with the failure in the output.
#[unsafe(no_mangle)]
pub extern "C" fn finish(number: u32) -> u32 {
    STATE.with_borrow_mut(|state| step_of(state, number, Step::Finish))
}

fn step_of(state: &mut State, number: u32, step: Step<'_>) -> u32 {
    let State { output, records, objects, .. } = state;
    output.clear();
    records.clear();
    match objects.turn(number) {
        Ok(turn) => {
            turn.borrow_mut().reader.run(step, |event| record(event, records, output));
            u32::try_from(records.len() / 4).unwrap_or(0)
        }
        Err(failure) => {
            output.extend_from_slice(failure.to_json().as_bytes());
            FAILED
        }
    }
}

/// Writes an event. The kinds are numbered as `KINDS` of `lib/instance.js` lists them.
fn record(event: &Event<'_>, records: &mut Vec<u32>, texts: &mut Vec<u8>) {
    let sentence;
    let (kind, index, one, other): (u32, usize, &str, Option<&str>) = match event {
        Event::Reasoning(text) => (0, 0, text, None),
        Event::Content(text) => (1, 0, text, None),
        Event::Unparsed(text) => (2, 0, text, None),
        Event::ToolCallStart { index, name, id } => (3, *index, name, *id),
        Event::ToolCallId { index, id } => (4, *index, id, None),
        Event::ToolCallArguments { index, json } => (5, *index, json, None),
        Event::ToolCallEnd { index, complete } => (6, *index, "", complete.then_some("")),
        Event::Diagnostic(diagnostic) => {
            sentence = messages::diagnostic(diagnostic).to_string();
            (7, 0, &*sentence, None)
        }
        _ => return,
    };
    texts.extend_from_slice(one.as_bytes());
    texts.extend_from_slice(other.unwrap_or_default().as_bytes());
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    let other = other.map_or(ABSENT, |text| length(text.as_bytes()));
    records.extend([kind, index, length(one.as_bytes()), other]);
}
