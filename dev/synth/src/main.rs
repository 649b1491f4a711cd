//! Runs trials and prints which specs the analysis did not give back.

use std::collections::BTreeMap;
use std::process::ExitCode;

use unjinja_synth::construct::constructs;
use unjinja_synth::trial::{Stage, TESTED, Trial, known, trial, trial_of_parser, trials, trials_of};

/// How many specs of a kind came back, and how many were drawn.
type Rates = BTreeMap<&'static str, (u64, u64)>;

fn main() -> ExitCode {
    let mut seed = 1;
    let mut count = 100;
    let mut first = 0;
    let (mut show, mut only) = (0, String::new());
    let mut one: fn(u64, u64) -> Trial = trial;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse().ok()).unwrap_or_default();
        match argument.as_str() {
            "--seed" => seed = number(),
            "--count" => count = number(),
            "--number" => (first, count) = (number(), 1),
            "--parser" => one = trial_of_parser,
            "--show" => show = u64::MAX,
            "--show-one" => show = 1,
            "--known" => {
                let all: Vec<_> = TESTED.iter().flat_map(|&(seed, count)| trials(seed, 0..count)).collect();
                print!("{}", known(&all));
                return ExitCode::SUCCESS;
            }
            "--only" => only = arguments.next().unwrap_or_default(),
            _ => {
                eprintln!(
                    "usage: unjinja-synth [--seed N] [--count N] [--number N] [--show | --show-one] [--only TEXT] [--parser] | --known\n\
                     --known prints the file of known failures\n\
                     --parser only checks that the parser of each drawn spec reads what its template renders\n\
                     --show prints every failure, --show-one one of each cause, --only those whose cause has TEXT"
                );
                return ExitCode::from(2);
            }
        }
    }
    let (mut kinds, mut parts) = (Rates::new(), Rates::new());
    let mut causes: BTreeMap<(Stage, &str, String), Vec<String>> = BTreeMap::new();
    for (number, trial) in (first..).zip(trials_of(seed, first..first + count, one)) {
        let kind = trial.kind();
        let good = u64::from(trial.failure.is_none());
        let count = |table: &mut Rates, name| {
            let (came_back, all) = table.entry(name).or_default();
            (*came_back, *all) = (*came_back + good, *all + 1);
        };
        count(&mut kinds, kind);
        constructs(&trial.drawn).into_iter().for_each(|name| count(&mut parts, name));
        let Some((stage, cause, detail)) = &trial.failure else { continue };
        let seen = causes.entry((*stage, kind, cause.clone())).or_default();
        let alphabet = trial.drawn.behaviour.alphabet.map_or(String::new(), |alphabet| format!("{alphabet:?}"));
        seen.push(format!("{number}/{}", &alphabet[..1]));
        let heading = format!("{stage:?} {kind} {cause}");
        if (seen.len() as u64) <= show && heading.contains(&only) {
            println!("===== seed {seed} number {number}: {heading}\n{detail}\n----- template\n{}\n", trial.template);
            println!("----- drawn\n{}", trial.drawn.spec.to_toml());
            if let Some(got) = &trial.got {
                println!("----- came back\n{}", got.to_toml());
            }
        }
    }
    for (name, (good, all)) in kinds.iter().chain(&parts) {
        println!("{name:22} {good:5} of {all:5}");
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.len()));
    for ((stage, kind, cause), seen) in &causes {
        let some: Vec<String> = seen.iter().take(8).cloned().collect();
        println!("{:5}  {stage:?} {kind}: {cause}   [{}]", seen.len(), some.join(" "));
    }
    if causes.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
