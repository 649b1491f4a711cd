//! Any bytes as the output of any model, cut anywhere. Checks what a parser promises for every input: no text is lost, the cut
//! does not matter, the work is linear, arguments are JSON.

use unjinja::testing::{Cut, Piece, Random, Transcript, bytes_from_prompt, bytes_looked_at};
use unjinja::{ChatParser, Chunk, CutCalls, DiagnosticKind, Message, Options, Unparsed, close_json};

use crate::lossless;
use crate::models::{self, Model};
use crate::values::is_json;

/// How many bytes at the start of an input choose the model and the options. The rest is the output.
pub const HEADER: usize = 4;

/// Tools of which some may be called.
const CALLABLE: &[&str] = &["get_weather", "now"];

/// How often a byte may be read, for any text. Repeated adversarial texts stay below six. In a text that a fuzzer makes up, a
/// part may be searched, compared and tried as a call, and each of that twice.
const WORK: u64 = 8;

/// How many more bytes may be read, however short the text is.
const WORK_AT_LEAST: u64 = 64;

/// The model and the options of an input.
pub struct Trial {
    /// The model whose parser reads it.
    pub model: &'static Model,
    /// The options of the parse.
    pub options: Options,
    /// The cut whose result is compared with that of the whole text.
    pub cut: Cut,
    /// Whether options change the text: reasoning stays in the content with its markers, a fence around the content is removed, or
    /// arguments are completed.
    mended: bool,
    /// The tools that may be called, if not all may.
    callable: Option<&'static [&'static str]>,
    /// The most calls that may be made.
    most: usize,
    /// What becomes of a call that is cut off.
    cut_calls: CutCalls,
}

impl Trial {
    /// Splits an input into its choices and its output; `None` if it is too short.
    pub fn read(input: &[u8]) -> Option<(Self, &[u8])> {
        let (&[number, flags, prompt, cut], rest) = input.split_first_chunk()?;
        let model = models::chosen(usize::from(number));
        let mut options = Options::new();
        if flags & 1 == 0 {
            options = options.tools(&models::TOOLS);
        }
        options = options
            .extract_reasoning(flags & 2 == 0)
            .parallel_tool_calls(flags & 4 == 0)
            .json_response(flags & 24 == 24)
            .unparsed(if flags & 32 == 0 { Unparsed::Content } else { Unparsed::Separate });
        let callable = match flags >> 6 {
            0 => None,
            most => CALLABLE.get(..usize::from(most) - 1),
        };
        if let Some(names) = callable {
            options = options.callable(names.iter().copied());
        }
        let cut_calls = match prompt >> 6 {
            1 => CutCalls::Close,
            2 => CutCalls::Drop,
            _ => CutCalls::Keep,
        };
        let mended = flags & 2 != 0 || flags & 24 == 24 || cut_calls == CutCalls::Close;
        let prompts = &model.spec.generation_prompt;
        options = options.cut_calls(cut_calls);
        options = match usize::from(prompt & 63) {
            0 => options,
            1 => options.thinking(false),
            2 => options.thinking(true),
            3 => options.generation_prompt(model.spec.turn.assistant_start.clone()),
            n => match prompts.get(n % prompts.len().max(1)) {
                Some(prompt) => options.generation_prompt(prompt.text.clone()),
                None => options,
            },
        };
        let cut = match cut {
            0..8 => Cut::Chunks(usize::from(cut) + 1),
            8..64 => Cut::At(usize::from(cut) - 7),
            _ => Cut::Random { seed: cut.into() },
        };
        let most = if flags & 4 == 0 { usize::MAX } else { 1 };
        Some((Self { model, options, cut, mended, callable, most, cut_calls }, rest))
    }

    /// Checks the property for this text.
    ///
    /// # Errors
    /// The property that does not hold, with the model and the text.
    pub fn check(&self, text: &[u8]) -> Result<(), String> {
        self.find(text).map_err(|problem| {
            let pieces: Vec<_> = self.cut.pieces(text).iter().map(|p| p.escape_ascii().to_string()).collect();
            let name = &self.model.spec.template.name;
            format!("{problem}\n  model    {name}\n  options  {:?}\n  pieces   {pieces:?}", self.options)
        })
    }

    fn find(&self, text: &[u8]) -> Result<(), String> {
        let parser = self.model.parser;
        let whole = Transcript::of(parser, text, &Cut::Whole, &self.options);
        if let Some(problem) = whole.disorder() {
            return Err(problem);
        }
        let message = parser.parse(Chunk::Bytes(text), &self.options);
        agree("in batch", &message, &whole.message)?;
        agree("borrowed", &parser.parse_borrowed(Chunk::Bytes(text), &self.options).into_owned(), &message)?;
        let interpreter = &self.model.interpreter;
        for (how, other) in [
            ("compiled, cut", Transcript::of(parser, text, &self.cut, &self.options)),
            ("interpreted, whole", Transcript::of(interpreter, text, &Cut::Whole, &self.options)),
            ("interpreted, cut", Transcript::of(interpreter, text, &self.cut, &self.options)),
        ] {
            if other != whole {
                return Err(format!("{how}, read otherwise\n  whole    {whole:?}\n  other    {other:?}"));
            }
        }
        calls_are_json(&message)?;
        self.calls_are_allowed(&message)?;
        self.cut_calls_are_as_asked(&message, text)?;
        if !self.mended {
            lossless::check(self.model, &self.options, text, &whole)?;
            // Where broken markup goes changes nothing else.
            let read = |unparsed| {
                let options = self.options.clone().unparsed(unparsed);
                as_content(Transcript::of(parser, text, &Cut::Whole, &options).events)
            };
            let (content, separate) = (read(Unparsed::Content), read(Unparsed::Separate));
            if content != separate {
                return Err(format!(
                    "broken markup changes the rest
  content  {content:?}
  separate {separate:?}"
                ));
            }
        }
        linear(parser, &self.cut.pieces(text), &self.options)?;
        ends(parser, text, &self.options, &whole)
    }
}

impl Trial {
    /// No call is delivered that the options rule out.
    fn calls_are_allowed(&self, message: &Message) -> Result<(), String> {
        let is_ruled_out = |name: &str| self.callable.is_some_and(|names| !names.contains(&name));
        let calls = &message.tool_calls;
        if calls.len() > self.most || calls.iter().any(|call| is_ruled_out(&call.name)) {
            return Err(format!("calls that are ruled out: {calls:?}"));
        }
        Ok(())
    }
}

impl Trial {
    /// Calls that are cut off differ from those that are kept as the options say, and nothing else does.
    fn cut_calls_are_as_asked(&self, message: &Message, text: &[u8]) -> Result<(), String> {
        if self.cut_calls == CutCalls::Keep {
            return Ok(());
        }
        let mut kept = self.model.parser.parse(Chunk::Bytes(text), &self.options.clone().cut_calls(CutCalls::Keep));
        if self.cut_calls == CutCalls::Close {
            for call in kept.tool_calls.iter_mut().filter(|call| !call.complete) {
                call.arguments = call.closed_arguments();
            }
            return agree("with the arguments of cut calls completed", message, &kept);
        }
        kept.tool_calls.retain(|call| call.complete);
        // Where one call may be made, another one may take the place of a dropped one.
        let is_same = self.most == 1 || kept.tool_calls == message.tool_calls;
        match is_same && message.tool_calls.iter().all(|call| call.complete) {
            true => Ok(()),
            false => Err(format!("a cut call was not dropped\n  kept     {kept:?}\n  dropped  {message:?}")),
        }
    }
}

/// Events with broken markup as content.
fn as_content(events: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for event in events {
        let event = if let Piece::Unparsed(text) = event { Piece::Content(text) } else { event };
        match (joined.last_mut(), event) {
            (Some(Piece::Content(all)), Piece::Content(text)) => all.push_str(&text),
            (_, event) => joined.push(event),
        }
    }
    joined
}

fn agree(how: &str, one: &Message, other: &Message) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("{how} another message\n  one      {one:?}\n  other    {other:?}")) }
}

/// The arguments of a complete call are JSON or are flagged as malformed. Closed arguments are always JSON.
pub fn calls_are_json(message: &Message) -> Result<(), String> {
    for (number, call) in message.tool_calls.iter().enumerate() {
        let told = |kind| message.diagnostics.iter().any(|d| d.kind == kind && d.call == Some(number));
        if call.complete && !is_json(&call.arguments) && !told(DiagnosticKind::MalformedArguments) {
            return Err(format!("arguments that are no JSON, and nobody says so: {call:?}"));
        }
        if !call.complete && !told(DiagnosticKind::IncompleteCall) {
            return Err(format!("a call that is not closed, and nobody says so: {call:?}"));
        }
        let closed = close_json(&call.arguments);
        if !is_json(&closed) {
            return Err(format!("closed, {:?} is no JSON: {closed:?}", call.arguments));
        }
    }
    Ok(())
}

fn linear(parser: &dyn ChatParser, pieces: &[&[u8]], options: &Options) -> Result<(), String> {
    let mut stream = parser.stream(options);
    pieces.iter().for_each(|piece| stream.push_bytes(piece, &mut |_| {}));
    stream.finish(&mut |_| {});
    let fed = (bytes_from_prompt(&*stream) + pieces.iter().map(|piece| piece.len()).sum::<usize>()) as u64;
    let work = bytes_looked_at(&*stream);
    if work > WORK * fed + WORK_AT_LEAST { Err(format!("{work} bytes looked at of {fed}")) } else { Ok(()) }
}

/// A second `finish` reports nothing; `reset` makes the parser new and returns what was not committed.
fn ends(parser: &dyn ChatParser, text: &[u8], options: &Options, whole: &Transcript) -> Result<(), String> {
    let mut stream = parser.stream(options);
    let at = Random::new(text.len() as u64).below(text.len() + 1);
    stream.push_bytes(&text[..at], &mut |_| {});
    let rest = stream.reset();
    if !text[..at].ends_with(&rest) && bytes_from_prompt(&*stream) == 0 {
        return Err(format!(
            "reset after {at} bytes hands back {:?}, which was not fed",
            rest.escape_ascii().to_string()
        ));
    }
    let mut message = Message::default();
    stream.push_bytes(text, &mut |event| message.apply(&event));
    stream.finish(&mut |event| message.apply(&event));
    agree("after a reset", &message, &whole.message)?;
    let mut again = 0;
    stream.finish(&mut |_| again += 1);
    if again > 0 {
        return Err(format!("{again} events after the end"));
    }
    // A push after the end begins a new turn.
    let mut message = Message::default();
    stream.push_bytes(text, &mut |event| message.apply(&event));
    stream.finish(&mut |event| message.apply(&event));
    agree("in a second turn", &message, &whole.message)
}

/// Makes a text of markers, parts of markers and letters from the bytes, so that few bytes already make an interesting text.
pub fn spelled(model: &Model, input: &[u8]) -> Vec<u8> {
    const ODD: [&[u8]; 16] = [
        b"\xFF",
        b"\xF0\x9F",
        "\u{e9}".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"{\"name\": \"",
        b"get_weather",
        b"\", \"arguments\": {",
        b"\"city\": \"Paris\"",
        b"}}",
        b"\\\"",
        b"\\u00e9",
        b"\n\n",
        b"    ",
        b"{\"a\": [1, 2.50, null]}",
        b"```json\n",
        b"(city='Paris', days=2)",
    ];
    let mut out = Vec::new();
    let mut bytes = input.iter().copied();
    let mut last: &[u8] = b"";
    while let Some(byte) = bytes.next() {
        let count = model.markers.len().max(1);
        let marker = model.markers.get(usize::from(byte) % count).map_or(&b""[..], String::as_bytes);
        match byte {
            0..128 => last = input_byte(&byte),
            128..192 => last = marker,
            192..224 => last = &marker[..usize::from(bytes.next().unwrap_or(0)) % (marker.len() + 1)],
            224..240 => last = ODD[usize::from(byte) % ODD.len()],
            240.. => (0..byte - 240).for_each(|_| out.extend_from_slice(last)),
        }
        out.extend_from_slice(last);
        if out.len() > LONGEST {
            out.truncate(LONGEST);
            break;
        }
    }
    out
}

/// The longest text that is made, in bytes.
const LONGEST: usize = 1024;

/// One byte as a static slice.
fn input_byte(byte: &u8) -> &'static [u8] {
    static ASCII: [u8; 128] = {
        let mut all = [0; 128];
        let mut n = 0;
        while n < 128 {
            all[n] = n as u8;
            n += 1;
        }
        all
    };
    let at = usize::from(*byte) % 128;
    &ASCII[at..=at]
}
