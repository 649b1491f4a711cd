//! Headers of messages: a call whose marker has its parts in several orders, and the channels of reasoning and answers.

use unjinja_spec::{ContentMode, FormatSpec, Header, MarkerKey};

use super::super::pattern::{Expansion, Piece};

/// The header of calls and the marker around the name in it, if the texts that announce a call differ only in a channel, which is
/// before or after the name, and in the type of the message.
pub(super) fn of_calls(opens: &[Expansion]) -> Option<(Header, Expansion)> {
    let texts: Vec<(String, String)> = opens
        .iter()
        .map(|open| match open.texts().as_slice() {
            [before, after] => Some((before.trim().to_owned(), after.trim().to_owned())),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let recipient = texts.iter().map(|(before, _)| before).min_by_key(|text| text.len())?;
    let end = texts.iter().map(|(_, after)| after).min_by_key(|text| text.len())?;
    let mut channels: Vec<String> = Vec::new();
    for (before, _) in &texts {
        let channel = before.strip_suffix(recipient.as_str())?.trim();
        if !channel.is_empty() && !channels.iter().any(|known| known == channel) {
            channels.push(channel.to_owned());
        }
    }
    let channel = beginning(&channels)?;
    let mut types: Vec<String> = Vec::new();
    for (_, after) in &texts {
        let rest = after.strip_suffix(end.as_str())?.trim();
        let rest = channels.iter().find_map(|channel| rest.strip_prefix(channel.as_str())).unwrap_or(rest).trim();
        if !rest.is_empty() && !types.iter().any(|known| known == rest) {
            types.push(rest.to_owned());
        }
    }
    let calls = channels.iter().filter_map(|text| text.strip_prefix(channel.as_str())).map(str::to_owned).collect();
    let mut marker = opens.iter().find(|open| open.name().is_some())?.clone();
    let name = marker.pieces.iter().find(|piece| matches!(piece, Piece::Name(..)))?.clone();
    marker.pieces = vec![Piece::Text(recipient.clone()), name, Piece::Text(channel.clone())];
    let recipient = format!(" {recipient}");
    Some((Header { channel, calls, recipient, types, end: end.clone(), ..Header::default() }, marker))
}

/// The text before the names of channels: what they begin with, up to the last character that no name has.
fn beginning(channels: &[String]) -> Option<String> {
    let (first, others) = channels.split_first()?;
    let length = first.char_indices().map(|(at, char)| at + char.len_utf8());
    let common = length.take_while(|end| others.iter().all(|other| other.starts_with(&first[..*end]))).last()?;
    let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    let beginning = first[..common].trim_end_matches(is_name);
    (!beginning.is_empty()).then(|| beginning.to_owned())
}

/// Takes the channels of reasoning and of answers from the other markers of a spec whose calls have headers.
pub(super) fn complete(spec: &mut FormatSpec) {
    if spec.content.header.channel.is_empty() {
        return;
    }
    let header = &mut spec.content.header;
    let channel = |text: &str| {
        text.trim().strip_prefix(header.channel.as_str())?.strip_suffix(header.end.as_str()).map(str::to_owned)
    };
    let mut ends = vec![std::mem::take(&mut spec.turn.end)];
    ends.extend(spec.alternatives.remove(&MarkerKey::TurnEnd).into_iter().flatten());
    let answers: Vec<String> = ends.iter().filter_map(|end| channel(end)).collect();
    let reasoning: Vec<String> = channel(&spec.reasoning.start).into_iter().collect();
    ends.retain(|end| channel(end).is_none());
    let mut take = |text: &str| {
        let found = ends.iter().position(|end| !text.is_empty() && end == text);
        found.map(|at| ends.remove(at)).unwrap_or_default()
    };
    header.message_end = take(&spec.reasoning.end);
    header.start = take(&spec.turn.assistant_start);
    (header.answers, header.reasoning) = (answers, reasoning);
    if let Some(first) = header.answers.first() {
        spec.content.mode = ContentMode::AlwaysWrapped;
        spec.content.start = format!("{}{first}{}", header.channel, header.end);
    }
    let mut ends = ends.into_iter();
    spec.turn.end = ends.next().unwrap_or_default();
    let others: Vec<String> = ends.collect();
    if !others.is_empty() {
        spec.alternatives.insert(MarkerKey::TurnEnd, others);
    }
}
