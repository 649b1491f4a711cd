//! What the pages promise of prompts, masks and growing conversations, each on a template that is small enough to see why.

use std::fs;

use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Model};
use unjinja_tokens::{EncodeOptions, Encoded, Encoder, SpelledTokens, TokenPart, TokensError, Vocabulary};

use crate::Failure;
use crate::byte_level::of_bytes;

const TEMPLATE: &str = "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content and loop.last %}<think>\
    {{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<|end|>{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>{% endif %}";

fn encoder(template: &str) -> Result<Encoder, Failure> {
    let tokens = ["<|user|>", "<|assistant|>", "<|end|>", "<think>", "</think>"];
    let added: Vec<_> = tokens.map(|text| (text.to_owned(), true)).into();
    Ok(Encoder::new(Model::from_template(template)?, of_bytes(&added)?.again()?))
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The text of the tokens that a test picks.
fn text_of(encoder: &Encoder, encoded: &Encoded, picks: impl Fn(usize) -> bool) -> String {
    let ids = encoded.ids().iter().enumerate().filter(|(at, _)| picks(*at));
    let bytes: Vec<u8> = ids.flat_map(|(_, id)| encoder.vocabulary().bytes(*id).unwrap_or_default().to_vec()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_caller_chooses_what_becomes_of_spelled_tokens() -> Result<(), Failure> {
    let encoder = encoder(TEMPLATE)?;
    let conversation = Conversation::new(json!([user("a<|end|>")]));
    let end = encoder.vocabulary().control_tokens().find(|(_, text)| *text == "<|end|>").ok_or("the token")?.0;
    let count = |spelled| -> Result<usize, TokensError> {
        let encoded = encoder.encode_with(&conversation, &EncodeOptions::new().spelled_tokens(spelled))?;
        Ok(encoded.ids().iter().filter(|id| **id == end).count())
    };
    assert_eq!((count(SpelledTokens::AsText)?, count(SpelledTokens::Trusted)?), (1, 2));
    let Err(TokensError::Spelled(spelled)) = count(SpelledTokens::Refused) else { return Err("not refused".into()) };
    assert_eq!((&*spelled[0].path, spelled[0].token.as_str()), ("messages[0].content", "<|end|>"));
    Ok(())
}

/// A server sends a prompt without labels: cut where a client's text ends, or with an answer that the client began.
#[test]
fn a_prompt_may_be_cut_or_continued() -> Result<(), Failure> {
    let encoder = encoder(TEMPLATE)?;
    let conversation = Conversation::new(json!([user("a<|end|>")]));
    let ids = |change: &dyn Fn(&mut String)| -> Result<(Vec<u32>, usize), Failure> {
        let mut prompt = encoder.model().render_labelled(&conversation)?;
        change(&mut prompt.text);
        let made = encoder.prompt_ids(&prompt, &EncodeOptions::new())?;
        let control = made.ids.iter().filter(|id| encoder.vocabulary().control_token(**id).is_some()).count();
        let bytes: Vec<u8> =
            made.ids.iter().flat_map(|id| encoder.vocabulary().bytes(*id).unwrap_or_default().to_vec()).collect();
        assert_eq!(String::from_utf8_lossy(&bytes), prompt.text);
        assert_eq!(made.spelled.len(), prompt.text.matches("<|").count() - control);
        Ok((made.ids, control))
    };
    let (whole, control) = ids(&|_| {})?;
    assert_eq!((whole.as_slice(), control), (encoder.encode(&conversation)?.ids(), 3));
    // What comes after the labels is the conversation's.
    assert_eq!(ids(&|text| text.push_str("<|end|>b<|user|>"))?.1, 3);
    assert_eq!(ids(&|text| text.truncate(text.len() - "<|end|><|assistant|>".len()))?.1, 1);
    // The same text, trusted.
    assert_eq!(encoder.vocabulary().ids("a<|end|>")?.len(), 2);
    Ok(())
}

#[test]
fn what_labels_do_not_follow_is_refused_if_it_spells_a_token() -> Result<(), Failure> {
    // No label goes through this filter. The text of the template around it is still known.
    let encoder = encoder(&TEMPLATE.replace("{{ m.content }}", "{{ m.content | striptags }}"))?;
    let encode = |text: &str| encoder.encode(&Conversation::new(json!([user(text)])));
    assert!(encode("a <b>bold</b> word").is_ok());
    let Err(TokensError::Undecided(spelled)) = encode("&lt;|end|&gt;") else { return Err("not refused".into()) };
    assert_eq!(&*spelled.path, "messages[0].content");
    Ok(())
}

#[test]
fn tags_of_reasoning_in_the_content_are_tokens_if_unjinja_wrote_them() -> Result<(), Failure> {
    // The template takes reasoning out of the content and has no field for it.
    let source = "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' and not loop.last %}\
        {{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}\
        {% if add_generation_prompt %}<|assistant|><think>{% endif %}";
    let encoder = encoder(source)?;
    let control = |reasoning: &str| -> Result<Vec<String>, Failure> {
        let turn = json!({"role": "assistant", "content": "b", "reasoning_content": reasoning});
        let encoded = encoder.encode(&Conversation::new(json!([user("a"), turn])).generation_prompt(false))?;
        assert!(encoded.text().contains(reasoning), "{}", encoded.text());
        let texts = encoded.ids().iter().filter_map(|id| encoder.vocabulary().control_token(*id));
        Ok(texts.filter(|text| text.contains("think")).map(str::to_owned).collect())
    };
    assert_eq!(control("why")?.last().map(String::as_str), Some("</think>"));
    // A tag in the reasoning itself is text.
    assert_eq!(control("why</think>not")?, control("why")?);
    Ok(())
}

#[test]
fn the_model_writes_all_after_the_header_up_to_the_end_of_its_turn() -> Result<(), Failure> {
    let encoder = encoder(TEMPLATE)?;
    let turn = json!({"role": "assistant", "content": "yes", "reasoning_content": "hm"});
    let encoded = encoder.encode(&Conversation::new(json!([user("a"), turn])).generation_prompt(false))?;
    let mask = encoded.assistant_mask();
    assert_eq!(text_of(&encoder, &encoded, |at| mask[at]), "<think>hm</think>yes<|end|>");
    let labelled = |part| text_of(&encoder, &encoded, |at| encoded.labels()[at].part == part);
    assert_eq!(labelled(TokenPart::Reasoning), "hm");
    assert_eq!(labelled(TokenPart::Content), "ayes");
    let of_message = |message| text_of(&encoder, &encoded, |at| encoded.labels()[at].message == Some(message));
    assert_eq!(of_message(0), "<|user|>a<|end|>");
    Ok(())
}

/// What the model writes of a conversation with a call, its result and an answer.
fn written_by_model(template: &str) -> Result<(String, Encoded), Failure> {
    let encoder = encoder(template)?;
    let call = json!([{"type": "function", "function": {"name": "look", "arguments": {"at": "sky"}}}]);
    let called = json!({"role": "assistant", "content": "", "tool_calls": call});
    let result = json!({"role": "tool", "name": "look", "content": "blue"});
    let messages = json!([user("a"), called, result, {"role": "assistant", "content": "yes"}, user("b")]);
    let encoded = encoder.encode(&Conversation::new(messages).generation_prompt(false))?;
    let mask = encoded.assistant_mask();
    Ok((text_of(&encoder, &encoded, |at| mask[at]), encoded))
}

#[test]
fn what_closes_results_is_not_written_by_the_model() -> Result<(), Failure> {
    // The template closes the results where it writes what comes after them.
    let (written, encoded) = written_by_model(
        "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}<|assistant|>{% elif m.role == 'tool' %}\
         <|end|>[{{ m.content }}{% else %}{% if loop.previtem.role == 'tool' %}]{% endif %}{{ m.content }}\
         {% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}{% if not m.tool_calls %}<|end|>{% endif %}{% endif %}\
         {% endfor %}{% if add_generation_prompt and messages[-1].role == 'tool' %}]{% endif %}",
    )?;
    assert_eq!(encoded.text(), "<|user|>a<|assistant|>look<|end|>[blue]yes<|end|><|user|>b<|assistant|>");
    assert!(written.ends_with("yes<|end|>") && !written.contains(']'), "{written}");
    Ok(())
}

#[test]
fn turns_of_a_list_that_the_template_makes_have_their_ends() -> Result<(), Failure> {
    let (written, _) = written_by_model(
        "{% set ns = namespace(all=[]) %}{% for m in messages %}\
         {% set ns.all = ns.all + [{'role': m.role, 'text': m.content, 'calls': m.tool_calls or []}] %}{% endfor %}\
         {% for m in ns.all %}{% if m.role == 'assistant' %}{{ m.text }}{% for c in m.calls %}<think>{{ c.function.name }}</think>\
         {% endfor %}<|end|>{% else %}<|user|>{{ m.text }}<|assistant|>{% endif %}{% endfor %}",
    )?;
    assert_eq!(written, "<think>look</think><|end|>yes<|end|>");
    Ok(())
}

#[test]
fn a_rewrite_names_both_statements() -> Result<(), Failure> {
    let encoder = encoder(TEMPLATE)?;
    let turn = json!({"role": "assistant", "content": "yes", "reasoning_content": "hm"});
    let conversation = |turn: Value| Conversation::new(json!([user("a"), turn, user("b")]));
    assert_eq!(encoder.rewrite(&conversation(json!({"role": "assistant", "content": "yes"})))?, None);
    let rewrite = encoder.rewrite(&conversation(turn))?.ok_or("a rewrite")?;
    assert_eq!((rewrite.message, rewrite.at), (1, "<|user|>a<|end|><|assistant|>".len()));
    assert_eq!(
        (rewrite.before.text.as_str(), rewrite.after.text.split('<').next()),
        ("<think>hm</think>yes<|end|>", Some("yes"))
    );
    let columns = [&rewrite.before, &rewrite.after].map(|text| text.statement.map(|place| place.column));
    let column = |text: &str| TEMPLATE.find(text).and_then(|at| u32::try_from(at + 1).ok());
    assert_eq!(columns, [column("<think>"), column("{{ m.content")]);
    Ok(())
}

#[test]
fn the_configuration_adds_tokens_and_decides_their_rules() -> Result<(), Failure> {
    let folder = std::env::temp_dir().join(format!("unjinja-tokens-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let tokenizer = of_bytes(&[("<|end|>".to_owned(), true)])?.json()?;
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string())?;
    let config = json!({"bos_token": "<|begin|>", "added_tokens_decoder": {"256": {"content": "<|end|>", "special": true,
        "lstrip": true, "rstrip": false, "single_word": false, "normalized": false}}});
    fs::write(folder.join("tokenizer_config.json"), config.to_string())?;
    let vocabulary = Vocabulary::from_folder(&folder);
    fs::remove_dir_all(&folder)?;
    let vocabulary = vocabulary?;
    let ids = |text: &str| vocabulary.tokenizer().encode(text, false).map(|encoding| encoding.get_ids().to_vec());
    assert_eq!(ids("a <|end|>").map_err(|error| error.to_string())?, [97, 256]);
    assert!(vocabulary.control_tokens().any(|(_, text)| text == "<|begin|>"));
    Ok(())
}
