mod parser {
    unjinja::include_spec_parser!("tags.toml", tools = "tools.json", types = "yes");
}

fn main() {}
