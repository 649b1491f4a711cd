//! Tests the analyzer on synthetic templates: generates random format specs and for each a Jinja template that renders that
//! format. The analysis of the template must give the spec back, and the parser of that spec must read what the template
//! renders.
//!
//! A [`trial`](trial::trial) has these stages: [`draw`](draw::draw) a random spec that is valid and can be lowered; write its
//! [`template`](template::template) in one of many [styles](node::Style) of Jinja; check that the template
//! [renders](written::turn) exactly what the spec says (a test of this crate, not of the analyzer); analyse the template;
//! [compare](same::differences) the two specs; verify the result with random conversations.
//!
//! # When two specs are the same
//! Specs are compared by the turns that they describe, not key by key. For each [shape](same::shapes) of turn (an answer, a
//! call with no, one and two arguments, two calls, reasoning with an answer or a call, …) both specs write the turn with
//! placeholders in its holes, and the texts must be equal. An answer before a call is written with the first alternatives of its
//! markers, if it has any: headers of messages differ there. What no render can decide is therefore not compared:
//! - the border between markers that always occur together (the end of the section and the end of a single call; the turn's
//!   start and an opener that all answers have; `name_suffix` and `value_prefix`);
//! - which of two neighbours white space belongs to. If a template writes white space only next to an answer, or hides its
//!   reasoning, then also whether it is there; otherwise a difference in white space alone is reported as such;
//! - white space inside JSON, which a spec does not describe.
//!
//! Keys that are not markers must be equal one by one: format, JSON keys and their order, wrappers, modes, positions, fields and
//! switches, generation prompts and the state they leave the output in, capabilities. Not compared: names and hashes, evidence,
//! `tokens.preserved` and `reasoning.ended_by_call` (derived from the rest), `string_arguments` if a filter writes every argument
//! (text is then encoded twice, which shows all of it but is not a call), and `uses_python_dicts` of call expressions, whose
//! parser reads both.
//!
//! # What is not drawn, because a template cannot reveal it
//! - Alternatives, except those of the answer's markers before a call, and an `ended_by_call` that differs from its rule: models
//!   write these, templates do not.
//! - An array of calls with markers around its items: it would not be a JSON array.
//! - Hidden reasoning that no generation prompt opens: its opening marker never occurs.
//! - An empty reasoning block in all turns *and* in all prompts, whose closer is not its opener with a slash: the opener could
//!   also be the end of the turn's start. The same holds for an empty block before an answer's wrapper if there are no calls,
//!   and for a wrapper around everything.
//! - Arguments printed without a filter: they are JSON or Python depending on the type they are given as.
//! - A thinking switch that changes no generation prompt; `eos_token` and similar variables, which are empty in probes.
//! - Markers of reasoning and answers that are plain words after free text: prose would contain them.
//! - An empty wrapper in a turn of calls alone whose markers are not tags: its end looks like the beginning of the call.
//! - A number that counts the calls if there is never more than one.
//! - Nested tags for what they cannot tell: empty objects and lists, lists of one item if items have no tag of their own, and texts
//!   that look like JSON or tags. The template writes JSON there.
//! - Reasoning without a closer if there are no calls: the answer's opener may as well be its closer.
//!
//! Not drawn yet, although a template could show it:
//! - A call that begins with the marker of its id.
//! - An id that holds the function's name (`functions.f:0`) where the name is written again without the id.
//! - A token without brackets that face outwards before each tag of a call (`<|x|><f>`): the parser takes its closers apart.
//! - Markers of an answer that only turns with calls have, if the answer comes after the calls.
//! - A turn of several messages whose headers have lines, with one call at most.
//! - Several messages in a turn with nothing but words as headers (`>>>all`), or with a switch for thinking.
//!
//! Not drawn, because a parser cannot read it: a name before its object with only white space in between.

#![expect(clippy::expect_used, reason = "a development crate: what cannot happen may stop it")]

pub mod around;
pub mod behaviour;
pub mod calls;
pub mod construct;
pub mod draw;
pub mod marker;
pub mod messages;
pub mod names;
pub mod node;
pub mod rng;
pub mod same;
pub mod tagged;
pub mod template;
pub mod tools;
pub mod trial;
pub mod written;
