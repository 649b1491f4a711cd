//! `unjinja verify`: renders random conversations with each template, parses the texts with the template's parser, and
//! compares the messages; then parses outputs that continue the template's prompts, which no past turn shows.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use unjinja_analyzer::{GapReport, Verification, verify};
use unjinja_build::{Source, SourceExt};
use unjinja_runtime::Message;
use unjinja_spec::{FormatSpec, Status};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::gaps::ReportDocument;
use crate::parser_args::ParserArgs;
use crate::ui::{BAD, GOOD, Ui, paint};
use crate::visible;
use crate::{doubt, gaps, input, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Templates: files, folders of them, or `-`.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How many conversations per template and seed.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// The seeds; the same seed gives the same conversations.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    seed: Vec<u64>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// How many of the conversations that did not survive the round trip are printed per template. The first is the smallest
    /// that was found; the others are random.
    #[arg(long, default_value_t = 1)]
    failures: usize,
    /// Print what is certain of each template, what is derived, and what is unknown, on one page.
    #[arg(long, conflicts_with = "format")]
    doubt: bool,
    #[command(flatten)]
    parser: ParserArgs,
}

/// The result for one template.
enum Outcome {
    Broken(String),
    Tried(Box<Tried>),
}

/// What became of the conversations of one template.
struct Tried {
    spec: FormatSpec,
    all: Verification,
    /// The smallest conversation that shows what is missing or wrong.
    report: Option<GapReport>,
}

impl Outcome {
    /// Whether the exit code is 1 because of this template.
    fn is_bad(&self) -> bool {
        match self {
            Outcome::Broken(_) => true,
            Outcome::Tried(tried) => !tried.spec.status.makes_parser() || !tried.all.all_held(),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let templates = input::templates(&arguments.paths)?;
    arguments.parser.for_templates(templates.len())?;
    let progress = ui.progress(templates.len());
    let (mut rows, mut failed, mut unsupported) = (Vec::new(), 0, 0);
    for source in templates {
        let source = source.map_err(|e| Failure::Input(e.to_string()))?;
        let file = source.file();
        progress.set_message(file.clone());
        let outcome = of_template(&source, arguments)?;
        progress.inc(1);
        match &outcome {
            Outcome::Tried(tried) if !tried.spec.status.makes_parser() => unsupported += 1,
            outcome if outcome.is_bad() => failed += 1,
            _ => {}
        }
        match (arguments.format, &outcome) {
            (_, Outcome::Tried(tried)) if arguments.doubt => {
                let seed = arguments.seed.first().copied().unwrap_or(1);
                progress.suspend(|| doubt::print(&mut anstream::stdout().lock(), &source, &tried.spec, seed))?;
            }
            (Format::Json, _) => rows.push((file, outcome)),
            (Format::Human, _) => progress.suspend(|| print(&file, &outcome, arguments.failures))?,
        }
    }
    progress.finish_and_clear();
    if arguments.format == Format::Json {
        let rows = rows.iter().map(|(file, outcome)| Row::new(file, outcome, arguments.failures));
        output::json(&rows.collect::<Vec<_>>())?;
    }
    let mut messages = Vec::new();
    match failed {
        0 => {}
        1 => messages.push("1 template has conversations or outputs that were read wrongly".to_owned()),
        failed => messages.push(format!("{failed} templates have conversations or outputs that were read wrongly")),
    }
    match unsupported {
        0 => {}
        1 => messages.push("1 template is not supported".to_owned()),
        unsupported => messages.push(format!("{unsupported} templates are not supported")),
    }
    if messages.is_empty() { Ok(()) } else { Err(Failure::FoundAll(messages)) }
}

fn of_template(source: &Source, arguments: &Arguments) -> Result<Outcome, Failure> {
    let spec = match arguments.parser.analysed(source) {
        Ok(loaded) => loaded.spec,
        Err(Failure::Found(problem)) => return Ok(Outcome::Broken(problem)),
        Err(failure) => return Err(failure),
    };
    let template = source.template().map_err(|e| Failure::Found(e.to_string()))?;
    let mut all = Verification::default();
    for seed in &arguments.seed {
        let one = verify(&template, &spec, arguments.count, *seed);
        all.tried += one.tried;
        all.held += one.held;
        all.lost_by_template += one.lost_by_template;
        all.changed_by_template += one.changed_by_template;
        all.failures.extend(one.failures);
        // They are the same with every seed.
        all.continuations = one.continuations;
        for (kind, tally) in one.kinds {
            let sum = all.kinds.entry(kind).or_default();
            (sum.tried, sum.held) = (sum.tried + tally.tried, sum.held + tally.held);
        }
    }
    all.failures.sort_by_key(|failure| failure.rendered.len());
    let is_bad = spec.status != Status::Supported || !all.all_held();
    let report = if is_bad { gaps::report(source, &spec, &all) } else { None };
    Ok(Outcome::Tried(Box::new(Tried { spec, all, report })))
}

fn print(file: &str, outcome: &Outcome, failures: usize) -> Done {
    let mut out = anstream::stdout().lock();
    let tried = match outcome {
        Outcome::Broken(error) => {
            writeln!(out, "{}: {}", visible::lines(file), paint(BAD, &visible::lines(error)))?;
            return Ok(());
        }
        Outcome::Tried(tried) => tried,
    };
    let all = &tried.all;
    if tried.spec.status != Status::Supported {
        writeln!(out, "{}: {}", visible::lines(file), gaps::status(&tried.spec))?;
    }
    // Of a format that is not supported, perhaps nothing can be tried.
    if all.tried > 0 || tried.spec.status.makes_parser() {
        let style = if all.held == all.tried { GOOD } else { BAD };
        let came_back = paint(style, &format!("{} of {} survived the round trip", all.held, all.tried));
        let more = match all.lost_by_template {
            0 => String::new(),
            lost => format!("; {lost} more were not rendered completely by the template"),
        };
        let more = match all.changed_by_template {
            0 => more,
            changed => {
                format!("{more}; {changed} of these have a text that it changes, which came back as it writes it")
            }
        };
        writeln!(out, "{}: {came_back}{more}", visible::lines(file))?;
        if all.tried > 0 {
            writeln!(out, "  covers {}", all.covered().join("; "))?;
        }
        for wrong in all.wrong_continuations() {
            let [prompt, output] = [&wrong.prompt, &wrong.output].map(|text| visible::line(&format!("{text:?}")));
            writeln!(out, "  {}: {}: after {prompt}, {output}", paint(BAD, "read wrongly"), wrong.kind)?;
        }
    }
    if let Some(report) = tried.report.as_ref().filter(|_| failures > 0) {
        gaps::write(&mut out, report)?;
    }
    for failure in all.failures.iter().take(failures.saturating_sub(1)) {
        writeln!(out, "  rendered {:?}", failure.rendered)?;
        writeln!(out, "  expected {}", visible::line(&json!(failure.expected).to_string()))?;
        writeln!(out, "  parsed   {}", visible::line(&json!(failure.parsed).to_string()))?;
    }
    Ok(())
}

/// What became of the random conversations of one template.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Row<'v> {
    Broken {
        /// File name.
        template: &'v str,
        /// Why it could not be analysed.
        problem: &'v str,
    },
    Tried {
        /// File name.
        template: &'v str,
        /// How much of what the template renders the spec describes; no parser is made from an unsupported one.
        status: Status,
        /// What is missing, one sentence each; empty if the format is supported.
        gaps: &'v [String],
        /// How many were rendered and parsed; 0 if no parser can be made.
        tried: u32,
        /// How many came back the same. If fewer than `tried`, if something is in `read_wrongly`, or if the status is
        /// `unsupported`, the exit code is 1.
        held: u32,
        /// How many more the template cannot render whole.
        lost_by_template: u32,
        /// The kinds of conversations, and of outputs that continue a prompt, that were tried and came back each time.
        covered: Vec<String>,
        /// The smallest conversation that shows what is missing or read wrongly; null if there is none.
        report: Option<Box<ReportDocument>>,
        /// What no past turn shows: outputs that continue a prompt of the template and were read wrongly.
        read_wrongly: Vec<Wrong<'v>>,
        /// Conversations that came back as something else, the shortest first, as many as `--failures` says.
        failures: Vec<Lost<'v>>,
    },
}

/// An output that continues a prompt and was read wrongly.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Wrong<'v> {
    /// What the output shows, in words.
    kind: String,
    /// The value of the thinking switch; null if it was not set.
    thinking: Option<bool>,
    /// The prompt, as it was passed to the parser: all of it, or its end.
    prompt: &'v str,
    /// The output that continues the prompt.
    output: &'v str,
    /// The message that must come back.
    expected: &'v Message,
    /// The message that was read.
    parsed: &'v Message,
}

/// A conversation that came back as something else.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Lost<'v> {
    /// The render of the assistant's turn.
    rendered: &'v str,
    /// What was rendered.
    expected: &'v Message,
    /// The message that was read.
    parsed: &'v Message,
}

impl<'v> Row<'v> {
    fn new(template: &'v str, outcome: &'v Outcome, failures: usize) -> Self {
        let Tried { spec, all, report } = match outcome {
            Outcome::Broken(problem) => return Row::Broken { template, problem },
            Outcome::Tried(tried) => &**tried,
        };
        let wrong = all.wrong_continuations().map(|wrong| Wrong {
            kind: wrong.kind.to_string(),
            thinking: wrong.thinking,
            prompt: &wrong.prompt,
            output: &wrong.output,
            expected: &wrong.expected,
            parsed: &wrong.parsed,
        });
        let failures = all.failures.iter().take(failures);
        let lost = failures.map(|f| Lost { rendered: &f.rendered, expected: &f.expected, parsed: &f.parsed });
        Row::Tried {
            template,
            status: spec.status,
            gaps: &spec.gaps,
            tried: all.tried,
            held: all.held,
            lost_by_template: all.lost_by_template,
            covered: all.covered(),
            report: report.clone().map(|report| Box::new(ReportDocument { file: template.to_owned(), report })),
            read_wrongly: wrong.collect(),
            failures: lost.collect(),
        }
    }
}
