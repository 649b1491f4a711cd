//! The analysis of one template: asks it everything, and puts the conclusions together into a spec.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use unjinja_render::{Template, with_big_stack};
use unjinja_runtime::abi::is_special_token;
use unjinja_source::name_of;
use unjinja_spec::{FormatSpec, Status, TemplateInfo, tags};

use crate::ask::{Observed, answer, with_format};
use crate::error::AnalyzeError;
use crate::probe::Probe;
use crate::settle::{NO_CALL_SHOWN, settle};
use crate::suggest::with_described_calls;
use crate::trace::Comparison;
use crate::trace::record::comparisons;
use crate::unread::unread;

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
/// If the template cannot render a user message with an answer, and if it exceeds a limit. Where the language cannot
/// express how calls are written, the spec is made and its `status` and `gaps` say so.
pub fn analyze(template: &Template, naming: &Naming) -> Result<FormatSpec, AnalyzeError> {
    // One stack for all renders.
    with_big_stack(|| analyze_here(template, naming, None))
        .unwrap_or_else(|e| Err(AnalyzeError::no_stack(&naming.file, e.to_string())))
}

/// The same analysis, which also passes each comparison to `observe`.
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
    with_big_stack(|| analyze_here(template, naming, Some(&mut Told(observe))))
        .unwrap_or_else(|e| Err(AnalyzeError::no_stack(&naming.file, e.to_string())))
}

/// Somebody who is told what the analysis does. A program that calls [`analyze`] alone does not link the record.
trait Listener: Send {
    fn failed(&mut self, error: &AnalyzeError);
    fn concluded(&mut self, observed: &Observed, spec: &FormatSpec);
    fn described(&mut self, spec: &FormatSpec, described: &FormatSpec);
}

/// Passes the comparisons on.
struct Told<'o>(&'o mut (dyn FnMut(&Comparison) + Send));

impl Listener for Told<'_> {
    fn failed(&mut self, error: &AnalyzeError) {
        (self.0)(&Comparison::failed(error));
    }

    fn concluded(&mut self, observed: &Observed, spec: &FormatSpec) {
        comparisons(observed, spec).iter().for_each(&mut *self.0);
    }

    fn described(&mut self, spec: &FormatSpec, described: &FormatSpec) {
        (self.0)(&Comparison::of_described(spec, described));
    }
}

fn analyze_here(
    template: &Template,
    naming: &Naming,
    mut listener: Option<&mut dyn Listener>,
) -> Result<FormatSpec, AnalyzeError> {
    let named = |error: AnalyzeError| AnalyzeError { template: naming.file.clone(), ..error };
    let probe = Probe::new(template);
    let asked = Observed::ask(&probe);
    if let (Ok(_), Some(limit)) = (&asked, probe.limit()) {
        // The renders that did not happen might have shown more.
        return Err(AnalyzeError::limit(&naming.file, &limit));
    }
    let o = match asked {
        Ok(o) => o,
        Err(error) => {
            if let Some(listener) = listener {
                listener.failed(&error);
            }
            return Err(named(error));
        }
    };
    let mut spec = settle(&probe, &o);
    spec.messages = with_format(&probe, o.calls.as_ref(), &spec);
    if let Some(listener) = &mut listener {
        listener.concluded(&o, &spec);
    }
    spec.template = TemplateInfo {
        name: if naming.name.is_empty() { name_of(&naming.file) } else { naming.name.clone() },
        source: naming.source.clone(),
        models: Vec::new(),
        file: naming.file.clone(),
        sha256: sha256(template.source()),
        also: Vec::new(),
    };
    let lacks_calls = spec.gaps.iter().any(|gap| gap == NO_CALL_SHOWN);
    if let Some(described) = lacks_calls.then(|| with_described_calls(template, &spec)).flatten() {
        if let Some(listener) = listener {
            listener.described(&spec, &described);
        }
        spec = described;
    }
    for tag in unread(&o, &spec) {
        spec.add_gap(Status::Partial, format!("the text of the template has {tag}, and no marker reads it"));
    }
    spec.tokens.bos.clone_from(&template.tokens().bos);
    spec.tokens.eos.clone_from(&template.tokens().eos);
    spec.tokens.preserved = spec.preserved_tokens();
    spec.tokens.other = other_tokens(template, &spec);
    spec.evidence.renders = probe.renders();
    Ok(spec)
}

/// Why a template renders no answer, if it refuses every one. Such a template may still have a spec, from its prompts.
///
/// ```
/// use unjinja_analyzer::refused_answer;
/// use unjinja_render::Template;
///
/// let text = "{% for m in messages %}{% if m.role == 'assistant' %}{{ raise_exception('No.') }}{% endif %}{% endfor %}";
/// let error = refused_answer(&Template::parse("once.jinja", text)?);
/// assert!(error.is_some_and(|error| error.seen.contains("No.")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn refused_answer(template: &Template) -> Option<AnalyzeError> {
    with_big_stack(|| answer(&Probe::new(template)).err()).unwrap_or_else(|e| {
        let reason = e.to_string();
        Some(AnalyzeError::no_stack(template.name(), reason))
    })
}

/// The most tokens that a spec lists although they mean nothing in an assistant's turn.
const MOST_OTHER_TOKENS: usize = 16;

/// The special tokens in a template's texts that are not part of a marker. Text in square brackets may be prose.
fn other_tokens(template: &Template, spec: &FormatSpec) -> Vec<String> {
    let markers: Vec<&str> = spec.markers().map(|(_, text)| text).collect();
    let is_other = |token: &&str| {
        let special = token.starts_with('<') && is_special_token(token.as_bytes());
        // Tags with attributes, and words in describing texts, are not tokens.
        let whole = !token.contains(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\'' | '$'));
        // A twin of a marker's token, with other bars, is that marker.
        special && whole && !markers.iter().any(|text| plain(text).contains(&plain(token)))
    };
    let literals = template.string_literals();
    let mut tokens = BTreeSet::new();
    tokens.extend(literals.iter().flat_map(|text| tags(text)).filter(is_other));
    tokens.into_iter().take(MOST_OTHER_TOKENS).map(str::to_owned).collect()
}

/// A text with the bars and lines of tokens in ASCII.
fn plain(text: &str) -> String {
    text.replace('｜', "|").replace('▁', "_")
}

/// SHA-256 of a template's text, in lower-case hexadecimal digits.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
