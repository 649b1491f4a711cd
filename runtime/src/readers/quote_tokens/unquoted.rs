//! Strings without quote tokens. Models write them; no template does.

use super::{At, OBJECT, Translator};

/// How much text after a word is held back, in bytes, while it may be the next key.
const MAX_GAP: usize = 64;

impl Translator {
    /// Text that is neither a value nor a key, where one of them or a separator should stand. It becomes a value or a key of its own.
    pub(super) fn stray(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.malformed = true;
        if self.at == At::After {
            self.at = self.next_item();
        }
        match self.at {
            At::Key => {
                self.begin_bare_key(out);
                return self.key_text(text, out);
            }
            At::Item => self.separate(out),
            At::Colon => out.extend_from_slice(b": "),
            _ => {}
        }
        self.in_key = false;
        self.token.clear();
        self.begin_word(out);
        self.text(text, out);
    }

    /// Takes text that is neither number nor literal. It ends before the next key, a closing bracket or a quote token.
    pub(super) fn word(&mut self, quote: &[u8], rest: &[u8], out: &mut Vec<u8>) -> usize {
        let mut end = rest.len();
        for (at, &byte) in rest.iter().enumerate() {
            match byte {
                b'(' => self.brackets += 1,
                b')' if self.brackets > 0 => self.brackets -= 1,
                _ if self.ends_word(quote, byte) || byte == b',' || byte.is_ascii_whitespace() => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        self.text(&rest[..end], out);
        match rest.get(end) {
            None => {}
            Some(&byte) if self.ends_word(quote, byte) => self.end_string(out),
            Some(_) => self.at = At::Gap,
        }
        end
    }

    fn ends_word(&self, quote: &[u8], byte: u8) -> bool {
        let comma = byte == b',' && self.nesting.last() != Some(OBJECT);
        comma || matches!(byte, b'}' | b']' | b')') || quote.first() == Some(&byte)
    }

    /// Takes a byte behind white space or a comma in a word. The word goes on there, unless a key or its end comes.
    pub(super) fn gap(&mut self, quote: &[u8], byte: u8, out: &mut Vec<u8>) -> usize {
        let in_object = self.nesting.last() == Some(OBJECT);
        let separates = byte == b',' || byte.is_ascii_whitespace();
        let text = self.gap_has_text();
        if self.ends_word(quote, byte) {
            if text {
                self.held_text(out);
            }
            self.token.clear();
            self.end_string(out);
            return 0;
        }
        // Without a comma it may be a word that ends in a colon, such as `see http:`.
        if byte == b':' && text && self.token.contains(&b',') {
            let token = std::mem::take(&mut self.token);
            self.end_string(out);
            self.separate(out);
            self.in_key = true;
            out.push(b'"');
            let key = token.iter().rposition(|byte| !is_key(*byte)).map_or(0, |at| at + 1);
            self.text(&token[key..], out);
            self.end_string(out);
            return 0;
        }
        let full = self.token.len() >= MAX_GAP;
        if full || (separates && (text || (byte == b',' && self.token.contains(&b',')))) {
            self.held_text(out);
        }
        if separates || (in_object && !full && is_key(byte)) {
            self.token.push(byte);
            return 1;
        }
        self.held_text(out);
        self.again(At::Word)
    }

    /// Whether what is held back behind a word is more than white space and a comma.
    pub(super) fn gap_has_text(&self) -> bool {
        self.token.iter().any(|&byte| byte != b',' && !byte.is_ascii_whitespace())
    }

    /// Takes a byte behind a single quote. It was the last one if a separator, a closing bracket or a quote token follows.
    pub(super) fn single_end(&mut self, quote: &[u8], byte: u8, out: &mut Vec<u8>) -> usize {
        if matches!(byte, b',' | b'}' | b']' | b')') || quote.first() == Some(&byte) {
            self.token.clear();
            self.end_string(out);
            self.single = true;
            return 0;
        }
        if byte.is_ascii_whitespace() && self.token.len() < MAX_GAP {
            self.token.push(byte);
            return 1;
        }
        self.held_text(out);
        self.again(At::Single)
    }
}

/// Whether a byte can be part of a key in front of which a comma was forgotten or a value has no quotes.
fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}
