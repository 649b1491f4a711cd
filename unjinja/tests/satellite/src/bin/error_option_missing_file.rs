mod parser {
    unjinja::include_template_parser!("tags.jinja", tools = "nothing.json");
}

fn main() {}
