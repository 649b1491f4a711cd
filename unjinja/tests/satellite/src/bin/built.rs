//! What the build script made: the modules of the parsers, and next to them the types.
#![deny(warnings, missing_docs)]

/// The parsers, and the types of the tools.
pub mod parsers {
    include!(concat!(env!("OUT_DIR"), "/unjinja.rs"));
}

/// The same template with the macro.
pub mod corrected {
    unjinja::include_template_parser!("corrected/corrected.jinja");
}

use parsers::{ToolCall, arguments, tags};

fn main() {
    let output = r#"<call>{"name": "set_alarm", "arguments": {"hour": 7}}</call>"#;
    let message = tags::parse(output, &unjinja::Options::new().tools(&tags::tools()));
    let calls: Result<Vec<_>, _> = message.typed_calls::<ToolCall>().collect();
    assert_eq!(calls, Ok(vec![ToolCall::SetAlarm(arguments::SetAlarm { hour: 7, days: Vec::new() })]));
    assert!(tags::TOOL_GRAMMAR.contains("set_alarm"));
    assert_eq!(parsers::all().len(), 2);
    // Both apply the overlay next to the template.
    assert_eq!(parsers::corrected::parse("Rain.<|halt|>", &unjinja::Options::new()).content, "Rain.");
    assert_eq!(format!("{:?}", parsers::corrected::PROGRAM), format!("{:?}", corrected::PROGRAM));
}
