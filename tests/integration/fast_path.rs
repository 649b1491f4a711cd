//! Fast paths never change a message: a parser reads the same message with all of them turned off as with them, however
//! the text is cut. Every piece is pushed as text, because pieces of bytes skip the fast paths of a stream.

use crate::support::{Failure, corpus, corpus_cases, own_cases, own_parser};
use unjinja::testing::{Random, without_fast_paths};
use unjinja::{ChatParser, Chunk, Message, Options};
use unjinja_testkit::sample;
use unjinja_testkit::workloads::Format;

/// How many turns of the mixture are tried of each format: every kind at least once.
const TURNS: usize = 26;

/// How many damaged copies of each text are read.
const DAMAGED: u64 = 4;

/// A damaged copy is cut at every place of this many; the text itself is cut everywhere.
const STRIDE: usize = 7;

/// The lengths of the pieces of a stream, in characters. Fast paths read short and long pieces in different ways.
const PIECES: [usize; 6] = [1, 2, 3, 4, 7, 40];

#[test]
fn our_own_cases_are_read_alike() -> Result<(), Failure> {
    let mut tried = Tried::default();
    for case in own_cases()? {
        tried.case(&case.id, own_parser(&case.template)?, &case.output, &case.options);
    }
    tried.check();
    Ok(())
}

#[test]
fn realistic_turns_are_read_alike() -> Result<(), Failure> {
    let parsers = unjinja_app::all();
    let mut tried = Tried::default();
    for format in sample(Format::all(unjinja_app::SPECS)?, 5) {
        let parser = parsers.iter().find(|parser| parser.info().name == format.name).ok_or("a parser is missing")?;
        for turn in format.mixture(TURNS) {
            let name = format!("{}: {:?}", format.name, turn.output);
            tried.case(&name, *parser, turn.output.as_bytes(), &turn.options()?);
        }
    }
    tried.check();
    Ok(())
}

#[test]
fn the_corpus_is_read_alike() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let mut tried = Tried::default();
    for case in corpus_cases(&corpus)? {
        let Some(parser) = unjinja_generated::by_file(&case.template) else { continue };
        tried.case(&case.id, parser, &case.output, &case.options);
    }
    tried.check();
    Ok(())
}

/// What was compared until now.
#[derive(Default)]
struct Tried {
    texts: usize,
    failures: Vec<String>,
}

impl Tried {
    /// Compares a text and damaged copies of it.
    fn case(&mut self, name: &str, parser: &dyn ChatParser, text: &[u8], options: &Options) {
        let Ok(text) = std::str::from_utf8(text) else { return };
        let damaged = (0..DAMAGED).map(|seed| (damage(text, &mut Random::new(seed)), STRIDE));
        for (text, stride) in std::iter::once((text.to_owned(), 1)).chain(damaged) {
            self.texts += 1;
            if let Err(problem) = compare(parser, &text, stride, options) {
                self.failures.push(format!("{name}: {problem}"));
                return;
            }
        }
    }

    fn check(self) {
        assert!(self.texts > 200, "{} texts are too few to show anything", self.texts);
        assert!(self.failures.is_empty(), "{} differ:\n{}", self.failures.len(), self.failures.join("\n"));
    }
}

/// Reads a text without fast paths; then with them: whole, cut in two at every place of `stride`, and in pieces of several
/// lengths.
fn compare(parser: &dyn ChatParser, text: &str, stride: usize, options: &Options) -> Result<(), String> {
    let expected = without_fast_paths(|| parser.parse(Chunk::from(text), options));
    let same = |how: &str, found: Message| match found == expected {
        true => Ok(()),
        false => Err(format!("{how}\n  text     {text:?}\n  expected {expected:?}\n  found    {found:?}")),
    };
    same("whole", parser.parse(Chunk::from(text), options))?;
    for (at, _) in text.char_indices().step_by(stride) {
        let (first, second) = text.split_at(at);
        same(&format!("cut at byte {at}"), streamed(parser, [first, second], options))?;
    }
    for size in PIECES {
        same(&format!("in pieces of {size} characters"), streamed(parser, pieces(text, size), options))?;
    }
    let slow = without_fast_paths(|| streamed(parser, pieces(text, 3), options));
    same("in pieces of 3 characters, without fast paths", slow)
}

fn streamed<'t>(parser: &dyn ChatParser, pieces: impl IntoIterator<Item = &'t str>, options: &Options) -> Message {
    let mut message = Message::default();
    let mut stream = parser.stream(options);
    for piece in pieces {
        stream.push(piece, &mut |event| message.apply(&event));
    }
    stream.finish(&mut |event| message.apply(&event));
    message
}

/// A text in pieces of `size` characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// A copy of a text with a few characters gone, repeated or put in.
fn damage(text: &str, random: &mut Random) -> String {
    const ODD: [&str; 14] = ["\"", "'", "\\", "\\u00e9", "{", "}", "]", "<", ">", "\n", " ", ",", "1e5", "\u{e9}"];
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        let from = random.below(characters.len() + 1);
        let to = (from + 1 + random.below(8)).min(characters.len());
        match random.below(3) {
            0 => drop(characters.drain(from..to)),
            1 => {
                let again = characters[from..to].to_vec();
                let at = random.below(characters.len() + 1);
                characters.splice(at..at, again);
            }
            _ => drop(characters.splice(from..from, ODD[random.below(ODD.len())].chars())),
        }
    }
    characters.into_iter().collect()
}
