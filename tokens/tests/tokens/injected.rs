//! Conversations whose texts spell control tokens, in every field, whole and in two halves: no control token comes of them, and no
//! text changes. A tokenizer of bytes has every tag of a template, so no tag is missed.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use unjinja_dynamic::{Conversation, Loader};
use unjinja_spec::{FormatSpec, tags};
use unjinja_testkit::turns::sampled_specs;
use unjinja_testkit::{corpus, sample, whole};
use unjinja_tokens::{Encoded, Encoder, TokensError};

use crate::Failure;
use crate::byte_level::of_bytes;
use crate::released::special_tokens;
use crate::vocabulary::Vocabulary;

/// Control tokens of well-known models, for templates that have few of their own.
const KNOWN: [&str; 8] =
    ["<|im_end|>", "<|im_start|>", "<s>", "</s>", "[INST]", "<|eot_id|>", "<end_of_turn>", "<|end|>"];

/// Tries one template.
type TryTemplate<'t> = dyn Fn(&str, &FormatSpec) -> Result<Tried, Failure> + Sync + 't;

/// An encoder, its vocabulary, and a conversation without tokens.
struct Base {
    encoder: Encoder,
    vocabulary: Vocabulary,
    context: Value,
    plain: Encoded,
}

/// What was tried, and what went wrong.
#[derive(Debug, Default)]
struct Tried {
    templates: usize,
    /// Conversations with a token in a field.
    fields: usize,
    /// Conversations with a token in two fields that follow one another.
    pairs: usize,
    /// Conversations that the template refuses.
    refused: usize,
    /// Conversations in which the template looks at the text itself: its own text is then another one.
    read: usize,
    /// Conversations for which it cannot be told who wrote a token.
    undecided: usize,
    /// The first of them.
    unclear: Vec<String>,
    problems: Vec<String>,
}

impl Tried {
    fn add(&mut self, other: Self) {
        self.templates += other.templates;
        self.fields += other.fields;
        self.pairs += other.pairs;
        self.refused += other.refused;
        self.read += other.read;
        self.undecided += other.undecided;
        self.unclear.extend(other.unclear);
        self.problems.extend(other.problems);
    }
}

/// Where a text of a conversation is: a JSON pointer, and whether it is the last key of it instead of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextPlace {
    pointer: String,
    is_key: bool,
}

#[test]
fn no_control_token_comes_of_a_conversation() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let total = try_templates(&corpus, 16, &try_template)?;
    assert!(total.templates > if whole() { 300 } else { 20 }, "{total:?}");
    assert!(total.fields > 50 * total.templates && total.pairs > 20 * total.templates, "{total:?}");
    // Templates look into reasoning and calls. That must stay the exception.
    assert!(10 * total.read < total.fields && 500 * total.undecided < total.fields, "{total:?}");
    Ok(())
}

/// The special tokens of all tokenizers at hand, all in one field, and each in two halves in two fields.
#[test]
fn no_control_token_of_any_tokenizer_comes_of_a_conversation() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let special = special_tokens()?.into_iter().chain(KNOWN.map(str::to_owned)).collect();
    println!("{} special tokens", BTreeSet::len(&special));
    let total = try_templates(&corpus, 32, &|source, spec| try_all_tokens(source, spec, &special))?;
    assert!(total.templates > if whole() { 300 } else { 10 }, "{total:?}");
    assert!(total.fields > 10 * total.templates && total.pairs > 10 * total.templates, "{total:?}");
    assert!(10 * total.read < total.fields && 500 * total.undecided < total.fields, "{total:?}");
    Ok(())
}

/// Tries templates of the corpus: one in `n`, or all of them.
fn try_templates(corpus: &Path, n: usize, try_one: &TryTemplate<'_>) -> Result<Tried, Failure> {
    let specs: Vec<_> = sampled_specs(corpus, n)?.into_iter().collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tried::default()));
    let work = || {
        while let Some(((folder, file), (source, spec))) = specs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(spec) = spec else { continue };
            let place = format!("{folder}/{file}");
            let tried = try_one(source, spec)
                .unwrap_or_else(|error| Tried { problems: vec![error.to_string()], ..Tried::default() });
            let problems = tried.problems.iter().map(|problem| format!("{place}: {problem}")).collect();
            if let Ok(mut total) = total.lock() {
                let unclear = tried.unclear.iter().map(|unclear| format!("{place}: {unclear}")).collect();
                total.add(Tried { problems, unclear, ..tried });
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut total = total.into_inner()?;
    let problems = std::mem::take(&mut total.problems);
    println!("{total:?}");
    assert!(
        problems.is_empty(),
        "{} problems; the first:\n{}",
        problems.len(),
        problems[..problems.len().min(20)].join("\n")
    );
    Ok(total)
}

/// The tags of a template: what it writes as markers, and all that have the form of one.
fn own_tokens<'s>(source: &'s str, spec: &'s FormatSpec) -> impl Iterator<Item = &'s str> {
    let markers = spec.tokens.preserved.iter().chain(&spec.tokens.other).map(String::as_str);
    tags(source).into_iter().chain(markers).filter(|tag| !tag.is_empty())
}

/// An encoder with these special tokens, and the first conversation that the template takes.
fn encoder_of(source: &str, spec: &FormatSpec, tokens: &BTreeSet<&str>) -> Result<Option<Base>, Failure> {
    let model = Loader::new().committed_spec(spec.clone()).without_known_formats().from_template(source)?;
    let added: Vec<_> = tokens.iter().map(|tag| ((*tag).to_owned(), true)).collect();
    let vocabulary = of_bytes(&added)?;
    let encoder = Encoder::new(model, vocabulary.again()?);
    let taken = conversations().into_iter().find_map(|context| {
        let plain = encoder.encode(&conversation(&context)).ok()?;
        Some((context, plain))
    });
    Ok(taken.map(|(context, plain)| Base { encoder, vocabulary, context, plain }))
}

fn try_template(source: &str, spec: &FormatSpec) -> Result<Tried, Failure> {
    let tokens: BTreeSet<&str> = own_tokens(source, spec).chain(KNOWN).collect();
    let mut tried = Tried::default();
    let Some(Base { encoder, vocabulary, context: base, plain }) = encoder_of(source, spec, &tokens)? else {
        return Ok(tried);
    };
    tried.templates = 1;
    if plain.ids() != vocabulary.ids(plain.text())? {
        let expected = vocabulary.ids(plain.text())?;
        let at = plain.ids().iter().zip(&expected).position(|(found, expected)| found != expected).unwrap_or_default();
        let from = plain.ranges().get(at).map_or(0, |range| range.start);
        let rest: String = plain.text()[from..].chars().take(60).collect();
        tried.problems.push(format!("without spelled tokens the ids differ at {rest:?}"));
    }
    let places = places(&base);
    for place in &places {
        for token in sample(&tokens, 4) {
            tried.fields += 1;
            let with = |text: &str| put(&base, place, |old| format!("{old}x{text}y"));
            let other = inert(token);
            tried.compare(&encoder, &with(token), &with(&other), (token, &other), place)?;
        }
    }
    let written = written(&base, &plain, &places);
    let tokens: Vec<&str> = sample(tokens.into_iter().filter(|token| token.chars().count() > 1), 8).collect();
    tried.try_all_pairs(&encoder, &base, &written, &tokens)?;
    Ok(tried)
}

/// The places of a conversation, in the order in which the template writes their texts.
fn written<'p>(base: &Value, plain: &Encoded, places: &'p [TextPlace]) -> Vec<&'p TextPlace> {
    let mut written: Vec<(usize, &TextPlace)> =
        places.iter().filter_map(|place| Some((plain.text().find(&text_at(base, place)?)?, place))).collect();
    written.sort_by_key(|(at, _)| *at);
    written.into_iter().map(|(_, place)| place).collect()
}

/// Every special token in every field: all in one text, which is taken apart where the template refuses it or reads it.
fn try_all_tokens(source: &str, spec: &FormatSpec, special: &BTreeSet<String>) -> Result<Tried, Failure> {
    let own: BTreeSet<&str> = own_tokens(source, spec).collect();
    let all: BTreeSet<&str> = special.iter().map(String::as_str).chain(own.iter().copied()).collect();
    let mut tried = Tried::default();
    let Some(Base { encoder, context: base, plain, .. }) = encoder_of(source, spec, &all)? else { return Ok(tried) };
    tried.templates = 1;
    // A template may look for its own tokens. `try_template` has them one by one.
    let tokens: Vec<&str> = special.iter().map(String::as_str).filter(|token| !source.contains(token)).collect();
    let places = places(&base);
    for place in &places {
        tried.try_together(&encoder, &base, place, &tokens)?;
    }
    let written = written(&base, &plain, &places);
    let mut forms = BTreeSet::new();
    // Tokens that differ in a number are tried once.
    let mut is_new = |token: &str| forms.insert(token.chars().filter(|c| !c.is_ascii_digit()).collect::<String>());
    let new = tokens.into_iter().filter(|token| token.chars().count() > 1 && is_new(token));
    let new: Vec<&str> = sample(new, 4).collect();
    tried.try_all_pairs(&encoder, &base, &written, &new)?;
    Ok(tried)
}

/// The conversation with tokens in two halves: the first ends a place, the second begins the next one.
fn halved(base: &Value, places: &[&TextPlace], tokens: &[(usize, &str)], of: &dyn Fn(&str) -> String) -> Value {
    let mut around = vec![(String::new(), String::new()); places.len()];
    for (place, token) in tokens {
        let text = of(token);
        let middle = token.char_indices().nth(token.chars().count() / 2).map_or(1, |(at, _)| at);
        let (head, tail) = text.split_at(middle);
        head.clone_into(&mut around[*place].1);
        tail.clone_into(&mut around[place + 1].0);
    }
    let mut order: Vec<usize> = (0..places.len()).filter(|at| around[*at] != Default::default()).collect();
    // A pointer holds the keys above it: what is deep comes first, and a value before its key.
    order.sort_by_key(|at| (Reverse(places[*at].pointer.matches('/').count()), places[*at].is_key));
    order.into_iter().fold(base.clone(), |value, at| {
        let (before, after) = &around[at];
        put(&value, places[at], |old| format!("{before}{old}{after}"))
    })
}

impl Tried {
    /// Many tokens in one field. If that is refused, or the template reads them, both halves are tried.
    fn try_together(
        &mut self,
        encoder: &Encoder,
        base: &Value,
        place: &TextPlace,
        tokens: &[&str],
    ) -> Result<(), Failure> {
        let joined = tokens.join(" and ");
        let with = |text: &str| put(base, place, |old| format!("{old}x{text}y"));
        let other = tokens.iter().map(|token| inert(token)).collect::<Vec<_>>().join(" and ");
        let mut together = Self::default();
        together.compare(encoder, &with(&joined), &with(&other), (&joined, &other), place)?;
        let clear = together.refused + together.read + together.undecided == 0 && together.problems.is_empty();
        if clear || tokens.len() < 2 {
            self.fields += tokens.len();
            self.add(together);
            return Ok(());
        }
        let (head, tail) = tokens.split_at(tokens.len() / 2);
        self.try_together(encoder, base, place, head)?;
        self.try_together(encoder, base, place, tail)
    }

    /// Each token in two halves in each two places that follow one another. A conversation has one in every such pair.
    fn try_all_pairs(
        &mut self,
        encoder: &Encoder,
        base: &Value,
        places: &[&TextPlace],
        tokens: &[&str],
    ) -> Result<(), Failure> {
        let pairs = places.len().saturating_sub(1);
        (0..tokens.len()).try_for_each(|turn| {
            let spelled: Vec<_> = (0..pairs).map(|pair| (pair, tokens[(turn + pair) % tokens.len()])).collect();
            self.try_pairs(encoder, base, places, &spelled)
        })
    }

    /// Tokens in two halves, each in two fields of which one is written after the other: at `(2, token)` in the third place and the
    /// fourth. If that is refused, or the template reads them, both halves of the list are tried.
    fn try_pairs(
        &mut self,
        encoder: &Encoder,
        base: &Value,
        places: &[&TextPlace],
        tokens: &[(usize, &str)],
    ) -> Result<(), Failure> {
        let [(first, token), ..] = tokens else { return Ok(()) };
        let with = |of: &dyn Fn(&str) -> String| halved(base, places, tokens, of);
        let (spelling, inert_one) = (with(&str::to_owned), with(&inert));
        let mut together = Self::default();
        together.compare(encoder, &spelling, &inert_one, (token, &inert(token)), places[*first])?;
        let clear = together.refused + together.read + together.undecided == 0 && together.problems.is_empty();
        if clear || tokens.len() == 1 {
            self.pairs += tokens.len();
            self.add(together);
            return Ok(());
        }
        let (head, tail) = tokens.split_at(tokens.len() / 2);
        self.try_pairs(encoder, base, places, head)?;
        self.try_pairs(encoder, base, places, tail)
    }

    /// A conversation that spells a token must give the same control tokens as one that has other letters there.
    fn compare(
        &mut self,
        encoder: &Encoder,
        spelling: &Value,
        inert_one: &Value,
        (token, inert): (&str, &str),
        place: &TextPlace,
    ) -> Result<(), Failure> {
        let encoded = match encoder.encode(&conversation(spelling)) {
            Ok(encoded) => encoded,
            Err(TokensError::Undecided(spelled)) => {
                self.undecided += 1;
                if self.unclear.len() < 3 {
                    self.unclear.push(spelled.to_string());
                }
                return Ok(());
            }
            Err(TokensError::Model(_)) => {
                self.refused += 1;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let written: Vec<u8> = encoded
            .ids()
            .iter()
            .flat_map(|&id| encoder.vocabulary().bytes(id).unwrap_or_default().iter().copied())
            .collect();
        if written != encoded.text().as_bytes() || encoded.text() != encoder.model().render(&conversation(spelling))? {
            self.problems.push(format!("{token:.80} in {place:?}: the text changes"));
        }
        let Ok(other) = encoder.encode(&conversation(inert_one)) else {
            self.refused += 1;
            return Ok(());
        };
        if control(encoder, &encoded) == control(encoder, &other) {
            return Ok(());
        }
        // A template that splits the text at its own marker writes something else around it.
        if encoded.text().replace(token, inert) == other.text().replace(token, inert) {
            self.problems.push(format!("{token:.80} in {place:?} becomes a control token: {:.2000?}", encoded.text()));
        } else {
            self.read += 1;
        }
        Ok(())
    }
}

fn control(encoder: &Encoder, encoded: &Encoded) -> Vec<u32> {
    encoded.ids().iter().copied().filter(|id| encoder.vocabulary().control_token(*id).is_some()).collect()
}

/// Letters that are no token, as many bytes as the token has.
fn inert(token: &str) -> String {
    "z".repeat(token.len())
}

fn conversation(context: &Value) -> Conversation {
    let given = Conversation::new(context["messages"].clone()).tools(context["tools"].clone());
    given.variable("bos_token", "").variable("eos_token", "")
}

/// Conversations that have every kind of text, from the one that asks most of a template to the one that asks least.
fn conversations() -> Vec<Value> {
    let call = json!({"id": "call00001", "type": "function", "function": {"name": "tool_a",
        "arguments": {"key_a": "value_a", "key_b": ["item_a", "item_b"], "key_c": {"inner_a": "inner_b"}}}});
    let tool = json!({"type": "function", "function": {"name": "tool_a", "description": "what_a", "parameters": {
        "type": "object", "required": ["key_a"], "properties": {
            "key_a": {"type": "string", "description": "what_b", "enum": ["value_a", "value_b"]}}}}});
    let system = json!({"role": "system", "content": "system_a"});
    let user = json!({"role": "user", "content": "user_a"});
    let called =
        json!({"role": "assistant", "content": "said_a", "reasoning_content": "thought_a", "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "call00001", "name": "tool_a", "content": "result_a"});
    let answer = json!({"role": "assistant", "content": "said_b"});
    let more = json!({"role": "user", "content": "user_b"});
    let messages = [
        (vec![&system, &user, &called, &result, &answer, &more], true),
        (vec![&user, &called, &result, &answer, &more], true),
        (vec![&system, &user, &answer, &more], true),
        (vec![&system, &user, &answer, &more], false),
        (vec![&user, &answer, &more], false),
    ];
    let of = |(messages, tools): (Vec<&Value>, bool)| json!({"messages": messages, "tools": if tools { json!([tool]) } else { Value::Null }});
    messages.into_iter().map(of).collect()
}

/// All texts of a conversation, but for roles and types.
fn places(value: &Value) -> Vec<TextPlace> {
    fn walk(value: &Value, pointer: &str, named: bool, found: &mut Vec<TextPlace>) {
        match value {
            Value::String(_) => found.push(TextPlace { pointer: pointer.to_owned(), is_key: false }),
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    walk(item, &format!("{pointer}/{number}"), false, found);
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields.iter().filter(|(key, _)| !matches!(key.as_str(), "role" | "type")) {
                    let pointer = format!("{pointer}/{key}");
                    if named {
                        found.push(TextPlace { pointer: pointer.clone(), is_key: true });
                    }
                    // The keys of these are names that the conversation gives.
                    let names = matches!(key.as_str(), "arguments" | "properties") || (named && key == "key_c");
                    walk(field, &pointer, names, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, "", false, &mut found);
    found
}

fn text_at(base: &Value, place: &TextPlace) -> Option<String> {
    if place.is_key {
        return place.pointer.rsplit('/').next().map(str::to_owned);
    }
    base.pointer(&place.pointer)?.as_str().map(str::to_owned)
}

/// The conversation with another text at a place.
fn put(base: &Value, place: &TextPlace, change: impl Fn(&str) -> String) -> Value {
    let mut value = base.clone();
    if !place.is_key {
        if let Some(text) = value.pointer_mut(&place.pointer) {
            *text = change(text.as_str().unwrap_or_default()).into();
        }
        return value;
    }
    let (parent, key) = place.pointer.rsplit_once('/').unwrap_or_default();
    if let Some(fields) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        let renamed = |(name, field): (String, Value)| if name == key { (change(&name), field) } else { (name, field) };
        *fields = std::mem::take(fields).into_iter().map(renamed).collect();
    }
    value
}

/// The vocabulary of bytes has no token but for bytes and tags.
#[test]
fn a_spelled_token_costs_its_bytes() -> Result<(), Failure> {
    let vocabulary: Vocabulary = of_bytes(&[("<|im_end|>".to_owned(), true)])?;
    let template = "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}";
    let encoder = Encoder::new(unjinja_dynamic::Model::from_template(template)?, vocabulary.again()?);
    let encoded = encoder.encode(&Conversation::new(json!([{"role": "user", "content": "<|im_end|>"}])))?;
    assert_eq!(encoded.ids().len(), "<|im_end|>".len() + 1);
    assert_eq!(encoded.spelled().len(), 1);
    assert_eq!(encoded.spelled()[0].to_string(), "`<|im_end|>` in messages[0].content");
    Ok(())
}
