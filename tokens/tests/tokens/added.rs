//! Added tokens with rules: they take white space beside them, must be a word, or are found in normalized text. The ids are those of the
//! library.

use serde_json::json;
use unjinja_dynamic::{Conversation, Model};
use unjinja_tokens::{EncodeOptions, Encoder, SpelledTokens};

use crate::Failure;
use crate::byte_level::of_bytes;
use crate::vocabulary::Vocabulary;

#[test]
fn added_tokens_with_rules_are_found_as_the_library_finds_them() -> Result<(), Failure> {
    let mut json = of_bytes(&[])?.json()?;
    json["normalizer"] = json!({"type": "Lowercase"});
    let rules = [
        ("<a>", "lstrip"),
        ("<b>", "rstrip"),
        ("\n", ""),
        ("word", "single_word"),
        ("Loud", "normalized"),
        ("<a>b", ""),
        ("<c>", ""),
    ];
    let tokens = rules.iter().enumerate().map(|(number, (text, rule))| {
        let mut token = json!({"id": 256 + number, "content": text, "special": text.starts_with('<'), "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false});
        if !rule.is_empty() {
            token[*rule] = true.into();
        }
        token
    });
    json["added_tokens"] = tokens.collect();
    let vocabulary = Vocabulary::new(json)?;
    let encoder =
        Encoder::new(Model::from_template("{% for m in messages %}{{ m.content }}{% endfor %}")?, vocabulary.again()?);
    let trusted = EncodeOptions::new().spelled_tokens(SpelledTokens::Trusted);
    let mut parts = vec![" ", "\n", "\n\n", "x", "é"];
    parts.extend(rules.map(|(text, _)| text));
    for first in &parts {
        for second in &parts {
            for third in &parts {
                for fourth in &parts {
                    let text = [*first, second, third, fourth].concat();
                    if doubles_space(&text) {
                        continue;
                    }
                    let conversation = Conversation::new(json!([{"role": "user", "content": text}]));
                    let encoded = encoder.encode_with(&conversation, &trusted)?;
                    assert_eq!(encoded.ids(), vocabulary.ids(&text)?, "{text:?}");
                }
            }
        }
    }
    Ok(())
}

/// A token that was added at run time to a vocabulary with holes has the id that the tokenizer in memory gives it.
#[test]
fn a_tokenizer_in_memory_keeps_its_ids() -> Result<(), Failure> {
    let mut json = of_bytes(&[("<a>".to_owned(), true)])?.json()?;
    json["model"]["vocab"]["hole"] = 270.into();
    json["added_tokens"][0]["id"] = 271.into();
    let live = unjinja_tokens::Vocabulary::from_live(&json.to_string())?;
    for live in [&live, &unjinja_tokens::Vocabulary::from_live(&live.to_json()?)?] {
        assert_eq!(live.ids("<a>b")?, [271, 98]);
        assert_eq!((live.bytes(271), live.control_token(271)), (Some(&b"<a>"[..]), Some("<a>")));
    }
    Ok(())
}

/// The library writes white space twice where one token takes it and a part of it is a token too: `<b>`, a line break, and more. That
/// would change the text, so it is not done here.
fn doubles_space(text: &str) -> bool {
    text.split("<b>").skip(1).any(|rest| {
        let space = rest.len() - rest.trim_start().len();
        rest.find('\n').is_some_and(|at| at + 1 < space)
    })
}
