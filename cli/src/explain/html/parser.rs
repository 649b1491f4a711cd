//! The sections about the spec and what is made from it: keys, generation prompts, states, grammar.

use std::fmt::Write as _;

use unjinja_runtime::trace::StateView;

use super::escape::{block, escape, inline, value, value_text};
use crate::explain::model::{ComparisonView, Explanation};
use crate::visible;

/// The keys of the spec, and which comparisons found them.
pub(super) fn spec(explanation: &Explanation) -> String {
    let mut out = "<p class=\"lead\">The keys of the spec, and the comparisons that found them.</p><div class=\"scroll\"><table class=\"stacks\"><thead><tr>\
                   <th>key</th><th>value</th><th>found by</th></tr></thead><tbody>"
        .to_owned();
    for key in &explanation.keys {
        let _ = write!(
            out,
            "<tr><td class=\"keys\"><code>{}</code></td><td class=\"wide\">{}",
            inline(&key.key),
            value(&key.value)
        );
        if let Some(before) = &key.overlaid {
            let _ =
                write!(out, "<br><span class=\"note\">set by an overlay; the analysis found {}</span>", value(before));
        }
        out.push_str("</td><td class=\"by\">");
        if key.found_by.is_empty() {
            out.push_str("<span class=\"note\">follows from other keys</span>");
        }
        for name in &key.found_by {
            let finds = |one: &ComparisonView| {
                one.made.experiment.name() == *name
                    && one.made.findings.iter().any(|f| key.key.starts_with(&f.key) || f.key.starts_with(&key.key))
            };
            let index = explanation.comparisons.iter().position(finds);
            let index =
                index.or_else(|| explanation.comparisons.iter().position(|one| one.made.experiment.name() == *name));
            let _ = write!(out, "<a href=\"#c{}\">{}</a>", index.unwrap_or(0), name.replace('_', " "));
        }
        out.push_str("</td></tr>");
    }
    out.push_str("</tbody></table></div>");
    if let Some(toml) = &explanation.toml {
        let _ = write!(
            out,
            "<details style=\"margin-top:.8rem\"><summary><span class=\"what\">The spec as TOML</span></summary><div class=\"body\"><pre tabindex=\"0\">{}</pre></div></details>",
            escape(&visible::lines(toml))
        );
    }
    out
}

/// The generation prompts.
pub(super) fn prompts(explanation: &Explanation) -> String {
    let mut out =
        "<p class=\"lead\">The text that the template adds before the model's output, and the state in which the parser begins after it.</p>"
            .to_owned();
    for prompt in &explanation.generation_prompts {
        let thinking = match prompt.thinking {
            None => "thinking not set",
            Some(true) => "thinking on",
            Some(false) => "thinking off",
        };
        let state = prompt.state.as_deref().map_or("no parser".to_owned(), |state| {
            format!("state <a href=\"#state-{0}\"><code>{0}</code></a>", inline(state))
        });
        let starts_in = inline(prompt.starts_in.as_str().unwrap_or_default());
        let _ = write!(
            out,
            "<figure><figcaption>{thinking} · begins in {starts_in} · {state}</figcaption><pre tabindex=\"0\">{}</pre></figure>",
            if prompt.text.is_empty() { "<span class=\"cut\">empty</span>".to_owned() } else { block(&prompt.text) }
        );
    }
    out
}

/// The states of the parser.
pub(super) fn states(states: &[StateView]) -> String {
    let mut out = "<p class=\"lead\">The states of the parser. In each state the next marker, or the end of the value that is read, decides \
                   the next state.</p><div class=\"panel\">"
        .to_owned();
    for state in states {
        let reads = if state.reads.is_empty() { "markers only" } else { state.reads };
        let end = if state.may_end { " · the turn may end here" } else { "" };
        let _ = write!(
            out,
            "<div class=\"state\" id=\"state-{0}\"><h4 class=\"mono\">{0}<span>{reads}{end}</span></h4><ul>",
            inline(&state.name)
        );
        let link = |name: &str| format!("<a href=\"#state-{0}\"><code>{0}</code></a>", inline(name));
        for (marker, others) in state.grouped() {
            let mut notes = marker.does.clone();
            if !marker.confirmed_by.is_empty() {
                notes.push(format!("if {} follows", marker.confirmed_by.join(" or ")));
            }
            if marker.at_the_start {
                notes.push("only before text".to_owned());
            }
            if marker.at_the_end {
                notes.push("at the end of the output".to_owned());
            }
            notes.push(marker.key.to_owned());
            let _ = write!(
                out,
                "<li>{}{} → {} <span class=\"note\">{}</span></li>",
                value_text(&marker.text),
                if others == 0 { String::new() } else { format!(" and {others} more") },
                link(&marker.next),
                inline(&notes.join(" · "))
            );
        }
        if let Some(next) = &state.otherwise {
            let what = if state.reads.is_empty() { "anything else" } else { "at its end" };
            let does = inline(&state.otherwise_does.join(" · "));
            let _ = write!(
                out,
                "<li><span class=\"note\">{what}</span> → {} <span class=\"note\">{does}</span></li>",
                link(next)
            );
        }
        out.push_str("</ul></div>");
    }
    out.push_str("</div>");
    out
}

/// The grammar. `None` if there is none to show.
pub(super) fn grammar(explanation: &Explanation) -> Option<String> {
    let grammar = explanation.grammar.as_ref()?;
    let holds = if grammar.lazy {
        "It holds from a trigger on; text before the trigger is free."
    } else {
        "It holds for the whole turn."
    };
    let mut out = format!("<p class=\"lead\">A sampler can constrain the model to this grammar. {holds}</p>");
    if let Some(problem) = &grammar.problem {
        let _ = write!(out, "<p class=\"error\">{}</p>", inline(problem));
        return Some(out);
    }
    for trigger in &grammar.triggers {
        let _ = write!(out, "<p>Trigger ({}): {}</p>", inline(trigger.kind), value_text(&trigger.value));
    }
    for wider in &grammar.widened {
        let _ = write!(out, "<p class=\"note\">Not enforced: {}</p>", inline(wider));
    }
    if grammar.text.is_empty() {
        out.push_str("<p>There is nothing to constrain.</p>");
        return Some(out);
    }
    // Without the trailing line break, which a page would show as an empty line.
    let _ = write!(out, "<pre tabindex=\"0\">{}</pre>", escape(visible::lines(&grammar.text).trim_end()));
    Some(out)
}
