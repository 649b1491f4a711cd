//! What a spec says about the prompt's end, and what its parser then reads.

use serde_json::{Value, json};
use unjinja_render::Template;
use unjinja_runtime::{Message, Options, parse};
use unjinja_spec::{FormatSpec, MarkerKey, ReasoningMode, StartsIn, Status};

use crate::analyze::{Naming, analyze};

type Failure = Box<dyn std::error::Error>;

fn template(source: &str) -> Result<(Template, FormatSpec), Failure> {
    let template = Template::parse("sample.jinja", source)?;
    let spec = analyze(&template, &Naming::of_file("sample.jinja"))?;
    Ok((template, spec))
}

/// Reads an output after the prompt that the template writes for a question, with these variables.
fn read(template: &Template, spec: &FormatSpec, variables: &Value, output: &str) -> Result<Message, Failure> {
    let render = |prompt: bool| {
        let mut context = variables.clone();
        context["messages"] = json!([{"role": "user", "content": "Rain?"}]);
        context["add_generation_prompt"] = prompt.into();
        template.render(&context)
    };
    let (prompt, before) = (render(true)?, render(false)?);
    let options = Options::new().generation_prompt(spec.begun_by(&prompt, &before));
    Ok(parse(unjinja_codegen::interpreter(spec)?, output, &options))
}

fn thought(message: &Message) -> (&str, &str) {
    (message.reasoning_content.trim(), message.content.trim())
}

/// A template that writes the start of the assistant's turn together with the user's message.
const WITH_USER: &str = "{% for m in messages %}\
    {% if m.role == 'user' %}<|user|>{{ m.content }}<|assistant|>\
    {% if loop.last or messages[loop.index].role == 'assistant' %}{{ '<think>' if THINKING else '</think>' }}{% endif %}\
    {% elif m.role == 'assistant' %}\
    {% if THINKING %}{{ m.reasoning_content or '' }}</think>{% endif %}{{ m.content }}<|end|>{% endif %}\
    {% endfor %}";

#[test]
fn the_end_of_the_prompt_says_where_a_turn_begins() -> Result<(), Failure> {
    // The variable is unset, true or false; whether the prompt then opens reasoning.
    let cases: [(&str, [bool; 3]); 2] =
        [("thinking", [false, true, false]), ("(thinking is not defined or thinking)", [true, true, false])];
    for (condition, expected) in cases {
        let (template, spec) = template(&WITH_USER.replace("THINKING", condition))?;
        assert_eq!(spec.status, Status::Supported, "{:?}", spec.gaps);
        assert_eq!((&*spec.reasoning.start, &*spec.reasoning.end), ("<think>", "</think>"));
        assert_eq!(spec.reasoning.switch, "thinking");
        for (value, opens) in [json!({}), json!({"thinking": true}), json!({"thinking": false})].iter().zip(expected) {
            let thinking = value["thinking"].as_bool();
            let prompt = spec.generation_prompt.iter().find(|prompt| prompt.thinking == thinking).ok_or("no prompt")?;
            let (text, starts_in) =
                if opens { ("<think>", StartsIn::Reasoning) } else { ("</think>", StartsIn::Content) };
            assert_eq!((&*prompt.text, prompt.starts_in), (text, starts_in), "{condition}, {value}");
            if opens {
                let message = read(&template, &spec, value, "Clouds.</think>Yes.<|end|>")?;
                assert_eq!(thought(&message), ("Clouds.", "Yes."), "{condition}, {value}");
            } else {
                let message = read(&template, &spec, value, "Yes.<|end|>")?;
                assert_eq!(thought(&message), ("", "Yes."), "{condition}, {value}");
            }
        }
    }
    Ok(())
}

/// A block that the template writes at the end of every prompt, whether or not a generation prompt was asked for.
#[test]
fn a_closed_block_at_the_end_of_every_prompt() -> Result<(), Failure> {
    let source = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}<|sep|>\
        {% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}\
        {% if enable_thinking is defined and not enable_thinking %}{{ '<think>\\n\\n</think>\\n' }}{% endif %}";
    let (template, spec) = template(source)?;
    assert_eq!((&*spec.reasoning.start, &*spec.reasoning.end), ("<think>\n", "</think>"));
    let off = json!({"enable_thinking": false});
    assert_eq!(thought(&read(&template, &spec, &off, "Yes.<|end|>")?), ("", "Yes."));
    let unset = read(&template, &spec, &json!({}), "<think>\nClouds.\n</think>\nYes.<|end|>")?;
    assert_eq!(thought(&unset), ("Clouds.", "Yes."));
    // A server may pass on more of the prompt than the turn.
    let parser = unjinja_codegen::interpreter(&spec)?;
    for prompt in ["<|sep|><think>\n\n</think>\n", "<|sep|></think>"] {
        let message = parse(parser.clone(), "Yes.<|end|>", &Options::new().generation_prompt(prompt));
        assert_eq!(thought(&message), ("", "Yes."), "{prompt:?}");
    }
    let message = parse(parser, "Clouds.</think>Yes.", &Options::new().generation_prompt("<|sep|><think>\n"));
    assert_eq!(thought(&message), ("Clouds.", "Yes."));
    Ok(())
}

/// The closer is in no text of these templates.
#[test]
fn what_a_prompt_opens_is_closed_by_its_counterpart() -> Result<(), Failure> {
    let cases = [
        ("<think>", "</think>"),
        ("<THINKING>", "</THINKING>"),
        ("[THINK]", "[/THINK]"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<seed:think>", "</seed:think>"),
        ("<|think>", "<think|>"),
        ("[think]", "[/think]"),
        ("◁think▷", "◁/think▷"),
    ];
    for (open, end) in cases {
        // Text that the prompt writes into the reasoning is not read again.
        for layout in ["", "\\n", "Okay, ", "\\nLet me think", "[x] "] {
            let source = format!(
                "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>{{% endfor %}}\
                 {{% if add_generation_prompt %}}{{{{ '<|assistant|>{open}{layout}' }}}}{{% endif %}}"
            );
            let (template, spec) = template(&source)?;
            assert_eq!(spec.status, Status::Supported, "{open}: {:?}", spec.gaps);
            assert_eq!((spec.reasoning.start.trim(), &*spec.reasoning.end), (open, end));
            // The model may write the opener again.
            let again = format!("{open}\nClouds.{end}Yes.<|end|>");
            assert_eq!(thought(&read(&template, &spec, &json!({}), &again)?), ("Clouds.", "Yes."), "{open}");
            let output = format!("Clouds.\n{end}\n\nYes.<|end|>");
            assert_eq!(thought(&read(&template, &spec, &json!({}), &output)?), ("Clouds.", "Yes."), "{open}");
        }
    }
    Ok(())
}

/// What a prompt adds is not always an opener of reasoning.
#[test]
fn other_ends_of_prompts_open_nothing() -> Result<(), Failure> {
    for end in ["<|no_think|>", "<answer>", "<think></think>", "</think>", "<think|>", "Thinking"] {
        let source = format!(
            "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>{{% endfor %}}\
             {{% if add_generation_prompt %}}<|assistant|>{end}{{% endif %}}"
        );
        let (template, spec) = template(&source)?;
        assert_eq!(spec.generation_prompt[0].starts_in, StartsIn::Content, "{end}");
        assert_eq!(thought(&read(&template, &spec, &json!({}), "Yes.<|end|>")?), ("", "Yes."), "{end}");
    }
    Ok(())
}

/// Turns show other markers than the one that the prompt ends in.
#[test]
fn an_opener_that_a_spec_does_not_know_is_a_gap() -> Result<(), Failure> {
    let source = "{% for m in messages %}<|{{ m.role }}|>\
        {% if m.reasoning %}<r>{{ m.reasoning }}</r>{% endif %}{{ m.content }}<|end|>{% endfor %}\
        {% if add_generation_prompt %}<|assistant|><think>{% endif %}";
    let (_, spec) = template(source)?;
    assert_eq!(spec.status, Status::Partial);
    assert_eq!(spec.gaps, ["a prompt ends in <think>, but the spec does not say that this opens reasoning"]);
    Ok(())
}

/// The markers of the user's messages, also where a field of the assistant's message is written between them.
#[test]
fn what_encloses_the_user_is_no_reasoning() -> Result<(), Failure> {
    let cases = [
        // The template cuts answers at it.
        "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]\
         {% else %}{{ m.content.split('[/INST]')[-1] }}</s>{% endif %}{% endfor %}",
        // A variable adds a message.
        "{% if preamble %}[INST] {{ preamble }} [/INST] Yes.</s>{% endif %}{% for m in messages %}\
         {% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' if preamble else m.content + '|' }}\
         {% else %}{{ m.content }}</s>{% endif %}{% endfor %}",
        // A message holds the one that it answers.
        "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]\
         {% else %}{% if m.question %}[INST] {{ m.question }} [/INST]{% endif %}{{ m.content }}</s>{% endif %}{% endfor %}",
    ];
    for source in cases {
        let (_, spec) = template(source)?;
        assert_eq!(spec.reasoning.mode, ReasoningMode::None, "{source}: {:?}", spec.reasoning);
        assert_eq!(spec.status, Status::Supported, "{source}: {:?}", spec.gaps);
    }
    Ok(())
}

/// Templates without `add_generation_prompt` that open reasoning after the last user's message. Past answers follow no opener.
#[test]
fn past_turns_are_read_in_the_state_in_which_they_begin() -> Result<(), Failure> {
    let with_user = |condition: &str| {
        format!(
            "{{% for m in messages %}}{{% if m.role == 'user' %}}<|user|>{{{{ m.content }}}}<|assistant|>\
             {{{{ '<think>\\n' if {condition} else '' }}}}{{% else %}}{{{{ m.content }}}}<|end|>{{% endif %}}{{% endfor %}}"
        )
    };
    let cases = [
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
         {% if messages[-1].role != 'assistant' %}<|assistant|><think>{% endif %}"
            .to_owned(),
        "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}<|assistant|>\
         {% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}\
         {% if messages[-1].role == 'user' %}{{ '<think>\\n' }}{% endif %}"
            .to_owned(),
        with_user("loop.last"),
        with_user("loop.last and (enable_thinking is not defined or enable_thinking)"),
        with_user("loop.last and (reasoning_effort is not defined or reasoning_effort != 'none')"),
        // Past answers follow the opener too. No model wrote them.
        "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}<|assistant|>\
         {{ '</think>' if enable_thinking is defined and not enable_thinking else '<think>' }}\
         {% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}"
            .to_owned(),
    ];
    for source in cases {
        let (template, spec) = template(&source)?;
        assert_eq!(spec.status, Status::Supported, "{source}: {:?}", spec.gaps);
        assert_eq!((spec.reasoning.start.trim(), spec.reasoning.end.trim()), ("<think>", "</think>"), "{source}");
        let message = read(&template, &spec, &json!({}), "Clouds.\n</think>\nYes.<|end|>")?;
        assert_eq!(thought(&message), ("Clouds.", "Yes."), "{source}");
        if source.contains("enable_thinking") {
            let message = read(&template, &spec, &json!({"enable_thinking": false}), "Yes.<|end|>")?;
            assert_eq!(thought(&message), ("", "Yes."), "{source}");
        }
    }
    Ok(())
}

/// A template whose prompts end in this; with thinking switched off, in the other.
fn ending_in(on: &str, off: &str) -> String {
    format!(
        "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>{{% endfor %}}\
         {{% if add_generation_prompt %}}<|assistant|>\
         {{{{ '{on}' if enable_thinking is not defined or enable_thinking else '{off}' }}}}{{% endif %}}"
    )
}

/// Neither turns nor switches show what such a tag opens.
#[test]
fn a_tag_that_only_the_prompt_has_is_a_gap() -> Result<(), Failure> {
    let unknown = ["<scratchpad>", "<analysis>", "<|inner_prefix|>", "<thinker>", "<reasoner>", "<|assistant_thinks|>"];
    let off =
        ["<nothink>", "<|nothink|>", "<|think_off|>", "<|thinking_disabled|>", "<skip_think>", "<without_reasoning>"];
    for end in unknown.into_iter().chain(off).chain(["<unused94>thought", "<think"]) {
        let (template, spec) = template(&ending_in(end, end))?;
        assert_eq!((spec.status, spec.reasoning.mode), (Status::Partial, ReasoningMode::None), "{end}");
        assert!(spec.gaps[0].starts_with(&format!("a prompt ends in {end}, and nothing shows")), "{:?}", spec.gaps);
        assert_eq!(thought(&read(&template, &spec, &json!({}), "Yes.<|end|>")?), ("", "Yes."), "{end}");
    }
    Ok(())
}

/// What only the prompt with thinking has opens reasoning, whatever its name; what only the other one has opens none.
#[test]
fn a_switch_of_thinking_tells_openers_from_others() -> Result<(), Failure> {
    for open in ["<scratchpad>", "<|inner_prefix|>", "[deep]", "<think>Okay, "] {
        let (template, spec) = template(&ending_in(open, "<nothink>"))?;
        assert_eq!(spec.status, Status::Supported, "{open}: {:?}", spec.gaps);
        let output = format!("Clouds.{}Yes.<|end|>", spec.reasoning.end.trim());
        assert_eq!(thought(&read(&template, &spec, &json!({}), &output)?), ("Clouds.", "Yes."), "{open}");
        let message = read(&template, &spec, &json!({"enable_thinking": false}), "Yes.<|end|>")?;
        assert_eq!(thought(&message), ("", "Yes."), "{open}");
    }
    // The variable switches thinking off.
    let source = ending_in("<scratchpad>", "<nothink>")
        .replace("enable_thinking is not defined or enable_thinking", "not no_thinking");
    let (template, spec) = template(&source)?;
    assert_eq!((spec.status, &*spec.reasoning.start), (Status::Supported, "<scratchpad>"), "{:?}", spec.gaps);
    assert_eq!(thought(&read(&template, &spec, &json!({"no_thinking": true}), "Yes.<|end|>")?), ("", "Yes."));
    Ok(())
}

/// The prompt's own text names both halves of a pair, and the prompt ends in the first.
#[test]
fn a_described_pair_opens_reasoning() -> Result<(), Failure> {
    let source = "Place your work between <start_working_out> and <end_working_out>.\
        {% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
        {% if add_generation_prompt %}<|assistant|><start_working_out>{% endif %}";
    for text in [source.to_owned(), format!("{{{{ '{}' }}}}{}", &source[..66], &source[66..])] {
        let (template, spec) = template(&text)?;
        assert_eq!(spec.status, Status::Supported, "{text}: {:?}", spec.gaps);
        let message = read(&template, &spec, &json!({}), "Clouds.<end_working_out>Yes.<|end|>")?;
        assert_eq!(thought(&message), ("Clouds.", "Yes."), "{text}");
    }
    Ok(())
}

/// Text that is also before past answers is the header, and the text that names the answer opens it.
#[test]
fn headers_open_nothing() -> Result<(), Failure> {
    for header in ["<thinker>", "<|assistant_thinks|>", "<reasoner>", "<bot>", "<|x|>", "[bot]"] {
        for prompt in
            ["{% if add_generation_prompt %}HEADER{% endif %}", "{% if messages[-1].role == 'user' %}HEADER{% endif %}"]
        {
            let source = "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}<|end|>\
                {% else %}HEADER{{ m.content }}</s>{% endif %}{% endfor %}";
            let source = format!("{source}{prompt}").replace("HEADER", header);
            let (template, spec) = template(&source)?;
            assert_eq!((spec.status, spec.reasoning.mode), (Status::Supported, ReasoningMode::None), "{source}");
            assert_eq!(thought(&read(&template, &spec, &json!({}), "Yes.</s>")?), ("", "Yes."), "{source}");
        }
    }
    for end in ["<assistant>", "[ASSISTANT]", "<|assistant|>", "[/INST]", "<answer>"] {
        let (template, spec) = template(&ending_in(end, end))?;
        assert_eq!(
            (spec.status, spec.reasoning.mode),
            (Status::Supported, ReasoningMode::None),
            "{end}: {:?}",
            spec.gaps
        );
        assert_eq!(thought(&read(&template, &spec, &json!({}), "Yes.<|end|>")?), ("", "Yes."), "{end}");
    }
    // Every turn begins with an opener that nothing closes: its form says how models do.
    let (_, spec) = template(
        "{% for m in messages %}<|{{ m.role }}|>{{ '<think>' if m.role == 'assistant' else '' }}{{ m.content }}<|end|>\
         {% endfor %}{% if add_generation_prompt %}<|assistant|><think>{% endif %}",
    )?;
    assert_eq!([&*spec.reasoning.start, &spec.reasoning.end], ["<think>", "</think>"]);
    // A switch chooses the header.
    let (_, spec) = template(&ending_in("<|assistant_thinks|>", "<|assistant|>"))?;
    assert_eq!((spec.status, spec.reasoning.mode), (Status::Partial, ReasoningMode::None), "{:?}", spec.gaps);
    // The closer of a header is in the template.
    let (_, spec) = template(
        "{% for m in messages %}{% if m.role == 'user' %}<user>{{ m.content }}</user><bot>\
         {% else %}{{ m.content }}</bot>{% endif %}{% endfor %}",
    )?;
    assert_eq!((spec.status, spec.reasoning.mode), (Status::Supported, ReasoningMode::None), "{:?}", spec.gaps);
    Ok(())
}

/// Answers in `<|assistant|>`, with a text before all messages, and a change to past answers.
fn answering(own_text: &str, change: &str) -> String {
    format!(
        "{own_text}{{% for m in messages %}}{{% set text = m.content %}}{{% if m.role == 'assistant' %}}{change}{{% endif %}}\
         <|{{{{ m.role }}}}|>{{{{ text }}}}<|end|>{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
    )
}

#[test]
fn every_form_of_reasoning_that_is_removed_is_read() -> Result<(), Failure> {
    // One form is dropped; the other is kept under the tags of the first.
    let change = "{% if '</thinking>' in text %}{% set text = text.replace('thinking>', 'think>') %}{% endif %}\
                  {% set text = text.split('</think>')[-1] %}";
    let (template, spec) = template(&answering("", change))?;
    assert_eq!(spec.reasoning.end, "</thinking>");
    assert_eq!(spec.alternatives[&MarkerKey::ReasoningEnd], ["</think>"]);
    for output in ["<think>Clouds.</think>Yes.<|end|>", "<thinking>Clouds.</thinking>Yes.<|end|>"] {
        let message = read(&template, &spec, &json!({}), output)?;
        assert_eq!(thought(&message), ("Clouds.", "Yes."), "{output}");
    }
    Ok(())
}

#[test]
fn reasoning_that_every_prompt_describes_is_read() -> Result<(), Failure> {
    let (template, spec) =
        template(&answering("<|system|>First [THINK]your thoughts[/THINK], then words.<|end|>", ""))?;
    assert_eq!(spec.evidence.described.reasoning.as_deref(), Some("[THINK]…[/THINK]"));
    let message = read(&template, &spec, &json!({}), "[THINK]Clouds.[/THINK]Yes.<|end|>")?;
    assert_eq!((thought(&message), spec.status), (("Clouds.", "Yes."), Status::Supported));
    Ok(())
}

#[test]
fn tags_that_nothing_shows_are_named() -> Result<(), Failure> {
    // A tag that the prompt only speaks of, and tags around calls that are handed over in a form of the template's own.
    let own_text = "<|system|>Your <Thought> is hidden.<|end|>";
    let calls =
        "{% if m.my_calls %}{% set text = text + '<function_calls>' + m.my_calls + '</function_calls>' %}{% endif %}";
    for (source, gap) in [
        (answering(own_text, ""), "the prompt speaks of <Thought>, and no render shows reasoning"),
        (answering("", calls), "the text of the template has </function_calls>, and no render shows a call"),
    ] {
        let (_, spec) = template(&source)?;
        assert_eq!((spec.status, &spec.gaps[..]), (Status::Partial, &[gap.to_owned()][..]), "{source}");
    }
    Ok(())
}
