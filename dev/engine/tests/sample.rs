//! The example `sample`: a random model makes a valid call, and its pieces arrive one by one.

use std::error::Error;

use serde_json::Value;
use unjinja_runtime::Event;

#[allow(dead_code, reason = "it is a program of its own")]
#[path = "../examples/sample.rs"]
mod sample;

#[test]
fn a_random_model_calls_the_tool() -> Result<(), Box<dyn Error>> {
    let mut pieces = 0;
    let message = sample::run(None, "What is the weather in Paris?", |event| {
        pieces += usize::from(matches!(event, Event::ToolCallArguments { .. }));
    })?;
    println!("{message:?}");
    let call = message.tool_calls.first().ok_or("no call")?;
    assert_eq!((call.name.as_str(), call.complete), ("get_weather", true));
    let arguments: Value = serde_json::from_str(&call.arguments)?;
    assert!(arguments["city"].as_str().is_some_and(|city| city.chars().count() <= 40), "{arguments}");
    assert!(pieces > 3, "the arguments arrived in {pieces} pieces");
    Ok(())
}
