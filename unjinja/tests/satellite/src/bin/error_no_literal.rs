mod parser {
    unjinja::include_template_parser!(tags);
}

fn main() {}
