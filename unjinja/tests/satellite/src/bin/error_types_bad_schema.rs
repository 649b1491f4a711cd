mod parser {
    unjinja::include_spec_parser!("tags.toml", tools = "bad_types.json", types = true);
}

fn main() {}
