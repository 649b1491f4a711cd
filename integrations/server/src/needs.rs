//! What a template needs of a conversation. Templates differ in how they take arguments, empty contents and reasoning, and
//! some check ids.

use serde_json::{Value, json};
use unjinja_spec::{CallIdPosition, FormatSpec, Functions, FunctionsForm, ToolFormat};

use crate::ids::{CallIdShape, CallIds, ModelIds};

/// What a template needs of a conversation.
///
/// ```
/// use unjinja_server::{CallIdShape, TemplateNeeds};
/// use unjinja_spec::FormatSpec;
///
/// let spec = FormatSpec::from_toml(r#"
/// spec_version = 3
///
/// [template]
/// name = "sample"
/// file = "sample.jinja"
/// sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
///
/// [tools]
/// format = "json_native"
/// per_call_start = "<tool_call>"
/// per_call_end = "</tool_call>"
/// name_field = "name"
/// args_field = "arguments"
/// id_field = "id"
/// "#, "sample.toml")?;
/// assert_eq!(TemplateNeeds::of(&spec).ids, CallIdShape::Nine);
/// # Ok::<(), unjinja_spec::SpecError>(())
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
    /// The content of a message that only calls tools.
    pub empty: EmptyContent,
    /// The template renders no system message. Instructions are put before the first message of the user.
    pub no_system_role: bool,
    /// The field in which a message carries its reasoning. `content.thinking` stands for a part of the content.
    pub reasoning_field: String,
    /// The variable that switches thinking on and off; empty if there is none.
    pub thinking_switch: String,
    /// What the template takes in the variable `functions`, instead of `tools`. A spec does not say it; see
    /// [`tried`](Self::tried).
    pub functions: Functions,
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

/// The content of a message that only calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyContent {
    /// An empty text. Nearly all templates take it, and some fail at null.
    #[default]
    Text,
    /// Null.
    Null,
    /// No such field.
    Absent,
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
            empty: EmptyContent::Text,
            no_system_role: !capabilities.system_role,
            reasoning_field: spec.reasoning.field.clone(),
            thinking_switch: spec.reasoning.switch.clone(),
            functions: Functions::default(),
        }
    }

    /// The same, corrected by rendering small conversations: `render` gets the context of a template and returns the text, or
    /// nothing if the template refuses it. If a conversation with a call fails, other ids and other contents of the call's message
    /// are tried; if a text does not appear, it is handed over as typed parts; if an offered tool does not appear, it is also
    /// handed over as `functions`. What no variant mends stays as the spec says.
    ///
    /// ```
    /// use unjinja_render::Template;
    /// use unjinja_server::{CallIdShape, TemplateNeeds};
    ///
    /// let source = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}\
    ///     {% if c.id | length != 9 %}{{ raise_exception('nine, please') }}{% endif %}{% endfor %}{% endfor %}";
    /// let template = Template::parse("strict.jinja", source)?;
    /// let needs = TemplateNeeds::default().tried(|context| template.render(context).ok());
    /// assert_eq!(needs.ids, CallIdShape::Nine);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tried(self, mut render: impl FnMut(&Value) -> Option<String>) -> Self {
        let mut needs = self;
        let shows = |render: &mut dyn FnMut(&Value) -> Option<String>, content: ContentForm| {
            let context = json!({"messages": [{"role": "user", "content": content.value(WORD)}]});
            render(&context).is_some_and(|text| text.contains(WORD))
        };
        if !shows(&mut render, ContentForm::Text) && shows(&mut render, ContentForm::Parts) {
            needs.content = ContentForm::Parts;
        }
        needs.functions = Functions::find(WORD, |form, offered| render(&needs.offer(form, offered)));
        let named = CallIdShape::Named { prefix: "functions.".to_owned(), suffix: ":".to_owned() };
        let shapes = [needs.ids.clone(), CallIdShape::Nine, named];
        let variants = [EmptyContent::Text, EmptyContent::Null, EmptyContent::Absent]
            .into_iter()
            .flat_map(|empty| shapes.iter().map(move |ids| (empty, ids.clone())));
        for (empty, ids) in variants {
            let variant = Self { empty, ids, ..needs.clone() };
            if render(&variant.conversation()).is_some() {
                return variant;
            }
        }
        needs
    }

    /// A question with `functions` in this form, and with or without an offered tool.
    fn offer(&self, form: FunctionsForm, offered: bool) -> Value {
        let mut context = json!({
            "messages": [{"role": "user", "content": self.content.value("Look!")}],
            "add_generation_prompt": true,
            // A few templates need it, and requests give it.
            "datetime": "2026-01-15",
        });
        let tool = json!({"type": "function", "function": {
            "name": WORD, "description": "Looks.", "parameters": {"type": "object", "properties": {}}}});
        let tools = if offered { vec![tool] } else { Vec::new() };
        if let Some(functions) = functions_of(Functions { form, always: true }, &tools) {
            context["functions"] = functions;
        }
        if offered {
            context["tools"] = tools.into();
        }
        context
    }

    /// A conversation with a call and its result.
    fn conversation(&self) -> Value {
        let id = CallIds::new(self.ids.clone()).next("look", None);
        let arguments = match self.arguments {
            ArgumentsForm::Object => json!({"a": "b"}),
            ArgumentsForm::Text => json!("{\"a\": \"b\"}"),
        };
        let function = json!({"name": "look", "arguments": arguments});
        let tool = json!({"name": "look", "description": "Looks.", "parameters": {
            "type": "object", "properties": {"a": {"type": "string", "description": "A."}}}});
        let mut turn =
            json!({"role": "assistant", "tool_calls": [{"type": "function", "id": id, "function": function}]});
        if let Some(empty) = self.empty_content() {
            turn["content"] = empty;
        }
        let tools = [json!({"type": "function", "function": tool})];
        let mut context = json!({
            "messages": [
                {"role": "user", "content": self.content.value(WORD)},
                turn,
                {"role": "tool", "content": self.content.value(WORD), "tool_call_id": id, "name": "look"},
            ],
            "tools": tools,
            "add_generation_prompt": true,
        });
        if let Some(functions) = functions_of(self.functions, &tools) {
            context["functions"] = functions;
        }
        context
    }

    /// Small conversations, such as requests send: most templates render them all.
    #[cfg(feature = "http")]
    pub(crate) fn conversations(&self) -> Vec<Value> {
        let said = |role: &str| json!({"role": role, "content": self.content.value(WORD)});
        let roles: [&[&str]; 3] = [&["user"], &["user", "assistant", "user"], &["system", "user"]];
        let mut all: Vec<Value> = Vec::new();
        for roles in roles {
            let messages: Value = roles.iter().map(|role| said(role)).collect();
            let mut context = json!({"messages": messages, "add_generation_prompt": true});
            if let Some(functions) = functions_of(self.functions, &[]) {
                context["functions"] = functions;
            }
            all.push(context);
        }
        all.push(self.conversation());
        all
    }

    /// The content of a message that only calls tools; nothing where the field is to be absent.
    pub(crate) fn empty_content(&self) -> Option<Value> {
        match self.empty {
            EmptyContent::Text => Some(self.content.value("")),
            EmptyContent::Null => Some(Value::Null),
            EmptyContent::Absent => None,
        }
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

/// The variable `functions` for these tools; nothing if the template needs none.
pub(crate) fn functions_of(needs: Functions, tools: &[Value]) -> Option<Value> {
    if tools.is_empty() && !needs.always {
        return None;
    }
    let list: Value = tools.iter().map(|tool| tool["function"].clone()).collect();
    match needs.form {
        FunctionsForm::Unset => None,
        FunctionsForm::List => Some(list),
        FunctionsForm::Text => Some(list.to_string().into()),
    }
}

/// A text that no template writes by itself.
const WORD: &str = "Qwxzt";
