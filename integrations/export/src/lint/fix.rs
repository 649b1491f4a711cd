//! Repairs of a template. A change is only taken if renders show that it repairs the finding and nothing else: every conversation
//! that the linter tried renders as before, those with the fault render as the same conversation without it, the finding is gone,
//! and there is no new one.

use serde_json::Value;
use unjinja_render::{Template, with_big_stack};

use super::finding::Finding;
use super::options::LintOptions;
use super::repairs::{REPAIRS, Repair};
use super::rules::Rule;

/// A template after its repairs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The whole source. It has as many lines as before.
    pub source: String,
    /// The rules whose findings are gone, in the order of the repairs. Empty if nothing could be repaired; the source is then the
    /// one that was given.
    pub rules: Vec<Rule>,
}

/// Repairs findings of these rules, where a change of an expression does it.
///
/// ```
/// use unjinja_export::lint::{LintOptions, RULES, fix};
/// use unjinja_render::Template;
///
/// let text = "{% for m in messages %}<|{{ m.role }}|>{{ m.content + '<|end|>' }}{% for c in m.tool_calls or [] %}\
///     <|call|>{{ c.function | tojson }}<|end|>{% endfor %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
/// let repaired = fix(&Template::parse("chat.jinja", text)?, &LintOptions::default(), RULES);
/// assert!(repaired.rules.iter().any(|rule| rule.id == "null-content"));
/// assert!(repaired.source.contains("(m.content or '') + '<|end|>'"), "{}", repaired.source);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fix(template: &Template, options: &LintOptions, rules: &[Rule]) -> Repaired {
    let nothing = || Repaired { source: template.source().to_owned(), rules: Vec::new() };
    with_big_stack(|| fix_here(template, options, rules)).unwrap_or_else(|_| nothing())
}

/// Whether [`fix`] has changes to try for the findings of a rule.
///
/// ```
/// use unjinja_export::lint::{Rule, can_fix};
///
/// assert!(Rule::named("null-content").is_some_and(can_fix));
/// assert!(!Rule::named("date-dependent").is_some_and(can_fix));
/// ```
pub fn can_fix(rule: Rule) -> bool {
    REPAIRS.iter().any(|repair| repair.rule == rule)
}

fn fix_here(template: &Template, options: &LintOptions, rules: &[Rule]) -> Repaired {
    let mut repaired = Repaired { source: template.source().to_owned(), rules: Vec::new() };
    let mut tried = Tried::new(template, options);
    for repair in REPAIRS.iter().filter(|repair| rules.contains(&repair.rule)) {
        if !tried.findings.iter().any(|finding| finding.rule == repair.rule) {
            continue;
        }
        let sources = (repair.edits)(&repaired.source);
        let mut good = sources.into_iter().filter_map(|source| tried.accept(repair, &source, options));
        if let Some(next) = good.next() {
            next.template.source().clone_into(&mut repaired.source);
            repaired.rules.push(repair.rule);
            drop(good);
            tried = next;
        }
    }
    repaired
}

/// A template, what is found in it, and the conversations that were rendered to find it.
struct Tried {
    template: Template,
    findings: Vec<Finding>,
    contexts: Vec<Value>,
}

impl Tried {
    fn new(template: &Template, options: &LintOptions) -> Self {
        let (findings, contexts) = super::examine(template, options);
        Self { template: template.clone(), findings, contexts }
    }

    /// The template with another source, if that repairs the finding and nothing else.
    fn accept(&self, repair: &Repair, source: &str, options: &LintOptions) -> Option<Tried> {
        let parsed = Template::parse(self.template.name(), source).ok()?;
        let template = parsed.with_tokens(self.template.tokens().clone()).with_limits(self.template.limits().clone());
        // Renders are cheap, so they come first.
        if source == self.template.source()
            || !self.contexts.iter().all(|context| self.is_same(repair, &template, context))
        {
            return None;
        }
        let next = Tried::new(&template, options);
        // The new linter may have asked other conversations.
        let is_known = |finding: &Finding| {
            self.findings.iter().any(|known| known.rule == finding.rule && known.severity >= finding.severity)
        };
        let gone = !next.findings.iter().any(|finding| finding.rule == repair.rule);
        let good = gone && next.findings.iter().all(is_known);
        (good && next.contexts.iter().all(|context| self.is_same(repair, &template, context))).then_some(next)
    }

    /// Whether the new template renders a conversation as this one renders the same conversation without the fault.
    fn is_same(&self, repair: &Repair, template: &Template, context: &Value) -> bool {
        let mut plain = context.clone();
        (repair.plain)(&mut plain);
        match (self.template.render(&plain), template.render(context)) {
            (Ok(before), Ok(after)) => {
                before == after || repair.spaces_differ && plain != *context && words(&before) == words(&after)
            }
            (Err(_), Err(_)) => true,
            _ => false,
        }
    }
}

/// A text without white space.
fn words(text: &str) -> String {
    text.split_whitespace().collect()
}
