//! Grammars of our own templates: they load, they accept what the templates render, and the parsers read random sentences of
//! them as calls.

use crate::support::grammar::{is_reported, load, refuses, rendered, sentences, wrong_calls};
use crate::support::{Failure, Model, corpus, models, own_models, root};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use unjinja::abi::{Action, Origin};
use unjinja::{GrammarOptions, Integers, Target, ToolChoice};
use unjinja::{Options, Tools, parse};
use unjinja_grammar::Reasoning;
use unjinja_grammar::Wider;
use unjinja_render::Template;
use unjinja_spec::{REPEATED_NAME, StartsIn};
use unjinja_testkit::{sample, share};

/// How many random sentences of each grammar are read.
const SENTENCES: usize = 200;

/// One in so many models is tried in the gate.
const ONE_IN: usize = 4;

fn all_models() -> Result<Vec<Model>, Failure> {
    let mut all = models()?;
    all.extend(own_models()?);
    Ok(all)
}

fn tools() -> Result<Tools, Failure> {
    Ok(Tools::from_json(&std::fs::read_to_string(root().join("tests/cases/tools.json"))?)?)
}

fn has_calls(model: &Model) -> bool {
    model.spec.tools.format != unjinja_spec::ToolFormat::None
}

#[test]
fn every_constant_loads() -> Result<(), Failure> {
    let mut loaded = 0;
    for model in all_models()? {
        let grammar = unjinja_grammar::grammar(model.parser.program(), None, &GrammarOptions::new())?;
        assert_eq!(grammar.text.is_empty(), !has_calls(&model), "{}", model.spec.template.name);
        assert_eq!(grammar.lazy, !grammar.triggers.is_empty(), "{}", model.spec.template.name);
        if has_calls(&model) {
            load(&grammar).map_err(|error| format!("{}: {error}", model.spec.template.name))?;
            loaded += 1;
        }
    }
    assert!(loaded > 60, "{loaded} grammars");
    Ok(())
}

/// The grammar options that sentences are drawn under.
fn requests(tools: &Tools) -> Vec<(&'static str, Option<&Tools>, GrammarOptions)> {
    let options = GrammarOptions::new;
    vec![
        ("any tool", None, options()),
        ("any tool, required", None, options().tool_choice(ToolChoice::Required)),
        ("tools", Some(tools), options()),
        ("tools, required", Some(tools), options().tool_choice(ToolChoice::Required)),
        (
            "one tool, once",
            Some(tools),
            options().tool_choice(ToolChoice::Named("get_weather".to_owned())).parallel_tool_calls(false),
        ),
    ]
}

/// A call that is demanded comes at once, or after as much text and reasoning as the options allow.
#[test]
fn what_is_demanded_comes_first() -> Result<(), Failure> {
    let tools = tools()?;
    let demand = || GrammarOptions::new().tool_choice(ToolChoice::Required);
    let (mut begun, mut thought) = (0, 0);
    for model in sample(all_models()?.iter().filter(|model| has_calls(model)), ONE_IN) {
        let (name, program) = (&model.spec.template.name, model.parser.program());
        // An engine that counts the characters of a text has no more rules for it.
        let counted = demand().text_before(20_000).target(Target::XGrammar);
        assert!(unjinja_grammar::grammar(program, Some(&tools), &counted)?.text.len() < 100_000, "{name}");
        let at_once = unjinja_grammar::grammar(program, Some(&tools), &demand().max_reasoning(0))?;
        let after_text = unjinja_grammar::grammar(program, Some(&tools), &demand().text_before(20).max_reasoning(0))?;
        let thinking = unjinja_grammar::grammar(program, Some(&tools), &demand().max_reasoning(20))?;
        let (rules, after_rules, thinking_rules) = (load(&at_once)?, load(&after_text)?, load(&thinking)?);
        for sentence in sentences(&rules, 3, 10) {
            let with = |length: usize| format!("{}{sentence}", "x".repeat(length));
            assert!(refuses(&at_once, &rules, &with(1))?.is_some(), "{name}: {:?}", with(1));
            // Where an answer has a header of its own, text cannot come before the sentence.
            if refuses(&after_text, &after_rules, &with(20))?.is_none() {
                begun += 1;
                assert!(refuses(&after_text, &after_rules, &with(30))?.is_some(), "{name}: {:?}", with(30));
            }
            let Some(Reasoning { start, end, .. }) = at_once.reasoning.as_ref() else { continue };
            let thinks = |length: usize| format!("{start}{}{end}{sentence}", "x".repeat(length));
            if !start.is_empty() && refuses(&thinking, &thinking_rules, &thinks(20))?.is_none() {
                thought += 1;
                assert!(refuses(&thinking, &thinking_rules, &thinks(30))?.is_some(), "{name}: {:?}", thinks(30));
            }
        }
    }
    assert!(begun > share(150, ONE_IN) && thought > share(80, ONE_IN), "{begun} with text, {thought} with reasoning");
    Ok(())
}

/// Where tags have the names of tools, such a tag is no text even if no tool may be called; and a model cannot go on writing line breaks.
#[test]
fn what_a_small_model_would_write_is_refused() -> Result<(), Failure> {
    let tools = tools()?;
    let models = own_models()?;
    let find = |name: &str| models.iter().find(|model| model.spec.template.name == name).ok_or("no such template");
    let (tags, qwen) = (find("name_tags")?, find("qwen3")?);
    let call = |breaks: usize| {
        let space = "\n".repeat(breaks);
        format!(
            "<tool_call>{space}{{\"name\": \"get_weather\", \"arguments\": {{\"city\":{space}\"Paris\"}}}}\n</tool_call>"
        )
    };
    let demand = || GrammarOptions::new().tool_choice(ToolChoice::Required);
    for (model, options, text, refused) in [
        (tags, GrammarOptions::new().tool_choice(ToolChoice::None), "<get_weather>{}</get_weather>".to_owned(), true),
        (tags, GrammarOptions::new().tool_choice(ToolChoice::None), "<b>{}</b>".to_owned(), false),
        (qwen, demand(), call(1), false),
        (qwen, demand(), call(4), true),
    ] {
        let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&tools), &options)?;
        assert_eq!(refuses(&grammar, &load(&grammar)?, &text)?.is_some(), refused, "{text:?}");
    }
    Ok(())
}

/// What follows the end of a turn is read no more, so no text may hold that end: the call after it would be lost.
#[test]
fn no_text_holds_the_end_of_the_turn() -> Result<(), Failure> {
    let tools = tools()?;
    let request = GrammarOptions::new().thinking(true).tool_choice(ToolChoice::Required).text_before(100);
    let mut refused = 0;
    for model in sample(all_models()?.iter().filter(|model| has_calls(model)), ONE_IN) {
        let program = model.parser.program();
        let arrows = program.states.iter().flat_map(|state| state.arrows());
        let ends = arrows.filter(|(_, step)| step.does(&Action::AfterEnd)).map(|(marker, _)| marker.core.to_string());
        // Known: a grammar takes an end that begins as another marker for that marker, such as the end of a message in gpt-oss.
        let written = program.states.iter().flat_map(|state| state.arrows());
        let written = written.filter(|(_, step)| step.origin == Origin::Canonical).map(|(marker, _)| &*marker.core);
        let written: BTreeSet<&str> = written.filter(|core| core.len() > 2).collect();
        let is_longer = |end: &String| written.iter().any(|core| end.len() > core.len() && end.starts_with(core));
        let ends: BTreeSet<String> = ends.filter(|end| !is_longer(end)).collect();
        let grammar = unjinja_grammar::grammar(program, Some(&tools), &request)?;
        let rules = load(&grammar)?;
        for sentence in sentences(&rules, 7, 20) {
            // Only where a text comes first.
            if refuses(&grammar, &rules, &format!("x x{sentence}"))?.is_some() {
                continue;
            }
            for end in &ends {
                let output = format!("x {end} x{sentence}");
                let verdict = refuses(&grammar, &rules, &output)?;
                assert!(verdict.is_some(), "{}: {output:?}", model.spec.template.name);
                refused += 1;
            }
        }
    }
    assert!(refused > share(1000, ONE_IN), "{refused} texts");
    Ok(())
}

#[test]
fn what_is_drawn_is_read_as_calls() -> Result<(), Failure> {
    let tools = tools()?;
    let mut problems = Vec::new();
    let mut read = 0;
    for model in sample(all_models()?.iter().filter(|model| has_calls(model)), 2 * ONE_IN) {
        let name = &model.spec.template.name;
        for (number, (what, offered, request)) in requests(&tools).into_iter().enumerate() {
            let grammar = unjinja_grammar::grammar(model.parser.program(), offered, &request);
            let grammar = grammar.map_err(|error| format!("{name}, {what}: {error}"))?;
            let rules = load(&grammar).map_err(|error| format!("{name}, {what}: {error}"))?;
            // A grammar for any tool cannot say that a name is written twice.
            let is_repeated = [&model.spec.tools.function.name_suffix, &model.spec.tools.function.close]
                .iter()
                .any(|marker| marker.contains(REPEATED_NAME));
            if offered.is_none() && (is_repeated || names_must_be_offered(model)) {
                continue;
            }
            let drawn = sentences(&rules, number as u64 + 1, SENTENCES);
            assert_eq!(drawn.len(), SENTENCES, "{name}, {what}");
            let options = match offered {
                Some(tools) => Options::new().tools(tools),
                None => Options::new(),
            };
            let mut wrong = 0;
            for sentence in drawn {
                read += 1;
                let message = parse(model.parser.clone(), &sentence, &options);
                let parallel = what != "one tool, once";
                if !grammar.lazy
                    && !what.contains("required")
                    && !what.contains("once")
                    && message.tool_calls.is_empty()
                {
                    continue;
                }
                let problem = match wrong_calls(&message, offered) {
                    None if !parallel && message.tool_calls.len() > 1 => Some("several calls".to_owned()),
                    problem => problem,
                };
                if let Some(problem) = problem.filter(|problem| !is_reported(&grammar, problem)) {
                    wrong += 1;
                    if wrong <= 2 {
                        problems.push(format!("{name}, {what}: {problem}\n    {sentence:?}"));
                    }
                }
            }
            if wrong > 0 {
                problems.push(format!("{name}, {what}: {wrong} of {SENTENCES}"));
            }
        }
    }
    assert!(problems.is_empty(), "of {read} sentences:\n{}", problems.join("\n"));
    Ok(())
}

/// A format in which no marker announces a call. Without offered names there are no calls.
fn names_must_be_offered(model: &Model) -> bool {
    let tools = &model.spec.tools;
    tools.section_start.trim().is_empty()
        && tools.per_call_start.trim().is_empty()
        && tools.function.name_prefix.trim().is_empty()
}

/// A format in which the name alone is the tag of a call.
fn names_are_tags(model: &Model) -> bool {
    let tools = &model.spec.tools;
    let before = [&tools.section_start, &tools.per_call_start];
    tools.function.name_prefix.trim() == "<" && before.iter().all(|marker| marker.trim().is_empty())
}

/// Tools whose schemas use the keywords that real tools use.
const RICH: &str = r##"[
    {"name": "trip-plan", "parameters": {"type": "object", "additionalProperties": false,
        "required": ["when", "legs", "mode"], "properties": {
            "when": {"type": "string", "format": "date"},
            "legs": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/leg"}},
            "mode": {"enum": ["rail", "road", 3, null]},
            "limit": {"anyOf": [{"type": "integer", "minimum": -5, "maximum": 1250}, {"type": "null"}]},
            "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{1,3}$"},
            "note": {"type": ["string", "null"]}},
        "$defs": {"leg": {"type": "object", "additionalProperties": false, "required": ["to"], "properties": {
            "to": {"type": "string", "minLength": 1, "maxLength": 12}, "then": {"$ref": "#/$defs/leg"}}}}}},
    {"name": "trip_plan", "parameters": {"type": "object", "additionalProperties": false, "required": ["a"],
        "properties": {"a": {"const": 1}, "b": {"type": "boolean"}}}}
]"##;

#[test]
fn what_is_drawn_of_rich_schemas_fits_them() -> Result<(), Failure> {
    let tools = Tools::from_json(RICH)?;
    let options = Options::new().tools(&tools);
    let request = GrammarOptions::new().tool_choice(ToolChoice::Required);
    let (mut problems, mut with_zeros) = (Vec::new(), 0);
    for (model, integers) in sample(all_models()?.iter().filter(|model| has_calls(model)), ONE_IN)
        .flat_map(|model| INTEGERS.map(|integers| (model, integers)))
    {
        let name = &model.spec.template.name;
        let request = request.clone().integers(integers);
        let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&tools), &request)?;
        let rules = load(&grammar).map_err(|error| format!("{name}: {error}"))?;
        for sentence in sentences(&rules, 11, SENTENCES) {
            let message = parse(model.parser.clone(), &sentence, &options);
            let fractions: usize = message.tool_calls.iter().map(|call| fractions(&call.arguments)).sum();
            match integers {
                Integers::WithZeros => with_zeros += fractions,
                Integers::Plain => assert_eq!(fractions, 0, "{name}: {sentence:?}"),
            }
            if let Some(problem) = wrong_calls(&message, Some(&tools)).filter(|problem| !is_reported(&grammar, problem))
            {
                problems.push(format!("{name}: {problem}\n    {sentence:?}"));
                break;
            }
        }
    }
    assert!(problems.is_empty(), "{} models:\n{}", problems.len(), problems.join("\n"));
    assert!(with_zeros > 0, "no integer was written as `4.0`");
    Ok(())
}

/// How integers may be written.
const INTEGERS: [Integers; 2] = [Integers::WithZeros, Integers::Plain];

/// How many numbers in arguments have a fraction. The rich schemas have integers only.
fn fractions(arguments: &str) -> usize {
    fn count(value: &Value) -> usize {
        match value {
            Value::Number(number) => usize::from(number.is_f64()),
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(members) => members.values().map(count).sum(),
            _ => 0,
        }
    }
    serde_json::from_str(arguments).map_or(0, |value| count(&value))
}

#[test]
fn answers_of_a_schema_are_read_as_its_values() -> Result<(), Failure> {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["amount"],
        "properties": {"amount": {"type": "number"}, "date": {"type": "string", "format": "date"}}});
    let request = GrammarOptions::new().response_schema(schema.clone());
    let options = Options::new().json_response(true);
    let mut problems = Vec::new();
    for model in sample(all_models()?, ONE_IN) {
        let name = &model.spec.template.name;
        let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&Tools::empty()), &request)?;
        assert!(!grammar.lazy, "{name}");
        let rules = load(&grammar).map_err(|error| format!("{name}: {error}"))?;
        for sentence in sentences(&rules, 12, 100) {
            let message = parse(model.parser.clone(), &sentence, &options);
            let fits = match serde_json::from_str::<Value>(message.content.trim()) {
                Ok(value) => jsonschema::is_valid(&schema, &value),
                Err(error) => error.to_string().contains("number out of range"),
            };
            if !fits || !message.tool_calls.is_empty() {
                problems.push(format!("{name}: {:?}\n    {sentence:?}", message.content));
                break;
            }
        }
        for (text, fits) in [("{\"amount\": 1}", true), ("{\"amount\": \"1\"}", false), ("{}", false), ("Hello", false)]
        {
            if refuses(&grammar, &rules, text)?.is_none() != fits
                && model.spec.generation_prompt[0].starts_in == StartsIn::Content
            {
                problems.push(format!("{name}: {text:?} should be {fits}"));
            }
        }
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    Ok(())
}

#[test]
fn what_cannot_be_had_is_an_error() -> Result<(), Failure> {
    let models = own_models()?;
    let find = |name: &str| models.iter().find(|model| model.spec.template.name == name).ok_or("no such template");
    let (plain, calls) = (find("no_tools")?, find("qwen3")?);
    let tools = tools()?;
    let bad = Tools::from_json(r#"[{"name": "f", "parameters": {"required": ["a"], "properties": {"a": false}}}]"#)?;
    let choose = |choice: ToolChoice| GrammarOptions::new().tool_choice(choice);
    let stranger = || ToolChoice::Named("stranger".to_owned());
    for (model, tools, options, expected) in [
        (calls, &tools, choose(stranger()), "the tool choice names \"stranger\", which is not offered"),
        (calls, &Tools::empty(), choose(ToolChoice::Required), "no tool is offered"),
        (plain, &tools, choose(ToolChoice::Required), "this format has no tool calls"),
        (calls, &bad, choose(ToolChoice::Auto), "the tool \"f\": no value fits the schema"),
        (calls, &tools, GrammarOptions::new().response_schema(json!(false)), "the response: no value fits the schema"),
    ] {
        let error = unjinja_grammar::grammar(model.parser.program(), Some(tools), &options).map(|grammar| grammar.text);
        let error = error.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{error:?}, not {expected:?}");
    }
    // Without tools there is nothing to constrain, unless calls are forbidden.
    let none = Tools::empty();
    let free = unjinja_grammar::grammar(calls.parser.program(), Some(&none), &choose(ToolChoice::Auto))?;
    assert_eq!((free.text.as_str(), free.lazy), ("", false));
    let forbidden = unjinja_grammar::grammar(calls.parser.program(), Some(&none), &choose(ToolChoice::None))?;
    let answers = ["An answer.", "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>"];
    let rules = load(&forbidden)?;
    let [answer, call] = answers.map(|text| refuses(&forbidden, &rules, text));
    assert!(answer?.is_none() && call?.is_some() && !forbidden.lazy);
    Ok(())
}

#[test]
fn what_templates_render_is_accepted() -> Result<(), Failure> {
    let mut problems = Vec::new();
    let (mut calls, mut texts) = (0, 0);
    for model in sample(own_models()?, 3) {
        let path = root().join("templates").join(&model.spec.template.file);
        let file = &model.spec.template.file;
        let template = Template::parse(file, &std::fs::read_to_string(path)?)?;
        let (c, t) = rendered(&model, &template, &mut problems)?;
        calls += c;
        texts += t;
    }
    assert!(problems.is_empty(), "of {calls} turns with calls and {texts} without:\n{}", problems.join("\n"));
    assert!(calls > 150 && texts > 150, "{calls} turns with calls and {texts} without");
    Ok(())
}

/// A tool whose schema can be violated in many ways.
const STRICT: &str = r#"[
    {"name": "book", "parameters": {"type": "object", "additionalProperties": false, "required": ["seat", "class"],
        "properties": {"seat": {"type": "integer", "minimum": 1, "maximum": 40},
            "class": {"type": "string", "enum": ["first", "second"]}, "quiet": {"type": "boolean"}}}}
]"#;

/// Whether arguments satisfy the tool above.
const ARGUMENTS: [(&str, bool); 12] = [
    (r#"{"seat": 40, "class": "first"}"#, true),
    (r#"{"seat": 1, "class": "second", "quiet": true}"#, true),
    // A required property is missing.
    (r#"{"class": "first"}"#, false),
    (r#"{"seat": 3}"#, false),
    (r#"{}"#, false),
    // A wrong type.
    (r#"{"seat": "three", "class": "first"}"#, false),
    (r#"{"seat": 3, "class": "first", "quiet": "yes"}"#, false),
    // A value that is not in the enumeration.
    (r#"{"seat": 3, "class": "third"}"#, false),
    // An integer out of range.
    (r#"{"seat": 0, "class": "first"}"#, false),
    (r#"{"seat": 41, "class": "first"}"#, false),
    (r#"{"seat": 3.5, "class": "first"}"#, false),
    // An argument that the schema does not have.
    (r#"{"seat": 3, "class": "first", "window": 1}"#, false),
];

/// The calls that the templates of a folder render.
fn writers() -> Result<Vec<(Model, Template)>, Failure> {
    let mut writers = Vec::new();
    for model in own_models()?.into_iter().filter(has_calls) {
        let file = model.spec.template.file.clone();
        let template = Template::parse(&file, &std::fs::read_to_string(root().join("templates").join(&file))?)?;
        writers.push((model, template));
    }
    if let Some(corpus) = corpus()? {
        for model in models()?.into_iter().filter(has_calls) {
            let text = unjinja_testkit::released_template(&corpus, &model.spec.template.sha256)?;
            let template = Template::parse(&model.spec.template.file, &text)?;
            writers.push((model, template));
        }
    }
    Ok(writers)
}

/// A turn with these calls, drawn from a grammar whose tools accept nothing else.
fn drawn(model: &Model, calls: &[(&str, &str)]) -> Option<String> {
    let [(name, arguments)] = calls else { return None };
    let arguments: serde_json::Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let required: Vec<&String> = arguments.keys().collect();
    let properties: serde_json::Map<String, Value> =
        arguments.iter().map(|(name, value)| (name.clone(), json!({"enum": [value]}))).collect();
    let parameters = json!({"type": "object", "additionalProperties": false, "required": required,
        "properties": properties});
    let tools = Tools::from_openai(&json!([{"name": name, "parameters": parameters}])).ok()?;
    let options = GrammarOptions::new().tool_choice(ToolChoice::Required).parallel_tool_calls(false);
    let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&tools), &options).ok()?;
    sentences(&load(&grammar).ok()?, 5, 1).pop()
}

#[test]
fn what_the_schemas_and_the_options_forbid_is_rejected() -> Result<(), Failure> {
    let tools = Tools::from_json(STRICT)?;
    let mut problems = Vec::new();
    let (mut accepted, mut rejected, mut rows) = (0, 0, 0);
    for (model, template) in sample(writers()?, ONE_IN) {
        let name = &model.spec.template.name;
        let start = &model.spec.turn.assistant_start;
        let request = |choice: ToolChoice| {
            GrammarOptions::new().generation_prompt(start).tool_choice(choice).parallel_tool_calls(false)
        };
        let make = |options: &GrammarOptions| {
            let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&tools), options)?;
            let rules = load(&grammar).map_err(|error| format!("{name}: {error}"))?;
            Ok::<_, Failure>((grammar, rules))
        };
        let grammars = [make(&request(ToolChoice::Auto))?, make(&request(ToolChoice::Required))?];
        let mut expect = |what: &str, text: &str, wanted: bool| -> Result<(), Failure> {
            for (grammar, rules) in &grammars {
                let refused = refuses(grammar, rules, text)?;
                // A lazy grammar refuses nothing before its trigger; without a trigger there is no call.
                if refused.is_none() != wanted {
                    let lazy = grammar.lazy;
                    problems
                        .push(format!("{name}, {what}, lazy {lazy}, should be {wanted}: {refused:?}\n    {text:?}"));
                } else if wanted {
                    accepted += 1;
                } else {
                    rejected += 1;
                }
            }
            Ok(())
        };
        let calls = |calls: &[(&str, &str)]| {
            // Some templates cannot render calls, although their models write them.
            let rendered = unjinja_analyzer::render_calls(&template, &model.spec, calls);
            rendered.filter(|turn| turn.contains(calls[0].0)).or_else(|| drawn(&model, calls))
        };
        let Some(first) = calls(&[("book", ARGUMENTS[0].0)]) else { continue };
        rows += 1;
        for (arguments, fits) in ARGUMENTS {
            let Some(turn) = calls(&[("book", arguments)]) else { continue };
            expect(arguments, &turn, fits)?;
        }
        // Where nothing but a name in a tag announces a call, another tag is prose.
        if let Some(turn) = calls(&[("fly", ARGUMENTS[0].0)]).filter(|_| !names_are_tags(&model)) {
            expect("an unknown tool", &turn, false)?;
        }
        if model.spec.capabilities.parallel_tool_calls
            && let Some(turn) = calls(&[("book", ARGUMENTS[0].0), ("book", ARGUMENTS[1].0)])
        {
            expect("a second call", &turn, false)?;
        }
        expect("text after the end of the turn", &format!("{first} And more."), false)?;
    }
    assert!(problems.is_empty(), "{accepted} accepted, {rejected} rejected:\n{}", problems.join("\n"));
    assert!(
        rows >= share(24, ONE_IN) && accepted > 2 * rows && rejected > 15 * rows,
        "{rows} rows, {accepted}, {rejected}"
    );
    Ok(())
}

/// Longer than the limit of 6 by more than the white space that any template writes.
const LONG: &str = "abcdefghijklmnopqrst";

/// Strings around the limits of 2 and 6 characters, among them beginnings of markers and white space that templates write too.
const STRINGS: [&str; 15] = [
    "",
    "a",
    "ab",
    "abcdef",
    "abcdefg",
    "é｜",
    "é｜é｜é｜é",
    "a < b",
    "</",
    "</para",
    "</param",
    "a\nb",
    "ab\n\ncd",
    "abcd\n\ncd",
    LONG,
];

#[test]
fn strings_keep_to_their_length_or_the_grammar_says_so() -> Result<(), Failure> {
    let tools = Tools::from_json(
        r#"[{"name": "note", "parameters": {"type": "object", "additionalProperties": false, "required": ["text"],
            "properties": {"text": {"type": "string", "minLength": 2, "maxLength": 6}}}}]"#,
    )?;
    let (mut accepted, mut rejected, mut counted, mut problems) = (0, 0, 0, Vec::new());
    for model in sample(all_models()?.iter().filter(|model| has_calls(model)), ONE_IN) {
        let name = &model.spec.template.name;
        // What is drawn may begin where a prompt ends, or where a call is announced.
        let start = &*model.spec.turn.assistant_start;
        let prompted = GrammarOptions::new().tool_choice(ToolChoice::Required).generation_prompt(start);
        let mut grammars = Vec::new();
        for request in [GrammarOptions::new(), prompted] {
            let grammar = unjinja_grammar::grammar(model.parser.program(), Some(&tools), &request)?;
            let rules = load(&grammar).map_err(|error| format!("{name}: {error}"))?;
            let is_length = |wider: &Wider| ["minLength", "maxLength"].contains(&&*wider.what.keyword);
            if !grammar.widened.iter().all(is_length) {
                problems.push(format!("{name}: {:?}", grammar.widened));
            }
            counted += usize::from(grammar.widened.is_empty());
            grammars.push((grammar, rules));
        }
        for string in STRINGS {
            let arguments = json!({"text": string}).to_string();
            let Some(turn) = drawn(model, &[("note", &arguments)]) else { continue };
            let message = parse(model.parser.clone(), &turn, &Options::new().tools(&tools));
            let [call] = &message.tool_calls[..] else { continue };
            // Some formats cannot write every string.
            if serde_json::from_str::<Value>(&call.arguments)? != json!({"text": string}) {
                continue;
            }
            let wanted = (2..=6).contains(&string.chars().count());
            let refusals = grammars.iter().map(|(grammar, rules)| refuses(grammar, rules, &turn));
            let refusals = refusals.collect::<Result<Vec<_>, _>>()?;
            let accepts = refusals.iter().any(Option::is_none);
            // No minimum of raw text is counted, and a maximum in rounds where the rules are too many; both are reported.
            let keyword = if string.chars().count() < 2 { "minLength" } else { "maxLength" };
            let mut widened = grammars.iter().flat_map(|(grammar, _)| &grammar.widened);
            let may_differ = string != LONG && widened.any(|wider| wider.what.keyword == keyword);
            if accepts != wanted && (wanted || !may_differ) {
                problems.push(format!("{name}: {string:?} should be {wanted}: {refusals:?}\n    {turn:?}"));
            }
            accepted += usize::from(accepts);
            rejected += usize::from(!accepts);
        }
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    assert!(
        accepted > share(400, ONE_IN) && rejected > share(200, ONE_IN) && counted > share(20, ONE_IN),
        "{accepted} accepted, {rejected} rejected, {counted} grammars count exactly"
    );
    Ok(())
}
