//! The outputs of the corpus that were written under a grammar are accepted by the engines as a whole.

mod support;

use support::{All, Engines, Failure, differences, models};
use unjinja_runtime::ChatParser;
use unjinja_testkit::grammars::Case;

#[test]
fn outputs_are_accepted() -> Result<(), Failure> {
    let Some(cases) = Case::all()? else { return Ok(()) };
    let (engines, models) = (Engines::new()?, models()?);
    let (mut grammars, mut accepted, mut wrong) = (0, 0, String::new());
    for case in &cases {
        let Some(parser) = models.iter().find(|model| model.info().files.iter().any(|file| *file == case.template))
        else {
            continue;
        };
        for tools in [Some(&case.tools), None] {
            if tools.is_none() && case.tools.is_empty() {
                continue;
            }
            let name = format!("{}, {}", case.id, if tools.is_some() { "with the tools" } else { "for any tool" });
            let all = All::make(&engines, parser, tools, &case.options).map_err(|why| format!("{name}: {why}"))?;
            let Some(all) = all else { continue };
            grammars += 1;
            if case.held {
                accepted += 1;
                wrong.extend(differences(&name, &case.output, all.accept(&case.output), true));
            }
        }
    }
    println!("{grammars} grammars of {} cases compile in both engines; {accepted} outputs are accepted", cases.len());
    assert!(wrong.is_empty(), "{} answers differ:\n{wrong}", wrong.lines().count());
    assert!(accepted >= 200, "{accepted} accepted");
    Ok(())
}
