//! `unjinja lint`: finds faults of chat templates, and prints them for people, for programs, for a workflow of GitHub or for
//! a pull request. What is a fault, the package `unjinja-lint` decides.

mod checked;
mod config;
mod mend;
mod sarif;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;
use unjinja_analyzer::verify_after_results;
use unjinja_build::{Source, SourceExt};
use unjinja_dynamic::{Loaded, Origin};
use unjinja_export::response_template::find;
use unjinja_lint::{
    Finding, LintOptions, RESPONSE_RULES, RULES, Repaired, Rule, Severity, can_fix, fix, fix_changes_prompts, lint,
    lint_response_template, syntax_error,
};
use unjinja_render::{Template, TemplateError};
use unjinja_spec::FormatSpec;

use crate::failure::{Done, Failure};
use crate::findings::{self, Findings};
use crate::parser_args::ParserArgs;
use crate::ui::Ui;
use crate::{input, output};
use checked::Checked;
#[cfg(test)]
pub(crate) use checked::Document;
use config::{Config, Configs, Verdict};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Templates: files, folders of them, or `-`; without any, those of this folder.
    paths: Vec<PathBuf>,
    /// Say why this rule matters, with an example and what to do.
    #[arg(long, value_name = "RULE", value_parser = rule, conflicts_with = "paths")]
    explain: Option<Rule>,
    /// List all rules: the name, how bad a finding is at worst, whether --fix can repair it, and what it says.
    #[arg(long, conflicts_with_all = ["paths", "explain"])]
    rules: bool,
    /// Only this rule; may be given several times.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    rule: Vec<Rule>,
    /// Not this rule; may be given several times.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    allow: Vec<Rule>,
    /// The configuration; by default `unjinja-lint.toml` in the template's folder, or in the nearest one above it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The response template; by default the one in the template's own file, or next to it in `tokenizer_config.json` or
    /// `response_template.json`.
    #[arg(long, value_name = "FILE")]
    response_template: Option<PathBuf>,
    /// How many random conversations are tried with a response template.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Repair what can be repaired, in the files of the templates. A change is only made if renders show that it repairs the finding
    /// at all places and changes nothing else. `prefix-changes` is repaired only if --rule names it: that changes which reasoning
    /// ordinary conversations have.
    #[arg(long)]
    fix: bool,
    /// Print the changes that --fix would make, and make none, with --fix too. The exit code is 1 if there are any, and for a template
    /// that cannot be parsed or rendered.
    #[arg(long, conflicts_with = "format")]
    diff: bool,
    /// Print findings of this level and above.
    #[arg(long, value_enum, default_value = "note")]
    level: Level,
    /// Exit with code 1 if there are warnings.
    #[arg(long)]
    strict: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: LintFormat,
    #[command(flatten)]
    parser: ParserArgs,
}

/// How findings are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    /// For people.
    #[value(alias = "text")]
    Human,
    /// JSON, one document.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Annotations for a GitHub workflow, on the lines of the templates.
    Github,
    /// A summary for a pull request.
    Markdown,
}

/// How bad a finding must be to be printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Everything.
    Note,
    /// Warnings and errors.
    Warning,
    /// Errors.
    Error,
}

impl Level {
    fn severity(self) -> Severity {
        match self {
            Level::Note => Severity::Note,
            Level::Warning => Severity::Warning,
            Level::Error => Severity::Error,
        }
    }
}

fn rule(id: &str) -> Result<Rule, String> {
    Rule::named(id).ok_or_else(|| {
        let ids = |rules: &[Rule]| rules.iter().map(|rule| rule.id).collect::<Vec<&str>>().join(", ");
        match &Rule::similar(id)[..] {
            [] => format!("there is no such rule; the rules are {}, {}", ids(RULES), ids(RESPONSE_RULES)),
            [rule] => format!("there is no such rule; did you mean `{}`?", rule.id),
            similar => format!("there is no such rule; similar ones are {}", ids(similar)),
        }
    })
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    if let Some(rule) = arguments.explain {
        let (about, text) = (rule.about, rule.explanation());
        let named = if fix_changes_prompts(rule) { format!(" --rule {}", rule.id) } else { String::new() };
        let fix = match can_fix(rule) {
            true => format!("\n\n`unjinja lint --fix{named}` can repair many templates with this finding."),
            false => String::new(),
        };
        writeln!(std::io::stdout(), "{} ({}): {about}\n\n{text}{fix}", rule.id, rule.severity.name())?;
        return Ok(());
    }
    if arguments.rules {
        return list(&mut std::io::stdout());
    }
    let here = [PathBuf::from(".")];
    let templates = input::templates(if arguments.paths.is_empty() { &here } else { &arguments.paths })?;
    arguments.parser.for_templates(templates.len())?;
    let progress = ui.progress(templates.len());
    let configs = Configs::new(arguments.config.as_deref(), ui);
    let mut all = Vec::new();
    let (mut changed, mut fixable) = (0, 0);
    for source in templates {
        let mut source = source.map_err(|error| Failure::Input(error.to_string()))?;
        progress.set_message(source.file());
        let response = response_template(&source, arguments.response_template.as_deref())?;
        let found = response.as_ref().map(|(_, found)| found);
        let prepared = Prepared::of(&source, arguments)?;
        let config = configs.of(&source.path)?;
        let mut findings = of_template(&source, &prepared, found, &config, arguments);
        // Only people are told how much --fix would repair: that has to be tried.
        let counts = arguments.format == LintFormat::Human && !ui.quiet && mend::can_write(&source);
        let tries = arguments.fix || arguments.diff || counts;
        let mended = if tries { prepared.repaired(&findings, &arguments.rule) } else { None };
        progress.inc(1);
        match mended {
            None => {}
            Some(repaired) if arguments.diff => {
                changed += 1;
                progress.suspend(|| mend::diff(&source, &repaired))?;
            }
            Some(repaired) if arguments.fix => {
                mend::write(&source, &repaired, ui)?;
                source.text = repaired.source;
                findings = of_template(&source, &Prepared::of(&source, arguments)?, found, &config, arguments);
            }
            Some(repaired) => fixable += findings.iter().filter(|it| repaired.rules.contains(&it.rule)).count(),
        }
        all.push(Checked { source, response: response.map(|(path, _)| path), findings });
    }
    progress.finish_and_clear();
    if arguments.diff {
        return end_of_diff(changed, &all);
    }
    print(&all, fixable, arguments.format, ui)?;
    let least = if arguments.strict { Severity::Warning } else { Severity::Error };
    let is_bad = |checked: &&Checked| checked.findings.iter().any(|finding| finding.severity >= least);
    match all.iter().filter(is_bad).count() {
        0 => Ok(()),
        count => {
            let what = if arguments.strict { "errors or warnings" } else { "errors" };
            Err(Failure::Found(with_errors(count, what)))
        }
    }
}

/// All rules, one in a line.
fn list(out: &mut impl Write) -> Done {
    for rule in RULES.iter().chain(RESPONSE_RULES) {
        let fix = match (can_fix(*rule), fix_changes_prompts(*rule)) {
            (true, false) => "fix",
            (true, true) => "fix if named",
            _ => "",
        };
        writeln!(out, "{:<27} {:<8} {fix:<13} {}", rule.id, rule.severity.name(), rule.about)?;
    }
    Ok(())
}

fn print(all: &[Checked], fixable: usize, format: LintFormat, ui: Ui) -> Done {
    let counts = findings::counts(all.iter().flat_map(|checked| &checked.findings).map(|finding| finding.severity));
    let templates = if all.len() == 1 { "1 template".to_owned() } else { format!("{} templates", all.len()) };
    let findings = Findings {
        heading: format!("Chat templates: {counts}"),
        summary: format!(
            "{templates}: {counts}{}",
            if fixable > 0 { format!("; {fixable} fixable with --fix") } else { String::new() }
        ),
        groups: all.iter().map(Checked::group).collect(),
        remarks: Vec::new(),
        accept: None,
    };
    match format {
        LintFormat::Human => findings.human(ui),
        LintFormat::Json => output::json(&all.iter().map(Checked::document).collect::<Vec<_>>()),
        LintFormat::Sarif => output::json(&sarif::sarif(&findings.groups)),
        LintFormat::Github => findings.github(),
        LintFormat::Markdown => findings.markdown(),
    }
}

fn with_errors(count: usize, what: &str) -> String {
    if count == 1 { format!("1 template has {what}") } else { format!("{count} templates have {what}") }
}

/// The end of `--diff`. Templates that cannot be parsed or rendered could not be tried, so they are told as without `--diff`, but
/// in standard error: standard output has the changes and nothing else.
fn end_of_diff(changed: usize, all: &[Checked]) -> Done {
    let unread = |checked: &&Checked| checked.findings.iter().any(|finding| finding.rule.ends_examination());
    let mut failed = 0;
    for checked in all.iter().filter(unread) {
        findings::human(&mut anstream::stderr().lock(), checked.group().findings.iter())?;
        failed += usize::from(checked.findings.iter().any(|finding| finding.severity == Severity::Error));
    }
    let mut ends = Vec::new();
    match changed {
        0 => {}
        1 => ends.push("1 template would be repaired".to_owned()),
        count => ends.push(format!("{count} templates would be repaired")),
    }
    if failed > 0 {
        ends.push(with_errors(failed, "errors"));
    }
    if ends.is_empty() { Ok(()) } else { Err(Failure::FoundAll(ends)) }
}

/// A template, and what is known of it.
struct Prepared {
    /// The spec, unless the template cannot be analysed.
    loaded: Option<Loaded>,
    template: Result<Template, TemplateError>,
    options: LintOptions,
}

impl Prepared {
    fn of(source: &Source, arguments: &Arguments) -> Result<Prepared, Failure> {
        let loaded = match arguments.parser.analysed(source) {
            Ok(loaded) => Some(loaded),
            // A template that cannot be parsed or analysed has its own finding.
            Err(Failure::Found(_)) => None,
            Err(failure) => return Err(failure),
        };
        let template = source.template().map(|template| {
            // As `unjinja render` does it: what the template's own file lacks, its spec or overlay may give.
            let mut tokens = template.tokens().clone();
            if let Some(loaded) = &loaded {
                tokens.bos = tokens.bos.or_else(|| loaded.spec.tokens.bos.clone());
                tokens.eos = tokens.eos.or_else(|| loaded.spec.tokens.eos.clone());
            }
            template.with_tokens(tokens)
        });
        let mut options = LintOptions::default();
        if let Some(tokens) = &source.special_tokens {
            options = options.special_tokens(tokens.clone());
        }
        let is_own = |loaded: &&Loaded| loaded.origin == Origin::Analysed && loaded.corrections.is_empty();
        if let Some(loaded) = loaded.as_ref().filter(|loaded| !is_own(loaded)) {
            options = options.spec(loaded.spec.clone());
        }
        Ok(Prepared { loaded, template, options })
    }

    /// The template with repairs of these findings, if there are any. Some repairs are only made for rules that are named.
    fn repaired(&self, findings: &[Finding], named: &[Rule]) -> Option<Repaired> {
        let rules = findings.iter().map(|finding| finding.rule);
        let is_tried = |rule: &Rule| can_fix(*rule) && (!fix_changes_prompts(*rule) || named.contains(rule));
        let rules: Vec<Rule> = rules.filter(is_tried).collect();
        if rules.is_empty() {
            return None;
        }
        let repaired = fix(self.template.as_ref().ok()?, &self.options, &rules);
        (!repaired.rules.is_empty()).then_some(repaired)
    }
}

/// The findings that were asked for.
fn of_template(
    source: &Source,
    prepared: &Prepared,
    response: Option<&Value>,
    config: &Config,
    arguments: &Arguments,
) -> Vec<Finding> {
    let mut findings = match &prepared.template {
        Err(error) => vec![syntax_error(error)],
        Ok(template) => lint(template, &prepared.options),
    };
    if let (Some(response), Some(loaded)) = (response, &prepared.loaded) {
        findings.extend(of_response_template(source, response, &loaded.spec, arguments));
    }
    findings.retain_mut(|finding| {
        match config.verdict(&source.path, finding.rule) {
            Some(Verdict::Allow) => return false,
            Some(Verdict::Deny) => finding.severity = Severity::Error,
            None => {}
        }
        (arguments.rule.is_empty() || arguments.rule.contains(&finding.rule))
            && !arguments.allow.contains(&finding.rule)
            && finding.severity >= arguments.level.severity()
    });
    findings
}

/// The findings about the response template of the same model.
fn of_response_template(source: &Source, response: &Value, spec: &FormatSpec, arguments: &Arguments) -> Vec<Finding> {
    // A template that cannot be parsed has its own finding.
    let Ok(chat) = source.template() else { return Vec::new() };
    let verification = verify_after_results(&chat, spec, arguments.count, 1);
    lint_response_template(response, &chat, spec, &verification)
}

/// The response template that belongs to a chat template, with its file.
fn response_template(source: &Source, named: Option<&Path>) -> Result<Option<(PathBuf, Value)>, Failure> {
    if let Some(path) = named {
        let name = path.display();
        let document = input::json(path)?;
        let found = find(&document).cloned();
        return found
            .map(|found| Some((path.to_owned(), found)))
            .ok_or_else(|| Failure::Input(format!("{name}: there is no response template in this file")));
    }
    if input::is_stdin(&source.path) {
        return Ok(None);
    }
    let sibling = |name: &str| source.path.with_file_name(name);
    for path in [source.path.clone(), sibling("tokenizer_config.json")] {
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            let document = input::json(&path)?;
            if let Some(found) = find(&document) {
                return Ok(Some((path, found.clone())));
            }
        }
    }
    // This file has no other purpose, so what it holds is tried whatever it is.
    let own = sibling("response_template.json");
    if !own.is_file() {
        return Ok(None);
    }
    let document = input::json(&own)?;
    let found = find(&document).cloned().unwrap_or(document);
    Ok(Some((own, found)))
}
