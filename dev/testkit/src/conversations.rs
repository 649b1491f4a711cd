//! Conversations of every kind that a template may be given: in six scripts, of any length, with one and two calls, with and without
//! text beside them, before and after their results. All that takes a conversation is tried with these.

use serde_json::{Value, json};

/// Words of six scripts, with characters of one to four bytes, and with marks that combine.
pub const SCRIPTS: [(&str, &str); 6] = [
    ("Latin", "Theskyoverthecityisgrey"),
    ("Chinese", "你好世界城市的天空是灰色"),
    ("Arabic", "السماءفوقالمدينةرمادية"),
    ("Devanagari", "शहरकेऊपरआकाशधूसरहै"),
    ("four bytes", "🌧🌤😀𝕏𝒳🀄🧑🏽"),
    ("combining marks", "e\u{301}a\u{308}\u{323}o\u{302}\u{301}u\u{328}"),
];

/// Numbers of characters, with which every boundary of a few dozen bytes is inside a character of some script.
pub const LENGTHS: [usize; 9] = [1, 2, 3, 5, 7, 8, 11, 19, 40];

/// The kinds, each as its turns: of the user (`u`), a result (`r`), an answer (`a`), with reasoning (`t`); one call or two (`1`, `2`),
/// one with null as its content (`n`), one or two with text before them (`x`, `y`).
pub const KINDS: [&str; 10] = ["ua", "uaua", "ut", "utua", "u1", "unra", "uxra", "u2rra", "uyrraua", "u1rxra"];

/// The messages of a kind, in OpenAI's form, with texts of this many characters.
pub fn messages(kind: &str, words: &str, length: usize) -> Vec<Value> {
    let (mut results, mut said, mut calls) = (Vec::new().into_iter(), 0, 0);
    let mut say = || {
        said += 1;
        Value::from(words.chars().cycle().skip(said).take(length).collect::<String>())
    };
    let mut message = |turn: char| match turn {
        'u' => json!({"role": "user", "content": say()}),
        'a' => json!({"role": "assistant", "content": say()}),
        't' => json!({"role": "assistant", "reasoning_content": say(), "content": say()}),
        'r' => {
            let (id, name) = results.next().unwrap_or_default();
            json!({"role": "tool", "tool_call_id": id, "name": name, "content": say()})
        }
        _ => {
            let content = match turn {
                'n' => Value::Null,
                'x' | 'y' => say(),
                _ => "".into(),
            };
            let names = ["look", "listen"].iter().take(if matches!(turn, '2' | 'y') { 2 } else { 1 });
            let made: Vec<(String, &str)> = names
                .map(|name| {
                    calls += 1;
                    (format!("call{calls:05}"), *name)
                })
                .collect();
            let call = |(id, name): &(String, &str)| {
                let function = json!({"name": name, "arguments": {"at": say()}});
                json!({"id": id, "type": "function", "function": function})
            };
            let made_calls: Vec<Value> = made.iter().map(call).collect();
            results = made.into_iter();
            json!({"role": "assistant", "content": content, "tool_calls": made_calls})
        }
    };
    kind.chars().map(&mut message).collect()
}

/// The tools that the conversations call, in OpenAI's form.
pub fn tools() -> Value {
    let tool = |name: &str| {
        let at = json!({"type": "string", "description": "The place"});
        let parameters = json!({"type": "object", "properties": {"at": at}, "required": ["at"]});
        json!({"type": "function", "function": {"name": name, "description": "A sense", "parameters": parameters}})
    };
    json!([tool("look"), tool("listen")])
}
