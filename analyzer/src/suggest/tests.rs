//! Small templates that describe a format and never render it.

use unjinja_codegen::interpreter;
use unjinja_render::Template;
use unjinja_runtime::{Message, Options, Tools, parse};
use unjinja_spec::{FormatSpec, Overlay, Status};

use super::{Suggestion, suggest};
use crate::{Naming, analyze};

type Failure = Box<dyn std::error::Error>;

/// A template that writes a text before the tools, and nothing about calls.
fn template(described: &str) -> Result<(Template, FormatSpec), Failure> {
    let text = format!(
        "{{% if tools %}}<|system|>\n{{{{ {} }}}}\n{{{{ tools | tojson }}}}<|end|>\n{{% endif %}}\
         {{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>\n{{% endfor %}}\
         {{% if add_generation_prompt %}}<|assistant|>{{% endif %}}",
        serde_json::Value::from(described)
    );
    let template = Template::parse("silent.jinja", &text)?;
    let spec = analyze(&template, &Naming::of_file("silent.jinja"))?;
    Ok((template, spec))
}

fn draft(described: &str) -> Result<(Option<Suggestion>, FormatSpec), Failure> {
    let (template, spec) = template(described)?;
    Ok((suggest(&template, &spec), spec))
}

/// What a parser with the draft makes of an output. No draft is needed for what is described in full.
fn read(described: &str, output: &str) -> Result<Message, Failure> {
    let (draft, spec) = draft(described)?;
    assert_eq!(draft.is_none(), !spec.evidence.described.is_empty(), "{described}");
    let corrected = draft.map(|draft| Overlay::from_toml(&draft.overlay, "draft")?.apply(&spec)).transpose()?;
    let corrected = corrected.unwrap_or(spec);
    let tools = serde_json::json!([{"type": "function", "function": {"name": "get_rain", "parameters": {
        "type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}}}}]);
    let options = Options::new().tools(&Tools::from_openai(&tools)?);
    Ok(parse(interpreter(&corrected)?, output, &options))
}

/// Descriptions, and what a model that follows them writes for the same call.
const CASES: &[(&str, &str)] = &[
    (
        "To call a function, answer with an object in call tags:\n<call>\n{\"name\": <the name>, \"arguments\": <an object>}\n</call>",
        "<call>\n{\"name\": \"get_rain\", \"arguments\": {\"place\": \"Oslo\", \"days\": 2}}\n</call>",
    ),
    (
        "Answer with @@calls[{\"name\": [the name], \"parameters\": [an object]}, ...] if you need a tool.",
        "calls[{\"name\": \"get_rain\", \"parameters\": {\"place\": \"Oslo\", \"days\": 2}}]",
    ),
    (
        "When a tool helps, write <|use|> followed by a JSON list of the tools to use.",
        "<|use|>[{\"name\": \"get_rain\", \"arguments\": {\"place\": \"Oslo\", \"days\": 2}}]",
    ),
    (
        "Calls look like this: <|run|>[name_of_tool(key=value, other=value)]<|ran|>",
        "<|run|>[get_rain(place=\"Oslo\", days=2)]<|ran|>",
    ),
    (
        "Write each call in this form:\n<use>\n<tool=the_name>\n<field=a_key>\na value\n</field>\n</tool>\n</use>\n",
        "<use>\n<tool=get_rain>\n<field=place>\nOslo\n</field>\n<field=days>\n2\n</field>\n</tool>\n</use>",
    ),
    (
        "Write each call in this form:\n<use>name_of_tool\n<k>a_key</k>\n<v>a_value</v>\n</use>\n",
        "<use>get_rain\n<k>place</k>\n<v>Oslo</v>\n<k>days</k>\n<v>2</v>\n</use>",
    ),
    (
        "Answer with an object such as {\"tool_name\": \"…\", \"args\": {…}} and nothing else.",
        "{\"tool_name\": \"get_rain\", \"args\": {\"place\": \"Oslo\", \"days\": 2}}",
    ),
];

#[test]
fn described_calls_are_read_with_the_draft() -> Result<(), Failure> {
    for (described, output) in CASES {
        let message = read(described, output).map_err(|error| format!("{described}: {error}"))?;
        let calls: Vec<(&str, serde_json::Value)> = message
            .tool_calls
            .iter()
            .map(|call| Ok((call.name.as_str(), serde_json::from_str(&call.arguments)?)))
            .collect::<Result<_, serde_json::Error>>()?;
        let expected = serde_json::json!({"place": "Oslo", "days": 2});
        assert_eq!(calls, [("get_rain", expected)], "{described}\n{message:?}\n{:?}", draft(described)?.0);
        assert!(message.content.trim().is_empty(), "{described}: {message:?}");
    }
    Ok(())
}

#[test]
fn what_is_described_in_full_is_a_part_of_the_spec() -> Result<(), Failure> {
    // The text, and the example as the parser reads it back.
    let full = [
        (CASES[0].0, "<call>\n{\"name\": \"a_name\", \"arguments\": {\"a_key\": \"a value\"}}\n</call>"),
        (CASES[4].0, "<use>\n<tool=the_name>\n<field=a_key>\na value\n</field>\n</tool>\n</use>"),
        (CASES[5].0, "<use>name_of_tool\n<k>a_key</k>\n<v>a_value</v>\n</use>"),
        (
            "Calls are a list: <|use|>[{'name': the name, 'arguments': {\"k\": 1}}, ...]",
            "<|use|>[{'name': \"a_name\", 'arguments': {\"k\": 1}}]",
        ),
    ];
    for (described, example) in full {
        let (suggestion, spec) = draft(described)?;
        assert_eq!(spec.evidence.described.tool_calls.as_deref(), Some(example), "{described}");
        assert_eq!((spec.status, suggestion), (Status::Supported, None), "{described}: {:?}", spec.gaps);
    }
    // No opener, a word as the opener, no example, a tag that nothing closes, members that are not shown in full.
    for described in [
        CASES[6].0,
        CASES[1].0,
        CASES[2].0,
        "Write <call>{\"name\": \"f\", \"arguments\": {}} if you need a tool.",
        "Write <call>{\"name\": \"f\", \"arguments\": {}, …}</call> if you need a tool.",
        "Write <call>[the_name(key=value, ...)]</call> if you need a tool.",
    ] {
        let (suggestion, spec) = draft(described)?;
        assert_eq!(spec.evidence.described.tool_calls, None, "{described}");
        assert_eq!((spec.status, suggestion.is_some()), (Status::Partial, true), "{described}");
    }
    Ok(())
}

#[test]
fn described_reasoning_is_read_with_the_draft() -> Result<(), Failure> {
    let cases = [
        ("First write your thoughts between <thinking> and </thinking>, then answer.", "<thinking>Hm.</thinking>Yes."),
        (
            "Begin your ideas with 'These are my thoughts:' and your words with 'My words are:'.",
            "These are my thoughts: Hm. My words are: Yes.",
        ),
    ];
    for (described, output) in cases {
        let message = read(described, output).map_err(|error| format!("{described}: {error}"))?;
        assert_eq!((message.reasoning_content.trim(), message.content.trim()), ("Hm.", "Yes."), "{described}");
    }
    Ok(())
}

#[test]
fn a_description_under_a_switch_is_found() -> Result<(), Failure> {
    let text = "{% if thinking %}Reason after 'I think:' and answer after 'I say:'.{% endif %}\
                {% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
                {% if add_generation_prompt %}<|assistant|>{% endif %}";
    let template = Template::parse("switched.jinja", text)?;
    let spec = analyze(&template, &Naming::of_file("switched.jinja"))?;
    let draft = suggest(&template, &spec).ok_or("nothing is described")?;
    assert!(draft.overlay.contains("start = \"I think:\" # "), "{}", draft.overlay);
    assert!(!draft.overlay.contains("[tools]"), "{}", draft.overlay);
    Ok(())
}

#[test]
fn a_draft_quotes_the_passage_and_gives_reasons() -> Result<(), Failure> {
    let (found, _) = draft(CASES[1].0)?;
    let found = found.ok_or("nothing is described")?;
    assert_eq!(found.quotes, [format!("<|system|>\n{}", CASES[1].0)]);
    assert!(found.overlay.contains("#   Answer with @@calls["), "{}", found.overlay);
    let keys: Vec<&str> = found.overlay.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')).collect();
    assert!(keys.len() > 5 && keys.iter().all(|line| line.contains(" # ")), "{}", found.overlay);
    Ok(())
}

#[test]
fn what_is_not_described_is_not_suggested() -> Result<(), Failure> {
    // The tools' own JSON is not an example, and neither is prose.
    for described in [
        "You may use these tools:",
        "Call f(x) or [1, 2], and look at {\"name\": 1}.",
        "a < b > c",
        "Look.<b><think></think>",
    ] {
        assert_eq!(draft(described)?.0, None, "{described}");
    }
    Ok(())
}
