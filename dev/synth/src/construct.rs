//! The less common constructs of a drawn spec, so that a run can say how often each was drawn and came back.

use unjinja_spec::{REPEATED_NAME, ReasoningMode, ToolFormat};

use crate::behaviour::Messages;
use crate::draw::Drawn;

/// The names of the constructs in a drawn spec.
pub fn constructs(drawn: &Drawn) -> Vec<&'static str> {
    let (spec, behaviour) = (&drawn.spec, &drawn.behaviour);
    let (tools, reasoning) = (&spec.tools, &spec.reasoning);
    let arguments = &tools.arguments;
    let is_tag =
        tools.function.close.contains(REPEATED_NAME) && tools.function.name_prefix.ends_with(['<', '|', '｜', ':']);
    let word = arguments.nested && !arguments.name_prefix.ends_with('<');
    [
        ("answer after calls", spec.content.after_calls),
        ("item", !arguments.item.is_empty()),
        ("label", !spec.content.label.is_empty()),
        ("label, reasoning", !spec.content.label.is_empty() && reasoning.mode != ReasoningMode::None),
        ("messages by role", behaviour.messages == Messages::ByRole),
        ("messages by channel", behaviour.messages == Messages::ByChannel),
        ("messages in lines", behaviour.messages == Messages::InLines),
        ("messages to", behaviour.messages == Messages::Addressed),
        ("name again in close", tools.function.close.contains(REPEATED_NAME)),
        ("name again in suffix", tools.function.name_suffix.contains(REPEATED_NAME)),
        ("name is tag", is_tag),
        ("nested", arguments.nested),
        ("nested with word", word),
        ("open reasoning", reasoning.mode != ReasoningMode::None && reasoning.end.is_empty()),
        ("token before tags", tools.format != ToolFormat::None && !behaviour.before_tags.is_empty()),
    ]
    .into_iter()
    .filter_map(|(name, is_there)| is_there.then_some(name))
    .collect()
}
