mod parser {
    unjinja::include_template_parser!("refuses.jinja");
}

fn main() {}
