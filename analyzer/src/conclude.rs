//! The conclusions: pure functions from what was observed to the parts of a spec, one file per part. Nothing here
//! renders.

use std::collections::BTreeMap;

use unjinja_runtime::abi::is_special_token;
use unjinja_spec::{
    Content, ContentMode, FormatSpec, MarkerKey, Reasoning, ReasoningMode, TemplateInfo, ToolFormat, Tools,
};

use crate::ask::{Observed, capabilities};
use crate::error::Gap;

mod answer;
mod calls;
mod frame;
mod opening;
mod prompt_end;
mod prompts;

pub(crate) use frame::Evidence;
use frame::Frame;
pub(crate) use prompt_end::{PromptEnd, is_in_header};

/// Concludes the format of the turn. Template, capabilities, tokens and evidence are left empty.
pub(crate) fn format(o: &Observed, evidence: Evidence) -> (FormatSpec, Vec<Gap>) {
    let opening = opening::opening(o, evidence);
    let answer = answer::answer(o, &opening);
    let mut reasoning = Reasoning { end: answer.reasoning_end.clone(), ..opening.reasoning.clone() };
    let mut content = answer.content.clone();
    let mut described = None;
    if reasoning.mode == ReasoningMode::None
        && content.mode == ContentMode::Plain
        && let Some((instructed, wrapper)) = prompts::instructed(o)
    {
        (reasoning, content) = (instructed, wrapper);
        described = Some(format!("{}…{}", reasoning.start, reasoning.end));
    }
    // A turn without reasoning may hold something else than an empty block.
    let other = answer.empty_reasoning.iter().find(|text| !text.contains(reasoning.start.trim()));
    reasoning.empty = other.cloned().unwrap_or_default();
    let (generation_prompt, switch) = prompts::prompts(o, &opening, &reasoning);
    reasoning.switch = switch;
    if let Some(turns) = &o.calls
        && content.mode == ContentMode::Plain
        && let Some((start, end)) = calls::around::wrapper_with_calls(turns, &opening.start, &reasoning)
    {
        content = Content { mode: ContentMode::WrappedWithCalls, start, end, ..content };
    }
    let (start, prompted_header, end) = (opening.start.clone(), opening.prompted_header.clone(), answer.end.clone());
    let frame = Frame { start, end, prompted_header, reasoning, content };
    let mut gaps = Vec::new();
    let (mut tools, mut alternatives) = (Tools::default(), BTreeMap::new());
    if let Some(turns) = &o.calls {
        match calls::calls(turns, &frame) {
            Ok(found) => tools = found,
            Err(gap) => gaps.push(gap),
        }
        if let Some((start, end)) = calls::around::frame_with_calls(turns, &frame, &tools) {
            for (key, text) in [(MarkerKey::ContentStart, start), (MarkerKey::ContentEnd, end)] {
                if !text.trim().is_empty() {
                    alternatives.insert(key, vec![text]);
                }
            }
        }
        // Turns with calls may end in another way than turns with an answer only.
        if let Some(end) = calls::end_after_answer(turns).filter(|end| *end != frame.end)
            && let Some(rest) = tools.section_end.strip_suffix(end)
        {
            tools.section_end.truncate(rest.len());
            alternatives.insert(MarkerKey::TurnEnd, vec![end.to_owned()]);
        }
    }
    let Frame { start, end, mut reasoning, mut content, .. } = frame;
    content.after_calls = o.calls.as_ref().is_some_and(calls::answer_after_calls);
    reasoning.ended_by_call = ended_by_call(&reasoning, &content, &tools);
    let reasons = reasoning.mode != ReasoningMode::None;
    let mut spec = FormatSpec::new(TemplateInfo::default());
    spec.turn = unjinja_spec::TurnMarkers {
        user_start: answer::user_start(o, &answer),
        user_end: prompts::user_end(o, &start, &reasoning),
        assistant_start: start,
        end,
    };
    spec.generation_prompt = generation_prompt;
    spec.reasoning = reasoning;
    spec.content = content;
    spec.tools = tools;
    spec.alternatives = alternatives;
    if reasons {
        for (open, end) in other_reasoning(o, &spec) {
            spec.alternatives.entry(MarkerKey::ReasoningStart).or_default().push(open);
            spec.alternatives.entry(MarkerKey::ReasoningEnd).or_default().push(end);
        }
    }
    spec.capabilities = capabilities(&o.abilities, o.calls.as_ref(), reasons);
    spec.messages = o.messages;
    spec.evidence.described.reasoning = described;
    (spec, gaps)
}

/// The tags around reasoning that none of the markers holds, and that the template takes away from past answers: its model may
/// write them as well.
fn other_reasoning(o: &Observed, spec: &FormatSpec) -> Vec<(String, String)> {
    let is_known = |tag: &str| spec.markers().any(|(_, text)| text.contains(tag));
    let usual = spec.reasoning.end.as_str();
    let removed = o.split.iter().filter(|split| split.is_removed(usual)).map(|split| split.tag.as_str());
    let pair = |end: &str| Some((crate::text::opening_tag(end)?, end.to_owned()));
    removed.filter(|end| !is_known(end)).filter_map(pair).collect()
}

/// Whether a call's opening marker ends reasoning that was not closed. It does where calls have a closing marker too, or open with a
/// special token: only then can a call be told from prose about calls. It does not where reasoning or an answer begins with it, too.
fn ended_by_call(reasoning: &Reasoning, content: &Content, tools: &Tools) -> bool {
    let opener = [&tools.section_start, &tools.per_call_start].into_iter().find(|m| !m.trim().is_empty());
    if opener.is_some_and(|m| [&reasoning.start, &content.start].iter().any(|other| other.trim().starts_with(m.trim())))
    {
        return false;
    }
    let closed = [&tools.section_end, &tools.per_call_end, &tools.function.close].iter().any(|m| !m.trim().is_empty());
    let is_token = opener.is_some_and(|marker| is_special_token(marker.trim().as_bytes()));
    let is_token = is_token && !reasoning.end.trim().is_empty();
    reasoning.mode != ReasoningMode::None && tools.format != ToolFormat::None && (closed || is_token)
}
