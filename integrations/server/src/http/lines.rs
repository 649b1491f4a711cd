//! Reads server-sent events that arrive in pieces of any size. Lines may end in LF, CR or CRLF, and characters may be cut. It
//! knows nothing of what the events say.

/// Finds the data of each event in a stream of bytes.
#[derive(Debug)]
pub(crate) struct Events {
    /// Bytes of a line that has not ended.
    line: Vec<u8>,
    /// The data of the event that has not ended. Without data, it is not an event.
    data: Option<Vec<u8>>,
    /// The last byte was CR: an LF after it belongs to it.
    after_cr: bool,
    /// The first bytes may be a byte order mark.
    begun: bool,
    longest: usize,
}

/// A line or an event is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Events {
    /// `longest` is the most bytes that a line or the data of an event may have.
    pub(crate) fn new(longest: usize) -> Self {
        Self { line: Vec::new(), data: None, after_cr: false, begun: false, longest }
    }

    /// Takes the next bytes, and calls `sink` with the data of every event that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<(), TooLong> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                return if self.line.len() > self.longest { Err(TooLong) } else { Ok(()) };
            };
            self.line.extend_from_slice(&rest[..end]);
            if self.line.len() > self.longest {
                return Err(TooLong);
            }
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(sink)?;
        }
        Ok(())
    }

    /// The stream is over. Servers forget the blank line after the last event, so it counts without one.
    pub(crate) fn finish(&mut self, sink: &mut dyn FnMut(&[u8])) -> Result<(), TooLong> {
        if !self.line.is_empty() {
            self.end_line(sink)?;
        }
        self.end_event(sink);
        Ok(())
    }

    fn end_line(&mut self, sink: &mut dyn FnMut(&[u8])) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut text: &[u8] = &line;
        if !std::mem::replace(&mut self.begun, true) {
            text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        }
        if text.is_empty() {
            self.end_event(sink);
        } else if let Some(value) = field(text) {
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                    if data.len() > self.longest {
                        return Err(TooLong);
                    }
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        // The line's memory is used again.
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn end_event(&mut self, sink: &mut dyn FnMut(&[u8])) {
        if let Some(data) = self.data.take() {
            sink(&data);
        }
    }
}

/// The value of a line `data: value`. Old servers of llama.cpp write `error: value`, which is taken alike. Comments and other
/// fields say nothing.
fn field(line: &[u8]) -> Option<&[u8]> {
    let value = match line.strip_prefix(b"data").or_else(|| line.strip_prefix(b"error"))? {
        [] => &[],
        [b':', value @ ..] => value,
        _ => return None,
    };
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::{Events, TooLong};

    fn read(bytes: &[u8], step: usize) -> Vec<String> {
        let (mut events, mut found) = (Events::new(100), Vec::new());
        for piece in bytes.chunks(step) {
            events.push(piece, &mut |data| found.push(String::from_utf8_lossy(data).into_owned())).expect("short");
        }
        events.finish(&mut |data| found.push(String::from_utf8_lossy(data).into_owned())).expect("short");
        found
    }

    #[test]
    fn events_are_found_however_the_bytes_are_cut() {
        let text = "\u{FEFF}data: é\n\n: comment\r\ndata:two\r\ndata: lines\r\n\r\nevent: x\rdata\r\rid: 3\n\ndata:  x\n\ndata: last"
            .as_bytes();
        for step in 1..text.len() {
            assert_eq!(read(text, step), ["é", "two\nlines", "", " x", "last"], "in steps of {step}");
        }
    }

    #[test]
    fn a_line_has_a_limit() {
        let mut events = Events::new(10);
        assert_eq!(events.push(b"data: 12345", &mut |_| {}), Err(TooLong));
        let mut events = Events::new(10);
        assert_eq!(events.push(b"data: 123\ndata: 456\ndata: 789\n", &mut |_| {}), Err(TooLong));
    }
}
