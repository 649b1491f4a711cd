//! Prints how many calls its input holds; its template is changed while the test runs.

mod watched {
    unjinja::include_template_parser!("watched.jinja");
}

fn main() {
    let output = r#"<call>{"name": "a", "arguments": {}}</call><changed>{"name": "b", "arguments": {}}</changed>"#;
    let message = watched::parse(output, &unjinja::Options::new());
    println!("{}", message.tool_calls.into_iter().map(|call| call.name).collect::<Vec<_>>().join(", "));
}
