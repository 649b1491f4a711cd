//! Realistic turns: short answers, Markdown, reasoning and calls with arguments of every type, in about the lengths that
//! chat models write. Each kind of turn comes again and again with other words and other lengths. Everything is made
//! without chance. The texts are our own and hold no marker of any format.

use serde_json::{Value, json};

use super::text;
use super::turn::{WorkloadTurn, offered};

/// How many kinds of turns there are; that many turns in a row show each kind once.
const KINDS: usize = 26;

/// The turn of this number.
pub(super) fn turn(number: usize) -> WorkloadTurn {
    let words = Words { seed: number };
    let few = |count: usize| words.some(count, 0);
    let turn = match number % KINDS {
        0 => answer(sentence(words, 4)),
        1 => answer(sentence(words, 9)).with_tools(),
        2 => answer(list(words)),
        3 => answer(markdown(words)),
        4 => answer(markdown(words)).with_tools(),
        5 => answer(format!("```python\n{}\n```", code(words, 4))),
        6 => answer(json!({"answer": {"list": [1, 2, 3], "text": few(3)}}).to_string()).with_tools(),
        7 => answer(text::prose(60 + words.below(120), number)),
        8 => answer(sentence(words, 5)).reasoned(sentence(words, 7)),
        9 => answer(markdown(words)).reasoned(thoughts(words)),
        10 => calls([stamp(words)]),
        11 => calls([place(words)]),
        12 => calls([route(words)]),
        13 => calls([alarm(words)]),
        14 => calls([record(words)]),
        15 => calls([tricky(words)]),
        16 => calls([plot(words)]),
        17 => calls([query(words)]),
        18 => calls([file(words, 3)]),
        19 => calls([file(words, 12 + words.below(40))]),
        20 => answer(sentence(words, 4)).calling([place(words)]),
        21 => calls([alarm(words)]).reasoned(sentence(words, 8)),
        22 => answer(sentence(words, 6)).reasoned(thoughts(words)).calling([record(words)]),
        23 => calls([place(words), alarm(Words { seed: number + 1 })]),
        24 => answer(sentence(words, 5)).calling([record(words), tricky(words), place(words)]),
        _ => calls([file(words, 6), stamp(words), query(words), plot(words), route(words), record(words)]),
    };
    if turn.calls.is_empty() { turn } else { turn.with_tools() }
}

impl WorkloadTurn {
    fn with_tools(self) -> Self {
        Self { tools: Some(tools()), ..self }
    }

    fn reasoned(self, reasoning: String) -> Self {
        Self { reasoning, ..self }
    }

    fn calling<const N: usize>(self, calls: [(String, Value); N]) -> Self {
        Self { calls: calls.into(), ..self }
    }
}

/// The words of one turn.
#[derive(Clone, Copy)]
struct Words {
    seed: usize,
}

impl Words {
    /// A text of `count` words; other ones for each place in the turn.
    fn some(self, count: usize, place: usize) -> String {
        text::words(count, 13 * self.seed + place)
    }

    /// A number below a limit; other ones for each turn.
    fn below(self, limit: usize) -> usize {
        text::mixed(self.seed) % limit
    }
}

fn answer(content: String) -> WorkloadTurn {
    WorkloadTurn { content, ..WorkloadTurn::default() }
}

fn calls<const N: usize>(calls: [(String, Value); N]) -> WorkloadTurn {
    WorkloadTurn::default().calling(calls)
}

fn sentence(words: Words, count: usize) -> String {
    format!("Here is {}.", words.some(count, 0))
}

fn list(words: Words) -> String {
    let [first, second, third] = [1, 2, 3].map(|place| words.some(3, place));
    format!(
        "{first}:\n\n- {second} <b>{third}</b>\n- [{first}]({second})\n\n```json\n{{\"{}\": 1}}\n```",
        words.some(1, 4)
    )
}

fn markdown(words: Words) -> String {
    let [title, first, second, last] = [1, 2, 3, 4].map(|place| words.some(3, place));
    let paragraph = text::prose(20 + words.below(40), words.seed);
    format!(
        "# {title}\n\n{paragraph}\n\n1. **{first}**: `{second} < {first}`\n2. {{\"{}\": [{}]}}\n\n| a | b |\n|---|---|\n| <x> | y && z |\n\n\
         ```python\n{}\n```\n\n{last} \u{2013} caf\u{e9} \u{1f680}.",
        words.some(1, 5),
        words.below(100),
        code(words, 2),
    )
}

fn thoughts(words: Words) -> String {
    let paragraph = text::prose(30 + words.below(90), words.seed + 1);
    format!("First, {}:\n\n- {}\n- {{\"x\": 1}}\n\n{paragraph}", words.some(3, 6), words.some(4, 7))
}

fn code(words: Words, lines: usize) -> String {
    text::code(lines).replace("step", &words.some(1, 8))
}

fn call(name: &str, arguments: Value) -> (String, Value) {
    (name.to_owned(), arguments)
}

fn stamp(_: Words) -> (String, Value) {
    call("current_time", json!({}))
}

fn place(words: Words) -> (String, Value) {
    call("find_place", json!({"place": words.some(2, 9)}))
}

fn route(words: Words) -> (String, Value) {
    call("find_route", json!({"from": words.some(2, 10), "to": words.some(1, 11)}))
}

fn alarm(words: Words) -> (String, Value) {
    let volume = words.below(100) as f64 + 0.5;
    let repeat = words.below(2) == 0;
    call("set_alarm", json!({"hour": words.below(24), "volume": volume, "repeat": repeat, "label": words.some(2, 12)}))
}

fn record(words: Words) -> (String, Value) {
    let record = json!({"title": words.some(2, 13), "size": words.below(1000)});
    call("save_record", json!({"record": record, "tags": [words.some(1, 14), words.some(1, 15)]}))
}

/// Strings that are escaped in JSON or in Python, or that look like something else.
fn tricky(words: Words) -> (String, Value) {
    const TEXTS: [&str; 8] = [
        "C:\\data\\new",
        "she said \"no\" twice",
        "it's 100 % of <b>this</b> & that",
        "one line\nand another\n\n\tindented",
        "5123123",
        "\u{65e5}\u{672c}\u{8a9e} \u{e9}\u{f1} \u{1f600}",
        "[1, 2] {\"a\": 3}",
        "true",
    ];
    let [one, other] = [0, 3].map(|more| TEXTS[(words.below(TEXTS.len()) + more) % TEXTS.len()]);
    call("find_route", json!({"from": one, "to": other}))
}

fn plot(words: Words) -> (String, Value) {
    let points: Vec<Value> = (0..2 + words.below(6)).map(|at| json!([at as f64 * 1.5, -7, 3.25])).collect();
    let style = json!({"line width": 2, "deep": {"er": [[1], {"none": null}]}, "label": words.some(2, 16)});
    call("plot", json!({"points": points, "style": style}))
}

fn query(words: Words) -> (String, Value) {
    let sql = format!("SELECT * FROM {} WHERE a = 'it''s' AND b <> \"x\" -- {{note}}", words.some(1, 17));
    call("run_query", json!({"sql": sql, "limit": words.below(50), "params": [1.5, true, words.some(1, 18)]}))
}

fn file(words: Words, lines: usize) -> (String, Value) {
    let path = format!("src/{}.py", words.some(1, 19));
    call("save_file", json!({"path": path, "text": code(words, lines), "append": words.below(2) == 1}))
}

/// The tools that are offered, in OpenAI's form.
fn tools() -> Value {
    let text = json!({"type": "string"});
    let integer = json!({"type": "integer"});
    let boolean = json!({"type": "boolean"});
    let list = json!({"type": "array"});
    let object = json!({"type": "object"});
    let tools = [
        ("current_time", json!({})),
        ("find_place", json!({"place": text})),
        ("find_route", json!({"from": text, "to": text})),
        ("set_alarm", json!({"hour": integer, "volume": {"type": "number"}, "repeat": boolean, "label": text})),
        ("save_record", json!({"record": object, "tags": list})),
        ("plot", json!({"points": list, "style": object})),
        ("run_query", json!({"sql": text, "limit": integer, "params": list})),
        ("save_file", json!({"path": text, "text": text, "append": boolean})),
    ];
    offered(tools)
}
