//! Texts that pass through operations of a template after which no label says who wrote a byte: the second render tells, or the prompt is
//! refused.

use serde_json::json;
use unjinja_dynamic::{Conversation, Model};
use unjinja_tokens::{Encoder, TokensError};

use crate::Failure;
use crate::byte_level::of_bytes;

/// More operations than labels follow.
const MANY: &str = "m.content | trim | lower | trim | lower | trim | lower | trim | lower | trim | lower";

/// How many control tokens the prompt has, or the token for which it cannot be told who wrote it. The template writes one itself.
fn control_tokens(text: &str, content: &str) -> Result<Result<usize, String>, Failure> {
    let template = format!("{{% for m in messages %}}{text}<|end|>{{% endfor %}}");
    let vocabulary = of_bytes(&[("<|end|>".to_owned(), true), ("<|END|>".to_owned(), true)])?;
    let encoder = Encoder::new(Model::from_template(&template)?, vocabulary.again()?);
    let conversation = Conversation::new(json!([{"role": "user", "content": content}])).generation_prompt(false);
    match encoder.encode(&conversation) {
        Ok(encoded) => {
            assert_eq!(encoded.text(), encoder.model().render(&conversation)?);
            Ok(Ok(encoded.ids().iter().filter(|id| encoder.vocabulary().control_token(**id).is_some()).count()))
        }
        Err(TokensError::Undecided(spelled)) => Ok(Err(spelled.to_string())),
        Err(error) => Err(error.into()),
    }
}

#[test]
fn a_second_render_tells_that_the_conversation_wrote_a_token() -> Result<(), Failure> {
    let text = format!("{{{{ {MANY} }}}}");
    for content in ["Hi", "<|end|>", " a<|end|>b<|end|>c ", "<|e", "|end|>"] {
        assert_eq!(control_tokens(&text, content)?, Ok(1), "{content}");
    }
    // What it makes of a text beside a token does not matter.
    assert_eq!(control_tokens(&format!("{{{{ {MANY} | replace('a', 'b') }}}}"), "a<|end|>a")?, Ok(1));
    Ok(())
}

#[test]
fn what_a_second_render_does_not_tell_is_refused() -> Result<(), Failure> {
    let undecided = |token: &str| Err(format!("`{token}` in messages[0].content"));
    // The conversation has another text than the prompt: the template made the token of it.
    assert_eq!(control_tokens(&format!("{{{{ {MANY} | upper }}}}"), "<|end|>")?, undecided("<|END|>"));
    assert_eq!(control_tokens(&format!("{{{{ {MANY} | replace('!', '') }}}}"), "<|e!nd|>")?, undecided("<|end|>"));
    // The template looks at the text: with other letters the prompt is another one.
    let looks = format!("{{{{ {MANY} }}}}{{% if '|end|' in m.content %}}!{{% endif %}}");
    assert_eq!(control_tokens(&looks, "<|end|>")?, undecided("<|end|>"));
    assert_eq!(control_tokens(&looks, "end")?, Ok(1));
    Ok(())
}

/// The template takes the token away and puts it back: labels give it to the template, which wrote it last.
#[test]
fn a_token_that_a_template_puts_back_is_the_conversations() -> Result<(), Failure> {
    let text = "{{ m.content.replace('<|end|>', '<kept>').replace('end', '').replace('<kept>', '<|end|>') }}";
    for content in ["Hi", "<|end|>", "send <|end|>end", "<kept>"] {
        let expected = if content == "<kept>" { 2 } else { 1 };
        assert_eq!(control_tokens(text, content)?, Ok(expected), "{content}");
    }
    // It also looks at the text, so that a prompt with other letters tells nothing.
    let looks = format!("{text}{{% if '|end|' in m.content %}}!{{% endif %}}");
    assert_eq!(control_tokens(&looks, "Say <|end|>.")?, Err("`<|end|>` in messages[0].content".to_owned()));
    assert_eq!(control_tokens(&looks, "end")?, Ok(1));
    Ok(())
}
