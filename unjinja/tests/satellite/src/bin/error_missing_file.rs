mod parser {
    unjinja::include_template_parser!("tagz.jinja");
}

fn main() {}
