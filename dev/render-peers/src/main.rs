//! Compares renderers of chat templates on the corpus: how many texts equal Python's, and the time per render.
//!
//! The oracle is `renders.jsonl` in the corpus and in its folders `wild` and `wide`: what Python's Jinja2 writes for each
//! template and conversation. Nothing here decides what is right.

mod corpus;
mod renderers;

use std::path::PathBuf;

use corpus::{Failure, Job};
use cpu_time::ProcessTime;
use renderers::{Prepared, RENDERERS};

/// Passes over all jobs; the fastest counts, because other work on the machine only makes a pass slower.
const PASSES: usize = 5;

/// What one renderer made of all jobs.
struct Score {
    equal: Vec<bool>,
    other_text: usize,
    errors: usize,
}

fn main() -> Result<(), Failure> {
    let corpus = std::env::var_os("UNJINJA_CORPUS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")), PathBuf::from);
    let jobs = corpus::read(&corpus)?;
    let mut scores = Vec::new();
    let mut prepared = Vec::new();
    for renderer in RENDERERS {
        let templates: Vec<Option<Box<dyn Prepared>>> =
            jobs.templates.iter().map(|source| (renderer.prepare)(source)).collect();
        scores.push(score(&jobs.jobs, &templates));
        prepared.push(templates);
    }
    // Times are comparable only where all do the same work.
    let common: Vec<&Job> = (jobs.jobs.iter().enumerate())
        .filter(|(index, _)| scores.iter().all(|score| score.equal.get(*index) == Some(&true)))
        .map(|(_, job)| job)
        .collect();
    println!(
        "{} templates, {} texts; times are over the {} texts that all get right\n",
        jobs.templates.len(),
        jobs.jobs.len(),
        common.len()
    );
    println!("| renderer | equal | other text | error | time per render |");
    println!("|---|---|---|---|---|");
    for ((renderer, score), templates) in RENDERERS.iter().zip(&scores).zip(&prepared) {
        let equal = score.equal.iter().filter(|equal| **equal).count();
        let time = time(&common, templates)?;
        println!("| {} | {equal} | {} | {} | {time:.1} µs |", renderer.name, score.other_text, score.errors);
    }
    Ok(())
}

fn score(jobs: &[Job], templates: &[Option<Box<dyn Prepared>>]) -> Score {
    let mut score = Score { equal: Vec::new(), other_text: 0, errors: 0 };
    for job in jobs {
        let text =
            templates.get(job.template).and_then(Option::as_ref).and_then(|template| template.render(&job.context));
        score.equal.push(text.as_deref() == Some(job.text.as_str()));
        match text {
            Some(text) if text == job.text => {}
            Some(_) => score.other_text += 1,
            None => score.errors += 1,
        }
    }
    score
}

/// CPU time per render in microseconds: of the process, so that threads count too.
fn time(jobs: &[&Job], templates: &[Option<Box<dyn Prepared>>]) -> Result<f64, Failure> {
    let mut best = f64::MAX;
    for _ in 0..PASSES {
        let start = ProcessTime::try_now()?;
        for job in jobs {
            if let Some(Some(template)) = templates.get(job.template) {
                std::hint::black_box(template.render(&job.context));
            }
        }
        best = best.min(start.try_elapsed()?.as_secs_f64());
    }
    Ok(best * 1e6 / jobs.len().max(1) as f64)
}
