//! Headers with a recipient: their parts, in whatever order a model writes them.

use unjinja::DiagnosticKind;
use unjinja::testing::json;

use super::{headers, namespaces, reads, writes};
use crate::support::Failure;

#[test]
fn a_recipient_is_one_only_in_a_header() -> Result<(), Failure> {
    let parsers = headers::parsers()?;
    for text in ["Write to=find there.", "Write to=find", "It goes to=find\nor to=find code", "x to=find {\"city\": 1}"]
    {
        for end in ["", "<|done|>"] {
            reads(&parsers, &format!("<|channel|>answer<|text|>{text}{end}"), |case| case.content(text))?;
            let thought = format!("<|channel|>thoughts<|text|>{text}<|done|><|begin|>");
            reads(&parsers, &format!("{thought}<|channel|>answer<|text|>Hi{end}"), |case| {
                case.reasoning(text).content("Hi")
            })?;
        }
        reads(&parsers, text, |case| case.content(text))?;
    }
    // Also where the text of a message begins with it.
    for text in ["to=find is the header.", " to=find", "\n to=find {\"city\": 1}"] {
        reads(&parsers, &format!("<|channel|>answer<|text|>{text}"), |case| case.content(text))?;
        let thought = format!("<|channel|>thoughts<|text|>{text}<|done|><|begin|>");
        reads(&parsers, &format!("{thought}<|channel|>answer<|text|>{text}"), |case| {
            case.reasoning(text).content(text)
        })?;
    }
    Ok(())
}

#[test]
fn the_parts_of_a_header_come_in_any_order() -> Result<(), Failure> {
    let parsers = headers::parsers()?;
    writes(&parsers, " to=find<|channel|>aside<|text|>{\"city\": \"x\"}<|call|>", |case| {
        case.call("find", json!({"city": "x"}))
    })?;
    for header in [
        "<|channel|>aside to=find<|text|>",
        "<|channel|>aside to=find <|type|>json<|text|>",
        " to=find<|channel|>aside <|type|>json<|text|>",
        " to=find<|text|>",
        // No template writes these words.
        "<|channel|>aside to=find code<|text|>",
        "<|channel|>aside to=find<|type|>JSON<|text|>",
        "<|channel|>aside to=find <|type|>code<|text|>",
    ] {
        reads(&parsers, &format!("{header}{{\"city\": \"x\"}}<|call|>"), |case| {
            case.call("find", json!({"city": "x"}))
        })?;
        let thought = "<|channel|>thoughts<|text|>Hm.<|done|><|begin|>";
        reads(&parsers, &format!("{thought}{header}{{\"city\": \"x\"}}<|call|>"), |case| {
            case.reasoning("Hm.").call("find", json!({"city": "x"}))
        })?;
    }
    // A header that another one interrupts is broken markup.
    reads(&parsers, "<|channel|>aside to=find<|channel|>answer<|text|>Hi.", |case| {
        case.content("<|channel|>aside to=findHi.").diagnostic(DiagnosticKind::AbandonedCall)
    })?;
    reads(&parsers, "<|channel|>aside<|text|>One<|done|><|begin|><|channel|>answer <|type|>json<|text|>{}", |case| {
        case.content("One{}")
    })?;
    // What ends the last message ends the turn, so another header after it is text after the end.
    let more = "<|final|><|begin|><|channel|>aside to=find<|text|>{}<|call|>";
    reads(&parsers, &format!("<|channel|>answer<|text|>Hi.{more}"), |case| {
        case.content(format!("Hi.{more}")).diagnostic(DiagnosticKind::AfterEnd)
    })
}

#[test]
fn a_recipient_without_its_namespace_is_an_offered_tool() -> Result<(), Failure> {
    let parsers = namespaces::parsers()?;
    for header in ["<|channel|>aside to=functions.find<|text|>", "<|channel|>aside to=find<|text|>"] {
        reads(&parsers, &format!("{header}{{\"city\": \"x\"}}<|call|>"), |case| {
            case.call("find", json!({"city": "x"}))
        })?;
    }
    let other = "<|channel|>aside to=other<|text|>{\"city\": \"x\"}<|call|>";
    reads(&parsers, other, |case| case.content(other).diagnostic(DiagnosticKind::UnknownTool))
}

#[test]
fn a_message_with_another_channel_or_sender_is_no_text() -> Result<(), Failure> {
    let parsers = namespaces::parsers()?;
    let arguments = "{\"city\": \"x\"}<|call|>";
    for header in [
        // The channel is not known, blanks come twice, or the recipient comes first.
        "<|channel|>side to=functions.find<|text|>",
        "<|channel|>side  to=find <|type|>code<|text|>",
        "<|channel|>aside  to=functions.find<|text|>",
        " to=find<|channel|>aside<|text|>",
        "to=find<|channel|>side code<|text|>",
        "to=find<|text|>",
    ] {
        reads(&parsers, &format!("{header}{arguments}"), |case| case.call("find", json!({"city": "x"})))?;
    }
    // The channel of the answer has no recipient, and a header of which only the end is left is that of an answer.
    for header in [" to=user<|channel|>answer<|text|>", "<|channel|>answer to=user<|text|>"] {
        let message = format!("{header}Hello.");
        reads(&parsers, &message, |case| case.content(&message).diagnostic(DiagnosticKind::SpecialToken))?;
    }
    reads(&parsers, "<|text|>Hello <|text|>.", |case| case.content("Hello <|text|>."))?;
    reads(&parsers, &format!("<|channel|>aside to=functions.find {arguments}"), |case| {
        case.call("find", json!({"city": "x"}))
    })?;
    // Nobody can receive these, however long they are.
    let long = "print(1)\n".repeat(80);
    for header in [
        " to=other<|channel|>side code<|text|>",
        "<|channel|>side to=other<|text|>",
        "<|channel|>aside to=user<|text|>",
        "<|begin|>find to=me<|text|>",
    ] {
        let message = format!("{header}{long}<|call|>");
        reads(&parsers, &message, |case| case.content(&message).diagnostic(DiagnosticKind::UnknownTool))?;
    }
    // Without a recipient, the header alone is broken markup.
    for header in ["<|channel|>side<|text|>", "<|channel|>side code<|text|>", "<|channel|>side <|type|>code<|text|>"] {
        let message = format!("{header}Hello.");
        reads(&parsers, &message, |case| case.content(&message).diagnostic(DiagnosticKind::SpecialToken))?;
    }
    // Words are no header.
    reads(&parsers, "to=find is a parameter.", |case| case.content("to=find is a parameter."))
}
