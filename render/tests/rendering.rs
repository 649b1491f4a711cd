//! Python's semantics against a table that Python wrote, recorded reads, errors, limits, and hostile templates.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use unjinja_render::{Follows, Limits, RenderErrorKind, RenderOptions, SpecialTokens, Template};

type Failure = Box<dyn std::error::Error>;

fn render(source: &str, context: &Value) -> Result<String, String> {
    let template = Template::parse("snippet", source).map_err(|e| e.to_string())?;
    template.render(context).map_err(|e| e.to_string())
}

/// `snippets/cases.jsonl`: what Python's Jinja2 makes of each snippet (`snippets/regenerate.py`).
#[test]
fn snippets_render_as_in_python() -> Result<(), Failure> {
    let mut rows = include_str!("snippets/cases.jsonl").lines().map(serde_json::from_str::<Value>);
    let context = rows.next().ok_or("no context")??;
    let mut failures = Vec::new();
    for row in rows {
        let row = row?;
        let source = row["source"].as_str().ok_or("a row without a source")?;
        match (render(source, &context["context"]), row["text"].as_str()) {
            (Ok(ours), Some(text)) if ours == text => {}
            (Err(_), None) => {}
            (ours, text) => failures.push(format!("{source}\n  ours   {ours:?}\n  python {text:?} {}", row["error"])),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// What `apply_chat_template` of transformers sets although its caller gives nothing.
#[test]
fn variables_that_are_not_given_are_none() -> Result<(), Failure> {
    let shows = "{{ tools }} {{ documents }} {{ add_generation_prompt }} {{ other is defined }}";
    let iterates = "{% for t in tools %}{{ t }}{% endfor %}{% for d in documents %}{{ d }}{% endfor %}.";
    let table = [
        (shows, json!({}), "None None False False"),
        (shows, Value::Null, "None None False False"),
        (shows, json!({"tools": null, "add_generation_prompt": true}), "None None True False"),
        (shows, json!({"tools": [], "documents": ["d"]}), "[] ['d'] False False"),
        ("{% if tools is not none %}{{ tools[0] }}{% endif %}no tools", json!({}), "no tools"),
        // These fail in transformers, which reports the error.
        (iterates, json!({}), "."),
        (iterates, json!({"tools": null}), "."),
        (iterates, json!({"tools": [1]}), "1."),
    ];
    for (source, context, expected) in table {
        assert_eq!(render(source, &context)?, expected, "{source} with {context}");
    }
    // What the template raises itself, and what fails either way, is the error of the first render.
    for (source, expected) in [
        ("{% if tools is none %}{{ raise_exception('tools, please') }}{% endif %}", "tools, please"),
        ("{{ tools + 1 }}", "NoneType"),
    ] {
        let error = render(source, &json!({})).err().ok_or(source)?;
        assert!(error.contains(expected), "{error}");
    }
    let template = Template::parse("t", "{{ tools is defined }} {{ documents is defined }}")?;
    let bare = template.render_with(&json!({}), &RenderOptions::new().only_context(true)).result?;
    assert_eq!(bare, "False False");
    Ok(())
}

/// What `apply_chat_template` of transformers 5.24.0 makes of these, and what Jinja2 does. `None`: it fails.
#[test]
fn messages_are_handed_over_as_transformers_does() -> Result<(), Failure> {
    let shows = "{% for m in messages %}{{ m | tojson }}{{ m.content is defined }};{% endfor %}";
    let iterates = "{% for t in tools %}{{ t }}{% endfor %}.";
    let user = json!([{"role": "user"}]);
    let table = [
        (
            shows,
            json!([{"role": "tool", "content": null}]),
            Some(r#"{"role": "tool"}False;"#),
            Some(r#"{"role": "tool", "content": null}True;"#),
        ),
        (
            shows,
            json!([{"role": "a", "reasoning": "R", "content": ""}]),
            Some(r#"{"thinking": "R", "role": "a", "reasoning": "R", "content": "", "reasoning_content": "R"}True;"#),
            Some(r#"{"role": "a", "reasoning": "R", "content": ""}True;"#),
        ),
        (
            shows,
            json!([{"role": "a", "reasoning_content": null, "reasoning": "R", "thinking": "T"}]),
            Some(r#"{"thinking": "T", "role": "a", "reasoning": "R", "reasoning_content": "T"}False;"#),
            Some(r#"{"role": "a", "reasoning_content": null, "reasoning": "R", "thinking": "T"}False;"#),
        ),
        ("{% set ns = namespace(_a=1) %}{{ ns }}", user.clone(), None, Some("<Namespace {'_a': 1}>")),
        ("{% set ns = namespace(a=1) %}{% set ns._b = 2 %}x", user.clone(), None, Some("x")),
        ("{% set l = [] %}{% set _ = l.append(1) %}{{ l }}", user.clone(), None, Some("[1]")),
        ("{% set d = {} %}{% set _ = d.update(a=1) %}{{ d }}", user.clone(), None, Some("{'a': 1}")),
        ("{{ '[1]' | from_json }}", user.clone(), None, Some("[1]")),
        ("{% for x in [] %}{{ x | from_json }}{% endfor %}.", user.clone(), None, Some(".")),
        ("{% if false %}{% for x in [] %}{{ x | from_json }}{% endfor %}{% endif %}.", user.clone(), None, Some(".")),
        ("{{ dict.from_keys([('a', 1)]) }}", user.clone(), None, Some("{'a': 1}")),
        ("{{ dict.get({'a': 1}, 'a') }}", user.clone(), None, Some("1")),
        (iterates, user, None, Some(".")),
        (shows, json!([]), None, Some("")),
        (".", json!(["text"]), None, Some(".")),
    ];
    let same = [
        ("{% if 'from_json' is filter and false %}{{ x | from_json }}{% endif %}.", Some(".")),
        ("{{ ('1' | from_json) if false else 2 }}", Some("2")),
        ("{% if false %}{{ x | unknown }}{% endif %}.", Some(".")),
        ("{% for x in [] %}{{ x | unknown }}{% endfor %}.", None),
        ("{% if false %}{% set a %}{{ x | unknown }}{% endset %}{% endif %}.", None),
        ("{{ dict.fromkeys(['a'], 1) }}", Some("{'a': 1}")),
    ];
    for (source, expected) in same {
        let template = Template::parse("t", source)?;
        for follows in [Follows::Transformers5_24, Follows::Jinja2] {
            let context = json!({"messages": [{"role": "user"}]});
            let rendered = template.render_with(&context, &RenderOptions::new().follow(follows));
            assert_eq!(rendered.refused_by_transformers, None, "{source}");
            assert_eq!(rendered.result.ok().as_deref(), expected, "{source} as {}", follows.name());
        }
    }
    for (source, messages, transformers, jinja2) in table {
        let template = Template::parse("t", source)?;
        for (follows, expected) in [(Follows::Transformers5_24, transformers), (Follows::Jinja2, jinja2)] {
            let context = json!({"messages": messages});
            let rendered = template.render_with(&context, &RenderOptions::new().follow(follows));
            let text = rendered.result.ok();
            assert_eq!(text.as_deref(), expected, "{source} with {messages} as {}", follows.name());
            // What is refused because of the template, and not of the messages, is told where it is not refused.
            if follows == Follows::Jinja2 && ![shows, "."].contains(&source) {
                assert!(rendered.refused_by_transformers.is_some(), "{source}");
            }
        }
    }
    Ok(())
}

#[test]
fn all_special_tokens_are_variables() -> Result<(), Failure> {
    let tokens = SpecialTokens {
        eos: Some("</s>".to_owned()),
        others: Map::from_iter([("pad_token".to_owned(), json!("<pad>"))]),
        ..SpecialTokens::default()
    };
    let source = "{{ eos_token }}{{ pad_token }}{{ sep_token is defined }}";
    let template = Template::parse("t", source)?.with_tokens(tokens);
    assert_eq!(template.render(&json!({}))?, "</s><pad>False");
    assert_eq!(template.render(&json!({"pad_token": "-"}))?, "</s>-False");
    Ok(())
}

#[test]
fn reads_are_recorded() -> Result<(), Failure> {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("{{ messages[0].get('x') }}", &["messages[].x"], &[]),
        ("{{ 'x' in messages[0] }}", &["messages[].x"], &[]),
        ("{{ messages[0].x is defined }}", &["messages[].x"], &[]),
        ("{{ messages[0]['x'] }}", &["messages[].x"], &[]),
        ("{{ messages | map(attribute='x') | list }}", &["messages[].x"], &[]),
        ("{{ messages | selectattr('x', 'defined') | list | length }}", &["messages[].x"], &[]),
        ("{% for m in messages[1:] %}{{ m.role }}{% endfor %}", &["messages[].role"], &["messages[].content"]),
        ("{{ enable_thinking is defined }}", &["enable_thinking"], &["messages"]),
        ("{% set tools = 1 %}{{ tools }}{{ namespace(a=1).a }}", &[], &["tools", "namespace"]),
        ("{{ messages[0] | tojson }}", &["messages[].content"], &[]),
        ("{% for k, v in messages[0].items() %}{{ k }}{% endfor %}", &["messages[].content"], &[]),
        (
            "{% macro f(m) %}{{ m.tool_calls[0].function.name }}{% endmacro %}{{ f(messages[1]) }}",
            &["messages[].tool_calls[].function.name"],
            &["messages[].tool_calls[].function.arguments"],
        ),
        ("{{ messages[0].nothing.more }}", &["messages[].nothing"], &[]),
        ("{% if loop is defined %}{% endif %}", &[], &["loop"]),
    ];
    let context = json!({ "messages": [
        { "role": "user", "content": "hi" },
        { "role": "assistant", "tool_calls": [{ "function": { "name": "f", "arguments": { "a": 1 } } }] },
    ] });
    for (source, read, unread) in table {
        let template = Template::parse("recorded", source)?;
        let reads = template.render_with(&context, &RenderOptions::new().record_reads(true)).reads;
        for path in *read {
            assert!(reads.contains(path), "{source} reads {path}, recorded: {reads:?}");
        }
        for path in *unread {
            assert!(!reads.contains(path), "{source} does not read {path}, recorded: {reads:?}");
        }
    }
    Ok(())
}

#[test]
fn variables_and_strings_are_found_without_rendering() -> Result<(), Failure> {
    let source = "{% set x = bos %}A{{ x ~ 'B\\n' }}{% for m in messages %}{{ m.c or 'C' }}{{ loop.index }}{% endfor %}\
        {% if t %}{% set y = 1 %}{% endif %}{{ y }}{% macro f(a) %}{{ a }}{{ q }}{% endmacro %}{{ f(1) }}{{ range(2) }}A";
    let template = Template::parse("t", source)?;
    let variables: Vec<String> = template.variables().into_iter().collect();
    assert_eq!(variables, ["bos", "messages", "q", "t", "y"]);
    assert_eq!(template.string_literals(), ["A", "B\n", "C"]);
    Ok(())
}

#[test]
fn errors_have_a_place() -> Result<(), Failure> {
    let source = "a\n{% for x in [1] %}\n  {{ x.y.z }}\n{% endfor %}\n";
    let error = Template::parse("place.jinja", source)?.render(&json!({})).err().ok_or("no error")?;
    assert_eq!((error.kind(), error.name(), error.line()), (RenderErrorKind::Other, "place.jinja", 3));
    assert!(error.excerpt().contains("3 │>   {{ x.y.z }}"), "{error}");

    let error = Template::parse("refuses", "\n{{ raise_exception('no ' ~ 'tools') }}")?;
    let error = error.render(&json!({})).err().ok_or("no error")?;
    assert_eq!((error.kind(), error.message(), error.line()), (RenderErrorKind::Raised, "no tools", 2));

    for (source, line) in
        [("a\n{% if x %}\n", 2), ("{{ 'a\n", 1), ("{% for x in y %}\n{% endif %}", 2), ("\n{{ 1 + }}", 2)]
    {
        let error = Template::parse("broken", source).err().ok_or("no error")?;
        assert_eq!(error.line(), line, "{error}");
    }
    Ok(())
}

/// Each ends soon with a limit's error, and none takes the process down.
#[test]
fn hostile_templates_end_in_an_error() -> Result<(), Failure> {
    let nested = "{% set ns = namespace(v=[1]) %}{% for i in range(100000) %}";
    let growing = "{% set ns = namespace(s='a', l=[1]) %}{% for i in range(60) %}";
    let table = [
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}".to_owned(),
        "{% for i in range(100000) %}{% for j in range(100000) %}{{ 'a' * 99 }}{% endfor %}{% endfor %}".to_owned(),
        "{{ 'a' * 10**9 }}".to_owned(),
        "{{ [0] * 10**9 }}".to_owned(),
        "{{ 10**10**10 }}".to_owned(),
        "{{ range(10**9) }}".to_owned(),
        "{{ range(10**30) }}".to_owned(),
        "{{ 'a'.ljust(10**9) }}".to_owned(),
        "{{ 'a' | center(10**9) }}".to_owned(),
        "{{ 'a\nb' | indent(10**9) }}".to_owned(),
        "{{ '%1000000000s' % 'a' }}".to_owned(),
        "{{ '%.1000000000f' % 1.5 }}".to_owned(),
        "{{ '{:1000000000}'.format('a') }}".to_owned(),
        "{{ [1] | tojson(indent=10**9) }}".to_owned(),
        "{{ [1] | batch(10**9, 'x') | list }}".to_owned(),
        "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}".to_owned(),
        "{% set s = 'a' * 10**7 %}{% for i in range(100000) %}{% set x = 'b' in s %}{% endfor %}".to_owned(),
        format!("{growing}{{% set ns.s = ns.s + ns.s %}}{{% endfor %}}"),
        format!("{growing}{{% set ns.s = ns.s ~ ns.s %}}{{% endfor %}}"),
        format!("{growing}{{% set ns.l = ns.l + ns.l %}}{{% endfor %}}"),
        format!("{growing}{{% set ns.l = [ns.l, ns.l] %}}{{% endfor %}}{{{{ ns.l }}}}"),
        format!("{growing}{{% set ns.l = [ns.l, ns.l] %}}{{% endfor %}}{{{{ ns.l | tojson }}}}"),
        format!("{growing}{{% set ns.l = (ns.l, ns.l) %}}{{% endfor %}}{{{{ ns.l < (ns.l[0], ns.l[0]) }}}}"),
        format!("{nested}{{% set ns.v = [ns.v] %}}{{% endfor %}}"),
        format!("{nested}{{% set y = [] %}}{{% set _ = y.append(ns.v) %}}{{% set ns.v = y %}}{{% endfor %}}"),
        format!("{nested}{{% for x in [ns.v] %}}{{% set ns.v = loop %}}{{% endfor %}}{{% endfor %}}"),
        "{% set x = [] %}{% set _ = x.append(x) %}{{ x }}".to_owned(),
        "{% set x = {} %}{% set _ = x.update(x=x) %}{{ x | tojson }}".to_owned(),
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}".to_owned(),
        "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}".to_owned(),
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}".to_owned(),
    ];
    for source in table {
        let template = Template::parse("hostile", &source)?;
        let start = Instant::now();
        let error = template.render(&json!({})).err().ok_or_else(|| format!("{source} renders"))?;
        assert_eq!(error.kind(), RenderErrorKind::Limit, "{source}: {error}");
        // At most a second in a release build; tests are not optimised.
        assert!(start.elapsed() < Duration::from_secs(60), "{source}: {:?}", start.elapsed());
    }
    Ok(())
}

/// Sources that would overflow a parser's or an interpreter's stack.
#[test]
fn endless_nesting_is_a_syntax_error() {
    for source in [
        format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(4_900)),
        format!("{{{{ {}1 }}}}", "not ".repeat(4_900)),
        format!("{{{{ {}1 }}}}", "1+".repeat(2_400)),
        format!("{{{{ x{} }}}}", ".a".repeat(2_400)),
        format!("{{{{ x{} }}}}", "|upper".repeat(2_400)),
        format!("{{{{ x{} }}}}", "[0]".repeat(100_000)),
        format!("{}{}", "{% if 1 %}".repeat(5_000), "{% endif %}".repeat(5_000)),
        format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(50_000)),
        "x".repeat(3 << 20),
    ] {
        assert!(Template::parse("deep", &source).is_err(), "{}…", source.chars().take(40).collect::<String>());
    }
}

/// Chains of ten thousands of values are dropped without recursion.
#[test]
fn long_chains_are_dropped_without_recursion() -> Result<(), Failure> {
    for step in [
        "{% set y = [] %}{% set _ = ns.v.append(y) %}{% set ns.v = y %}",
        "{% set ns.v = namespace(v=ns.v) %}",
        "{% set g = ns.v %}{% macro f() %}{{ g }}{% endmacro %}{% set ns.v = f %}",
    ] {
        let source = format!("{{% set ns = namespace(v=[]) %}}{{% for i in range(50000) %}}{step}{{% endfor %}}ok");
        assert_eq!(render(&source, &json!({}))?, "ok");
    }
    Ok(())
}

#[test]
fn limits_can_be_set() -> Result<(), Failure> {
    let template = Template::parse("t", "{{ 'a' * 1000 }}")?;
    assert_eq!(template.render(&json!({}))?.len(), 1000);
    let mut limits = Limits::default();
    limits.output_bytes = 999;
    let tight = template.with_limits(limits);
    assert_eq!(tight.render(&json!({})).map_err(|e| e.kind()), Err(RenderErrorKind::Limit));
    Ok(())
}
