//! Random messages, rendered by each of our templates and read back by its compiled parser, however the text is cut.

use std::fs;

use crate::support::{Failure, own_models, own_parser, root};
use serde_json::Value;
use unjinja::testing::{Cut, Transcript};
use unjinja::{Message, Options};
use unjinja_analyzer::verify;
use unjinja_render::Template;

/// How many messages are rendered for each template.
const MESSAGES: u32 = 60;

/// A seed that differs from the one of `analyze`, so that these are other messages.
const SEED: u64 = 4711;

/// How the message that was read differs from the one that was rendered, apart from white space at the ends of texts.
fn difference(expected: &Message, found: &Message) -> Option<String> {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    let calls = |message: &Message| -> Vec<(String, Option<Value>, bool)> {
        let calls = message.tool_calls.iter();
        calls.map(|call| (call.name.clone(), value(&call.arguments), call.complete)).collect()
    };
    let same = expected.content.trim() == found.content.trim()
        && expected.reasoning_content.trim() == found.reasoning_content.trim()
        && calls(expected) == calls(found);
    (!same).then(|| format!("expected {expected:?}\n  found    {found:?}"))
}

#[test]
fn random_messages_come_back_from_every_template_at_every_cut() -> Result<(), Failure> {
    let (mut read, mut with_calls, mut problems) = (0, 0, Vec::new());
    for model in own_models()? {
        let info = &model.spec.template;
        let template = Template::parse(&info.file, &fs::read_to_string(root().join("templates").join(&info.file))?)?;
        let parser = own_parser(&info.file)?;
        let verification = verify(&template, &model.spec, MESSAGES, SEED);
        assert!(verification.tried >= MESSAGES / 2, "{}: only {} can be rendered", info.name, verification.tried);
        problems.extend(verification.failures.iter().map(|failure| format!("{}: {failure:?}", info.name)));
        for (number, turn) in (0..).zip(&verification.turns) {
            let options = Options::new().tools(&turn.tools).generation_prompt(&model.spec.turn.assistant_start);
            with_calls += usize::from(!turn.message.tool_calls.is_empty());
            let at = Cut::At(turn.body.len() / 2);
            for cut in [Cut::Whole, Cut::Chunks(1), Cut::Random { seed: number }, Cut::Random { seed: !number }, at] {
                read += 1;
                let found = Transcript::of(parser, turn.body.as_bytes(), &cut, &options);
                let problem = found.disorder().or_else(|| difference(&turn.message, &found.message));
                problems.extend(problem.map(|problem| format!("{}, {cut}: {:?}: {problem}", info.name, turn.body)));
            }
        }
    }
    assert!(problems.is_empty(), "{} of {read}; the first:\n{}", problems.len(), problems[0]);
    assert!(read > 5000 && with_calls > 500, "{read} texts, {with_calls} with calls: too few to show anything");
    Ok(())
}
