//! Where a model comes from: files of every kind, overlays and committed specs; and what an error says.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use unjinja_dynamic::{
    ChatParser, Conversation, FormatSpec, GrammarOptions, Input, KnownOverlay, Loader, Model, ModelError, Options,
    Origin, Overlay, Reason, Source, SpecialToken, SpecialTokens, Status, Target, ToolChoice, Tools, Unparsed,
};
use unjinja_spec::MarkerKey;
use unjinja_testkit::{Failure, root};

const TEMPLATE: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

/// Offers tools, and renders no calls.
const OFFERS: &str = "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>\
    {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

const CALLS: &str = "status = 'supported' # The model card documents it.\n\
    [capabilities]\ntool_calls = true # As above.\n\
    [tools]\nformat = 'json_native' # As above.\nper_call_start = '<call>' # As above.\nper_call_end = '</call>' # As above.\n\
    name_field = 'name' # As above.\nargs_field = 'arguments' # As above.\n";

const CALL: &str = "<call>{\"name\": \"now\", \"arguments\": {}}</call>";

fn gguf(name: &str) -> PathBuf {
    root().join("source/tests/gguf").join(name)
}

fn folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loading").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn calls() -> Result<Overlay, Failure> {
    Ok(Overlay::from_toml(CALLS, "calls.overlay.toml")?)
}

#[test]
fn a_gguf_file_gives_a_prompt_a_call_and_a_grammar() -> Result<(), Failure> {
    let model = Model::from_gguf(gguf("v3_big.gguf"))?;
    assert_eq!((model.name(), model.status()), ("v3_big", Status::Supported));
    let tools = json!([{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}]);
    let conversation = Conversation::new(json!([{"role": "user", "content": "Hi"}])).tools(tools.clone());
    let prompt = model.render(&conversation)?;
    assert!(prompt.starts_with("<s>[TOOLS]{\"name\": \"now\""), "the file's own token begins it: {prompt}");
    assert!(prompt.ends_with("[ASK]Hi[/ASK][ANSWER]"), "{prompt}");
    assert!(!model.render(&conversation.clone().tools(json!([])).generation_prompt(false))?.contains("[TOOLS]"));

    let tools = Tools::from_openai(&tools)?;
    let options = Options::new().tools(&tools).generation_prompt(prompt);
    let message = model.parse(b"[TOOL_CALLS]now[CALL_ID]123456789[ARGS]{}[/ANSWER]", &options);
    assert_eq!((&*message.tool_calls[0].name, message.tool_calls[0].id.as_deref()), ("now", Some("123456789")));
    let grammar = model.grammar(&tools, &GrammarOptions::new().tool_choice(ToolChoice::Required))?;
    assert!(grammar.text.starts_with("root ::="));
    assert!(model.grammar_for_any(&GrammarOptions::new()).is_ok());
    Ok(())
}

#[test]
fn files_of_every_kind_are_known_by_their_content() -> Result<(), Failure> {
    let folder = folder("kinds")?;
    let config = folder.join("tokenizer_config.json");
    let templates = json!([{"name": "default", "template": TEMPLATE}, {"name": "tool_use", "template": OFFERS}]);
    fs::write(&config, json!({"chat_template": templates, "eos_token": "</>"}).to_string())?;
    let named = format!("{}#tool_use", config.display());
    assert_eq!(Model::from_tokenizer_config(&named)?.template(), Some(OFFERS));
    assert_eq!(Model::from_file(&named)?.spec().template.file, "tokenizer_config.json#tool_use");
    let error = Model::from_file(&config).unwrap_err().to_string();
    assert!(error.contains("`default`, `tool_use`; choose one, as in "), "{error}");

    // As transformers chooses among the files of a model.
    let additional = folder.join("additional_chat_templates");
    fs::create_dir_all(&additional)?;
    for (file, text, template) in [
        (folder.join("chat_template.json"), json!({"chat_template": TEMPLATE}).to_string(), TEMPLATE),
        (additional.join("default.jinja"), OFFERS.to_owned(), OFFERS),
    ] {
        fs::write(file, text)?;
        assert_eq!(Loader::new().from_file(&folder)?.template(), Some(template));
    }

    let template = folder.join("some.jinja");
    fs::write(&template, TEMPLATE)?;
    let model = Model::from_file(&template)?;
    let spec = folder.join("some.toml");
    fs::write(&spec, model.spec().to_toml())?;
    assert_eq!(Model::from_file(&spec)?.spec(), model.spec());
    assert_eq!(Model::from_file(format!("{}#rag", gguf("named.gguf").display()))?.name(), "named_rag");
    // Named by its content, whatever the file is called.
    fs::copy(gguf("v2_little.gguf"), folder.join("model.bin"))?;
    assert_eq!(Model::from_gguf(folder.join("model.bin"))?.name(), "model_bin");
    Ok(())
}

#[test]
fn thinking_is_switched_with_the_templates_own_variable() -> Result<(), Failure> {
    let model = Model::from_file(root().join("templates/qwen3.jinja"))?;
    assert_eq!(model.spec().reasoning.switch, "enable_thinking");
    let conversation = Conversation::new(json!([{"role": "user", "content": "Hi"}]));
    let on = model.render(&conversation.clone().thinking(true))?;
    let off = model.render(&conversation.clone().thinking(false))?;
    assert_ne!(on, off);
    assert_eq!(off, model.render(&conversation.variable("enable_thinking", false))?);
    Ok(())
}

/// `add_generation_prompt` adds nothing, so the end of the whole prompt says whether reasoning is open.
#[test]
fn the_turn_may_begin_in_the_users_message() -> Result<(), Failure> {
    let template = "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}<|assistant|>\
        {{ '<think>' if thinking else '</think>' }}\
        {% else %}{% if thinking %}{{ m.reasoning_content or '' }}</think>{% endif %}{{ m.content }}<|end|>{% endif %}{% endfor %}";
    let model = Model::from_template(template)?;
    let conversation = Conversation::new(json!([{"role": "user", "content": "Hi"}]));
    for (on, turn, output, reasoning) in
        [(true, "<think>", "Hm.</think>Yes.<|end|>", "Hm."), (false, "</think>", "Yes.<|end|>", "")]
    {
        let prompt = model.prompt(&conversation.clone().thinking(on))?;
        assert_eq!((prompt.turn(), model.turn_of(prompt.text())), (turn, turn));
        let message = model.parse(output, &Options::new().generation_prompt(prompt.turn()));
        assert_eq!((&*message.reasoning_content, &*message.content), (reasoning, "Yes."));
    }
    // Tools that are not offered are None, as in transformers.
    let model = Model::from_template(&format!("{{% if tools is none %}}no tools{{% endif %}}{template}"))?;
    assert!(model.prompt(&conversation)?.text().starts_with("no tools"));
    Ok(())
}

#[test]
fn an_overlay_is_applied_if_it_is_given_or_stands_beside_the_file() -> Result<(), Failure> {
    let folder = folder("overlays")?;
    let path = folder.join("offers.jinja");
    fs::write(&path, OFFERS)?;
    let bare = Model::from_file(&path)?;
    assert_eq!((bare.status(), bare.corrections()), (Status::Partial, &[][..]));
    assert_eq!(bare.parse(CALL, &Options::new()).tool_calls.len(), 0);

    let given = Loader::new().overlay(calls()?).from_template(OFFERS)?;
    fs::write(folder.join("offers.overlay.toml"), CALLS)?;
    let adjacent = Model::from_file(&path)?;
    for (model, reason) in [(&given, Reason::Given), (&adjacent, Reason::NextToSource)] {
        assert_eq!((model.status(), model.corrections()[0].reason), (Status::Supported, reason));
        assert_eq!(model.parse(CALL, &Options::new()).tool_calls.len(), 1);
    }
    // An overlay that is given replaces the one next to the file.
    let other = Overlay::from_toml("[alternatives]\n# A reason.\n'turn.end' = ['<stop>']\n", "x")?;
    let model = Loader::new().overlay(other).from_file(&path)?;
    assert_eq!((model.corrections().len(), model.corrections()[0].reason), (1, Reason::Given));
    Ok(())
}

#[test]
fn a_known_overlay_fits_by_template_or_by_format() -> Result<(), Failure> {
    let reason = |loader: &Loader, text: &str| -> Result<Option<Reason>, Failure> {
        Ok(loader.from_template(text)?.corrections().first().map(|correction| correction.reason))
    };
    let known = |text: &str, overlay: &str| -> Result<KnownOverlay, Failure> {
        Ok(KnownOverlay::new(Model::from_template(text)?.spec(), Overlay::from_toml(overlay, "known.overlay.toml")?))
    };
    let text = fs::read_to_string(root().join("templates/hermes.jinja"))?;
    let other = format!("{{# A comment. #}}{text}");
    let stop = known(&text, "[alternatives]\n# The model card documents it.\n'turn.end' = ['<stop>']\n")?;
    let loader = Loader::new().overlays([stop.clone()]);
    assert_eq!(reason(&loader, &text)?, Some(Reason::SameTemplate));
    assert_eq!(reason(&loader, &other)?, Some(Reason::SameFormat));
    assert_eq!(loader.from_template(&other)?.parse("Hello<stop>", &Options::new()).content, "Hello");
    assert_eq!(reason(&loader, &text.replace("<tool_call>", "<call>"))?, None, "another format");
    assert_eq!(reason(&loader, OFFERS)?, None);
    // A spec that is given is left as it is, unless the overlay was written for its template.
    let mut spec = Model::from_template(&other)?.spec().clone();
    assert!(loader.from_spec(&spec.to_toml())?.corrections().is_empty());
    spec.template.sha256 = Model::from_template(&text)?.spec().template.sha256.clone();
    assert_eq!(loader.from_spec(&spec.to_toml())?.corrections().len(), 1);

    // Two that disagree: neither is applied, except to its own template.
    let disagreeing = known(&other, "[alternatives]\n# The model card documents it.\n'turn.end' = ['<end>']\n")?;
    let both = Loader::new().overlays([stop.clone(), disagreeing]);
    assert_eq!(reason(&both, &format!("{{# Another. #}}{text}"))?, None);
    assert_eq!(reason(&both, &other)?, Some(Reason::SameTemplate));
    assert_eq!(reason(&Loader::new().overlays([stop.clone(), stop]), &other)?, Some(Reason::SameFormat));

    // A format without calls does not say how a model calls, so an overlay that does is for one template only.
    let loader = Loader::new().overlays([known(OFFERS, CALLS)?]);
    assert_eq!(loader.from_template(OFFERS)?.parse(CALL, &Options::new()).tool_calls.len(), 1);
    assert_eq!(reason(&loader, &format!("{{# A comment. #}}{OFFERS}"))?, None);
    Ok(())
}

/// What a prompt says about its tools, between two tokens of its own.
fn announcing(before: &str, after: &str) -> String {
    format!(
        "{{% if tools %}}<|system|>{before} <|tools_begin|>{{{{ tools | tojson }}}}<|tools_end|> {after}<|end|>{{% endif %}}\
         {{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>{{% endfor %}}\
         {{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
    )
}

/// Templates with the same tokens may ask for other calls.
#[test]
fn a_known_overlay_must_not_contradict_the_prompt() -> Result<(), Failure> {
    let corrections = |own: &str, other: &str, opener: &str| -> Result<usize, Failure> {
        let own = Loader::new().without_known_formats().load(Input::text(own))?.bare;
        let overlay = Overlay::from_toml(&CALLS.replace("<call>", opener), "calls.overlay.toml")?;
        let loader = Loader::new().without_known_formats().overlays([KnownOverlay::new(&own, overlay)]);
        Ok(loader.load(Input::text(other))?.corrections.len())
    };
    // The prompt says nothing about calls.
    let own = announcing("Tools:", "");
    assert_eq!(corrections(&own, &announcing("The list of tools:", ""), "<|tool_use|>")?, 1);
    for after in ["Answer with RUN, the name and JSON.", "To run one, reply with <<<{\"run\": \"name\"}>>>"] {
        assert_eq!(corrections(&own, &announcing("Tools:", after), "<|tool_use|>")?, 0, "{after}");
    }
    // It says with which token.
    let own = announcing("Respond with <|tool_use|> and JSON.", "");
    let other = announcing("These are tools.", "If you need one, write <|tool_use|> and then JSON.");
    assert_eq!(corrections(&own, &other, "<|tool_use|>")?, 1);
    for after in ["Answer with RUN and JSON. Results follow <|tool_use|>.", "Results follow <|tool_use|>."] {
        assert_eq!(corrections(&own, &announcing("Tools:", after), "<|tool_use|>")?, 0, "{after}");
    }
    Ok(())
}

#[test]
fn a_template_gets_what_transformers_gives_it() -> Result<(), Failure> {
    let asks = "{{ 'no tools' if tools is none }} {{ 'no documents' if documents is none }} {{ sep_token }} \
        {% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}";
    let model = Loader::new()
        .from_source(Source::from_text("asks.jinja", asks).with_tokens_of("{\"sep_token\": \"<sep>\"}"))?;
    assert!(model.knows_tokens());
    let conversation = Conversation::new(json!([]));
    assert_eq!(model.render(&conversation)?, "no tools no documents <sep> ");
    assert_eq!(model.render(&conversation.tools(json!([])))?, "no tools no documents <sep> ");
    Ok(())
}

#[test]
fn a_committed_spec_takes_the_place_of_the_analysis() -> Result<(), Failure> {
    let mut spec: FormatSpec = Model::from_template(TEMPLATE)?.spec().clone();
    spec.turn.end = "<stop>".to_owned();
    let loader = Loader::new().committed_spec(spec);
    let model = loader.from_template(TEMPLATE)?;
    assert_eq!(model.parse("Hello<stop>", &Options::new()).content, "Hello");
    assert_eq!(model.render(&Conversation::new(json!([])))?, "<assistant>");
    let error = loader.from_template(OFFERS).unwrap_err().to_string();
    assert!(error.starts_with("template was made from another template than template.jinja: "));
    Ok(())
}

/// An error, and parts of its text: the place, the cause and the next step.
type Case = (ModelError, &'static str, &'static str, &'static str);

#[test]
fn errors_have_a_place_a_cause_and_a_next_step() -> Result<(), Failure> {
    let folder = folder("errors")?;
    let at = |name: &str, text: &str| -> Result<PathBuf, Failure> {
        let path = folder.join(name);
        fs::write(&path, text)?;
        Ok(path)
    };
    let error = |model: Result<Model, ModelError>| model.unwrap_err();
    let strict = Model::from_template(&format!(
        "{TEMPLATE}{{% if messages[0].content == 'no' %}}{{{{ raise_exception('not this') }}}}{{% endif %}}"
    ))?;
    let refused = strict.render(&Conversation::new(json!([{"role": "user", "content": "no"}]))).unwrap_err();
    let spec = strict.spec().to_toml();
    let bare = Model::from_spec(&spec)?.render(&Conversation::new(json!([]))).unwrap_err();
    fs::write(folder.join("good.jinja"), TEMPLATE)?;
    fs::write(folder.join("good.overlay.toml"), "[turn]\n\nend = 'x'\n")?;
    let loader = Loader::new().name("My model");
    let supported = fs::read_to_string(root().join("generated/specs/qwen_qwen3_0_6b.toml"))?;
    let mut crowded = FormatSpec::from_toml(&supported, "crowded.toml")?;
    crowded.alternatives.insert(MarkerKey::CallStart, (0..80).map(|n| format!("<call_{n}>")).collect());
    let cases: Vec<Case> = vec![
        (error(Model::from_file(folder.join("none.jinja"))), "none.jinja", "No such file", "check the path"),
        (
            error(Model::from_file("No-Owner/no-model")),
            "no-model",
            "`unjinja fetch No-Owner/no-model`",
            "nothing is downloaded",
        ),
        (error(Model::from_file(folder.join("none.toml"))), "none.toml", "No such file", "check the path"),
        (error(Model::from_gguf(folder.join("none.gguf"))), "none.gguf", "No such file", "check the path"),
        (error(Model::from_gguf(folder.join("good.jinja"))), "good.jinja", "no", "as a file or a folder"),
        (
            error(Model::from_gguf(gguf("bare.gguf"))),
            "bare.gguf",
            "no `tokenizer.chat_template`",
            "chat_template.jinja",
        ),
        (error(Model::from_gguf(at("bad.gguf", "GGUF\x03")?)), "bad.gguf", "", "download"),
        (
            error(Model::from_tokenizer_config(at("tokenizer_config.json", "{}")?)),
            "tokenizer_config.json",
            "no",
            "chat_template.jinja",
        ),
        (error(Model::from_template("\n{{ a }")), "template.jinja:2", "}", "correct the template"),
        (error(loader.from_template("{{ a }")), "my_model.jinja:1", "}", "correct the template"),
        (
            error(Model::from_template("{{ raise_exception('no') }}")),
            "template.jinja",
            "cannot be rendered",
            "make the template render",
        ),
        (error(Model::from_template("")), "template.jinja", "is this a chat template?", "what the template renders"),
        (
            error(Model::from_template(&format!("{{% for i in range(9999999) %}}{{% endfor %}}{TEMPLATE}"))),
            "template.jinja",
            "limit",
            "make the template render",
        ),
        (error(Model::from_spec("colour = 1")), "spec.toml:1", "unknown key `colour`", "next"),
        (error(Model::from_file(at("bad.toml", "x")?)), "bad.toml:1", "TOML", "correct the syntax"),
        (error(Model::from_file(folder.join("good.jinja"))), "good.overlay.toml:3", "gives no reason", "comment"),
        (
            error(Model::from_spec(&crowded.to_toml())),
            "the spec `qwen_qwen3_0_6b`",
            "at most 64",
            "remove alternatives",
        ),
        (refused, "template.jinja:1", "not this", "the template refuses it"),
        (bare, "template", "has no template", "from its chat template"),
    ];
    for (error, place, cause, next) in cases {
        let text = error.to_string();
        for part in [place, cause, next, "= next: "] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        assert!(!text.ends_with('\n'), "{text:?}");
        let known = error.source().map(ToString::to_string).unwrap_or_default();
        assert!(text.contains(known.trim_end()), "{known}\n{text}");
    }
    Ok(())
}

#[test]
fn a_model_prints_what_matters() -> Result<(), Failure> {
    let model = Loader::new().name("Some-Model").from_template(TEMPLATE)?;
    assert_eq!(format!("{model:?}"), r#"Model { name: "some_model", status: Supported, gaps: [], .. }"#);
    assert_eq!(model.clone().parser().info().name, "some_model");
    Ok(())
}

#[cfg(feature = "generated")]
mod generated {
    use super::*;

    #[test]
    fn a_supported_model_is_found_by_name() -> Result<(), Failure> {
        for name in ["qwen_qwen3_0_6b", "Qwen/Qwen3-0.6B", "qwen3-0.6b"] {
            assert_eq!(Model::known(name)?.name(), "qwen_qwen3_0_6b", "{name}");
        }
        let with_overlay = Model::known("lfm2_8b_a1b")?;
        assert_eq!(with_overlay.corrections()[0].reason, Reason::SameTemplate);
        let error = Model::known("no-such-model").unwrap_err().to_string();
        assert_eq!(
            error,
            "no supported model is called \"no-such-model\"\n  = next: look for it in the list of supported models, or load \
             the model's template from its file"
        );
        let near = Model::known("qwen_qwenn3_0_6b").unwrap_err().to_string();
        assert!(near.contains("= next: use qwen_qwen3_0_6b, or load"), "{near}");
        assert_eq!(Model::known("Qwen-Qwen3-0.6B.jinja")?.name(), "qwen_qwen3_0_6b");
        Ok(())
    }

    #[test]
    fn a_reviewed_spec_is_for_its_template_and_its_tokens() -> Result<(), Failure> {
        let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
        let path = corpus.join("templates/mistralai-Mistral-Nemo-Instruct-2407.jinja");
        let end = |loader: &Loader| -> Result<(Origin, String), Failure> {
            let loaded = loader.load(Input::file(&path))?;
            Ok((loaded.origin, loaded.spec.turn.end))
        };
        let eos = SpecialTokens { eos: Some("</s>".to_owned()), ..SpecialTokens::default() };
        assert_eq!(end(&Loader::new())?, (Origin::Reviewed, String::new()));
        assert_eq!(end(&Loader::new().analyse_anew())?, (Origin::Analysed, String::new()));
        assert_eq!(end(&Loader::new().without_known_formats())?, (Origin::Analysed, String::new()));
        // The template writes this token, which nobody told when the spec was reviewed.
        assert_eq!(end(&Loader::new().tokens(eos))?, (Origin::Analysed, "</s>".to_owned()));
        // Names are those of the file; a text without a name has those of the spec.
        let text = fs::read_to_string(&path)?;
        assert_eq!(Loader::new().from_template(&text)?.name(), "mistralai_mistral_nemo_instruct_2407");
        assert_eq!(Loader::new().name("mine").from_template(&text)?.name(), "mine");
        Ok(())
    }

    #[test]
    fn reviewed_specs_get_their_overlays() -> Result<(), Failure> {
        let loader = Loader::new();
        assert_eq!(loader.from_template(TEMPLATE)?.corrections(), []);

        let bare = |name: &str, toml: &str| FormatSpec::from_toml(toml, name);
        let mut known = Vec::new();
        for (name, toml) in unjinja_generated::specs() {
            let (spec, model) = (bare(name, toml)?, loader.known(name)?);
            let overlay = unjinja_generated::overlay(&spec.template.sha256);
            let reason = model.corrections().first().map(|correction| correction.reason);
            assert_eq!(reason, overlay.map(|_| Reason::SameTemplate), "{name}: a reviewed spec gets its own overlay");
            if let Some(overlay) = overlay {
                known.push(KnownOverlay::new(&spec, Overlay::from_toml(overlay, name)?));
            }
        }
        assert!(known.len() > 4, "{} overlays", known.len());
        // Another template of the same format gets the overlay as well, if the format has calls.
        let mut alike = 0;
        for (name, toml) in unjinja_generated::specs() {
            let mut spec = bare(name, toml)?;
            spec.template.sha256 = "0".repeat(64);
            alike += known.iter().filter(|overlay| overlay.fits(&spec) == Some(Reason::SameFormat)).count();
        }
        assert!((1..known.len()).contains(&alike), "{alike} specs have the format of one with an overlay");
        Ok(())
    }
}

/// Servers ship copies of a template that end a past call like any message. The model still ends it with its own token.
#[test]
fn an_overlay_knows_the_end_of_a_call_that_a_copy_of_the_template_hides() -> Result<(), Failure> {
    let file = |name: &str| fs::read_to_string(root().join("generated/specs").join(name));
    let mut spec = FormatSpec::from_toml(&file("openai_gpt_oss_120b.toml")?, "spec.toml")?;
    assert_eq!(spec.tools.per_call_end, "<|call|>");
    spec.tools.per_call_end = "<|end|>".to_owned();
    let overlay = Overlay::from_toml(&file("openai_gpt_oss_120b.overlay.toml")?, "overlay.toml")?;
    let parser = unjinja_codegen::interpreter(&overlay.apply(&spec)?)?;
    let message =
        parser.parse("<|channel|>final<|message|>Hi<|call|>".into(), &Options::new().unparsed(Unparsed::Separate));
    assert_eq!(message.content, "Hi");
    let call = "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>";
    let message = parser.parse(call.into(), &Options::new());
    assert_eq!((message.tool_calls.len(), &*message.content), (1, ""));
    Ok(())
}

/// llguidance keeps tokens apart from text, so its grammars name those that the tokenizer has.
#[test]
fn llguidance_gets_the_tokens_of_the_tokenizer() -> Result<(), Failure> {
    let folder = folder("llguidance")?;
    fs::copy(root().join("templates/qwen3.jinja"), folder.join("chat_template.jinja"))?;
    let lark = GrammarOptions::new().target(Target::Llguidance);
    let asked = |options: &GrammarOptions| -> Result<Vec<String>, Failure> {
        let grammar = Model::from_file(&folder)?.grammar_for_any(options)?.text;
        let named = ["<[7]>", "<[8]>", "<[9]>", "<tool_call>"];
        let lines = grammar.lines().filter(|line| !line.starts_with("//")).collect::<String>();
        Ok(named.into_iter().filter(|text| lines.contains(text)).map(str::to_owned).collect())
    };
    assert_eq!(asked(&lark)?, [""; 0]);
    let token = |content: &str, special: bool| json!({"content": content, "special": special});
    let decoder =
        json!({"7": token("<tool_call>", false), "9": token("<|im_end|>", true), "3": token("<other>", true)});
    fs::write(folder.join("tokenizer_config.json"), json!({"added_tokens_decoder": decoder}).to_string())?;
    assert_eq!(asked(&lark)?, ["<[7]>", "<[9]>"]);
    let added = json!({"id": 8, "content": "</think>", "special": false});
    fs::write(folder.join("tokenizer.json"), json!({"added_tokens": [added], "model": {"vocab": {}}}).to_string())?;
    assert_eq!(asked(&lark)?, ["<[8]>"]);
    assert_eq!(asked(&lark.special_tokens([SpecialToken::new("<tool_call>")]))?, ["<tool_call>"]);
    Ok(())
}
