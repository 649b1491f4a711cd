//! What the spec language can express beyond our own templates: each spec of `tests/specs/` reads its outputs at every cut,
//! interpreted and compiled, and its grammar accepts what a template would write.

mod recipients;

use unjinja::testing::{Case, bytes_looked_at, json};
use unjinja::{ChatParser, DiagnosticKind, Tools};
use unjinja_gbnf::Grammar;
use unjinja_grammar::{GrammarExt, GrammarOptions, ToolChoice};
use unjinja_spec::FormatSpec;

use crate::support::Failure;

/// The compiled parser of each spec, and the spec's file.
macro_rules! specs {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(mod $name {
            unjinja::include_spec_parser!($file);

            /// The compiled parser and the interpreted one.
            pub(super) fn parsers() -> Result<[Box<dyn unjinja::ChatParser>; 2], crate::support::Failure> {
                super::both(Parser, $file)
            }
        })*
    };
}

specs! {
    answer_after_calls = "tests/specs/answer_after_calls.toml",
    bare_values = "tests/specs/bare_values.toml",
    cdata = "tests/specs/cdata.toml",
    cdata_closing_names = "tests/specs/cdata_closing_names.toml",
    closing_names = "tests/specs/closing_names.toml",
    headers = "tests/specs/headers.toml",
    labels = "tests/specs/labels.toml",
    line_values = "tests/specs/line_values.toml",
    lines_of_calls = "tests/specs/lines_of_calls.toml",
    message_headers = "tests/specs/message_headers.toml",
    named_elements = "tests/specs/named_elements.toml",
    named_lines = "tests/specs/named_lines.toml",
    namespaces = "tests/specs/namespaces.toml",
    no_end = "tests/specs/no_end.toml",
    one_marker = "tests/specs/one_marker.toml",
    quoted_literals = "tests/specs/quoted_literals.toml",
    quoted_values = "tests/specs/quoted_values.toml",
    tight_values = "tests/specs/tight_values.toml",
    token_values = "tests/specs/token_values.toml",
    twice_named = "tests/specs/twice_named.toml",
    typed_arguments = "tests/specs/typed_arguments.toml",
}

/// The compiled parser of a spec and the interpreted one.
fn both(compiled: impl ChatParser + 'static, file: &str) -> Result<[Box<dyn ChatParser>; 2], Failure> {
    let text = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file))?;
    let interpreted = unjinja_codegen::interpreter(&FormatSpec::from_toml(&text, file)?)?;
    Ok([Box::new(compiled), Box::new(interpreted)])
}

/// The tools that every case offers.
fn tools() -> Result<Tools, Failure> {
    let tools = json!([
        {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "whole": {"type": "boolean"},
            "tag": {"type": "array", "items": {"type": "string"}},
            "home": {"type": "object", "properties": {
                "city": {"type": "string"}, "zip": {"type": "string"}, "floor": {"type": "integer"},
                "key": {"type": "array", "items": {"type": "integer"}},
            }},
            "any": {},
        }}}},
        {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}},
    ]);
    Ok(Tools::from_openai(&tools)?)
}

/// Reads an output with both parsers, cut at every place. `expect` adds the message to the case.
#[track_caller]
fn reads(parsers: &[Box<dyn ChatParser>; 2], output: &str, expect: impl Fn(Case) -> Case) -> Result<(), Failure> {
    for parser in parsers {
        expect(Case::new(output).name(output).tools(&tools()?)).run(&**parser);
    }
    Ok(())
}

/// Like [`reads`], for a turn with calls that a template writes: the grammar accepts it too.
#[track_caller]
fn writes(parsers: &[Box<dyn ChatParser>; 2], output: &str, expect: impl Fn(Case) -> Case) -> Result<(), Failure> {
    reads(parsers, output, expect)?;
    let options = GrammarOptions::new().tool_choice(ToolChoice::Required).text_before(100);
    let grammar = parsers[1].grammar(&tools()?, &options)?;
    Grammar::parse(&grammar.text)?.check(output).map_err(|error| format!("{output}: {error:?}"))?;
    Ok(())
}

#[test]
fn the_name_of_an_argument_closes_it() -> Result<(), Failure> {
    let parsers = closing_names::parsers()?;
    writes(&parsers, "<call:find><city>Paris</city><days>2</days></call>", |case| {
        case.call("find", json!({"city": "Paris", "days": 2}))
    })?;
    writes(&parsers, "Let me look.<call:ping></call>", |case| case.content("Let me look.").call("ping", json!({})))?;
    // Other tags, and its own where nothing follows that may follow, are text.
    writes(&parsers, "<call:find><city>a</days> b</city> c <d>\n</city></call><|end|>", |case| {
        case.call("find", json!({"city": "a</days> b</city> c <d>\n"}))
    })?;
    writes(&parsers, "<call:find><any>x</any><city>1</city></call>\n<call:find><city>2</city></call>", |case| {
        case.call("find", json!({"any": "x", "city": "1"})).call("find", json!({"city": "2"}))
    })?;
    reads(&parsers, "<call:find><city>Par", |case| {
        case.call_begins("find", "{\"city\": \"Par").diagnostic(DiagnosticKind::IncompleteCall)
    })?;
    // A closing tag where no argument is open does not begin one.
    reads(&parsers, "<call:find><city>Paris</city></tools> and", |case| {
        case.call_begins("find", "{\"city\": \"Paris\"")
            .diagnostic(DiagnosticKind::IncompleteCall)
            .content("</tools> and")
    })
}

#[test]
fn objects_and_lists_are_tags() -> Result<(), Failure> {
    let parsers = closing_names::parsers()?;
    let home = json!({"city": "Rome", "zip": "00100", "floor": 2});
    let written = "<home><city>Rome</city><zip>00100</zip><floor>2</floor></home>";
    writes(&parsers, &format!("<call:find>{written}<city>x</city></call>"), |case| {
        case.call("find", json!({"home": home, "city": "x"}))
    })?;
    writes(&parsers, "<call:find><tag>a</tag><tag>b < c</tag><city>x</city></call>", |case| {
        case.call("find", json!({"tag": ["a", "b < c"], "city": "x"}))
    })?;
    writes(&parsers, "<call:find><tag>1</tag></call>", |case| case.call("find", json!({"tag": ["1"]})))?;
    writes(&parsers, "<call:find><tag></tag></call>", |case| case.call("find", json!({"tag": []})))?;
    writes(&parsers, "<call:find><home><key>1</key><key>2</key></home></call>", |case| {
        case.call("find", json!({"home": {"key": [1, 2]}}))
    })?;
    // JSON is read as well.
    writes(&parsers, "<call:find><home>{\"zip\": \"1\"}</home><tag>[\"a\"]</tag></call>", |case| {
        case.call("find", json!({"home": {"zip": "1"}, "tag": ["a"]}))
    })?;
    // Without a type, tags that close properly are an object; other text is a string.
    writes(&parsers, "<call:find><any><a>1</a><a>2</a><b><c>x</c></b></any></call>", |case| {
        case.call("find", json!({"any": {"a": [1, 2], "b": {"c": "x"}}}))
    })?;
    writes(&parsers, "<call:find><any><b>bold</b> text</any></call>", |case| {
        case.call("find", json!({"any": "<b>bold</b> text"}))
    })?;
    // A string is never taken apart.
    writes(&parsers, "<call:find><city><b>x</b></city></call>", |case| case.call("find", json!({"city": "<b>x</b>"})))
}

#[test]
fn the_name_of_a_function_closes_its_call() -> Result<(), Failure> {
    let parsers = named_elements::parsers()?;
    writes(&parsers, "<find><city>Paris</city><days>2</days></find>", |case| {
        case.call("find", json!({"city": "Paris", "days": 2}))
    })?;
    writes(&parsers, "Let me look.\n<find><city>Paris</city></find>\n<ping></ping><|end|>", |case| {
        case.content("Let me look.").call("find", json!({"city": "Paris"})).call("ping", json!({}))
    })?;
    // The closers of the function, of other arguments and of its own in the middle of a value are text.
    writes(&parsers, "<find><city>a</find> b</city> c</days></ping></city></find>", |case| {
        case.call("find", json!({"city": "a</find> b</city> c</days></ping>"}))
    })?;
    reads(&parsers, "<find>{\"city\": \"</find>\"}</find>", |case| case.call("find", json!({"city": "</find>"})))?;
    // The closer of another function closes nothing.
    reads(&parsers, "<find><city>Paris</city></ping> and", |case| {
        case.call_begins("find", "{\"city\": \"Paris\"")
            .diagnostic(DiagnosticKind::IncompleteCall)
            .content("</ping> and")
    })?;
    // An element is a call only if its name was offered.
    let text = "As in <b>bold</b> or <other><city>x</city></other>: a < b > c.";
    reads(&parsers, text, |case| case.content(text))
}

#[test]
fn brackets_of_cdata_are_syntax() -> Result<(), Failure> {
    let parsers = cdata::parsers()?;
    writes(
        &parsers,
        "<function name=\"find\"><param name=\"city\"><![CDATA[a </param> & ]] b]]></param></function>",
        |case| case.call("find", json!({"city": "a </param> & ]] b"})),
    )?;
    writes(
        &parsers,
        "<function name=\"find\"><param name=\"city\"> <x></param><param name=\"whole\">True</param></function>",
        |case| case.call("find", json!({"city": " <x>", "whole": true})),
    )?;
    reads(&parsers, "<function name=\"find\"><param name=\"city\"><![CDATA[a]]> b]]></param></function>", |case| {
        case.call("find", json!({"city": "a]]> b"}))
    })?;
    let parsers = cdata_closing_names::parsers()?;
    writes(
        &parsers,
        "<call>\n<name>find</name>\n- <city><![CDATA[a</city>\n]]></city>\n- <days>3</days>\n\n</call>",
        |case| case.call("find", json!({"city": "a</city>\n", "days": 3})),
    )
}

#[test]
fn a_name_may_stand_before_its_object() -> Result<(), Failure> {
    let parsers = twice_named::parsers()?;
    reads(&parsers, "<|thinking|>Hm.<|done|><|message|><|text|>Hello<|done|>", |case| {
        case.reasoning("Hm.").content("Hello")
    })?;
    let call = "<|json|>{\"name\": \"find\", \"args\": {\"city\": \"Paris\"}}<|done|>";
    writes(&parsers, &format!("find{call}<|message|>find{call}"), |case| {
        case.call("find", json!({"city": "Paris"})).call("find", json!({"city": "Paris"}))
    })?;
    // The call is announced by the name before the object, so its arguments need not wait.
    reads(&parsers, "<|text|>Hi<|done|><|message|>find<|json|>{\"args\": {\"city\": \"Par", |case| {
        case.content("Hi").call_begins("find", "{\"city\": \"Par").diagnostic(DiagnosticKind::IncompleteCall)
    })
}

#[test]
fn a_further_message_may_be_a_call() -> Result<(), Failure> {
    let parsers = message_headers::parsers()?;
    reads(&parsers, "all\n<|text|>Hello", |case| case.content("Hello"))?;
    let call = "find\n<|text|>{\"city\": \"Paris\"}";
    writes(
        &parsers,
        &format!("all\n<|text|>Hi\n<|from|>assistant\n<|to|>{call}\n<|from|>assistant\n<|to|>{call}"),
        |case| case.content("Hi").call("find", json!({"city": "Paris"})).call("find", json!({"city": "Paris"})),
    )
}

#[test]
fn an_argument_names_its_type() -> Result<(), Failure> {
    let parsers = typed_arguments::parsers()?;
    let argument = |name, kind, value| {
        format!("<|open|>argument key=\"{name}\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|>")
    };
    let all =
        [argument("city", "string", "2"), argument("days", "number", "2"), argument("any", "array", "[1]")].concat();
    let call = format!("<|open|>call tool=\"find\" index=\"1\"<|sep|>{all}<|close|>call<|sep|>");
    let ping = "<|open|>call tool=\"ping\" index=\"2\"<|sep|><|close|>call<|sep|>";
    writes(&parsers, &format!("<|open|>tools<|sep|>{call}{ping}<|close|>tools<|sep|>"), |case| {
        case.call("find", json!({"city": "2", "days": 2, "any": [1]})).call_id("1").call("ping", json!({})).call_id("2")
    })
}

#[test]
fn text_after_a_call_in_reasoning_is_the_answer_where_that_comes_after_calls() -> Result<(), Failure> {
    let parsers = answer_after_calls::parsers()?;
    reads(&parsers, "<think>Hm.<call>find:{\"city\": \"x\"}</call>It rains.", |case| {
        case.reasoning("Hm.").call("find", json!({"city": "x"})).content("It rains.")
    })
}

#[test]
fn a_turn_ends_where_a_text_does_if_the_template_leaves_its_end_out() -> Result<(), Failure> {
    let parsers = no_end::parsers()?;
    for end in ["</s>[USER]", "<|endoftext|>", "[USER]"] {
        let more = format!("{end}[CALLS][{{\"name\": \"find\", \"arguments\": {{}}}}]");
        reads(&parsers, &format!("Hi.{more}"), |case| {
            case.content(format!("Hi.{more}")).diagnostic(DiagnosticKind::AfterEnd)
        })?;
    }
    // The end of the output comes after the first token of the user's turn.
    reads(&parsers, "Hi.[USER]", |case| case.content("Hi."))?;
    reads(&parsers, "The tag </s> strikes text out.", |case| case.content("The tag </s> strikes text out."))
}

#[test]
fn a_label_is_read_at_the_beginning_only() -> Result<(), Failure> {
    let parsers = labels::parsers()?;
    reads(&parsers, "Assistant: Hello", |case| case.content("Hello"))?;
    reads(&parsers, "Hello. Assistant: Hello", |case| case.content("Hello. Assistant: Hello"))?;
    let call = r#"{"name": "find", "parameters": "{\"city\": \"Paris\"}"}"#;
    writes(&parsers, &format!("<|says|>Hello<|said|>{call}"), |case| {
        case.content("Hello").call("find", json!({"city": "Paris"}))
    })
}

#[test]
fn one_marker_may_open_and_close_a_call() -> Result<(), Failure> {
    let parsers = one_marker::parsers()?;
    let call = "<call>find<key>city</key><value>Paris</value><call>";
    writes(&parsers, &format!("{call}{call}"), |case| {
        case.call("find", json!({"city": "Paris"})).call("find", json!({"city": "Paris"}))
    })
}

#[test]
fn values_may_stand_in_quotes_without_escapes() -> Result<(), Failure> {
    let parsers = quoted_values::parsers()?;
    writes(&parsers, r#"[find(city="say "hi" twice", whole="True"), ping()]"#, |case| {
        case.call("find", json!({"city": "say \"hi\" twice", "whole": true})).call("ping", json!({}))
    })?;
    // Only an offered name makes it a call.
    reads(&parsers, "As in [1] (see f).", |case| case.content("As in [1] (see f)."))
}

#[test]
fn values_in_quotes_may_be_literals() -> Result<(), Failure> {
    let parsers = quoted_literals::parsers()?;
    writes(&parsers, r#"[find(city="say "hi" twice", whole="True"), ping()]"#, |case| {
        case.call("find", json!({"city": "say \"hi\" twice", "whole": true})).call("ping", json!({}))
    })?;
    // Models write the literals of the language.
    let call = |case: Case| case.call("find", json!({"city": "Paris", "days": 2}));
    for arguments in [
        "city='Paris', days=2",
        "city=\"Paris\", days=2",
        "city: 'Paris', days: 2",
        "{'city': 'Paris', 'days': 2}",
        "city='Paris', days=2,",
        "city=\"Paris\", days=\"2\",",
    ] {
        reads(&parsers, &format!("[find({arguments})]"), call)?;
    }
    Ok(())
}

#[test]
fn values_may_stand_between_tokens() -> Result<(), Failure> {
    let parsers = token_values::parsers()?;
    writes(&parsers, "<call>call:find{city:<esc>it's \"here\"<esc>,any:<esc>x<esc>}</call>", |case| {
        case.call("find", json!({"city": "it's \"here\"", "any": "x"}))
    })?;
    let call = |case: Case| case.call("find", json!({"city": "Paris", "days": 2, "whole": true}));
    for arguments in [
        "city:<esc>Paris<esc>,days:2,whole:true",
        "city=<esc>Paris<esc>,days=2,whole=true,",
        "city:\"Paris\", days:2, whole:true,",
    ] {
        reads(&parsers, &format!("<call>call:find{{{arguments}}}</call>"), call)?;
    }
    for arguments in ["city:'Paris',days:2,whole:true", "city:Paris,days:2,whole:true"] {
        reads(&parsers, &format!("<call>call:find{{{arguments}}}</call>"), |case| {
            call(case).diagnostic(DiagnosticKind::MalformedArguments)
        })?;
    }
    Ok(())
}

#[test]
fn calls_may_stand_on_lines_of_their_own() -> Result<(), Failure> {
    let parsers = lines_of_calls::parsers()?;
    writes(&parsers, "<calls>find(city=\"Paris\", days=2)\nping()</calls>", |case| {
        case.call("find", json!({"city": "Paris", "days": 2})).call("ping", json!({}))
    })
}

#[test]
fn a_namespace_is_left_out_where_only_the_name_without_it_was_offered() -> Result<(), Failure> {
    let parsers = lines_of_calls::parsers()?;
    let output = "<calls>functions.find()\nfind()\nfunctions.other()</calls>";
    let offers = |names: &[&str]| {
        let tool = |name: &&str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
        Tools::from_openai(&names.iter().map(tool).collect())
    };
    let expect = |case: Case, tools: &Tools, name: &str| {
        let case = case.tools(tools).call(name, json!({})).call("find", json!({}));
        case.call("functions.other", json!({})).diagnostic(DiagnosticKind::UnknownTool)
    };
    let (bare, both) = (offers(&["find"])?, offers(&["functions.find", "find"])?);
    reads(&parsers, output, |case| expect(case, &bare, "find"))?;
    reads(&parsers, output, |case| expect(case, &both, "functions.find"))
}

#[test]
fn nothing_need_stand_between_two_literals() -> Result<(), Failure> {
    let parsers = tight_values::parsers()?;
    writes(&parsers, "<calls>find(days=20whole=falsecity=\"x\"any=-1.5e+3tag=[\"a\"])</calls>", |case| {
        case.call("find", json!({"days": 20, "whole": false, "city": "x", "any": -1500.0, "tag": ["a"]}))
    })?;
    writes(&parsers, "<calls>find(any=nullcity=\"1\")</calls>", |case| {
        case.call("find", json!({"any": null, "city": "1"}))
    })
}

#[test]
fn a_value_ends_at_the_line_before_the_next_argument() -> Result<(), Failure> {
    let parsers = line_values::parsers()?;
    writes(&parsers, "[call]find\ncity = umber umber\ndays = 2\nwhole = True\n[/call]\n[call]ping\n[/call]", |case| {
        case.call("find", json!({"city": "umber umber", "days": 2, "whole": true})).call("ping", json!({}))
    })?;
    // Lines that name no argument of the tool are a part of the value.
    writes(
        &parsers,
        "[call]find\ncity = a\nx = y\nthe city = b\ncity\n= c [/call] d\n\ndays = 3\n[/call]<|end|>",
        |case| case.call("find", json!({"city": "a\nx = y\nthe city = b\ncity\n= c [/call] d\n", "days": 3})),
    )?;
    // White space at the ends of a value comes back, and so does an empty value.
    writes(&parsers, "[call]find\ncity =   a \t \nany = \n[/call]", |case| {
        case.call("find", json!({"city": "  a \t ", "any": ""}))
    })?;
    writes(&parsers, "[call]find\ncity = \n \n\nany = \n\n\n[/call]", |case| {
        case.call("find", json!({"city": "\n \n", "any": "\n\n"}))
    })?;
    writes(&parsers, "[call]find\nhome = {'city': 'a\\nb = c', 'floor': 1}\ntag = ['x']\n[/call]", |case| {
        case.call("find", json!({"home": {"city": "a\nb = c", "floor": 1}, "tag": ["x"]}))
    })?;
    // Less white space is understood.
    reads(&parsers, "Well.[call]find\ncity=a\ndays   =3\n[/call]", |case| {
        case.content("Well.").call("find", json!({"city": "a", "days": 3}))
    })?;
    reads(&parsers, "[call]ping[/call]", |case| case.call("ping", json!({})))?;
    // Without a schema, any name counts.
    reads(&parsers, "[call]ping\na = 1\nb.c-d = x\ny z = 2\n[/call]", |case| {
        case.call("ping", json!({"a": 1, "b.c-d": "x\ny z = 2"}))
    })?;
    reads(&parsers, "[call]find\ncity = a\nday", |case| {
        case.call_begins("find", "{\"city\": \"a\\nday").diagnostic(DiagnosticKind::IncompleteCall)
    })?;
    let parsers = named_lines::parsers()?;
    writes(&parsers, "<call>\nname=find\ncity=heron\nriver\n\n\n</call>\n<call>\nname=ping\n\n</call>", |case| {
        case.call("find", json!({"city": "heron\nriver\n"})).call("ping", json!({}))
    })?;
    reads(&parsers, "<call>\nname=find\ncity=heron\n</call>", |case| case.call("find", json!({"city": "heron"})))
}

#[test]
fn a_value_ends_at_the_separator_before_the_next_argument() -> Result<(), Failure> {
    let parsers = bare_values::parsers()?;
    writes(&parsers, "[find(city=umber umber, days=2, whole=True), ping(), find(city=)]", |case| {
        case.call("find", json!({"city": "umber umber", "days": 2, "whole": true}))
            .call("ping", json!({}))
            .call("find", json!({"city": ""}))
    })?;
    writes(&parsers, "[find(city=a, b=c, (d), e (f), any=g) h, i()), ping()]<|end|>", |case| {
        case.call("find", json!({"city": "a, b=c, (d), e (f)", "any": "g) h, i()"})).call("ping", json!({}))
    })?;
    writes(&parsers, "[find(home={'city': 'x, y', 'floor': 2}, tag=['(a)', 'b'])]", |case| {
        case.call("find", json!({"home": {"city": "x, y", "floor": 2}, "tag": ["(a)", "b"]}))
    })?;
    reads(&parsers, "As in [1] (see f).", |case| case.content("As in [1] (see f)."))
}

/// Calls `check` with texts that chance puts together from these pieces.
fn by_chance(pieces: &[&str], count: usize, mut check: impl FnMut(&str, usize)) {
    let mut seed = 1_u64;
    let mut chance = |count: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % count
    };
    for _ in 0..count {
        let output: String = (0..2 + chance(14)).map(|_| pieces[chance(pieces.len())]).collect();
        check(&output, 1 + chance(9));
    }
}

/// A call whose value is open, and pieces of what may come there.
const LINES: (&str, &[&str]) = (
    "[call]find\ncity = ",
    &[
        "[call]",
        "find",
        "\n",
        "\ncity",
        "days",
        " = ",
        "=",
        " ",
        "x",
        "é",
        "[/call]",
        "\n[/call]\n",
        "\nany = ",
        "<|end|>",
    ],
);
const NAMED_LINES: (&str, &[&str]) = (
    "<call>\nname=find\ncity=",
    &["<call>", "name=", "find", "\n", "\ncity=", "days", "=", " ", "x", "</call>", "\n\n</call>"],
);
const BARE: (&str, &[&str]) =
    ("[find(city=", &["[", "find(", "ping(", ")", "), ", ", ", ",", "city=", "days", "=", " ", "x", "]", "<|end|>"]);

#[test]
fn values_that_names_end_are_read_the_same_however_they_are_cut() -> Result<(), Failure> {
    let options = unjinja::Options::new().tools(&tools()?);
    for (parsers, (open, pieces)) in
        [(line_values::parsers()?, LINES), (named_lines::parsers()?, NAMED_LINES), (bare_values::parsers()?, BARE)]
    {
        let pieces = [pieces, &[open]].concat();
        by_chance(&pieces, 3000, |output, size| {
            let whole = parsers[0].parse(output.into(), &options);
            for (parser, size) in parsers.iter().flat_map(|parser| [(parser, 1), (parser, size)]) {
                let mut stream = parser.stream(&options);
                let mut message = unjinja::Message::default();
                let mut apply = |event: unjinja::Event<'_>| message.apply(&event);
                output.as_bytes().chunks(size).for_each(|piece| stream.push_bytes(piece, &mut apply));
                stream.finish(&mut apply);
                assert_eq!(message, whole, "{output:?} in pieces of {size}");
            }
        });
    }
    Ok(())
}

#[test]
fn names_in_values_are_looked_at_a_few_times_only() -> Result<(), Failure> {
    let options = unjinja::Options::new().tools(&tools()?);
    let long = format!("\n{}", "a".repeat(300));
    let names = ["\nx = ", "\n", "\ncity", "\n[/call", ", a", ")", ",", " ,", ")      ", &long];
    for (parsers, (open, _)) in
        [(line_values::parsers()?, LINES), (named_lines::parsers()?, NAMED_LINES), (bare_values::parsers()?, BARE)]
    {
        for (name, size) in names.iter().flat_map(|name| [(name, 1), (name, 7), (name, usize::MAX)]) {
            let output = format!("{open}{}", name.repeat(20_000 / name.len()));
            let mut stream = parsers[0].stream(&options);
            output.as_bytes().chunks(size.min(output.len())).for_each(|piece| stream.push_bytes(piece, &mut |_| {}));
            stream.finish(&mut |_| {});
            let ratio = bytes_looked_at(&*stream) as f64 / output.len() as f64;
            assert!(ratio < 4.0, "{ratio} times: {name:?} in pieces of {size}");
        }
    }
    Ok(())
}
