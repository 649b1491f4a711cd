//! The Rust back end: a machine becomes a module that reads like code that someone wrote.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use unjinja_runtime::{Channel, Marker, Markers};
use unjinja_spec::FormatSpec;

use crate::automaton::{Arm, Confirm, State, Step};
use crate::plan::{Action, ArgumentKind, Hole};
use crate::{Lowered, gbnf};

/// The tokens of a model's module. `runtime` is the path of the runtime crate.
pub(crate) fn module(spec: &FormatSpec, lowered: &Lowered, runtime: &TokenStream) -> TokenStream {
    let automaton = &lowered.automaton;
    let used = reachable(lowered);
    let states = automaton.states.iter().enumerate().filter(|(index, _)| used[*index]);
    let constants = states.clone().map(|(index, state)| {
        let name = format_ident!("{}", state.name);
        let doc = state_doc(state);
        let number = Literal::u16_unsuffixed(index as u16);
        quote!(#[doc = #doc] const #name: State = State(#number);)
    });
    let markers = states.clone().filter(|(_, state)| !state.arms.is_empty()).map(|(_, state)| {
        let name = format_ident!("{}_MARKERS", state.name);
        let doc = markers_doc(state);
        let markers = state.arms.iter().map(marker);
        let new = if is_searched(state) { format_ident!("new") } else { format_ident!("expected") };
        quote!(#[doc = #doc] static #name: Markers<'static> = Markers::#new(&[#(#markers),*]);)
    });
    let shapes = states.clone().filter_map(|(_, state)| shape(state));
    let steps = states.clone().map(|(index, state)| step(lowered, index, state));
    let ends = end(lowered, states.clone().map(|(_, state)| state));
    let io_at_end = match automaton.states.iter().any(|s| s.end.as_ref().is_some_and(|a| !a.is_empty())) {
        true => quote!(io),
        false => quote!(_io),
    };
    let entries = spec.generation_prompt.iter().zip(lowered.entries()).map(|(prompt, state)| {
        let thinking = match prompt.thinking {
            Some(on) => quote!(Some(#on)),
            None => quote!(None),
        };
        let text = &prompt.text;
        let channel = channel(crate::runtime_channel(prompt.starts_in));
        let read = crate::read_again(spec, prompt);
        let state = format_ident!("{}", automaton.states[state].name);
        quote!(Entry { thinking: #thinking, text: #text, channel: #channel, state: #state, read: #read })
    });
    let start = format_ident!("{}", automaton.states[automaton.start].name);
    let plain = format_ident!("{}", automaton.states[automaton.content].name);
    let info = &spec.template;
    let (name, source, sha256) = (&info.name, &info.source, &info.sha256);
    let files = std::iter::once(&info.file).chain(&info.also);
    let assistant_start = &spec.turn.assistant_start;
    let switch = &spec.reasoning.switch;
    let preserved = &spec.tokens.preserved;
    let has_shapes = states.clone().any(|(_, state)| matches!(state.hole, Some(Hole::Object(_))));
    let has_markers = states.clone().any(|(_, state)| !state.arms.is_empty());
    let mut imports = vec![
        "BorrowedMessage",
        "Channel",
        "Chunk",
        "Entry",
        "Facts",
        "Flow",
        "Found",
        "Io",
        "Machine",
        "Message",
        "Options",
        "State",
        "Stream",
        "Tools",
    ];
    imports.extend(has_shapes.then_some("CallShape"));
    imports.push("Markers");
    imports.extend(has_markers.then_some("Marker"));
    imports.sort_unstable();
    let grammar = gbnf::items(spec, lowered, &used, runtime);
    let grammar_imports = gbnf::imports(lowered, &used, runtime);
    let imports = imports.iter().map(|name| format_ident!("{name}"));
    quote! {
        #grammar_imports
        use #runtime::{#(#imports),*};

        /// The parser; it holds no data.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Parser;

        /// Parses a whole output.
        pub fn parse<'t>(output: impl Into<Chunk<'t>>, options: &Options) -> Message {
            #runtime::parse(Parser, output, options)
        }

        /// Parses a whole output, and copies nothing of it that stands there as it is to be.
        pub fn parse_borrowed<'t>(output: impl Into<Chunk<'t>>, options: &Options) -> BorrowedMessage<'t> {
            #runtime::parse_borrowed(Parser, output, options)
        }

        /// A streaming parser for one turn.
        pub fn stream(options: &Options) -> Stream<Parser> {
            Stream::new(Parser, options)
        }

        /// Facts from the spec.
        pub const FACTS: Facts<'static> = Facts {
            name: #name,
            source: #source,
            files: &[#(#files),*],
            sha256: #sha256,
            assistant_start: #assistant_start,
            thinking_switch: #switch,
            preserved_tokens: &[#(#preserved),*],
        };

        /// What the generation prompts say, and where they leave the parser.
        const ENTRIES: &[Entry<'static>] = &[#(#entries),*];

        #(#constants)*
        #(#markers)*
        #(#shapes)*

        #grammar

        impl Machine for Parser {
            fn facts(&self) -> Facts<'_> {
                FACTS
            }

            fn start(&self) -> State {
                #start
            }

            fn plain(&self) -> State {
                #plain
            }

            fn entries(&self) -> &[Entry<'_>] {
                ENTRIES
            }

            fn step(&self, state: State, io: &mut Io<'_>) -> Flow {
                match state {
                    #(#steps)*
                    _ => Flow::Misfit,
                }
            }

            fn end(&self, state: State, #io_at_end: &mut Io<'_>) -> bool {
                #ends
            }

            fn with_plan(&self, with: &mut dyn FnMut(&Plan<'_>)) {
                with(&PLAN);
            }
        }
    }
}

/// Which states a turn can get into.
fn reachable(lowered: &Lowered) -> Vec<bool> {
    let automaton = &lowered.automaton;
    let mut used = vec![false; automaton.states.len()];
    let mut queue = vec![automaton.start, automaton.content];
    queue.extend(lowered.entries());
    while let Some(index) = queue.pop() {
        if std::mem::replace(&mut used[index], true) {
            continue;
        }
        let state = &automaton.states[index];
        queue.extend(state.arms.iter().map(|arm| arm.step.next));
        queue.extend(state.otherwise.iter().map(|step| step.next));
    }
    used
}

fn state_doc(state: &State) -> String {
    match &state.hole {
        Some(Hole::Text { .. }) => " Plain text of this channel.".to_owned(),
        Some(Hole::Name) => " The name of the function that is called.".to_owned(),
        Some(Hole::Id) => " The id of the call.".to_owned(),
        Some(Hole::ArgumentName) => " The name of an argument.".to_owned(),
        Some(Hole::Literal { .. }) => " An argument's value, as a literal.".to_owned(),
        Some(Hole::Value) => " The raw text of an argument's value.".to_owned(),
        Some(Hole::Json) => " The arguments, as one JSON value.".to_owned(),
        Some(Hole::Python) => " The arguments, as one Python literal.".to_owned(),
        Some(Hole::Object(_)) => " A call, as one object.".to_owned(),
        None if state.exact => " Nothing has been read.".to_owned(),
        None => " Only markers may stand here.".to_owned(),
    }
}

fn markers_doc(state: &State) -> String {
    let cores: Vec<String> = state.arms.iter().map(|arm| format!("`{}`", arm.core.escape_debug())).collect();
    let list: Vec<Marker<'_>> = state.arms.iter().map(|arm| Marker::new(&arm.core)).collect();
    let search = match is_searched(state) {
        true => Markers::new(&list).search().to_string(),
        false => "compared where they may stand".to_owned(),
    };
    format!(" What may follow in this state: {}; {search}.", cores.join(", "))
}

fn marker(arm: &Arm) -> TokenStream {
    let core = &arm.core;
    let mut tokens = quote!(Marker::new(#core));
    if !arm.before.is_empty() || !arm.after.is_empty() {
        let (before, after) = (&arm.before, &arm.after);
        tokens.extend(quote!(.layout(#before, #after)));
    }
    match &arm.confirm {
        Confirm::Nothing => {}
        Confirm::Next(cores) => tokens.extend(quote!(.followed_by(&[#(#cores),*]))),
        Confirm::End => tokens.extend(quote!(.at_end())),
    }
    if arm.peek {
        tokens.extend(quote!(.peek()));
    }
    tokens
}

fn shape(state: &State) -> Option<TokenStream> {
    let Some(Hole::Object(shape)) = &state.hole else { return None };
    let name = format_ident!("{}_SHAPE", state.name);
    let (function, name_field, args) = (&shape.function_field, &shape.name_field, &shape.args_field);
    let keys = &shape.other_keys;
    let (id, key, python, bare) = (&shape.id_field, shape.name_is_key, shape.python, shape.bare);
    Some(quote! {
        /// The keys of a call.
        const #name: CallShape<'static> = CallShape {
            function_field: #function,
            name_field: #name_field,
            args_field: #args,
            id_field: #id,
            name_is_key: #key,
            python: #python,
            keys: &[#(#keys),*],
            strict: #bare,
        };
    })
}

/// Whether a state reads text up to its markers; in others they stand in one place, or the value says where it ends.
fn is_searched(state: &State) -> bool {
    matches!(state.hole, Some(Hole::Text { .. } | Hole::Value))
}

fn step(lowered: &Lowered, index: usize, state: &State) -> TokenStream {
    let name = format_ident!("{}", state.name);
    let markers = format_ident!("{}_MARKERS", state.name);
    let markers = if state.arms.is_empty() { quote!(&Markers::NONE) } else { quote!(&#markers) };
    let read = match &state.hole {
        None if state.exact => quote!(io.expect_here(#markers)),
        None => quote!(io.expect(#markers)),
        Some(Hole::Text { channel, .. }) => {
            let channel = self::channel(*channel);
            quote!(io.text(#channel, #markers))
        }
        Some(Hole::Name | Hole::Id | Hole::ArgumentName) => quote!(io.name(#markers)),
        Some(Hole::Value) => quote!(io.value(#markers)),
        Some(Hole::Json) => quote!(io.json_arguments(#markers)),
        Some(Hole::Python) => quote!(io.python_arguments()),
        Some(Hole::Literal { quote }) if quote.is_empty() => quote!(io.literal_value()),
        Some(Hole::Literal { quote }) => quote!(io.quoted_value(#quote)),
        Some(Hole::Object(shape)) => {
            let name = format_ident!("{}_SHAPE", state.name);
            let bare = shape.bare;
            let read = if shape.python { format_ident!("call_dict") } else { format_ident!("call_object") };
            quote!(io.#read(&#name, #bare, #markers))
        }
    };
    let mut arms: Vec<TokenStream> = Vec::new();
    for (number, arm) in state.arms.iter().enumerate() {
        // Arms that do the same are one.
        if state.arms[..number].iter().any(|earlier| earlier.step == arm.step) {
            continue;
        }
        let numbers = state.arms.iter().enumerate().filter(|(_, other)| other.step == arm.step);
        let numbers: Vec<usize> = numbers.map(|(n, _)| n).collect();
        let numbers = pattern(&numbers);
        let body = go(lowered, index, &arm.step, true);
        arms.push(quote!(Found::Marker(#numbers) => #body));
    }
    arms.push(quote!(Found::Wait => Flow::Wait,));
    match (&state.otherwise, &state.hole) {
        (Some(step), None) => {
            let body = go(lowered, index, step, false);
            arms.push(quote!(_ => #body));
        }
        (Some(step), Some(_)) => {
            let body = go(lowered, index, step, false);
            arms.push(quote!(Found::Done => #body));
            arms.push(quote!(_ => Flow::Misfit,));
        }
        (None, _) => arms.push(quote!(_ => Flow::Misfit,)),
    }
    quote!(#name => match #read { #(#arms)* },)
}

/// A pattern for these numbers, which are in order.
fn pattern(numbers: &[usize]) -> TokenStream {
    let mut parts: Vec<TokenStream> = Vec::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run = rest.iter().enumerate().take_while(|(offset, n)| **n == first + offset).count();
        let taken = if run > 2 { run } else { 1 };
        let (from, to) = (Literal::usize_unsuffixed(first), Literal::usize_unsuffixed(rest[taken - 1]));
        parts.push(if taken > 2 { quote!(#from..=#to) } else { quote!(#from) });
        rest = &rest[taken..];
    }
    quote!(#(#parts)|*)
}

/// What to do where the text ends.
fn end<'s>(lowered: &Lowered, states: impl Iterator<Item = &'s State>) -> TokenStream {
    let (mut plain, mut arms) = (Vec::new(), Vec::new());
    for state in states {
        let name = format_ident!("{}", state.name);
        match &state.end {
            Some(actions) if actions.is_empty() => plain.push(name),
            Some(actions) => {
                let actions = actions.iter().map(|a| action(lowered, 0, a, false));
                arms.push(quote!(#name => { #(#actions)* true }));
            }
            None => {}
        }
    }
    if arms.is_empty() {
        return quote!(matches!(state, #(#plain)|*));
    }
    let plain = (!plain.is_empty()).then(|| quote!(#(#plain)|* => true,));
    quote!(match state { #plain #(#arms)* _ => false })
}

fn go(lowered: &Lowered, index: usize, step: &Step, at_marker: bool) -> TokenStream {
    let next = format_ident!("{}", lowered.automaton.states[step.next].name);
    if step.actions.is_empty() {
        return quote!(Flow::Go(#next),);
    }
    let actions = step.actions.iter().map(|a| action(lowered, index, a, at_marker));
    quote!({ #(#actions)* Flow::Go(#next) })
}

fn action(lowered: &Lowered, index: usize, action: &Action, at_marker: bool) -> TokenStream {
    match action {
        Action::Hold => {
            let automaton = &lowered.automaton;
            let state = format_ident!("{}", automaton.states[automaton.fallback(index)].name);
            if at_marker { quote!(io.hold(#state);) } else { quote!(io.hold_here(#state);) }
        }
        Action::StartCall => quote!(io.start_call();),
        Action::StartLabelled { prefix, separator } => quote!(io.start_call_labelled(#prefix, #separator);),
        Action::Id => quote!(io.id();),
        Action::StartOffered => quote!(if !io.start_offered_call() {
            return Flow::Misfit;
        }),
        Action::Argument(ArgumentKind::BySchema { python }) => quote!(io.argument(#python);),
        Action::Argument(ArgumentKind::Text) => quote!(io.argument_text();),
        Action::Argument(ArgumentKind::Other { python }) => quote!(io.argument_other(#python);),
        Action::Argument(ArgumentKind::Literal) => quote!(io.argument_literal();),
        Action::EndArgument => quote!(io.end_argument();),
        Action::EndCall => quote!(io.end_call();),
        Action::EndCallIncomplete => quote!(io.end_call_incomplete();),
        Action::OpenReasoning => quote!(io.open_reasoning();),
        Action::CloseReasoning => quote!(io.close_reasoning();),
    }
}

fn channel(channel: Channel) -> TokenStream {
    match channel {
        Channel::Content => quote!(Channel::Content),
        Channel::Reasoning => quote!(Channel::Reasoning),
    }
}
