//! Specs from which no parser can be made: the error says why, where and what to do.

use unjinja_codegen::{LowerError, LowerProblem, interpreter, program};
use unjinja_runtime::Interpreter;
use unjinja_spec::{FormatSpec, MarkerKey, ReasoningMode, StartsIn, Status};

type Failure = Box<dyn std::error::Error>;

/// The committed spec of a model.
fn committed() -> Result<FormatSpec, Failure> {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../generated/specs/qwen_qwen3_0_6b.toml"))?;
    Ok(FormatSpec::from_toml(&text, "qwen_qwen3_0_6b.toml")?)
}

/// That spec, with these alternatives of its opening marker.
fn with_alternatives(alternatives: &[String]) -> Result<Result<Interpreter, LowerError>, Failure> {
    let mut spec = committed()?;
    spec.alternatives.insert(MarkerKey::CallStart, alternatives.to_vec());
    Ok(interpreter(&spec))
}

#[test]
fn more_markers_than_a_search_tells_apart_are_refused() -> Result<(), Failure> {
    let few: Vec<String> = (0..40).map(|n| format!("<call_{n}>")).collect();
    assert!(with_alternatives(&few)?.is_ok());
    let many: Vec<String> = (0..80).map(|n| format!("<call_{n}>")).collect();
    let error = with_alternatives(&many)?.err().ok_or("80 alternatives were accepted")?;
    let too_many = |problem: &LowerProblem| matches!(problem, LowerProblem::TooManyMarkers { count: 81.., .. });
    assert!(error.problems.iter().all(too_many), "{error}");
    assert!(error.problems[0].to_string().contains("at most 64 are possible"), "{error}");
    Ok(())
}

#[test]
fn a_prompt_that_opens_unknown_reasoning_is_refused_with_its_place() -> Result<(), Failure> {
    let mut spec = committed()?;
    spec.reasoning.mode = ReasoningMode::None;
    spec.generation_prompt[0].starts_in = StartsIn::Reasoning;
    let error = program(&spec).err().ok_or("the prompt was accepted")?;
    let [problem] = error.problems.as_slice() else { return Err(error.into()) };
    assert!(matches!(problem, LowerProblem::PromptOpensReasoning { index: 0, .. }), "{problem:?}");
    assert_eq!(problem.key(), "generation_prompt[0].starts_in");
    assert!(error.to_string().contains("\n    = next: in an overlay, set `reasoning.mode`"), "{error}");
    Ok(())
}

#[test]
fn an_unsupported_format_is_refused_with_its_reason() -> Result<(), Failure> {
    let mut spec = committed()?;
    spec.add_gap(Status::Unsupported, "calls are drawn");
    let error = program(&spec).err().ok_or("an unsupported format was accepted")?;
    assert_eq!(error.problems, [LowerProblem::Unsupported { gaps: vec!["calls are drawn".to_owned()] }]);
    Ok(())
}
