//! Where the model's output begins: what the prompt has written of the assistant's turn.

use crate::message::Channel;
use crate::options::Options;
use crate::program::{Action, Entry, Marker, Origin, Program, State, Transition, is_special_token};

/// Where the model's output begins, and the text of the prompt that is already part of the message.
pub fn enter<'e, 'o>(program: &'e Program, options: &'o Options) -> (Option<&'e Entry>, &'o str) {
    let (entries, assistant_start) = (&*program.entries, &*program.info.assistant_start);
    let usual = || {
        let wanted = entries.iter().find(|e| e.thinking == options.thinking);
        let wanted = wanted.or_else(|| entries.iter().find(|e| e.thinking.is_none()));
        (wanted.or(entries.first()), "")
    };
    let Some(prompt) = options.generation_prompt.as_deref() else { return usual() };
    // What opens the turn; white space before it may belong to the message before.
    let start = match assistant_start.trim_start() {
        "" => program.info.user_end.trim_start(),
        start => start,
    };
    // The assistant's turn begins at the last marker that opens one. A turn of several messages begins with such a
    // marker and is taken whole, unless a user's message is in it.
    let (user_start, turn_start) = (program.info.user_start.trim(), last_of(prompt, start));
    let has_user = || !user_start.is_empty() && has(prompt, user_start);
    let turn = match turn_start {
        Some(at) if at == 0 || !prompt.starts_with(start) || has_user() => prompt.get(at..).unwrap_or(prompt),
        _ => prompt,
    };
    let rest = turn.strip_prefix(start).unwrap_or(turn);
    // What follows an entry's text; a generation prompt may leave out what opens the turn.
    let after = |entry: &Entry| {
        let text = entry.text.trim_start();
        if text.starts_with(start) { turn.strip_prefix(text) } else { rest.strip_prefix(text) }
    };
    let longest = entries.iter().filter(|entry| after(entry).is_some()).max_by_key(|entry| entry.text.len());
    let is_unknown = match start {
        "" => !turn.is_empty() && (has_user() || longest.is_none_or(|entry| entry.text.trim().is_empty())),
        _ => turn_start.is_none(),
    };
    let ends_turn = |text: &str| !text.is_empty() && ends_turn(program, text);
    if is_unknown {
        let ends = |entry: &&Entry| !entry.text.trim().is_empty() && prompt.ends_with(entry.text.trim_start());
        let ending = entries.iter().filter(ends).max_by_key(|entry| entry.text.len()).map(|entry| (Some(entry), ""));
        // Only the end of a generation prompt is given.
        let is_end = |entry: &&Entry| !prompt.trim().is_empty() && entry.text.trim_end().ends_with(prompt.trim_end());
        let ending = ending.or_else(|| entries.iter().find(is_end).map(|entry| (Some(entry), "")));
        let entered = ending.or_else(|| enter_unknown(program, prompt));
        // Messages that end before the turn has begun say nothing about it.
        let rest = || if has_user() || ends_turn(turn) { "" } else { after_foreign_tokens(program, turn) };
        return entered.unwrap_or_else(|| (longest, rest()));
    }
    // Nothing but a user's message opens turns, and a turn is over: the result of a call may follow it.
    if assistant_start.trim().is_empty() && ends_turn(rest) {
        return usual();
    }
    // Another prompt than the template writes: it closes reasoning that it does not open.
    if !rest.is_empty()
        && cores(program, Action::CloseReasoning).any(|core| rest.trim() == core)
        && let Some(entered) = enter_unknown(program, prompt)
    {
        return entered;
    }
    let known = longest.and_then(|entry| Some((entry, after(entry)?)));
    let opens_later = |entry: &Entry| entry.text.trim_start() == start && entry.channel == Channel::Reasoning;
    match known.filter(|(entry, rest)| rest.is_empty() || !opens_later(entry)) {
        Some((entry, rest)) => (Some(entry), rest),
        None => (None, rest),
    }
}

/// The same for a prompt that does not open the turn as the spec says. If it ends with a marker that opens or closes
/// reasoning, that says where the output begins.
fn enter_unknown<'e, 'o>(program: &'e Program, prompt: &'o str) -> Option<(Option<&'e Entry>, &'o str)> {
    let end = prompt.trim_end();
    let cores = |action| cores(program, action);
    let last = |text: &str, action: Action| cores(action).find(|core| text.ends_with(core)).map(str::len);
    if let Some(opener) = last(end, Action::OpenReasoning) {
        return Some((None, &prompt[end.len() - opener..]));
    }
    let before = end[..end.len() - last(end, Action::CloseReasoning)?].trim_end();
    // A prompt that holds the reasoning itself is a part of the message, if it is known to begin with the turn.
    let holds = || cores(Action::OpenReasoning).any(|opener| has(before, opener) && !before.ends_with(opener));
    if program.info.assistant_start.is_empty() && holds() {
        return None;
    }
    Some((program.entries.iter().find(|entry| entry.channel == Channel::Content && entry.read.is_empty()), ""))
}

/// The markers with which a template does this.
fn cores(program: &Program, action: Action) -> impl Iterator<Item = &str> {
    let arrows = program.states.iter().flat_map(State::arrows);
    let does = arrows.filter(move |(_, step)| step.origin == Origin::Canonical && step.does(&action));
    does.map(|(marker, _)| &*marker.core).filter(|core| !core.is_empty())
}

/// Bytes of a special token, at most.
const LONGEST_TOKEN: usize = 96;

/// The part of a prompt that may belong to the message: what follows the last special token that is no marker of the format,
/// unless that is the name of a role on a line of its own. Such a token ends the message before, or opens the turn.
fn after_foreign_tokens<'o>(program: &Program, prompt: &'o str) -> &'o str {
    let is_marker = |token: &str| {
        let mut arrows = program.states.iter().flat_map(State::arrows);
        let reads = |(marker, step): (&Marker, &Transition)| {
            step.origin == Origin::Canonical && !marker.confirm.is_end() && has(&marker.core, token)
        };
        arrows.any(reads)
    };
    let mut rest = prompt;
    for (at, open) in prompt.match_indices(['<', '[']) {
        let close = if open == "<" { b'>' } else { b']' };
        let Some(length) = prompt[at..].bytes().take(LONGEST_TOKEN).position(|byte| byte == close) else { continue };
        let token = &prompt[at..=at + length];
        if is_special_token(token.as_bytes()) && !is_marker(token) {
            rest = &prompt[at + token.len()..];
        }
    }
    // White space after such a token belongs to the prompt, too.
    let role = rest.trim();
    let is_role = role.is_empty() || rest.ends_with('\n') && role.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if rest.len() < prompt.len() && is_role { "" } else { rest }
}

/// Whether a text that ends a turn, and is not within another marker, is in this one.
fn ends_turn(program: &Program, text: &str) -> bool {
    let written = || {
        let arrows = program.states.iter().flat_map(State::arrows);
        arrows.filter(|(_, step)| step.origin == Origin::Canonical).map(|(marker, _)| marker)
    };
    let within = |core: &str| written().any(|other| !other.confirm.is_end() && has(&other.core, core));
    written().any(|marker| marker.confirm.is_end() && has(text, &marker.core) && !within(&marker.core))
}

/// Whether a text that is not empty is in another.
fn has(text: &str, part: &str) -> bool {
    last_of(text, part).is_some()
}

/// The offset of the last occurrence of a text in another. Prompts have their last turn near their end, so a simple search
/// backwards is fast; that of the standard library would be linked for this alone (9 KiB).
fn last_of(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let first = *part.first()?;
    (0..text.len()).rev().find(|&at| text[at] == first && text[at..].starts_with(part))
}
