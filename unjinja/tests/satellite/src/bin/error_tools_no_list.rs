mod parser {
    unjinja::include_template_parser!("tags.jinja", tools = "no_list.json");
}

fn main() {}
