//! Repairs of a template. A change is only taken if renders show that it repairs the finding and nothing else: every conversation
//! that the linter tried renders as before, those with the fault render as the same conversation without it, the finding is gone,
//! and there is no new one.

use serde_json::Value;
use unjinja_render::{Template, with_big_stack};

use super::difference::common_prefix;
use super::examine::examine;
use super::finding::{Evidence, Finding};
use super::options::LintOptions;
use super::repairs::{REPAIRS, Repair, Sameness};
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
    REPAIRS.iter().any(|repair| repair.rule == rule)
}

fn fix_here(template: &Template, options: &LintOptions, rules: &[Rule]) -> Repaired {
    let mut repaired = Repaired { source: template.source().to_owned(), rules: Vec::new() };
    let mut tried = Tried::new(template, options);
    for repair in REPAIRS.iter().filter(|repair| rules.contains(&repair.rule)) {
        if let Some(next) = tried.repaired(repair, options) {
            next.template.source().clone_into(&mut repaired.source);
            repaired.rules.push(repair.rule);
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
        let (findings, contexts) = examine(template, options);
        Self { template: template.clone(), findings, contexts }
    }

    /// The template with a repair of the findings of one rule.
    fn repaired(&self, repair: &Repair, options: &LintOptions) -> Option<Tried> {
        let finding = self.findings.iter().find(|finding| finding.rule == repair.rule)?;
        // Only this one has a block.
        let blocks = match repair.sameness {
            Sameness::Block => self.blocks(finding),
            _ => vec![String::new()],
        };
        let mut possible = Vec::new();
        for source in (repair.edits)(self.template.source()) {
            let Ok(parsed) = Template::parse(self.template.name(), &source) else { continue };
            let template =
                parsed.with_tokens(self.template.tokens().clone()).with_limits(self.template.limits().clone());
            // Renders are cheap, so they come first.
            for block in &blocks {
                if let Some(changed) = self.changed(repair, &template, &self.contexts, block) {
                    possible.push((changed, template.clone(), block));
                }
            }
        }
        // The edits begin with the smallest. Of conditions, the best changes the fewest conversations.
        if matches!(repair.sameness, Sameness::Block) {
            possible.sort_by_key(|(changed, ..)| *changed);
        }
        possible.into_iter().find_map(|(_, template, block)| {
            let next = Tried::new(&template, options);
            let is_known = |other: &Finding| {
                self.findings.iter().any(|known| known.rule == other.rule && known.severity >= other.severity)
            };
            let is_left = |other: &Finding| match repair.sameness {
                // That an answer changes in the end is another finding of the same rule.
                Sameness::Block => other.severity >= finding.severity,
                _ => true,
            };
            let gone = !next.findings.iter().any(|other| other.rule == repair.rule && is_left(other));
            // The new linter may have asked other conversations.
            let good = gone
                && next.findings.iter().all(is_known)
                && self.changed(repair, &template, &next.contexts, block).is_some();
            good.then_some(next)
        })
    }

    /// How many conversations the new template renders otherwise; `None` if it renders one otherwise than it may.
    fn changed(&self, repair: &Repair, template: &Template, contexts: &[Value], block: &str) -> Option<usize> {
        if template.source() == self.template.source() {
            return None;
        }
        let mut changed = 0;
        for context in contexts {
            let mut plain = context.clone();
            match repair.sameness {
                Sameness::Plain(make) | Sameness::PlainWords(make) => make(&mut plain),
                Sameness::Block => {}
            }
            let (before, after) = match (self.template.render(&plain), template.render(context)) {
                (Ok(before), Ok(after)) => (before, after),
                (Err(_), Err(_)) => continue,
                _ => return None,
            };
            let is_same = match repair.sameness {
                _ if before == after => true,
                Sameness::Plain(_) => false,
                Sameness::PlainWords(_) => plain != *context && words(&before) == words(&after),
                Sameness::Block => !block.is_empty() && before.replace(block, "") == after.replace(block, ""),
            };
            if !is_same {
                return None;
            }
            changed += usize::from(before != after);
        }
        Some(changed)
    }

    /// The block that is in a turn and that is gone when the last message follows. Where it may begin at several characters, each
    /// of these.
    fn blocks(&self, finding: &Finding) -> Vec<String> {
        let Some(Evidence::Conversation { conversation, .. }) = &finding.evidence else { return Vec::new() };
        let mut turn = conversation.clone();
        turn["messages"].as_array_mut().and_then(Vec::pop);
        let (Ok(short), Ok(long)) = (self.template.render(&turn), self.template.render(conversation)) else {
            return Vec::new();
        };
        let from = common_prefix(&short, &long);
        let rests = short[from..].char_indices().map(|(at, _)| from + at).skip(1).chain([short.len()]);
        let Some(to) = rests.into_iter().find(|to| long[from..].starts_with(&short[*to..])) else { return Vec::new() };
        let (mut blocks, mut range) = (Vec::new(), from..to);
        loop {
            blocks.extend(short.get(range.clone()).map(str::to_owned));
            // `<think></think><call>` without `think></think><` is the same text as without `<think></think>`.
            let (Some(before), Some(last)) =
                (short[..range.start].chars().next_back(), short[..range.end].chars().next_back())
            else {
                return blocks;
            };
            if before != last || blocks.len() > 32 {
                return blocks;
            }
            range = range.start - before.len_utf8()..range.end - last.len_utf8();
        }
    }
}

/// A text without white space.
fn words(text: &str) -> String {
    text.split_whitespace().collect()
}
