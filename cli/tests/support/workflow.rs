//! Runs the steps of a workflow of GitHub Actions as its runner does, as far as `docs/watch-templates.md` needs it.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// One step that runs a script.
#[derive(Debug, Default)]
pub struct WorkflowStep {
    id: String,
    condition: Option<String>,
    continues: bool,
    script: String,
}

/// The text of the first block of this kind on a page.
pub fn block<'p>(page: &'p str, kind: &str) -> Result<&'p str, String> {
    let block = page.split_once(&format!("```{kind}\n")).and_then(|(_, rest)| rest.split_once("```"));
    Ok(block.ok_or(format!("there is no block {kind}"))?.0)
}

/// The steps of a workflow that run scripts.
pub fn steps(workflow: &str) -> Vec<WorkflowStep> {
    let mut steps: Vec<WorkflowStep> = Vec::new();
    let lines = workflow.lines().skip_while(|line| line.trim() != "steps:").skip(1);
    for line in lines {
        if let Some(inner) = line.strip_prefix("          ") {
            let Some(step) = steps.last_mut() else { continue };
            step.script.push_str(inner);
            step.script.push('\n');
            continue;
        }
        if line.trim_start().starts_with("- ") {
            steps.push(WorkflowStep::default());
        }
        let (Some(step), Some((key, value))) = (steps.last_mut(), line.trim_start_matches([' ', '-']).split_once(": "))
        else {
            continue;
        };
        match key {
            "id" => step.id = value.to_owned(),
            "if" => step.condition = Some(value.to_owned()),
            "continue-on-error" => step.continues = value == "true",
            "run" if value != "|" => step.script = value.to_owned(),
            _ => {}
        }
    }
    steps.retain(|step| !step.script.is_empty());
    steps
}

/// Runs a script in a folder. Within a hook of git, variables point to the repository of the hook; they are not inherited.
pub fn bash(script: &str, folder: &Path) -> Command {
    let mut command = Command::new("bash");
    command.args(["-e", "-c", script]).current_dir(folder);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
}

/// Runs the steps in a folder, except for the installation. Returns whether the job succeeds, and what was printed.
pub fn run(
    steps: &[WorkflowStep],
    folder: &Path,
    environment: &[(&str, String)],
) -> Result<(bool, String), Box<dyn Error>> {
    let (mut outcomes, mut is_well, mut printed) = (BTreeMap::new(), true, String::new());
    for step in steps.iter().filter(|step| !step.script.starts_with("cargo install")) {
        let applies = match &step.condition {
            None => true,
            Some(condition) => condition.split(" || ").any(|one| {
                let id = one.strip_prefix("steps.").and_then(|rest| rest.strip_suffix(".outcome == 'failure'"));
                id.is_some_and(|id| outcomes.get(id) == Some(&false))
            }),
        };
        if !is_well || !applies {
            continue;
        }
        let mut command = bash(&step.script, folder);
        let output = command.envs(environment.iter().map(|(name, value)| (name, value))).output()?;
        let text = [output.stdout, output.stderr].concat();
        printed.push_str(&format!("== {}\n{}", step.id, String::from_utf8_lossy(&text)));
        outcomes.insert(step.id.as_str(), output.status.success());
        is_well = output.status.success() || step.continues;
    }
    Ok((is_well, printed))
}
