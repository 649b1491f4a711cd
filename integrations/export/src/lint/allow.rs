//! Comments of a template that allow rules: `{# unjinja-lint: allow late-system, system-role #}`. They are about the whole
//! template, wherever they are, because many findings are about no statement. A comment that allows nothing is a finding.

use unjinja_render::SourcePosition;

use super::finding::Finding;
use super::rules::{self, RULES, Rule};

/// What begins such a comment.
const PREFIX: &str = "unjinja-lint:";

/// What a comment says.
enum Said<'s> {
    /// This word is to be the name of a rule.
    Allow(&'s str),
    /// Something else than `allow` and rules.
    Unknown(&'s str),
}

/// What the comments of a source say, each with the place of its comment.
fn said(source: &str) -> Vec<(SourcePosition, Said<'_>)> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(start) = source[from..].find("{#").map(|at| from + at) {
        let Some(end) = source[start..].find("#}").map(|at| start + at) else { break };
        from = end + 2;
        let inner = source.get(start + 2..end).unwrap_or_default();
        let inner = inner.trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim();
        let Some(directive) = inner.strip_prefix(PREFIX) else { continue };
        let position = position(source, start);
        let mut words = directive.split([',', ' ', '\t', '\n', '\r']).filter(|word| !word.is_empty());
        match words.next() {
            Some("allow") => {
                let before = all.len();
                all.extend(words.map(|word| (position, Said::Allow(word))));
                if all.len() == before {
                    all.push((position, Said::Unknown(directive.trim())));
                }
            }
            _ => all.push((position, Said::Unknown(directive.trim()))),
        }
    }
    all
}

/// The line and the column of an offset.
fn position(source: &str, offset: usize) -> SourcePosition {
    let before = source[..offset].replace("\r\n", "\n").replace('\r', "\n");
    let line = before.rsplit('\n').next().unwrap_or_default();
    SourcePosition { line: before.matches('\n').count() as u32 + 1, column: line.chars().count() as u32 + 1 }
}

/// The findings without those that the template's comments allow, and with findings about comments that allow nothing. `list`
/// has the rules that were run. Comments that name no rule are reported with the rules about chat templates.
pub(super) fn apply(source: &str, list: &[Rule], mut findings: Vec<Finding>) -> Vec<Finding> {
    let said = said(source);
    let mut about = Vec::new();
    let mut allowed: Vec<Rule> = Vec::new();
    for (position, said) in said {
        match said {
            Said::Allow(word) => match Rule::named(word) {
                Some(rule) if list.contains(&rule) => {
                    if !findings.iter().any(|finding| finding.rule == rule) {
                        let message = format!("A comment allows `{word}`, and the template has no such finding.");
                        let help = format!("remove `{word}` from the comment");
                        about.push(Finding::new(rules::UNUSED_ALLOW, message, help).at(Some(position)));
                    }
                    allowed.push(rule);
                }
                Some(_) => {}
                None if list == RULES => {
                    let message = format!("A comment allows `{word}`, and there is no such rule.");
                    let help = "correct the name, or remove it; docs/lint.md lists the rules";
                    about.push(Finding::new(rules::UNKNOWN_ALLOW, message, help).at(Some(position)));
                }
                None => {}
            },
            Said::Unknown(directive) if list == RULES => {
                let message = format!("A comment to the linter says {directive:?}, which is not understood.");
                let help = "write `{# unjinja-lint: allow RULE #}`, with commas between several rules";
                about.push(Finding::new(rules::UNKNOWN_ALLOW, message, help).at(Some(position)));
            }
            Said::Unknown(_) => {}
        }
    }
    findings.retain(|finding| !allowed.contains(&finding.rule));
    findings.extend(about);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(&'static str, u32, u32)> {
        let at = |finding: Finding| (finding.rule.id, finding.line.unwrap_or(0), finding.column.unwrap_or(0));
        let findings = vec![Finding::new(rules::DATE, "It changes.", "")];
        apply(source, RULES, findings).into_iter().map(at).collect()
    }

    #[test]
    fn a_comment_allows_rules() {
        assert_eq!(found("{# unjinja-lint: allow date-dependent #}"), []);
        assert_eq!(found("{#- unjinja-lint: allow\n  date-dependent -#}"), []);
        assert_eq!(found("{# allow date-dependent #}"), [("date-dependent", 0, 0)]);
    }

    #[test]
    fn a_comment_that_allows_nothing_is_found() {
        let unused = "é\r\n {# unjinja-lint: allow date-dependent, null-content #}";
        assert_eq!(found(unused), [("unused-allow", 2, 2)]);
        let unknown = "{# unjinja-lint: allow dates #}{# unjinja-lint: deny #}{# unjinja-lint: allow #}";
        let unknown: Vec<&str> = found(unknown).iter().map(|(rule, ..)| *rule).collect();
        assert_eq!(unknown, ["date-dependent", "unknown-allow", "unknown-allow", "unknown-allow"]);
        assert_eq!(found("{# unjinja-lint: allow null-content"), [("date-dependent", 0, 0)]);
    }
}
