mod parser {
    unjinja::include_template_parser!("unsupported.jinja");
}

fn main() {}
