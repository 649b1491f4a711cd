//! Types of tools, in both macros, with the runtime under another name.
#![deny(warnings, missing_docs)]

/// From a template.
pub mod template {
    unjinja::include_template_parser!("tags.jinja", types = true, tools = "typed_tools.json");
}

/// From a spec.
pub mod spec {
    unjinja::include_spec_parser!("tags.toml", tools = "typed_tools.json", types = true, runtime = chat);
}

/// Without types.
pub mod plain {
    unjinja::include_spec_parser!("tags.toml", tools = "typed_tools.json", types = false);
}

fn main() {
    let output = r#"<call>{"name": "set_alarm", "arguments": {"hour": 7, "days": ["mon"]}}</call>"#;
    let message = template::parse(output, &unjinja::Options::new().tools(&template::tools()));
    let calls: Result<Vec<_>, _> = message.typed_calls::<template::ToolCall>().collect();
    let alarm = template::arguments::SetAlarm { hour: 7, days: vec![template::arguments::SetAlarmDaysItem::Mon] };
    assert_eq!(calls, Ok(vec![template::ToolCall::SetAlarm(alarm)]));

    let output = r#"<call>{"name": "now", "arguments": {}}</call><call>{"name": "set_alarm", "arguments": {}}</call>"#;
    let message = spec::parse(output, &chat::Options::new().tools(&spec::tools()));
    let calls: Vec<_> = message.typed_calls::<spec::ToolCall>().collect();
    assert!(matches!(calls[0], Ok(spec::ToolCall::Now(spec::arguments::Now {}))), "{calls:?}");
    let error = calls[1].as_ref().map_or_else(ToString::to_string, |call| format!("{call:?}"));
    assert_eq!(error, "call 1 of `set_alarm`: the arguments do not fit: missing field `hour`");
    assert_eq!(plain::tools().len(), 2);
}
