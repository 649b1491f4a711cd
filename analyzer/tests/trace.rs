//! The trace of an analysis: it changes nothing, names its comparisons, and says of the spec's markers where they come
//! from.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unjinja_analyzer::trace::{Comparison, Experiment, Field};
use unjinja_analyzer::{Naming, analyze, analyze_traced};
use unjinja_render::Template;
use unjinja_spec::FormatSpec;

type Failure = Box<dyn Error>;

/// The sample templates, parsed.
fn templates() -> Result<Vec<(String, Template)>, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jinja"));
    paths.sort();
    let parse = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let template = Template::parse(&name, &fs::read_to_string(path)?)?;
        Ok((name, template))
    };
    paths.into_iter().map(parse).collect()
}

fn traced(name: &str, template: &Template) -> Result<(FormatSpec, Vec<Comparison>), Failure> {
    let mut seen = Vec::new();
    let spec = analyze_traced(template, &Naming::of_file(name), &mut |comparison| seen.push(comparison.clone()))?;
    Ok((spec, seen))
}

/// The markers of a spec, by key.
fn markers(spec: &FormatSpec) -> Vec<(&'static str, &str)> {
    let tools = &spec.tools;
    let all = [
        ("turn.assistant_start", &spec.turn.assistant_start),
        ("turn.end", &spec.turn.end),
        ("turn.user_start", &spec.turn.user_start),
        ("reasoning.start", &spec.reasoning.start),
        ("reasoning.end", &spec.reasoning.end),
        ("content.start", &spec.content.start),
        ("content.end", &spec.content.end),
        ("tools.section_start", &tools.section_start),
        ("tools.section_end", &tools.section_end),
        ("tools.per_call_start", &tools.per_call_start),
        ("tools.per_call_end", &tools.per_call_end),
        ("tools.separator", &tools.separator),
        ("tools.name_field", &tools.name_field),
        ("tools.args_field", &tools.args_field),
        ("tools.id_field", &tools.id_field),
        ("tools.function.name_prefix", &tools.function.name_prefix),
        ("tools.function.name_suffix", &tools.function.name_suffix),
        ("tools.arguments.name_prefix", &tools.arguments.name_prefix),
        ("tools.arguments.name_suffix", &tools.arguments.name_suffix),
        ("tools.arguments.value_suffix", &tools.arguments.value_suffix),
        ("tools.call_id.prefix", &tools.call_id.prefix),
    ];
    all.into_iter().filter(|(_, text)| !text.trim().is_empty()).map(|(key, text)| (key, text.as_str())).collect()
}

#[test]
fn a_trace_changes_nothing() -> Result<(), Failure> {
    let templates = templates()?;
    assert!(templates.len() >= 25, "{} templates", templates.len());
    for (name, template) in &templates {
        let (spec, comparisons) = traced(name, template)?;
        assert_eq!(spec, analyze(template, &Naming::of_file(name))?, "{name}");
        assert!(comparisons.len() > 10, "{name}: {} comparisons", comparisons.len());
    }
    Ok(())
}

#[test]
fn every_marker_has_a_comparison_that_found_it() -> Result<(), Failure> {
    for (name, template) in templates()? {
        let (spec, comparisons) = traced(&name, &template)?;
        for (key, text) in markers(&spec) {
            let found = comparisons.iter().flat_map(|c| &c.findings).any(|f| f.key == key && f.value == text);
            assert!(found, "{name}: no comparison found {key} = {text:?}");
        }
    }
    Ok(())
}

/// What was concluded last about a key is what the spec says of it.
#[test]
fn conclusions_are_those_of_the_spec() -> Result<(), Failure> {
    let mut compared = 0;
    for (name, template) in templates()? {
        let (spec, comparisons) = traced(&name, &template)?;
        let spec = serde_json::to_value(&spec)?;
        let findings: Vec<_> = comparisons.iter().flat_map(|c| &c.findings).collect();
        for (index, finding) in findings.iter().enumerate() {
            let key = finding.key.as_str();
            let is_last = !findings[index + 1..].iter().any(|later| later.key == key);
            // There are several generation prompts and alternatives.
            if !is_last || key.starts_with("generation_prompt") || key.starts_with("alternatives") {
                continue;
            }
            let said = spec.pointer(&format!("/{}", key.replace('.', "/")));
            // What says nothing is left out.
            let nothing = [Value::Bool(false), Value::from(""), Value::from("none")].contains(&finding.value);
            assert!(said == Some(&finding.value) || (said.is_none() && nothing), "{name}: {finding}, but {said:?}");
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared} conclusions");
    Ok(())
}

#[test]
fn every_comparison_has_a_reason() -> Result<(), Failure> {
    for (name, template) in templates()? {
        let (_, comparisons) = traced(&name, &template)?;
        for made in comparisons {
            assert!(!made.because.is_empty(), "{name}: {} {}: no reason", made.experiment, made.varied);
        }
    }
    Ok(())
}

#[test]
fn fields_and_differences_are_located() -> Result<(), Failure> {
    let templates = templates()?;
    let (name, template) = templates.iter().find(|(name, _)| name == "hermes.jinja").ok_or("no such template")?;
    let (_, comparisons) = traced(name, template)?;
    let two = comparisons.iter().find(|c| c.experiment == Experiment::T2).ok_or("T2 did not run")?;
    let [one, both] = two.renders.as_slice() else { return Err("T2 compares two renders".into()) };
    let names = both.fields.iter().filter(|span| span.field == Field::FunctionName).count();
    assert_eq!(names, 2, "{:?}", both.fields);
    let range = both.differs.clone().ok_or("the renders differ")?;
    assert!(both.text.starts_with(&one.text[..range.start]));
    assert!(both.text[range.end..].len() + range.start <= one.text.len());
    Ok(())
}

#[test]
fn what_cannot_be_analysed_is_told_as_far_as_it_got() -> Result<(), Failure> {
    let template = Template::parse("refuses.jinja", "{{ raise_exception('no') }}")?;
    let mut seen = Vec::new();
    let error = analyze_traced(&template, &Naming::of_file("refuses.jinja"), &mut |c| seen.push(c.clone()));
    assert!(error.is_err());
    let last = seen.iter().find(|c| c.experiment == Experiment::C1).ok_or("C1 was not told")?;
    assert!(last.renders[0].error.as_ref().is_some_and(|error| error.contains("no")));
    Ok(())
}

#[test]
fn the_way_to_ask_that_works_is_told_with_those_that_do_not() -> Result<(), Failure> {
    let of = |wanted: &str| templates().map(|all| all.into_iter().find(|(name, _)| name == wanted));
    for (name, words) in [("named_ids.jinja", "ids like functions.NAME:0"), ("hermes.jinja", "arguments as an object")]
    {
        let (name, template) = of(name)?.ok_or("no such sample")?;
        let (_, comparisons) = traced(&name, &template)?;
        let mut ways = comparisons.iter().filter(|comparison| comparison.experiment == Experiment::CallStyle);
        let last = ways.next_back().ok_or("no way to ask was told")?;
        assert!(last.varied.contains(words) && !last.findings.is_empty(), "{name}: {last:?}");
        assert!(ways.all(|way| way.findings.is_empty() && !way.varied.contains("functions.NAME")), "{name}");
    }
    Ok(())
}
