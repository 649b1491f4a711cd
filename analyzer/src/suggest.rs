//! Suggests an overlay for a template that offers tools, or tells the model to reason, and renders neither: the format is
//! then only described in the text of the prompt.
//!
//! What is found here is a guess about the meaning of a text: a person compares the draft with outputs of the model. Only calls
//! that are described in full are a part of the spec: a tag opens the example, and the parser reads the example back. The files
//! below look for the shape of an example, for no model and for no sentence of a known template.

mod calls;
mod draft;
mod examples;
mod instructions;
mod passage;
mod reasoning;

use serde_json::{Map, Value, json};
use unjinja_render::{RenderOptions, Template, with_big_stack};
use unjinja_runtime::abi::is_special_token;
use unjinja_runtime::{ChatParser as _, Options, ToolCall};
use unjinja_spec::{FormatSpec, Overlay, ReasoningMode, ToolFormat};

use crate::conversation::{Call, tools_for};
use crate::sentinels::{SENTINELS, Sentinels};
use crate::settle::NO_CALL_SHOWN;

/// The draft of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suggestion {
    /// The draft, as TOML. Each key has a comment, and the passages are quoted above.
    pub overlay: String,
    /// The passages of the prompt that it is based on.
    pub quotes: Vec<String>,
}

/// Looks in the prompt of a template for a description of what the template never renders: tool calls, reasoning.
///
/// `None` if the spec lacks neither, and if nothing was found that a parser could be made from.
///
/// ```
/// use unjinja_analyzer::{Naming, analyze, suggest};
/// use unjinja_render::Template;
///
/// let text = r#"{% if tools %}Write calls as CALL {"name": "f", "arguments": {}}: {{ tools | tojson }}{% endif %}
///     {%- for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"#;
/// let template = Template::parse("silent.jinja", text)?;
/// let spec = analyze(&template, &Naming::of_file("silent.jinja"))?;
/// let draft = suggest(&template, &spec).ok_or("nothing is described")?;
/// assert!(draft.overlay.contains("name_field = \"name\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn suggest(template: &Template, spec: &FormatSpec) -> Option<Suggestion> {
    with_big_stack(|| suggest_here(template, spec)).ok()?
}

/// Whether the prompt of a template speaks of how to call tools, and nowhere tells the model to do so with one of these tokens. Then
/// calls are not written with them, or the tokens mean something else.
///
/// ```
/// use unjinja_analyzer::calls_otherwise;
/// use unjinja_render::Template;
///
/// let says = |text: &str| Template::parse("t.jinja", &format!("{{% if tools %}}{text} {{{{ tools }}}}{{% endif %}}{{{{ messages[0].content }}}}"));
/// assert!(!calls_otherwise(&says("Call tools with <|call|> and JSON.")?, &["<|call|>"]));
/// assert!(!calls_otherwise(&says("The tools:")?, &["<|call|>"]));
/// assert!(calls_otherwise(&says("Answer with RUN and a name.")?, &["<|call|>"]));
/// assert!(calls_otherwise(&says("Answer with RUN. Results follow <|call|>.")?, &["<|call|>"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn calls_otherwise(template: &Template, tokens: &[&str]) -> bool {
    let texts = with_big_stack(|| Prompts::of(template).added).unwrap_or_default();
    texts.iter().any(|text| instructions::are_otherwise(text, tokens))
}

/// A spec with the calls that the prompt describes in full, if the template renders none: an example shows the keys and the
/// markers, a special token or a pair of tags is around it, and the parser reads the example back. What is weaker is only
/// suggested.
pub(crate) fn with_described_calls(template: &Template, spec: &FormatSpec) -> Option<FormatSpec> {
    let prompts = Prompts::of(template);
    let others: Vec<&str> = spec.markers().map(|(_, text)| text.trim()).collect();
    let calls = prompts.added.iter().find_map(|text| calls::described(text, &others))?;
    let (open, close) = (calls.start.trim(), calls.end.trim());
    let is_tag = |text: &str| unjinja_spec::tags(text) == [text];
    // After the brackets of a list of Python calls.
    let (open, close) = (open.trim_end_matches('[').trim_end(), close.trim_start_matches(']').trim_start());
    if !is_tag(open) || !(is_special_token(open.as_bytes()) || examples::is_closer(close) && is_tag(close)) {
        return None;
    }
    let example = calls.example.as_ref()?;
    let draft = Overlay::from_toml(&draft::overlay(&spec.template.file, Some(&calls), None), "draft").ok()?;
    let mut described = draft.apply(spec).ok()?;
    if !reads(&described, example) {
        return None;
    }
    described.evidence.described.tool_calls = Some(example.clone());
    // Other gaps stay.
    let gaps = spec.gaps.iter().filter(|gap| *gap != NO_CALL_SHOWN);
    gaps.for_each(|gap| described.add_gap(spec.status, gap.clone()));
    Some(described)
}

/// Whether the parser of a spec reads an example as one whole call, and as nothing else.
fn reads(spec: &FormatSpec, example: &str) -> bool {
    let Ok(parser) = unjinja_codegen::interpreter(spec) else { return false };
    let message = parser.parse(example.into(), &Options::new());
    let is_whole = |call: &ToolCall| call.complete && !call.name.is_empty() && call.arguments.len() > "{}".len();
    let texts = [&message.content, &message.reasoning_content, &message.unparsed];
    message.tool_calls.len() == 1
        && message.tool_calls.iter().all(is_whole)
        && message.diagnostics.is_empty()
        && texts.iter().all(|text| text.is_empty())
}

fn suggest_here(template: &Template, spec: &FormatSpec) -> Option<Suggestion> {
    let lacks_calls = spec.tools.format == ToolFormat::None && !spec.capabilities.tool_calls;
    let lacks_reasoning = spec.reasoning.mode == ReasoningMode::None;
    let prompts = Prompts::of(template);
    let others: Vec<&str> = spec.markers().map(|(_, text)| text.trim()).collect();
    let calls = prompts.added.iter().filter(|_| lacks_calls).find_map(|text| calls::described(text, &others));
    let reasoning = prompts.whole.iter().filter(|_| lacks_reasoning).find_map(|text| reasoning::described(text));
    let quotes: Vec<String> =
        calls.iter().map(|c| c.quote.clone()).chain(reasoning.iter().map(|r| r.quote.clone())).collect();
    if quotes.is_empty() {
        return None;
    }
    let overlay = draft::overlay(&spec.template.file, calls.as_ref(), reasoning.as_ref());
    // A draft that makes no parser helps nobody.
    let corrected = Overlay::from_toml(&overlay, "draft").ok()?.apply(spec).ok()?;
    unjinja_codegen::program(&corrected).ok()?;
    Some(Suggestion { overlay, quotes })
}

/// The prompts of a template with tools.
struct Prompts {
    /// What is there only if tools are offered, one text for each way to offer them.
    added: Vec<String>,
    /// The prompts as a whole, with tools and thinking and without.
    whole: Vec<String>,
}

impl Prompts {
    fn of(template: &Template) -> Self {
        let s = &SENTINELS;
        let tools = tools_for(&[Call::probe(0), Call::probe(1)]);
        let variables = variables(template, s, &tools);
        let named = |wanted: &[&str]| -> Vec<&String> {
            variables.iter().filter(|name| wanted.iter().any(|part| name.to_lowercase().contains(part))).collect()
        };
        let thinking: Vec<(&str, Value)> =
            named(&["think", "reason"]).into_iter().map(|name| (name.as_str(), Value::Bool(true))).collect();
        let offered: Vec<(&str, Value)> =
            named(&["tool", "function"]).into_iter().map(|name| (name.as_str(), tools.clone())).collect();
        let user = json!({"role": "user", "content": s.user});
        let system = json!({"role": "system", "content": s.content, "tools": tools.to_string()});
        let alone = vec![user.clone()];
        let plain = json!({"role": "system", "content": s.content});
        let render = |messages: &[Value], more: &[(&str, Value)]| render(template, messages, more);
        let given = [("tools", tools.clone())];
        let both = [&offered[..], &given[..]].concat();
        let pairs = [
            (render(&alone, &[]), render(&alone, &given)),
            (render(&alone, &[]), render(&alone, &both)),
            (render(&alone, &[]), render(&alone, &offered)),
            (render(&[plain, user.clone()], &[]), render(&[system, user], &given)),
        ];
        let mut whole = vec![render(&alone, &thinking)];
        let mut added = Vec::new();
        for (before, after) in pairs {
            let (Some(before), Some(after)) = (before, after) else { continue };
            added.push(difference(&before, &after).to_owned());
            whole.push(Some(after));
        }
        Self { added, whole: whole.into_iter().flatten().collect() }
    }
}

/// The variables that a template reads in addition to the messages.
fn variables(template: &Template, s: &Sentinels, tools: &Value) -> Vec<String> {
    let user = [json!({"role": "user", "content": s.user})];
    // Some variables are only read if there are no tools.
    let contexts = [context(template, &user, &[]), context(template, &user, &[("tools", tools.clone())])];
    let options = RenderOptions::new().record_reads(true);
    let reads = contexts.map(|context| template.render_with(&context, &options).reads);
    let paths = reads.iter().flat_map(|reads| reads.paths());
    let names = paths.map(|path| path.split(['.', '[']).next().unwrap_or_default());
    let mut names: Vec<String> =
        names.filter(|name| !name.is_empty() && *name != "messages").map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn render(template: &Template, messages: &[Value], more: &[(&str, Value)]) -> Option<String> {
    template.render(&context(template, messages, more)).ok()
}

fn context(template: &Template, messages: &[Value], more: &[(&str, Value)]) -> Value {
    let mut context = Map::new();
    context.insert("messages".into(), messages.to_vec().into());
    context.insert("add_generation_prompt".into(), true.into());
    context.insert("bos_token".into(), template.tokens().bos.as_deref().unwrap_or_default().into());
    context.insert("eos_token".into(), template.tokens().eos.as_deref().unwrap_or_default().into());
    for (name, value) in more {
        context.insert((*name).to_owned(), value.clone());
    }
    Value::Object(context)
}

/// What a text has in place of the part in which another one differs from it.
fn difference<'t>(before: &str, after: &'t str) -> &'t str {
    let start = crate::text::common_prefix(before, after);
    let (left, rest) = (&before[start..], &after[start..]);
    let common = left.chars().rev().zip(rest.chars().rev()).take_while(|(a, b)| a == b);
    let end = rest.len() - common.map(|(c, _)| c.len_utf8()).sum::<usize>();
    &rest[..end]
}

#[cfg(test)]
mod tests;
