//! Special tokens: a grammar that names them takes the tokens, and not their spelled texts.

mod support;

use support::{Failure, grammar, models};
use unjinja_gbnf::{Grammar as Rules, Limits};
use unjinja_grammar::{GrammarOptions, SpecialToken, Target, ToolChoice};
use unjinja_grammar_engines::{Llguidance, Piece, Verdict, Vocabulary, XGrammar};
use unjinja_runtime::abi::is_special_token;
use unjinja_runtime::{ChatParser, Options, Tools};
use unjinja_testkit::grammars::tools;

/// How many sentences of each grammar are read.
const SENTENCES: usize = 6;

/// How many are drawn to find them.
const MOST_SAMPLES: usize = 200;

/// A text in pieces: each of these tokens as one, all else as text.
fn pieces<'t>(mut text: &'t str, tokens: &[&'t str]) -> Vec<Piece<'t>> {
    let mut pieces = Vec::new();
    while let Some((at, token)) = tokens
        .iter()
        .filter_map(|token| Some((text.find(token)?, *token)))
        .min_by_key(|(at, token)| (*at, std::cmp::Reverse(token.len())))
    {
        if at > 0 {
            pieces.push(Piece::Text(&text[..at]));
        }
        pieces.push(Piece::Token(token));
        text = &text[at + token.len()..];
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// Whether the calls of a text keep to their schemas. Where closing markers are text, a grammar cannot count all raw text, says so, and
/// lets shorter and longer ones through; where they are tokens, it counts.
fn keeps_to_schemas(parser: &impl ChatParser, tools: &Tools, text: &str) -> bool {
    parser.parse(text.into(), &Options::new().tools(tools)).tool_calls.iter().all(|call| {
        let tool = tools.get(&call.name);
        let arguments = serde_json::from_str(&call.arguments);
        tool.zip(arguments.ok()).is_some_and(|(tool, arguments)| jsonschema::is_valid(&tool.parameters, &arguments))
    })
}

#[test]
fn tokens_are_taken_as_tokens() -> Result<(), Failure> {
    let tools = tools()?;
    let (mut count, mut by_name, mut by_id, mut spelled, mut wrong) = (0, 0, 0, 0, String::new());
    for parser in &models()? {
        let name = &*parser.info().name;
        let options = GrammarOptions::new().tool_choice(ToolChoice::Required);
        let Some(gbnf) = grammar(parser, Some(&tools), &options, Target::Gbnf)? else { continue };
        let tokens: Vec<&str> = gbnf
            .preserved_tokens
            .iter()
            .map(String::as_str)
            .filter(|token| is_special_token(token.as_bytes()))
            .collect();
        if tokens.is_empty() {
            continue;
        }
        let vocabulary = Vocabulary::with(&tokens);
        let (x, l) = (XGrammar::new(vocabulary.clone())?, Llguidance::new(vocabulary.clone())?);
        let id = |token: &&str| Ok(SpecialToken::with_id(*token, vocabulary.id(token).ok_or("no such token")?));
        let with_ids = tokens.iter().map(id).collect::<Result<Vec<_>, Failure>>()?;
        let names: Vec<SpecialToken> = tokens.iter().map(|token| SpecialToken::new(*token)).collect();
        let made = |target, tokens: &[SpecialToken]| {
            grammar(parser, Some(&tools), &options.clone().special_tokens(tokens.to_vec()), target)
        };
        let tag = made(Target::XGrammar, &with_ids)?.ok_or("no grammar")?;
        // A token that only free text has is not meant anywhere.
        let named_in = |token: &SpecialToken| token.id().is_some_and(|id| tag.text.contains(&format!("Token({id})")));
        let meant: Vec<&str> = with_ids.iter().filter(|token| named_in(token)).map(SpecialToken::text).collect();
        let meant: Vec<String> = meant.into_iter().map(str::to_owned).collect();
        let tag = x.compile(&tag.text).map_err(|why| format!("{name}: {why}"))?;
        let [named, numbered] = [&names, &with_ids].map(|tokens| made(Target::Llguidance, tokens));
        let (named, numbered) = (named?.ok_or("no grammar")?, numbered?.ok_or("no grammar")?);
        let named = l.compile(&named.text).map_err(|why| format!("{name}: {why}"))?;
        let numbered = l.compile(&numbered.text).map_err(|why| format!("{name}: {why}"))?;
        count += 1;
        // Lark has no name for `[TOOL_CALLS]`.
        let has_names = tokens.iter().all(|token| token.starts_with('<'));
        let mut seed = count;
        let rules = Rules::parse(&gbnf.text)?;
        let sample = |_| rules.sample(&mut seed, Limits { length: 200, depth: 40 });
        let sentences = (0..MOST_SAMPLES).filter_map(sample);
        let kept = sentences.filter(|text| gbnf.widened.is_empty() || keeps_to_schemas(parser, &tools, text));
        let sentences: Vec<String> = kept.take(SENTENCES).collect();
        assert_eq!(sentences.len(), SENTENCES, "{name}");
        for sentence in sentences {
            let parts = pieces(&sentence, &tokens);
            let has_tokens = meant.iter().any(|token| sentence.contains(token));
            let mut answers = vec![
                ("xgrammar by number", Ok(tag.read_pieces(&parts))),
                ("llguidance by number", numbered.read_pieces(&parts)),
            ];
            if has_names {
                answers.push(("llguidance by name", named.read_pieces(&parts)));
                by_name += 1;
            }
            for (by, answer) in answers {
                match answer {
                    Ok(Verdict::Complete) => {}
                    answer => wrong.push_str(&format!("{name}: {by}: {answer:?} of {parts:?}\n")),
                }
            }
            by_id += 2;
            // Where the token is meant, its letters are not.
            let taken = tag.read(&sentence) == Verdict::Complete || numbered.read(&sentence)? == Verdict::Complete;
            if has_tokens && taken {
                wrong.push_str(&format!("{name}: accepted with its tokens spelled: {sentence:?}\n"));
            }
            spelled += usize::from(has_tokens);
        }
    }
    println!(
        "{count} models: {by_name} turns with tokens by name and {by_id} by number are accepted, {spelled} with spelled tokens refused"
    );
    assert!(wrong.is_empty(), "{} answers differ:\n{wrong}", wrong.lines().count());
    assert!(count > 15, "{count} models");
    Ok(())
}
