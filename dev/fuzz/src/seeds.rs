//! The first inputs of each fuzz target, and its dictionary, made from files of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use unjinja_analyzer::verify;
use unjinja_build::templates_in;
use unjinja_render::Template;
use unjinja_spec::{ContentMode, FormatSpec, REPEATED_NAME, ReasoningMode};

use crate::models::{self, Model, root};
use crate::prose;

/// Why seeds could not be made: a file is missing.
pub type Failure = Box<dyn std::error::Error>;

/// The seeds of a target, in a fixed order.
///
/// # Errors
/// A file of the repository cannot be read.
pub fn seeds(target: &str) -> Result<Vec<Vec<u8>>, Failure> {
    Ok(match target {
        "outputs" => outputs()?,
        "markers" => markers(),
        "prose" => sentences(),
        "render" => [templates()?, snippets()?].concat(),
        "analyze" => templates()?,
        "specs" => specs(),
        "schemas" => schemas()?,
        "values" => values()?,
        "sources" => sources()?,
        _ => return Err(format!("no target is called {target}").into()),
    })
}

/// Outputs of a model: the cases of its template, and turns that the template renders.
fn outputs() -> Result<Vec<Vec<u8>>, Failure> {
    let mut out = Vec::new();
    for (number, model) in models::all().iter().enumerate() {
        let name = &model.spec.template.name;
        // The seeds take turns in what becomes of calls that are cut off.
        let mut add = |text: &str| {
            let header = [number as u8, 0, ((out.len() % 3) << 6) as u8, 200];
            out.push([&header, text.as_bytes()].concat());
        };
        let cases = root().join("tests/cases").join(format!("{name}.toml"));
        if cases.exists() {
            let cases: toml::Table = fs::read_to_string(cases)?.parse()?;
            let cases = cases.get("case").and_then(toml::Value::as_array).cloned().unwrap_or_default();
            cases.iter().filter_map(|case| case.get("output")?.as_str()).for_each(&mut add);
        }
        let path = root().join("templates").join(&model.spec.template.file);
        if path.exists() {
            let template = Template::parse(name, &fs::read_to_string(path)?)?;
            verify(&template, &model.spec, 6, 5).turns.iter().for_each(|turn| add(&turn.body));
        }
        if model.parser.info().name == *name {
            add(&written(model));
        }
    }
    Ok(out)
}

/// A turn with every part of the spec, assembled from its markers.
fn written(model: &Model) -> String {
    let (tools, spec) = (&model.spec.tools, &model.spec);
    [
        &spec.reasoning.start,
        "Hm.",
        &spec.reasoning.end,
        &spec.content.start,
        "Well.",
        &spec.content.end,
        &tools.section_start,
        &tools.per_call_start,
        &tools.function.name_prefix,
        models::NAMES[0],
        &tools.function.name_suffix,
        &tools.arguments.start,
        "{\"city\": \"Paris\"}",
        &tools.arguments.end,
        &tools.function.close,
        &tools.per_call_end,
        &tools.section_end,
        &spec.turn.end,
    ]
    .concat()
    .replace(REPEATED_NAME, models::NAMES[0])
}

/// All specs, and each with something that few formats have.
fn specs() -> Vec<Vec<u8>> {
    let specs = || models::all().iter().map(|model| &model.spec);
    let changed = specs().enumerate().map(|(number, spec)| changed(spec.clone(), number));
    specs().cloned().chain(changed).map(|spec| spec.to_toml().into_bytes()).collect()
}

/// A spec whose calls repeat the function's name, whose reasoning only ends where the answer begins, or whose arguments are nested
/// elements.
fn changed(mut spec: FormatSpec, number: usize) -> FormatSpec {
    let (function, arguments) = (&mut spec.tools.function, &mut spec.tools.arguments);
    match number % 3 {
        0 => {
            function.name_suffix.push_str(&format!("<of {REPEATED_NAME}>"));
            function.close = format!("</{REPEATED_NAME}>");
        }
        1 => {
            spec.reasoning.mode = ReasoningMode::TagBased;
            (spec.reasoning.start, spec.reasoning.end) = ("<think>".to_owned(), String::new());
            (spec.content.mode, spec.content.start) = (ContentMode::AlwaysWrapped, "<answer>".to_owned());
        }
        _ => {
            (arguments.name_prefix, arguments.name_suffix) = ("<".to_owned(), ">".to_owned());
            (arguments.close_prefix, arguments.close_suffix) = ("</".to_owned(), ">".to_owned());
            arguments.value_suffix.clear();
            (arguments.nested, arguments.item) = (true, "entry".to_owned());
        }
    }
    spec
}

/// Every marker of a model, complete and truncated.
fn markers() -> Vec<Vec<u8>> {
    let all = models::all().iter().enumerate();
    all.flat_map(|(number, model)| {
        let count = model.markers.len().min(64) as u8;
        let whole: Vec<u8> = (128..128 + count).collect();
        let begun: Vec<u8> = (0..count.min(32)).flat_map(|marker| [192 + marker, 3, b'a']).collect();
        [whole, begun].map(|rest| [&[number as u8, 0, 0, 0][..], &rest].concat())
    })
    .collect()
}

/// Every marker of a model that is not a special token, with each text that may follow.
fn sentences() -> Vec<Vec<u8>> {
    let all = models::all().iter().enumerate();
    let choices = all.flat_map(|(number, model)| (0..prose::markers(&model.spec).len()).map(move |at| (number, at)));
    let sentence = |(at, (number, marker)): (usize, (usize, usize))| {
        [&[number as u8, marker as u8, at as u8, at as u8][..], b"about it now and then"].concat()
    };
    choices.enumerate().map(sentence).collect()
}

fn templates() -> Result<Vec<Vec<u8>>, Failure> {
    let mut out = Vec::new();
    for path in templates_in(&root().join("templates"))? {
        out.push(fs::read(path)?);
    }
    // Adversarial templates.
    let hostile: toml::Table = fs::read_to_string(root().join("builder/tests/hostile.toml"))?.parse()?;
    let hostile = hostile.get("template").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    out.extend(hostile.iter().filter_map(|row| Some(row.get("text")?.as_str()?.as_bytes().to_vec())));
    out.sort();
    Ok(out)
}

/// The one-line templates of the render tests.
fn snippets() -> Result<Vec<Vec<u8>>, Failure> {
    let text = fs::read_to_string(root().join("render/tests/snippets/cases.jsonl"))?;
    let rows: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok(rows.iter().filter_map(|row| row["source"].as_str()).map(|source| source.as_bytes().to_vec()).collect())
}

/// The schemas of the grammar tests, each with another model.
fn schemas() -> Result<Vec<Vec<u8>>, Failure> {
    let mut out = Vec::new();
    for path in files(&root().join("dev/gbnf/tests/schemas"), "json")? {
        let rows: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        for row in rows.as_array().into_iter().flatten() {
            out.push([&[out.len() as u8][..], row["schema"].to_string().as_bytes()].concat());
        }
    }
    for path in [root().join("tests/cases/tools.json"), root().join("examples/tools.json")] {
        let tools: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        out.push([&[out.len() as u8][..], tools.to_string().as_bytes()].concat());
    }
    Ok(out)
}

fn files(folder: &Path, extension: &str) -> Result<Vec<std::path::PathBuf>, Failure> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Failure>>()?;
    paths.retain(|path| path.extension().is_some_and(|e| e == extension));
    paths.sort();
    Ok(paths)
}

fn values() -> Result<Vec<Vec<u8>>, Failure> {
    let messages: Value = serde_json::from_str(&fs::read_to_string(root().join("tests/cases/messages.json"))?)?;
    let messages = messages.as_array().into_iter().flatten();
    let calls = messages.flat_map(|message| message["calls"].as_array().cloned().unwrap_or_default());
    let mut out: Vec<Vec<u8>> = calls.map(|call| call["arguments"].to_string().into_bytes()).collect();
    let more = [
        "{'a': True, 'b': None, \"c\": (1, 2.5e3), 'd': [0x1F, 1_000, -0.0], 'e': 'it\\'s \\x41\\u00e9\\N{DASH}'}",
        "['''a\nb''', r'\\n', b'x', f'y', 1j, float('inf')]",
        "[[[{\"\": [[]]}, -1.5e+10, true, null, \"\"]]]",
        "{\"a\": \"\\ud83d\\ude00 \\ud83d\", \"b\": 1e999, \"c\": -0.5E-3}",
    ];
    out.extend(more.map(|text| text.as_bytes().to_vec()));
    Ok(out)
}

/// Files of each kind.
fn sources() -> Result<Vec<Vec<u8>>, Failure> {
    let mut out = Vec::new();
    for path in files(&root().join("source/tests/gguf"), "gguf")? {
        out.push([&[0], &fs::read(path)?[..]].concat());
    }
    let named = r#"{"chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}], "bos_token": {"content": "<s>"}}"#;
    let alone = r#"{"chat_template": "{{ bos_token }}", "bos_token": "<s>", "eos_token": null}"#;
    for (kind, text) in [(1, named), (1, alone), (2, alone), (3, "{{ bos_token }}"), (1, "{}"), (2, "[]")] {
        out.push([&[kind], text.as_bytes()].concat());
    }
    // A short file written by hand: three keys of different types.
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let head = [&b"\0GGUF"[..], &3_u32.to_le_bytes(), &0_u64.to_le_bytes(), &3_u64.to_le_bytes()].concat();
    let keys = [
        [text("general.architecture"), 8_u32.to_le_bytes().to_vec(), text("llama")].concat(),
        [text("tokenizer.ggml.bos_token_id"), 4_u32.to_le_bytes().to_vec(), 1_u32.to_le_bytes().to_vec()].concat(),
        [text("tokenizer.chat_template"), 8_u32.to_le_bytes().to_vec(), text("{{ bos_token }}")].concat(),
    ];
    out.push([head, keys.concat()].concat());
    Ok(out)
}

/// Words of Jinja.
const JINJA: &str = r#"
    {% %} {{ }} {# #} {%- -%} for endfor in if elif else endif set endset macro endmacro call endcall filter endfilter
    break continue generation endgeneration include import extends block messages tools content role tool_calls
    function arguments name namespace( range( loop. loop( recursive tojson join( replace( selectattr( map( batch(
    indent( center( format( .split( .strip( .items() [::-1] [1: ~ ** // %s raise_exception( strftime_now( caller()
    varargs kwargs self True none
"#;

/// Words of JSON Schema.
const SCHEMA_WORDS: &str = r##"
    "type" "object" "array" "string" "integer" "number" "null" "properties" "required" "additionalProperties" "items"
    "prefixItems" "minItems" "maxItems" "minLength" "maxLength" "minimum" "maximum" "exclusiveMinimum" "multipleOf"
    "pattern" "format" "date-time" "uuid" "enum" "const" "anyOf" "oneOf" "allOf" "not" "if" "then" "else" "$ref"
    "$defs" "#/$defs/a" "#" "patternProperties" "propertyNames" "uniqueItems" "contains" "unevaluatedProperties" true
    false 1e308 -1 ^[a-z]+$ (a|b){2,} \\d "name" "parameters"
"##;

/// Pieces of calls and of values.
const LITERALS: &[&str] = &[
    "{\"name\": \"",
    "\"arguments\": ",
    "get_weather",
    "{\"",
    "\": \"",
    "\"}",
    "\\u",
    "\\ud83d",
    "\\\"",
    "null",
    "true",
    "True",
    "None",
    "'''",
    "1e999",
    "-0",
    "```json\n",
    "\n\n",
    "\u{e9}",
    "\u{1f600}",
];

/// Lines and values of a spec.
const SPEC_LINES: &[&str] = &[
    "spec_version = 1",
    "[template]",
    "[capabilities]",
    "[turn]",
    "[[generation_prompt]]",
    "[reasoning]",
    "[content]",
    "[tools]",
    "[tools.function]",
    "[tools.arguments]",
    "[tools.call_id]",
    "[alternatives]",
    "[tokens]",
    "[evidence]",
    "json_native",
    "tag_with_json",
    "tag_with_tagged",
    "call_expression",
    "\"#",
    "*/",
    "\\u202e",
    "\\\"",
    "${x}",
    REPEATED_NAME,
    "end = \"\"",
    "nested = true",
    "item = \"entry\"",
    "//",
    "true",
    "false",
    "\"\"\"",
];

/// Words of GGUF files and of configurations.
const SOURCE_WORDS: &[&str] = &[
    "GGUF",
    "\u{1}\0\0\0",
    "\u{8}\0\0\0",
    "\u{9}\0\0\0",
    "tokenizer.chat_template",
    "tokenizer.chat_template.default",
    "tokenizer.chat_templates",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.eos_token_id",
    "split.no",
    "\"chat_template\"",
    "\"name\"",
    "\"template\"",
    "\"content\"",
];

/// The dictionary of a target, in libFuzzer's format.
///
/// # Errors
/// A file of the repository cannot be read.
pub fn dictionary(target: &str) -> Result<String, Failure> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    let mut add = |text: &str| {
        words.insert(text.to_owned());
    };
    match target {
        "outputs" | "analyze" | "specs" => {
            for model in models::all() {
                model.markers.iter().for_each(|marker| add(marker));
                model.markers.iter().for_each(|marker| add(marker.trim()));
            }
        }
        _ => {}
    }
    let (spaced, more): (&str, &[&str]) = match target {
        "outputs" | "values" => ("", LITERALS),
        "render" | "analyze" => (JINJA, &["is defined", "is string", "is mapping", " * 1000000000"]),
        "specs" => ("", SPEC_LINES),
        "schemas" => (SCHEMA_WORDS, &[]),
        "sources" => ("", SOURCE_WORDS),
        _ => ("", &[]),
    };
    spaced.split_whitespace().for_each(&mut add);
    more.iter().for_each(|word| add(word));
    let lines = words.iter().filter(|word| !word.is_empty() && word.len() <= 64).map(|word| {
        let escaped: String = word
            .bytes()
            .map(|b| match b {
                b' '..=b'~' if b != b'"' && b != b'\\' => char::from(b).to_string(),
                _ => format!("\\x{b:02X}"),
            })
            .collect();
        format!("\"{escaped}\"\n")
    });
    Ok(lines.collect())
}

/// Runs before the first input of a fuzz target. Prepares the models, so that the time for that is not counted for an input. If
/// `UNJINJA_SEEDS` names a folder, writes `corpus` and `dictionary` there and ends the process, so that no other program is
/// needed to make seeds.
pub fn begin(target: &str) {
    let Some(folder) = std::env::var_os("UNJINJA_SEEDS") else {
        crate::specs::make_ready();
        return;
    };
    let result = write(target, Path::new(&folder));
    if let Err(error) = &result {
        eprintln!("{}: {error}", folder.display());
    }
    std::process::exit(i32::from(result.is_err()));
}

fn write(target: &str, folder: &Path) -> Result<(), Failure> {
    let corpus = folder.join("corpus");
    fs::create_dir_all(&corpus)?;
    for (number, seed) in seeds(target)?.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number:04}")), seed)?;
    }
    Ok(fs::write(folder.join("dictionary"), dictionary(target)?)?)
}
