//! Parsers read each byte a bounded number of times, however the input is cut: with every model, and on adversarial inputs. A
//! byte that is read twice counts twice.

use std::collections::BTreeSet;

use crate::support::{Failure, Model, corpus, corpus_cases, models, own_cases, own_models, own_parser};
use unjinja::testing::{bytes_from_prompt, bytes_looked_at};
use unjinja::{ChatParser, Options};
use unjinja_testkit::sample;
use unjinja_testkit::workloads::Markers;

/// The bound for outputs that models write. An object in nested tags is looked at twice and taken apart when it is complete, and
/// what may open several headers that are no special tokens is looked at once more at its end.
const ORDINARY: f64 = 2.25;

/// The bound for adversarial inputs. A call that opens in reasoning is read twice more: it is tried before it counts.
const ADVERSARIAL: f64 = 6.0;

/// How the text is cut: byte by byte, in small pieces, whole.
const PIECES: [usize; 4] = [1, 4, 16, usize::MAX];

/// Bytes read, divided by bytes pushed (prompt included): the highest ratio of all cuts, and that cut.
fn work(parser: &dyn ChatParser, text: &[u8], options: &Options) -> (f64, usize) {
    let of = |size: usize| {
        let mut stream = parser.stream(options);
        text.chunks(size.min(text.len().max(1))).for_each(|piece| stream.push_bytes(piece, &mut |_| {}));
        stream.finish(&mut |_| {});
        let fed = bytes_from_prompt(&*stream) + text.len();
        (bytes_looked_at(&*stream) as f64 / fed.max(1) as f64, size)
    };
    PIECES.map(of).into_iter().fold((0.0, 0), |worst, next| if next.0 > worst.0 { next } else { worst })
}

/// The highest of many ratios, and the case that has it.
#[derive(Default)]
struct Worst {
    ratio: f64,
    whose: String,
    over: Vec<String>,
}

impl Worst {
    fn note(&mut self, limit: f64, (ratio, size): (f64, usize), whose: impl Fn() -> String) {
        let line = || format!("{ratio:.2} in pieces of {size}: {}", whose());
        if ratio > self.ratio {
            self.ratio = ratio;
            self.whose = line();
        }
        if ratio > limit {
            self.over.push(line());
        }
    }

    fn check(self, what: &str, limit: f64) {
        println!("{what}: at most {}", self.whose);
        assert!(self.ratio >= 1.0, "{what}: every byte is looked at, and counted");
        assert!(self.over.is_empty(), "{what}: {} over {limit}:\n{}", self.over.len(), self.over.join("\n"));
    }
}

#[test]
fn ordinary_text_is_looked_at_twice_at_most() -> Result<(), Failure> {
    let mut worst = Worst::default();
    for case in own_cases()? {
        let parser = own_parser(&case.template)?;
        // Bytes that are not UTF-8 are not what models write.
        if std::str::from_utf8(&case.output).is_ok() {
            worst.note(ORDINARY, work(parser, &case.output, &case.options), || case.id.clone());
        }
    }
    worst.check("our own cases", ORDINARY);
    let Some(corpus) = corpus()? else { return Ok(()) };
    let mut worst = Worst::default();
    for case in corpus_cases(&corpus)? {
        let Some(parser) = unjinja_generated::by_file(&case.template) else { continue };
        worst.note(ORDINARY, work(parser, &case.output, &case.options), || case.id.clone());
    }
    worst.check("the corpus", ORDINARY);
    Ok(())
}

/// The compiled parser of a template of ours or of a released one.
fn compiled(model: &Model) -> Result<&'static dyn ChatParser, Failure> {
    let info = &model.spec.template;
    unjinja_generated::by_name(&info.name).map_or_else(|| own_parser(&info.file), Ok)
}

#[test]
fn no_text_is_looked_at_more_than_six_times() -> Result<(), Failure> {
    let mut worst = Worst::default();
    for model in sample(own_models()?.into_iter().chain(models()?), 16) {
        let parser = compiled(&model)?;
        for unit in units(&Markers::of(&unjinja_codegen::plan(&model.spec))) {
            let text = unit.repeat(LENGTH / unit.len());
            let whose = || format!("{}: {unit:?}", model.spec.template.name);
            worst.note(ADVERSARIAL, work(parser, text.as_bytes(), &Options::new()), whose);
        }
    }
    worst.check("texts made to hurt", ADVERSARIAL);
    Ok(())
}

/// What follows the last of many drafts is what tells that all of them are drafts.
#[test]
fn calls_that_are_drafted_in_reasoning_are_weighed_together() -> Result<(), Failure> {
    let parser = own_parser("qwen3.jinja")?;
    let call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n";
    let text = format!("<think>\n{}</think>\n\n{call}", call.repeat(LENGTH / call.len()));
    let mut worst = Worst::default();
    worst.note(ADVERSARIAL, work(parser, text.as_bytes(), &Options::new()), || "drafts".to_owned());
    worst.check("drafts of calls", ADVERSARIAL);
    Ok(())
}

/// The bound for any input; the fuzz targets check it, too.
const ANY: f64 = 8.0;

/// Found by fuzzing: beginnings of markers so close together that the search switches to whole markers, with a marker right
/// after them; and dozens of call openers in a text that ends within a name.
#[test]
fn nothing_is_searched_for_further_than_the_text_has_come() -> Result<(), Failure> {
    let mut worst = Worst::default();
    for model in sample(own_models()?.into_iter().chain(models()?), 12) {
        let name = &model.spec.template.name;
        let parser = compiled(&model)?;
        let markers = Markers::of(&unjinja_codegen::plan(&model.spec));
        for marker in markers.content.iter().chain(&markers.reasoning) {
            let first: String = marker.chars().take(1).collect();
            for text in [format!("{}{marker}", first.repeat(20)).repeat(200), marker.repeat(250 / marker.len())] {
                let whose = || format!("{name}: {first:?} and {marker:?}, {} bytes", text.len());
                worst.note(ANY, work(parser, text.as_bytes(), &Options::new()), whose);
            }
        }
    }
    worst.check("markers behind their beginnings", ANY);
    Ok(())
}

/// The length of an adversarial input, in bytes.
const LENGTH: usize = 16 * 1024;

/// Texts to repeat as an adversarial input: beginnings of the markers that the parser searches for.
fn units(markers: &Markers) -> BTreeSet<String> {
    let common =
        ["<", "[", "{", "{\"", "\"\\", "`", ">", "\n", " ", "\n<", " {", "<|", "</", "{\"name\": \"", "\u{1f980}<"];
    let mut units: BTreeSet<String> = common.map(str::to_owned).into();
    for marker in markers.content.iter().chain(&markers.reasoning).chain(&markers.value) {
        let last = marker.char_indices().next_back().map_or(0, |(at, _)| at);
        units.insert(marker[..last].to_owned());
        units.insert(marker.clone());
        units.insert(format!("{marker} "));
        // Found by fuzzing: much white space may come before the text that confirms a marker.
        units.insert(format!("{marker}{}", "\r".repeat(54)));
        units.insert(format!("{marker}{}", &marker[..last]));
    }
    units.remove("");
    units
}
