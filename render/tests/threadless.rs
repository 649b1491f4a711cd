//! Rendering without threads of our own: what fits into an ordinary stack, and how the rest ends.

use serde_json::{Value, json};
use unjinja_render::{RenderErrorKind, Template, without_threads};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// As much as WebAssembly has by default; threads of Rust have twice that, main threads more.
const STACK: usize = 1 << 20;

/// Runs `f` on a thread with a small stack; a stack overflow there would abort the test program.
fn on_small_stack<T: Send + 'static>(f: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || without_threads(f))?;
    thread.join().map_err(|_| "the thread panicked")?
}

/// Sources that nest as deep as `n`, in each way that recurses.
fn nested(n: usize) -> Vec<String> {
    let tags = |open: &str, close: &str| format!("{}x{}", open.repeat(n), close.repeat(n));
    let expression =
        |open: &str, inner: &str, close: &str| format!("{{{{ {}{inner}{} }}}}", open.repeat(n), close.repeat(n));
    let mut sources = vec![
        tags("{% if true %}", "{% endif %}"),
        tags("{% for x in [1] %}", "{% endfor %}"),
        tags("{% with y = 1 %}", "{% endwith %}"),
        tags("{% set y %}", "{% endset %}"),
        tags("{% filter upper %}", "{% endfilter %}"),
        tags("{% generation %}", "{% endgeneration %}"),
        tags("{% macro f() %}", "{% endmacro %}"),
        tags("{% autoescape true %}", "{% endautoescape %}"),
        expression("(", "1", ")"),
        expression("[", "1", "]"),
        expression("(1,", "1", ")"),
        expression("{'k': ", "1", "}"),
        expression("-", "1", ""),
        expression("not ", "1", ""),
        expression("1 + ", "1", ""),
        expression("2 ** ", "1", ""),
        expression("", "1", " and 1"),
        expression("", "1", " if true else 0"),
        expression("1 if true else ", "0", ""),
        expression("0 if false else ", "0", ""),
        expression("", "x", ".a"),
        expression("", "messages", "[0:]"),
        expression("", "'x'", " | upper"),
        expression("", "'x'", ".upper()"),
        expression("", "1", " is defined"),
        expression("dict(a=", "1", ")"),
        expression("[1] | map('default', ", "1", ") | list"),
        format!("{{% set x = [{}] %}}{{{{ x | tojson }}}}{{{{ x }}}}{{{{ x == x }}}}", "[".repeat(n) + &"]".repeat(n)),
        format!("{{% macro f(n) %}}{{% if n %}}({{{{ f(n - 1) }}}}){{% endif %}}{{% endmacro %}}{{{{ f({n}) }}}}"),
        format!(
            "{{% macro f(n) %}}{{% set t %}}{{{{ [f(n - 1) if n else 'x'] | join }}}}{{% endset %}}{{{{ t }}}}{{% endmacro %}}{{{{ f({n}) }}}}"
        ),
        format!("{{% macro f(n) %}}{{% call f(n - 1) %}}{{% endcall %}}{{% endmacro %}}{{{{ f({n}) }}}}"),
        format!(
            "{{% for x in [{}] recursive %}}({{{{ loop(x) if x else '' }}}}){{% endfor %}}",
            "[".repeat(n) + &"]".repeat(n)
        ),
        format!(
            "{{% set ns = namespace(v=1) %}}{{% for i in range({n}) %}}{{% set ns.v = [ns.v] %}}{{% endfor %}}{{{{ ns.v }}}}{{{{ ns.v | tojson }}}}{{{{ [ns.v] | sort }}}}{{{{ ns.v in [ns.v] }}}}{{{{ ns.v < ns.v }}}}"
        ),
        format!(
            "{{% set ns = namespace(v=1) %}}{{% for i in range({n}) %}}{{% set ns.v = (ns.v,) %}}{{% endfor %}}{{{{ {{ns.v: 1}} }}}}"
        ),
    ];
    sources.push(format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(n)));
    sources
}

/// Every kind of nesting, from little to far too much: each render ends in a text or an error.
#[test]
fn no_template_overflows_a_small_stack() -> Result<(), Failure> {
    let ended = on_small_stack(|| {
        let context = json!({ "messages": [1, 2], "x": 1 });
        let (mut texts, mut errors) = (0, 0);
        for n in [1, 5, 10, 20, 28, 38, 39, 40, 60, 80, 95, 98, 99, 100, 101, 150, 190, 199, 500, 950, 2_000, 100_000] {
            for source in nested(n) {
                match Template::parse("nested", &source).map(|template| template.render(&context)) {
                    Ok(Ok(_)) => texts += 1,
                    _ => errors += 1,
                }
            }
        }
        Ok((texts, errors))
    })?;
    assert!(ended.0 > 100 && ended.1 > 100, "texts and errors: {ended:?}");
    Ok(())
}

/// A template of a real model's kind, with macros, nested loops and JSON, fits.
#[test]
fn an_ordinary_template_renders_on_a_small_stack() -> Result<(), Failure> {
    let source = "\
        {% macro call(c) %}<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>{% endmacro %}\
        {% for m in messages %}<|{{ m.role }}|>{% if m.content %}{{ m.content | trim }}{% endif %}\
        {% if m.tool_calls is defined %}{% for c in m.tool_calls %}{{ call(c) }}{% endfor %}{% endif %}<|end|>{% endfor %}";
    let text = on_small_stack(move || {
        let arguments = json!({ "a": { "b": [{ "c": [1, { "d": null }] }] } });
        let context: Value = json!({ "messages": [
            { "role": "user", "content": " hi " },
            { "role": "assistant", "tool_calls": [{ "function": { "name": "f", "arguments": arguments } }] },
        ] });
        Ok(Template::parse("ordinary", source)?.render(&context)?)
    })?;
    assert_eq!(
        text,
        "<|user|>hi<|end|><|assistant|><call>{\"name\": \"f\", \"arguments\": \
         {\"a\": {\"b\": [{\"c\": [1, {\"d\": null}]}]}}}</call><|end|>"
    );
    Ok(())
}

/// What does not fit ends in an error without threads, and in a text with them.
#[test]
fn deep_templates_need_a_thread() -> Result<(), Failure> {
    let source = "{% macro f(n) %}{% if n %}({{ f(n - 1) }}){% endif %}{% endmacro %}{{ f(100) }}";
    let template = Template::parse("deep", source)?;
    let expected = "(".repeat(100) + &")".repeat(100);
    assert_eq!(template.render(&json!({}))?, expected);
    let kind = without_threads(|| template.render(&json!({}))).map_err(|e| e.kind());
    assert_eq!(kind, Err(RenderErrorKind::Limit));

    let source = format!("{{{{ {}1{} }}}}", "(".repeat(50), ")".repeat(50));
    assert_eq!(Template::parse("deep", &source)?.render(&json!({}))?, "1");
    assert!(without_threads(|| Template::parse("deep", &source)).is_err());
    Ok(())
}
