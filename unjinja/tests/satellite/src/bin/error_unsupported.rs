mod parser {
    unjinja::include_template_parser!("unsupported.jinja", overlay = "unsupported.overlay.toml");
}

fn main() {}
