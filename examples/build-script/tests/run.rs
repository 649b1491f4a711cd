//! Runs the example as its first comment says.

use std::error::Error;
use std::fs::File;
use std::process::Command;

#[test]
fn the_compiled_parser_reads_the_output() -> Result<(), Box<dyn Error>> {
    let output = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/output.txt"))?;
    let said = Command::new(env!("CARGO_BIN_EXE_example-build-script")).stdin(output).output()?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let expected = "compiled: wren\n\
                    a call of get_weather begins\n\
                    a call of get_weather begins\n\
                    reasoning: Two cities, so two calls.\n\
                    content: I ask for both.\n\
                    call: get_weather {\"city\": \"Paris\"}\n\
                    call: get_weather {\"city\": \"Rome\", \"days\": 2}\n";
    assert_eq!(String::from_utf8(said.stdout)?, expected);
    Ok(())
}
