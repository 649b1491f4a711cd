//! Comparisons of two templates: what differs is found, with the smallest conversation that shows it.

use std::fs;

use serde_json::{Value, json};
use unjinja_lint::compare::{CompareOptions, Rendered, TemplateComparison, compare};
use unjinja_render::{SpecialTokens, Template};
use unjinja_spec::Effect;
use unjinja_testkit::{Failure, root};

fn own(name: &str) -> Result<String, Failure> {
    Ok(fs::read_to_string(root().join(format!("templates/{name}.jinja")))?)
}

fn compared(old: &str, new: &str) -> Result<TemplateComparison, Failure> {
    let (old, new) = (Template::parse("old.jinja", old)?, Template::parse("new.jinja", new)?);
    Ok(compare(&old, &new, &CompareOptions::new().turns(40)))
}

/// A source with one text replaced, which must be there.
fn with(source: &str, from: &str, to: &str) -> Result<String, Failure> {
    let changed = source.replace(from, to);
    if changed == source { Err(format!("{from:?} is not in the template").into()) } else { Ok(changed) }
}

/// The roles of the messages, and the other variables.
fn shape(conversation: &Value) -> (Vec<&str>, Vec<&str>) {
    let messages = conversation["messages"].as_array().into_iter().flatten();
    let others = conversation.as_object().into_iter().flat_map(|object| object.keys()).map(String::as_str);
    (
        messages.filter_map(|message| message["role"].as_str()).collect(),
        others.filter(|key| *key != "messages").collect(),
    )
}

#[test]
fn a_template_is_like_itself() -> Result<(), Failure> {
    for name in ["hermes", "channels", "no_tools"] {
        let source = own(name)?;
        let compared = compared(&source, &format!("{{# A comment. #}}{source}"))?;
        assert!(compared.render.alike && compared.read.alike, "{name}: {compared:?}");
        assert!(compared.render.tried > 10, "{name}: {} conversations", compared.render.tried);
        assert!(
            compared.read.turns.each().iter().all(|readings| readings.tried > 20),
            "{name}: {:?}",
            compared.read.turns
        );
        assert_eq!((compared.read.changes.len(), compared.render.difference), (0, None), "{name}");
    }
    Ok(())
}

#[test]
fn another_marker_of_calls_is_shown_by_one_call() -> Result<(), Failure> {
    let source = own("hermes")?;
    let compared = compared(&source, &with(&source, "<tool_call>", "<call>")?)?;
    assert!(!compared.render.alike && !compared.read.alike);
    let marker = compared.read.changes.iter().find(|change| change.key == "tools.per_call_start");
    assert_eq!(marker.map(|change| change.effect), Some(Effect::Breaking), "{:?}", compared.read.changes);
    assert!(compared.read.changes.iter().all(|change| !change.key.starts_with("template.")));
    let difference = compared.render.difference.as_ref().ok_or("no difference")?;
    let (roles, _) = shape(&difference.conversation);
    assert!(roles.len() <= 2, "{}", difference.conversation);
    let (Rendered::Text(old), Rendered::Text(new)) = (&difference.old, &difference.new) else {
        return Err("a render failed".into());
    };
    assert!(old.contains("<tool_call>") && new.contains("<call>"), "{old}\n{new}");
    // Answers without calls are read alike, and calls are not.
    for readings in compared.read.turns.each() {
        assert!(0 < readings.alike && readings.alike < readings.tried, "{readings:?}");
        let turn = readings.difference.as_ref().ok_or("no turn")?;
        assert_eq!((turn.own.tool_calls.is_empty(), turn.other.tool_calls.is_empty()), (false, true), "{turn:?}");
    }
    Ok(())
}

#[test]
fn what_only_history_shows_does_not_change_the_parser() -> Result<(), Failure> {
    let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let other = with(source, "{% for", "{% if messages[0].role != 'system' %}<system>Be kind.</>{% endif %}{% for")?;
    let compared = compared(source, &other)?;
    assert!(!compared.render.alike && compared.read.alike, "{:?}", compared.read.changes);
    let difference = compared.render.difference.as_ref().ok_or("no difference")?;
    assert_eq!(shape(&difference.conversation), (vec!["user"], vec![]), "{}", difference.conversation);
    Ok(())
}

#[test]
fn white_space_and_refusals_are_told_apart() -> Result<(), Failure> {
    let source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let spaced = compared(source, &with(source, "</>", "</>\n")?)?;
    assert!(spaced.render.differing > 0 && spaced.render.differing == spaced.render.space, "{spaced:?}");
    assert!(spaced.read.alike, "white space next to a marker is tolerated: {:?}", spaced.read.changes);
    let strict = with(
        source,
        "<{{ m.role",
        "{% if m.role == 'system' %}{{ raise_exception('No system.') }}{% endif %}<{{ m.role",
    )?;
    let refused = compared(source, &strict)?;
    let difference = refused.render.difference.as_ref().ok_or("no difference")?;
    assert!(matches!(difference.old, Rendered::Text(_)));
    assert!(matches!(&difference.new, Rendered::Error(error) if error.contains("No system.")), "{difference:?}");
    let document = json!(refused);
    assert!(document["render"]["difference"]["new"]["error"].as_str().is_some_and(|error| error.contains("line 1")));
    Ok(())
}

#[test]
fn a_token_that_one_file_gives_is_taken_for_both() -> Result<(), Failure> {
    let source = "{{ bos_token }}{{ sep_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let named = |text: &str| SpecialTokens { bos: Some(text.to_owned()), ..SpecialTokens::default() };
    let bare = Template::parse("bare.jinja", source)?;
    let (given, other) = (bare.clone().with_tokens(named("<begin>")), bare.clone().with_tokens(named("<s>")));
    let options = CompareOptions::new().turns(10);
    for compared in [compare(&given, &bare, &options), compare(&bare, &given, &options)] {
        assert!(compared.render.alike, "{compared:?}");
        assert_eq!(compared.render.assumed_tokens, ["bos_token"]);
        assert_eq!(json!(compared)["render"]["assumed_tokens"], json!(["bos_token"]));
    }
    // Two files that say something else differ, and none is assumed.
    let compared = compare(&given, &other, &options);
    assert!(!compared.render.alike && compared.render.assumed_tokens.is_empty(), "{compared:?}");

    // Whoever renders the smallest conversation with the bare template gets the same.
    let changed = Template::parse("changed.jinja", &with(source, "</>", "<end>")?)?.with_tokens(named("<begin>"));
    let compared = compare(&bare, &changed, &options);
    let difference = compared.render.difference.ok_or("no difference")?;
    assert_eq!(difference.old, Rendered::Text(bare.render(&difference.conversation)?));
    assert_eq!(difference.new, Rendered::Text(changed.render(&difference.conversation)?));
    assert!(matches!(difference.old, Rendered::Text(text) if text.starts_with("<begin>")));
    Ok(())
}

#[test]
fn a_template_without_a_parser_is_rendered_anyway() -> Result<(), Failure> {
    let source = own("hermes")?;
    let compared = compared(&source, "{{ messages | length }}")?;
    assert!(!compared.read.alike && !compared.render.alike);
    assert!(compared.problems.old.is_none() && compared.problems.new.is_some(), "{:?}", compared.problems);
    assert_eq!(json!(compared)["read"]["turns"]["old"], json!({"tried": 0, "alike": 0, "difference": null}));
    Ok(())
}
