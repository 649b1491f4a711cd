mod parser {
    unjinja::include_spec_parser!("plain.toml", spec = "plain.toml");
}

fn main() {}
