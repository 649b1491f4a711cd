//! The interpreted and the compiled parser of a spec agree: on every case, on every prefix of it, on damaged copies of it, and
//! however the input is cut.

use crate::support::{CorpusCase, Failure, Model, corpus, corpus_cases, models, own_cases, own_models, own_parser};
use unjinja::testing::{Cut, Random, Transcript};
use unjinja::{ChatParser, CutCalls, Options};
use unjinja_spec::FormatSpec;
use unjinja_testkit::sample;

/// How many damaged copies of each case are read; the gate reads a quarter of them.
const DAMAGED: u64 = 400;

#[test]
fn on_the_corpus() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let compiled = |file: &str| Ok(unjinja_generated::by_file(file).ok_or("the spec is not compiled in")?);
    compare(&models()?, &corpus_cases(&corpus)?, compiled)
}

#[test]
fn on_our_own_templates() -> Result<(), Failure> {
    compare(&own_models()?, &own_cases()?, own_parser)
}

fn compare(
    models: &[Model],
    cases: &[CorpusCase],
    compiled: impl Fn(&str) -> Result<&'static dyn ChatParser, Failure>,
) -> Result<(), Failure> {
    let (mut tried, mut failures) = (0, Vec::new());
    for case in cases {
        let Some(model) = models.iter().find(|model| model.is_for(&case.template)) else { continue };
        let pair =
            Pair { interpreted: &model.parser, compiled: compiled(&case.template)?, pieces: markers(&model.spec) };
        // Shortest first, so that a failure shows a short text.
        let beginnings = (0..=case.output.len()).map(|end| case.output[..end].to_vec());
        let damaged = sample(0..DAMAGED, 4).map(|seed| pair.damage(&case.output, &mut Random::new(seed)));
        for (seed, text) in (1..).zip(beginnings.chain(damaged)) {
            tried += 1;
            // What waits for the end of a call must not depend on the parser or the cut, either.
            let options = match seed % 8 {
                1 | 4 => case.options.clone().cut_calls(CutCalls::Close),
                2 | 7 => case.options.clone().cut_calls(CutCalls::Drop),
                _ => case.options.clone(),
            };
            if let Err(problem) = pair.agree(&text, &options, seed) {
                failures.push(format!("{}: {problem}", case.id));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} cases:\n{}", failures.len(), failures.join("\n"));
    assert!(tried > 1000, "{tried} texts are too few to show anything");
    Ok(())
}

/// The two parsers of one spec.
struct Pair<'a> {
    interpreted: &'a dyn ChatParser,
    compiled: &'static dyn ChatParser,
    /// The markers of the spec.
    pieces: Vec<String>,
}

impl Pair<'_> {
    /// Reads a text whole with one parser, and cut at random with the other. They take turns, so each reads every second prefix of a
    /// text whole and the others cut.
    fn agree(&self, text: &[u8], options: &Options, seed: u64) -> Result<(), String> {
        let even = seed.is_multiple_of(2);
        let (one, other) = if even { (self.interpreted, self.compiled) } else { (self.compiled, self.interpreted) };
        let cut = Cut::Random { seed };
        let whole = Transcript::of(one, text, &Cut::Whole, options);
        if let Some(problem) = whole.disorder() {
            return Err(format!("{problem}\n  text     {:?}", String::from_utf8_lossy(text)));
        }
        let pieces = Transcript::of(other, text, &cut, options);
        if pieces == whole {
            return Ok(());
        }
        let how = match (Transcript::of(one, text, &cut, options) == whole, even) {
            (false, _) => "cut, the text is read otherwise than whole",
            (true, false) => "interpreted and cut, the text is read otherwise than compiled",
            (true, true) => "compiled and cut, the text is read otherwise than interpreted",
        };
        let shown: Vec<_> = cut.pieces(text).iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
        Err(format!("{how}\n  pieces   {shown:?}\n  whole    {whole:?}\n  cut      {pieces:?}"))
    }

    /// A copy of a text with a few bytes removed, repeated or inserted. Markers and parts of markers are inserted, too.
    fn damage(&self, text: &[u8], random: &mut Random) -> Vec<u8> {
        const ODD: [&[u8]; 12] =
            [b"\"", b"\\", b"{", b"}", b"]", b"<", b">", b"\n", b" ", b"\xFF", "é".as_bytes(), "😀".as_bytes()];
        let mut text = text.to_vec();
        for _ in 0..=random.below(4) {
            let from = random.below(text.len() + 1);
            let to = (from + 1 + random.below(12)).min(text.len());
            match random.below(5) {
                0 => drop(text.drain(from..to)),
                1 => {
                    let again = text[from..to].to_vec();
                    let at = random.below(text.len() + 1);
                    text.splice(at..at, again);
                }
                2 => drop(text.splice(from..from, ODD[random.below(ODD.len())].iter().copied())),
                _ if self.pieces.is_empty() => {}
                whole => {
                    let marker = self.pieces[random.below(self.pieces.len())].as_bytes();
                    let length = if whole == 3 { marker.len() } else { random.below(marker.len() + 1) };
                    text.splice(from..from, marker[..length].iter().copied());
                }
            }
        }
        text
    }
}

/// Every text of a spec that may occur in an output.
fn markers(spec: &FormatSpec) -> Vec<String> {
    let parsed: toml::Table = spec.to_toml().parse().unwrap_or_default();
    let mut out = Vec::new();
    for table in ["turn", "reasoning", "content", "tools", "tokens"] {
        out.extend(parsed.get(table).into_iter().flat_map(unjinja_testkit::texts_of));
    }
    out.sort();
    out.dedup();
    out
}
