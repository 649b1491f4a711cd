//! What a template needs of a conversation. Templates differ in how they take arguments, empty contents and reasoning, and
//! some check ids.

use serde_json::{Value, json};
use unjinja_spec::{CallIdPosition, FormatSpec, ToolFormat};

use crate::ids::{CallIdShape, ModelIds};

/// What a template needs of a conversation.
///
/// ```
/// use unjinja_server::{CallIdShape, TemplateNeeds};
/// use unjinja_spec::FormatSpec;
///
/// let mut spec = FormatSpec::default();
/// assert_eq!(TemplateNeeds::of(&spec).ids, CallIdShape::Free);
/// spec.tools.id_field = "id".into(); // the id is part of a call
/// assert_eq!(TemplateNeeds::of(&spec).ids, CallIdShape::Nine);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TemplateNeeds {
    /// The shape of call ids.
    pub ids: CallIdShape,
    /// When the model writes them.
    pub model_ids: ModelIds,
    /// How the arguments of calls are handed over.
    pub arguments: ArgumentsForm,
    /// How text is handed over.
    pub content: ContentForm,
    /// A message that only calls tools has an empty text as its content, and not null.
    pub empty_text: bool,
    /// The template renders no system message. Instructions are put before the first message of the user.
    pub no_system_role: bool,
    /// The field in which a message carries its reasoning. `content.thinking` stands for a part of the content.
    pub reasoning_field: String,
    /// The variable that switches thinking on and off; empty if there is none.
    pub thinking_switch: String,
}

/// How the arguments of calls are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArgumentsForm {
    /// As an object.
    #[default]
    Object,
    /// As JSON text.
    Text,
}

/// How text is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentForm {
    /// As a text.
    #[default]
    Text,
    /// As a list of typed parts.
    Parts,
}

impl TemplateNeeds {
    /// What a spec says. A spec does not say whether a template checks ids; where a call shows its id, nine letters and digits
    /// are taken, which templates that check ids accept. See [`tried`](Self::tried).
    pub fn of(spec: &FormatSpec) -> Self {
        let (tools, capabilities) = (&spec.tools, &spec.capabilities);
        let field = if tools.id_field.is_empty() { &tools.gen_id_field } else { &tools.id_field };
        let member = |key: &String| tools.parameter_order.iter().position(|one| one == key);
        let ids = match tools.call_id.position {
            CallIdPosition::InName => CallIdShape::Named {
                prefix: tools.call_id.prefix.trim_start().to_owned(),
                suffix: tools.call_id.suffix.trim_end().to_owned(),
            },
            CallIdPosition::None if field.is_empty() => CallIdShape::Free,
            CallIdPosition::None if tools.id_field.is_empty() => CallIdShape::Counted,
            _ => CallIdShape::Nine,
        };
        let model_ids = match tools.call_id.position {
            CallIdPosition::PostArgs => ModelIds::AfterArguments,
            CallIdPosition::BetweenFuncAndArgs => ModelIds::BeforeArguments,
            CallIdPosition::None if !field.is_empty() => {
                match (member(field), member(&tools.args_field).or(member(&tools.function_field))) {
                    (Some(id), Some(arguments)) if id > arguments => ModelIds::AfterArguments,
                    _ => ModelIds::BeforeArguments,
                }
            }
            _ => ModelIds::WithName,
        };
        let renders_calls = tools.format != ToolFormat::None;
        Self {
            ids,
            model_ids,
            arguments: match renders_calls && capabilities.string_arguments && !capabilities.object_arguments {
                true => ArgumentsForm::Text,
                false => ArgumentsForm::Object,
            },
            content: ContentForm::Text,
            empty_text: capabilities.requires_nonnull_content,
            no_system_role: !capabilities.system_role,
            reasoning_field: spec.reasoning.field.clone(),
            thinking_switch: spec.reasoning.switch.clone(),
        }
    }

    /// The same, corrected by rendering small conversations: `render` gets the context of a template and returns the text, or
    /// nothing if the template refuses it. If a conversation with a call fails, other ids are tried; if a text does not
    /// appear, it is handed over as typed parts. What no variant mends stays as the spec says.
    ///
    /// ```
    /// use unjinja_render::Template;
    /// use unjinja_server::{CallIdShape, TemplateNeeds};
    /// use unjinja_spec::FormatSpec;
    ///
    /// let source = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}\
    ///     {% if c.id | length != 9 %}{{ raise_exception('nine, please') }}{% endif %}{% endfor %}{% endfor %}";
    /// let template = Template::parse("strict.jinja", source)?;
    /// let needs = TemplateNeeds::tried(&FormatSpec::default(), |context| template.render(context).ok());
    /// assert_eq!(needs.ids, CallIdShape::Nine);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tried(spec: &FormatSpec, mut render: impl FnMut(&Value) -> Option<String>) -> Self {
        let mut needs = Self::of(spec);
        let shows = |render: &mut dyn FnMut(&Value) -> Option<String>, content: ContentForm| {
            let context = json!({"messages": [{"role": "user", "content": content.value(WORD)}]});
            render(&context).is_some_and(|text| text.contains(WORD))
        };
        if !shows(&mut render, ContentForm::Text) && shows(&mut render, ContentForm::Parts) {
            needs.content = ContentForm::Parts;
        }
        let functions = CallIdShape::Named { prefix: "functions.".to_owned(), suffix: ":".to_owned() };
        let shapes = [needs.ids.clone(), CallIdShape::Nine, functions];
        let fits = shapes.into_iter().find(|shape| render(&needs.conversation(shape)).is_some());
        needs.ids = fits.unwrap_or(needs.ids);
        needs
    }

    /// A conversation with a call and its result.
    fn conversation(&self, shape: &CallIdShape) -> Value {
        let id = crate::ids::CallIds::new(shape.clone()).next("look", None);
        let arguments = match self.arguments {
            ArgumentsForm::Object => json!({"a": "b"}),
            ArgumentsForm::Text => json!("{\"a\": \"b\"}"),
        };
        let function = json!({"name": "look", "arguments": arguments});
        let tool = json!({"name": "look", "description": "Looks.", "parameters": {
            "type": "object", "properties": {"a": {"type": "string", "description": "A."}}}});
        json!({
            "messages": [
                {"role": "user", "content": self.content.value(WORD)},
                {"role": "assistant", "content": self.content.value(""), "tool_calls": [
                    {"type": "function", "id": id, "function": function}]},
                {"role": "tool", "content": self.content.value(WORD), "tool_call_id": id, "name": "look"},
            ],
            "tools": [{"type": "function", "function": tool}],
        })
    }
}

impl ContentForm {
    /// A text in this form.
    pub(crate) fn value(self, text: &str) -> Value {
        match self {
            ContentForm::Text => text.into(),
            ContentForm::Parts => json!([{"type": "text", "text": text}]),
        }
    }
}

/// A text that no template writes by itself.
const WORD: &str = "Qwxzt";
