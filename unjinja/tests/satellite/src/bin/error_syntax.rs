mod parser {
    unjinja::include_template_parser!("syntax.jinja");
}

fn main() {}
