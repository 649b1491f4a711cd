mod parser {
    unjinja::include_template_parser!("tags.jinja", tools = "tools.json", tools = "tools.json");
}

fn main() {}
