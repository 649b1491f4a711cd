//! Labelled renders, operation by operation. `render_labels.rs` of the end-to-end tests checks them over the corpus.

use serde_json::{Value, json};

use unjinja_render::{Encoding, FieldPart, Limits, Origin, RenderErrorKind, RenderOptions, Rendered, Template};

type Failure = Box<dyn std::error::Error>;

fn context() -> Value {
    json!({
        "text": " Hello wOrld ",
        "line": "a\nb",
        "name": "Ada",
        "quote": "<\"é'>\n",
        "n": 12,
        "f": 0.5,
        "yes": true,
        "nil": null,
        "empty": "",
        "list": ["x", 7, "y"],
        "map": { "k": "v", "m": null },
        "items": [{ "id": "b", "on": true }, { "id": "a", "on": false }],
        "json": "{\"city\": \"Paris\"}",
    })
}

fn labelled(source: &str) -> Result<Rendered, Failure> {
    let template = Template::parse("snippet", source)?;
    let (context, options) = (context(), RenderOptions::new().label(true));
    let rendered = template.render_with(&context, &options);
    let plain = template.render_with(&context, &RenderOptions::new());
    assert_eq!((&rendered.result, rendered.steps), (&plain.result, plain.steps), "{source}");
    Ok(rendered)
}

/// The output with its labels: template text as it is, and each other span as `{text|path|encodings}`, with a `#` before
/// the path of a key and a `$` before that of punctuation.
fn shown(source: &str) -> Result<String, Failure> {
    let rendered = labelled(source)?;
    let text = rendered.result?;
    let labels = rendered.labels.ok_or("no labels")?;
    let mut shown = String::new();
    let mut at = 0;
    for span in labels.spans() {
        assert_eq!(span.range.start, at, "{source}");
        at = span.range.end;
        let written = text.get(span.range.clone()).ok_or("no text")?;
        match &span.origin {
            Origin::Template => shown += written,
            Origin::Field(field) => {
                let part = match field.part {
                    FieldPart::Key => "#",
                    FieldPart::Value => "",
                    FieldPart::Syntax => "$",
                };
                shown += &format!("{{{written}|{part}{}", field.path);
                for encoding in field.encodings.iter() {
                    shown += &format!("|{encoding:?}");
                }
                shown += "}";
            }
        }
    }
    assert_eq!(at, text.len(), "{source}");
    Ok(shown)
}

/// Checks a table of templates and what [`shown`] makes of them.
fn check(table: &[(&str, &str)]) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for (source, expected) in table {
        let found = shown(source).map_err(|e| format!("{source}: {e}"))?;
        if found != *expected {
            failures.push(format!("{source}\n  found    {found:?}\n  expected {expected:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

#[test]
fn concatenation_and_formatting() -> Result<(), Failure> {
    check(&[
        ("<{{ name }}>", "<{Ada|name}>"),
        ("{{ name }}{{ name }}", "{Ada|name}{Ada|name}"),
        ("{{ '<' ~ name ~ n ~ '>' }}", "<{Ada|name}{12|n|Str}>"),
        ("{{ '<' + name + '>' }}", "<{Ada|name}>"),
        ("{{ name * 2 }}", "{Ada|name}{Ada|name}"),
        ("{{ 'a%sb%d%%%5s' % (name, n, name) }}", "a{Ada|name}b{12|n|Str}%  {Ada|name}"),
        ("{{ '%r' % name }}", "{'|$name|PythonRepr}{Ada|name|PythonRepr}{'|$name|PythonRepr}"),
        ("{{ '%(a)s!' % {'a': name} }}", "{Ada|name}!"),
        ("{{ '{} and {x!r:>6}'.format(name, x=n) }}", "{Ada|name} and     {12|n|PythonRepr}"),
        ("{{ '%.2s' % name }}{{ '%04d' % n }}", "{Ad|name|Slice}00{12|n|Str}"),
        ("{{ '{:.2f}'.format(f) }}", "{0.50|f|Other}"),
        ("{{ list | join(', ') }}", "{x|list[0]}, {7|list[1]|Str}, {y|list[2]}"),
        ("{{ name.join(['1', '2']) }}", "1{Ada|name}2"),
        ("{{ name | format }}{{ '%s' | format(name) }}", "{Ada|name}{Ada|name}"),
    ])
}

#[test]
fn parts_of_strings() -> Result<(), Failure> {
    check(&[
        ("{{ name[1:] }}{{ name[0] }}{{ name[-1] }}", "{da|name|Slice}{A|name|Slice}{a|name|Slice}"),
        ("{{ ('<' ~ name ~ '>')[:3] }}", "<{Ad|name|Slice}"),
        ("{{ name[::-1] }}{{ name | reverse }}", "{adAadA|name|Other}"),
        ("{{ name | first }}{{ name | last }}", "{A|name|Slice}{a|name|Slice}"),
        ("{{ text.split()[1] }}", "{wOrld|text|Slice}"),
        ("{{ (name ~ ',b').split(',') | join('-') }}", "{Ada|name|Slice}-b"),
        (
            "{{ name.rsplit('d', 1)[0] }}{{ name.partition('d') | join('|') }}",
            "{A|name|Slice}{A|name|Slice}|{d|name|Slice}|{a|name|Slice}",
        ),
        ("{{ line.splitlines() | join('/') }}", "{a|line|Slice}/{b|line|Slice}"),
        (
            "{{ text | trim }}/{{ text.lstrip() }}/{{ text.rstrip() }}",
            "{Hello wOrld|text|Trim}/{Hello wOrld |text|Trim}/{ Hello wOrld|text|Trim}",
        ),
        ("{{ (' ' ~ name ~ '! ') | trim | trim }}", "{Ada|name|Trim}!"),
        ("{{ name.removeprefix('A') }}", "{da|name|Slice}"),
        ("{{ name.replace('d', '-') }}", "{A|name|Replace}-{a|name|Replace}"),
        ("{{ name | replace('x', '-') }}{{ 'a_b' | replace('_', name) }}", "{Ada|name}a{Ada|name}b"),
        ("{{ line | indent(2) }}", "{a|line|Slice}\n  {b|line|Slice}"),
        ("{{ name.center(5) }}{{ name.zfill(4) }}", " {Ada|name} 0{Ada|name}"),
        ("{{ (name ~ ' word') | wordwrap(3) }}", "{Ada|name|Slice}\nwor\nd"),
        ("{{ text | truncate(8, true, '!', 0) }}", "{ Hello |text|Slice}!"),
        ("{% for c in name %}{{ c }}.{% endfor %}", "{A|name|Slice}.{d|name|Slice}.{a|name|Slice}."),
    ])
}

#[test]
fn changes_of_characters() -> Result<(), Failure> {
    check(&[
        ("{{ name.upper() }}{{ name | lower }}", "{ADA|name|Upper}{ada|name|Lower}"),
        ("{{ ('ß' ~ name ~ 'ß') | upper }}", "SS{ADA|name|Upper}SS"),
        ("{{ ('ß' ~ name) | capitalize }}{{ ('x ' ~ name).title() }}", "Ss{ada|name|Capitalize}X {Ada|name|Title}"),
        ("{{ ('x-' ~ name) | title }}{{ name.swapcase() }}", "X-{Ada|name|Title}{aDA|name|Other}"),
        ("{{ quote | e | trim }}", "{&lt;&#34;é&#39;&gt;|quote|Escape|Trim}"),
        ("{{ ('<' | safe) + name }}", "<{Ada|name|Escape}"),
        ("{{ name | urlencode }}{{ name | striptags }}", "{AdaAda|name|Other}"),
        ("{{ name | string | upper | lower | trim }}", "{ada|name|Upper|Lower|Trim}"),
    ])
}

#[test]
fn serialisation() -> Result<(), Failure> {
    check(&[
        ("{{ name | tojson }}", "{\"|$name|Json}{Ada|name|Json}{\"|$name|Json}"),
        ("{{ quote | tojson }}", "{\"|$quote|Json}{<\\\"é'>\\n|quote|Json}{\"|$quote|Json}"),
        ("{{ [n, f, yes, nil] | tojson }}", "[{12|n|Json}, {0.5|f|Json}, {true|yes|Json}, {null|nil|Json}]"),
        (
            "{{ map | tojson }}",
            "{{\"|$map|Json}{k|#map.k|Json}{\": |$map|Json}{\"|$map.k|Json}{v|map.k|Json}{\"|$map.k|Json}\
             {, \"|$map|Json}{m|#map.m|Json}{\": |$map|Json}{null|map.m|Json}{}|$map|Json}",
        ),
        ("{{ {'a': name} | tojson }}", "{\"a\": {\"|$name|Json}{Ada|name|Json}{\"|$name|Json}}"),
        ("{{ empty | tojson }}", "{\"\"|$empty|Json}"),
        (
            "{{ list }}",
            "{[|$list|PythonRepr}{'|$list[0]|PythonRepr}{x|list[0]|PythonRepr}{'|$list[0]|PythonRepr}{, |$list|PythonRepr}\
             {7|list[1]|PythonRepr}{, |$list|PythonRepr}{'|$list[2]|PythonRepr}{y|list[2]|PythonRepr}\
             {'|$list[2]|PythonRepr}{]|$list|PythonRepr}",
        ),
        ("{{ {'a': n} }}", "{'a': {12|n|PythonRepr}}"),
        ("{{ (json | from_json).city }}", "{Paris|json|Other}"),
    ])
}

#[test]
fn values_that_are_no_strings() -> Result<(), Failure> {
    check(&[
        ("{{ n }} {{ f }} {{ yes }} {{ nil }}", "{12|n|Str} {0.5|f|Str} {True|yes|Str} {None|nil|Str}"),
        ("{{ n | string }}{{ n | tojson }}", "{12|n|Str}{12|n|Json}"),
        ("{{ n + 1 }}{{ -n }}{{ f | round | int }}", "{13|n|Other|Str}{-12|n|Other|Str}{0|f|Other|Str}"),
        ("{{ name | length }}{{ 1 + 1 }}", "{3|name|Other|Str}2"),
        ("{{ missing }}{{ name == 'Ada' }}", "True"),
    ])
}

#[test]
fn values_on_their_way() -> Result<(), Failure> {
    check(&[
        (
            "{% macro f(x) %}<{{ x }}{{ caller() }}>{% endmacro %}{% call f(name) %}{{ n }}{% endcall %}",
            "<{Ada|name}{12|n|Str}>",
        ),
        ("{% set x %}<{{ name }}>{% endset %}{{ x }}", "<{Ada|name}>"),
        (
            "{% for k, v in map.items() %}{{ k }}={{ v }};{% endfor %}",
            "{k|#map.k}={v|map.k};{m|#map.m}={None|map.m|Str};",
        ),
        ("{% for k in map %}{{ k }}{{ map[k] }}{% endfor %}", "{k|#map.k}{v|map.k}{m|#map.m}{None|map.m|Str}"),
        (
            "{% set ns = namespace(x='') %}{% for v in list %}{% set ns.x = ns.x ~ v %}{% endfor %}{{ ns.x }}",
            "{x|list[0]}{7|list[1]|Str}{y|list[2]}",
        ),
        ("{{ [name, n][1] }}{{ {'a': name}.a }}{{ dict(map).k }}", "{12|n|Str}{Ada|name}{v|map.k}"),
        ("{{ missing | default(name) }}{{ name or 'x' }}", "{Ada|name}{Ada|name}"),
        ("{{ items | map(attribute='id') | join }}", "{b|items[0].id}{a|items[1].id}"),
        ("{{ (items | selectattr('on') | first).id }}", "{b|items[0].id}"),
        ("{{ items | map(attribute='id') | sort | join }}", "{a|items[1].id}{b|items[0].id}"),
        ("{{ items | map(attribute='id') | unique | reverse | join }}", "{a|items[1].id}{b|items[0].id}"),
        ("{{ list[1:] | last }}{{ (list + ['z']) | join }}", "{y|list[2]}{x|list[0]}{7|list[1]|Str}{y|list[2]}z"),
        ("{% filter upper %}a{{ name }}{% endfilter %}", "A{ADA|name|Upper}"),
        ("{% autoescape true %}{{ quote | trim }}{% endautoescape %}", "{&lt;&#34;é&#39;&gt;|quote|Trim|Escape}"),
    ])
}

#[test]
fn decisions_are_recorded() -> Result<(), Failure> {
    let table: &[(&str, &[&str])] = &[
        ("{% if name %}{% endif %}{{ n }}", &["name"]),
        ("{{ 1 if yes else 2 }}{{ not nil }}", &["nil", "yes"]),
        ("{{ name == 'Ada' }}{{ n in list }}", &["list", "n", "name"]),
        ("{{ name.startswith('A') }}{{ text | length }}", &["name", "text"]),
        ("{{ name is string }}{{ items | selectattr('on') | list | length }}", &["items[0].on", "items[1].on", "name"]),
        ("{% for i in items if i.on %}{{ i.id }}{% endfor %}", &["items[0].on", "items[1].on"]),
        ("{{ name }}{{ map | tojson }}", &[]),
    ];
    for (source, expected) in table {
        let decided = labelled(source)?.reads;
        for path in *expected {
            assert!(decided.decided().contains(*path), "{source}: {decided:?}");
        }
        assert_eq!(decided.decided().len(), expected.len(), "{source}: {decided:?}");
    }
    Ok(())
}

#[test]
fn labels_count_among_the_bytes() -> Result<(), Failure> {
    let mut limits = Limits::default();
    limits.value_bytes = 40_000;
    let template = Template::parse("t", "{{ ((name ~ '-') * 2000) | length }}")?.with_limits(limits);
    assert!(template.render(&context()).is_ok());
    let rendered = template.render_with(&context(), &RenderOptions::new().label(true));
    assert_eq!(rendered.result.err().map(|e| e.kind()), Some(RenderErrorKind::Limit));
    assert_eq!(rendered.labels.map(|labels| labels.spans().len()), Some(0));
    assert_eq!(template.render_with(&context(), &RenderOptions::new()).labels, None);
    Ok(())
}

#[test]
fn sequences_of_encodings_are_bounded() -> Result<(), Failure> {
    let rendered = labelled(&format!("{{{{ name{} }}}}", "|upper|lower".repeat(50)))?;
    let labels = rendered.labels.ok_or("no labels")?;
    let [span] = labels.spans() else { return Err("not one span".into()) };
    let Origin::Field(field) = &span.origin else { return Err("no field".into()) };
    assert_eq!((field.encodings.len(), field.encodings.last()), (8, Some(&Encoding::Other)));
    Ok(())
}

#[test]
fn where_sequences_run_out_every_text_still_has_its_field() -> Result<(), Failure> {
    // All sequences of up to four encodings, and some of five: more than are kept.
    let all = ["upper", "lower", "capitalize", "title", "trim", "e"];
    let mut sequences = vec![String::new()];
    for at in 0..400 {
        sequences.extend(all.map(|filter| format!("{}|{filter}", sequences[at])));
    }
    let source: String = sequences.iter().map(|filters| format!("{{{{ name{filters} }}}} ")).collect();
    let labels = labelled(&source)?.labels.ok_or("no labels")?;
    let fields = labels.spans().iter().filter_map(|span| match &span.origin {
        Origin::Field(field) => Some(field),
        Origin::Template => None,
    });
    let fields: Vec<_> = fields.collect();
    assert_eq!(fields.len(), sequences.len());
    assert!(fields.iter().all(|field| &*field.path == "name"));
    assert!(fields.iter().any(|field| field.encodings.contains(&Encoding::Other)));
    Ok(())
}
