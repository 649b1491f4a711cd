//! Actions as Rust: the data of a program, and the calls of a step.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use unjinja_runtime::Channel;
use unjinja_runtime::abi::{Action, ArgumentKind, Hole, Nesting, Program, StateId};

/// The variant of an action, such as `StartCall`.
fn variant(action: &Action) -> String {
    format!("{action:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// An action as the part of a constant's name.
pub(super) fn action_name(action: &Action) -> String {
    let word = |char: char| if char.is_ascii_uppercase() { vec!['_', char] } else { vec![char.to_ascii_uppercase()] };
    variant(action).chars().flat_map(word).skip(1).collect()
}

pub(super) fn actions_of(actions: &[Action]) -> TokenStream {
    let tokens = actions.iter().map(|action| match action {
        Action::StartLabelled(label) => {
            let (prefix, separator) = (&*label.prefix, &*label.separator);
            quote!(Action::StartLabelled(Shared::Static(&Label { prefix: text(#prefix), separator: text(#separator) })))
        }
        Action::Argument(ArgumentKind::BySchema { python }) => {
            quote!(Action::Argument(ArgumentKind::BySchema { python: #python }))
        }
        Action::Argument(ArgumentKind::Quotable { python }) => {
            quote!(Action::Argument(ArgumentKind::Quotable { python: #python }))
        }
        Action::Argument(ArgumentKind::Text) => quote!(Action::Argument(ArgumentKind::Text)),
        Action::Argument(ArgumentKind::Other { python }) => {
            quote!(Action::Argument(ArgumentKind::Other { python: #python }))
        }
        Action::Argument(ArgumentKind::Literal) => quote!(Action::Argument(ArgumentKind::Literal)),
        Action::Argument(ArgumentKind::TightLiteral) => quote!(Action::Argument(ArgumentKind::TightLiteral)),
        Action::NestedArgument(nesting) => {
            let nesting = nesting_tokens(nesting);
            quote!(Action::NestedArgument(Shared::Static(#nesting)))
        }
        Action::EndNestedArgument(nesting) => {
            let nesting = nesting_tokens(nesting);
            quote!(Action::EndNestedArgument(Shared::Static(#nesting)))
        }
        Action::MissingMarker(marker) => {
            let marker = &**marker;
            quote!(Action::MissingMarker(text(#marker)))
        }
        // All others hold nothing.
        other => {
            let variant = format_ident!("{}", variant(other));
            quote!(Action::#variant)
        }
    });
    quote!(#(#tokens),*)
}

fn nesting_tokens(nesting: &Nesting) -> TokenStream {
    let Nesting { python, open, opened, close, closed, item } = nesting;
    quote!(const {
        &Nesting {
            python: #python,
            open: text(#open),
            opened: text(#opened),
            close: text(#close),
            closed: text(#closed),
            item: text(#item),
        }
    })
}

/// The call that performs an action. Actions that only grammars need have none.
pub(super) fn action_tokens(program: &Program, from: StateId, action: &Action, at_marker: bool) -> TokenStream {
    match action {
        Action::Speculate => {
            let state = state_name(program, program.fallback(from));
            let reasons = program.state(from).is_some_and(|state| state.hole == Some(Hole::Text(Channel::Reasoning)));
            if at_marker && reasons {
                return quote!(if !io.speculate_in_reasoning(#state) {
                    return Flow::Mismatch;
                });
            }
            if at_marker { quote!(io.speculate(#state);) } else { quote!(io.speculate_here(#state);) }
        }
        Action::HoldBack => {
            let state = state_name(program, program.content);
            quote!(io.speculate_here(#state);)
        }
        Action::StartCall => quote!(io.start_call();),
        Action::StartLabelled(label) => {
            let (prefix, separator) = (&*label.prefix, &*label.separator);
            quote!(io.start_call_labelled(#prefix, #separator);)
        }
        Action::StartRecipient => quote!(io.start_recipient();),
        Action::StartSplit => quote!(if !io.start_split_call() {
            return Flow::Mismatch;
        }),
        Action::Id => quote!(io.id();),
        Action::StartKnown => quote!(if !io.start_known_call() {
            return Flow::Mismatch;
        }),
        Action::StartOffered => quote!(if !io.start_offered_call() {
            return Flow::Mismatch;
        }),
        Action::Argument(ArgumentKind::BySchema { python }) => quote!(io.argument(#python);),
        Action::Argument(ArgumentKind::Quotable { python }) => quote!(io.argument_quotable(#python);),
        Action::Argument(ArgumentKind::Text) => quote!(io.argument_text();),
        Action::Argument(ArgumentKind::Other { python }) => quote!(io.argument_other(#python);),
        Action::Argument(ArgumentKind::Literal) => quote!(io.argument_literal();),
        Action::Argument(ArgumentKind::TightLiteral) => quote!(io.argument_tight_literal();),
        Action::EndArgument => quote!(io.end_argument();),
        Action::NestedArgument(nesting) => {
            let nesting = nesting_tokens(nesting);
            quote!(io.nested_argument(#nesting);)
        }
        Action::EndNestedArgument(nesting) => {
            let nesting = nesting_tokens(nesting);
            quote!(io.end_nested_argument(#nesting);)
        }
        Action::EndCall => quote!(io.end_call();),
        Action::EndCallIncomplete if at_marker => quote!(io.end_call_incomplete();),
        Action::EndCallIncomplete => quote!(if !io.end_unclosed_call() {
            return Flow::Mismatch;
        }),
        Action::EndCalls => quote!(io.end_calls();),
        Action::OpenFence => quote!(if !io.open_fence() {
            return Flow::Mismatch;
        }),
        Action::CloseFence => quote!(io.close_fence();),
        Action::OpenReasoning => quote!(io.open_reasoning();),
        Action::CloseReasoning => quote!(io.close_reasoning();),
        Action::Unparsed => quote!(io.unparsed();),
        Action::OtherToken => quote!(io.other_token();),
        Action::AfterEnd => quote!(io.after_end();),
        Action::MissingMarker(marker) => {
            let marker = &**marker;
            quote!(io.missing_marker(#marker);)
        }
        Action::OpenContent | Action::CloseContent => TokenStream::new(),
    }
}

pub(super) fn state_name(program: &Program, id: StateId) -> proc_macro2::Ident {
    format_ident!("{}", program.state(id).map_or("START", |state| &*state.name))
}
