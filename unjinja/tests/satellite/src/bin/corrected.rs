//! Prints what it reads; the overlay next to its template is changed while the test runs.

mod corrected {
    unjinja::include_template_parser!("corrected/corrected.jinja");
}

fn main() {
    println!("{}", corrected::parse("Rain.<|halt|>", &unjinja::Options::new()).content);
}
