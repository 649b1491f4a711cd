//! How a comparison of two templates is printed. Text from templates is escaped, because it can be hostile.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use unjinja_export::compare::{RenderDifference, TemplateComparison, TurnDifference};
use unjinja_runtime::Message;

use crate::failure::Done;
use crate::report::{ReportFormat, github_message, github_property, markdown_pre};
use crate::ui::{BAD, FAINT, GOOD, HEADING, WARNING, paint};
use crate::visible;

/// Prints it after the changes of the specs.
pub(super) fn print(compared: &TemplateComparison, format: ReportFormat, file: &Path) -> Done {
    let mut out = anstream::stdout().lock();
    let (renders, reads) = (render_sentence(compared), read_sentence(compared));
    match format {
        ReportFormat::Human => human(compared, &mut out),
        // The command prints all of it in one document.
        ReportFormat::Json => Ok(()),
        ReportFormat::Github => {
            let file = github_property(&file.display().to_string());
            for (sentence, alike, level) in
                [(renders, compared.render_alike(), "notice"), (reads, compared.read_alike(), "error")]
            {
                if !alike {
                    writeln!(out, "::{level} file={file},line=1,title=templates::{}", github_message(&sentence))?;
                }
            }
            Ok(())
        }
        ReportFormat::Markdown => {
            for (sentence, alike, sign) in
                [(renders, compared.render_alike(), "⚪"), (reads, compared.read_alike(), "🔴")]
            {
                writeln!(out, "\n{} {sentence}", if alike { "🟢" } else { sign })?;
            }
            if let Some(difference) = &compared.difference {
                let mut text = Vec::new();
                sides(difference, &mut text)?;
                let text = String::from_utf8_lossy(&text);
                writeln!(out, "\n<pre>{}</pre>", markdown_pre(&anstream::adapter::strip_str(&text).to_string()))?;
            }
            Ok(())
        }
    }
}

fn human(compared: &TemplateComparison, out: &mut impl Write) -> Done {
    let style = if compared.render_alike() { GOOD } else { WARNING };
    writeln!(out, "\n{}", paint(style, &render_sentence(compared)))?;
    if let Some(difference) = &compared.difference {
        writeln!(out, "  the smallest conversation that comes out different:")?;
        sides(difference, out)?;
    }
    let style = if compared.read_alike() { GOOD } else { BAD };
    writeln!(out, "\n{}", paint(style, &read_sentence(compared)))?;
    for (problem, which) in compared.problems.iter().zip(["old", "new"]) {
        if let Some(problem) = problem {
            writeln!(out, "  the {which} template: {}", visible::lines(problem))?;
        }
    }
    for (readings, [writer, reader]) in compared.readings.iter().zip([["old", "new"], ["new", "old"]]) {
        if let Some(difference) = &readings.difference {
            writeln!(out, "  the shortest turn of the {writer} template that the {reader} parser reads differently:")?;
            turn(difference, [writer, reader], out)?;
        }
    }
    Ok(())
}

fn render_sentence(compared: &TemplateComparison) -> String {
    let TemplateComparison { tried, differing, differing_in_space: space, .. } = compared;
    let assumed = match compared.assumed_tokens.as_slice() {
        [] => String::new(),
        names => format!("; only one file says the text of {}, which is taken for both", names.join(", ")),
    };
    if compared.render_alike() {
        return format!("the templates render alike: {tried} conversations{assumed}");
    }
    let space = match space {
        0 => String::new(),
        all if all == differing => ", all in white space only".to_owned(),
        some => format!(", {some} of them in white space only"),
    };
    format!("the templates render differently: {differing} of {tried} conversations{space}{assumed}")
}

fn read_sentence(compared: &TemplateComparison) -> String {
    let [old, new] = &compared.readings;
    let turns = format!(
        "{} of {} turns of the old template by the new parser, {} of {} of the new one by the old",
        old.alike, old.tried, new.alike, new.tried
    );
    let how = if compared.read_alike() { "alike" } else { "differently" };
    format!("their parsers read {how}: alike are {turns}")
}

fn sides(difference: &RenderDifference, out: &mut impl Write) -> Done {
    writeln!(out, "  {}", visible::lines(&difference.conversation.to_string()))?;
    for (text, which) in [(&difference.old, "old"), (&difference.new, "new")] {
        let (what, text) = match text {
            Ok(text) => ("writes", text),
            Err(error) => ("fails", error),
        };
        writeln!(out, "  {}", paint(HEADING, &format!("the {which} template {what}:")))?;
        for line in visible::lines(text).split('\n') {
            writeln!(out, "  | {line}")?;
        }
    }
    Ok(())
}

fn turn(difference: &TurnDifference, [writer, reader]: [&str; 2], out: &mut impl Write) -> Done {
    for line in visible::lines(&difference.output).split('\n') {
        writeln!(out, "  | {line}")?;
    }
    for (message, which) in [(&difference.own, writer), (&difference.other, reader)] {
        let text = visible::line(&shown(message));
        writeln!(out, "    {} {text}", paint(FAINT, &format!("by the {which} parser:")))?;
    }
    Ok(())
}

/// A message in one line.
fn shown(message: &Message) -> String {
    json!(message).to_string()
}
