//! Whole conversations, read back from their text and from their ids, for templates of the corpus.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use unjinja_dynamic::{Clock, Conversation, Loader, Model};
use unjinja_spec::{FormatSpec, tags};
use unjinja_testkit::random::Random;
use unjinja_testkit::turns::sampled_specs;
use unjinja_testkit::{corpus, whole};
use unjinja_tokens::{ConversationReader, Encoder, ReadConversation};

use crate::Failure;
use crate::byte_level::of_bytes;

/// How conversations go on: a letter for each message, as in `conversation`.
const COURSES: [&str; 10] = ["u", "sua", "ura", "uaua", "suaua", "ucta", "sucta", "udtta", "uctcta", "suctrua"];

/// How conversations were read.
#[derive(Debug, Default)]
struct Readings {
    templates: usize,
    /// The messages that were written.
    same: usize,
    /// Others, and those that were written are among the alternatives.
    listed: usize,
    /// Others, for which the template writes the same text: it does not write all of a conversation.
    lost: usize,
    /// Others, and the reader says that the template does not write this text for them.
    differing: usize,
    /// Others, and nothing was said.
    wrong: Vec<String>,
    /// Examples of what is not the same.
    examples: Vec<String>,
}

impl Readings {
    fn add(&mut self, other: Self) {
        self.templates += other.templates;
        self.same += other.same;
        self.listed += other.listed;
        self.lost += other.lost;
        self.differing += other.differing;
        self.wrong.extend(other.wrong);
        self.examples.extend(other.examples);
    }

    fn judge(&mut self, model: &Model, conversation: &Conversation, text: &str, read: &ReadConversation) {
        let is_written = |value: &str| {
            let json = Value::from(value).to_string();
            text.contains(value) || text.contains(json.trim_matches('"'))
        };
        let mut expected: Vec<Value> = conversation.messages().iter().map(compared).collect();
        for message in &mut expected {
            let place = message[3][0][1]["place"].as_str().unwrap_or_default();
            if !is_written(message[1].as_str().unwrap_or_default()) || !is_written(place) {
                // The template does not write this conversation.
                return;
            }
            if !is_written(message[2].as_str().unwrap_or_default()) {
                message[2] = "".into();
            }
        }
        let found: Vec<Value> = read.messages.iter().map(|message| compared(&message.message)).collect();
        if found == expected {
            self.same += 1;
            return;
        }
        let is_listed = read.alternatives.iter().any(|alternative| {
            let mut other = found.clone();
            other.splice(alternative.replaces.clone(), alternative.messages.iter().map(compared));
            other == expected
        });
        if is_listed {
            self.listed += 1;
            return;
        }
        let kind = if read.difference.is_some() {
            self.differing += 1;
            "differing"
        } else {
            let again: Vec<Value> = read.messages.iter().map(|message| message.message.clone()).collect();
            let open_turn =
                read.open_turn && read.messages.last().is_none_or(|last| last.message["role"] != "assistant");
            let again = Conversation::new(again).tools(read.tools.clone()).generation_prompt(open_turn);
            let again = model.render(&again);
            if again.is_ok_and(|again| again.trim_end() == text.trim_end()) {
                self.lost += 1;
                "lost"
            } else {
                let wrong = format!("{text:?}: {}", json!(found));
                self.wrong.push(wrong);
                "wrong"
            }
        };
        if self.examples.len() < 2 {
            self.examples.push(format!(
                "{kind} at {:?}, unread {:?}: {text:?}\n    expected {}\n    found {}",
                read.difference,
                read.unread,
                json!(expected),
                json!(found)
            ));
        }
    }
}

#[test]
fn conversations_are_read_back() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let specs: Vec<_> = sampled_specs(&corpus, 24)?.into_iter().collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new((Readings::default(), Readings::default())));
    let work = || {
        while let Some(((folder, file), (source, spec))) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(spec) = spec else { continue };
            let place = format!("{folder}/{file}");
            let (texts, ids) = try_template(source, spec).unwrap_or_else(|error| {
                (Readings { wrong: vec![error.to_string()], ..Readings::default() }, Readings::default())
            });
            for example in texts.examples.iter().chain(&ids.examples) {
                println!("{place}: {example}");
            }
            if let Ok(mut total) = total.lock() {
                total.0.add(texts);
                total.1.add(ids);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (texts, ids) = total.into_inner()?;
    for (name, readings) in [("texts", &texts), ("ids", &ids)] {
        let Readings { templates, same, listed, lost, differing, wrong, .. } = readings;
        println!(
            "{name}, {templates} templates: {same} the same, {listed} listed, {lost} lost, {differing} differing, {} wrong",
            wrong.len()
        );
        assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(8)].join("\n"));
        let all = same + listed + lost + differing;
        assert!(*templates > if whole() { 250 } else { 12 } && all > 10 * templates, "{templates}, {all}");
        assert!(100 * (same + listed) > 85 * all, "{same} and {listed} of {all}");
    }
    Ok(())
}

fn try_template(source: &str, spec: &FormatSpec) -> Result<(Readings, Readings), Failure> {
    let model = Loader::new().committed_spec(spec.clone()).without_known_formats().from_template(source)?;
    let markers = spec.tokens.preserved.iter().chain(&spec.tokens.other).map(String::as_str);
    let tokens: BTreeSet<&str> = tags(source).into_iter().chain(markers).filter(|tag| !tag.is_empty()).collect();
    let added: Vec<_> = tokens.iter().map(|tag| ((*tag).to_owned(), true)).collect();
    let vocabulary = of_bytes(&added)?;
    let encoder = Encoder::new(model.clone(), vocabulary.again()?);
    let (of_texts, of_ids) = (ConversationReader::new(&model), encoder.conversation_reader());
    let mut random = Random::new(36);
    let (mut texts, mut ids) = (Readings::default(), Readings::default());
    (texts.templates, ids.templates) = (1, 1);
    for course in COURSES {
        for _ in 0..2 {
            let plain = conversation(course, None, &mut random);
            // What the template refuses is no transcript.
            let Ok(text) = model.render(&plain) else { continue };
            texts.judge(&model, &plain, &text, &of_texts.read(&text));
            let spelled = tokens.iter().nth(random.below(tokens.len().max(1)));
            let spelling = conversation(course, spelled.copied(), &mut random);
            let Ok(encoded) = encoder.encode(&spelling) else { continue };
            let read = of_ids.read_ids(encoded.ids()).ok_or("no vocabulary")?;
            ids.judge(&model, &spelling, encoded.text(), &read);
        }
    }
    Ok((texts, ids))
}

/// A conversation of random texts; a user's text spells a token.
fn conversation(course: &str, spelled: Option<&str>, random: &mut Random) -> Conversation {
    let mut count = 0;
    let mut text = || {
        count += 1;
        let plain = random.text().replace(['<', '>', '[', ']', '|', '{', '}'], "");
        format!("A{count} {} z.", plain.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let mut open = Vec::new();
    let messages = course.chars().enumerate().map(|(index, letter)| {
        let mut calls = |count: usize, place: &str| {
            let calls = (0..count).map(|at| {
                let id = format!("call0{index:03}{at}");
                open.push(id.clone());
                json!({"type": "function", "id": id, "function": {"name": "look_up", "arguments": {"place": place, "days": 3}}})
            });
            let calls: Vec<Value> = calls.collect();
            json!({"role": "assistant", "content": "", "tool_calls": calls})
        };
        match letter {
            's' => json!({"role": "system", "content": text()}),
            'u' => json!({"role": "user", "content": format!("{}{}", text(), spelled.unwrap_or_default())}),
            'a' => json!({"role": "assistant", "content": text()}),
            'r' => json!({"role": "assistant", "content": text(), "reasoning_content": text()}),
            'c' => calls(1, &text()),
            'd' => calls(2, &text()),
            _ => json!({"role": "tool", "name": "look_up", "tool_call_id": open.remove(0), "content": text()}),
        }
    });
    let messages: Vec<Value> = messages.collect();
    let has_calls = course.contains(['c', 'd']);
    let last_is_turn = course.ends_with(['a', 'r', 'c', 'd']);
    let conversation = Conversation::new(messages).generation_prompt(!last_is_turn);
    if !has_calls {
        return conversation;
    }
    let days = json!({"type": "integer", "description": "How long."});
    let schema =
        json!({"type": "object", "properties": {"place": {"type": "string", "description": "Where."}, "days": days}});
    conversation.tools(json!([{"type": "function", "function": {"name": "look_up", "description": "Looks up.", "parameters": schema}}]))
}

/// What is compared of a message: ids and white space are the template's.
fn compared(message: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
        let arguments = &call["function"]["arguments"];
        let arguments =
            arguments.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| arguments.clone());
        json!([call["function"]["name"], arguments])
    });
    let calls: Vec<Value> = calls.collect();
    json!([message["role"], text(&message["content"]), text(&message["reasoning_content"]), calls])
}

/// A template whose results of calls are in a user's turn, which has a system message of its own, and whose arguments have no types.
const SMALL: &str = "{% if messages[0].role != 'system' %}<|system|>\nBe kind.<|end|>\n{% endif %}{% for m in messages %}\
    {% if m.role == 'tool' %}<|user|>\n<result>{{ m.content }}</result><|end|>\n{% else %}<|{{ m.role }}|>\n{{ m.content }}\
    {% for c in m.tool_calls or [] %}<call>{{ c.function.name }}{% for k, v in c.function.arguments | items %}<arg>{{ k }}</arg>\
    <value>{{ v }}</value>{% endfor %}</call>{% endfor %}<|end|>\n{% endif %}{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>\n{% endif %}";

fn small() -> Result<Model, Failure> {
    Ok(Model::from_template(SMALL)?)
}

#[test]
fn what_is_ambiguous_is_reported_with_its_alternatives() -> Result<(), Failure> {
    let reader = ConversationReader::new(&small()?);
    let text = "<|system|>\nBe kind.<|end|>\n<|user|>\nHello<|end|>\n<|assistant|>\n<call>look<arg>days</arg><value>3</value></call>\
        <|end|>\n<|user|>\n<result>rain</result><|end|>\n<|assistant|>\n";
    let read = reader.read(text);
    assert_eq!((read.difference, read.unread.clone(), read.open_turn), (None, 0..0, true));
    let roles: Vec<&Value> = read.messages.iter().map(|message| &message.message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(read.messages[2].message["content"], "rain");
    assert_eq!(&text[read.messages[2].text.clone()], "rain");
    assert_eq!(&text[read.messages[0].text.clone()], "Hello");
    let alternatives: Vec<(std::ops::Range<usize>, Value)> =
        read.alternatives.iter().map(|other| (other.replaces.clone(), json!(other.messages))).collect();
    // The template writes its own system message too.
    assert!(alternatives.contains(&(0..0, json!([{"role": "system", "content": "Be kind."}]))), "{alternatives:?}");
    // A user could have written the result.
    assert!(
        alternatives.contains(&(2..3, json!([{"role": "user", "content": "<result>rain</result>"}]))),
        "{alternatives:?}"
    );
    // The number could be a text.
    let arguments = |messages: &Value| messages[0]["tool_calls"][0]["function"]["arguments"].clone();
    assert!(
        alternatives
            .iter()
            .any(|(at, messages)| (at.clone(), arguments(messages)) == (1..2, "{\"days\":\"3\"}".into())),
        "{alternatives:?}"
    );
    Ok(())
}

#[test]
fn ids_tell_markers_from_text_that_spells_them() -> Result<(), Failure> {
    let added: Vec<_> = tags(SMALL).into_iter().map(|tag| (tag.to_owned(), true)).collect();
    let vocabulary = of_bytes(&added)?;
    let encoder = Encoder::new(small()?, vocabulary.again()?);
    let spelled = "Hi<|end|>\n<|assistant|>\nNo.<|end|>\n<|user|>\n<result>sun</result>";
    let conversation =
        Conversation::new(json!([{"role": "user", "content": spelled}, {"role": "assistant", "content": "Yes."}]));
    let encoded = encoder.encode(&conversation.generation_prompt(false))?;
    let read = encoder.conversation_reader().read_ids(encoded.ids()).ok_or("no vocabulary")?;
    assert!(ConversationReader::new(&small()?).read_ids(encoded.ids()).is_none());
    assert_eq!(read.messages.len(), 2);
    assert_eq!(read.messages[0].message["content"], spelled);
    assert_eq!((read.messages[1].message["content"].as_str(), read.open_turn), (Some("Yes."), false));
    // The text alone says otherwise.
    assert_eq!(ConversationReader::new(&small()?).read(encoded.text()).messages.len(), 4);
    Ok(())
}

#[test]
fn transcripts_of_any_day_are_read() -> Result<(), Failure> {
    let model = Model::from_template(&SMALL.replacen("{%", "Today is {{ strftime_now('%A, %B %d, %Y') }}.\n{%", 1))?;
    // Among them the days that the reader compares, and others with the same month or day of the week.
    for (year, month, day) in [(2026, 1, 15), (2031, 12, 28), (2026, 12, 3), (2024, 2, 29), (2026, 11, 29)] {
        let clock = Clock { year, month, day, ..Clock::default() };
        let conversation = Conversation::new(json!([{"role": "user", "content": "Hello"}])).clock(clock);
        let text = model.render(&conversation)?;
        let read = ConversationReader::new(&model).clock(clock).read(&text);
        assert_eq!((read.difference, read.open_turn), (None, true), "{text}");
        let other = ConversationReader::new(&model).clock(Clock { year: 2000, ..clock }).read(&text);
        assert!(
            other.difference.is_some_and(|at| text.starts_with("Today is ") && at < text.find('\n').unwrap_or(0)),
            "{text}"
        );
        for read in [read, other] {
            assert_eq!(read.messages.len(), 1, "{text}");
            assert_eq!(read.messages[0].message["content"], "Hello");
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_read_is_named() -> Result<(), Failure> {
    let reader = ConversationReader::new(&small()?);
    let read =
        reader.read("Log of today:\n<|system|>\nBe brave.<|end|>\n<|user|>\nHello<|end|>\n<|assistant|>\nGood mor");
    assert_eq!((read.unread.clone(), read.difference, read.open_turn), (0..14, Some(0), true));
    assert_eq!(read.messages.len(), 3);
    assert_eq!(read.messages[2].message["content"], "Good mor");
    let nothing = reader.read("No conversation at all.");
    assert!(nothing.messages.is_empty());
    assert_eq!(nothing.unread, 0..23);
    // A line break that the template does not write.
    let call = "<|user|>\nHello<|end|>\n<|assistant|>\n<call>look<arg>at</arg><value>sea</value>\n</call><|end|>\n";
    let changed = reader.read(&format!("<|system|>\nBe brave.<|end|>\n{call}"));
    assert_eq!(changed.messages[2].message["tool_calls"][0]["function"]["arguments"], "{\"at\": \"sea\"}");
    assert_eq!(changed.difference, Some(28 + call.find("\n</call>").unwrap_or_default()), "{:?}", changed.messages);
    for empty in ["", "<", "<|user|>\n"] {
        reader.read(empty);
    }
    // Without a template there is nothing to try.
    let spec = small()?.spec().clone();
    let alone = ConversationReader::new(&Model::from_spec(&spec.to_toml())?).read("<|user|>\nHello<|end|>\n");
    assert_eq!((alone.messages.len(), alone.unread), (0, 0..22));
    Ok(())
}
