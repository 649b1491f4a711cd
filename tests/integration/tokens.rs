//! Streams of tokens: with `special_tokens`, a marker that holds a special token counts only where the token arrives as
//! one. Here a text is a special token if it looks like one.

use std::collections::BTreeSet;

use crate::support::{Failure, own_cases, own_parser};
use unjinja::{ChatParser, CutCalls, Message, Options, Token, Unparsed};

/// The special tokens in the markers of a parser, by their form.
fn special_tokens(parser: &dyn ChatParser) -> BTreeSet<String> {
    let states = &parser.program().states;
    let cores = states.iter().flat_map(|state| state.markers.list().iter()).map(|marker| marker.core.to_string());
    cores.flat_map(|core| tokens_in(&core)).collect()
}

/// The parts of a text that look like special tokens.
fn tokens_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(from) = rest.find("<|").into_iter().chain(rest.find("<｜")).min() {
        let inner = &rest[from + 1..];
        let Some(end) = inner.find('>') else { break };
        found.push(inner[..=end].to_owned());
        found.last_mut().into_iter().for_each(|token: &mut String| token.insert(0, '<'));
        rest = &inner[end + 1..];
    }
    found
}

/// Pushes a text as tokens: those of `special` as special ones, everything else one character at a time.
fn read(parser: &dyn ChatParser, text: &str, special: &BTreeSet<String>, options: &Options) -> Message {
    let mut stream = parser.stream(options);
    let mut message = Message::default();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let token = special.iter().filter(|token| rest.starts_with(token.as_str())).max_by_key(|token| token.len());
        let length = token.map_or(char.len_utf8(), |token| token.len());
        let piece = &rest[..length];
        let token = if token.is_some() { Token::special(piece) } else { Token::text(piece) };
        stream.push_token(token, &mut |event| message.apply(&event));
        rest = &rest[length..];
    }
    stream.finish(&mut |event| message.apply(&event));
    message
}

/// Where all special tokens arrive as such, nothing is read otherwise than without them.
#[test]
fn tokens_are_read_like_their_text() -> Result<(), Failure> {
    let mut with_tokens = 0;
    for case in own_cases()? {
        let Ok(output) = std::str::from_utf8(&case.output) else { continue };
        let parser = own_parser(&case.template)?;
        let special = special_tokens(parser);
        // Tokens are whole: an output of tokens never ends inside one.
        let begun =
            |token: &String| (1..token.len()).any(|end| token.get(..end).is_some_and(|part| output.ends_with(part)));
        if special.iter().any(begun) {
            continue;
        }
        with_tokens += usize::from(special.iter().any(|token| output.contains(token.as_str())));
        let options = case.options.clone().special_tokens(special.iter().cloned());
        assert_eq!(read(parser, output, &special, &options), parser.parse(output.into(), &case.options), "{}", case.id);
    }
    assert!(with_tokens > 50, "{with_tokens} cases have special tokens");
    Ok(())
}

/// A page that a model quotes may spell any special token.
#[test]
fn text_that_spells_special_tokens_is_text() -> Result<(), Failure> {
    let mut tried = 0;
    for parser in unjinja_app::all() {
        let special = special_tokens(parser);
        if special.is_empty() {
            continue;
        }
        tried += 1;
        let text = special.iter().fold("One".to_owned(), |text, token| text + token + " x " + token + "\n") + "two.";
        let options = Options::new().special_tokens(special);
        let message = read(parser, &text, &BTreeSet::new(), &options);
        let read = message.reasoning_content + &message.content;
        assert_eq!((read.as_str(), message.tool_calls.len()), (text.as_str(), 0), "{}", parser.info().name);
    }
    assert!(tried > 10, "{tried} formats have special tokens");
    Ok(())
}

#[test]
fn a_value_may_spell_the_token_that_closes_it() -> Result<(), Failure> {
    let parser = own_parser("quote_tokens.jinja")?;
    let special = special_tokens(parser);
    let options = Options::new().special_tokens(special.iter().map(String::as_str).chain(["<|\"|>"]));
    let mut stream = parser.stream(&options);
    let mut message = Message::default();
    for (text, is_special) in [
        ("<|tool_call>", true),
        ("call:run{code:", false),
        ("<|\"|>", true),
        ("say <|\"|>,x:1}<tool_call|>", false),
        (" now", false),
        ("<|\"|>", true),
        ("}", false),
        ("<tool_call|>", true),
    ] {
        let token = if is_special { Token::special(text) } else { Token::text(text) };
        stream.push_token(token, &mut |event| message.apply(&event));
    }
    stream.finish(&mut |event| message.apply(&event));
    assert_eq!(message.tool_calls[0].arguments, r#"{"code": "say <|\"|>,x:1}<tool_call|> now"}"#);
    assert!(message.tool_calls[0].complete && message.content.is_empty(), "{message:?}");
    Ok(())
}

/// What follows a call in reasoning decides whether it is quoted. There too, text that spells a special token is text.
#[test]
fn a_call_in_reasoning_is_weighed_with_the_tokens_that_arrive() -> Result<(), Failure> {
    let parser = own_parser("qwen3.jinja")?;
    let call = ["<tool_call>", "\n{\"name\": \"now\", \"arguments\": {}}\n", "</tool_call>"];
    let special: BTreeSet<String> =
        ["<tool_call>", "</tool_call>", "<|im_end|>", "<think>", "</think>"].map(str::to_owned).into();
    let options = Options::new().special_tokens(special.iter().cloned());
    let read = |texts: &[&str], spelled: &str| {
        let mut stream = parser.stream(&options);
        let mut message = Message::default();
        for text in texts {
            let is_special = special.contains(*text) && *text != spelled;
            let token = if is_special { Token::special(*text) } else { Token::text(*text) };
            stream.push_token(token, &mut |event| message.apply(&event));
        }
        stream.finish(&mut |event| message.apply(&event));
        message
    };
    // The end of the turn confirms the call; text that spells it is text of the reasoning.
    let turn = [&["<think>", "\nHm.\n"], &call[..], &["<|im_end|>", "\nends it."]].concat();
    let texts = [&turn[..], &["\n", "</think>", "\n\nHi."]].concat();
    assert_eq!(read(&turn, "").tool_calls.len(), 1);
    let quoted = read(&texts, "<|im_end|>");
    assert_eq!((quoted.tool_calls.len(), quoted.content.as_str()), (0, "Hi."), "{quoted:?}");
    assert_eq!(quoted.reasoning_content, "Hm.\n".to_owned() + &call.concat() + "<|im_end|>\nends it.");
    // The byte before it could have begun its marker, and waited.
    let drafted = [&["<think>", "\nHm <"], &call[..], &[" or not.", "\n", "</think>", "\n\nHi."]].concat();
    assert_eq!(read(&drafted, "").tool_calls.len(), 0);
    // Another call confirms it too, if its marker is a special token.
    let twice = [&["<think>", "\nHm.\n"], &call[..], &["\n"], &call[..]].concat();
    assert_eq!(read(&twice, "").tool_calls.len(), 2);
    Ok(())
}

#[test]
fn tokens_are_counted_by_channel() -> Result<(), Failure> {
    let mut stream = own_parser("qwen3.jinja")?.stream(&Options::new());
    for (text, special) in [("<think>", true), ("Hm", false), (",", false), ("</think>", true), ("Yes", false)] {
        let token = if special { Token::special(text) } else { Token::text(text) };
        stream.push_token(token, &mut |_| {});
    }
    let counts = stream.token_counts();
    assert_eq!((counts.reasoning, counts.content), (2, 1));
    stream.reset();
    assert_eq!(stream.token_counts().content, 0);
    Ok(())
}

/// A call that is cut off may turn out to be text, long after its tokens came.
#[test]
fn tokens_of_a_dropped_call_count_where_its_text_goes() -> Result<(), Failure> {
    for (unparsed, content) in [(Unparsed::Content, 8), (Unparsed::Separate, 1)] {
        let options = Options::new().cut_calls(CutCalls::Drop).unparsed(unparsed);
        let mut stream = own_parser("qwen3.jinja")?.stream(&options);
        let tokens = ["Look.", "\n<tool_call>\n", "{\"name\": \"", "now", "\", \"arg", "uments\": {", "\"a\": ", "1"];
        tokens.into_iter().for_each(|token| stream.push_token(Token::text(token), &mut |_| {}));
        assert_eq!(stream.token_counts().content, 1, "the call may still be one");
        stream.finish(&mut |_| {});
        assert_eq!(stream.token_counts().content, content, "{unparsed:?}");
    }
    Ok(())
}
