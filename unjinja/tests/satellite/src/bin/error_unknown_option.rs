mod parser {
    unjinja::include_template_parser!("tags.jinja", overlays = "x.toml");
}

fn main() {}
