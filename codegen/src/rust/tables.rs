//! The tables of a module: each marker, each transition and each list of actions is written once, and states are rows of
//! numbers.

use std::collections::{BTreeMap, HashMap};

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::{format_ident, quote};
use unjinja_runtime::abi::{
    Action, Confirm, InText, Marker, NameKind, NameOf, Origin, Program, RepeatedName, State, StateId, Text, Transition,
    head,
};

use super::actions::{action_name, action_tokens, actions_of, state_name};

/// Things that are written once, each with its number.
#[derive(Default)]
struct Table {
    numbers: HashMap<String, u16>,
    entries: Vec<TokenStream>,
}

impl Table {
    fn number(&mut self, key: String, entry: impl FnOnce() -> TokenStream) -> u16 {
        let next = self.entries.len() as u16;
        *self.numbers.entry(key).or_insert_with(|| {
            self.entries.push(entry());
            next
        })
    }
}

/// Constants that lists are written as, each named by what it holds.
#[derive(Default)]
struct Constants {
    names: HashMap<String, Ident>,
    taken: HashMap<String, usize>,
    items: Vec<TokenStream>,
}

impl Constants {
    fn name(&mut self, name: &str, kind: &TokenStream, values: &TokenStream) -> Ident {
        let key = format!("{kind}{values}");
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let count = self.taken.entry(name.to_owned()).or_default();
        *count += 1;
        let ident = if *count == 1 { format_ident!("{name}") } else { format_ident!("{name}_{count}") };
        self.items.push(quote!(const #ident: &[#kind] = &[#values];));
        self.names.insert(key, ident.clone());
        ident
    }
}

#[derive(Default)]
pub(super) struct Tables {
    markers: Table,
    transitions: Table,
    constants: Constants,
    /// The numbers of the transitions that do the same in a step.
    arms: BTreeMap<usize, (Vec<usize>, TokenStream)>,
    known_arms: HashMap<String, usize>,
}

impl Tables {
    /// A state's part of the table of states.
    pub(super) fn state(&mut self, program: &Program, id: StateId, state: &State, hole: &TokenStream) -> TokenStream {
        let title = &*state.name;
        let mut tokens = quote!(State::new(#title, #hole));
        if state.exact {
            tokens.extend(quote!(.exact()));
        }
        if !state.transitions.is_empty() {
            let rows = state.arrows().map(|(marker, transition)| {
                let head = Literal::u16_unsuffixed(head(marker.core.as_bytes()));
                let marker = Literal::u16_unsuffixed(self.marker(marker));
                let transition = Literal::u16_unsuffixed(self.transition(program, id, transition, true));
                quote!([#marker, #transition, #head])
            });
            let rows: Vec<TokenStream> = rows.collect();
            tokens.extend(quote!(.rows(TABLES, &[#(#rows),*])));
        }
        if let Some(otherwise) = state.otherwise.first() {
            let number = Literal::u16_unsuffixed(self.transition(program, id, otherwise, false));
            tokens.extend(quote!(.otherwise(TABLES, &[[0, #number, 0]])));
        }
        if let Some(end) = &state.end {
            let end = self.actions(end);
            tokens.extend(quote!(.end(#end)));
        }
        tokens
    }

    /// The tables as items of the module.
    pub(super) fn items(&self) -> TokenStream {
        let (markers, transitions) = (&self.markers.entries, &self.transitions.entries);
        let [marker_count, transition_count] =
            [markers, transitions].map(|table| Literal::usize_unsuffixed(table.len()));
        let constants = &self.constants.items;
        quote! {
            #(#constants)*

            /// Each marker of the format.
            static MARKERS: [Marker; #marker_count] = [#(#markers),*];

            /// What a marker does, and where it leads.
            static TRANSITIONS: [Transition; #transition_count] = [#(#transitions),*];

            const TABLES: Tables = Tables { markers: &MARKERS, transitions: &TRANSITIONS };
        }
    }

    /// What a step does for the transition with a `number`. Transitions that do the same share an arm.
    pub(super) fn actions_of_step(&self) -> TokenStream {
        let does = |(_, body): &&(Vec<usize>, TokenStream)| !body.clone().into_iter().all(|token| is_empty(&token));
        let arms = self.arms.values().filter(does).map(|(numbers, body)| {
            let numbers = pattern(numbers);
            quote!(#numbers => #body)
        });
        let arms: Vec<TokenStream> = arms.collect();
        if arms.is_empty() { TokenStream::new() } else { quote!(match number { #(#arms)* _ => {} }) }
    }

    fn marker(&mut self, marker: &Marker) -> u16 {
        let tokens = self.marker_tokens(marker);
        self.markers.number(tokens.to_string(), || tokens)
    }

    /// The number of a transition from this state. What a transition does may depend on the state.
    fn transition(&mut self, program: &Program, from: StateId, transition: &Transition, at_marker: bool) -> u16 {
        let (key, next) = (transition.key, state_name(program, transition.next));
        let actions = self.actions(&transition.actions);
        let recovery = (transition.origin == Origin::Recovery).then(|| quote!(.recovery()));
        let data = quote!(Transition::new(#key, #actions, #next)#recovery);
        let ends = at_marker || transition.does(&Action::HoldBack);
        let steps = transition.actions.iter().map(|action| match action {
            Action::EndCallIncomplete => action_tokens(program, from, action, ends),
            action => action_tokens(program, from, action, at_marker),
        });
        let steps: Vec<TokenStream> = steps.collect();
        let body = block(steps.into_iter().filter(|step| !step.is_empty()).collect());
        let code = body.to_string();
        let number = self.transitions.number(format!("{data}{code}"), || data);
        let arm = *self.known_arms.entry(code).or_insert(usize::from(number));
        let (numbers, _) = self.arms.entry(arm).or_insert_with(|| (Vec::new(), body));
        if !numbers.contains(&usize::from(number)) {
            numbers.push(usize::from(number));
        }
        number
    }

    fn actions(&mut self, actions: &[Action]) -> TokenStream {
        if actions.is_empty() {
            return quote!(&[]);
        }
        let name = actions.iter().map(action_name).collect::<Vec<_>>().join("_AND_");
        let name = self.constants.name(&format!("DO_{name}"), &quote!(Action), &actions_of(actions));
        quote!(#name)
    }

    fn texts(&mut self, name: &str, texts: &[Text]) -> TokenStream {
        if texts.is_empty() {
            return quote!(&[]);
        }
        let texts = texts.iter().map(|text| &**text);
        let name = self.constants.name(name, &quote!(Text), &quote!(#(text(#texts)),*));
        quote!(#name)
    }

    fn marker_tokens(&mut self, marker: &Marker) -> TokenStream {
        let (core, before, after) = (&*marker.core, &*marker.before, &*marker.after);
        let mut tokens = quote!(Marker::new(#core));
        if !before.is_empty() || !after.is_empty() {
            tokens.extend(quote!(.layout(#before, #after)));
        }
        match &marker.confirm {
            Confirm::Nothing => {}
            Confirm::Next(cores) => {
                let cores = self.texts("NEXT", cores);
                tokens.extend(quote!(.followed_by(#cores)));
            }
            Confirm::End(cores) => {
                let cores = self.texts("ENDS", cores);
                tokens.extend(quote!(.at_end(#cores)));
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
            let names = self.constants.name("NAMES", &quote!(NextName), &quote!(#(#names),*));
            tokens.extend(quote!(.or_named(#names)));
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
}

/// Statements as the body of an arm. One call needs no braces.
fn block(statements: Vec<TokenStream>) -> TokenStream {
    if let [statement] = statements.as_slice() {
        let mut tokens: Vec<TokenTree> = statement.clone().into_iter().collect();
        if matches!(tokens.pop(), Some(TokenTree::Punct(end)) if end.as_char() == ';') {
            let call: TokenStream = tokens.into_iter().collect();
            return quote!(#call,);
        }
    }
    quote!({ #(#statements)* })
}

fn is_empty(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.stream().is_empty())
}

/// A match pattern for these numbers, which are sorted.
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
