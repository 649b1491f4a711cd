//! What no past turn shows: markers that a template cuts away, prompts that open reasoning in some conversations only, texts that a
//! template changes. A spec reads them, or names them.

use unjinja_analyzer::{Naming, analyze, verified, verify};
use unjinja_render::Template;
use unjinja_runtime::{Message, Options, Unparsed, parse};
use unjinja_spec::{FormatSpec, ReasoningMode, Status};

type Failure = Box<dyn std::error::Error>;

fn spec_of(source: &str) -> Result<FormatSpec, Failure> {
    let template = Template::parse("sample.jinja", source)?;
    Ok(verified(&template, analyze(&template, &Naming::of_file("sample.jinja"))?))
}

fn read(spec: &FormatSpec, prompt: &str, output: &str) -> Result<Message, Failure> {
    Ok(parse(unjinja_codegen::interpreter(spec)?, output, &Options::new().generation_prompt(prompt)))
}

fn thought(message: &Message) -> (&str, &str) {
    (message.reasoning_content.trim(), message.content.trim())
}

/// Turns in `<|assistant|>`; `change` sets `text` in the assistant's.
fn answering(change: &str) -> String {
    format!(
        "{{% for m in messages %}}{{% set text = m.content or '' %}}{{% if m.role == 'assistant' %}}{change}{{% endif %}}\
         <|{{{{ m.role }}}}|>{{{{ text }}}}<|end|>{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
    )
}

/// Cuts `text` where a condition holds.
fn cut_if(condition: &str) -> String {
    format!("{{% if {condition} %}}{{% set text = text.split('</muse>')[-1] %}}{{% endif %}}")
}

#[test]
fn markers_that_past_answers_lose_are_read() -> Result<(), Failure> {
    let cut = |marker: &str| format!("{{% set text = text.split({marker})[-1] %}}");
    let cases = [
        // With white space.
        (cut(r"'</muse>\n\n'"), "<muse>", "</muse>\n\n"),
        (cut(r"'</muse>\n'"), "<muse>", "</muse>\n"),
        (cut(r"'\n</muse>'"), "<muse>", "\n</muse>"),
        (
            r"{% set at = text.find('\n</muse>\n') %}{% if at >= 0 %}{% set text = text[at + 9:] %}{% endif %}"
                .to_owned(),
            "<muse>",
            "\n</muse>\n",
        ),
        (
            "{% set ns = namespace(keep=true, text='') %}{% for line in text.split('\\n') %}\
             {% if line == '<muse>' %}{% set ns.keep = false %}{% elif line == '</muse>' %}{% set ns.keep = true %}\
             {% elif ns.keep %}{% set ns.text = ns.text ~ line ~ '\\n' %}{% endif %}{% endfor %}\
             {% set text = ns.text.strip() %}"
                .to_owned(),
            "<muse>",
            "</muse>",
        ),
        // Put together.
        (cut("'</' ~ 'mu' ~ 'se>'"), "<muse>", "</muse>"),
        (format!("{{% set tag = 'muse' %}}{}", cut("'</%s>' % tag")), "<muse>", "</muse>"),
        // In other brackets, and with a bar on one side.
        (cut("'◁/muse▷'"), "◁muse▷", "◁/muse▷"),
        (
            "{% set ns = namespace(text='') %}{% for part in text.split('<muse|>') %}\
             {% set ns.text = ns.text ~ part.split('<|muse>')[0] %}{% endfor %}{% set text = ns.text %}"
                .to_owned(),
            "<|muse>",
            "<muse|>",
        ),
        // Under a condition.
        (cut_if("tools"), "<muse>", "</muse>"),
        (cut_if("messages[0].role == 'system'"), "<muse>", "</muse>"),
        (cut_if("m.tool_calls"), "<muse>", "</muse>"),
        (cut_if("not keep_all | default(true)"), "<muse>", "</muse>"),
        (cut_if("loop.index0 < messages | length - 4"), "<muse>", "</muse>"),
    ];
    for (change, start, end) in cases {
        let spec = spec_of(&answering(&change))?;
        assert_eq!((&*spec.reasoning.start, &*spec.reasoning.end), (start, end), "{change}");
        assert_eq!(spec.status, Status::Supported, "{change}: {:?}", spec.gaps);
        let output = format!("{start}Clouds.{end}Yes.<|end|>");
        assert_eq!(thought(&read(&spec, "<|assistant|>", &output)?), ("Clouds.", "Yes."), "{change}");
    }
    Ok(())
}

/// What is cut for another reason than reasoning opens nothing.
#[test]
fn other_cuts_are_no_reasoning() -> Result<(), Failure> {
    for change in
        ["{% if tools %}{% set text = text[-17:] %}{% endif %}", "{% set text = text.split('</b>') | join('</b>') %}"]
    {
        let spec = spec_of(&answering(change))?;
        assert_eq!((spec.status, spec.reasoning.mode), (Status::Supported, ReasoningMode::None), "{change}");
    }
    Ok(())
}

#[test]
fn what_is_neither_read_nor_shown_is_named() -> Result<(), Failure> {
    let cases = [
        // What is before the marker has no opener that is known.
        (answering("{% set text = text.split('## The answer:')[-1] %}"), "## The answer:"),
        (answering("{% set text = text.split('<reply>')[-1].split('</reply>')[0] %}"), "<reply>"),
        // Tags that nothing renders.
        (answering("{% if '</thinking>' in text %}{{ raise_exception('Remove it.') }}{% endif %}"), "</thinking>"),
        (answering("{% set text = text.replace('<thoughts>', '').replace('</thoughts>', '') %}"), "<thoughts>"),
        (answering("{% if text | length > 400 %}{% set text = text.split('</reason>')[-1] %}{% endif %}"), "</reason>"),
        (answering("{% set text = text.replace('<tool_call>', '(call) ') %}"), "<tool_call>"),
        // The prompt speaks of them where tools are offered.
        (
            format!(
                "{{% if tools %}}<|system|>Never write <thinker>: {{{{ tools }}}}<|end|>{{% endif %}}{}",
                answering("")
            ),
            "<thinker>",
        ),
    ];
    for (source, tag) in cases {
        let spec = spec_of(&source)?;
        assert_eq!(spec.status, Status::Partial, "{source}");
        assert!(spec.gaps.iter().any(|gap| gap.contains(tag)), "{source}: {:?}", spec.gaps);
    }
    Ok(())
}

/// The prompt opens reasoning under this condition.
fn opening_if(condition: &str) -> String {
    format!(
        "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>{{% endfor %}}\
         {{% if add_generation_prompt %}}<|assistant|>{{% if {condition} %}}{{{{ '<think>\\n' }}}}{{% endif %}}{{% endif %}}"
    )
}

#[test]
fn prompts_that_open_reasoning_in_some_conversations_are_read() -> Result<(), Failure> {
    for condition in [
        "tools",
        "documents",
        "messages[0].role == 'system'",
        "messages | length > 1",
        "messages | length > 4",
        "effort == 'deep'",
        "effort is string and effort in ['deep', 'deeper']",
        "effort | default('') | lower == 'deep'",
        "messages[-1].content.endswith('/deep')",
    ] {
        let spec = spec_of(&opening_if(condition))?;
        assert_eq!(spec.status, Status::Supported, "{condition}: {:?}", spec.gaps);
        let message = read(&spec, "<|assistant|><think>\n", "Clouds.</think>Yes.<|end|>")?;
        assert_eq!(thought(&message), ("Clouds.", "Yes."), "{condition}");
        assert_eq!(thought(&read(&spec, "<|assistant|>", "Yes.<|end|>")?), ("", "Yes."), "{condition}");
    }
    // Nothing says what this one opens.
    let spec = spec_of(&opening_if("tools").replace("think", "ponder"))?;
    assert_eq!((spec.status, spec.gaps.len()), (Status::Partial, 1), "{:?}", spec.gaps);
    assert!(spec.gaps[0].contains("<ponder>"), "{:?}", spec.gaps);
    Ok(())
}

#[test]
fn reasoning_that_only_the_prompt_with_tools_describes_is_read() -> Result<(), Failure> {
    let head =
        "{% if tools %}<|system|>Reason in <thought>your steps</thought>. {{ tools | tojson }}<|end|>{% endif %}";
    let spec = spec_of(&format!("{head}{}", answering("")))?;
    assert_eq!((&*spec.reasoning.start, &*spec.reasoning.end), ("<thought>", "</thought>"));
    assert_eq!(spec.evidence.described.reasoning.as_deref(), Some("<thought>…</thought>"));
    Ok(())
}

/// A template that changes past answers says nothing about the next one.
#[test]
fn texts_that_the_template_changes_do_not_count() -> Result<(), Failure> {
    for change in [
        "text | replace('\\n\\n', '\\n')",
        "text | wordwrap(9)",
        "text | tojson",
        "text | upper",
        "text | title",
        "text.split() | join(' ')",
        "text | replace('o', '0')",
    ] {
        let source = answering(&format!("{{% set text = {change} %}}"));
        let template = Template::parse("sample.jinja", &source)?;
        let spec = spec_of(&source)?;
        assert_eq!(spec.status, Status::Supported, "{change}: {:?}", spec.gaps);
        assert_eq!([&spec.turn.assistant_start, &spec.turn.end], ["<|assistant|>", "<|end|>"], "{change}");
        assert_eq!(read(&spec, "<|assistant|>", "A  \"b\"\n\nc<|end|>")?.content, "A  \"b\"\n\nc", "{change}");
        let verification = verify(&template, &spec, 32, 1);
        assert!(verification.all_held(), "{change}");
        assert!(verification.lost_by_template > 0, "{change}");
    }
    // What comes back neither as it was nor as the template writes it is wrong all the same.
    let source = answering("{% set text = text | replace('\\n\\n', '\\n') %}");
    let template = Template::parse("sample.jinja", &source)?;
    let mut spec = spec_of(&source)?;
    assert!(verify(&template, &spec, 64, 1).changed_by_template > 0);
    spec.turn.end = "e".to_owned();
    assert!(!verify(&template, &spec, 64, 1).all_held());
    Ok(())
}

/// Templates that write headers, numbers and openers as few do: what is read is read whole, and what is lost is named.
#[test]
fn odd_turns_are_read_or_named() -> Result<(), Failure> {
    let in_words = |end: &str| {
        format!(
            "{{% for m in messages %}}## {{{{ m.role }}}}: {{{{ m.content }}}}{end}{{% endfor %}}{{% if add_generation_prompt %}}## assistant: {{% endif %}}"
        )
    };
    let marked = "{% for m in messages %}<|of|>{{ m.role }}<|is|>{{ m.content }}<|end|>{% endfor %}\
        {% if add_generation_prompt %}<|of|>assistant<|is|>{% endif %}";
    let numbered = "{% for m in messages %}[{{ loop.index }}] {{ m.role }}> {{ m.content }}<|end|>{% endfor %}\
        {% if add_generation_prompt %}[{{ messages | length + 1 }}] assistant> {% endif %}";
    let headless = |header: &str| {
        format!(
            "{{% for m in messages %}}{{% if m.role == 'assistant' %}}{{{{ m.content.split('</think>')[-1] }}}}<|end|>{{% else %}}\
             <|{{{{ m.role }}}}|>{{{{ m.content }}}}<|end|>{{% endif %}}{{% endfor %}}{{% if add_generation_prompt %}}{header}{{% endif %}}"
        )
    };
    let opened = "{% for m in messages %}{% if m.role == 'assistant' %}<|a|><think>\n\n{{ m.content }}<|e|>{% else %}<|u|>{{ m.content }}<|e|>{% endif %}\
        {% endfor %}{% if add_generation_prompt %}<|a|><think>{{ '\\n\\n' }}{% endif %}";
    let cases = [
        (in_words("\n\n"), "## assistant: ", "## assistant: Hi.", ("", "Hi.")),
        (in_words("\n\n"), "## assistant: ", "The user: yes.\n\n## user: And?", ("", "The user: yes.")),
        (in_words("\n\n"), "## assistant: ", "Hi.\n\n## user:", ("", "Hi.")),
        (in_words("</s>\n"), "## assistant: ", "He said yes\n## user:", ("", "He said yes")),
        (marked.to_owned(), "<|of|>assistant<|is|>", " \n<|of|>assistant<|is|>Hi.", ("", "Hi.")),
        (marked.to_owned(), "<|of|>assistant<|is|>", "Hi.<|end|><|of|>assistant", ("", "Hi.")),
        (marked.to_owned(), "<|of|>assistant<|is|>", "Hi.<|end|><|of|>", ("", "Hi.")),
        (numbered.to_owned(), "[8] assistant> ", "Hi.<|end|>", ("", "Hi.")),
        (headless("<|assistant|>"), "<|assistant|>", "Hi.<|end|>", ("", "Hi.")),
        (headless("[REPLY]"), "[REPLY]", "Hi.<|end|>", ("", "Hi.")),
        (headless("[REPLY]"), "[REPLY]", "<think>Clouds.</think>Hi.<|end|>", ("Clouds.", "Hi.")),
        (opened.to_owned(), "<|a|><think>\n\n", "Clouds.\n</think>\n\nHi.<|e|>", ("Clouds.", "Hi.")),
    ];
    for (source, prompt, output, expected) in cases {
        let spec = spec_of(&source)?;
        let options = Options::new().generation_prompt(prompt).unparsed(Unparsed::Separate);
        let message = parse(unjinja_codegen::interpreter(&spec)?, output, &options);
        assert_eq!(thought(&message), expected, "{source}: {output:?}");
        // Where every past turn is open, none can be tried.
        assert_eq!(spec.status == Status::Supported, spec.evidence.round_trips.tried > 0, "{source}: {:?}", spec.gaps);
    }
    let in_turn = "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}({{ loop.index }}) {% endif %}{{ m.content }}</>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let called = |value: &str| {
        format!(
            "{{% for m in messages %}}<|{{{{ m.role }}}}|>{{{{ m.content or '' }}}}{{% for c in m.tool_calls or [] %}}<call {{{{ c.function.name }}}}>\
             {{% for k, v in c.function.arguments.items() %}}<{{{{ k }}}}>{{{{ v if v is string else v | tojson }}}}{value}</{{{{ k }}}}>{{% endfor %}}</call>\
             {{% endfor %}}<|end|>{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>{{% endif %}}"
        )
    };
    let after_end = "{% for m in messages %}{% if m.role == 'assistant' %}<|a|>{{ m.content ~ '<|e|>' if m.content else '' }}\
        {% for c in m.tool_calls or [] %}<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>{% endfor %}\
        {{ '<|e|>' if m.tool_calls else '' }}{% else %}<|u|>{{ m.content }}<|e|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|a|>{% endif %}";
    let named = [
        (after_end.to_owned(), "an answer and a call"),
        (in_turn.to_owned(), "a turn later in the conversation"),
        (called("r"), "begins with 'r' directly after a value"),
        (called("0"), "begins with '0' directly after a value"),
    ];
    for (source, gap) in named {
        let spec = spec_of(&source)?;
        assert_eq!(spec.status, Status::Partial, "{source}");
        assert!(spec.gaps.iter().any(|known| known.contains(gap)), "{source}: {:?}", spec.gaps);
    }
    assert_eq!(spec_of(&called(""))?.status, Status::Supported);
    // A name that ends where its arguments begin.
    let tight = "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<|do|>call:{{ c.function.name }}\
        {{ c.function.arguments | tojson }}<|done|>{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
    let spec = spec_of(tight)?;
    assert_eq!(spec.status, Status::Supported, "{:?}", spec.gaps);
    let message = read(&spec, "<|assistant|>", "<|do|>call:ping{}<|done|><|end|>")?;
    assert_eq!((&*message.tool_calls[0].name, &*message.tool_calls[0].arguments), ("ping", "{}"));
    Ok(())
}

/// Tokens that the prompt spells with other bars are twins of the markers, and no other tokens. A spec that no parser can be made
/// of is not supported.
#[test]
fn a_parser_is_made_of_what_is_supported() -> Result<(), Failure> {
    let source = "{% if tools %}{{ '<|go_on|>' }}{{ tools }}{% endif %}{% for m in messages %}<｜{{ m.role }}｜>{{ m.content or '' }}\
        {% for c in m.tool_calls or [] %}<｜go▁on｜>{{ c.function.name }}<｜with｜>{{ c.function.arguments | tojson }}<｜done｜>{% endfor %}<｜end｜>{% endfor %}\
        {% if add_generation_prompt %}<｜assistant｜>{% endif %}";
    let spec = spec_of(source)?;
    assert_eq!((spec.status, spec.tokens.other.iter().any(|token| token == "<|go_on|>")), (Status::Supported, false));
    let template = Template::parse("sample.jinja", source)?;
    let mut other = analyze(&template, &Naming::of_file("sample.jinja"))?;
    let tools = &mut other.tools;
    for opener in [&mut tools.section_start, &mut tools.per_call_start, &mut tools.function.name_prefix] {
        opener.clear();
    }
    let other = verified(&template, other);
    assert_eq!(other.status, Status::Unsupported);
    assert!(other.gaps.iter().any(|gap| gap.starts_with("no parser can be made")), "{:?}", other.gaps);
    Ok(())
}
