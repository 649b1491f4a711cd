//! What the build script made: the types stand beside the modules of the parsers.
#![deny(warnings, missing_docs)]

/// The parsers, and the types of the tools.
pub mod parsers {
    include!(concat!(env!("OUT_DIR"), "/unjinja.rs"));
}

use parsers::{ToolCall, arguments, tags};

fn main() {
    let output = r#"<call>{"name": "set_alarm", "arguments": {"hour": 7}}</call>"#;
    let message = tags::parse(output, &unjinja::Options::new().tools(&tags::tools()));
    let calls: Result<Vec<_>, _> = message.typed_calls::<ToolCall>().collect();
    assert_eq!(calls, Ok(vec![ToolCall::SetAlarm(arguments::SetAlarm { hour: 7, days: Vec::new() })]));
    assert!(tags::TOOL_GRAMMAR.contains("set_alarm"));
    assert_eq!(parsers::all().len(), 1);
}
