//! The outputs of all formats, and the message that clients have to get for each.

use std::collections::HashMap;

use serde_json::json;
use unjinja_dynamic::GrammarOptions;
use unjinja_runtime::Message;
use unjinja_server::http::ServedModel;
use unjinja_server::openai::ChatRequest;
use unjinja_testkit::sample;

use super::setup::{self, Failure, chat, loaded};
use crate::support::{models, outputs, tools_json};

/// An output that the upstream replays, and its message.
pub struct Case {
    pub model: String,
    pub seed: usize,
    pub output: String,
    pub expected: Message,
}

/// The models to serve, what the upstream replays, and the cases.
pub type Cases = (Vec<ServedModel>, HashMap<String, Vec<String>>, Vec<Case>);

/// At most `most` outputs of each format in the sample: the models to serve, what the upstream replays, and the cases.
pub fn cases(most: usize) -> Result<Cases, Failure> {
    let (mut served, mut texts, mut cases) = (Vec::new(), HashMap::new(), Vec::new());
    let tools = tools_json().map_err(|error| error.to_string())?;
    for model in sample(models().map_err(|error| error.to_string())?, 4) {
        let request = ChatRequest::from_value(&chat(json!({"model": model.name, "tools": tools})))?;
        let prepared = request.prepare(&model.spec)?;
        let options = prepared.render(&model.spec, |context| model.template.render(context))?.0.options;
        let found = outputs(&model.name).map_err(|error| error.to_string())?;
        // The upstream stops at the end of the turn; what an output has after it is never generated.
        let stops = setup::model(&model.name)?.grammar_for_any(&GrammarOptions::new())?.stops;
        let generated = |text: String| {
            let ends = stops.iter().filter_map(|stop| Some((text.find(stop)?, stop.len())));
            let end = ends.min().map_or(text.len(), |(at, length)| at + length);
            text[..end].to_owned()
        };
        let found: Vec<String> = found.into_iter().map(|one| generated(one.text)).take(most).collect();
        for (seed, output) in found.iter().enumerate() {
            let expected = unjinja_runtime::parse(model.parser.clone(), output.as_str(), &options);
            assert!(!expected.content.contains("Rain in Zürich?"), "{}: the prompt is no content", model.name);
            cases.push(Case { model: model.name.clone(), seed, output: output.clone(), expected });
        }
        served.push(loaded(&model.name)?);
        texts.insert(model.name.clone(), found);
    }
    Ok((served, texts, cases))
}
