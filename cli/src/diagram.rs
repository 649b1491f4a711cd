//! A grammar as a railroad diagram, one track per rule. It reads only the GBNF that this project writes: one rule per line.

use railroad::{
    Choice, Comment, Diagram, Empty, Node, NonTerminal, Optional, Repeat, Sequence, SimpleEnd, SimpleStart, Stylesheet,
    Terminal, VerticalGrid,
};

type Track = Box<dyn Node>;

/// The diagram of a grammar as SVG. Its CSS makes it readable on a dark background too.
pub(crate) fn svg(grammar: &str) -> String {
    let mut tracks: Vec<Track> = Vec::new();
    for line in grammar.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            tracks.push(Box::new(Comment::new(comment.trim().to_owned())));
        } else if let Some((name, body)) = line.split_once(" ::= ") {
            let mut reader = Reader { rest: body };
            let body = reader.choice();
            let parts: Vec<Track> =
                vec![Box::new(Comment::new(name.to_owned())), Box::new(SimpleStart), body, Box::new(SimpleEnd)];
            tracks.push(Box::new(Sequence::new(parts)));
        }
    }
    let mut diagram = Diagram::new_with_stylesheet(VerticalGrid::new(tracks), &Stylesheet::Light);
    diagram.add_css(DARK);
    diagram.to_string()
}

/// The rules of a grammar: the name of each, and its diagram as SVG without a style.
pub(crate) fn rules(grammar: &str) -> Vec<(String, String)> {
    let rules = grammar.lines().filter_map(|line| line.split_once(" ::= "));
    let drawn = rules.map(|(name, body)| {
        let parts: Vec<Track> = vec![Box::new(SimpleStart), Reader { rest: body }.choice(), Box::new(SimpleEnd)];
        let track = Sequence::new(parts);
        // Only one attribute is set, because they are written in no fixed order. The width includes the diagram's margins.
        let width = format!("width: {}px", track.width() + 2 * MARGIN);
        let mut diagram = Diagram::new(track);
        diagram.attr("style".to_owned()).or_insert(width);
        (name.to_owned(), diagram.to_string())
    });
    drawn.collect()
}

/// The margin at each side of a diagram.
const MARGIN: i64 = 10;

/// The style for a dark background.
const DARK: &str = "@media (prefers-color-scheme: dark) {
  svg.railroad { background-color: #1b1d22; }
  svg.railroad path, svg.railroad rect { stroke: #c8ccd4; }
  svg.railroad .terminal rect { fill: #2b3a2f; }
  svg.railroad .nonterminal rect { fill: #2f3446; }
  svg.railroad text { fill: #e8eaee; }
}";

struct Reader<'g> {
    rest: &'g str,
}

impl<'g> Reader<'g> {
    fn choice(&mut self) -> Track {
        let mut ways = vec![self.sequence()];
        while self.take('|') {
            ways.push(self.sequence());
        }
        if ways.len() == 1 { ways.remove(0) } else { Box::new(Choice::new(ways)) }
    }

    fn sequence(&mut self) -> Track {
        let mut parts: Vec<Track> = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            let Some(first) = self.rest.chars().next() else { break };
            let part: Track = match first {
                '|' | ')' => break,
                '(' => {
                    self.take('(');
                    let inner = self.choice();
                    self.take(')');
                    inner
                }
                '"' => match self.text() {
                    "\"\"" => Box::new(Empty),
                    text => Box::new(Terminal::new(text.to_owned())),
                },
                '[' => Box::new(Terminal::new(self.class().to_owned())),
                _ => {
                    let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                    let end = end.unwrap_or(self.rest.len()).max(first.len_utf8());
                    Box::new(NonTerminal::new(self.cut(end).to_owned()))
                }
            };
            parts.push(self.repeated(part));
        }
        match parts.len() {
            0 => Box::new(Empty),
            1 => parts.remove(0),
            _ => Box::new(Sequence::new(parts)),
        }
    }

    fn repeated(&mut self, part: Track) -> Track {
        match self.rest.chars().next() {
            Some('?') => {
                self.cut(1);
                Box::new(Optional::new(part))
            }
            Some('*') => {
                self.cut(1);
                Box::new(Optional::new(Repeat::new(part, Empty)))
            }
            Some('+') => {
                self.cut(1);
                Box::new(Repeat::new(part, Empty))
            }
            Some('{') => {
                let end = self.rest.find('}').map_or(self.rest.len(), |at| at + 1);
                let count = self.cut(end).trim_matches(['{', '}']).to_owned();
                Box::new(Repeat::new(part, Comment::new(format!("{count} times"))))
            }
            _ => part,
        }
    }

    /// A literal with its quotes.
    fn text(&mut self) -> &'g str {
        self.up_to('"')
    }

    /// A character class with its brackets.
    fn class(&mut self) -> &'g str {
        self.up_to(']')
    }

    fn up_to(&mut self, close: char) -> &'g str {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|&(_, char)| {
            let ends = !escaped && char == close;
            escaped = !escaped && char == '\\';
            ends
        });
        self.cut(end.map_or(self.rest.len(), |(at, char)| at + char.len_utf8()))
    }

    fn take(&mut self, char: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(char) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn cut(&mut self, at: usize) -> &'g str {
        let (head, rest) = self.rest.split_at(at);
        self.rest = rest;
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_a_track() {
        let svg = svg("root ::= \"a\\\"|\" (b | [^\\]x]{0,3})* c?\n# about b\nb ::= \"é\" | \"\"\n");
        for text in ["root", "\\&quot;|", "[^\\]x]", "0,3 times", "about b", "é"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(svg.starts_with("<svg") && svg.contains("prefers-color-scheme: dark"));
    }
}
