//! What has to hold for a template and a tokenizer, and how often it was tried.

use std::collections::BTreeSet;

use unjinja::{ChatParser, Chunk, DiagnosticKind, Message, Options};
use unjinja_testkit::random::Random;

use crate::Failure;
use crate::feed::{Specials, expected_counts, read, read_pieces, text_of};
use crate::turns::{Model, RenderedTurn};
use crate::vocabulary::Vocabulary;

/// What was tried, and what went wrong.
#[derive(Debug, Default)]
pub struct Report {
    /// Turns that were fed by tokens.
    pub turns: usize,
    /// Tokens, and those of them that begin or end inside a character.
    pub tokens: usize,
    pub split: usize,
    /// Tokens that arrived as special ones.
    pub special: usize,
    /// Turns in which a marker is spelled with several tokens that go over its border.
    pub across: usize,
    /// Turns whose tokens were counted.
    pub counted: usize,
    /// Their tokens of reasoning and of content.
    pub reasoning: usize,
    pub content: usize,
    /// Pages with spelled calls that are text, and of these the ones that must come back byte for byte.
    pub pages: usize,
    pub exact_pages: usize,
    /// Turns in which ordinary tokens spell a marker twice.
    pub mixed: usize,
    /// Values that spell every marker.
    pub values: usize,
    pub problems: Vec<String>,
}

impl Report {
    /// A turn by its tokens: the message of the whole text, and the counts of the tokenizer.
    pub fn try_turn(
        &mut self,
        model: &Model,
        turn: &RenderedTurn,
        vocabulary: &Vocabulary,
        specials: Specials,
    ) -> Result<(), Failure> {
        let tokens = vocabulary.encode(&turn.text)?;
        let options = specials.options(vocabulary, &turn.options);
        // Some tokenizers normalise a text. The turn is then what their tokens say.
        let text = String::from_utf8(text_of(&tokens))?;
        let whole = model.parser.parse(text.as_str().into(), &turn.options);
        let (message, counts) = read(&model.parser, &tokens, specials, &options);
        self.turns += 1;
        self.tokens += tokens.len();
        self.split += tokens.iter().filter(|token| std::str::from_utf8(&token.bytes).is_err()).count();
        self.special += tokens.iter().filter(|token| specials.has(token)).count();
        self.across += usize::from(goes_over_a_border(model, &tokens, &text));
        let place = format!("{}, {specials:?}: {text:?}", model.name);
        if message != whole {
            self.problems.push(format!("{place}\n    whole     {whole:?}\n    by tokens {message:?}"));
        }
        let decoded = vocabulary.decoded(&tokens)?;
        let pieces = decoded.iter().zip(&tokens).map(|(piece, token)| (Chunk::Text(piece), specials.has(token)));
        let (decoded, _) = read_pieces(&model.parser, pieces, &options);
        if decoded != whole {
            self.problems.push(format!("{place}\n    whole   {whole:?}\n    decoded {decoded:?}"));
        }
        if let Some((reasoning, content)) = expected_counts(&tokens, specials, &whole) {
            self.counted += 1;
            self.reasoning += reasoning;
            self.content += content;
            if (counts.reasoning, counts.content) != (reasoning, content) {
                self.problems
                    .push(format!("{place}: {counts:?}, but {reasoning} of reasoning and {content} of content"));
            }
        }
        Ok(())
    }

    /// A page that spells a turn with calls with ordinary tokens. Nothing of it is a call if every marker that opens calls holds
    /// a token.
    pub fn try_page(&mut self, model: &Model, vocabulary: &Vocabulary, specials: Specials) -> Result<(), Failure> {
        let Some((turn, _)) = model.turn_with_calls() else { return Ok(()) };
        let (calls, all) = guarded(model, vocabulary, specials);
        if !calls {
            return Ok(());
        }
        let page = format!("The page says: {} Thus I stop.", turn.text);
        let tokens = vocabulary.spell(&page)?;
        let text = String::from_utf8(text_of(&tokens))?;
        let (message, _) = read(&model.parser, &tokens, specials, &specials.options(vocabulary, &turn.options));
        self.pages += 1;
        if !message.tool_calls.is_empty() {
            self.problems.push(format!("{}: a spelled call is read: {text:?}\n    {message:?}", model.name));
        }
        if all {
            self.exact_pages += 1;
            if message.reasoning_content.clone() + &message.content != text {
                self.problems.push(format!("{}: the page is changed: {text:?}\n    {message:?}", model.name));
            }
        }
        Ok(())
    }

    /// A turn with markers that ordinary tokens spell somewhere in it, also inside of calls and between them. Each must be read
    /// like a text of its form that is not a marker.
    pub fn try_mixed(
        &mut self,
        model: &Model,
        turn: &RenderedTurn,
        vocabulary: &Vocabulary,
        specials: Specials,
        random: &mut Random,
    ) -> Result<(), Failure> {
        let added: BTreeSet<&str> = vocabulary.added(specials == Specials::Marked).collect();
        // What is compared must not be changed by escapes, and the words of a marker must not be parts of all other words.
        let fits = |marker: &&str| {
            let words: Vec<&str> = marker.split(|letter: char| !letter.is_ascii_alphabetic()).collect();
            let long = words.iter().all(|word| word.len() != 1) && words.iter().any(|word| !word.is_empty());
            added.contains(*marker) && long && !marker.contains('"')
        };
        let markers: Vec<&str> = model.spec.tokens.preserved.iter().map(String::as_str).filter(fits).collect();
        if markers.is_empty() {
            return Ok(());
        }
        // Between tokens, or inside of ordinary ones.
        let (whole, mut places) = (vocabulary.encode(&turn.text)?, vec![0]);
        let (text, mut at) = (String::from_utf8(text_of(&whole))?, 0);
        for token in &whole {
            let end = at + token.bytes.len();
            places
                .extend((at + 1..=end).filter(|&at| at == end || (token.added.is_none() && text.is_char_boundary(at))));
            at = end;
        }
        places.retain(|&at| text.is_char_boundary(at));
        let marker = *random.pick(&markers);
        let mut cuts = [*random.pick(&places), *random.pick(&places)];
        cuts.sort_unstable();
        let parts = [&text[..cuts[0]], &text[cuts[0]..cuts[1]], &text[cuts[1]..]];
        let (mut tokens, mut reference) = (Vec::new(), String::new());
        for (number, part) in parts.into_iter().enumerate() {
            if number > 0 {
                tokens.extend(vocabulary.spell(marker)?);
                reference.push_str(&inert(marker));
            }
            let part = vocabulary.encode(part)?;
            reference.push_str(&String::from_utf8(text_of(&part))?);
            tokens.extend(part);
        }
        let (message, _) = read(&model.parser, &tokens, specials, &specials.options(vocabulary, &turn.options));
        let expected = model.parser.parse(reference.as_str().into(), &turn.options);
        self.mixed += 1;
        // A value may be one word of the marker.
        let words = marker.replace(|letter: char| !letter.is_ascii_alphabetic(), " ");
        let inert_form = |message: &Message| {
            words.split_whitespace().fold(format!("{message:?}"), |text, word| text.replace(word, &inert(word)))
        };
        // What becomes of arguments that are not JSON depends on which bytes may begin a token.
        if expected.diagnostics.iter().any(|found| found.kind == DiagnosticKind::MalformedArguments) {
            // A text and its inert form have the same length.
            let names = |message: &Message| message.tool_calls.iter().map(|call| call.name.len()).collect::<Vec<_>>();
            if names(&message) != names(&expected) {
                self.problems
                    .push(format!("{}: {reference:?}\n    expected {expected:?}\n    found {message:?}", model.name));
            }
            return Ok(());
        }
        let expected = inert_form(&expected);
        if inert_form(&message) != expected {
            let text = reference.replace(&inert(marker), marker);
            self.problems.push(format!("{}: {text:?}\n    expected {expected}\n    found    {message:?}", model.name));
        }
        Ok(())
    }

    /// A call whose argument spells every marker with ordinary tokens: the value comes back as it is.
    pub fn try_value(&mut self, model: &Model, call: &str, vocabulary: &Vocabulary) -> Result<(), Failure> {
        const PLACE: &str = "Placeholder";
        let Some((before, after)) = call.split_once(PLACE) else { return Ok(()) };
        let (_, all) = guarded(model, vocabulary, Specials::All);
        // Quotes would have to be escaped where values are JSON.
        let spelled: Vec<&str> =
            model.spec.tokens.preserved.iter().map(String::as_str).filter(|t| !t.contains('"')).collect();
        if !all || spelled.is_empty() {
            return Ok(());
        }
        let value = format!("one {} two", spelled.join(" x "));
        let mut tokens = vocabulary.encode(before)?;
        tokens.extend(vocabulary.spell(&value)?);
        tokens.extend(vocabulary.encode(after)?);
        let options = Options::new().generation_prompt(&model.spec.turn.assistant_start);
        let (message, _) = read(&model.parser, &tokens, Specials::All, &Specials::All.options(vocabulary, &options));
        self.values += 1;
        let expected = serde_json::json!({ "text": value });
        let [call] = &message.tool_calls[..] else {
            self.problems.push(format!("{}: {:?}: {message:?}", model.name, before.to_owned() + &value + after));
            return Ok(());
        };
        if !call.complete || serde_json::from_str::<serde_json::Value>(&call.arguments).ok() != Some(expected) {
            self.problems.push(format!("{}: {value:?} is read as {call:?}", model.name));
        }
        Ok(())
    }
}

/// A text of the same form and length that is not a marker.
fn inert(marker: &str) -> String {
    marker
        .chars()
        .map(|letter| {
            if letter.is_ascii_lowercase() {
                'q'
            } else if letter.is_ascii_uppercase() {
                'Q'
            } else {
                letter
            }
        })
        .collect()
}

/// Whether a token holds the end of a marker and text after it, or text and the beginning of a marker.
fn goes_over_a_border(model: &Model, tokens: &[crate::vocabulary::Token], text: &str) -> bool {
    let mut borders = BTreeSet::new();
    for marker in &model.spec.tokens.preserved {
        borders.extend(text.match_indices(marker.as_str()).flat_map(|(at, marker)| [at, at + marker.len()]));
    }
    let mut at = 0;
    tokens.iter().any(|token| {
        let from = at;
        at += token.bytes.len();
        borders.range(from + 1..at.max(from + 1)).next().is_some()
    })
}

/// Whether every marker that may open a call in plain text holds a token that arrives as a special one, and whether every
/// marker does that may come there.
fn guarded(model: &Model, vocabulary: &Vocabulary, specials: Specials) -> (bool, bool) {
    let tokens: Vec<&str> = vocabulary.added(specials == Specials::Marked).collect();
    let program = model.parser.program();
    let states = [Some(program.content), program.reasoning, Some(program.start)];
    let (mut calls, mut all, mut opens) = (true, true, false);
    let arrows = states.into_iter().flatten().filter_map(|id| program.state(id)).flat_map(|state| state.arrows());
    for (marker, step) in arrows {
        let holds = tokens.iter().any(|token| marker.core.contains(token));
        // Code fences are text, and the usual ends of a turn are syntax only where the output ends.
        all &= holds || matches!(step.key, "content" | "turn.end");
        if step.key.starts_with("tools") {
            opens = true;
            calls &= holds;
        }
    }
    (opens && calls, opens && all)
}
