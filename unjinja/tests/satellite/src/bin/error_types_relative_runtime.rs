mod parser {
    unjinja::include_spec_parser!("tags.toml", tools = "tools.json", types = true, runtime = self::chat);
}

fn main() {}
