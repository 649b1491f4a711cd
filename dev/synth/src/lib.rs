//! Turns the analyzer on itself: draws random format specs, writes for each a Jinja template that renders it, and asks
//! whether the analysis of the template gives the spec back, and whether the parser made of that spec reads what the
//! template writes.
//!
//! A [`trial`](trial::trial) goes through these stages: [`draw`](draw::draw) a spec that its own rules and the lowering
//! accept; write its [`template`](template::template) in one of many [styles](node::Style) of Jinja; check that the
//! template [writes](written::turn), to the letter, what the spec says (a test of this crate, not of the analyzer);
//! analyse it; [compare](same::differences); verify it with random conversations.
//!
//! # When two specs are the same
//! Specs are compared by what they write, not by how they cut it. For each [shape](same::shapes) of turn (an answer, a
//! call without, with one and with two arguments, two calls, reasoning with an answer or a call, …) both write the turn
//! with its holes marked. The texts must be equal. So what no render can decide does not count:
//! - where the cut lies between markers that always stand beside each other (the end of the section and the end of a
//!   lone call; the turn's start and an opener that all answers have; `name_suffix` and `value_prefix`);
//! - to which neighbour white space belongs; and where a template writes white space only beside an answer, or its
//!   reasoning is hidden, whether it is there at all (else a difference in white space alone is reported as such);
//! - the spacing inside of JSON, which the language does not speak of.
//!
//! Keys that are no markers must be equal one by one: format, JSON keys and their order, wrappers, modes, positions,
//! fields and switches, generation prompts with where they leave the output, capabilities. Not compared: names and
//! hashes, evidence, `tokens.preserved` and `reasoning.ended_by_call` (made from the rest), `string_arguments` where a
//! filter writes any argument (a text then comes out encoded twice, which shows all of it and is still no call), and
//! `uses_python_dicts` of call expressions, which read both.
//!
//! # What is not drawn, because a template cannot reveal it
//! - Alternatives, and `ended_by_call` against its rule: what models write and templates do not.
//! - An array of calls with markers around its items: the array is JSON, or it is none.
//! - A call that only the marker of its id opens: the language takes openers for what they are.
//! - Hidden reasoning that no generation prompt opens: nothing tells its opening marker.
//! - An empty block in all turns *and* in front of all prompts, with a closer that is not its opener with a slash: the
//!   opener may as well end the turn's start. The same of an empty block before an answer's wrapper where there are
//!   no calls, and of a wrapper around all there ever is.
//! - Arguments printed without a filter: JSON or Python, depending on what they are given as.
//! - A switch of thinking that changes no generation prompt; `eos_token` and its kin, which are empty in experiments.
//! - Markers that are words where free text stands before them, for reasoning and answers: prose would hold them.
//!
//! Not drawn yet, though a template could show it: answers after calls, channels and recipients, calls given as a
//! message of their own, argument names as tags.

#![expect(clippy::expect_used, reason = "a development crate: what cannot happen may stop it")]

pub mod calls;
pub mod draw;
pub mod marker;
pub mod node;
pub mod rng;
pub mod same;
pub mod template;
pub mod tools;
pub mod trial;
pub mod written;
