//! `unjinja export --for training`: the chat template with `{% generation %}` around what the model writes.

use std::io::Write;

use serde_json::{Value, json};
use unjinja_build::Source;
use unjinja_dynamic::{Input, Loaded, Model};
use unjinja_export::response_template::with_chat_template;
use unjinja_export::training::{MarkObstacle, PrefixState, TrainingTemplate, mark_generation, prefix_state};
use unjinja_lint::{LintOptions, contexts};

use super::arguments::{Arguments, write};
use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::ui::Ui;
use crate::{input, log, output, visible};

pub(super) fn run(arguments: &Arguments, ui: Ui) -> Done {
    for (flag, is_given) in [("--count", arguments.count.is_some()), ("--seed", arguments.seed.is_some())] {
        if is_given {
            let message =
                format!("{flag} is about response templates; --for training always tries the same conversations");
            return Err(Failure::Input(message));
        }
    }
    let mut source = input::template(&arguments.template)?;
    let file = source.place();
    let mut model = model(arguments, source.clone())?;
    let state = prefix_state(&model);
    if let (true, PrefixState::Repairable { source: repaired, .. }) = (arguments.keep_prefix, &state) {
        source.text.clone_from(repaired);
        model = self::model(arguments, source)?;
    }
    let options = LintOptions::default().spec(model.spec().clone());
    let further = model.parsed_template().map_or_else(|_| Vec::new(), |template| contexts(template, &options));
    let marked = mark_generation(&model, further).map_err(|obstacle| told(&obstacle, arguments, &file))?;
    if let Some(path) = &arguments.store_in {
        write(path, |config| with_chat_template(config, &marked.source))?;
    }
    match (arguments.format, &arguments.store_in) {
        (Format::Json, _) => output::json(&document(&marked, &state, arguments.keep_prefix))?,
        (Format::Human, None) => std::io::stdout().write_all(marked.source.as_bytes())?,
        (Format::Human, Some(path)) => ui.remark(&format!("the chat template was written to {}", path.display())),
    }
    if arguments.format == Format::Human {
        tell(&marked, &state, arguments.keep_prefix, ui);
    }
    Ok(())
}

/// The model of a template, with the spec that the flags name.
fn model(arguments: &Arguments, source: Source) -> Result<Model, Failure> {
    let loader = arguments.parser.committed().unwrap_or_else(|| arguments.parser.loader());
    let loaded: Loaded = log::load(&loader, Input::source(source))?;
    loaded.model().map_err(|error| Failure::Found(error.to_string()))
}

/// Why there is no template: for people with the conversation, or as JSON.
fn told(obstacle: &MarkObstacle, arguments: &Arguments, file: &str) -> Failure {
    if arguments.format == Format::Json {
        let document = json!({
            "chat_template": Value::Null,
            "obstacle": {
                "kind": obstacle.kind.name(), "sentence": obstacle.kind.sentence(), "line": obstacle.line,
                "column": obstacle.column, "text": obstacle.text, "conversation": obstacle.conversation,
            },
        });
        if let Err(failure) = output::json(&document) {
            return failure;
        }
    }
    let mut shown = obstacle.clone();
    file.clone_into(&mut shown.file);
    let conversation = match obstacle.conversation.is_null() {
        true => String::new(),
        false => format!("\n  = conversation: {}", visible::line(&obstacle.conversation.to_string())),
    };
    Failure::Found(format!("{shown}{conversation}"))
}

fn tell(marked: &TrainingTemplate, state: &PrefixState, keeps: bool, ui: Ui) {
    let count = marked.conversations.len();
    ui.remark(&format!("the same text and the right marks for {count} conversations"));
    if marked.before.any {
        let known = marked.before;
        ui.remark(&format!(
            "  the marks that it had are right for {} and wrong for {} of them",
            known.right, known.wrong
        ));
    }
    let rewritten = "  earlier turns are written anew as the conversation goes on";
    match state {
        PrefixState::Stable => {}
        PrefixState::Repairable { line, change: (condition, constant), .. } => {
            let condition = visible::line(condition);
            ui.remark(&match keeps {
                true => {
                    format!("  earlier turns stay as they were written: line {line}: `{condition}` became `{constant}`")
                }
                false => format!("{rewritten}; --keep-prefix writes `{constant}` for `{condition}` in line {line}"),
            });
        }
        _ => ui.remark(&format!("{rewritten}, and no change of one condition repairs it")),
    }
}

/// The result as JSON.
fn document(marked: &TrainingTemplate, state: &PrefixState, keeps: bool) -> Value {
    let bytes: usize = marked.conversations.iter().map(|one| one.text.len()).sum();
    let by_model: usize = marked.conversations.iter().flat_map(|one| &one.by_model).map(ExactSizeIterator::len).sum();
    let prefix = match (state, keeps) {
        (PrefixState::Stable, _) => "stable",
        (PrefixState::Repairable { .. }, true) => "repaired",
        (PrefixState::Repairable { .. }, false) => "repairable",
        _ => "changes",
    };
    json!({
        "chat_template": marked.source, "obstacle": Value::Null,
        "tried": marked.conversations.len(), "refused": marked.refused, "bytes": bytes, "bytes_by_model": by_model,
        "marks_before": marked.before.any.then(|| json!({"right": marked.before.right, "wrong": marked.before.wrong})),
        "prefix": prefix,
    })
}
