//! The grammar back end: the machine of a turn as the data that the runtime makes grammars of. Generated modules carry
//! it as a constant, beside the grammar for any tool; the interpreter hands it over when it is asked.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use unjinja_runtime::grammar::{self, Act, Argument, Grammar, Node, Plan, Reads, Step};
use unjinja_runtime::{CallShape, Channel, GrammarError, GrammarOptions, Marker, Markers, State, Tools, Trigger};
use unjinja_spec::FormatSpec;

use crate::Lowered;
use crate::automaton::{self, Arm, Automaton};
use crate::interpret;
use crate::plan::{Action, ArgumentKind, Hole};

impl Lowered {
    /// A grammar for a sampler; `tools` is `None` where any tool may be called. `spec` is the spec that was lowered.
    ///
    /// # Errors
    /// Where what is asked for cannot be had.
    pub fn grammar(
        &self,
        spec: &FormatSpec,
        tools: Option<&Tools>,
        options: &GrammarOptions,
    ) -> Result<Grammar, GrammarError> {
        let interpreter = self.interpreter(spec);
        let (facts, entries) = interpreter.facts_and_entries();
        with_plan(&self.automaton, spec.content.after_calls, |plan| {
            grammar::assemble(plan, facts, entries, tools, options)
        })
    }
}

/// Hands out the machine as data.
pub(crate) fn with_plan<T>(automaton: &Automaton, text_after_calls: bool, with: impl FnOnce(&Plan<'_>) -> T) -> T {
    // Data that borrows from each other, one kind after the other.
    let confirms: Vec<Vec<Vec<&str>>> =
        automaton.states.iter().map(|state| state.arms.iter().map(interpret::next_cores).collect()).collect();
    let markers: Vec<Vec<Marker<'_>>> = automaton
        .states
        .iter()
        .zip(&confirms)
        .map(|(state, nexts)| state.arms.iter().zip(nexts).map(|(arm, next)| interpret::marker(arm, next)).collect())
        .collect();
    let markers: Vec<Markers<'_>> = markers.iter().map(|list| Markers::new(list)).collect();
    let keys: Vec<Vec<&str>> = automaton.states.iter().map(keys).collect();
    let acts: Vec<Vec<Vec<Act<'_>>>> =
        automaton.states.iter().map(|state| state.arms.iter().map(|arm| acts_of(arm).collect()).collect()).collect();
    let others: Vec<Vec<Act<'_>>> = automaton
        .states
        .iter()
        .map(|state| state.otherwise.iter().flat_map(|step| &step.actions).filter_map(act).collect())
        .collect();
    let ends: Vec<Vec<Act<'_>>> =
        automaton.states.iter().map(|state| state.end.iter().flatten().filter_map(act).collect()).collect();
    let number = |index: usize| State(u16::try_from(index).unwrap_or(u16::MAX));
    let steps: Vec<Vec<Step<'_>>> = automaton
        .states
        .iter()
        .zip(&acts)
        .map(|(state, acts)| {
            let both = state.arms.iter().zip(acts);
            both.map(|(arm, acts)| Step { acts, next: number(arm.step.next) }).collect()
        })
        .collect();
    let nodes: Vec<Node<'_>> = automaton
        .states
        .iter()
        .enumerate()
        .map(|(index, state)| Node {
            reads: reads(state, &keys[index]),
            markers: &markers[index],
            steps: &steps[index],
            otherwise: state.otherwise.as_ref().map(|step| Step { acts: &others[index], next: number(step.next) }),
            end: state.end.as_ref().map(|_| ends[index].as_slice()),
        })
        .collect();
    with(&Plan {
        nodes: &nodes,
        start: number(automaton.start),
        content: number(automaton.content),
        reasoning: automaton.reasoning.map(number),
        text_after_calls,
    })
}

fn keys(state: &automaton::State) -> Vec<&str> {
    match &state.hole {
        Some(Hole::Object(shape)) => shape.other_keys.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn reads<'p>(state: &'p automaton::State, keys: &'p [&'p str]) -> Reads<'p> {
    match &state.hole {
        None => Reads::Markers,
        Some(Hole::Text { channel, .. }) => Reads::Text(*channel),
        Some(Hole::Name) => Reads::Name,
        Some(Hole::Id) => Reads::Id,
        Some(Hole::ArgumentName) => Reads::ArgumentName,
        Some(Hole::Value) => Reads::Value,
        Some(Hole::Literal { quote }) => Reads::Literal(quote),
        Some(Hole::Json) => Reads::Json,
        Some(Hole::Python) => Reads::Python,
        Some(Hole::Object(shape)) => Reads::Object(CallShape {
            function_field: &shape.function_field,
            name_field: &shape.name_field,
            args_field: &shape.args_field,
            id_field: &shape.id_field,
            name_is_key: shape.name_is_key,
            python: shape.python,
            keys,
            strict: shape.bare,
        }),
    }
}

/// What a grammar has to know of a marker.
fn acts_of(arm: &Arm) -> impl Iterator<Item = Act<'_>> {
    let frame = match arm.key {
        "content.start" => Some(Act::OpenContent),
        "content.end" => Some(Act::CloseContent),
        _ => None,
    };
    arm.step.actions.iter().filter_map(act).chain(frame)
}

/// What a grammar has to know of an action.
fn act(action: &Action) -> Option<Act<'_>> {
    Some(match action {
        Action::Hold => Act::OpenCall,
        Action::StartCall | Action::StartOffered => Act::StartCall,
        Action::StartLabelled { prefix, separator } => Act::StartLabelled { prefix, separator },
        Action::Argument(ArgumentKind::BySchema { python }) => Act::Argument(Argument::BySchema { python: *python }),
        Action::Argument(ArgumentKind::Text) => Act::Argument(Argument::Text),
        Action::Argument(ArgumentKind::Other { python }) => Act::Argument(Argument::Other { python: *python }),
        Action::Argument(ArgumentKind::Literal) => Act::Argument(Argument::Literal),
        Action::EndCall => Act::EndCall,
        Action::EndCallIncomplete => Act::EndCallIncomplete,
        Action::OpenReasoning => Act::OpenReasoning,
        Action::CloseReasoning => Act::CloseReasoning,
        Action::Id | Action::EndArgument => return None,
    })
}

// ----- generated code -----

/// What a module has to import for its grammar.
pub(crate) fn imports(lowered: &Lowered, used: &[bool], runtime: &TokenStream) -> TokenStream {
    let has_arguments = lowered.automaton.states.iter().enumerate().any(|(index, state)| {
        used[index] && state.arms.iter().any(|arm| arm.step.actions.iter().any(|a| matches!(a, Action::Argument(_))))
    });
    let mut states = lowered.automaton.states.iter().enumerate().filter(|(index, _)| used[*index]);
    let has_acts = states.any(|(_, state)| {
        let others = state.otherwise.iter().flat_map(|step| &step.actions).chain(state.end.iter().flatten());
        state.arms.iter().any(|arm| acts_of(arm).next().is_some()) || others.filter_map(act).next().is_some()
    });
    let mut imports = vec!["Grammar", "GrammarError", "GrammarOptions", "Node", "Plan", "Reads", "Step", "Trigger"];
    imports.extend(has_acts.then_some("Act"));
    imports.extend(has_arguments.then_some("Argument"));
    imports.sort_unstable();
    let imports = imports.iter().map(|name| format_ident!("{name}"));
    quote!(use #runtime::grammar::{#(#imports),*};)
}

/// The items of a module that are about its grammar; `used` says which states it has.
pub(crate) fn items(spec: &FormatSpec, lowered: &Lowered, used: &[bool], runtime: &TokenStream) -> TokenStream {
    // Without tools and options nothing can be contradictory.
    let any = lowered.grammar(spec, None, &GrammarOptions::new()).unwrap_or_default();
    let text = multiline(&any.text);
    let (lazy, stops) = (any.lazy, &any.stops);
    let preserved = &any.preserved_tokens;
    let trigger = quote!(Trigger);
    let triggers = triggers(&any, &trigger);
    let plan = plan(spec, lowered, used);
    quote! {
        /// The grammar for any tool with any arguments, as GBNF. Empty where the format has no calls.
        pub const GRAMMAR: &str = #text;

        /// Whether the grammar holds only from a trigger on.
        pub const LAZY: bool = #lazy;

        /// What the grammar begins with, where it is lazy.
        pub const TRIGGERS: &[Trigger] = &[#(#triggers),*];

        /// Markers that a detokenizer must keep.
        pub const PRESERVED_TOKENS: &[&str] = &[#(#preserved),*];

        /// Texts that end a turn.
        pub const STOPS: &[&str] = &[#(#stops),*];

        /// A grammar for a sampler, with each tool's schema compiled in.
        ///
        /// # Errors
        /// Where what is asked for cannot be had: a call without tools, or schemas that nothing satisfies.
        pub fn grammar(tools: &Tools, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
            #runtime::grammar::assemble(&PLAN, FACTS, ENTRIES, Some(tools), options)
        }

        #plan
    }
}

/// The items that a module has where its tools are known when it is built: the tools, and their grammar.
///
/// # Errors
/// Where the text holds no tools, and where a schema contradicts itself.
pub(crate) fn tool_items(
    spec: &FormatSpec,
    lowered: &Lowered,
    json: &str,
    runtime: &TokenStream,
) -> Result<TokenStream, Box<dyn std::error::Error + Send + Sync>> {
    let tools = Tools::from_json(json)?;
    let grammar = lowered.grammar(spec, Some(&tools), &GrammarOptions::new())?;
    let text = multiline(&grammar.text);
    let trigger = quote!(#runtime::grammar::Trigger);
    let triggers = triggers(&grammar, &trigger);
    Ok(quote! {
        /// The tools that are offered, known when this was built.
        pub fn tools() -> #runtime::Tools {
            const TOOLS: &str = #json;
            #runtime::Tools::from_json(TOOLS).unwrap_or_default()
        }

        /// The grammar for calls of the tools that are offered, with their schemas compiled in, as GBNF. For other
        /// choices than to let the model decide there is `grammar`.
        pub const TOOL_GRAMMAR: &str = #text;

        /// What that grammar begins with; where there is nothing, it holds for the whole turn.
        pub const TOOL_TRIGGERS: &[#trigger] = &[#(#triggers),*];
    })
}

/// The triggers of a grammar.
fn triggers<'g>(grammar: &'g Grammar, name: &'g TokenStream) -> impl Iterator<Item = TokenStream> + 'g {
    grammar.triggers.iter().map(move |trigger| match trigger {
        Trigger::Word(word) => quote!(#name::of_word(#word)),
        Trigger::Pattern(pattern) => quote!(#name::of_pattern(#pattern)),
    })
}

/// A text as a literal that shows its lines.
fn multiline(text: &str) -> TokenStream {
    let raw = format!("r#\"{text}\"#");
    match raw.parse::<TokenStream>() {
        Ok(tokens) if !text.contains("\"#") && !text.contains('\r') => tokens,
        _ => quote!(#text),
    }
}

/// The machine as a constant.
fn plan(spec: &FormatSpec, lowered: &Lowered, used: &[bool]) -> TokenStream {
    let after_calls = spec.content.after_calls;
    let automaton = &lowered.automaton;
    let name = |index: usize| format_ident!("{}", automaton.states[index].name);
    let step = |acts: &mut dyn Iterator<Item = Act<'_>>, next: usize| {
        let acts = acts.map(|act| act_tokens(&act));
        let next = name(next);
        quote!(Step::new(&[#(#acts),*], #next))
    };
    let nodes = automaton.states.iter().enumerate().map(|(index, state)| {
        if !used[index] {
            return quote!(Node::new(Reads::Markers));
        }
        let reads = reads_tokens(state);
        let mut tokens = quote!(Node::new(#reads));
        if !state.arms.is_empty() {
            let markers = format_ident!("{}_MARKERS", state.name);
            let steps = state.arms.iter().map(|arm| step(&mut acts_of(arm), arm.step.next));
            tokens.extend(quote!(.markers(&#markers, &[#(#steps),*])));
        }
        if let Some(otherwise) = &state.otherwise {
            let otherwise = step(&mut otherwise.actions.iter().filter_map(act), otherwise.next);
            tokens.extend(quote!(.otherwise(#otherwise)));
        }
        if let Some(end) = &state.end {
            let acts = end.iter().filter_map(act).map(|act| act_tokens(&act));
            tokens.extend(quote!(.end(&[#(#acts),*])));
        }
        tokens
    });
    let (start, content) = (name(automaton.start), name(automaton.content));
    let reasoning = match automaton.reasoning.filter(|&index| used[index]) {
        Some(index) => {
            let name = name(index);
            quote!(Some(#name))
        }
        None => quote!(None),
    };
    quote! {
        /// What grammars are made of: the same machine, as data.
        static PLAN: Plan<'static> = Plan {
            nodes: &[#(#nodes),*],
            start: #start,
            content: #content,
            reasoning: #reasoning,
            text_after_calls: #after_calls,
        };
    }
}

fn reads_tokens(state: &automaton::State) -> TokenStream {
    match &state.hole {
        None => quote!(Reads::Markers),
        Some(Hole::Text { channel: Channel::Content, .. }) => quote!(Reads::Text(Channel::Content)),
        Some(Hole::Text { channel: Channel::Reasoning, .. }) => quote!(Reads::Text(Channel::Reasoning)),
        Some(Hole::Name) => quote!(Reads::Name),
        Some(Hole::Id) => quote!(Reads::Id),
        Some(Hole::ArgumentName) => quote!(Reads::ArgumentName),
        Some(Hole::Value) => quote!(Reads::Value),
        Some(Hole::Literal { quote }) => quote!(Reads::Literal(#quote)),
        Some(Hole::Json) => quote!(Reads::Json),
        Some(Hole::Python) => quote!(Reads::Python),
        Some(Hole::Object(_)) => {
            let shape = format_ident!("{}_SHAPE", state.name);
            quote!(Reads::Object(#shape))
        }
    }
}

fn act_tokens(act: &Act<'_>) -> TokenStream {
    match act {
        Act::OpenCall => quote!(Act::OpenCall),
        Act::StartCall => quote!(Act::StartCall),
        Act::StartLabelled { prefix, separator } => {
            quote!(Act::StartLabelled { prefix: #prefix, separator: #separator })
        }
        Act::Argument(Argument::BySchema { python }) => {
            quote!(Act::Argument(Argument::BySchema { python: #python }))
        }
        Act::Argument(Argument::Text) => quote!(Act::Argument(Argument::Text)),
        Act::Argument(Argument::Other { python }) => quote!(Act::Argument(Argument::Other { python: #python })),
        Act::Argument(Argument::Literal) => quote!(Act::Argument(Argument::Literal)),
        Act::EndCall => quote!(Act::EndCall),
        Act::EndCallIncomplete => quote!(Act::EndCallIncomplete),
        Act::OpenReasoning => quote!(Act::OpenReasoning),
        Act::CloseReasoning => quote!(Act::CloseReasoning),
        Act::OpenContent => quote!(Act::OpenContent),
        Act::CloseContent => quote!(Act::CloseContent),
    }
}
