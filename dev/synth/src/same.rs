//! Decides whether two specs are the same: both write every shape of turn, with placeholders in the holes, and the texts are
//! compared. White space is compared only if the template writes all of it unconditionally.

use serde_json::{Value, json};
use unjinja_spec::{FormatSpec, ReasoningMode, ToolFormat, Tools};

use crate::behaviour::{AcceptedArguments, History};
use crate::draw::Drawn;
use crate::written::{Ink, Said, SaidCall, turn};

/// Placeholders that look like no marker.
struct Holes;

impl Ink for Holes {
    fn object(&self, _: &Tools, call: &SaidCall, _: usize) -> String {
        format!("⟦call:{}:{}⟧", call.name, call.arguments.len())
    }

    fn arguments(&self, _: &Tools, call: &SaidCall) -> String {
        format!("⟦arguments:{}⟧", call.arguments.len())
    }

    fn value(&self, tools: &Tools, value: &Value) -> String {
        match value {
            Value::String(text) if !tools.arguments.quote.is_empty() => {
                format!("{0}⟦{text}⟧{0}", tools.arguments.quote)
            }
            other => format!("⟦{other}⟧"),
        }
    }

    fn text(&self, text: &str) -> String {
        format!("⟦{text}⟧")
    }

    fn glue(&self) -> &str {
        ","
    }
}

/// Turns that together show every part of a format.
pub fn shapes(spec: &FormatSpec) -> Vec<Said> {
    let content = || "content".to_owned();
    let mut shapes = vec![Said { label: "answer", content: content(), ..Said::default() }];
    let calls = spec.tools.format != ToolFormat::None;
    let call = |name: &str, arguments: &[(&str, Value)]| SaidCall {
        name: name.to_owned(),
        id: format!("id{name}"),
        arguments: arguments.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
    };
    let one = || vec![call("first", &[("a", "x".into())])];
    let reasoning = || Some("reasoning".to_owned());
    if spec.reasoning.mode == ReasoningMode::TagBased {
        shapes.push(Said { label: "reasoning", reasoning: reasoning(), content: content(), calls: Vec::new() });
    }
    if !calls {
        return shapes;
    }
    shapes.push(Said { label: "call", calls: one(), ..Said::default() });
    shapes.push(Said { label: "call without arguments", calls: vec![call("first", &[])], ..Said::default() });
    let both = vec![call("first", &[("b", "x".into()), ("a", json!(4711))])];
    shapes.push(Said { label: "two arguments", calls: both, ..Said::default() });
    shapes.push(Said { label: "answer and call", content: content(), calls: one(), ..Said::default() });
    if spec.reasoning.mode != ReasoningMode::None {
        shapes.push(Said { label: "reasoning and call", reasoning: reasoning(), calls: one(), ..Said::default() });
    }
    if spec.capabilities.parallel_tool_calls {
        let two = vec![call("first", &[("a", "x".into())]), call("second", &[("b", "y".into())])];
        shapes.push(Said { label: "two calls", calls: two, ..Said::default() });
    }
    shapes
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Whether a template shows all its white space, so that the spec must have exactly that.
pub fn shows_layout(drawn: &Drawn) -> bool {
    drawn.behaviour.lead.is_empty() && drawn.behaviour.history != History::Never
}

/// The markers that have alternatives. What an alternative says is compared with the turns; one that is the marker itself says
/// nothing.
fn alternatives(spec: &FormatSpec) -> String {
    let others = spec.alternatives.iter().filter(|(key, texts)| texts.iter().any(|text| text != spec.marker(**key)));
    others.map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(" ")
}

/// The differences of two specs, each named by its key or by the turn that they write differently.
pub fn differences(drawn: &Drawn, got: &FormatSpec) -> Vec<(String, String)> {
    let want = &drawn.spec;
    let mut found = Vec::new();
    let mut check = |key: &str, want: String, got: String| {
        if want != got {
            found.push((key.to_owned(), format!("{want:?} came back as {got:?}")));
        }
    };
    let (a, b) = (&want.tools, &got.tools);
    check("tools.format", format!("{:?}", a.format), format!("{:?}", b.format));
    check("tools.function_field", a.function_field.clone(), b.function_field.clone());
    check("tools.name_field", a.name_field.clone(), b.name_field.clone());
    check("tools.args_field", a.args_field.clone(), b.args_field.clone());
    check("tools.id_field", a.id_field.clone(), b.id_field.clone());
    check("tools.gen_id_field", a.gen_id_field.clone(), b.gen_id_field.clone());
    check("tools.fun_name_is_key", a.fun_name_is_key.to_string(), b.fun_name_is_key.to_string());
    check("tools.tools_array_wrapped", a.tools_array_wrapped.to_string(), b.tools_array_wrapped.to_string());
    check("tools.parameter_order", a.parameter_order.join(" "), b.parameter_order.join(" "));
    if a.format != ToolFormat::CallExpression {
        check("tools.uses_python_dicts", a.uses_python_dicts.to_string(), b.uses_python_dicts.to_string());
    }
    check("tools.argument_order", format!("{:?}", a.argument_order), format!("{:?}", b.argument_order));
    check("tools.args_as_text", a.args_as_text.to_string(), b.args_as_text.to_string());
    check("tools.arguments.cdata", a.arguments.cdata.to_string(), b.arguments.cdata.to_string());
    check("tools.arguments.nested", a.arguments.nested.to_string(), b.arguments.nested.to_string());
    check("tools.arguments.item", a.arguments.item.clone(), b.arguments.item.clone());
    check("tools.arguments.quote", a.arguments.quote.clone(), b.arguments.quote.clone());
    check("tools.call_id.position", format!("{:?}", a.call_id.position), format!("{:?}", b.call_id.position));
    let (a, b) = (&want.reasoning, &got.reasoning);
    check("reasoning.mode", format!("{:?}", a.mode), format!("{:?}", b.mode));
    check("reasoning.field", a.field.clone(), b.field.clone());
    check("reasoning.switch", a.switch.clone(), b.switch.clone());
    check("reasoning.empty", bare(&a.empty), bare(&b.empty));
    check(
        "reasoning.start is there",
        (!bare(&a.start).is_empty()).to_string(),
        (!bare(&b.start).is_empty()).to_string(),
    );
    check("content.mode", format!("{:?}", want.content.mode), format!("{:?}", got.content.mode));
    check("content.after_calls", want.content.after_calls.to_string(), got.content.after_calls.to_string());
    check("content.label", want.content.label.clone(), got.content.label.clone());
    let prompts = |spec: &FormatSpec| {
        let one = |p: &unjinja_spec::GenerationPrompt| format!("{:?} {:?} {:?}", p.thinking, p.text, p.starts_in);
        spec.generation_prompt.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    check("generation_prompt", prompts(want), prompts(got));
    let (a, b) = (&want.capabilities, &got.capabilities);
    let filtered = matches!(want.tools.format, ToolFormat::JsonNative | ToolFormat::TagWithJson);
    if drawn.behaviour.accepts != AcceptedArguments::Object || !filtered {
        check("capabilities.string_arguments", a.string_arguments.to_string(), b.string_arguments.to_string());
    }
    for (key, a, b) in [
        ("tools", a.tools, b.tools),
        ("tool_calls", a.tool_calls, b.tool_calls),
        ("parallel_tool_calls", a.parallel_tool_calls, b.parallel_tool_calls),
        ("system_role", a.system_role, b.system_role),
        ("typed_content", a.typed_content, b.typed_content),
        ("object_arguments", a.object_arguments, b.object_arguments),
        ("reasoning", a.reasoning, b.reasoning),
        ("requires_nonnull_content", a.requires_nonnull_content, b.requires_nonnull_content),
    ] {
        check(&format!("capabilities.{key}"), a.to_string(), b.to_string());
    }
    check("alternatives", alternatives(want), alternatives(got));
    // Markers are compared by the turns that both specs write.
    let exact = shows_layout(drawn);
    for said in shapes(want) {
        let write = |spec: &FormatSpec| turn(spec, &said, "", &Holes);
        let (a, b) = (write(want), write(got));
        let past = |spec: &FormatSpec, turn: &str| format!("{turn}{}", spec.turn.user_start);
        let (c, d) = (format!("{}{}", a, drawn.spec.turn.user_start), past(got, &b));
        if bare(&a) != bare(&b) {
            check(&format!("written: {}", said.label), a, b);
        } else if bare(&c) != bare(&d) {
            check("turn.user_start", c, d);
        } else if exact && a != b {
            check(&format!("white space: {}", said.label), a, b);
        }
    }
    found
}
