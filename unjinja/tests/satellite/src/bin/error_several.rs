mod parser {
    unjinja::include_template_parser!("tokenizer_config.json");
}

fn main() {}
