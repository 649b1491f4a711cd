mod parser {
    unjinja::include_spec_parser!("tags.toml", tools = "same_types.json", types = true);
}

fn main() {}
