//! Runs trials and prints which specs the analysis did not give back.

use std::collections::BTreeMap;
use std::process::ExitCode;

use unjinja_synth::trial::{Stage, TESTED, known, trials};

fn main() -> ExitCode {
    let mut seed = 1;
    let mut count = 100;
    let mut first = 0;
    let (mut show, mut only) = (0, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse().ok()).unwrap_or_default();
        match argument.as_str() {
            "--seed" => seed = number(),
            "--count" => count = number(),
            "--number" => (first, count) = (number(), 1),
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
                    "usage: unjinja-synth [--seed N] [--count N] [--number N] [--show | --show-one] [--only TEXT] | --known\n\
                     --known prints the file of known failures\n\
                     --show prints every failure, --show-one one of each cause, --only those whose cause has TEXT"
                );
                return ExitCode::from(2);
            }
        }
    }
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut causes: BTreeMap<(Stage, &str, String), Vec<String>> = BTreeMap::new();
    for (number, trial) in (first..).zip(trials(seed, first..first + count)) {
        let kind = trial.kind();
        let rate = kinds.entry(kind).or_default();
        rate.1 += 1;
        let Some((stage, cause, detail)) = &trial.failure else {
            rate.0 += 1;
            continue;
        };
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
    for (kind, (good, all)) in &kinds {
        println!("{kind:16} {good:5} of {all:5}");
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.len()));
    for ((stage, kind, cause), seen) in &causes {
        let some: Vec<String> = seen.iter().take(8).cloned().collect();
        println!("{:5}  {stage:?} {kind}: {cause}   [{}]", seen.len(), some.join(" "));
    }
    if causes.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
