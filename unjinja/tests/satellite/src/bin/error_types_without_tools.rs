mod parser {
    unjinja::include_spec_parser!("tags.toml", types = true);
}

fn main() {}
