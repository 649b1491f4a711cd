//! Every rule of the linter finds its own fault and no other: `lint/sound.jinja` has no fault, and each case of
//! `lint/cases.toml` damages it in one place.

use std::error::Error;
use std::fs;
use std::path::Path;

use unjinja_lint::{
    Evidence, Finding, LintOptions, RESPONSE_RULES, RULES, can_fix, fix_changes_prompts, lint, syntax_error,
};
use unjinja_render::Template;

type Failure = Box<dyn Error>;

fn read(file: &str) -> Result<String, Failure> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint").join(file))?)
}

fn findings(source: &str, options: &LintOptions) -> Vec<Finding> {
    match Template::parse("damaged.jinja", source) {
        Ok(template) => lint(&template, options),
        Err(error) => vec![syntax_error(&error)],
    }
}

fn shown(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let evidence = match &finding.evidence {
            Some(Evidence::Conversation { conversation, expected, actual }) => {
                format!("\n    {conversation}\n    expected {expected}\n    actual {actual}")
            }
            _ => String::new(),
        };
        format!("  {}: {}{evidence}\n", finding.rule.id, finding.message)
    };
    findings.iter().map(line).collect()
}

#[test]
fn the_sound_template_has_no_fault() -> Result<(), Failure> {
    let found = findings(&read("sound.jinja")?, &LintOptions::default());
    assert!(found.is_empty(), "{}", shown(&found));
    Ok(())
}

#[test]
fn each_rule_finds_its_fault_and_no_other() -> Result<(), Failure> {
    let sound = read("sound.jinja")?;
    let cases: toml::Table = read("cases.toml")?.parse()?;
    let mut problems = String::new();
    for (rule, case) in &cases {
        let mut damaged = sound.clone();
        for change in case.get("change").and_then(toml::Value::as_array).ok_or("a case has `change`")? {
            let text = |index: usize| change.get(index).and_then(toml::Value::as_str).ok_or("two texts");
            let (from, to) = (text(0)?, text(1)?);
            if damaged.matches(from).count() != 1 {
                return Err(format!("{rule}: sound.jinja does not contain this once: {from}").into());
            }
            damaged = damaged.replace(from, to);
        }
        let mut options = LintOptions::default();
        if let Some(tokens) = case.get("special_tokens").and_then(toml::Value::as_array) {
            options =
                options.special_tokens(tokens.iter().filter_map(|token| Some(token.as_str()?.to_owned())).collect());
        }
        let found = findings(&damaged, &options);
        if found.iter().map(|finding| finding.rule.id).collect::<Vec<_>>() != [rule.as_str()] {
            problems.push_str(&format!("{rule} finds\n{}", shown(&found)));
        }
    }
    assert!(problems.is_empty(), "{problems}");
    let without: Vec<&str> = RULES.iter().map(|rule| rule.id).filter(|id| !cases.contains_key(*id)).collect();
    assert!(without.is_empty(), "rules without a case: {without:?}");
    Ok(())
}

#[test]
fn findings_read_well() -> Result<(), Failure> {
    let sound = read("sound.jinja")?;
    let damaged =
        sound.replace("{{ text(message.content) }}\n{%- for call", "{{ message.content + '' }}\n{%- for call");
    let found = findings(&damaged, &LintOptions::default());
    let null = found.iter().find(|finding| finding.rule.id == "null-content").ok_or("not found")?;
    assert!(!null.message.contains('\n') && null.message.ends_with('.'), "{}", null.message);
    assert_eq!(
        null.line,
        Some(1 + damaged.lines().take_while(|line| !line.starts_with("{{ message.content +")).count() as u32)
    );
    assert_eq!(null.column, Some(4));
    let Some(Evidence::Conversation { conversation, .. }) = &null.evidence else { return Err("no evidence".into()) };
    // The smallest conversation: without tools.
    assert_eq!((conversation["messages"].as_array().map(Vec::len), conversation.get("tools")), (Some(2), None));
    Ok(())
}

#[test]
fn rules_have_names_and_sentences() {
    let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert!(RULES.iter().all(|rule| rule.about.ends_with('.')));
    assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    ids.extend(RESPONSE_RULES.iter().map(|rule| rule.id));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len() + RESPONSE_RULES.len());
}

/// `--explain` and the page have the same text.
#[test]
fn every_rule_is_explained() -> Result<(), Failure> {
    let mut page = String::from(
        "# The rules of the linter\n\nWhy each rule of [unjinja lint](lint.md) matters, an example, and what to do. \
         `unjinja lint --explain RULE` prints the same.\n",
    );
    for rule in RULES.iter().chain(RESPONSE_RULES) {
        let text = rule.explanation();
        for part in ["**Why.** ", "\n\n**Example.** ", "\n\n**What to do.** "] {
            assert_eq!(text.matches(part).count(), 1, "{}: {part}", rule.id);
        }
        assert!(!text.contains("\n## "), "{}", rule.id);
        page.push_str(&format!("\n## {}\n\n{} At worst: {}.\n\n{text}\n", rule.id, rule.about, rule.severity.name()));
        if can_fix(*rule) {
            let named = if fix_changes_prompts(*rule) { format!(" --rule {}", rule.id) } else { String::new() };
            page.push_str(&format!("\n`unjinja lint --fix{named}` can repair many templates with this finding.\n"));
        }
    }
    unjinja_testkit::expect::file(&unjinja_testkit::root().join("docs/lint-rules.md"), &page)
}

/// Where each argument is written on its own, nobody can take JSON text apart in the template.
#[test]
fn advice_fits_the_format() -> Result<(), Failure> {
    let json = "{{ arguments if arguments is string else arguments | tojson }}";
    let sound = read("sound.jinja")?;
    let tags = sound.replace(
        &format!("{{\"id\": {{{{ call.id | tojson }}}}, \"name\": {{{{ call.function.name | tojson }}}}, \"arguments\": {json}}}"),
        "{{ call.function.name }}{% for key, value in arguments.items() %}<|key|>{{ key }}<|value|>{{ value }}<|stop|>{% endfor %}",
    );
    assert_ne!(tags, sound);
    let help = |source: &str, rule: &str| {
        let found = findings(source, &LintOptions::default());
        found.iter().find(|finding| finding.rule.id == rule).map(|f| f.help.clone()).ok_or_else(|| shown(&found))
    };
    let whole = sound.replace(json, "{{ arguments | tojson }}");
    let cases = [
        (&whole, "text-arguments", "arguments | tojson"),
        (&tags, "text-arguments", "raise_exception"),
        (&tags, "python-in-calls", "value if value is string else value | tojson"),
    ];
    for (source, rule, expected) in cases {
        let help = help(source, rule)?;
        assert!(help.contains(expected), "{rule}: {help}");
    }
    let refused = [
        ("{% set l = [] %}{% set _ = l.append(1) %}", "ns.list + [item]"),
        ("{% set _ = '1' | from_json %}", "the value as it is"),
        ("{% set ns = namespace(_a=1) %}", "another name"),
        ("{% for tool in tools %}{% endfor %}", "`if tools`"),
    ];
    for (start, expected) in refused {
        let help = help(&format!("{start}{sound}"), "transformers-refuses")?;
        assert!(help.contains(expected), "{start}: {help}");
    }
    Ok(())
}
