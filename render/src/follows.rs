//! What a version of transformers does to a conversation before its template sees it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::error::{Fault, Outcome};

/// Whose render is followed: what happens before the template is rendered, and what is refused.
///
/// ```
/// use unjinja_render::{Follows, RenderOptions, Template};
///
/// let template = Template::parse("t.jinja", "{% for m in messages %}[{{ m.content }}]{% endfor %}")?;
/// let context = serde_json::json!({"messages": [{"role": "assistant", "content": null}]});
/// let render = |follows| template.render_with(&context, &RenderOptions::new().follow(follows)).result;
/// assert_eq!(render(Follows::Jinja2)?, "[None]");
/// assert_eq!(render(Follows::Transformers5_24)?, "[]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Follows {
    /// Jinja2 with the functions and filters of transformers, without its sandbox: the template gets the messages as they are, as with
    /// transformers up to 5.20. It may change values and use the filter `from_json`.
    #[default]
    Jinja2,
    /// `apply_chat_template` of transformers 5.24:
    /// - A key of a message whose value is null is removed.
    /// - The first of `reasoning_content`, `thinking` and `reasoning` that a message has becomes its `reasoning_content`, and its
    ///   `thinking` where it has none.
    /// - A namespace takes no attribute whose name begins with `_`.
    /// - Methods that change a list or a dict, and those of `dict` but `fromkeys`, are refused.
    /// - A template with the filter `from_json` is refused, but where it is only in a branch of an `if` that is not taken.
    /// - A template that fails at `tools` or `documents` being None fails here, too.
    Transformers5_24,
}

/// The names of a message's reasoning, in the order in which they count.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

impl Follows {
    /// The newest version of transformers.
    pub const NEWEST: Self = Self::Transformers5_24;

    /// Its name: `jinja2`, `transformers-5.24`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jinja2 => "jinja2",
            Self::Transformers5_24 => "transformers-5.24",
        }
    }

    /// The variables as the template gets them. The result does not change when this is done again.
    pub fn context(self, context: &Value) -> Cow<'_, Value> {
        let messages = context.get("messages").and_then(Value::as_array).filter(|_| self != Self::Jinja2);
        let Some(messages) = messages.filter(|messages| messages.iter().any(changes)) else {
            return Cow::Borrowed(context);
        };
        let mut context = context.clone();
        context["messages"] = messages.iter().map(handed).collect();
        Cow::Owned(context)
    }

    /// Refuses a conversation that transformers refuses.
    pub(crate) fn check(self, context: &Value) -> Outcome<()> {
        let Some(messages) = context.get("messages").filter(|_| self != Self::Jinja2) else { return Ok(()) };
        match messages.as_array().map(Vec::as_slice) {
            Some([]) => Err(Fault::new("the conversation is empty: `apply_chat_template` takes at least one message")),
            Some(list) if !list.iter().all(Value::is_object) => {
                Err(Fault::new("a message is no object: `apply_chat_template` takes objects only"))
            }
            _ => Ok(()),
        }
    }
}

fn reasoning(message: &Map<String, Value>) -> Option<&Value> {
    REASONING.iter().find_map(|name| message.get(*name).filter(|value| !value.is_null()))
}

fn changes(message: &Value) -> bool {
    message.as_object().is_some_and(|message| message.values().any(Value::is_null) || reasoning(message).is_some())
}

/// A message as the template gets it, with its keys in the order in which transformers has them.
fn handed(message: &Value) -> Value {
    let Some(object) = message.as_object() else { return message.clone() };
    let reasoning = reasoning(object);
    let mut handed = Map::new();
    if let Some(reasoning) = reasoning {
        handed.insert("thinking".to_owned(), reasoning.clone());
    }
    handed
        .extend(object.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())));
    if let Some(reasoning) = reasoning {
        handed.insert("reasoning_content".to_owned(), reasoning.clone());
    }
    handed.into()
}
