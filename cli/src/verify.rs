//! `unjinja verify`: renders random conversations with each template, parses the texts with the template's parser, and
//! compares the messages.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use unjinja_analyzer::{Verification, verify};
use unjinja_build::{Source, SourceExt};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::ParserArgs;
use crate::ui::{BAD, GOOD, Ui, WARNING, paint};
use crate::visible;
use crate::{input, output};

/// The arguments of `verify`.
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
    /// How many of the conversations that did not survive the round trip are printed per template.
    #[arg(long, default_value_t = 1)]
    failures: usize,
    #[command(flatten)]
    parser: ParserArgs,
}

/// The result for one template.
enum Outcome {
    Broken(String),
    Unsupported(String),
    Tried(Verification),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let templates = input::templates(&arguments.paths)?;
    arguments.parser.for_templates(templates.len())?;
    let progress = ui.progress(templates.len());
    let (mut rows, mut lost) = (Vec::new(), 0);
    for source in templates {
        let source = source.map_err(|e| Failure::Input(e.to_string()))?;
        let file = source.file();
        progress.set_message(file.clone());
        let outcome = of_template(&source, arguments)?;
        progress.inc(1);
        if match &outcome {
            Outcome::Broken(_) => true,
            Outcome::Unsupported(_) => false,
            Outcome::Tried(all) => all.held < all.tried,
        } {
            lost += 1;
        }
        match arguments.format {
            Format::Json => rows.push(row(&file, &outcome, arguments.failures)),
            Format::Human => progress.suspend(|| print(&file, &outcome, arguments.failures))?,
        }
    }
    progress.finish_and_clear();
    if arguments.format == Format::Json {
        output::json(&rows)?;
    }
    match lost {
        0 => Ok(()),
        1 => Err(Failure::Found("1 template has conversations that did not survive the round trip".to_owned())),
        lost => Err(Failure::Found(format!("{lost} templates have conversations that did not survive the round trip"))),
    }
}

fn of_template(source: &Source, arguments: &Arguments) -> Result<Outcome, Failure> {
    let spec = match arguments.parser.spec_for(source) {
        Ok(corrected) => corrected.spec,
        Err(Failure::Found(problem)) => return Ok(Outcome::Broken(problem)),
        Err(failure) => return Err(failure),
    };
    if let Some(reason) = spec.unsupported {
        return Ok(Outcome::Unsupported(reason));
    }
    let template = source.template().map_err(|e| Failure::Found(e.to_string()))?;
    let mut all = Verification::default();
    for seed in &arguments.seed {
        let one = verify(&template, &spec, arguments.count, *seed);
        all.tried += one.tried;
        all.held += one.held;
        all.lost_by_template += one.lost_by_template;
        all.failures.extend(one.failures);
    }
    Ok(Outcome::Tried(all))
}

fn print(file: &str, outcome: &Outcome, failures: usize) -> Done {
    let mut out = anstream::stdout().lock();
    match outcome {
        Outcome::Broken(error) => writeln!(out, "{}: {}", visible::lines(file), paint(BAD, &visible::lines(error)))?,
        Outcome::Unsupported(reason) => {
            writeln!(out, "{}: {}: {}", visible::lines(file), paint(WARNING, "unsupported"), visible::lines(reason))?;
        }
        Outcome::Tried(all) => {
            let style = if all.held == all.tried { GOOD } else { BAD };
            let came_back = paint(style, &format!("{} of {} survived the round trip", all.held, all.tried));
            let more = match all.lost_by_template {
                0 => String::new(),
                lost => format!("; {lost} more were not rendered completely by the template"),
            };
            writeln!(out, "{}: {came_back}{more}", visible::lines(file))?;
            for failure in all.failures.iter().take(failures) {
                writeln!(out, "  rendered {:?}", failure.rendered)?;
                writeln!(out, "  expected {}", visible::line(&json!(failure.expected).to_string()))?;
                writeln!(out, "  parsed   {}", visible::line(&json!(failure.parsed).to_string()))?;
            }
        }
    }
    Ok(())
}

fn row(file: &str, outcome: &Outcome, failures: usize) -> Value {
    match outcome {
        Outcome::Broken(error) => json!({"template": file, "problem": error}),
        Outcome::Unsupported(reason) => json!({"template": file, "unsupported": reason}),
        Outcome::Tried(all) => json!({
            "template": file, "tried": all.tried, "held": all.held, "lost_by_template": all.lost_by_template,
            "failures": all.failures.iter().take(failures).map(|f| json!({
                "rendered": f.rendered, "expected": f.expected, "parsed": f.parsed,
            })).collect::<Vec<Value>>(),
        }),
    }
}
