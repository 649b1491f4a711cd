//! Response templates with known faults: each is found, and a template without them has none.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

use serde_json::{Value, json};
use unjinja_analyzer::{Naming, analyze, verify_after_results};
use unjinja_export::response_template::{FindingKind, ResponseTemplate, check, export};
use unjinja_render::Template;

type Failure = Box<dyn Error>;

/// What is found with a response template next to one of the chat templates of this repository.
fn found(file: &str, response: &Value) -> Result<BTreeSet<FindingKind>, Failure> {
    let text = fs::read_to_string(unjinja_testkit::root().join("templates").join(file))?;
    let template = Template::parse(file, &text)?;
    let spec = analyze(&template, &Naming::of_file(file))?;
    let verification = verify_after_results(&template, &spec, 40, 1);
    let response = ResponseTemplate::from_json(response)?;
    let findings = check(&response, &template, &spec, &verification);
    for finding in &findings {
        println!("{} {:?} {:?}", finding.sentence, finding.output, finding.read);
    }
    Ok(findings.into_iter().map(|finding| finding.kind).collect())
}

/// As people write them: nothing keeps the text before a call, and literal markers close calls.
fn usual() -> Value {
    json!({"start_anchor": "<|im_start|>assistant\n", "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": "\\s*<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": "\\s*<\\|im_end\\|>"},
    }})
}

#[test]
fn the_known_faults_are_found() -> Result<(), Failure> {
    use FindingKind::{CallInReasoning, CloserInValue, CutCall, MentionedMarker, TextAroundCall};

    let found_in = found("qwen3.jinja", &usual())?;
    let expected = [TextAroundCall, MentionedMarker, CloserInValue, CutCall, CallInReasoning];
    assert_eq!(found_in, BTreeSet::from(expected));
    Ok(())
}

/// A call ends the reasoning before it, and a marker counts only before what a call begins with.
#[test]
fn calls_are_looked_for_ahead() -> Result<(), Failure> {
    use FindingKind::{CallInReasoning, MentionedMarker};

    for file in ["qwen3.jinja", "arg_key_value.jinja"] {
        let text = fs::read_to_string(unjinja_testkit::root().join("templates").join(file))?;
        let template = Template::parse(file, &text)?;
        let spec = analyze(&template, &Naming::of_file(file))?;
        assert!(spec.reasoning.ended_by_call, "{file}");
        let export = export(&spec, &verify_after_results(&template, &spec, 40, 1))?;
        let found_in = found(file, &export.json)?;
        assert!(!found_in.contains(&CallInReasoning) && !found_in.contains(&MentionedMarker), "{file} {found_in:?}");
    }
    Ok(())
}

/// Where only the JSON announces a call, JSON in an answer and a call that is cut off take the message with them.
#[test]
fn faults_of_calls_without_a_marker_are_found() -> Result<(), Failure> {
    use FindingKind::{CutCall, MentionedMarker};

    let text = fs::read_to_string(unjinja_testkit::root().join("templates/bare_json.jinja"))?;
    let template = Template::parse("bare_json.jinja", &text)?;
    let spec = analyze(&template, &Naming::of_file("bare_json.jinja"))?;
    let export = export(&spec, &verify_after_results(&template, &spec, 40, 1))?;
    let found_in = found("bare_json.jinja", &export.json)?;
    assert!(found_in.is_superset(&BTreeSet::from([MentionedMarker, CutCall])), "{found_in:?}");
    Ok(())
}

/// A template that reads nothing has one fault, and not those of hard outputs as well.
#[test]
fn hard_outputs_are_not_tried_where_nothing_is_read() -> Result<(), Failure> {
    let mut response = usual();
    response["start_anchor"] = json!("<|never|>");
    response["fields"]["tool_calls"]["transform"] =
        json!({"function": {"name": "{content.nome}", "arguments": "{content.x}"}});
    response["fields"]["content"] = json!({"close": "Q"});
    assert_eq!(found("qwen3.jinja", &response)?, BTreeSet::from([FindingKind::Conversation]));
    Ok(())
}

#[test]
fn what_a_pattern_strips_is_found() -> Result<(), Failure> {
    use FindingKind::{CloserInValue, WhiteSpaceOfValue};

    let tag = "<parameter=(?P<key>[^>\\n]+)>\\s*(?P<value>.*?)\\s*</parameter>";
    let response = json!({"start_anchor": "<|im_start|>assistant\n", "fields": {
        "tool_calls": {
            "open_pattern": "\\s*<tool_call>\\s*<function=(?P<name>[^>\\n]+)>", "close_pattern": "</function>\\s*</tool_call>",
            "repeats": true, "content": "xml-inline", "content_args": {"tag_pattern": tag},
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close_pattern": "\\s*<\\|im_end\\|>"},
    }});
    let found_in = found("xml_parameters.jinja", &response)?;
    assert!(found_in.is_superset(&BTreeSet::from([CloserInValue, WhiteSpaceOfValue])), "{found_in:?}");
    Ok(())
}

#[test]
fn wrong_markers_are_errors() -> Result<(), Failure> {
    let mut response = usual();
    response["fields"]["tool_calls"]["close"] = json!("</call>");
    let found_in = found("qwen3.jinja", &response)?;
    assert!(found_in.contains(&FindingKind::Conversation), "{found_in:?}");
    Ok(())
}
