//! Literals with quote tokens (being written).
use crate::json::Progress;
#[derive(Default)]
pub struct Translator;
impl Translator {
    pub fn new() -> Self { Self }
    pub fn feed(&mut self, _q: &str, b: &[u8], _o: &mut Vec<u8>) -> Progress { Progress::Done(b.len()) }
    pub fn finish(&mut self, _q: &str, _o: &mut Vec<u8>) -> bool { true }
    pub fn malformed(&self) -> bool { false }
}
