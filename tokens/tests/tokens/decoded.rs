//! Turns by their ids: the message is that of the text, and each token has the label of its text.

use std::fs;

use unjinja::{Options, Tools};
use unjinja_dynamic::Model;
use unjinja_testkit::{corpus, sample};
use unjinja_tokens::{Encoder, TokenPart};

use crate::Failure;
use crate::byte_level::of_bytes;

#[test]
fn ids_are_read_as_their_text() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let rows = unjinja_testkit::turns::turns(&corpus)?;
    let mut files: Vec<_> = fs::read_dir(corpus.join("templates"))?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let (mut turns, mut labelled, mut spelled, mut problems) = (0, 0, 0, Vec::new());
    for file in sample(files, 2) {
        let name = file.file_name().to_string_lossy().into_owned();
        let Ok(model) = Model::from_file(file.path()) else { continue };
        let markers = model.spec().tokens.preserved.iter().chain(&model.spec().tokens.other);
        let added: Vec<_> = markers.map(|marker| (marker.clone(), true)).collect();
        let vocabulary = of_bytes(&added)?;
        let encoder = Encoder::new(model, vocabulary.again()?);
        let own = |row: &&serde_json::Value| row["folder"] == "templates" && row["template"] == name;
        for row in sample(rows.iter().filter(own), 3) {
            let output = row["output"].as_str().unwrap_or_default();
            let offers: serde_json::Value = serde_json::from_str(&fs::read_to_string(corpus.join("turn_tools.json"))?)?;
            let tools = Tools::from_openai(row["tools"].as_str().map_or(&row["tools"], |name| &offers[name]))?;
            let prompt = row["generation_prompt"].as_str().unwrap_or_default();
            let options = Options::new().tools(&tools).generation_prompt(prompt);
            let ids = vocabulary.ids(output)?;
            let decoded = encoder.decode(&ids, &options);
            let expected = encoder.model().parse(output, &options);
            turns += 1;
            if decoded.message != expected {
                problems.push(format!("{name}: {output:?}\n  text {expected:?}\n  ids  {:?}", decoded.message));
            }
            // One token for each byte: the bytes of the answer and of the reasoning are what they are in the message.
            let text_of = |part| -> Vec<u8> {
                let tokens = ids.iter().zip(&decoded.labels).filter(|(_, label)| label.part == part);
                tokens.flat_map(|(id, _)| encoder.vocabulary().bytes(*id).unwrap_or_default().to_vec()).collect()
            };
            assert_eq!(ids.len(), decoded.labels.len());
            for (part, text) in
                [(TokenPart::Content, &expected.content), (TokenPart::Reasoning, &expected.reasoning_content)]
            {
                let found = String::from_utf8(text_of(part))?;
                labelled += 1;
                if expected.diagnostics.is_empty() && found.trim() != text.trim() {
                    problems.push(format!("{name}: {output:?}: {part:?} is labelled {found:?}, not {text:?}"));
                }
            }
            // Ordinary tokens that spell the whole turn are no markers.
            let Some((marker, _)) = added.first() else { continue };
            if ids.iter().any(|&id| encoder.vocabulary().control_token(id) == Some(marker.as_str())) {
                let page: Vec<u32> = vocabulary.spelled_ids(output)?;
                spelled += usize::from(encoder.decode(&page, &options).message != expected);
            }
        }
    }
    println!("{turns} turns, {labelled} labels, {spelled} pages");
    assert!(
        problems.is_empty(),
        "{} problems; the first:\n{}",
        problems.len(),
        problems[..problems.len().min(8)].join("\n")
    );
    assert!(turns > 100 && spelled > 20, "{turns} turns, {spelled} pages");
    Ok(())
}
