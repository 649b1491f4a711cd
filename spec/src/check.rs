//! Checks the meaning of a spec whose keys and types are right: the markers that its formats need are there, and no two
//! keys contradict each other. It reports everything that it finds and stops at nothing.

use crate::marker::MarkerText;
use crate::model::{CallIdPosition, ContentMode, FormatSpec, Header, ReasoningMode, StartsIn, ToolFormat, Tools};
use crate::status::Status;
use crate::tag::REPEATED_NAME;
use crate::text;

/// Something that a spec lacks or contradicts.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The key at fault.
    pub(crate) key: String,
    /// Keys whose place is shown if the key itself is absent.
    pub(crate) near: Vec<&'static str>,
    /// What is wrong.
    pub(crate) cause: String,
    /// What to do about it.
    pub(crate) next_step: String,
}

/// Keywords of Rust, which cannot name a module.
const KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self \
    static struct super trait true try type typeof unsafe unsized use virtual where while yield";

/// Everything that is wrong with a spec whose keys and types are right.
pub(crate) fn check(spec: &FormatSpec) -> Vec<Finding> {
    let mut found = Findings::default();
    found.template(spec);
    found.models(spec);
    found.evidence(spec);
    found.gaps(spec);
    // A spec that makes no parser may lack any marker.
    if spec.status.makes_parser() {
        found.reasoning(spec);
        found.content(spec);
        found.generation_prompt(spec);
        found.tools(&spec.tools);
        found.repeated_name(spec);
        found.call_id(&spec.tools);
        found.alternatives(spec);
    }
    found.0
}

/// Whether a marker holds more than white space.
fn has_core(marker: &str) -> bool {
    !marker.trim().is_empty()
}

/// What stands for any size in the id of a family of models.
const FAMILY_SIZE: &str = "{size}";

/// Whether a character cannot be part of a model's id on the Hugging Face Hub.
fn is_outside_id(c: char) -> bool {
    !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')
}

/// The TOML spelling of an enum's value, for messages.
fn value_of<T: serde::Serialize>(value: &T) -> String {
    match toml::Value::try_from(value) {
        Ok(toml::Value::String(name)) => format!("`{name}`"),
        _ => "set".to_owned(),
    }
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, key: &str, near: &[&'static str], cause: String, next_step: &str) {
        self.0.push(Finding { key: key.to_owned(), near: near.to_vec(), cause, next_step: next_step.to_owned() });
    }

    /// A marker that must have a core, because of what `near` says.
    fn need_core(&mut self, key: &str, marker: &str, near: &'static str, why: &str) {
        if has_core(marker) {
            return;
        }
        let cause = if marker.is_empty() {
            format!("marker `{key}` is missing: {why}")
        } else {
            format!("marker `{key}` is nothing but white space: {why}")
        };
        let next = format!("write the marker as `{key}`, or change `{near}`");
        self.add(key, &[near], cause, &next);
    }

    /// A key that nothing reads, because of what `near` says.
    fn idle(&mut self, key: &str, set: bool, near: &'static str, value: &str) {
        if set {
            let cause = format!("`{key}` is set, but `{near}` is {value}, so nothing reads it");
            let next = format!("remove `{key}`, or change `{near}`");
            self.add(key, &[near], cause, &next);
        }
    }

    /// A spec that is not supported says what is missing; a supported one lacks nothing.
    fn gaps(&mut self, spec: &FormatSpec) {
        let status = spec.status.name();
        match (spec.status, spec.gaps.is_empty()) {
            (Status::Supported, false) => {
                let cause = "`gaps` names something that is missing, but `status` is `supported`".to_owned();
                self.add("gaps", &["status"], cause, "remove `gaps`, or write `status = \"partial\"`");
            }
            (Status::Partial | Status::Unsupported, true) => {
                let cause = format!("`status` is `{status}`, but `gaps` does not say what is missing");
                self.add("gaps", &["status"], cause, "add `gaps = [\"…\"]` with a sentence for each gap");
            }
            _ => {}
        }
        for (index, _) in spec.gaps.iter().enumerate().filter(|(_, gap)| gap.trim().is_empty()) {
            let key = format!("gaps[{index}]");
            let cause = format!("`{key}` is empty");
            self.add(&key, &["gaps"], cause, "write a sentence that says what is missing, or remove the item");
        }
    }

    fn template(&mut self, spec: &FormatSpec) {
        let template = &spec.template;
        let name = &template.name;
        let shaped = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !shaped {
            let cause = format!("`template.name` {} cannot name a module", text::quote(name));
            let next = "use lower-case letters, digits and `_`, beginning with a letter";
            self.add("template.name", &[], cause, next);
        } else if KEYWORDS.split(' ').any(|word| word == name) {
            let cause = format!("`template.name` {} is a keyword of Rust", text::quote(name));
            self.add("template.name", &[], cause, &format!("use another name, such as `{name}_model`"));
        }
        let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if template.sha256.len() != 64 || !template.sha256.bytes().all(hexadecimal) {
            let cause = "`template.sha256` is not 64 lower-case hexadecimal digits".to_owned();
            let next = "write the SHA-256 of the template's text, as `sha256sum` prints it";
            self.add("template.sha256", &[], cause, next);
        }
        let files = std::iter::once(("template.file".to_owned(), &template.file));
        let also = template.also.iter().enumerate();
        let also = also.map(|(index, file)| (format!("template.also[{index}]"), file));
        for (key, file) in files.chain(also) {
            if file.contains(['/', '\\']) {
                let cause = format!("`{key}` {} names a folder", text::quote(file));
                self.add(&key, &[], cause, "write the file name alone: specs read the same on every machine");
            }
        }
    }

    fn models(&mut self, spec: &FormatSpec) {
        let models = &spec.template.models;
        for (index, model) in models.iter().enumerate() {
            let key = format!("template.models[{index}]");
            let id = model.replacen(FAMILY_SIZE, "1B", 1);
            let parts: Vec<&str> = id.split('/').collect();
            let is_id = parts.len() == 2 && parts.iter().all(|part| !part.is_empty() && !part.contains(is_outside_id));
            if !is_id {
                let cause = format!("`{key}` {} is not the id of a model", text::quote(model));
                self.add(
                    &key,
                    &[],
                    cause,
                    "write `owner/name`, as the Hugging Face Hub does; `{size}` may stand for a size",
                );
            } else if models[..index].contains(model) {
                let cause = format!("`{key}` {} is in the list twice", text::quote(model));
                self.add(&key, &[], cause, "remove one of the two");
            }
        }
    }

    fn evidence(&mut self, spec: &FormatSpec) {
        let trips = spec.evidence.round_trips;
        if trips.held > trips.tried {
            let cause = format!("{} round trips held of {} tried", trips.held, trips.tried);
            let next = "run `unjinja analyze` again; evidence is not written by hand";
            self.add("evidence.round_trips.held", &["evidence.round_trips"], cause, next);
        }
    }

    fn reasoning(&mut self, spec: &FormatSpec) {
        let reasoning = &spec.reasoning;
        let mode = value_of(&reasoning.mode);
        match reasoning.mode {
            ReasoningMode::None => {
                let markers = [("reasoning.start", &reasoning.start), ("reasoning.end", &reasoning.end)];
                for (key, marker) in markers {
                    self.idle(key, !marker.is_empty(), "reasoning.mode", &mode);
                }
            }
            ReasoningMode::TagBased | ReasoningMode::ToolsOnly => {
                // Only the marker of the answer, or a call, may end it.
                let next_ends = has_core(&reasoning.start) && has_core(&spec.content.start);
                if !next_ends || has_core(&reasoning.end) {
                    let why = format!("with `reasoning.mode` {mode} something must end the reasoning");
                    self.need_core("reasoning.end", &reasoning.end, "reasoning.mode", &why);
                }
                if !reasoning.start.is_empty() {
                    let why = "reasoning could begin anywhere";
                    self.need_core("reasoning.start", &reasoning.start, "reasoning.mode", why);
                }
            }
        }
    }

    fn content(&mut self, spec: &FormatSpec) {
        let content = &spec.content;
        let mode = value_of(&content.mode);
        match content.mode {
            ContentMode::Plain => {
                for (key, marker) in [("content.start", &content.start), ("content.end", &content.end)] {
                    self.idle(key, !marker.is_empty(), "content.mode", &mode);
                }
            }
            ContentMode::AlwaysWrapped | ContentMode::WrappedWithReasoning | ContentMode::WrappedWithCalls => {
                let why = format!("with `content.mode` {mode} something must open the answer");
                self.need_core("content.start", &content.start, "content.mode", &why);
            }
        }
        if content.mode == ContentMode::WrappedWithReasoning && spec.reasoning.mode == ReasoningMode::None {
            let cause = format!("`content.mode` is {mode}, but there is no reasoning");
            let next = "change `content.mode`, or say in `[reasoning]` how reasoning is written";
            self.add("content.mode", &["reasoning.mode"], cause, next);
        }
        if content.mode == ContentMode::WrappedWithCalls && spec.tools.format == ToolFormat::None {
            let cause = format!("`content.mode` is {mode}, but there are no calls");
            let next = "change `content.mode`, or say in `[tools]` how calls are written";
            self.add("content.mode", &["tools.format"], cause, next);
        }
        self.header(spec);
    }

    /// A header that has a channel or a recipient needs an end.
    fn header(&mut self, spec: &FormatSpec) {
        let header = &spec.content.header;
        if *header == Header::default() {
            return;
        }
        let why = "something must separate a header from its message";
        self.need_core("content.header.end", &header.end, "content.header", why);
        let named = [
            ("content.header.reasoning", &header.reasoning),
            ("content.header.answers", &header.answers),
            ("content.header.calls", &header.calls),
        ];
        for (key, channels) in named {
            if !channels.is_empty() && !has_core(&header.channel) {
                let cause = format!("`{key}` names channels, but `content.header.channel` is missing");
                self.add(key, &["content.header"], cause, "write the text before the name of a channel");
            }
        }
        if !header.calls.is_empty() && !has_core(&header.recipient) {
            let cause = "`content.header.calls` is set, but `content.header.recipient` is missing".to_owned();
            self.add("content.header.calls", &["content.header"], cause, "write the text before the function's name");
        }
    }

    fn generation_prompt(&mut self, spec: &FormatSpec) {
        for (index, prompt) in spec.generation_prompt.iter().enumerate() {
            if prompt.starts_in == StartsIn::Reasoning && spec.reasoning.mode == ReasoningMode::None {
                let key = format!("generation_prompt[{index}].starts_in");
                let cause = "the output starts in `reasoning`, but `reasoning.mode` is `none`".to_owned();
                let next = "write `reasoning.mode` and `reasoning.end`, or let the output start in `content`";
                self.add(&key, &["reasoning.mode"], cause, next);
            }
        }
    }

    fn alternatives(&mut self, spec: &FormatSpec) {
        for (key, texts) in &spec.alternatives {
            let place = format!("alternatives.\"{key}\"");
            if !key.may_have_alternatives() {
                let cause = format!("`{key}` cannot have alternatives");
                self.add(&place, &["alternatives"], cause, "remove it; only markers that a model writes can have them");
            }
            if texts.iter().any(|text| !has_core(text)) {
                let cause = format!("an alternative of `{key}` is nothing but white space");
                self.add(&place, &["alternatives"], cause, "write a text that counts as this marker, or remove it");
            }
        }
    }

    fn tools(&mut self, tools: &Tools) {
        match tools.format {
            ToolFormat::None => self.no_tools(tools),
            ToolFormat::JsonNative => self.json_native(tools),
            ToolFormat::TagWithJson => {
                self.opener(tools);
                self.name_ends(tools);
            }
            ToolFormat::TagWithTagged => {
                self.opener(tools);
                self.name_ends(tools);
                self.tagged_arguments(tools);
            }
            ToolFormat::CallExpression => {
                self.opener(tools);
                let why = "a bracket must open the arguments";
                self.need_core("tools.function.name_suffix", &tools.function.name_suffix, "tools.format", why);
                let why = "a bracket must close the arguments";
                self.need_core("tools.function.close", &tools.function.close, "tools.format", why);
                let why = "something must separate an argument's name from its value";
                self.need_core("tools.arguments.name_suffix", &tools.arguments.name_suffix, "tools.format", why);
            }
        }
    }

    fn no_tools(&mut self, tools: &Tools) {
        // Any key of this table other than `format`.
        let document = crate::document::Node::from_serialize(tools);
        for (key, _) in document.entries().iter().filter(|(key, _)| key != "format") {
            self.idle(&format!("tools.{key}"), true, "tools.format", "`none`");
        }
    }

    fn json_native(&mut self, tools: &Tools) {
        if tools.fun_name_is_key {
            return;
        }
        let fields = [("tools.name_field", &tools.name_field), ("tools.args_field", &tools.args_field)];
        for (key, field) in fields {
            if field.is_empty() {
                let cause = format!("`{key}` is missing: with `tools.format` `json_native` it names a JSON key");
                let next = format!("add `{key}`, or set `tools.fun_name_is_key`");
                self.add(key, &["tools.format"], cause, &next);
            }
        }
        if !tools.name_field.is_empty() && tools.name_field == tools.args_field {
            let cause = "`tools.args_field` is the same JSON key as `tools.name_field`".to_owned();
            self.add("tools.args_field", &[], cause, "write the key of the arguments");
        }
    }

    /// A call whose name is not part of JSON needs a marker that announces it.
    fn opener(&mut self, tools: &Tools) {
        // The id of a call may be the first that it has.
        let id = match tools.call_id.position {
            CallIdPosition::PreFuncName => tools.call_id.prefix.as_str(),
            _ => "",
        };
        let openers = [tools.section_start.as_str(), &tools.per_call_start, &tools.function.name_prefix, id];
        if !openers.iter().any(|marker| has_core(marker)) {
            let format = value_of(&tools.format);
            let cause = format!("no marker opens a call: `tools.format` {format} needs one");
            let next = "write `tools.per_call_start`, `tools.section_start` or `tools.function.name_prefix`";
            self.add("tools.per_call_start", &["tools.function.name_prefix", "tools.format"], cause, next);
        }
    }

    /// A name that is not part of JSON needs an end; white space is enough, and the brace of arguments in JSON.
    fn name_ends(&mut self, tools: &Tools) {
        let id_follows = tools.call_id.position == CallIdPosition::BetweenFuncAndArgs;
        let in_name = tools.call_id.position == CallIdPosition::InName;
        let delimiters = [&tools.function.name_suffix, &tools.arguments.start, &tools.arguments.name_prefix];
        let delimited = delimiters.iter().any(|marker| !marker.is_empty())
            || (id_follows && !tools.call_id.prefix.is_empty())
            || (in_name && !tools.call_id.suffix.is_empty());
        if !delimited && tools.format != ToolFormat::TagWithJson {
            let cause = "nothing ends the function's name".to_owned();
            let next = "write `tools.function.name_suffix` or `tools.arguments.start`";
            self.add("tools.function.name_suffix", &["tools.function", "tools.format"], cause, next);
        }
    }

    fn tagged_arguments(&mut self, tools: &Tools) {
        let arguments = &tools.arguments;
        let markers = [&arguments.name_prefix, &arguments.name_suffix, &arguments.type_prefix];
        if !markers.iter().any(|marker| has_core(marker)) {
            let cause = "nothing marks an argument's name: `tools.format` `tag_with_tagged` needs a marker";
            let next = "write `tools.arguments.name_prefix` or `tools.arguments.name_suffix`";
            let near = ["tools.arguments", "tools.format"];
            self.add("tools.arguments.name_prefix", &near, cause.to_owned(), next);
        }
        self.closed_by_name(tools);
        // The name of the next argument shows at which line break or separator a value ends.
        let named = has_core(&arguments.name_suffix) && !has_core(&arguments.name_prefix);
        let open = named && (arguments.value_suffix.contains('\n') || has_core(&arguments.separator));
        if arguments.close_prefix.is_empty() && !open {
            let why = "something must end an argument's value";
            self.need_core("tools.arguments.value_suffix", &arguments.value_suffix, "tools.format", why);
        }
        self.typed(tools);
    }

    /// Two markers may hold the function's name, each piece of them once and not as its beginning: something must end the text
    /// before it.
    fn repeated_name(&mut self, spec: &FormatSpec) {
        for (key, marker) in spec.markers() {
            let (key, may) = (key.as_str(), key.may_repeat_name());
            if marker.contains(REPEATED_NAME) && !may {
                let cause = format!("`{key}` holds `{REPEATED_NAME}`, which is only text there");
                self.add(key, &[key], cause, "write it in `tools.function.name_suffix` or `tools.function.close`");
            }
            for piece in MarkerText::pieces(marker).iter().filter(|_| may) {
                if piece.core.matches(REPEATED_NAME).count() > 1 {
                    let cause = format!("`{key}` holds `{REPEATED_NAME}` twice on one line");
                    self.add(
                        key,
                        &["tools.function"],
                        cause,
                        "write the name once, or put a line break between the two",
                    );
                } else if piece.core.starts_with(REPEATED_NAME) {
                    let cause = format!(
                        "a line of `{key}` begins with `{REPEATED_NAME}`, so nothing tells where the name begins"
                    );
                    self.add(key, &["tools.function"], cause, "write the text before the name on the same line");
                }
            }
        }
    }

    /// A closer that repeats the argument's name.
    fn closed_by_name(&mut self, tools: &Tools) {
        let arguments = &tools.arguments;
        if arguments.close_prefix.is_empty() {
            let near = "tools.arguments.close_prefix";
            self.idle("tools.arguments.close_suffix", !arguments.close_suffix.is_empty(), near, "missing");
            self.idle("tools.arguments.nested", arguments.nested, near, "missing");
            self.idle("tools.arguments.item", !arguments.item.is_empty(), near, "missing");
            return;
        }
        let near = "tools.arguments.close_prefix";
        self.idle("tools.arguments.value_suffix", !arguments.value_suffix.is_empty(), near, "set");
        let why = "something must end the argument's name";
        self.need_core("tools.arguments.close_suffix", &arguments.close_suffix, "tools.arguments.close_prefix", why);
        self.need_core(near, &arguments.close_prefix, "tools.arguments", "something must begin the closer");
        if arguments.nested {
            let why = "with `tools.arguments.nested` something must begin and end a nested name";
            self.need_core("tools.arguments.name_prefix", &arguments.name_prefix, "tools.arguments.nested", why);
            self.need_core("tools.arguments.name_suffix", &arguments.name_suffix, "tools.arguments.nested", why);
        } else {
            self.idle("tools.arguments.item", !arguments.item.is_empty(), "tools.arguments.nested", "missing");
        }
    }

    /// A type next to the argument's name.
    fn typed(&mut self, tools: &Tools) {
        let arguments = &tools.arguments;
        let near = "tools.arguments.type_prefix";
        if arguments.type_prefix.is_empty() {
            self.idle("tools.arguments.type_suffix", !arguments.type_suffix.is_empty(), near, "missing");
            return;
        }
        self.idle("tools.arguments.name_suffix", !arguments.name_suffix.is_empty(), near, "set");
        self.idle("tools.arguments.other_name_suffix", !arguments.other_name_suffix.is_empty(), near, "set");
        self.need_core("tools.arguments.type_prefix", &arguments.type_prefix, near, "something must begin the type");
        let why = "something must end the type";
        self.need_core("tools.arguments.type_suffix", &arguments.type_suffix, near, why);
    }

    fn call_id(&mut self, tools: &Tools) {
        let id = &tools.call_id;
        let near = "tools.call_id.position";
        match id.position {
            CallIdPosition::None => {
                for (key, marker) in [("tools.call_id.prefix", &id.prefix), ("tools.call_id.suffix", &id.suffix)] {
                    self.idle(key, !marker.is_empty(), near, "`none`");
                }
            }
            CallIdPosition::InName => {
                if id.suffix.is_empty() {
                    let cause = "`tools.call_id.suffix` is missing: nothing separates the name from the index";
                    let next = "write the text between the name and the index";
                    self.add("tools.call_id.suffix", &[near], cause.to_owned(), next);
                }
            }
            CallIdPosition::PreFuncName | CallIdPosition::BetweenFuncAndArgs | CallIdPosition::PostArgs => {
                if id.prefix.is_empty() && id.suffix.is_empty() {
                    let cause = "nothing marks the call's id: `tools.call_id` has neither prefix nor suffix";
                    let next = "write `tools.call_id.prefix` or `tools.call_id.suffix`";
                    self.add("tools.call_id.prefix", &[near], cause.to_owned(), next);
                }
            }
        }
    }
}
