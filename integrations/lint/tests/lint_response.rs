//! The linter on response templates: each fault that readers are known for is found in a template that has it,
//! and a template that was exported has no errors.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

use serde_json::{Value, json};
use unjinja_analyzer::{Naming, analyze, verify};
use unjinja_export::response_template::export;
use unjinja_lint::{Evidence, Finding, RESPONSE_RULES, Severity, Target, lint_response_template};
use unjinja_render::Template;
use unjinja_spec::FormatSpec;

type Failure = Box<dyn Error>;

fn chat(file: &str) -> Result<(Template, FormatSpec), Failure> {
    let text = fs::read_to_string(unjinja_testkit::root().join("templates").join(file))?;
    let template = Template::parse(file, &text)?;
    let spec = analyze(&template, &Naming::of_file(file))?;
    Ok((template, spec))
}

fn findings(file: &str, response: &Value) -> Result<Vec<Finding>, Failure> {
    let (template, spec) = chat(file)?;
    let verification = verify(&template, &spec, 60, 1);
    Ok(lint_response_template(response, &template, &spec, &verification))
}

/// The rules that were found.
fn rules(findings: &[Finding]) -> BTreeSet<&str> {
    findings.iter().map(|finding| finding.rule.id).collect()
}

/// JSON between tags, written as people write it first.
fn json_in_tags() -> Value {
    json!({
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open_pattern": "\\s*<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
                "transform": {"type": "function", "function": "{content}"}
            },
            "content": {"close_pattern": "\\s*<\\|im_end\\|>"}
        }
    })
}

#[test]
fn the_faults_of_a_usual_template_are_found() -> Result<(), Failure> {
    let found = findings("qwen3.jinja", &json_in_tags())?;
    let rules = rules(&found);
    for rule in
        ["response-text-around-call", "response-mentioned-marker", "response-closer-in-value", "response-cut-call"]
    {
        assert!(rules.contains(rule), "{rule}: {rules:?}");
    }
    for finding in &found {
        assert_eq!(finding.target, Target::ResponseTemplate);
        assert!(RESPONSE_RULES.contains(&finding.rule));
        let Some(Evidence::Output { output, written, .. }) = &finding.evidence else {
            return Err(format!("no output shows {}", finding.message).into());
        };
        assert!(!output.is_empty() && serde_json::from_str::<Value>(written)?.is_object(), "{output:?} {written}");
    }
    Ok(())
}

#[test]
fn white_space_of_code_is_missed() -> Result<(), Failure> {
    let (template, spec) = chat("xml_parameters.jinja")?;
    let verification = verify(&template, &spec, 20, 1);
    let mut response = export(&spec, &verification)?.json;
    let arguments = response.pointer_mut("/fields/tool_calls/content_args/tag_pattern").ok_or("no pattern")?;
    let stripping = arguments.as_str().ok_or("no text")?.replace("(?P<value>", "\\s*(?P<value>");
    *arguments = json!(stripping.replace("</parameter>", "\\s*</parameter>"));
    let found = findings("xml_parameters.jinja", &response)?;
    assert!(rules(&found).contains("response-white-space"), "{:?}", rules(&found));
    Ok(())
}

#[test]
fn an_invalid_template_is_an_error_with_its_place() -> Result<(), Failure> {
    let mut response = json_in_tags();
    response["fields"]["content"]["colour"] = json!("blue");
    let found = findings("qwen3.jinja", &response)?;
    let [only] = &found[..] else { return Err(format!("{} findings", found.len()).into()) };
    assert_eq!((only.rule.id, only.severity), ("response-invalid", Severity::Error));
    assert!(only.message.starts_with("fields.content"), "{}", only.message);
    assert!(only.message.contains("colour"), "{}", only.message);
    Ok(())
}

#[test]
fn what_is_exported_has_no_errors() -> Result<(), Failure> {
    for file in ["qwen3.jinja", "xml_parameters.jinja", "arg_key_value.jinja", "function_tag.jinja"] {
        let (template, spec) = chat(file)?;
        let verification = verify(&template, &spec, 60, 1);
        let export = export(&spec, &verification)?;
        assert_eq!(export.losses.len(), 0, "{file}");
        let found = lint_response_template(&export.json, &template, &spec, &verification);
        let errors: Vec<&str> =
            found.iter().filter(|f| f.severity == Severity::Error).map(|f| f.message.as_str()).collect();
        assert_eq!(errors, [""; 0], "{file}");
    }
    Ok(())
}

#[test]
fn the_page_lists_every_rule() -> Result<(), Failure> {
    let page = fs::read_to_string(unjinja_testkit::root().join("docs/lint.md"))?;
    for rule in RESPONSE_RULES {
        let row = format!("| `{}` | {} | {} |\n", rule.id, rule.severity.name(), rule.about.trim_end_matches('.'));
        assert!(page.contains(&row), "docs/lint.md needs this row: {row}");
    }
    Ok(())
}
