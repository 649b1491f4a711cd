//! Writing and reading give the same spec back, and writing what was read gives the same bytes.

use std::error::Error;
use std::sync::LazyLock;

use unjinja_spec::{
    CallId, CallIdPosition, Content, ContentMode, FormatSpec, MarkerKey, ReasoningMode, SPEC_VERSION, StartsIn, Status,
    ToolFormat, Tools,
};
use unjinja_testkit::random::Random;

/// The names of the markers that may have alternatives: the keys of the model's one map.
static MARKERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let keys = MarkerKey::ALL.iter().filter(|key| key.may_have_alternatives());
    keys.map(|key| key.as_str()).collect()
});

/// A random spec, with what every spec must say put right. It may still lack markers.
fn random_spec(random: &mut Random) -> Result<FormatSpec, Box<dyn Error>> {
    let mut spec: FormatSpec = random.value(&MARKERS)?;
    spec.spec_version = SPEC_VERSION;
    spec.template.name = format!("sample_{}", random.below(1000));
    spec.template.sha256 = (0..64).map(|_| char::from(b"0123456789abcdef"[random.below(16)])).collect();
    let files = std::iter::once(&mut spec.template.file).chain(&mut spec.template.also);
    for file in files {
        *file = file.replace(['/', '\\'], "-");
    }
    for (index, model) in spec.template.models.iter_mut().enumerate() {
        *model = format!("owner-{}/model_{index}", random.below(10));
    }
    let trips = &mut spec.evidence.round_trips;
    trips.held = trips.held.min(trips.tried);
    Ok(spec)
}

fn assert_round_trip(spec: &FormatSpec) -> Result<(), Box<dyn Error>> {
    let written = spec.to_toml();
    let read = FormatSpec::from_toml(&written, "random.toml");
    let read = read.map_err(|error| format!("{error}\n{written}"))?;
    assert_eq!(&read, spec, "{written}");
    assert_eq!(read.to_toml(), written);
    spec.check()?;
    Ok(())
}

#[test]
fn any_unsupported_spec_comes_back() -> Result<(), Box<dyn Error>> {
    for seed in 0..600 {
        let mut spec = random_spec(&mut Random::new(seed))?;
        // Exempt from the checks of markers, so every combination of values is a valid spec.
        spec.status = Status::Unsupported;
        spec.gaps = vec![format!("reason {}", Random::new(seed).text())];
        assert_round_trip(&spec)?;
    }
    Ok(())
}

/// Puts right what the formats of a random spec need or contradict.
fn complete(spec: &mut FormatSpec) {
    let reasoning = &mut spec.reasoning;
    if reasoning.mode == ReasoningMode::None {
        reasoning.start.clear();
        reasoning.end.clear();
        spec.content.mode = ContentMode::Plain;
        for prompt in &mut spec.generation_prompt {
            prompt.starts_in = StartsIn::Content;
        }
    } else {
        reasoning.start.push_str("<r>");
        reasoning.end.push_str("</r>");
    }
    if spec.content.mode == ContentMode::Plain {
        spec.content = Content::default();
    } else {
        spec.content.start.push_str("<a>");
        spec.content.header.channel.push_str("<c>");
        spec.content.header.recipient.push_str("to=");
        spec.content.header.end.push_str("<m>");
    }
    let tools = &mut spec.tools;
    if tools.format == ToolFormat::None {
        *tools = Tools::default();
        if spec.content.mode == ContentMode::WrappedWithCalls {
            spec.content.mode = ContentMode::AlwaysWrapped;
        }
    } else {
        tools.per_call_start.push_str("<call>");
        tools.function.name_suffix.push('>');
        tools.arguments.name_prefix.push_str("<argument=");
        let arguments = &mut tools.arguments;
        if arguments.nested || arguments.cdata {
            arguments.close_prefix.push_str("</");
            arguments.close_suffix.push('>');
            arguments.name_suffix.push('>');
            arguments.value_suffix.clear();
        } else {
            arguments.close_prefix.clear();
            arguments.close_suffix.clear();
            arguments.value_suffix.push_str("</argument>");
        }
        arguments.type_prefix.clear();
        arguments.type_suffix.clear();
        tools.name_field.push_str("name");
        tools.args_field.push_str("arguments");
    }
    if tools.call_id.position == CallIdPosition::None {
        tools.call_id = CallId::default();
    } else {
        tools.call_id.suffix.push(':');
    }
}

#[test]
fn supported_specs_come_back() -> Result<(), Box<dyn Error>> {
    let (mut held, mut refused) = (0, None);
    for seed in 0..600 {
        let mut spec = random_spec(&mut Random::new(seed))?;
        spec.status = Status::Supported;
        spec.gaps.clear();
        complete(&mut spec);
        match spec.check() {
            Ok(()) => {
                assert_round_trip(&spec)?;
                held += 1;
            }
            Err(error) => refused = Some(error),
        }
    }
    // A check that is newer than `complete` may refuse some; most must be drawn whole, or this tests nothing.
    let refused = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(held >= 300, "only {held} of 600 specs were complete; mend `complete`: {refused}");
    Ok(())
}

#[test]
fn written_specs_have_one_layout() -> Result<(), Box<dyn Error>> {
    let base = include_str!("base.toml");
    let spec = FormatSpec::from_toml(base, "base.toml")?;
    assert_eq!(spec.to_toml(), base);
    // The same spec in another layout, order and notation is written the same.
    let other = base
        .replace("[reasoning]\n", "[ reasoning ] # how it thinks\r\n")
        .replace("mode = \"tag_based\"", "'mode'    = 'tag_based'")
        .replace("round_trips = { tried = 64, held = 60 }", "[evidence.round_trips]\nheld = 60\ntried = 0x40");
    assert_ne!(other, base);
    assert_eq!(FormatSpec::from_toml(&other, "other.toml")?.to_toml(), base);
    Ok(())
}
