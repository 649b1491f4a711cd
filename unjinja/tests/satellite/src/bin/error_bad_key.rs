mod parser {
    unjinja::include_spec_parser!("bad_key.toml");
}

fn main() {}
