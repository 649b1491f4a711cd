//! Repairs of a template. A change is only taken if renders show that it repairs the finding and nothing else: every conversation
//! that the linter tried renders as before, those with the fault render as the same conversation without it, the finding is gone,
//! and there is no new one.

use serde_json::{Map, Value};
use unjinja_render::{Template, with_big_stack};

use unjinja_export::training::{PrefixState, prefix_state_of};
use unjinja_spec::EmptyContent;

use super::conversation::{Conversation, words};
use super::examine::found;
use super::finding::Finding;
use super::options::LintOptions;
use super::repairs::{REPAIRS, Repair};
use super::rules::{PREFIX_CHANGES, Rule};
use super::severity::Severity;
use super::subject::Subject;

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
/// use unjinja_lint::{LintOptions, RULES, fix};
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
/// use unjinja_lint::{Rule, can_fix};
///
/// assert!(Rule::named("null-content").is_some_and(can_fix));
/// assert!(!Rule::named("date-dependent").is_some_and(can_fix));
/// ```
pub fn can_fix(rule: Rule) -> bool {
    REPAIRS.iter().any(|repair| repair.rule == rule) || rule == PREFIX_CHANGES
}

/// Whether a repair by [`fix`] changes what ordinary conversations render, so that it should be asked for by the rule's name.
///
/// ```
/// use unjinja_lint::{Rule, fix_changes_prompts};
///
/// assert!(Rule::named("prefix-changes").is_some_and(fix_changes_prompts));
/// assert!(!Rule::named("null-content").is_some_and(fix_changes_prompts));
/// ```
pub fn fix_changes_prompts(rule: Rule) -> bool {
    rule == PREFIX_CHANGES
}

fn fix_here(template: &Template, options: &LintOptions, rules: &[Rule]) -> Repaired {
    let mut repaired = Repaired { source: template.source().to_owned(), rules: Vec::new() };
    let mut tried = Tried::new(template, options);
    let mut take = |rule: Rule, next: Option<Tried>, tried: &mut Tried| {
        if let Some(next) = next {
            next.template.source().clone_into(&mut repaired.source);
            repaired.rules.push(rule);
            *tried = next;
        }
    };
    // First, so that it is the change that `export` makes of the same source.
    if rules.contains(&PREFIX_CHANGES) {
        let next = tried.keeping_prefix(options);
        take(PREFIX_CHANGES, next, &mut tried);
    }
    for repair in REPAIRS.iter().filter(|repair| rules.contains(&repair.rule)) {
        let next = tried.repaired(repair, options);
        take(repair.rule, next, &mut tried);
    }
    repaired
}

/// A template, what is found in it, and the conversations that were rendered to find it.
struct Tried {
    template: Template,
    findings: Vec<Finding>,
    contexts: Vec<Value>,
    /// Conversations of every kind, in which a fault may be at several places.
    kinds: Vec<Value>,
}

impl Tried {
    fn new(template: &Template, options: &LintOptions) -> Self {
        let (subject, findings) = found(template, options);
        Self { template: template.clone(), findings, contexts: subject.tried(), kinds: kinds(&subject) }
    }

    /// The template with another source.
    fn with_source(&self, source: &str) -> Option<Template> {
        let parsed = Template::parse(self.template.name(), source).ok()?;
        Some(parsed.with_tokens(self.template.tokens().clone()).with_limits(self.template.limits().clone()))
    }

    /// The template with a repair of the findings of one rule, at all places where it has the fault.
    fn repaired(&self, repair: &Repair, options: &LintOptions) -> Option<Tried> {
        self.findings.iter().find(|finding| finding.rule == repair.rule)?;
        (repair.edits)(self.template.source()).into_iter().find_map(|source| {
            let template = self.with_source(&source)?;
            // Renders are cheap, so they come first.
            (self.is_good(repair, &template, &self.contexts) && self.is_good(repair, &template, &self.spoilt(repair)))
                .then_some(())?;
            let next = self.without(repair.rule, Severity::Note, &template, options)?;
            // The new linter may have asked other conversations.
            self.is_good(repair, &template, &next.contexts).then_some(next)
        })
    }

    /// The template with the change of one condition that keeps earlier turns as they were: the one that `export --keep-prefix` makes.
    fn keeping_prefix(&self, options: &LintOptions) -> Option<Tried> {
        let finding = self.findings.iter().find(|finding| finding.rule == PREFIX_CHANGES)?;
        let PrefixState::Repairable { source, .. } = prefix_state_of(&self.template, options.spec.as_ref()) else {
            return None;
        };
        // That an answer changes in the end is another finding of the same rule.
        self.without(PREFIX_CHANGES, finding.severity, &self.with_source(&source)?, options)
    }

    /// A template without findings of a rule of this severity and above, if it has no new ones of others.
    fn without(&self, rule: Rule, least: Severity, template: &Template, options: &LintOptions) -> Option<Tried> {
        let next = Tried::new(template, options);
        let is_known = |other: &Finding| {
            self.findings.iter().any(|known| known.rule == other.rule && known.severity >= other.severity)
        };
        let gone = !next.findings.iter().any(|other| other.rule == rule && other.severity >= least);
        (gone && next.findings.iter().all(is_known)).then_some(next)
    }

    /// The conversations of every kind, without the fault of a repair and with it, as far as the template renders them without.
    fn spoilt(&self, repair: &Repair) -> Vec<Value> {
        let mut contexts = Vec::new();
        for context in &self.kinds {
            let mut plain = context.clone();
            (repair.heal)(&mut plain);
            if self.template.render(&plain).is_err() {
                continue;
            }
            for spoil in repair.spoil {
                let mut spoilt = plain.clone();
                spoil(&mut spoilt);
                contexts.push(spoilt);
            }
            contexts.push(plain);
        }
        contexts
    }

    /// Whether a new template renders these conversations as the old one renders them without the fault.
    fn is_good(&self, repair: &Repair, template: &Template, contexts: &[Value]) -> bool {
        template.source() != self.template.source()
            && contexts.iter().all(|context| {
                let mut plain = context.clone();
                (repair.heal)(&mut plain);
                match (self.template.render(&plain), template.render(context)) {
                    (Ok(before), Ok(after)) if before == after => true,
                    (Ok(before), Ok(after)) => {
                        repair.only_words && plain != *context && visible(&before) == visible(&after)
                    }
                    (Err(_), Err(_)) => true,
                    _ => false,
                }
            })
    }
}

/// Conversations with answers, calls and reasoning at several places, with and without text, before and after results.
fn kinds(subject: &Subject) -> Vec<Value> {
    let plain = subject.plain;
    let [user, again] = [plain.user(), plain.message("user", words::USER2)];
    let mut turns = vec![
        vec![plain.message("system", words::SYSTEM), user.clone()],
        vec![user.clone(), plain.answer(), again.clone(), plain.answer()],
    ];
    if let Some(calls) = subject.calls {
        let with_text = |mut message: Value| {
            message["content"] = plain.message("assistant", words::PREAMBLE)["content"].take();
            message
        };
        let results = [calls.result(0), calls.result(1)];
        for (one, two) in [(calls.call(), calls.two_calls()), (with_text(calls.call()), with_text(calls.two_calls()))] {
            let [first, second] = results.clone();
            turns.push(vec![user.clone(), one.clone(), first.clone(), plain.answer(), again.clone(), two.clone()]);
            turns.push(vec![user.clone(), two, first.clone(), second, one, first, plain.answer(), again.clone()]);
        }
    }
    let without_reasoning = turns.len();
    if let Some(field) = subject.reasoning_field() {
        let thought = |mut message: Value| {
            message[field] = words::REASONING.into();
            message
        };
        let alone = thought(plain.message("assistant", ""));
        turns.push(vec![user.clone(), alone.clone(), again.clone(), alone.clone()]);
        if let Some(calls) = subject.calls {
            let call = thought(calls.with_empty(EmptyContent::Empty).call());
            turns.push(vec![user, call.clone(), calls.result(0), alone, again, call]);
        }
    }
    let mut kinds = Vec::new();
    for (at, messages) in turns.into_iter().enumerate() {
        let variables = if at < without_reasoning { Map::new() } else { subject.reasoning_on() };
        let conversation = Conversation { variables, ..Conversation::of(messages) };
        for conversation in [conversation.clone(), conversation.with_tools()] {
            kinds.extend([subject.context(&conversation), subject.context(&conversation.prompting())]);
        }
    }
    kinds
}

/// A text without white space.
fn visible(text: &str) -> String {
    text.split_whitespace().collect()
}
