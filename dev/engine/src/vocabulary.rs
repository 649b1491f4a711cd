//! A model file with nothing but a vocabulary: one token per byte, and the three tokens that every model has. So the
//! engine says for each byte whether the grammar allows it, and nothing has to be downloaded.

/// The token that ends a text.
pub(crate) const END: i32 = 2;

/// The token of a byte.
pub(crate) fn token(byte: u8) -> i32 {
    FIRST_BYTE + i32::from(byte)
}

const FIRST_BYTE: i32 = 3;

/// The types of tokens, as numbers of the file format.
#[derive(Clone, Copy)]
enum Kind {
    Unknown = 2,
    Control = 3,
    Byte = 6,
}

/// The types of values, as numbers of the file format.
#[derive(Clone, Copy)]
enum Type {
    U32 = 4,
    I32 = 5,
    F32 = 6,
    String = 8,
    Array = 9,
}

/// The file, GGUF version 3.
pub(crate) fn gguf() -> Vec<u8> {
    let special = [("<unk>", Kind::Unknown), ("<s>", Kind::Control), ("</s>", Kind::Control)];
    let mut tokens: Vec<(String, Kind)> = special.map(|(text, kind)| (text.to_owned(), kind)).into();
    tokens.extend((0..=u8::MAX).map(|byte| (format!("<0x{byte:02X}>"), Kind::Byte)));

    let mut file = File { bytes: Vec::new(), entries: 0 };
    file.text("general.architecture", "llama");
    file.text("tokenizer.ggml.model", "llama");
    file.list("tokenizer.ggml.tokens", Type::String, &tokens, |bytes, (text, _)| string(bytes, text));
    file.list("tokenizer.ggml.scores", Type::F32, &tokens, |bytes, _| bytes.extend(0_f32.to_le_bytes()));
    file.list("tokenizer.ggml.token_type", Type::I32, &tokens, |bytes, (_, kind)| {
        bytes.extend((*kind as i32).to_le_bytes());
    });
    for (key, id) in [("unknown_token_id", 0), ("bos_token_id", 1), ("eos_token_id", END.cast_unsigned())] {
        file.number(&format!("tokenizer.ggml.{key}"), id);
    }
    file.finish()
}

/// The entries of a file.
struct File {
    bytes: Vec<u8>,
    entries: u64,
}

impl File {
    fn entry(&mut self, key: &str, kind: Type) -> &mut Vec<u8> {
        self.entries += 1;
        string(&mut self.bytes, key);
        self.bytes.extend((kind as u32).to_le_bytes());
        &mut self.bytes
    }

    fn text(&mut self, key: &str, value: &str) {
        string(self.entry(key, Type::String), value);
    }

    fn number(&mut self, key: &str, value: u32) {
        self.entry(key, Type::U32).extend(value.to_le_bytes());
    }

    fn list<T>(&mut self, key: &str, kind: Type, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
        let bytes = self.entry(key, Type::Array);
        bytes.extend((kind as u32).to_le_bytes());
        bytes.extend((items.len() as u64).to_le_bytes());
        for item in items {
            write(bytes, item);
        }
    }

    /// The whole file: magic number, version, no tensors, the entries, and padding up to the place of tensors.
    fn finish(self) -> Vec<u8> {
        let mut whole = b"GGUF".to_vec();
        whole.extend(3_u32.to_le_bytes());
        whole.extend(0_u64.to_le_bytes());
        whole.extend(self.entries.to_le_bytes());
        whole.extend(self.bytes);
        whole.resize(whole.len().next_multiple_of(32), 0);
        whole
    }
}

fn string(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
