//! `unjinja verify`: random conversations through each template and back.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use unjinja_analyzer::render::Template;
use unjinja_analyzer::{Naming, Verification, verify};

use crate::failure::{Done, Failure};
use crate::input;

/// The arguments of `verify`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Template files, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How many conversations a template and seed.
    #[arg(long, default_value_t = 200)]
    count: u32,
    /// The seeds; the same seed gives the same conversations.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    seed: Vec<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// How many of the conversations that were read wrongly are printed, a template.
    #[arg(long, default_value_t = 1)]
    failures: usize,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let mut out = std::io::stdout().lock();
    let (mut rows, mut lost) = (Vec::new(), 0);
    for path in input::templates(&arguments.paths)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = input::text(&path)?;
        let spec = match crate::log::analyze_text(&text, &Naming::of_file(&file)) {
            Ok(spec) => spec,
            Err(error) => {
                lost += 1;
                eprintln!("error: {error}");
                continue;
            }
        };
        if let Some(reason) = &spec.unsupported {
            rows.push(json!({"template": file, "unsupported": reason}));
            if !arguments.json {
                writeln!(out, "{file}: unsupported: {reason}")?;
            }
            continue;
        }
        let template = Template::parse(&file, &text).map_err(|e| Failure::Input(e.to_string()))?;
        let mut all = Verification::default();
        for seed in &arguments.seed {
            let one = verify(&template, &spec, arguments.count, *seed);
            all.tried += one.tried;
            all.held += one.held;
            all.lost_by_template += one.lost_by_template;
            all.failures.extend(one.failures);
        }
        if all.held < all.tried {
            lost += 1;
        }
        rows.push(json!({
            "template": file, "tried": all.tried, "held": all.held, "lost_by_template": all.lost_by_template,
            "failures": all.failures.iter().take(arguments.failures).map(|f| json!({
                "rendered": f.rendered, "expected": f.expected, "parsed": f.parsed,
            })).collect::<Vec<Value>>(),
        }));
        if !arguments.json {
            writeln!(
                out,
                "{file}: {} of {} came back; {} more the template cannot render whole",
                all.held, all.tried, all.lost_by_template
            )?;
            for failure in all.failures.iter().take(arguments.failures) {
                writeln!(out, "  rendered {:?}", failure.rendered)?;
                writeln!(out, "  expected {}", json!(failure.expected))?;
                writeln!(out, "  parsed   {}", json!(failure.parsed))?;
            }
        }
    }
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &rows).map_err(std::io::Error::from)?;
        writeln!(out)?;
    }
    if lost > 0 {
        return Err(Failure::Found(format!("{lost} templates did not hold")));
    }
    Ok(())
}
