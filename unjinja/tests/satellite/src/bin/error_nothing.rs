mod parser {
    unjinja::include_template_parser!();
}

fn main() {}
