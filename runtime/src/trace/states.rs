//! The states of a program, in words for people.

use serde::Serialize;

use crate::program::{Action, ArgumentKind, Hole, Label, Origin, Program, Transition};
use crate::program::{Confirm, InText};

/// One state of the machine that reads a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateView {
    /// Its name, unique within the machine.
    pub name: String,
    /// What text is taken for that is no marker; empty if only markers may come.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reads: &'static str,
    /// The markers that may come.
    pub markers: Vec<MarkerView>,
    /// The state in which reading continues when the value is complete, or when something else than a marker comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// What is done then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub otherwise_does: Vec<String>,
    /// Whether the turn may end here.
    pub may_end: bool,
    /// The generation prompts after which reading begins in this state, by their position in the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entered_by: Vec<usize>,
}

/// A marker and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkerView {
    /// Its key in the spec.
    pub key: &'static str,
    /// Its text.
    pub text: String,
    /// Whether no template writes it here: the parser only tolerates it.
    #[serde(skip_serializing_if = "is_false")]
    pub tolerated: bool,
    /// The rule that tolerates it; empty if it is not known, or if a template writes it.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub rule: &'static str,
    /// White space before it that belongs to it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// White space after it that belongs to it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// One of these texts must follow; empty if nothing must.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmed_by: Vec<String>,
    /// It is a marker only directly after another one, or at the start of the turn.
    #[serde(skip_serializing_if = "is_false")]
    pub at_the_start: bool,
    /// It is a marker only at the end of the text.
    #[serde(skip_serializing_if = "is_false")]
    pub at_the_end: bool,
    /// What is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub does: Vec<String>,
    /// The next state.
    pub next: String,
}

impl StateView {
    /// The markers, each with how many tolerated ones follow it that come from the same key and lead to the same.
    pub fn grouped(&self) -> impl Iterator<Item = (&MarkerView, usize)> {
        let groups = self.markers.chunk_by(|one, other| {
            let what = |marker: &MarkerView| (marker.key, marker.does.clone(), marker.next.clone(), marker.at_the_end);
            one.tolerated && other.tolerated && what(one) == what(other)
        });
        groups.filter_map(|group| group.first().map(|first| (first, group.len() - 1)))
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// The states of a program, the one in which a turn begins first.
pub fn states(program: &Program) -> Vec<StateView> {
    let name = |transition: &Transition| {
        program.state(transition.next).map_or_else(String::new, |state| state.name.to_string())
    };
    let view = |index: usize| {
        let state = &program.states[index];
        let markers = state.arrows().map(|(marker, transition)| MarkerView {
            key: transition.key,
            text: marker.core_for("NAME").into_owned(),
            tolerated: transition.origin == Origin::Recovery,
            rule: "",
            before: marker.before.to_string(),
            after: marker.after.to_string(),
            confirmed_by: match &marker.confirm {
                Confirm::Next(cores) => {
                    let names = marker.names.iter().map(|name| format!("{}NAME{}", name.before, name.after));
                    cores.iter().map(ToString::to_string).chain(names).collect()
                }
                Confirm::Nothing | Confirm::End(_) => Vec::new(),
            },
            at_the_start: marker.in_text == InText::Text,
            at_the_end: marker.confirm.is_end(),
            does: transition.actions.iter().filter_map(does).collect(),
            next: name(transition),
        });
        let entries = program.entries.iter().enumerate().filter(|(_, entry)| usize::from(entry.state.0) == index);
        StateView {
            name: state.name.to_string(),
            reads: state.hole.as_ref().map_or("", Hole::what),
            markers: markers.collect(),
            otherwise: state.otherwise.first().map(name),
            otherwise_does: state.otherwise.iter().flat_map(|step| step.actions.iter()).filter_map(does).collect(),
            may_end: state.end.is_some(),
            entered_by: entries.map(|(prompt, _)| prompt).collect(),
        }
    };
    let start = usize::from(program.start.0);
    let others = (0..program.states.len()).filter(|index| *index != start);
    std::iter::once(start).chain(others).map(view).collect()
}

/// What an action does, in words; empty if the parser does nothing.
fn does(action: &Action) -> Option<String> {
    Some(match action {
        Action::Speculate => "hold back".to_owned(),
        Action::HoldBack => "hold back what is no closer".to_owned(),
        Action::StartCall => "announce the call".to_owned(),
        Action::StartKnown => "announce the call unless other names were offered".to_owned(),
        Action::StartRecipient => "announce the call if its name was offered, else leave out the message".to_owned(),
        Action::StartOffered => "announce the call if its name was offered".to_owned(),
        Action::StartLabelled(label) => {
            let Label { prefix, separator } = &**label;
            format!("announce the call by its label: {prefix:?}, name, {separator:?}, index")
        }
        Action::StartSplit => "announce the call, if its name and that of an argument are one word".to_owned(),
        Action::Id => "take the id".to_owned(),
        Action::Argument(ArgumentKind::BySchema { .. }) => "begin an argument, typed by the schema".to_owned(),
        Action::Argument(ArgumentKind::Quotable { .. }) => {
            "begin an argument, typed by the schema, perhaps in quotes".to_owned()
        }
        Action::Argument(ArgumentKind::Text) => "begin an argument that is a string".to_owned(),
        Action::Argument(ArgumentKind::Other { .. }) => "begin an argument that is no string".to_owned(),
        Action::Argument(ArgumentKind::Literal | ArgumentKind::TightLiteral) => {
            "begin an argument that is a literal".to_owned()
        }
        Action::NestedArgument(_) => "begin an argument, typed by the schema, that may hold tags".to_owned(),
        Action::EndArgument | Action::EndNestedArgument(_) => "end the argument".to_owned(),
        Action::EndCall => "end the call".to_owned(),
        Action::EndCallIncomplete => "end the call, incomplete".to_owned(),
        Action::EndCalls => "end the calls".to_owned(),
        Action::OpenFence => "open a code fence if it begins a line".to_owned(),
        Action::CloseFence => "close the code fence".to_owned(),
        Action::OpenReasoning => "open reasoning".to_owned(),
        Action::CloseReasoning => "close reasoning".to_owned(),
        Action::Unparsed | Action::OtherToken | Action::AfterEnd => "take it for broken markup".to_owned(),
        Action::MissingMarker(text) => format!("report that {text:?} is missing"),
        Action::OpenContent | Action::CloseContent => return None,
    })
}
