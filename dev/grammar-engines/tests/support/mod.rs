//! Helpers of the tests: a request as grammars for all engines, and their answers about a text.

// Every test uses only some of these.
#![allow(dead_code, reason = "each test compiles this on its own")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use unjinja_codegen::interpreter;
use unjinja_gbnf::{Grammar as Rules, Limits};
use unjinja_grammar::{Grammar, GrammarError, GrammarExt, GrammarOptions, Target};
use unjinja_grammar_engines::{Llguidance, Verdict, Vocabulary, XGrammar};
use unjinja_runtime::{ChatParser, Interpreter, Tools};
use unjinja_spec::{FormatSpec, Overlay};

pub type Failure = Box<dyn std::error::Error>;

/// The supported models: their specs, with the overlays next to them.
pub fn models() -> Result<Vec<Interpreter>, Failure> {
    let mut models = Vec::new();
    let mut paths: Vec<PathBuf> = fs::read_dir(unjinja_testkit::root().join("generated/specs"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, Failure>>()?;
    paths.sort();
    for path in paths.iter().filter(|path| !path.to_string_lossy().contains(".overlay.")) {
        let spec = FormatSpec::from_toml(&fs::read_to_string(path)?, &path.to_string_lossy())?;
        let overlay = path.with_extension("overlay.toml");
        let spec = match overlay.exists() {
            true => Overlay::from_toml(&fs::read_to_string(&overlay)?, &overlay.to_string_lossy())?.apply(&spec)?,
            false => spec,
        };
        models.push(interpreter(&spec)?);
    }
    Ok(models)
}

/// The markers of a format, with the white space that its template writes next to them.
pub fn markers(parser: &dyn ChatParser) -> Vec<String> {
    let markers = parser.program().states.iter().flat_map(|state| state.arrows().map(|(marker, _)| marker));
    let all: BTreeSet<String> = markers.map(|marker| [&*marker.before, &marker.core, &marker.after].concat()).collect();
    all.into_iter().filter(|marker| !marker.is_empty()).collect()
}

/// Models whose GBNF allows calls that the parser reads as text, and why. The other grammars allow the same.
const LOOSE: &[(&str, &str)] =
    &[("meetkai_functionary_medium_v3_2", "white space may replace the line break between name and arguments")];

/// Whether the parser has to find a call in every sentence of a grammar that demands one.
pub fn demands_calls(model: &str, request: &str) -> bool {
    let demanded = request.starts_with("tools, required") || request == "one tool";
    demanded && !LOOSE.iter().any(|(loose, _)| *loose == model)
}

/// Both engines, with a vocabulary of bytes.
pub struct Engines {
    pub xgrammar: XGrammar,
    pub llguidance: Llguidance,
}

impl Engines {
    pub fn new() -> Result<Self, Failure> {
        Ok(Self {
            xgrammar: XGrammar::new(Vocabulary::default())?,
            llguidance: Llguidance::new(Vocabulary::default())?,
        })
    }
}

/// The grammar of a request for an engine. `None` if the format has no calls, or nothing is to be constrained.
pub fn grammar(
    parser: &dyn ChatParser,
    tools: Option<&Tools>,
    options: &GrammarOptions,
    target: Target,
) -> Result<Option<Grammar>, GrammarError> {
    let options = options.clone().target(target);
    let made = match tools {
        Some(tools) => parser.grammar(tools, &options),
        None => parser.grammar_for_any(&options),
    };
    match made {
        Err(GrammarError::NoCalls) => Ok(None),
        made => Ok(Some(made?).filter(|grammar| !grammar.text.is_empty())),
    }
}

/// A request as grammars for all engines.
pub struct All<'engine> {
    pub gbnf: Grammar,
    /// Whether the other two let raw text be longer than it may be: they count the beginning of a marker as one character.
    pub longer: bool,
    pub rules: Rules,
    pub tag: String,
    pub lark: String,
    pub xgrammar: unjinja_grammar_engines::xgrammar::Compiled<'engine>,
    pub llguidance: unjinja_grammar_engines::llguidance::Compiled<'engine>,
}

impl<'engine> All<'engine> {
    /// `None` if the format has no calls, or nothing is to be constrained.
    pub fn make(
        engines: &'engine Engines,
        parser: &dyn ChatParser,
        tools: Option<&Tools>,
        options: &GrammarOptions,
    ) -> Result<Option<Self>, Failure> {
        let make = |target| grammar(parser, tools, options, target);
        let Some(gbnf) = make(Target::Gbnf)? else { return Ok(None) };
        let of = |target| -> Result<Grammar, Failure> { Ok(make(target)?.ok_or("nothing to constrain")?) };
        let (tag, lark) = (of(Target::XGrammar)?.text, of(Target::Llguidance)?);
        let longer = lark.widened.iter().any(|wider| wider.what.keyword == "maxLength");
        let lark = lark.text;
        let xgrammar = engines.xgrammar.compile(&tag).map_err(|why| format!("xgrammar: {why}\n{tag:.3000}"))?;
        let llguidance = engines.llguidance.compile(&lark).map_err(|why| format!("llguidance: {why}\n{lark:.3000}"))?;
        let rules = Rules::parse(&gbnf.text)?;
        Ok(Some(Self { gbnf, longer, rules, tag, lark, xgrammar, llguidance }))
    }

    /// Whether each engine takes a text as a whole: XGrammar, llguidance.
    pub fn accept(&self, text: &str) -> Result<[bool; 2], String> {
        Ok([self.xgrammar.read(text) == Verdict::Complete, self.llguidance.read(text)? == Verdict::Complete])
    }

    /// Random sentences of the GBNF, of about this length.
    pub fn sentences(&self, mut seed: u64, length: usize) -> impl Iterator<Item = String> {
        std::iter::repeat_with(move || self.rules.sample(&mut seed, Limits { length, depth: 40 }))
            .map_while(|text| text)
    }
}

/// The answers that differ from what is expected, as lines.
pub fn differences(name: &str, text: &str, found: Result<[bool; 2], String>, expected: bool) -> Option<String> {
    match found {
        Err(why) => Some(format!("{name}: {why:.400} in {text:?}\n")),
        Ok(found) if found == [expected; 2] => None,
        Ok([xgrammar, llguidance]) => {
            let verb = if expected { "refused" } else { "accepted" };
            let by = [("xgrammar", xgrammar), ("llguidance", llguidance)];
            let by: Vec<&str> = by.into_iter().filter(|(_, found)| *found != expected).map(|(name, _)| name).collect();
            Some(format!("{name}: {verb} by {}: {text:?}\n", by.join(" and ")))
        }
    }
}
