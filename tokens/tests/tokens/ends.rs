//! Where the model's turn ends: at the end of the turn, whatever tokens spell it, and before the header of the next message.

use std::fs;

use serde_json::{Value, json};
use unjinja::Options;
use unjinja_dynamic::{Conversation, LabelledPrompt, Model};
use unjinja_render::Origin;
use unjinja_spec::tags;
use unjinja_testkit::conversations::{KINDS, LENGTHS, SCRIPTS, messages};
use unjinja_testkit::{corpus, root, sample};
use unjinja_tokens::{Encoder, TokensError};

use crate::Failure;
use crate::byte_level::{learnt, of_bytes};
use crate::vocabulary::Vocabulary;

/// An end of a turn with a blank, which the tokenizer may not have, and values between quote tokens.
const CALLS: &str = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}<|call>{{ c.function.name }}\
    {% raw %}{{% endraw %}{% for k, v in c.function.arguments.items() %}{{ k }}:<|\"|>{{ v }}<|\"|>{% if not loop.last %},{% endif %}\
    {% endfor %}}<call|>{% endfor %}<|end |>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

/// No text ends a turn. The header of the next message is written with the turn before it.
const HEADERS: &str = "{% for m in messages %}{% if m.role == 'assistant' %}<|assistant|>\n{{ m.content }}\
    {% for c in m.tool_calls or [] %}<tool_call>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\
    </tool_call>{% endfor %}{% if not loop.last %}{{ '<|user|>' if loop.nextitem.role == 'user' else '<|observation|>' }}{% endif %}\
    {% elif m.role == 'tool' %}\n<tool_response>{{ m.content }}</tool_response>{% else %}\
    {% if loop.first or loop.previtem.role != 'assistant' %}<|user|>{% endif %}\n{{ m.content }}{% endif %}{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>{% endif %}";

/// No text ends a turn, and each message begins with its own header.
const HEADER_EACH: &str = "{% for m in messages %}{% if m.role == 'assistant' %}<|assistant|>{{ m.content }}\
    {% else %}<|user|>{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

/// An answer is trimmed, as by many templates.
const TRIMMED: &str = "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>{% endif %}";

fn with_tokens(template: &str, tokens: &[&str]) -> Result<(Encoder, Vocabulary), Failure> {
    let added: Vec<_> = tokens.iter().map(|text| ((*text).to_owned(), true)).collect();
    let vocabulary = of_bytes(&added)?;
    Ok((Encoder::new(Model::from_template(template)?, vocabulary.again()?), vocabulary))
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn with_call() -> Vec<Value> {
    let call =
        json!([{"id": "call00001", "type": "function", "function": {"name": "look", "arguments": {"at": "sky"}}}]);
    let called = json!({"role": "assistant", "content": "", "tool_calls": call});
    let result = json!({"role": "tool", "name": "look", "tool_call_id": "call00001", "content": "blue"});
    vec![user("a"), called, result, json!({"role": "assistant", "content": "yes"}), user("b")]
}

/// For each byte of the prompt whether the model writes it.
fn mask(encoder: &Encoder, conversation: &Conversation) -> Result<(String, Vec<bool>), TokensError> {
    let encoded = encoder.encode(&conversation.clone().generation_prompt(false))?;
    let mut mask = vec![false; encoded.text().len()];
    for (range, _) in encoded.ranges().iter().zip(encoded.assistant_mask()).filter(|(_, by_model)| *by_model) {
        mask[range.clone()].fill(true);
    }
    Ok((encoded.text().to_owned(), mask))
}

/// What the model writes, its turns between bars.
fn written(encoder: &Encoder) -> Result<String, Failure> {
    between(mask(encoder, &Conversation::new(with_call()))?)
}

fn between((text, mask): (String, Vec<bool>)) -> Result<String, Failure> {
    let mut found = Vec::new();
    for (at, byte) in text.bytes().enumerate().filter(|(at, _)| mask[*at]) {
        if at == 0 || !mask[at - 1] {
            found.push(b'/');
        }
        found.push(byte);
    }
    Ok(String::from_utf8(found)?)
}

#[test]
fn a_turn_ends_with_its_end_whatever_tokens_spell_it() -> Result<(), Failure> {
    let expected = "/<|call>look{at:<|\"|>sky<|\"|>}<call|><|end |>/yes<|end |>";
    let tokens = ["<|call>", "<call|>", "<|\"|>", "<|end |>", "<|user|>", "<|assistant|>"];
    for added in [&tokens[..0], &tokens[..2], &tokens[2..3], &tokens[3..], &tokens] {
        assert_eq!(written(&with_tokens(CALLS, added)?.0)?, expected, "{added:?}");
    }
    Ok(())
}

/// The model stops at the token that begins the next message, which is all that it writes of it.
#[test]
fn the_token_at_which_the_model_stops_is_the_models() -> Result<(), Failure> {
    let expected =
        "/\n<tool_call>{\"name\": \"look\", \"arguments\": {\"at\": \"sky\"}}</tool_call><|observation|>/\nyes<|user|>";
    let tokens = ["<tool_call>", "</tool_call>", "<|user|>", "<|assistant|>", "<|observation|>"];
    for added in [&tokens[..0], &tokens[..2], &tokens[2..], &tokens] {
        assert_eq!(written(&with_tokens(HEADERS, added)?.0)?, expected, "{added:?}");
    }
    // Its own next header is not, nor what begins a message after a token that is not known.
    let each = HEADER_EACH.replace("content }}{% else", "content + eos_token }}{% else");
    for (template, expected) in [(HEADER_EACH, "/yes/no<|user|>"), (&each, "/yes/no")] {
        let encoder = with_tokens(template, &["<|user|>", "<|assistant|>"])?.0;
        let answer = |text: &str| json!({"role": "assistant", "content": text});
        let turns = json!([user("a"), answer("yes"), answer("no"), user("b")]);
        assert_eq!(between(mask(&encoder, &Conversation::new(turns))?)?, expected, "{template}");
    }
    // A role that the template writes with a capital letter begins a header too.
    let capitals =
        TRIMMED.replace("<|{{ m.role }}|>", "{{ m.role | capitalize }}: ").replace("<|assistant|>", "Assistant:");
    let encoder = with_tokens(&capitals, &["<|end|>"])?.0;
    let turns = json!([user("a"), {"role": "assistant", "content": "yes"}]);
    let (text, marks) = mask(&encoder, &Conversation::new(turns))?;
    let first = marks.iter().position(|by_model| *by_model).unwrap_or_default();
    // The prompt ends before the blank.
    assert_eq!(&text[first..], " yes<|end|>\n");
    Ok(())
}

/// What the model writes of a prompt, whatever its texts are: the template's text, and each field by its path, with the model's part of
/// it. Two conversations that differ in their letters alone have the same.
fn shape(prompt: &LabelledPrompt, by_model: &[bool]) -> Vec<(String, Vec<bool>)> {
    let mut shape: Vec<(String, Vec<bool>)> = Vec::new();
    for span in prompt.labels.spans() {
        let marks = &by_model[span.range.clone()];
        let (what, mut marks) = match &span.origin {
            Origin::Template => (prompt.text[span.range.clone()].to_owned(), marks.to_vec()),
            Origin::Field(field) => (field.path.to_string(), marks.to_vec()),
        };
        let is_field = matches!(span.origin, Origin::Field(_));
        if is_field {
            marks.dedup();
        }
        match shape.last_mut().filter(|(last, _)| is_field && *last == what) {
            Some((_, known)) => {
                known.extend(marks);
                known.dedup();
            }
            None => shape.push((what, marks)),
        }
    }
    shape
}

/// The mask is that of the marks of `unjinja export --for training`, which knows no tokenizer, and so the same for all tokenizers. It is
/// the same in all scripts.
#[test]
fn masks_depend_neither_on_the_tokenizer_nor_on_the_script() -> Result<(), Failure> {
    let mut files = Vec::new();
    let corpus = corpus()?;
    let folders = ["templates", "wild/templates", "wide/templates", "late/templates"];
    let folders = corpus.iter().flat_map(|corpus| folders.map(|folder| corpus.join(folder)));
    for folder in folders.chain([root().join("templates")]) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            files.push(entry?.path());
        }
    }
    files.sort();
    let (mut compared, mut scripts, mut problems) = (0, 0, Vec::new());
    for file in sample(files, 12) {
        let Ok(model) = Model::from_file(&file) else { continue };
        let source = fs::read_to_string(&file)?;
        let all: Vec<_> = tags(&source).into_iter().map(|tag| (tag.to_owned(), true)).collect();
        let encoders = [&all[..0], &all[..]].map(|added| of_bytes(added).and_then(|made| made.again()));
        let [plain, full] = encoders.map(|made| Ok::<_, Failure>(Encoder::new(model.clone(), made?)));
        let (plain, full) = (plain?, full?);
        for kind in KINDS {
            for length in sample(LENGTHS, 3) {
                let mut latin = None;
                for (script, words) in SCRIPTS {
                    let conversation = Conversation::new(messages(kind, words, length)).generation_prompt(false);
                    let Ok(prompt) = model.render_labelled(&conversation) else { continue };
                    let mut marks = vec![false; prompt.text.len()];
                    for piece in model.prompt_pieces(&prompt)?.iter().filter(|piece| piece.by_model) {
                        marks[piece.range.clone()].fill(true);
                    }
                    let case = format!("{} {kind} {length} {script}", file.display());
                    let found = shape(&prompt, &marks);
                    let expected = latin.get_or_insert_with(|| found.clone());
                    let text =
                        |shape: &[(String, Vec<bool>)]| shape.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
                    // A template may write other letters otherwise.
                    if text(expected) == text(&found) {
                        scripts += 1;
                        let differ = expected.iter().zip(&found).find(|(one, other)| one != other);
                        problems.extend(differ.map(|differ| format!("{case}: in Latin and here {differ:?}")));
                    }
                    if length != LENGTHS[0] {
                        continue;
                    }
                    let (Ok(plain), Ok(full)) = (mask(&plain, &conversation), mask(&full, &conversation)) else {
                        continue;
                    };
                    compared += 1;
                    let at = |one: &[bool]| one.iter().zip(&marks).position(|(one, other)| one != other);
                    let at = [at(&plain.1), at(&full.1)];
                    if at != [None, None] || plain.0 != prompt.text || full.0 != prompt.text {
                        problems.push(format!("{case}: {at:?} in {:?}", prompt.text));
                    }
                }
            }
        }
    }
    println!("{compared} masks of tokenizers, {scripts} of scripts, {} problems", problems.len());
    assert!(
        problems.is_empty(),
        "{} problems; the first:\n{}",
        problems.len(),
        problems[..problems.len().min(4)].join("\n")
    );
    assert!(compared > 100 && scripts > 1_000, "{compared}, {scripts}");
    Ok(())
}

/// `</s>` ends a text in many vocabularies. Where a tokenizer has no such token, a model that writes it means the text.
#[test]
fn an_end_that_ordinary_tokens_spell_is_text() -> Result<(), Failure> {
    let conversation = Conversation::new(json!([user("Which tag?")]));
    for (template, own) in [(TRIMMED, "<|end|>"), (CALLS, "<|end |>")] {
        let (encoder, vocabulary) = with_tokens(template, &["<|user|>", "<|assistant|>", own])?;
        for text in ["It is </s>", "It is <eos>", "hello</s>"] {
            for end in [own, ""] {
                let sampled = vocabulary.ids(&format!("{text}{end}"))?;
                let decoded = encoder.decode(&sampled, &Options::new());
                assert_eq!(decoded.message.content, text);
                let bridge = encoder.bridge(&conversation, &sampled, &json!([user("n")]))?;
                assert_eq!((&bridge.message["content"], bridge.closes_turn), (&json!(text), end.is_empty()));
                assert!(bridge.same_text);
            }
        }
    }
    // Where it is a token, its id ends the turn.
    let (encoder, vocabulary) = with_tokens(TRIMMED, &["<|user|>", "<|assistant|>", "<|end|>", "</s>"])?;
    assert_eq!(encoder.decode(&vocabulary.ids("hello</s>")?, &Options::new()).message.content, "hello");
    assert_eq!(encoder.decode(&vocabulary.spelled_ids("hello</s>")?, &Options::new()).message.content, "hello</s>");
    Ok(())
}

/// What the ids of a prompt, a turn and its bridge are, beside the render of the whole conversation.
fn bridged(encoder: &Encoder, sampled: &[u32], news: &Value, messages: Value) -> Result<[String; 2], Failure> {
    let conversation = Conversation::new(messages);
    let mut ids = encoder.encode(&conversation)?.ids().to_vec();
    let bridge = encoder.bridge(&conversation, sampled, news)?;
    ids.extend(sampled.iter().chain(&bridge.ids));
    let bytes: Vec<u8> =
        ids.iter().flat_map(|id| encoder.vocabulary().bytes(*id).unwrap_or_default().to_vec()).collect();
    let mut messages = conversation.messages().to_vec();
    messages.push(bridge.message);
    messages.extend(news.as_array().into_iter().flatten().cloned());
    let rendered = encoder.model().render(&Conversation::new(messages))?;
    let text = String::from_utf8(bytes)?;
    assert_eq!(text == rendered, bridge.same_text, "{text:?} {rendered:?}");
    Ok([text, rendered])
}

#[test]
fn a_bridge_says_where_the_template_trims_the_turn() -> Result<(), Failure> {
    let (encoder, vocabulary) = with_tokens(TRIMMED, &["<|user|>", "<|assistant|>", "<|end|>"])?;
    for (turn, same) in [("yes<|end|>", true), ("yes", true), ("yes \n<|end|>", false), ("yes\n", false)] {
        let [text, rendered] = bridged(&encoder, &vocabulary.ids(turn)?, &json!([user("n")]), json!([user("a")]))?;
        assert_eq!(text == rendered, same, "{turn:?}");
        assert!(text.starts_with("<|user|>a<|end|>\n<|assistant|>yes"));
    }
    Ok(())
}

/// A server may stop at the header of the next message, and send its token or not; and the end may be spelled.
#[test]
fn a_bridge_neither_repeats_nor_forgets_an_end() -> Result<(), Failure> {
    let all = ["<tool_call>", "</tool_call>", "<|user|>", "<|assistant|>", "<|observation|>"];
    let call = "\n<tool_call>{\"name\": \"look\", \"arguments\": {\"at\": \"sky\"}}</tool_call>";
    let result = json!([{"role": "tool", "name": "look", "content": "blue"}]);
    let (encoder, vocabulary) = with_tokens(HEADERS, &all)?;
    for turn in [call.to_owned(), format!("{call}<|observation|>")] {
        let [text, rendered] = bridged(&encoder, &vocabulary.ids(&turn)?, &result, json!([user("a")]))?;
        assert_eq!(text, rendered, "{turn:?}");
    }
    for added in [&["<|user|>", "<|assistant|>"][..], &["<|user|>", "<|assistant|>", "<|end |>"]] {
        let (encoder, vocabulary) = with_tokens(CALLS, added)?;
        for turn in ["yes<|end |>", "yes"] {
            let [text, rendered] = bridged(&encoder, &vocabulary.ids(turn)?, &json!([user("n")]), json!([user("a")]))?;
            assert_eq!(text, rendered, "{turn:?}");
        }
    }
    // One token holds the last letter of the end and the line break after it.
    let added = ["<|user|>", "<|assistant|>"].map(|text| (text.to_owned(), true));
    let vocabulary = learnt(&[">\n".repeat(100)], &added)?;
    let encoder = Encoder::new(Model::from_template(CALLS)?, vocabulary.again()?);
    let turn = vocabulary.ids("yes<|end |>")?;
    let [text, rendered] = bridged(&encoder, &turn, &json!([user("n")]), json!([user("a")]))?;
    assert_eq!(text, rendered);
    Ok(())
}
