//! Comments of a template that allow rules: `{# unjinja-lint: allow late-system, system-role #}`. They are about the whole
//! template, wherever they are, because many findings are about no statement. A comment that allows nothing is a finding.

use unjinja_render::SourcePosition;

use super::finding::Finding;
use super::rules::{self, RULES, Rule};
use super::severity::Severity;
use unjinja_export::tags::{Tag, TagKind, tags};

/// What begins such a comment.
const PREFIX: &str = "unjinja-lint:";

/// How the name of the linter is written in comments, whether they are right or not.
const NAMES: [&str; 2] = ["unjinja-lint", "unjinja_lint"];

/// The next step where a comment is not understood.
const FORM: &str = "write `{# unjinja-lint: allow RULE #}`, with commas between several rules";

/// The most characters of a comment that a message shows.
const SHOWN: usize = 60;

/// What a comment says.
enum Said<'s> {
    /// This word is to be the name of a rule.
    Allow(&'s str),
    /// It begins as a comment to the linter and says something else than `allow` and rules.
    Unknown(&'s str),
    /// It names the linter and does not begin as a comment to it. A severity, because it may be a remark.
    Named(&'s str, Severity),
}

/// What the comments of a source say, each with the place of its comment. In strings and in `{% raw %}` there are no comments.
fn said(source: &str) -> Vec<(SourcePosition, Said<'_>)> {
    let mut all = Vec::new();
    let is_closed = |tag: &Tag| source[tag.range.clone()].ends_with("#}");
    for tag in tags(source).into_iter().filter(|tag| tag.kind == TagKind::Comment && is_closed(tag)) {
        let content = tag.content(source);
        let place = position(source, tag.range.start);
        let Some(directive) = content.strip_prefix(PREFIX) else {
            all.extend(named(content).map(|severity| (place, Said::Named(content, severity))));
            continue;
        };
        let mut words = directive.split([',', ' ', '\t', '\n', '\r']).filter(|word| !word.is_empty());
        match words.next() {
            Some("allow") => {
                let before = all.len();
                all.extend(words.map(|word| (place, Said::Allow(word))));
                if all.len() == before {
                    all.push((place, Said::Unknown(directive.trim())));
                }
            }
            _ => all.push((place, Said::Unknown(directive.trim()))),
        }
    }
    all
}

/// Whether a comment without the right beginning names the linter. It is an error if the name is the beginning, or is followed by
/// a colon or by `allow`: that was meant to allow something. A remark about the linter is a warning. The name of its file,
/// `unjinja-lint.toml`, is no name of the linter.
fn named(content: &str) -> Option<Severity> {
    let lower = content.to_ascii_lowercase();
    let after = |name: &'static str| lower.match_indices(name).map(|(at, name)| (at, &lower[at + name.len()..]));
    let severities =
        NAMES.into_iter().flat_map(after).filter(|(_, rest)| !rest.starts_with(".toml")).map(|(at, rest)| {
            let is_meant = at == 0 || rest.starts_with(':') || rest.trim_start().starts_with("allow");
            if is_meant { Severity::Error } else { Severity::Warning }
        });
    severities.max()
}

/// The line and the column of an offset.
fn position(source: &str, offset: usize) -> SourcePosition {
    let before = source[..offset].replace("\r\n", "\n").replace('\r', "\n");
    let line = before.rsplit('\n').next().unwrap_or_default();
    SourcePosition { line: before.matches('\n').count() as u32 + 1, column: line.chars().count() as u32 + 1 }
}

/// The beginning of a comment, for a message.
fn shown(comment: &str) -> String {
    let mut text: String = comment.chars().take(SHOWN).collect();
    if text.len() < comment.len() {
        text.push('…');
    }
    format!("{text:?}")
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
                    let help = match Rule::similar(word).first() {
                        Some(rule) => format!("write `{}`, or remove `{word}`; docs/lint.md lists the rules", rule.id),
                        None => "correct the name, or remove it; docs/lint.md lists the rules".to_owned(),
                    };
                    about.push(Finding::new(rules::UNKNOWN_ALLOW, message, help).at(Some(position)));
                }
                None => {}
            },
            Said::Unknown(directive) if list == RULES => {
                let message = format!("A comment to the linter says {}, which is not understood.", shown(directive));
                about.push(Finding::new(rules::UNKNOWN_ALLOW, message, FORM).at(Some(position)));
            }
            Said::Named(comment, severity) if list == RULES => {
                let message = format!("The comment {} names the linter and allows nothing.", shown(comment));
                about.push(Finding::new(rules::UNKNOWN_ALLOW, message, FORM).at_most(severity).at(Some(position)));
            }
            Said::Unknown(_) | Said::Named(..) => {}
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

    #[test]
    fn only_comments_of_the_template_count() {
        let texts = [
            "{{- \"{# unjinja-lint: allow date-dependent #}\" -}}",
            "{% set x = '{# unjinja-lint: allow date-dependent #}' %}",
            "{% raw %}{# unjinja-lint: allow null-content #} endraw {# unjinja-lint: nothing #}{% endraw %}",
            "{{ '{#' }}{{ 'unjinja-lint: allow date-dependent #}' }}",
        ];
        for source in texts {
            assert_eq!(found(source), [("date-dependent", 0, 0)], "{source}");
        }
        // A string with the beginning of a comment hides no comment, and neither does `{% raw %}`.
        assert_eq!(found("{{ '{#' }}{# unjinja-lint: allow date-dependent #}"), []);
        assert_eq!(found("{%- raw -%}{# {%- endraw -%}{# unjinja-lint: allow date-dependent #}"), []);
    }

    #[test]
    fn a_comment_that_names_the_linter_and_allows_nothing_is_found() {
        let severity = |source: &str| {
            let found = apply(source, RULES, Vec::new());
            assert!(found.len() <= 1 && found.iter().all(|finding| finding.rule == rules::UNKNOWN_ALLOW), "{source}");
            found.first().map(|finding| (finding.severity, finding.help.contains("{# unjinja-lint: allow RULE #}")))
        };
        let malformed = [
            "{# unjinja-lint allow null-content #}",
            "{#- unjinja_lint: allow null-content -#}",
            "{# Unjinja-Lint: allow null-content #}",
            "{# unjinja-lint : allow null-content #}",
            "{# note. unjinja-lint: allow null-content #}",
            "{# note: unjinja-lint allow null-content #}",
        ];
        for source in malformed {
            assert_eq!(severity(source), Some((Severity::Error, true)), "{source}");
        }
        assert_eq!(severity("{# checked with unjinja-lint #}"), Some((Severity::Warning, true)));
        for source in ["{# see unjinja-lint.toml #}", "{# lint: allow null-content #}", "unjinja-lint allow"] {
            assert_eq!(severity(source), None, "{source}");
        }
    }
}
