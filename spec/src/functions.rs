//! How a template takes the functions that a request offers, if not as `tools`. Nothing here renders.

use serde::{Deserialize, Serialize};

/// The form of the variable `functions`, which some templates read instead of `tools`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FunctionsForm {
    /// Not set: what nearly every template expects.
    #[default]
    Unset,
    /// A list of the functions, each an object with `name`, `description` and `parameters`.
    List,
    /// The same list as JSON text.
    Text,
}

/// What a template needs of the variable `functions`.
///
/// ```
/// use unjinja_spec::{Functions, FunctionsForm};
///
/// // A template that prints the names in a list of functions, and fails at a text.
/// let functions = Functions::find("rain", |form, offered| match form {
///     FunctionsForm::Unset => Some(String::new()),
///     FunctionsForm::List => Some(if offered { "You may call rain.".to_owned() } else { String::new() }),
///     FunctionsForm::Text => None,
/// });
/// assert_eq!(functions, Functions { form: FunctionsForm::List, always: false });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Functions {
    /// How functions are handed over.
    pub form: FunctionsForm,
    /// Whether the variable is set, to an empty list, although no functions are offered: the template fails without it.
    pub always: bool,
}

impl Functions {
    /// Whether the template needs no such variable.
    pub fn is_unset(&self) -> bool {
        self.form == FunctionsForm::Unset
    }

    /// Finds out what a template needs. `render` renders a conversation with `functions` in this form, and with or without an
    /// offered tool called `name`; it returns nothing if the template fails.
    ///
    /// A template that shows the tool without the variable needs none.
    pub fn find(name: &str, mut render: impl FnMut(FunctionsForm, bool) -> Option<String>) -> Self {
        use FunctionsForm::{List, Text, Unset};
        let shows = |text: &String| text.contains(name);
        let plain = render(Unset, false);
        let offered = render(Unset, true);
        if plain.is_some() && offered.as_ref().is_some_and(shows) {
            return Self::default();
        }
        // A template that prints a list as Python writes it expects a text.
        let list = render(List, true).filter(shows);
        let mut form = match &list {
            Some(list) if !list.contains("[{'") => List,
            _ if render(Text, true).is_some_and(|text| shows(&text)) => Text,
            Some(_) => List,
            None => Unset,
        };
        let fails = plain.is_none() || offered.is_none();
        if form == Unset && fails {
            form = [List, Text].into_iter().find(|form| render(*form, true).is_some()).unwrap_or_default();
        }
        let always = plain.is_none() && form != Unset && render(form, false).is_some();
        Self { form, always }
    }
}
