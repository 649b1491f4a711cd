//! How the tokens of a vocabulary write bytes.

use tokenizers::Tokenizer;
use tokenizers::decoders::DecoderWrapper;

/// How ordinary tokens write bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteForm {
    /// Every byte is a letter.
    Letters,
    /// A blank is `▁`; bytes that are no text have names, `<0x0A>`.
    Names,
    /// A token is its text. One that continues a word begins with `##`, and others follow a blank.
    Words,
    /// A token is its text.
    Text,
}

impl ByteForm {
    /// The form of a tokenizer, by its decoder.
    pub(crate) fn of(tokenizer: &Tokenizer) -> Self {
        fn form(decoder: &DecoderWrapper) -> Option<ByteForm> {
            match decoder {
                DecoderWrapper::ByteLevel(_) => Some(ByteForm::Letters),
                DecoderWrapper::Metaspace(_) | DecoderWrapper::ByteFallback(_) => Some(ByteForm::Names),
                DecoderWrapper::WordPiece(_) => Some(ByteForm::Words),
                DecoderWrapper::Sequence(parts) => parts.get_decoders().iter().find_map(form),
                _ => None,
            }
        }
        tokenizer.get_decoder().and_then(form).unwrap_or(Self::Text)
    }

    /// The bytes of an ordinary token.
    pub(crate) fn bytes_of(self, token: &str) -> Vec<u8> {
        match self {
            Self::Letters => {
                let mut bytes = Vec::with_capacity(token.len());
                for letter in token.chars() {
                    match byte_of(letter) {
                        Some(byte) => bytes.push(byte),
                        None => bytes.extend(letter.to_string().bytes()),
                    }
                }
                bytes
            }
            Self::Names => match token.strip_prefix("<0x").and_then(|name| name.strip_suffix('>')) {
                Some(digits) if digits.len() == 2 => match u8::from_str_radix(digits, 16) {
                    Ok(byte) => vec![byte],
                    Err(_) => token.into(),
                },
                _ => token.replace('▁', " ").into_bytes(),
            },
            Self::Words => match token.strip_prefix("##") {
                Some(rest) => rest.into(),
                None => format!(" {token}").into_bytes(),
            },
            Self::Text => token.into(),
        }
    }
}

/// The byte that a byte-level tokenizer writes as this letter: the character of that number if it can be seen, else the next free one
/// from 256 on.
fn byte_of(letter: char) -> Option<u8> {
    let number = u32::from(letter);
    if let Ok(byte) = u8::try_from(number) {
        return is_visible(byte).then_some(byte);
    }
    let hidden = usize::try_from(number.checked_sub(256)?).ok()?;
    (0..=u8::MAX).filter(|byte| !is_visible(*byte)).nth(hidden)
}

fn is_visible(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}
