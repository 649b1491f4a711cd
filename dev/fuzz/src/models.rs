//! All parsers, compiled and interpreted: those of the supported models and those of our own templates.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use unjinja::Interpreter;
use unjinja::{ChatParser, Tools};
use unjinja_build::Templates;
use unjinja_codegen::interpreter;
use unjinja_spec::{FormatSpec, REPEATED_NAME};

/// A spec with its compiled and its interpreted parser.
pub struct Model {
    /// The spec, with its overlay.
    pub spec: FormatSpec,
    /// The interpreted parser.
    pub interpreter: Interpreter,
    /// The compiled parser.
    pub parser: &'static dyn ChatParser,
    /// Every text of the spec that may occur in an output, longest first.
    pub markers: Vec<String>,
}

/// The folder of the root package.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All models, in a fixed order.
pub fn all() -> &'static [Model] {
    &MODELS
}

/// The model with this number, modulo their count.
pub fn chosen(number: usize) -> &'static Model {
    &MODELS[number % MODELS.len()]
}

#[expect(clippy::expect_used, reason = "without models there is nothing to fuzz")]
static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let committed = unjinja_build::specs_in(root().join("generated/specs")).expect("the committed specs");
    let own = Templates::new(root().join("templates"))
        .without_known_formats()
        .specs()
        .expect("the specs of our own templates");
    let specs = own.into_iter().chain(committed.into_iter().map(|(_, loaded)| loaded.spec));
    let parsers = unjinja_app::all();
    specs
        .filter(|spec| spec.status.makes_parser())
        .map(|spec| {
            let name = spec.template.name.as_str();
            let own = parsers.iter().copied().find(|parser| parser.info().name == name);
            let parser = own.or_else(|| unjinja_generated::by_name(name)).expect("every supported spec is compiled in");
            Model { interpreter: interpreter(&spec).expect("a committed spec"), parser, markers: markers(&spec), spec }
        })
        .collect()
});

/// The tools that are offered.
#[expect(clippy::expect_used, reason = "the file is part of the repository")]
pub static TOOLS: LazyLock<Tools> = LazyLock::new(|| {
    let text = std::fs::read_to_string(root().join("tests/cases/tools.json")).expect("the tools of the test cases");
    Tools::from_json(&text).expect("the tools of the test cases")
});

/// The functions whose names are put into markers that repeat a name. Both are offered.
pub const NAMES: [&str; 2] = ["get_weather", "now"];

/// Every text of a spec that may occur in an output, each once, longest first. One that repeats the function's name is there
/// with each of [`NAMES`].
pub fn markers(spec: &FormatSpec) -> Vec<String> {
    let parsed: toml::Table = spec.to_toml().parse().unwrap_or_default();
    let mut out = Vec::new();
    for table in ["turn", "reasoning", "content", "tools", "alternatives", "tokens", "generation_prompt"] {
        out.extend(parsed.get(table).into_iter().flat_map(unjinja_testkit::texts_of));
    }
    // A model may write only the last tag of the turn's start, and may stop after the first tag of its end, which may be known only from
    // the start of the user's turn.
    let start = spec.turn.assistant_start.trim();
    out.extend(start.rfind('<').map(|at| start[at..].to_owned()));
    for end in [spec.turn.end.trim(), spec.turn.user_start.trim()] {
        out.extend(end.find('>').map(|at| end[..=at].to_owned()));
    }
    // A model may write the bar of the token that opens reasoning on both sides.
    let both = |bar: char| {
        let (token, words) = spec.reasoning.start.trim().split_once('>')?;
        let is_one_sided = token.strip_prefix('<')?.starts_with(bar) && !token.ends_with(bar);
        is_one_sided.then(|| format!("{token}{bar}>{words}"))
    };
    out.extend(['|', '｜'].into_iter().filter_map(both));
    // What may follow the end of a turn.
    out.extend(unjinja_spec::END_OF_TEXT.map(str::to_owned));
    let mut out: Vec<String> =
        out.iter().flat_map(|text| NAMES.map(|name| text.replace(REPEATED_NAME, name))).collect();
    out.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    out.dedup();
    out
}
