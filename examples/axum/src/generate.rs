//! Stands in for a model: it replays texts that a model of this format could write. Put your model here. All that the handler
//! wants is a function that takes a prompt and gives the output back in pieces, special tokens included.

use std::time::Duration;

use tokio::sync::mpsc;

/// Without tools.
const HELLO: &str = "<think>A greeting, so I greet.</think>\nHello! What can I do for you?<|end|>";
/// With the tool of `examples/chat`.
const CALL: &str = "<think>I have to look into the file.</think>\nLet me see.\n<call>{\"name\": \"count_words\", \
                    \"arguments\": {\"file\": \"README.md\"}}</call><|end|>";
/// After the tool's result.
const ANSWER: &str = "<think>The tool has counted.</think>\nNow we both know how long it is.<|end|>";

/// The output for a prompt, in pieces. The model stops when the receiver is dropped.
pub fn generate(prompt: &str) -> mpsc::Receiver<String> {
    let text = match prompt {
        // How this template writes the result of a call.
        prompt if prompt.contains("<|tool|>") => ANSWER,
        prompt if prompt.contains("count_words") => CALL,
        _ => HELLO,
    };
    let (send, receive) = mpsc::channel(8);
    tokio::spawn(async move {
        for piece in text.split_inclusive(' ') {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if send.send(piece.to_owned()).await.is_err() {
                return;
            }
        }
    });
    receive
}
