//! Repairs of templates: what they write renders as before, and the finding is gone; where that cannot be shown, nothing is written.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;

use serde_json::json;
use unjinja_export::training::{PrefixState, prefix_state_of};
use unjinja_lint::{LintOptions, RULES, Repaired, fix, lint};
use unjinja_render::Template;
use unjinja_testkit::{corpus, sample};

type Failure = Box<dyn Error>;

fn repaired(source: &str) -> Result<Repaired, Failure> {
    Ok(fix(&Template::parse("chat.jinja", source)?, &LintOptions::default(), RULES))
}

fn rules(repaired: &Repaired) -> Vec<&str> {
    repaired.rules.iter().map(|rule| rule.id).collect()
}

/// A template with `content` for the text of a message, and `turn` for what comes after it.
fn template(content: &str, turn: &str) -> String {
    format!(
        "{{%- for message in messages -%}}\n<|{{{{ message.role }}}}|>{{{{ {content} }}}}\n{turn}<|end|>\n{{%- endfor -%}}\n\
         {{%- if add_generation_prompt -%}}<|assistant|>{{%- endif -%}}"
    )
}

const CALLS: &str = "{%- for call in message.tool_calls or [] -%}\n<|call|>{{ call.function.name }}:{{ ARGUMENTS }}<|done|>\n{%- endfor -%}\n";

#[test]
fn content_that_is_null_is_repaired() -> Result<(), Failure> {
    let source = template("message.content + ''", &CALLS.replace("ARGUMENTS", "call.function.arguments | tojson"));
    let repaired = repaired(&source)?;
    assert!(rules(&repaired).contains(&"null-content"), "{repaired:?}");
    assert!(repaired.source.contains("{{ (message.content or '') + '' }}"), "{}", repaired.source);
    assert_eq!(repaired.source.lines().count(), source.lines().count());
    let after = Template::parse("chat.jinja", &repaired.source)?;
    assert!(lint(&after, &LintOptions::default()).iter().all(|finding| finding.rule.id != "null-content"));
    // What worked before is the same.
    let context = json!({"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true});
    assert_eq!(after.render(&context)?, Template::parse("chat.jinja", &source)?.render(&context)?);
    Ok(())
}

#[test]
fn only_the_rules_that_are_named_are_repaired() -> Result<(), Failure> {
    let source = template("message.content + ''", &CALLS.replace("ARGUMENTS", "call.function.arguments | tojson"));
    let of = |id: &str| RULES.iter().copied().filter(|rule| rule.id == id).collect::<Vec<_>>();
    let template = Template::parse("chat.jinja", &source)?;
    assert_eq!(rules(&fix(&template, &LintOptions::default(), &of("text-arguments"))), ["text-arguments"]);
    assert_eq!(fix(&template, &LintOptions::default(), &[]).source, source);
    Ok(())
}

/// With `in ['system', 'developer']` the text would be there, but in a turn of another role than that of a system message.
#[test]
fn what_would_not_be_the_same_conversation_is_left() -> Result<(), Failure> {
    let calls = CALLS.replace("ARGUMENTS", "call.function.arguments");
    let source =
        template("message.content if message.role == 'system' or message.role in ['user', 'assistant']", &calls);
    let found = lint(&Template::parse("chat.jinja", &source)?, &LintOptions::default());
    assert!(found.iter().any(|finding| finding.rule.id == "developer-role"), "{found:?}");
    let first = repaired(&source)?;
    assert!(!rules(&first).contains(&"developer-role"), "{}", first.source);
    // Where the role is not written, it is the same conversation.
    let of_role = "{{ 'system' if message.role == 'system' else message.role }}";
    let second = repaired(&source.replace("{{ message.role }}", of_role))?;
    assert!(rules(&second).contains(&"developer-role"), "{}", second.source);
    Ok(())
}

/// A fault is repaired where all its places are: of the first call and the others, of the last turn and those before it.
#[test]
fn a_fault_at_several_places_is_repaired_at_all_or_none() -> Result<(), Failure> {
    let first = "{%- if loop.first %}<|calls|>{{ call.function.name }}:{{ call.function.arguments | tojson }}\n\
        {%- else %}<|call|>{{ call.function.name }}:{{ call.function.arguments | tojson }}{% endif -%}<|done|>\n";
    let calls = format!("{{%- for call in message.tool_calls or [] -%}}\n{first}{{%- endfor -%}}\n");
    let last = "{%- if 'tool_calls' in message and loop.last %}<|last|>{% endif -%}\n\
        {%- if 'tool_calls' not in message and not loop.last %}<|past|>{% endif -%}\n";
    let source = template("message.content or ''", &format!("{calls}{last}"));
    for id in ["text-arguments", "empty-tool-calls"] {
        let named: Vec<_> = RULES.iter().copied().filter(|rule| rule.id == id).collect();
        let repaired = fix(&Template::parse("chat.jinja", &source)?, &LintOptions::default(), &named);
        assert_eq!(rules(&repaired), [id]);
        let left = ["{{ call.function.arguments | tojson }}", "'tool_calls' "]
            .map(|place| repaired.source.matches(place).count());
        assert_eq!(left, if id == "text-arguments" { [0, 2] } else { [2, 0] }, "{}", repaired.source);
    }
    // Reasoning without content is tried in the last turn and in those before it.
    let block = "{% if message.reasoning_content and not message.tool_calls %}<think>{{ message.reasoning_content }}</think>{% if loop.last %}\
        {{ 'L' + message.content }}{% else %}{{ 'P' + message.content }}{% endif %}{% else %}{{ message.content or ''";
    let thinks = template("message.content", &calls)
        .replace("{{ message.content", block)
        .replace("\n{%- for call", "{% endif %}\n{%- for call");
    let named: Vec<_> = RULES.iter().copied().filter(|rule| rule.id == "reasoning-without-content").collect();
    let both = fix(&Template::parse("chat.jinja", &thinks)?, &LintOptions::default(), &named);
    assert_eq!(both.source.matches("' + (message.content or '')").count(), 2, "{}", both.source);
    // Where one place cannot be repaired, all are left.
    let hidden = source.replace(
        "{%- else %}<|call|>{{ call.function.name }}:{{ call.function.arguments | tojson }}",
        "{%- else \
        %}{% set all = call.function %}<|call|>{{ all.name }}:{{ all['arg' ~ 'uments'] | tojson }}",
    );
    let found = lint(&Template::parse("chat.jinja", &hidden)?, &LintOptions::default());
    assert!(found.iter().any(|finding| finding.rule.id == "text-arguments"), "{found:?}");
    assert!(!rules(&self::repaired(&hidden)?).contains(&"text-arguments"));
    Ok(())
}

/// An empty block of reasoning is in the last turn only, so a call is written anew as soon as its result follows. What is repaired is
/// what `export --keep-prefix` repairs.
#[test]
fn a_block_that_comes_and_goes_is_kept() -> Result<(), Failure> {
    let calls = CALLS.replace("ARGUMENTS", "call.function.arguments | tojson");
    let block = "|>{% if message.role == 'assistant' and loop.last %}<think>{{ message.reasoning_content or '' }}</think>{% endif %}\
        {{ message.content";
    let source = template("message.content or ''", &calls).replace("|>{{ message.content", block);
    let given = Template::parse("chat.jinja", &source)?;
    let before = lint(&given, &LintOptions::default());
    assert!(before.iter().any(|finding| finding.rule.id == "prefix-changes"), "{before:?}");
    let repaired = repaired(&source)?;
    // It comes first: `export` makes the change of the source that was given.
    assert_eq!(rules(&repaired)[..2], ["prefix-changes", "text-arguments"], "{}", repaired.source);
    let PrefixState::Repairable { source: kept, .. } = prefix_state_of(&given, None) else {
        return Err("no repair".into());
    };
    let named: Vec<_> = RULES.iter().copied().filter(|rule| rule.id == "prefix-changes").collect();
    assert_eq!(fix(&given, &LintOptions::default(), &named).source, kept);
    Ok(())
}

/// Repairs of the whole corpus. Each is shown to be right by the linter that looks at the repaired template.
#[test]
fn repairs_of_the_corpus() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut paths =
        fs::read_dir(corpus.join("templates"))?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Failure>>()?;
    paths.sort();
    for path in sample(paths, 4) {
        let Ok(template) = Template::parse("chat.jinja", &fs::read_to_string(&path)?) else { continue };
        let before = lint(&template, &LintOptions::default());
        let repaired = fix(&template, &LintOptions::default(), RULES);
        let after = lint(&Template::parse("chat.jinja", &repaired.source)?, &LintOptions::default());
        for finding in &before {
            counts.entry(finding.rule.id).or_default()[0] += 1;
        }
        for rule in &repaired.rules {
            counts.entry(rule.id).or_default()[1] += 1;
            assert!(after.iter().all(|finding| finding.rule != *rule), "{}: {}", path.display(), rule.id);
        }
        for finding in &after {
            let known = before.iter().any(|known| known.rule == finding.rule && known.severity >= finding.severity);
            assert!(known, "{}: {} is new", path.display(), finding.rule.id);
        }
    }
    counts.retain(|_, [_, repaired]| *repaired > 0);
    println!("of the findings in templates/, these were repaired: {counts:?}");
    assert!(counts.values().map(|[_, repaired]| repaired).sum::<usize>() >= 10, "{counts:?}");
    Ok(())
}
