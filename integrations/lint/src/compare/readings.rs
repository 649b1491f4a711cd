//! Whether a parser reads the turns of another template as the parser of that template does.

use serde::Serialize;
use serde_json::Value;
use unjinja_analyzer::verify;
use unjinja_runtime::{Interpreter, Message, Options, parse};

use crate::subject::Subject;

/// How one parser reads the turns of another template.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TurnReadings {
    /// How many turns were read. Each is one that the template's own parser reads back.
    pub tried: usize,
    /// How many the other parser reads as the template's own.
    pub alike: usize,
    /// The shortest turn that is read otherwise; null if there is none.
    pub difference: Option<TurnDifference>,
}

/// A turn that two parsers read differently.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TurnDifference {
    /// What the model writes.
    pub output: String,
    /// The tools that are offered, as OpenAI has them.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Value>"))]
    pub tools: Value,
    /// The message that the template's own parser reads.
    pub own: Message,
    /// The message that the other parser reads.
    pub other: Message,
}

/// Reads random turns of `writer` with the parser of `reader`. Both are told what the prompt of `writer` has of the turn.
pub(super) fn of_turns(writer: &Subject, reader: &Subject, count: u32) -> TurnReadings {
    let mut readings = TurnReadings::default();
    let (Some(spec), Some(own), Some(other)) = (&writer.spec, &writer.parser, &reader.parser) else { return readings };
    let prompt = spec.generation_prompt.first().map_or("", |prompt| prompt.text.as_str());
    for turn in verify(writer.template(), spec, count, 1).turns {
        let read = |parser: &Interpreter| {
            let options = Options::new().tools(&turn.tools).generation_prompt(prompt);
            parse(parser.clone(), turn.body.as_str(), &options)
        };
        let own = read(own);
        // A turn of another prompt says nothing.
        if !says_the_same(&own, &turn.message) {
            continue;
        }
        let other = read(other);
        readings.tried += 1;
        if says_the_same(&own, &other) {
            readings.alike += 1;
        } else if readings.difference.as_ref().is_none_or(|known| turn.body.len() < known.output.len()) {
            readings.difference = Some(TurnDifference { output: turn.body, tools: turn.tools.to_openai(), own, other });
        }
    }
    readings
}

/// Whether two messages have the same texts and calls. White space at the ends of texts does not count, because it is next to a marker, and
/// a change of it is compatible. Ids are not compared: what a template writes for one depends on its form.
fn says_the_same(one: &Message, other: &Message) -> bool {
    let arguments = |text: &str| serde_json::from_str::<Value>(text).map_err(|_| text.to_owned());
    let calls = |message: &Message| -> Vec<_> {
        message.tool_calls.iter().map(|call| (call.name.clone(), arguments(&call.arguments))).collect()
    };
    let texts = |message: &Message| {
        [&message.content, &message.reasoning_content, &message.unparsed].map(|text| text.trim().to_owned())
    };
    (texts(one), calls(one)) == (texts(other), calls(other))
}
