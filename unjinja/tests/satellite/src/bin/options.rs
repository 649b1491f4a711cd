//! The options of the macros.
#![deny(warnings, missing_docs)]

use unjinja::Options;

/// From a spec, with no template.
pub mod spec {
    unjinja::include_spec_parser!("plain.toml");
}

/// With an overlay, which changes the end of a turn.
pub mod overlay {
    unjinja::include_spec_parser!("plain.toml", overlay = "halt.overlay.toml");
}

/// The overlay next to the spec.
pub mod corrected {
    unjinja::include_spec_parser!("corrected.toml");
}

/// Another overlay instead of the one next to the template.
pub mod instead {
    unjinja::include_template_parser!("corrected/corrected.jinja", overlay = "stop.overlay.toml");
}

/// With a committed spec, tools known at build time, and the runtime under another name.
pub mod all {
    unjinja::include_template_parser!(
        "tags.jinja",
        spec = "tags.toml",
        tools = "tools.json",
        runtime = chat,
    );
}

fn main() {
    assert_eq!(spec::parse("Rain.<|stop|>", &Options::new()).content, "Rain.");
    assert_eq!(spec::parse("Rain.<|halt|>", &Options::new()).content, "Rain.<|halt|>");
    assert_eq!(overlay::parse("Rain.<|halt|>", &Options::new()).content, "Rain.");
    assert_eq!(corrected::parse("Rain.<|halt|>", &Options::new()).content, "Rain.");
    assert_eq!(instead::parse("Rain.<|stop|>", &Options::new()).content, "Rain.");
    assert_eq!(instead::parse("Rain.<|halt|>", &Options::new()).content, "Rain.<|halt|>");
    assert_eq!(all::tools().len(), 1);
    let options = chat::Options::new().tools(&all::tools());
    let message: chat::Message = all::parse(r#"<call>{"name": "now", "arguments": {}}</call>"#, &options);
    assert_eq!((message.tool_calls[0].name.as_str(), message.diagnostics.len()), ("now", 0));
    // The grammar of the tools, as constants.
    assert!(all::TOOL_GRAMMAR.starts_with("root ::= ") && all::TOOL_GRAMMAR.contains(r#"\"now\""#));
    assert_eq!(all::TOOL_TRIGGERS, [chat::Trigger::of_word("<call>")]);
    let grammar = unjinja::GrammarExt::grammar(&all::Parser, &all::tools(), &unjinja::GrammarOptions::new());
    assert_eq!(grammar.map(|grammar| grammar.text).as_deref(), Ok(all::TOOL_GRAMMAR));
}
