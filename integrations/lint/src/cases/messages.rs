//! What clients send in messages without calls. Each row changes a conversation that the template renders in one respect,
//! and says what must stay true.

use serde_json::{Value, json};
use unjinja_spec::ContentForm;

use super::super::conversation::{Conversation, words};
use super::super::experiment::Check;
use super::super::rules;
use super::case::Case;
use super::change::set;

/// In this order. The first case of a rule that does harm makes its finding.
pub(in super::super) const CASES: &[Case] = &[
    Case {
        rule: rules::EMPTY_TOOL_CALLS,
        base: |subject| Some(Conversation::of([subject.plain.user(), subject.plain.answer()])),
        change: |_, conversation| set(conversation, "assistant", "tool_calls", Value::Null),
        check: Check::Same,
        sent: "Clients that write every field send `\"tool_calls\": null` with a plain answer",
        help: "test `if message.tool_calls` and not `'tool_calls' in message` or `is defined`",
        may_refuse: false,
    },
    Case {
        rule: rules::EMPTY_TOOL_CALLS,
        base: |subject| Some(Conversation::of([subject.plain.user(), subject.plain.answer()])),
        change: |_, conversation| set(conversation, "assistant", "tool_calls", json!([])),
        check: Check::Same,
        sent: "Clients that write every field send `\"tool_calls\": []` with a plain answer",
        help: "test `if message.tool_calls` and not `'tool_calls' in message` or `is not none`",
        may_refuse: false,
    },
    Case {
        rule: rules::EMPTY_TOOLS,
        base: |subject| Some(Conversation::of([subject.plain.user()]).prompting()),
        change: |_, conversation| conversation.tools = Some(json!([])),
        check: Check::Same,
        sent: "Agents whose tools are all switched off send `\"tools\": []`",
        help: "test `if tools` and not `tools is defined` or `tools is not none`",
        may_refuse: false,
    },
    Case {
        rule: rules::EMPTY_TOOLS,
        base: |subject| Some(Conversation::of([subject.plain.user()]).prompting()),
        change: |_, conversation| conversation.tools = Some(Value::Null),
        check: Check::Same,
        sent: "Where there are no tools, transformers passes `tools` as `none`",
        help: "test `if tools` and not `tools is defined`",
        may_refuse: false,
    },
    Case {
        rule: rules::TYPED_CONTENT,
        base: |subject| {
            (subject.plain.needs.content == ContentForm::Text)
                .then(|| Conversation::of([subject.plain.user()]).prompting())
        },
        change: |_, conversation| set(conversation, "user", "content", json!([{"type": "text", "text": words::USER}])),
        check: Check::SameWords,
        sent: "Clients send content as a list of typed parts. Most servers join the parts first; where the template gets them",
        help: "loop over the parts `if message.content is not string`, and write `part.text`",
        may_refuse: true,
    },
    Case {
        rule: rules::PLAIN_CONTENT,
        base: |subject| {
            (subject.plain.needs.content == ContentForm::Parts)
                .then(|| Conversation::of([subject.plain.user()]).prompting())
        },
        change: |_, conversation| set(conversation, "user", "content", words::USER.into()),
        check: Check::SameWords,
        sent: "Most clients send content as a text. Some servers make a typed part of it first; where the template gets a text",
        help: "write `message.content` itself `if message.content is string`",
        may_refuse: true,
    },
    Case {
        rule: rules::SYSTEM_ROLE,
        base: |subject| Some(Conversation::of([subject.plain.user()]).prompting()),
        change: |subject, conversation| conversation.messages.insert(0, subject.plain.message("system", words::SYSTEM)),
        check: Check::AllThere,
        sent: "Most applications send a system message",
        help: "write it in a turn of its own, or before the text of the first user message",
        may_refuse: true,
    },
    Case {
        rule: rules::LATE_SYSTEM,
        base: |subject| {
            let manner = subject.plain;
            let leads = Conversation::of([manner.message("system", words::SYSTEM), manner.user()]).prompting();
            let shows = subject.text(&leads).is_ok_and(|text| text.contains(words::SYSTEM));
            shows.then(|| Conversation::of([manner.user(), manner.answer(), manner.message("user", words::USER2)]))
        },
        change: |subject, conversation| {
            let at = conversation.messages.len().saturating_sub(1);
            conversation.messages.insert(at, subject.plain.message("system", words::SYSTEM));
        },
        check: Check::AllThere,
        sent: "Agents put system messages between other messages, to remind the model of something",
        help: "write a system message at its place, as the first one is written",
        may_refuse: true,
    },
    Case {
        rule: rules::DEVELOPER_ROLE,
        base: |subject| {
            let manner = subject.plain;
            let leads = Conversation::of([manner.message("system", words::SYSTEM), manner.user()]).prompting();
            let shows = subject.text(&leads).is_ok_and(|text| text.contains(words::SYSTEM));
            shows.then_some(leads)
        },
        change: |_, conversation| set(conversation, "system", "role", "developer".into()),
        check: Check::NothingLost,
        sent: "Newer clients of the OpenAI API send the system prompt with the role `developer`",
        help: "treat `developer` like `system`",
        may_refuse: true,
    },
    Case {
        rule: rules::CONSECUTIVE_USERS,
        base: |subject| Some(Conversation::of([subject.plain.user()]).prompting()),
        change: |subject, conversation| conversation.messages.push(subject.plain.message("user", words::USER2)),
        check: Check::AllThere,
        sent: "After an answer that failed, clients send two user messages in a row",
        help: "write each user message in a turn of its own",
        may_refuse: true,
    },
    Case {
        rule: rules::NAME_FIELD,
        base: |subject| Some(Conversation::of([subject.plain.user()]).prompting()),
        change: |_, conversation| set(conversation, "user", "name", "ada".into()),
        check: Check::NothingLost,
        sent: "In conversations of several people, user messages have the field `name`",
        help: "ignore `name`, or write it next to the text",
        may_refuse: false,
    },
];
