//! Where the macros look for files: in the crate's root, then in its folder `templates/`.
#![deny(warnings, missing_docs)]

/// Found in `templates/`.
pub mod tags {
    unjinja::include_template_parser!("tags.jinja");
}

/// Found in the root, although `templates/` has one too.
pub mod both {
    unjinja::include_template_parser!("both.jinja");
}

/// Found in the root, by the path from there.
pub mod inside {
    unjinja::include_template_parser!("templates/both.jinja");
}

/// One of the named templates of a tokenizer's configuration.
pub mod named {
    unjinja::include_template_parser!("tokenizer_config.json#tool_use");
}

/// The folder of a model.
pub mod folder {
    unjinja::include_template_parser!("corrected/model");
}

/// A supported model by its id.
pub mod supported {
    unjinja::include_template_parser!("Qwen/Qwen3-0.6B");
}

fn main() {
    let options = unjinja::Options::new();
    let names = |message: unjinja::Message| message.tool_calls.into_iter().map(|call| call.name).collect::<Vec<_>>();
    let output = r#"<call>{"name": "a", "arguments": {}}</call>"#;
    assert_eq!(names(tags::parse(output, &options)), ["a"]);
    assert_eq!(names(tags::parse(&output.replace("call>", "root>"), &options)), [""; 0]);
    assert_eq!(names(both::parse(&output.replace("call>", "root>"), &options)), ["a"]);
    assert_eq!(names(inside::parse(&output.replace("call>", "inside>"), &options)), ["a"]);
    assert_eq!(names(named::parse(&output.replace("call>", "use>"), &options)), ["a"]);
    assert_eq!(names(folder::parse(&output.replace("call>", "inside>"), &options)), ["a"]);
    assert_eq!(supported::parse("<think>\nHm.\n</think>\n\nHi", &options).reasoning_content, "Hm.");
    assert_eq!(*named::PROGRAM.info.files, ["tokenizer_config.json#tool_use"]);
    assert_eq!(*tags::PROGRAM.info.files, ["tags.jinja"]);
}
