//! A format that is supported only in part: the first module gives a warning, the second accepts it.

mod parser {
    unjinja::include_template_parser!("partial.jinja");
}

#[allow(deprecated)]
mod accepted {
    unjinja::include_template_parser!("partial.jinja");
}

fn main() {
    let options = unjinja::Options::new();
    assert_eq!(accepted::parse("Hello.<|end|>", &options), parser::parse("Hello.<|end|>", &options));
    println!("{}", parser::parse("Hello.<|end|>", &options).content);
}
