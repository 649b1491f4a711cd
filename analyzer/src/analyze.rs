//! The analysis of one template: makes all comparisons with each of two sets of sentinels, checks that both lead to the
//! same conclusions, and puts the conclusions together into a spec. The conclusions themselves are drawn in `turn` and
//! `calls`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use unjinja_spec::{
    Capabilities, Channel, ContentMode, Evidence, FormatSpec, MarkerKey, ReasoningMode, SPEC_VERSION, Status,
    TemplateInfo, Tokens, ToolFormat, Tools,
};

use crate::calls;
use crate::conversation::{AssistantMessage, Call, Empty, Style, tools_for};
use crate::error::{AnalyzeError, CallsError, Gap};
use crate::missing;
use crate::probe::{Observer, Probe};
use crate::sentinels::{SENTINELS, Sentinels};
use crate::trace::{Comparison, Experiment};
use crate::turn::{self, TurnMarkers};
use unjinja_render::{Template, with_big_stack};
use unjinja_source::name_of;

/// Names for a template's spec.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// Name of the spec; if empty, it is made from the file name.
    pub name: String,
    /// Where the template comes from.
    pub source: String,
    /// File name of the template.
    pub file: String,
}

impl Naming {
    /// Only the name of a file.
    pub fn of_file(file: &str) -> Self {
        Self { name: String::new(), source: String::new(), file: file.to_owned() }
    }
}

/// Differences between the two sets of sentinels that a message shows at most.
const DIFFERENCES: usize = 4;

/// What the experiments with one set of sentinels found.
#[derive(Clone, Debug, PartialEq)]
struct Findings {
    markers: TurnMarkers,
    tools: Tools,
    alternatives: BTreeMap<MarkerKey, Vec<String>>,
    capabilities: Capabilities,
    /// What the spec language cannot express of the calls.
    gap: Option<Gap>,
}

/// Derives the spec of a template. Its evidence holds no round trips yet; see [`verify`](crate::verify).
///
/// ```
/// use unjinja_analyzer::{Naming, analyze};
/// use unjinja_render::Template;
///
/// let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = Template::parse("hello.jinja", text)?;
/// let spec = analyze(&template, &Naming::of_file("hello.jinja"))?;
/// assert_eq!((&*spec.template.name, &*spec.turn.end), ("hello", "</>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the template cannot render a user message with an answer, and if it exceeds a limit. Where the two sets of
/// sentinels lead to different conclusions, or the language cannot express how calls are written, the spec is made and its
/// `status` and `gaps` say so.
pub fn analyze(template: &Template, naming: &Naming) -> Result<FormatSpec, AnalyzeError> {
    // One stack for all renders.
    with_big_stack(|| analyze_here(template, naming, None))
        .unwrap_or_else(|e| Err(AnalyzeError::no_stack(&naming.file, e.to_string())))
}

/// The same analysis, which passes each comparison to `observe` as soon as it is made: first all with one set of
/// sentinels, then all with the other. See [`paired`](crate::trace::paired).
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
/// Those of [`analyze`]. The comparisons made before the error were passed on.
pub fn analyze_traced(
    template: &Template,
    naming: &Naming,
    observe: &mut (dyn FnMut(&Comparison) + Send),
) -> Result<FormatSpec, AnalyzeError> {
    with_big_stack(|| analyze_here(template, naming, Some(observe)))
        .unwrap_or_else(|e| Err(AnalyzeError::no_stack(&naming.file, e.to_string())))
}

fn analyze_here<'a>(
    template: &'a Template,
    naming: &Naming,
    observer: Option<&'a mut Observer<'a>>,
) -> Result<FormatSpec, AnalyzeError> {
    let probe = Probe::observed(template, observer);
    let [first, second] = SENTINELS.each_ref().map(|s| findings(&probe, s));
    if let (Ok(_), Some(limit)) = (&first, probe.limit()) {
        // The renders that did not happen might have shown more.
        return Err(AnalyzeError::limit(&naming.file, &limit));
    }
    let named = |error: AnalyzeError| AnalyzeError { template: naming.file.clone(), ..error };
    let (first, second) = (first.map_err(named)?, second.map_err(named)?);
    let difference = match (&first.gap, &second.gap) {
        (Some(_), Some(_)) => None,
        _ => disagreement(&first, &second),
    };
    let mut spec = draft(first);
    if let Some(difference) = difference {
        // Contradicting conclusions are reported, never averaged. What was concluded about calls is dropped.
        spec.status = Status::Unsupported;
        spec.gaps = vec![format!("two sets of sentinels led to different findings: {difference}")];
        spec.tools = Tools::default();
        spec.alternatives.clear();
    }
    for gap in missing::gaps(&spec) {
        spec.add_gap(Status::Partial, gap);
    }
    spec.reasoning.ended_by_call = ended_by_call(&spec);
    spec.template = TemplateInfo {
        name: if naming.name.is_empty() { name_of(&naming.file) } else { naming.name.clone() },
        source: naming.source.clone(),
        models: Vec::new(),
        file: naming.file.clone(),
        sha256: sha256(template.source()),
        also: Vec::new(),
    };
    spec.tokens.bos.clone_from(&template.tokens().bos);
    spec.tokens.eos.clone_from(&template.tokens().eos);
    spec.tokens.preserved = spec.preserved_tokens();
    spec.evidence.renders = probe.renders();
    Ok(spec)
}

/// The spec of what was found, without the facts about the template and the analysis.
fn draft(findings: Findings) -> FormatSpec {
    let Findings { markers, tools, alternatives, capabilities, gap } = findings;
    FormatSpec {
        spec_version: SPEC_VERSION,
        status: if gap.is_some() { Status::Unsupported } else { Status::Supported },
        gaps: gap.iter().map(ToString::to_string).collect(),
        template: TemplateInfo::default(),
        capabilities,
        turn: unjinja_spec::Turn {
            user_start: markers.user_start,
            assistant_start: markers.assistant_start,
            end: markers.end,
        },
        generation_prompt: markers.prompts,
        reasoning: markers.reasoning,
        content: markers.content,
        tools,
        alternatives,
        tokens: Tokens::default(),
        evidence: Evidence::default(),
    }
}

/// Whether a call's opening marker ends reasoning that was not closed. It does where calls have a closing marker too:
/// only then can a call be told from prose about calls.
fn ended_by_call(spec: &FormatSpec) -> bool {
    let tools = &spec.tools;
    let closed = [&tools.section_end, &tools.per_call_end, &tools.function.close].iter().any(|m| !m.trim().is_empty());
    spec.reasoning.mode != ReasoningMode::None && tools.format != ToolFormat::None && closed
}

fn findings(probe: &Probe<'_>, s: &Sentinels) -> Result<Findings, AnalyzeError> {
    let style = calls::style(probe, s);
    let mut markers = turn::find(probe, s, style)?;
    let mut gap = None;
    let (mut tools, mut parallel) = (Tools::default(), false);
    if let Some(style) = style {
        match calls::find(probe, s, style, &markers) {
            Ok((found, found_parallel)) => (tools, parallel) = (found, found_parallel),
            Err(CallsError::NoCalls) => {}
            Err(CallsError::Gap(found)) => gap = Some(found),
        }
    }
    if give_back(&mut markers, &mut tools) {
        probe.note(s, Experiment::GenerationPrompt, "its end | the text between two calls", |note| {
            for prompt in &markers.prompts {
                note.render("a generation prompt", &prompt.text);
            }
            note.render("between two calls", &tools.per_call_start);
            note.found("tools.per_call_start", tools.per_call_start.as_str()).found("tools.separator", "");
            note.found("turn.assistant_start", markers.assistant_start.as_str());
            note.found_text("content.start", &markers.content.start);
            note.because("the prompt ends with the beginning of the marker that opens both calls and answers");
        });
    }
    let mut alternatives = BTreeMap::new();
    if markers.content.mode != ContentMode::Plain {
        let beside = style.and_then(|style| calls::frame_beside_calls(probe, s, style, &markers, &tools));
        for (key, text) in
            beside.into_iter().flat_map(|(start, end)| [(MarkerKey::ContentStart, start), (MarkerKey::ContentEnd, end)])
        {
            if !text.trim().is_empty() {
                alternatives.insert(key, vec![text]);
            }
        }
    }
    markers.content.after_calls = style.is_some_and(|style| calls::content_after_calls(probe, s, style));
    if let Some(end) =
        style.and_then(|style| calls::end_after_content(probe, s, style)).filter(|end| *end != markers.end)
    {
        // Turns with calls end in another way than turns with an answer only.
        if let Some(rest) = tools.section_end.strip_suffix(end.as_str()) {
            tools.section_end.truncate(rest.len());
            probe.note(s, Experiment::ContentBesideCalls, "how turns of calls end", |note| {
                note.render("a turn of an answer", &markers.end).render("a turn of calls and an answer", &end);
                note.found("tools.section_end", tools.section_end.as_str())
                    .found("alternatives.turn.end", end.as_str());
                note.because("the text after the answer ends the turn; it is not part of the text after the calls");
            });
            alternatives.insert(MarkerKey::TurnEnd, vec![end]);
        }
    }
    let reasons = markers.reasoning.mode != ReasoningMode::None;
    let capabilities = capabilities(probe, s, style, parallel, reasons);
    Ok(Findings { markers, tools, alternatives, capabilities, gap })
}

/// Moves the beginning of a marker from the start of the turn back to the marker. A generation prompt may end with the
/// beginning of the marker that opens both calls and answers. It shows in the text between two calls: what opens the
/// second call is missing before the first one.
fn give_back(markers: &mut TurnMarkers, tools: &mut Tools) -> bool {
    let opener = tools.separator.trim();
    let is_open = [&tools.section_start, &tools.per_call_start, &tools.function.name_prefix];
    if opener.is_empty() || is_open.iter().any(|m| !m.trim().is_empty()) || !markers.assistant_start.ends_with(opener) {
        return false;
    }
    let opener = opener.to_owned();
    markers.assistant_start.truncate(markers.assistant_start.len() - opener.len());
    if markers.content.mode != ContentMode::Plain {
        markers.content.start.insert_str(0, &opener);
    }
    for prompt in &mut markers.prompts {
        if prompt.text.ends_with(&opener) {
            prompt.starts_in = Channel::Marker;
        }
    }
    // It includes the white space before every opener except the first.
    tools.per_call_start = std::mem::take(&mut tools.separator);
    true
}

fn capabilities(
    probe: &Probe<'_>,
    s: &Sentinels,
    style: Option<Style>,
    parallel: bool,
    reasoning: bool,
) -> Capabilities {
    let user = json!({"role": "user", "content": s.user});
    let shows = |key: &str, what: &str, messages: &[Value], tools: &Value, needle: &str| {
        let text = probe.render(messages, tools, true, &[]);
        let is_shown = text.as_ref().is_ok_and(|text| text.contains(needle));
        probe.note(s, Experiment::Capability, what, |note| {
            note.result("the conversation", &text).found(key, is_shown);
            note.because(if is_shown { "it is rendered" } else { "it is not rendered" });
        });
        is_shown
    };
    let call = Call::new(s.functions[0], s.ids[0], &[(s.arguments[0], s.values[0].into())]);
    let offered = tools_for(s, std::slice::from_ref(&call));
    let system = json!({"role": "system", "content": s.content});
    let parts = json!({"role": "user", "content": [{"type": "text", "text": s.user}]});
    let can = |object_arguments, empty| calls::renders(probe, s, Style { object_arguments, empty });
    let nonnull = style.is_some_and(|style| {
        let null = Style { empty: Empty::Null, ..style };
        let turn = probe.turn(s, &AssistantMessage::calls(std::slice::from_ref(&call)), null);
        let nonnull = turn.as_ref().map_or(true, |text| text.contains("None") || text.contains("null"));
        probe.note(s, Experiment::NullContent, "a call beside content that is null", |note| {
            note.result("one call", &turn).found("capabilities.requires_nonnull_content", nonnull);
            note.because(match (&turn, nonnull) {
                (Err(_), _) => "the template refuses it",
                (Ok(_), true) => "null is printed",
                (Ok(_), false) => "null is treated as empty content",
            });
        });
        nonnull
    });
    let typed = shows("capabilities.typed_content", "content as a list of typed parts", &[parts], &Value::Null, s.user)
        && !prints_parts(probe, s);
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

/// Whether content parts are rendered as Python prints a list.
fn prints_parts(probe: &Probe<'_>, s: &Sentinels) -> bool {
    let parts = json!({"role": "user", "content": [{"type": "text", "text": s.user}]});
    let text = probe.render(&[parts], &Value::Null, true, &[]);
    let prints = text.as_ref().is_ok_and(|text| text.contains("'type'") || text.contains("\"type\""));
    if prints {
        probe.note(s, Experiment::Capability, "content as a list of typed parts, printed as a list", |note| {
            note.result("the conversation", &text).found("capabilities.typed_content", false);
            note.because("the list is printed as a Python list");
        });
    }
    prints
}

/// The keys about which the findings of the two sets of sentinels differ, with both values.
fn disagreement(first: &Findings, second: &Findings) -> Option<String> {
    if first == second {
        return None;
    }
    let changes = unjinja_spec::diff(&draft(first.clone()), &draft(second.clone()));
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let shown: Vec<String> = changes
        .iter()
        .take(DIFFERENCES)
        .map(|change| format!("\n  {}: {} | {}", change.key, value(&change.old), value(&change.new)))
        .collect();
    // The blocks at the start of turns without reasoning can differ too; a spec does not hold them.
    Some(if shown.is_empty() {
        "turns without reasoning begin in two different ways".to_owned()
    } else {
        shown.concat()
    })
}

/// SHA-256 of a template's text, in lower-case hexadecimal digits.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
