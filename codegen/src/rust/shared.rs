//! Constants for what several states of a module have in common: each marker and each transition is written once. This makes
//! committed modules shorter, and a change of a format a smaller diff.

use std::collections::{BTreeSet, HashMap};

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use unjinja_runtime::abi::{
    Confirm, InText, Marker, NameKind, NameOf, Origin, Program, RepeatedName, State, Transition,
};

use super::actions::{actions_tokens, state_name};

/// Shorter code is not worth a name.
const SHORT: usize = 60;

/// What occurs in several places of a module, and the constants for it.
pub(super) struct Shared {
    names: HashMap<String, Ident>,
    pub(super) constants: Vec<TokenStream>,
}

impl Shared {
    /// What these states have in common.
    pub(super) fn of(program: &Program, states: &[(usize, &State)]) -> Self {
        let states = || states.iter().map(|(_, state)| *state);
        let markers = states().flat_map(|state| state.markers.list());
        let markers = markers.map(|one| (name_of(one), quote!(Marker), marker(one)));
        let transitions = states().flat_map(State::all_transitions).map(|one| {
            let name = format!("TO_{}", program.state(one.next).map_or("", |state| &*state.name));
            (name, quote!(Transition), transition_tokens(program, one))
        });
        let all: Vec<(String, TokenStream, String, TokenStream)> =
            markers.chain(transitions).map(|(name, kind, code)| (name, kind, code.to_string(), code)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (.., text, _) in &all {
            *counts.entry(text).or_default() += 1;
        }
        let (mut shared, mut taken) = (Self { names: HashMap::new(), constants: Vec::new() }, BTreeSet::new());
        for (name, kind, text, code) in &all {
            if counts[text.as_str()] < 2 || text.len() < SHORT || shared.names.contains_key(text) {
                continue;
            }
            // Names of states end with numbers, so that letters tell these apart.
            let mut letters = std::iter::once(String::new()).chain(('B'..='Z').map(|letter| format!("_{letter}")));
            let Some(name) = letters.find_map(|letter| {
                let name = format!("{name}{letter}");
                taken.insert(name.clone()).then_some(name)
            }) else {
                continue;
            };
            let name = format_ident!("{name}");
            shared.constants.push(quote!(const #name: #kind = #code;));
            shared.names.insert(text.clone(), name);
        }
        shared
    }

    /// A marker: the name of its constant, or its code.
    pub(super) fn marker(&self, one: &Marker) -> TokenStream {
        self.written(marker(one))
    }

    /// A transition, likewise.
    pub(super) fn transition(&self, program: &Program, one: &Transition) -> TokenStream {
        self.written(transition_tokens(program, one))
    }

    fn written(&self, code: TokenStream) -> TokenStream {
        self.names.get(&code.to_string()).map_or(code, |name| quote!(#name))
    }
}

/// A name for a marker, from its core.
fn name_of(marker: &Marker) -> String {
    let letters =
        marker.core.chars().map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' });
    let words: String = letters.collect();
    let words: Vec<&str> = words.split('_').filter(|word| !word.is_empty()).collect();
    format!("MARKER_{}", words.join("_")).trim_end_matches('_').to_owned()
}

fn transition_tokens(program: &Program, transition: &Transition) -> TokenStream {
    let (key, next) = (transition.key, state_name(program, transition.next));
    let actions = actions_tokens(&transition.actions);
    let recovery = (transition.origin == Origin::Recovery).then(|| quote!(.recovery()));
    quote!(Transition::new(#key, #actions, #next) #recovery)
}

fn marker(marker: &Marker) -> TokenStream {
    let (core, before, after) = (&*marker.core, &*marker.before, &*marker.after);
    let mut tokens = quote!(Marker::new(#core));
    if !before.is_empty() || !after.is_empty() {
        tokens.extend(quote!(.layout(#before, #after)));
    }
    match &marker.confirm {
        Confirm::Nothing => {}
        Confirm::Next(cores) => {
            let cores = cores.iter().map(|core| &**core);
            tokens.extend(quote!(.followed_by(const { &[#(text(#cores)),*] })));
        }
        Confirm::End(cores) => {
            let cores = cores.iter().map(|core| &**core);
            tokens.extend(quote!(.at_end(const { &[#(text(#cores)),*] })));
        }
    }
    if !marker.names.is_empty() {
        let names = marker.names.iter().map(|name| {
            let (before, after) = (&*name.before, &*name.after);
            let kind = match name.kind {
                NameKind::Argument => quote!(NameKind::Argument),
                NameKind::Function => quote!(NameKind::Function),
            };
            quote!(NextName::new(#kind, #before, #after))
        });
        tokens.extend(quote!(.or_named(const { &[#(#names),*] })));
    }
    if let Some(RepeatedName { of, at }) = marker.repeats {
        let at = Literal::usize_unsuffixed(at);
        tokens.extend(match of {
            NameOf::Argument => quote!(.with_name_at(#at)),
            NameOf::Function => quote!(.with_function_at(#at)),
        });
    }
    if marker.line {
        tokens.extend(quote!(.on_line()));
    }
    match marker.in_text {
        InText::Marker => {}
        InText::Text => tokens.extend(quote!(.leading())),
        InText::Unmentioned => tokens.extend(quote!(.unmentioned())),
    }
    if !marker.take {
        tokens.extend(quote!(.peek()));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_called_by_its_letters() {
        for (core, name) in [("<|im_end|>", "MARKER_IM_END"), ("</tool_call>", "MARKER_TOOL_CALL"), ("```", "MARKER")] {
            assert_eq!(name_of(&Marker::new(core)), name, "{core}");
        }
    }
}
