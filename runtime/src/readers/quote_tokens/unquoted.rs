//! Strings without quote tokens, or without the closing one. Models write them; no template does.

use memchr::{memchr, memchr2};

use super::asks::OpenString;
use super::{At, Translator, is_name};
use crate::readers::structure::{Container, Expect};

/// How much text after a word is held back, in bytes, while it may be the next key.
const MAX_GAP: usize = 64;

impl Translator {
    /// Text that is neither a value nor a key, where one of them or a separator is expected. It becomes a value or a key of
    /// its own.
    pub(super) fn stray(&mut self, expect: Expect, text: &[u8], out: &mut Vec<u8>) {
        self.structure.malformed = true;
        let expect = if expect == Expect::Comma { self.structure.next_item() } else { expect };
        match expect {
            Expect::Key => {
                self.begin_bare_key(out);
                return self.key_text(text, out);
            }
            Expect::Item => self.structure.separate(out),
            Expect::Colon => out.extend_from_slice(b": "),
            _ => {}
        }
        self.structure.in_key = false;
        self.scalar.begin();
        self.begin_word(out);
        self.text(text, out);
    }

    /// Takes text that is neither a number nor a word of JSON. It ends before the next key, a closing bracket or a quote token.
    pub(super) fn word(&mut self, quote: &[u8], rest: &[u8], out: &mut Vec<u8>) -> usize {
        let mut end = rest.len();
        for (at, &byte) in rest.iter().enumerate() {
            match byte {
                b',' if self.asks_at_comma() => {
                    if at == 0 && std::mem::take(&mut self.asks.answered) {
                        continue;
                    }
                    self.asks.now = true;
                    end = at;
                    break;
                }
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
            Some(_) if self.asks.now => {}
            Some(&byte) if self.ends_word(quote, byte) => self.end_string(out),
            Some(_) => self.at = At::Gap,
        }
        end
    }

    /// Whether the next argument may begin at a comma. In a list a comma ends the item; in an object a key follows it.
    fn asks_at_comma(&self) -> bool {
        self.asks.at_commas && self.structure.is_outermost()
    }

    fn ends_word(&self, quote: &[u8], byte: u8) -> bool {
        let comma = byte == b',' && !self.in_object();
        comma || matches!(byte, b'}' | b']' | b')') || quote.first() == Some(&byte)
    }

    fn in_object(&self) -> bool {
        self.structure.innermost() == Some(Container::Object)
    }

    /// Takes a byte after white space or a comma in a word. The word continues there, unless a key or its end comes.
    pub(super) fn gap(&mut self, quote: &[u8], byte: u8, out: &mut Vec<u8>) -> usize {
        if byte == b',' && self.asks_at_comma() {
            if !self.asks.answered {
                self.asks.now = true;
                return 0;
            }
            self.write_tail(out);
            return self.again(At::Word);
        }
        let in_object = self.in_object();
        let separates = byte == b',' || byte.is_ascii_whitespace();
        let text = self.tail_has_text();
        if self.ends_word(quote, byte) {
            if text {
                self.write_tail(out);
            }
            self.tail.clear();
            self.end_string(out);
            return 0;
        }
        // Without a comma it may be a word that ends in a colon, such as `see http:`.
        if byte == b':' && text && self.tail.contains(&b',') {
            let mut tail = std::mem::take(&mut self.tail);
            self.end_string(out);
            self.structure.separate(out);
            self.structure.in_key = true;
            out.push(b'"');
            let key = tail.iter().rposition(|byte| !is_name(*byte)).map_or(0, |at| at + 1);
            self.text(&tail[key..], out);
            self.end_string(out);
            tail.clear();
            self.tail = tail;
            return 0;
        }
        let full = self.tail.len() >= MAX_GAP;
        if full || (separates && (text || (byte == b',' && self.tail.contains(&b',')))) {
            self.write_tail(out);
        }
        if separates || (in_object && !full && is_name(byte)) {
            self.tail.push(byte);
            return 1;
        }
        self.write_tail(out);
        self.again(At::Word)
    }

    /// Whether what is held back after a word is more than white space and a comma.
    pub(super) fn tail_has_text(&self) -> bool {
        self.tail.iter().any(|&byte| byte != b',' && !byte.is_ascii_whitespace())
    }

    /// Takes a byte after a single quote. It was the last one if a separator, a closing bracket or a quote token follows.
    pub(super) fn single_end(&mut self, quote: &[u8], byte: u8, out: &mut Vec<u8>) -> usize {
        if matches!(byte, b',' | b'}' | b']' | b')') || quote.first() == Some(&byte) {
            self.tail.clear();
            self.end_string(out);
            self.single = true;
            return 0;
        }
        if byte.is_ascii_whitespace() && self.tail.len() < MAX_GAP {
            self.tail.push(byte);
            return 1;
        }
        self.write_tail(out);
        self.again(At::Single)
    }

    /// From now on, `feed` stops before commas in a string without quote tokens, and before `end` in a string with them, if the
    /// string is the whole value. Then [`continues`](Self::continues) or [`close`](Self::close) has to come.
    pub(crate) fn ask(&mut self, end: Option<[u8; 2]>) {
        (self.asks.at_commas, self.asks.at_end) = (true, end);
    }

    /// The byte before which `feed` stopped belongs to the string.
    pub(crate) fn continues(&mut self) {
        self.asks.answered = true;
    }

    /// The value ends before the byte at which `feed` stopped.
    pub(crate) fn close(&mut self, out: &mut Vec<u8>) {
        self.tail.clear();
        self.structure.malformed = true;
        self.end_string(out);
    }

    /// Whether these bytes hold the first of a text before which `feed` stops.
    pub(crate) fn may_end_with(&self, bytes: &[u8]) -> bool {
        self.asks.at_end.is_some_and(|[first, _]| bytes.contains(&first))
    }

    /// The string that is being read where `feed` stopped.
    pub(crate) fn open_string(&self) -> OpenString {
        if self.at == At::Text { OpenString::Quoted } else { OpenString::Bare }
    }

    /// How much of a string comes before what may be its quote token, or before a place to ask about.
    pub(super) fn plain_text(&mut self, quote: &[u8], rest: &[u8]) -> usize {
        let first = quote.first().copied();
        let Some([one, two]) = self.asks.at_end.filter(|_| self.structure.is_outermost()) else {
            return first.and_then(|first| memchr(first, rest)).unwrap_or(rest.len());
        };
        // Where no quote token may come, only the other byte counts.
        let first = first.unwrap_or(one);
        let mut from = usize::from(std::mem::take(&mut self.asks.answered) && rest.first() == Some(&one));
        while let Some(at) = memchr2(first, one, &rest[from..]).map(|at| from + at) {
            if rest[at] == one && rest.get(at + 1).is_none_or(|&next| next == two) {
                self.asks.now = true;
                return at;
            }
            if rest[at] == first && first != one {
                return at;
            }
            from = at + 1;
        }
        rest.len()
    }
}
