//! What a change of each key means for a parser that was built from the old spec.
//!
//! A key without a rule counts as breaking, so that no change is called harmless before someone has thought about it.
//! In doubt, a rule chooses the worse effect.

use crate::document::Value;
use crate::effect::Effect::{self, Breaking, Compatible, Informational};
use crate::marker::MarkerKey;
use crate::model::{ContentMode, FormatSpec, ReasoningMode, StartsIn, ToolFormat};
use crate::status::Status;
use crate::tag;

/// A change whose effect is asked for.
pub(crate) struct Case<'a> {
    /// The key.
    pub(crate) key: &'a str,
    /// Its old value.
    pub(crate) old: Option<&'a Value>,
    /// Its new value.
    pub(crate) new: Option<&'a Value>,
    /// The whole old spec.
    pub(crate) old_spec: &'a FormatSpec,
    /// The whole new spec.
    pub(crate) new_spec: &'a FormatSpec,
}

type Verdict = (Effect, String);

fn verdict(effect: Effect, why: &str) -> Verdict {
    (effect, why.to_owned())
}

/// The effect of a change, and why.
pub(crate) fn judge(case: &Case<'_>) -> Verdict {
    match by_key(case) {
        (Breaking, _) if !case.old_spec.status.makes_parser() => {
            verdict(Compatible, "no parser was made from the old spec, so none can break")
        }
        verdict => verdict,
    }
}

fn by_key(case: &Case<'_>) -> Verdict {
    let (table, name) = case.key.rsplit_once('.').unwrap_or(("", case.key));
    match (table, name) {
        ("", "spec_version") => verdict(Informational, "another version of the spec language"),
        ("", "status") => status(case),
        ("", "gaps") => verdict(Informational, "the sentences say what is missing; no parser reads them"),
        ("template", "name") => {
            verdict(Informational, "not part of the format; code that names the generated module has to follow")
        }
        ("template", "sha256") => {
            verdict(Informational, "another template text: a lookup by the text now finds the new spec")
        }
        ("template", "models") => {
            verdict(Informational, "it decides which models the parser is found for, not what the parser reads")
        }
        ("template", _) => verdict(Informational, "where the template comes from is not part of the format"),
        ("capabilities", _) => capability(case, name),
        ("messages" | "messages.functions", _) => verdict(
            Compatible,
            "how messages are handed to the template; prompts may change, what the parser reads does not",
        ),
        ("turn", "end") => turn_end(case),
        ("turn", _) => verdict(Informational, "it comes before the model's output, and parsers do not read it"),
        ("reasoning", _) => reasoning(case, name),
        ("content", _) => content(case, name),
        ("content.header", _) => header(case),
        ("tools" | "tools.function" | "tools.arguments" | "tools.call_id", _) => tools(case, name),
        ("tokens", "preserved") => preserved(case),
        ("tokens", "other") => verdict(
            Compatible,
            "what a model writes by mistake is read in another way; what it should write, as before",
        ),
        ("tokens", "bos" | "eos") => verdict(
            Informational,
            "what the tokenizer's token is called: where the format holds it, a change of the markers says so",
        ),
        ("evidence" | "evidence.round_trips" | "evidence.described", _) => evidence(case, name),
        _ if table.starts_with("generation_prompt[") => generation_prompt(case, table, name),
        _ if case.key.starts_with("alternatives") => alternatives(case),
        _ => no_rule(case),
    }
}

/// A new alternative is unknown to an old parser. A removed one does no harm.
fn alternatives(case: &Case<'_>) -> Verdict {
    let texts = |value: Option<&Value>| match value {
        Some(Value::Array(items)) => items.iter().map(|item| format!("{:?}", item.value)).collect(),
        Some(other) => vec![format!("{other:?}")],
        None => Vec::new(),
    };
    let old = texts(case.old);
    if texts(case.new).iter().all(|text| old.contains(text)) {
        verdict(Compatible, "an old parser reads more than is written now")
    } else {
        verdict(Breaking, "an old parser does not know the new alternative and takes it for text")
    }
}

fn no_rule(case: &Case<'_>) -> Verdict {
    match (text(case.old), text(case.new)) {
        (Some(old), Some(new)) if !old.is_empty() && !new.is_empty() => marker(old, new, WhiteSpace::Layout),
        _ => verdict(Breaking, "no rule says that an old parser can handle this change"),
    }
}

/// The string in a value; an absent key is an empty marker.
fn text(value: Option<&Value>) -> Option<&str> {
    match value {
        None => Some(""),
        Some(Value::String(text)) => Some(text),
        Some(_) => None,
    }
}

fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Boolean(true))
}

/// What a marker means that consists of white space only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhiteSpace {
    /// Layout, which a parser accepts but does not need.
    Layout,
    /// A delimiter: nothing else shows where the text before it ends.
    Delimiter,
}

/// A change of a marker. Parsers need its core and tolerate other white space around it.
fn marker(old: &str, new: &str, meaning: WhiteSpace) -> Verdict {
    let (old_core, new_core) = (old.trim(), new.trim());
    if old_core != new_core {
        return if old_core.is_empty() {
            verdict(Breaking, "an old parser does not know the new marker and takes it for text")
        } else if new_core.is_empty() {
            verdict(Breaking, "an old parser waits for a marker that no longer comes")
        } else {
            verdict(
                Breaking,
                "the marker itself changed: an old parser waits for the old one and takes the new one for text",
            )
        };
    }
    if old_core.is_empty() && meaning == WhiteSpace::Delimiter {
        return verdict(Breaking, "here the delimiter is white space only, and it changed");
    }
    verdict(
        Compatible,
        "only white space around the marker changed: parsers demand its core alone; \
         at most that white space shows up in the text next to it, a grammar writes the old layout",
    )
}

fn status(case: &Case<'_>) -> Verdict {
    match (case.old_spec.status, case.new_spec.status) {
        (Status::Unsupported, _) => verdict(Compatible, "no parser was made from the old spec, so none can break"),
        (_, Status::Unsupported) => {
            verdict(Breaking, "the spec language can no longer express the format, so an old parser reads another one")
        }
        (Status::Supported, Status::Partial) => {
            verdict(Breaking, "the template renders something that the spec lacks, and an old parser does not read it")
        }
        _ => verdict(Informational, "less is missing than before; what changed for a parser is listed key by key"),
    }
}

fn capability(case: &Case<'_>, name: &str) -> Verdict {
    let gained = is_true(case.new);
    match name {
        "parallel_tool_calls" if gained => verdict(
            Breaking,
            "turns may now hold more than one call; a parser built for one need not look for the next",
        ),
        "parallel_tool_calls" => verdict(Compatible, "a parser for several calls reads one"),
        "requires_nonnull_content" => verdict(
            Informational,
            "whether content may be null concerns who renders with the template, not what the model writes",
        ),
        "tool_calls" | "reasoning" => verdict(
            Informational,
            "a summary: what it means for a parser is said by the changes of the markers themselves",
        ),
        _ if gained => verdict(Informational, "the template accepts more than before; the model's output is the same"),
        _ => verdict(
            Informational,
            "the template takes less than before: who renders with it must follow, what the model writes is not concerned",
        ),
    }
}

fn turn_end(case: &Case<'_>) -> Verdict {
    match (text(case.old), text(case.new)) {
        (Some(_), Some(new)) if new.trim().is_empty() => {
            verdict(Compatible, "an old parser removes an end of turn that no longer comes")
        }
        (Some(old), Some(new)) if old.trim() != new.trim() => {
            verdict(Breaking, "an old parser leaves the new end of turn in the content")
        }
        _ => verdict(Compatible, "only white space around the end of turn changed"),
    }
}

/// Where a parser begins for a value of the thinking switch.
fn starts_in(spec: &FormatSpec, thinking: Option<bool>) -> StartsIn {
    let prompts = &spec.generation_prompt;
    let exact = prompts.iter().find(|prompt| prompt.thinking == thinking);
    let unset = prompts.iter().find(|prompt| prompt.thinking.is_none());
    exact.or(unset).or(prompts.first()).map_or(StartsIn::Content, |prompt| prompt.starts_in)
}

fn generation_prompt(case: &Case<'_>, table: &str, name: &str) -> Verdict {
    let thinking = if table.contains("thinking=true") {
        Some(true)
    } else if table.contains("thinking=false") {
        Some(false)
    } else {
        None
    };
    let same_start = starts_in(case.old_spec, thinking) == starts_in(case.new_spec, thinking);
    match (name, case.old.is_some(), case.new.is_some()) {
        ("text" | "starts_in", _, _) if !same_start => {
            verdict(Breaking, "the model's output begins in another channel than an old parser does")
        }
        ("text" | "starts_in", false, true) => {
            verdict(Compatible, "a new prompt; the output after it begins where an old parser begins")
        }
        ("text" | "starts_in", true, false) => {
            verdict(Compatible, "the prompt is gone; where the output begins for this switch stays the same")
        }
        ("text", _, _) => verdict(
            Compatible,
            "the output begins in the same channel; only who tells the parser the end of the prompt meets the new text",
        ),
        ("starts_in", _, _) => {
            verdict(Breaking, "the model's output begins in another channel than an old parser does")
        }
        _ => no_rule(case),
    }
}

fn reasoning(case: &Case<'_>, name: &str) -> Verdict {
    let (old, new) = (&case.old_spec.reasoning, &case.new_spec.reasoning);
    match name {
        "field" => {
            return verdict(Informational, "the field of the message that the template reads is not in the output");
        }
        "switch" => {
            return verdict(Informational, "the variable that switches thinking is not in the output");
        }
        _ => {}
    }
    if new.mode == ReasoningMode::None {
        return if old.start.is_empty() {
            verdict(Breaking, "there is no reasoning any more, but an old parser may take text without markers for it")
        } else {
            verdict(Compatible, "there is no reasoning any more: an old parser looks for markers that never come")
        };
    }
    match (name, text(case.old), text(case.new)) {
        ("mode", _, _) if old.mode == ReasoningMode::None => {
            verdict(Breaking, "an old parser delivers the new reasoning as content")
        }
        ("mode", _, _) => verdict(Compatible, "the markers are the same; only the past turns that show them differ"),
        ("start", Some(old), Some(new)) if old.trim().is_empty() != new.trim().is_empty() => {
            verdict(Breaking, "reasoning is marked at both ends in one spec and only at its end in the other")
        }
        ("start" | "end" | "empty", Some(old), Some(new)) => marker(old, new, WhiteSpace::Layout),
        ("ended_by_call", _, _) if is_true(case.new) => {
            verdict(Breaking, "an old parser keeps a call in unclosed reasoning as reasoning")
        }
        ("ended_by_call", _, _) => {
            verdict(Breaking, "an old parser takes a call that is quoted in reasoning for a call")
        }
        _ => no_rule(case),
    }
}

fn content(case: &Case<'_>, name: &str) -> Verdict {
    let new = &case.new_spec.content;
    if name == "after_calls" {
        return verdict(Compatible, "parsers read text in any order; only grammars depend on it");
    }
    if name == "label" {
        return match (text(case.old), text(case.new)) {
            (Some(old), Some(new)) => marker(old, new, WhiteSpace::Layout),
            _ => no_rule(case),
        };
    }
    if new.mode == ContentMode::Plain {
        return verdict(Compatible, "answers have no markers any more; an old parser reads such text as content too");
    }
    match (name, text(case.old), text(case.new)) {
        ("mode", _, _)
            if matches!(new.mode, ContentMode::WrappedWithReasoning | ContentMode::WrappedWithCalls)
                && case.old_spec.content.mode != ContentMode::Plain =>
        {
            verdict(Compatible, "fewer answers have markers; an old parser reads text without them as content too")
        }
        ("mode", _, _) => verdict(Breaking, "an old parser leaves the markers of some answers in the content"),
        ("start" | "end" | "empty", Some(old), Some(new)) => marker(old, new, WhiteSpace::Layout),
        _ => no_rule(case),
    }
}

/// The parts of a header add to what a parser reads: it reads more than the template writes.
fn header(case: &Case<'_>) -> Verdict {
    let part = |value: Option<&Value>| match value {
        Some(Value::Array(_)) => strings(value).into_iter().map(str::to_owned).collect(),
        other => text(other).filter(|text| !text.is_empty()).map(str::to_owned).into_iter().collect::<Vec<String>>(),
    };
    let (old, new) = (part(case.old), part(case.new));
    if new.iter().all(|text| old.contains(text)) {
        verdict(Compatible, "an old parser reads more headers than are written now")
    } else {
        verdict(Breaking, "an old parser does not know the new part of a header and takes it for text")
    }
}

fn tools(case: &Case<'_>, name: &str) -> Verdict {
    let (old_format, new_format) = (case.old_spec.tools.format, case.new_spec.tools.format);
    if old_format == ToolFormat::None {
        // All old turns read as before, but that is not the question: from now on the model writes calls, and an old
        // parser delivers them as content.
        return verdict(Breaking, "the model now writes calls, and an old parser shows them to the user as content");
    }
    if new_format == ToolFormat::None {
        return verdict(Compatible, "no calls come any more: an old parser looks for markers that never come");
    }
    if case.key == "tools.format" {
        return verdict(Breaking, "calls are written in another way");
    }
    match (case.key, name) {
        ("tools.parameter_order", _) => verdict(
            Compatible,
            "parsers read the keys in any order; a grammar built from the old spec writes the old one",
        ),
        ("tools.id_field" | "tools.gen_id_field", _) if case.new.is_none() => {
            verdict(Compatible, "calls come without an id now, which an old parser accepts")
        }
        ("tools.id_field" | "tools.gen_id_field", _) => {
            verdict(Breaking, "an old parser looks for a call's id under another key")
        }
        ("tools.function_field" | "tools.name_field" | "tools.args_field", _) => {
            verdict(Breaking, "an old parser looks for name or arguments under another key")
        }
        ("tools.fun_name_is_key" | "tools.tools_array_wrapped", _) => {
            verdict(Breaking, "the JSON of a call has another shape")
        }
        ("tools.argument_order", _) => verdict(
            Compatible,
            "parsers read arguments in any order; a grammar built from the old spec writes the old one",
        ),
        ("tools.args_as_text", _) => verdict(Compatible, "parsers read arguments in both forms; only grammars differ"),
        ("tools.arguments.nested" | "tools.arguments.item", _) => {
            verdict(Breaking, "objects and lists are written in another way")
        }
        ("tools.arguments.cdata", _) if is_true(case.new) => {
            verdict(Breaking, "an old parser leaves the brackets of CDATA in the value")
        }
        ("tools.arguments.cdata", _) => verdict(Compatible, "an old parser looks for brackets that never come"),
        ("tools.uses_python_dicts", _) => verdict(Breaking, "values are written in another notation"),
        ("tools.call_id.position", _) => verdict(Breaking, "a call's id is written in another place"),
        _ => match (text(case.old), text(case.new)) {
            (Some(old), Some(new)) => marker(old, new, white_space_at(name)),
            _ => no_rule(case),
        },
    }
}

/// What a tool marker of white space only means.
fn white_space_at(name: &str) -> WhiteSpace {
    match name {
        "name_suffix" | "value_suffix" | "type_suffix" | "close_suffix" | "suffix" => WhiteSpace::Delimiter,
        _ => WhiteSpace::Layout,
    }
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(|item| text(Some(&item.value))).collect(),
        _ => Vec::new(),
    }
}

fn preserved(case: &Case<'_>) -> Verdict {
    let (old, new) = (strings(case.old), strings(case.new));
    let added: Vec<&str> = new.into_iter().filter(|token| !old.contains(token)).collect();
    if added.is_empty() {
        return verdict(Compatible, "the old list holds every token that must be kept");
    }
    let needed: Vec<String> =
        added.into_iter().filter(|token| !only_in_turn(case.new_spec, token)).map(crate::text::quote).collect();
    if needed.is_empty() {
        return verdict(Compatible, "the added tokens only begin or end a turn; a message reads the same without them");
    }
    let why =
        format!("an engine that was told the old list drops {}, which the parser needs to see", needed.join(", "));
    (Breaking, why)
}

/// Whether a token is a tag of the markers around a turn and of no other marker.
fn only_in_turn(spec: &FormatSpec, token: &str) -> bool {
    let around_turn = |key| matches!(key, MarkerKey::AssistantStart | MarkerKey::TurnEnd);
    let mut holders = spec.markers().filter(|(_, text)| tag::tags(text).contains(&token)).peekable();
    holders.peek().is_some() && holders.all(|(key, _)| around_turn(key) || key == MarkerKey::UserStart)
}

fn evidence(case: &Case<'_>, name: &str) -> Verdict {
    let rate = |spec: &FormatSpec| {
        let trips = spec.evidence.round_trips;
        (u64::from(trips.held), u64::from(trips.tried))
    };
    let ((old_held, old_tried), (new_held, new_tried)) = (rate(case.old_spec), rate(case.new_spec));
    if name == "held" && new_held * old_tried < old_held * new_tried {
        return verdict(Informational, "fewer round trips held than before: run `unjinja verify` to see which");
    }
    verdict(Informational, "the evidence of the analysis is not part of the format")
}
