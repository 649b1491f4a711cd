//! Specs of which no parser can be made: each says why.

use unjinja_codegen::interpreter;
use unjinja_runtime::Interpreter;
use unjinja_spec::FormatSpec;

type Failure = Box<dyn std::error::Error>;

/// The committed spec of a model, with these alternatives of its opening marker.
fn with_alternatives(alternatives: &[String]) -> Result<Result<Interpreter, String>, Failure> {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../generated/specs/qwen_qwen3_0_6b.toml"))?;
    let mut spec = FormatSpec::from_toml(&text, "qwen_qwen3_0_6b.toml")?;
    spec.alternatives.insert("tools.per_call_start".to_owned(), alternatives.to_vec());
    Ok(interpreter(&spec).map_err(|error| error.to_string()))
}

#[test]
fn more_markers_than_a_search_tells_apart_are_refused() -> Result<(), Failure> {
    let few: Vec<String> = (0..40).map(|n| format!("<call_{n}>")).collect();
    assert!(with_alternatives(&few)?.is_ok());
    let many: Vec<String> = (0..80).map(|n| format!("<call_{n}>")).collect();
    let error = with_alternatives(&many)?.err().unwrap_or_default();
    assert!(error.contains("more than 64 markers may come in one place"), "{error}");
    Ok(())
}
