//! What clients send with calls and results. Each row changes a conversation that the template renders in one respect,
//! and says what must stay true.

use serde_json::{Value, json};
use unjinja_spec::{ArgumentsForm, CallIdForm, ContentForm, EmptyContent};

use super::super::conversation::{Conversation, id, words};
use super::super::experiment::Check;
use super::super::rules;
use super::super::subject::is_python;
use super::case::Case;
use super::change::{calls, remove, set, set_ids, with_result};

/// In this order. The first case of a rule that does harm makes its finding.
pub(in super::super) const CASES: &[Case] = &[
    Case {
        rule: rules::NULL_CONTENT,
        base: |subject| {
            let manner = subject.calls.filter(|manner| manner.needs.content_of_calls == EmptyContent::Empty)?;
            Some(Conversation::of([subject.plain.user(), manner.call()]).with_tools())
        },
        change: |_, conversation| set(conversation, "assistant", "content", Value::Null),
        check: Check::AsOften,
        sent: "The OpenAI API returns `\"content\": null` with calls, and agents send it back",
        help: "write the content only `if message.content`, and test for `none` before string operations",
        may_refuse: false,
    },
    Case {
        rule: rules::MISSING_CONTENT,
        base: |subject| {
            let manner = subject.calls?.with_empty(EmptyContent::Null);
            Some(Conversation::of([subject.plain.user(), manner.call()]).with_tools())
        },
        change: |_, conversation| remove(conversation, "assistant", "content"),
        check: Check::AsOften,
        sent: "Many clients leave out the key `content` with calls",
        help: "read `message.content` only if it is defined and not none",
        may_refuse: false,
    },
    Case {
        rule: rules::OBJECT_ARGUMENTS,
        base: |subject| {
            let manner = subject.calls.filter(|manner| manner.needs.arguments == ArgumentsForm::Text)?;
            Some(Conversation::of([subject.plain.user(), manner.call()]).with_tools())
        },
        change: |_, conversation| {
            for call in calls(conversation) {
                if let Some(object) = call["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok()) {
                    call["arguments"] = object;
                }
            }
        },
        check: Check::AsOften,
        sent: "Servers and training code hand over `arguments` as an object",
        help: "write `arguments if arguments is string else arguments | tojson`",
        may_refuse: false,
    },
    Case {
        rule: rules::TEXT_ARGUMENTS,
        base: |subject| {
            let manner = subject.calls.filter(|manner| manner.needs.arguments == ArgumentsForm::Object)?;
            let base = Conversation::of([subject.plain.user(), manner.call()]).with_tools();
            let prints_python = subject.labelled(&base)?.values_at("messages[1].tool_calls").any(|(f, _)| is_python(f));
            (!prints_python).then_some(base)
        },
        change: |_, conversation| {
            for call in calls(conversation) {
                call["arguments"] = call["arguments"].to_string().into();
            }
        },
        check: Check::SameWords,
        sent: "In the OpenAI API `arguments` is JSON text, and not every program makes an object of it before it renders",
        help: "write `arguments if arguments is string else arguments | tojson`, or refuse text with a clear message",
        may_refuse: true,
    },
    Case {
        rule: rules::EMPTY_ARGUMENTS,
        base: |subject| Some(Conversation::of([subject.plain.user(), subject.calls?.call()]).with_tools()),
        change: |_, conversation| {
            for call in calls(conversation) {
                call["arguments"] = if call["arguments"].is_string() { "{}".into() } else { json!({}) };
            }
        },
        check: Check::AsOften,
        sent: "Functions without parameters are called with no arguments",
        help: "do not take an empty object for a missing one",
        may_refuse: false,
    },
    Case {
        rule: rules::TYPED_RESULT,
        base: |subject| {
            let (user, calls) = (Conversation::of([subject.plain.user()]).prompting(), subject.calls?);
            let typed =
                |c: &mut Conversation| set(c, "user", "content", json!([{"type": "text", "text": words::USER}]));
            let takes_parts = calls.needs.content == ContentForm::Text
                && subject.experiment(&user, &typed, Check::SameWords).is_none();
            takes_parts.then(|| with_result(subject, calls))
        },
        change: |_, conversation| {
            set(conversation, "tool", "content", json!([{"type": "text", "text": words::RESULT}]))
        },
        check: Check::SameWords,
        sent: "Agents send tool results as a list of typed parts, as MCP returns them",
        help: "treat the content of a `tool` message like that of a `user` message",
        may_refuse: false,
    },
    Case {
        rule: rules::TOOLS_ONCE,
        base: |subject| Some(with_result(subject, subject.calls?)),
        change: |_, conversation| conversation.tools = None,
        check: Check::NothingLost,
        sent: "Clients that ask for a summary of a finished conversation do not send `tools` again",
        help: "write calls and results whether or not `tools` is set",
        may_refuse: false,
    },
    Case {
        rule: rules::REASONING_ALONE,
        base: |subject| {
            let manner = subject.calls?.with_empty(EmptyContent::Empty);
            let mut base = Conversation::of([subject.plain.user(), manner.call()]).with_tools();
            set(&mut base, "assistant", subject.reasoning_field()?, words::REASONING.into());
            base.variables = subject.reasoning_on();
            Some(base)
        },
        change: |_, conversation| set(conversation, "assistant", "content", Value::Null),
        check: Check::NothingLost,
        sent: "A turn with reasoning and calls has `\"content\": null`",
        help: "write the content only `if message.content`",
        may_refuse: false,
    },
    Case {
        rule: rules::REASONING_ALONE,
        base: |subject| {
            let mut base = Conversation::of([subject.plain.user(), subject.plain.message("assistant", "")]);
            set(&mut base, "assistant", subject.reasoning_field()?, words::REASONING.into());
            base.variables = subject.reasoning_on();
            Some(base)
        },
        change: |_, conversation| set(conversation, "assistant", "content", Value::Null),
        check: Check::NothingLost,
        sent: "An answer that was cut off while the model reasoned has reasoning and `\"content\": null`",
        help: "write the content only `if message.content`",
        may_refuse: false,
    },
    Case {
        rule: rules::TOOL_RESULTS,
        base: |subject| {
            let manner = subject.calls?;
            let one = Conversation::of([subject.plain.user(), manner.two_calls(), manner.result(0)]).with_tools();
            subject.text(&one).is_ok_and(|text| text.contains(words::RESULT)).then_some(one)
        },
        change: |subject, conversation| conversation.messages.extend(subject.calls.map(|manner| manner.result(1))),
        check: Check::AllThere,
        sent: "After two calls in a turn, two `tool` messages follow each other",
        help: "write each `tool` message, whatever the role of the message before it",
        may_refuse: false,
    },
    Case {
        rule: rules::RESULT_NAME,
        base: |subject| Some(with_result(subject, subject.calls?)),
        change: |_, conversation| remove(conversation, "tool", "name"),
        check: Check::AsOften,
        sent: "A `tool` message of the OpenAI API has `tool_call_id` and no `name`",
        help: "look the name up: search the calls of earlier messages for the id `message.tool_call_id`",
        may_refuse: false,
    },
    Case {
        rule: rules::CALL_ID,
        base: |subject| {
            let manner = subject.calls.filter(|manner| manner.needs.ids != CallIdForm::Any)?;
            Some(with_result(subject, manner))
        },
        change: |_, conversation| {
            set_ids(conversation);
            set(conversation, "tool", "tool_call_id", id(0).into());
        },
        check: Check::NothingLost,
        sent: "Servers make call ids like `call_` and 24 letters and digits, and clients send them back",
        help: "accept any id, and take the function's name from `function.name`",
        may_refuse: false,
    },
    Case {
        rule: rules::SEVERAL_CALLS,
        base: |subject| Some(Conversation::of([subject.plain.user(), subject.calls?.call()]).with_tools()),
        change: |subject, conversation| {
            if let Some(manner) = subject.calls {
                let two = manner.two_calls();
                conversation.messages.pop();
                conversation.messages.push(two);
            }
        },
        check: Check::AllThere,
        sent: "A model may make two calls in a turn, and agents send both back",
        help: "write all calls of a turn in a loop over `message.tool_calls`",
        may_refuse: true,
    },
];
