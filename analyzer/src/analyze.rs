//! From a template to its spec: runs the experiments with two independent sets of sentinels, compares what they
//! found, and puts it together.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use unjinja_spec::{
    Capabilities, Channel, ContentMode, Evidence, FormatSpec, MarkerKey, ReasoningMode, SPEC_VERSION, TemplateInfo,
    Tokens, ToolFormat, Tools,
};

use crate::calls::{self, Trouble};
use crate::frame::{self, Frame};
use crate::lab::{Call, Empty, Lab, Observer, SENTINELS, Sentinels, Style, Turn};
use crate::trace::{Comparison, Experiment};
use unjinja_render::{Template, with_big_stack};
use unjinja_source::name_of;

/// Why a template has no spec.
#[derive(Clone, Debug)]
pub struct AnalyzeError {
    /// Name of the template.
    pub template: String,
    /// What was found, with the comparison that found it.
    pub problem: String,
}

impl std::fmt::Display for AnalyzeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.template, self.problem)
    }
}

impl std::error::Error for AnalyzeError {}

/// Names for a template's spec.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// Name of the spec; made from the file name where empty.
    pub name: String,
    /// Where the template comes from.
    pub source: String,
    /// File name of the template.
    pub file: String,
}

impl Naming {
    /// Names after a file alone.
    pub fn of_file(file: &str) -> Self {
        Self { name: String::new(), source: String::new(), file: file.to_owned() }
    }
}

/// What the experiments with one set of sentinels found.
#[derive(Clone, Debug, PartialEq)]
struct Findings {
    frame: Frame,
    tools: Tools,
    alternatives: BTreeMap<MarkerKey, Vec<String>>,
    capabilities: Capabilities,
    unsupported: Option<String>,
}

/// Derives the spec of a template. It holds no record of round trips yet; see [`verify`](crate::verify).
///
/// # Errors
/// Where the template cannot render the simplest conversation, and where the two sets of sentinels disagree.
pub fn analyze(template: &Template, naming: &Naming) -> Result<FormatSpec, AnalyzeError> {
    let fail = |problem: String| AnalyzeError { template: naming.file.clone(), problem };
    // One stack for all renders.
    with_big_stack(|| analyze_here(template, naming, None)).unwrap_or_else(|panicked| Err(fail(panicked.to_string())))
}

/// The same analysis, and `observe` is told of each comparison as it is made: first those with one set of sentinels,
/// then those with the other. See [`paired`](crate::trace::paired).
///
/// ```
/// use unjinja_render::Template;
/// use unjinja_analyzer::{Naming, analyze_traced};
///
/// let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = Template::parse("hello.jinja", text)?;
/// let mut found = Vec::new();
/// analyze_traced(&template, &Naming::of_file("hello.jinja"), &mut |comparison| {
///     found.extend(comparison.findings.iter().map(|finding| format!("{}: {finding}", comparison.experiment)));
/// })?;
/// assert!(found.contains(&r#"C1: turn.end = "</>""#.to_owned()), "{found:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As those of [`analyze`]; what was compared until then was told.
pub fn analyze_traced(
    template: &Template,
    naming: &Naming,
    observe: &mut (dyn FnMut(&Comparison) + Send),
) -> Result<FormatSpec, AnalyzeError> {
    let fail = |problem: String| AnalyzeError { template: naming.file.clone(), problem };
    with_big_stack(|| analyze_here(template, naming, Some(observe)))
        .unwrap_or_else(|panicked| Err(fail(panicked.to_string())))
}

fn analyze_here<'a>(
    template: &'a Template,
    naming: &Naming,
    observer: Option<&'a mut Observer<'a>>,
) -> Result<FormatSpec, AnalyzeError> {
    let fail = |problem: String| AnalyzeError { template: naming.file.clone(), problem };
    let lab = Lab::observed(template, observer);
    let [first, second] = SENTINELS.each_ref().map(|s| findings(&lab, s));
    let (first, second) = match (first, second, lab.limit()) {
        // What is not found then may yet be there.
        (Ok(_), _, Some(limit)) => return Err(fail(format!("not all experiments can be rendered: {limit}"))),
        (first, second, _) => (first.map_err(fail)?, second.map_err(fail)?),
    };
    let mut findings = first;
    if (findings.unsupported.is_none() || second.unsupported.is_none())
        && let Some(difference) = disagreement(&findings, &second)
    {
        // Evidence that is not consistent is reported, never averaged; what it says of calls is not kept.
        findings.unsupported = Some(format!("two sets of sentinels give different answers: {difference}"));
        findings.tools = Tools::default();
        findings.alternatives.clear();
    }
    finish_reasoning(&mut findings);
    let Findings { frame, tools, alternatives, capabilities, unsupported } = findings;
    let mut spec = FormatSpec {
        spec_version: SPEC_VERSION,
        unsupported,
        template: TemplateInfo {
            name: if naming.name.is_empty() { name_of(&naming.file) } else { naming.name.clone() },
            source: naming.source.clone(),
            models: Vec::new(),
            file: naming.file.clone(),
            sha256: sha256(template.source()),
            also: Vec::new(),
        },
        capabilities,
        turn: unjinja_spec::Turn {
            user_start: frame.user_start,
            assistant_start: frame.assistant_start,
            end: frame.end,
        },
        generation_prompt: frame.prompts,
        reasoning: frame.reasoning,
        content: frame.content,
        tools,
        alternatives,
        tokens: Tokens {
            preserved: Vec::new(),
            bos: template.tokens().bos.clone(),
            eos: template.tokens().eos.clone(),
        },
        evidence: Evidence { renders: lab.renders(), ..Evidence::default() },
    };
    spec.tokens.preserved = spec.preserved_tokens();
    Ok(spec)
}

/// A call's opening marker ends open reasoning where calls are closed too: only then can prose about a call be told
/// from a call.
fn finish_reasoning(findings: &mut Findings) {
    let tools = &findings.tools;
    let closed = [&tools.section_end, &tools.per_call_end, &tools.function.close].iter().any(|m| !m.trim().is_empty());
    findings.frame.reasoning.ended_by_call =
        findings.frame.reasoning.mode != ReasoningMode::None && tools.format != ToolFormat::None && closed;
}

fn findings(lab: &Lab<'_>, s: &Sentinels) -> Result<Findings, String> {
    let style = calls::style(lab, s);
    let mut frame = frame::find(lab, s, style)?;
    let mut unsupported = None;
    let (mut tools, mut parallel) = (Tools::default(), false);
    if let Some(style) = style {
        match calls::find(lab, s, style, &frame) {
            Ok((found, found_parallel)) => (tools, parallel) = (found, found_parallel),
            Err(Trouble::NoCalls) => {}
            Err(Trouble::Unsupported(reason)) => unsupported = Some(reason),
        }
    }
    if give_back(&mut frame, &mut tools) {
        lab.note(s, Experiment::GenerationPrompt, "its end | what stands between two calls", |note| {
            for prompt in &frame.prompts {
                note.render("a generation prompt", &prompt.text);
            }
            note.render("between two calls", &tools.per_call_start);
            note.found("tools.per_call_start", tools.per_call_start.as_str()).found("tools.separator", "");
            note.found("turn.assistant_start", frame.assistant_start.as_str());
            note.found_text("content.start", &frame.content.start);
            note.because("the prompt ends with the beginning of the marker that opens calls and answers alike");
        });
    }
    let mut alternatives = BTreeMap::new();
    if frame.content.mode != ContentMode::Plain {
        let beside = style.and_then(|style| calls::frame_beside_calls(lab, s, style, &frame, &tools));
        for (key, text) in
            beside.into_iter().flat_map(|(start, end)| [(MarkerKey::ContentStart, start), (MarkerKey::ContentEnd, end)])
        {
            if !text.trim().is_empty() {
                alternatives.insert(key, vec![text]);
            }
        }
    }
    frame.content.after_calls = style.is_some_and(|style| calls::content_after_calls(lab, s, style));
    if let Some(end) = style.and_then(|style| calls::end_after_content(lab, s, style)).filter(|end| *end != frame.end) {
        // Turns of calls end otherwise than turns of answers.
        if let Some(rest) = tools.section_end.strip_suffix(end.as_str()) {
            tools.section_end.truncate(rest.len());
            lab.note(s, Experiment::ContentBesideCalls, "how turns of calls end", |note| {
                note.render("a turn of an answer", &frame.end).render("a turn of calls and an answer", &end);
                note.found("tools.section_end", tools.section_end.as_str())
                    .found("alternatives.turn.end", end.as_str());
                note.because("what follows the answer ends the turn, and is no part of what follows the calls");
            });
            alternatives.insert(MarkerKey::TurnEnd, vec![end]);
        }
    }
    let reasons = frame.reasoning.mode != ReasoningMode::None;
    let capabilities = capabilities(lab, s, style, parallel, reasons);
    Ok(Findings { frame, tools, alternatives, capabilities, unsupported })
}

/// A generation prompt may write the beginning of the marker that opens calls and answers alike: what stands between
/// two calls and nowhere before the first belongs to the marker, not to the turn's start.
fn give_back(frame: &mut Frame, tools: &mut Tools) -> bool {
    let opener = tools.separator.trim();
    let is_open = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
    if opener.is_empty() || is_open.iter().any(|m| !m.trim().is_empty()) || !frame.assistant_start.ends_with(opener) {
        return false;
    }
    let opener = opener.to_owned();
    frame.assistant_start.truncate(frame.assistant_start.len() - opener.len());
    if frame.content.mode != ContentMode::Plain {
        frame.content.start.insert_str(0, &opener);
    }
    for prompt in &mut frame.prompts {
        if prompt.text.ends_with(&opener) {
            prompt.starts_in = Channel::Marker;
        }
    }
    // With the white space that stands before every opener but the first.
    tools.per_call_start = std::mem::take(&mut tools.separator);
    true
}

fn capabilities(lab: &Lab<'_>, s: &Sentinels, style: Option<Style>, parallel: bool, reasoning: bool) -> Capabilities {
    let user = json!({"role": "user", "content": s.user});
    let shows = |key: &str, what: &str, messages: &[Value], tools: &Value, needle: &str| {
        let text = lab.render(messages, tools, true, &[]);
        let is_shown = text.as_ref().is_ok_and(|text| text.contains(needle));
        lab.note(s, Experiment::Capability, what, |note| {
            note.result("the conversation", &text).found(key, is_shown);
            note.because(if is_shown { "it is rendered" } else { "it is not rendered" });
        });
        is_shown
    };
    let call = Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())]);
    let offered = crate::lab::tools_for(s, std::slice::from_ref(&call));
    let system = json!({"role": "system", "content": s.content});
    let parts = json!({"role": "user", "content": [{"type": "text", "text": s.user}]});
    let can = |object_arguments, empty| calls::renders(lab, s, Style { object_arguments, empty });
    let nonnull = style.is_some_and(|style| {
        let null = Style { empty: Empty::Null, ..style };
        let turn = lab.turn(s, &Turn::calls(std::slice::from_ref(&call)), null);
        let nonnull = turn.as_ref().map_or(true, |text| text.contains("None") || text.contains("null"));
        lab.note(s, Experiment::NullContent, "a call beside content that is null", |note| {
            note.result("one call", &turn).found("capabilities.requires_nonnull_content", nonnull);
            note.because(match (&turn, nonnull) {
                (Err(_), _) => "the template refuses it",
                (Ok(_), true) => "null is printed",
                (Ok(_), false) => "null is taken for no content",
            });
        });
        nonnull
    });
    let typed = shows("capabilities.typed_content", "content as a list of typed parts", &[parts], &Value::Null, s.user)
        && !prints_parts(lab, s);
    Capabilities {
        tools: shows(
            "capabilities.tools",
            "tools that are offered",
            std::slice::from_ref(&user),
            &offered,
            s.functions[0],
        ),
        tool_calls: style.is_some(),
        parallel_tool_calls: parallel,
        system_role: shows("capabilities.system_role", "a system message", &[system, user], &Value::Null, s.content),
        typed_content: typed,
        object_arguments: can(true, Empty::Text) || can(true, Empty::Null),
        string_arguments: can(false, Empty::Text) || can(false, Empty::Null),
        reasoning,
        requires_nonnull_content: nonnull,
    }
}

/// Whether content parts come out as Python prints a list.
fn prints_parts(lab: &Lab<'_>, s: &Sentinels) -> bool {
    let parts = json!({"role": "user", "content": [{"type": "text", "text": s.user}]});
    let text = lab.render(&[parts], &Value::Null, true, &[]);
    let prints = text.as_ref().is_ok_and(|text| text.contains("'type'") || text.contains("\"type\""));
    if prints {
        lab.note(s, Experiment::Capability, "content as a list of typed parts, printed as a list", |note| {
            note.result("the conversation", &text).found("capabilities.typed_content", false);
            note.because("the list is printed as Python prints it");
        });
    }
    prints
}

/// Where two findings differ.
fn disagreement(a: &Findings, b: &Findings) -> Option<String> {
    if a == b {
        return None;
    }
    let (a, b) = (format!("{a:#?}"), format!("{b:#?}"));
    let mut out = String::new();
    for (x, y) in a.lines().zip(b.lines()).filter(|(x, y)| x != y).take(4) {
        let _ = write!(out, "\n  {} | {}", x.trim(), y.trim());
    }
    Some(out)
}

/// SHA-256 of a template's text, in lower-case hexadecimal digits.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
