mod parser {
    unjinja::include_spec_parser!("nothing.toml");
}

fn main() {}
