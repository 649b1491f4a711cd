//! The programs that are compiled into generated code are those that the interpreter runs. All other tests take the compiled ones for
//! both.

use crate::support::{Failure, models, own_models};

#[test]
fn compiled_programs_are_those_of_their_specs() -> Result<(), Failure> {
    let mut seen = 0;
    for model in models()?.into_iter().chain(own_models()?) {
        let made = unjinja_codegen::interpreter(&model.spec)?;
        let (made, compiled) = (format!("{:#?}", made.program()), format!("{:#?}", model.parser.program()));
        let differs = made.lines().zip(compiled.lines()).find(|(made, compiled)| made != compiled);
        assert!(made == compiled, "{}: made and compiled differ: {differs:?}", model.spec.template.name);
        seen += 1;
    }
    assert!(seen > 100, "{seen} programs are too few to show anything");
    Ok(())
}
