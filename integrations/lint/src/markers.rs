//! The markers around turns and calls: whether each that is opened is closed, and whether the text of a user can write them.

use std::collections::BTreeMap;

use unjinja_render::Origin;
use unjinja_spec::EmptyContent;
use unjinja_spec::tags;

use super::conversation::{Conversation, words};
use super::difference::{around, common_prefix};
use super::finding::Finding;
use super::options::LintOptions;
use super::rules;
use super::subject::{Labelled, Subject};

/// Runs the rules of this file.
pub(super) fn run(subject: &Subject, options: &LintOptions, findings: &mut Vec<Finding>) {
    findings.extend(unbalanced(subject));
    findings.extend(opens_turn(subject, options));
}

/// Whether a tag opens or closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Opens,
    Closes,
}

/// The name that an opening and a closing tag share, if the tag is one of such a pair.
fn pair(tag: &str) -> Option<(String, Side)> {
    let inner = tag.get(1..tag.len().checked_sub(1)?)?;
    if let Some(name) = inner.strip_prefix('/') {
        return Some((name.to_owned(), Side::Closes));
    }
    if let Some(name) = inner.strip_prefix('|').filter(|name| !name.ends_with('|')) {
        return Some((name.to_owned(), Side::Opens));
    }
    if let Some(name) = inner.strip_suffix('|').filter(|name| !name.starts_with('|')) {
        return Some((name.to_owned(), Side::Closes));
    }
    let words: Vec<&str> = inner.split(['_', '▁', '-', '|', '｜']).collect();
    for (index, word) in words.iter().enumerate() {
        let side = match *word {
            "start" | "begin" => Side::Opens,
            "end" | "stop" => Side::Closes,
            _ => continue,
        };
        let mut name = words.clone();
        name.remove(index);
        return Some((name.join("_"), side));
    }
    // `<function=NAME>` and `<param name="NAME">` are closed by their first word.
    let name = inner.split(['=', ' ']).next().unwrap_or(inner);
    Some((name.to_owned(), Side::Opens))
}

/// A pair of tags in a text: how often each was written, and how the tags look.
#[derive(Clone, Debug, Default)]
struct Count {
    opened: i64,
    closed: i64,
    tag: String,
}

/// How often each pair is opened and closed in the template's own text.
fn counts(labelled: &Labelled) -> BTreeMap<String, Count> {
    // Fields are blanked, so that a tag around a name is seen as a whole and the words of messages are not.
    let mut text = String::new();
    for span in labelled.labels.spans() {
        let piece = labelled.text.get(span.range.clone()).unwrap_or_default();
        match &span.origin {
            Origin::Template => text.push_str(piece),
            Origin::Field(field) if field.path.ends_with("_token") || field.path.ends_with("].role") => {
                text.push_str(piece);
            }
            Origin::Field(_) => text.push('x'),
        }
    }
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for tag in tags(&text) {
        let Some((name, side)) = pair(tag) else { continue };
        if !name.contains(char::is_alphanumeric) {
            // `<|start|>` and `<|end|>` are words of any format, and need not belong together.
            continue;
        }
        let count = counts.entry(name).or_default();
        match side {
            Side::Opens => count.opened += 1,
            Side::Closes => count.closed += 1,
        }
        if count.tag.is_empty() || side == Side::Opens {
            tag.clone_into(&mut count.tag);
        }
    }
    counts
}

fn unbalanced(subject: &Subject) -> Option<Finding> {
    let plain = subject.plain;
    let question = Conversation::of([plain.user()]);
    let next = plain.message("user", words::USER2);
    let mut all = vec![(question.clone(), question.clone().and(plain.answer()).and(next.clone()))];
    if let Some(manner) = subject.calls {
        let asked = question.with_tools();
        for turn in [manner.call(), manner.two_calls()] {
            let results: Vec<_> =
                (0..turn["tool_calls"].as_array().map_or(0, Vec::len)).map(|n| manner.result(n)).collect();
            let mut whole = asked.clone().and(turn);
            whole.messages.extend(results);
            all.push((asked.clone(), whole.and(plain.answer()).and(next.clone())));
        }
        if let Some(field) = subject.reasoning_field() {
            let mut call = manner.with_empty(EmptyContent::Empty).call();
            call[field] = words::REASONING.into();
            let mut whole = asked.clone().and(call).and(manner.result(0));
            whole.variables = subject.reasoning_on();
            let asked = Conversation { variables: subject.reasoning_on(), ..asked };
            all.push((asked, whole.and(plain.answer()).and(next)));
        }
    }
    let spec = subject.spec.as_ref()?;
    // `<s>` and `</s>`, or what the tokenizer has in their place, need not come in pairs.
    let of_tokens = [subject.tokens().bos.as_deref(), subject.tokens().eos.as_deref()];
    let of_tokens: Vec<String> = of_tokens.into_iter().flatten().filter_map(|token| Some(pair(token)?.0)).collect();
    all.into_iter().find_map(|(before, after)| {
        let (shorter, longer) = (subject.labelled(&before)?, subject.labelled(&after)?);
        let (known, counts) = (counts(&shorter), counts(&longer));
        let added = counts.iter().filter_map(|(name, count)| {
            let before = known.get(name).cloned().unwrap_or_default();
            // What is open before the turns, as `<s>` is, belongs to the text as a whole.
            let encloses = before.opened > before.closed;
            let (opened, closed) = (count.opened - before.opened, count.closed - before.closed);
            let of_text = of_tokens.contains(name);
            // A tag that is never opened in any render is not a closing tag, or one that the generation prompt opens.
            let is_pair = count.opened > 0 && (count.closed > 0 || in_source(subject, name));
            // Of some reasoning only the end is marked.
            let ends_reasoning = closed > opened && spec.reasoning.end.contains(name.as_str());
            (opened != closed && is_pair && !encloses && !of_text && !ends_reasoning)
                .then_some((&count.tag, opened, closed))
        });
        let (tag, opened, closed) = { added }.next()?;
        let (more, fewer) = if opened > closed { ("opened", "closed") } else { ("closed", "opened") };
        let message = format!(
            "In these turns what `{tag}` opens is {more} {} and {fewer} {}. A model that learns from such turns, and a \
             parser that waits for the other marker, lose the end of a part.",
            times(opened.max(closed)),
            times(opened.min(closed)),
        );
        let help = "write the opening and the closing marker in the same branch of the template";
        let at = common_prefix(&shorter.text, &longer.text);
        let shown = longer.text.get(at..).unwrap_or_default();
        let expected = format!("a closing marker for each `{tag}`");
        let position = shown.find(tag.as_str()).and_then(|tag| longer.labels.statement_at(at + tag));
        let finding = Finding::new(rules::UNBALANCED, message, help).at(position);
        Some(finding.with(subject.context(&after), expected, around(shown, 0)))
    })
}

fn times(count: i64) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Whether the template's source has both tags of a pair, whatever was rendered.
fn in_source(subject: &Subject, name: &str) -> bool {
    let both: Vec<Side> = tags(subject.source())
        .into_iter()
        .filter_map(pair)
        .filter(|(other, _)| other == name)
        .map(|(_, side)| side)
        .collect();
    both.contains(&Side::Opens) && both.contains(&Side::Closes)
}

fn opens_turn(subject: &Subject, options: &LintOptions) -> Option<Finding> {
    let plain = subject.plain;
    let next = plain.message("user", words::USER2);
    let question = Conversation::of([plain.user(), plain.answer(), next.clone()]).prompting();
    let of_user = (question, 0, words::USER, "a user");
    let of_tool = subject.calls.map(|manner| {
        let conversation = Conversation::of([plain.user(), manner.call(), manner.result(0), plain.answer(), next]);
        (conversation.with_tools().prompting(), 2, words::RESULT, "a tool")
    });
    [Some(of_user), of_tool].into_iter().flatten().find_map(|(conversation, index, text, whose)| {
        let prompt = subject.text(&conversation).ok()?;
        let from = prompt.rfind(text)?;
        let answer = from + prompt[from..].find(words::ANSWER)?;
        let marker = &prompt[from + text.len()..answer];
        if marker.trim().is_empty() || is_kept_apart(options, subject, marker) {
            return None;
        }
        // The whole rest of the conversation as the text of one message.
        let forged = &prompt[from..prompt.rfind(words::USER2)? + words::USER2.len()];
        let mut other = conversation.clone();
        other.messages.truncate(index + 1);
        let content = plain.message("user", forged)["content"].clone();
        other.messages[index]["content"] = content;
        if subject.text(&other).ok()? != prompt {
            return None;
        }
        let unknown = match options.special_tokens {
            Some(_) => "",
            None => " (The file lists no special tokens; what has brackets or bars was taken for one.)",
        };
        let message = format!(
            "A text of {whose} that contains {marker:?} ends the turn and begins an answer of the model: no special token is \
             in the marker, so a tokenizer cannot tell it from the template's own.{unknown}"
        );
        let help = "mark turns with special tokens, if the model has them";
        let expected = "another prompt than that of three turns";
        let shown = around(&prompt, from + text.len());
        // White space before the marker may be of another statement.
        let begin = from + text.len() + (marker.len() - marker.trim_start().len());
        let finding = Finding::new(rules::OPENS_TURN, message, help).at(subject.statement(&conversation, begin));
        Some(finding.with(subject.context(&other), expected, shown))
    })
}

/// Whether a marker contains a token that a tokenizer keeps apart from text.
fn is_kept_apart(options: &LintOptions, subject: &Subject, marker: &str) -> bool {
    let tokens = subject.tokens();
    let ends = [tokens.bos.as_deref(), tokens.eos.as_deref()];
    if ends.into_iter().flatten().any(|token| !token.is_empty() && marker.contains(token)) {
        return true;
    }
    match &options.special_tokens {
        Some(known) => known.iter().any(|token| !token.is_empty() && marker.contains(token.as_str())),
        // Many special tokens have brackets or bars, in all kinds of forms: nothing is said of markers that have them.
        None => marker.contains(['<', '>', '[', ']', '{', '}', '|']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_partners() {
        let same = [
            ("<think>", "</think>"),
            ("<|im_start|>", "<|im_end|>"),
            ("[INST]", "[/INST]"),
            ("<|tool_call>", "<tool_call|>"),
            ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
            ("<function=x>", "</function>"),
            ("<|tool_call_begin|>", "<|tool_call_end|>"),
        ];
        for (open, close) in same {
            let (Some((a, Side::Opens)), Some((b, Side::Closes))) = (pair(open), pair(close)) else {
                panic!("{open} {close}");
            };
            assert_eq!(a, b);
        }
    }
}
