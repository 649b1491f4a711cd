//! `unjinja lint --fix` and `--diff`: writes a repaired template to its file, or prints what would change. Which repairs are good,
//! the package `unjinja-export` decides.

use std::io::Write;

use unjinja_build::Source;
use unjinja_lint::Repaired;

use crate::failure::{Done, Failure};
use crate::ui::{BAD, FAINT, GOOD, NAME, Ui, paint};
use crate::{input, visible};

/// The unchanged lines around a change.
const AROUND: usize = 2;

/// Whether the file of a template holds nothing else.
pub(super) fn can_write(source: &Source) -> bool {
    !input::is_stdin(&source.path)
        && source.variant.is_none()
        && std::fs::read_to_string(&source.path).is_ok_and(|text| text == source.text)
}

/// Writes the repaired template, if its file holds nothing else.
pub(super) fn write(source: &Source, repaired: &Repaired, ui: Ui) -> Done {
    if !can_write(source) {
        let cause = "--fix writes files that hold a template and nothing else; save the template as a .jinja file, or use --diff";
        return Err(Failure::Input(format!("{}: {cause}", source.place())));
    }
    std::fs::write(&source.path, &repaired.source).map_err(|error| Failure::file(&source.path, error))?;
    if !ui.quiet {
        anstream::eprintln!("{}: repaired {}", visible::line(&source.place()), names(repaired));
    }
    Ok(())
}

fn names(repaired: &Repaired) -> String {
    repaired.rules.iter().map(|rule| rule.id).collect::<Vec<&str>>().join(", ")
}

/// Prints the changes as a unified diff. A repair changes lines, and neither adds nor removes any.
pub(super) fn diff(source: &Source, repaired: &Repaired) -> Done {
    let mut out = anstream::stdout().lock();
    let place = visible::line(&source.place());
    writeln!(out, "{}", paint(NAME, &format!("--- {place}")))?;
    writeln!(out, "{}", paint(NAME, &format!("+++ {place}  ({})", names(repaired))))?;
    let (old, new) = (lines(&source.text), lines(&repaired.source));
    let changed: Vec<usize> = (0..old.len().max(new.len())).filter(|at| old.get(*at) != new.get(*at)).collect();
    let mut rest = changed.as_slice();
    while let Some(first) = rest.first() {
        // Changes that are so near that their surroundings meet are printed together.
        let near = rest.windows(2).take_while(|pair| pair[1] - pair[0] <= 2 * AROUND + 1).count() + 1;
        let (group, further) = rest.split_at(near);
        rest = further;
        let begin = first.saturating_sub(AROUND);
        let end = (group.last().unwrap_or(first) + AROUND + 1).min(old.len());
        let count = end - begin;
        writeln!(out, "{}", paint(FAINT, &format!("@@ -{0},{count} +{0},{count} @@", begin + 1)))?;
        let mut at = begin;
        while at < end {
            let run = (at..end).take_while(|line| group.contains(line)).count();
            for (sign, style, lines) in [('-', BAD, &old), ('+', GOOD, &new)] {
                for line in lines.iter().skip(at).take(run) {
                    writeln!(out, "{}", paint(style, &format!("{sign}{}", visible::line(line))))?;
                }
            }
            at += run;
            if run == 0 {
                writeln!(out, " {}", visible::line(old[at]))?;
                at += 1;
            }
        }
    }
    Ok(())
}

fn lines(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}
