mod parser {
    unjinja::include_template_parser!("tags.jinja", spec = "plain.toml");
}

fn main() {}
