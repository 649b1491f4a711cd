//! The field `tool_calls` of a response template: what opens a region, what closes it, and how its text becomes a call. Calls as in
//! Python are in `python_calls`.

use serde_json::{Map, Value as Json, json};
use unjinja_spec::{Arguments, CallIdPosition, ContentMode, FormatSpec, MarkerText, REPEATED_NAME, ToolFormat};

use super::loss::LossKind;
use super::mark::{self, Mark, escaped, loose, pattern_of};

/// The characters that no name of a function has.
const NO_NAME: &str = r#"[^\s<>"'{}()\[\]=|]"#;
/// The characters of an id.
const ID: &str = r"[\w.:-]+";

/// The pattern of any function's name.
fn any_name() -> String {
    format!("{NO_NAME}+")
}

/// The field, and what it cannot express.
pub(crate) struct Calls {
    /// `None` if the language has no means for this format.
    pub field: Option<Map<String, Json>>,
    pub losses: Vec<LossKind>,
}

/// Makes the field from the markers of a spec. `ends` are the texts that end a turn.
pub(crate) fn field(spec: &FormatSpec, means: Means, ends: &[String]) -> Option<Calls> {
    let maker = Maker { spec, means, ends };
    match spec.tools.format {
        ToolFormat::None => None,
        ToolFormat::JsonNative => Some(maker.native()),
        ToolFormat::TagWithJson => Some(maker.named_json()),
        ToolFormat::TagWithTagged => Some(maker.tagged()),
        ToolFormat::CallExpression => Some(maker.expression()),
    }
}

/// By which means calls as in Python are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// The content parser for lists of them, if the format is such a list. It fails where an argument has no form of Python.
    CallLists,
    /// Patterns, which read simple values.
    Patterns,
}

pub(super) struct Maker<'s> {
    pub spec: &'s FormatSpec,
    pub means: Means,
    pub ends: &'s [String],
}

/// A region: what opens it, what closes it.
pub(super) struct Region {
    pub open: Mark,
    pub close: Option<Mark>,
}

impl Maker<'_> {
    /// A region whose calls each have a marker before and after them. `to_name` is the text from the call's start up to its
    /// name, or up to its JSON if there is no hole; `hole` the pattern of the name and what follows it. `last` is what the
    /// text of a region must end with.
    fn region(&self, to_name: &str, hole: &str, close: &str, last: &str) -> Region {
        let section_start = self.spec.tools.section_start.as_str();
        let (section, call) = (MarkerText::new(section_start), MarkerText::new(to_name));
        let open = if !section.is_layout() && !call.is_layout() {
            // The marker of all calls is before the first one only.
            let mut start = String::new();
            loose(&mut start, if section.before.is_empty() { call.before } else { section.before });
            let mut first = pattern_of(section.core);
            loose(&mut first, &format!("{}{}", section.after, call.before));
            if let Some(separator) = self.separator() {
                first = format!("{first}|{separator}");
            }
            Mark::Pattern(format!("{start}(?:{first})?{}{hole}", pattern_of(&to_name[call.before.len()..])))
        } else {
            let start = format!("{section_start}{to_name}");
            match (self.separator(), hole) {
                (Some(separator), hole) => Mark::Pattern(format!("(?:{separator})?{}{hole}", pattern_of(&start))),
                (None, "") => mark::mark_of(&start),
                (None, hole) => Mark::Pattern(pattern_of(&start) + hole),
            }
        };
        Region { open, close: self.close(close, to_name, last) }
    }

    /// A separator between calls that is not made of tags, as a pattern. Those with tags close the answer: see [`after_calls`].
    fn separator(&self) -> Option<String> {
        let separator = MarkerText::new(&self.spec.tools.separator);
        let is_text = !separator.is_layout() && separator.tags().is_empty();
        is_text.then(|| format!("{}\\s*", escaped(separator.core)))
    }

    /// What closes a region. Where the format writes nothing after a call, that is what comes next: another call, the end of
    /// the turn, or the end of the output.
    ///
    /// A reader that streams takes a marker as soon as more text follows. So a marker has no optional end: it would be taken without
    /// its end. And `$` follows only the last character of a call: elsewhere it matches at the end of each piece, and the reader
    /// would not wait for the rest of a marker.
    fn close(&self, close: &str, next_call: &str, last: &str) -> Option<Mark> {
        let tools = &self.spec.tools;
        let (separator, section_end) = (tools.separator.as_str(), tools.section_end.as_str());
        if !MarkerText::new(close).is_layout() {
            let is_tagged = !MarkerText::new(section_end).tags().is_empty();
            let tail = if is_tagged { String::new() } else { optional(section_end) };
            return Some(match last.is_empty() && tail.is_empty() {
                true => self.closer(close),
                false => Mark::Pattern(format!("{last}{}{tail}", self.closer(close).pattern())),
            });
        }
        let mut choices: Vec<String> = Vec::new();
        if !MarkerText::new(section_end).is_layout() {
            choices.push(pattern_of(section_end));
        }
        let next = format!("{separator}{next_call}");
        if !MarkerText::new(&next).is_layout() {
            choices.push(format!("(?={})", pattern_of(&next)));
        }
        // An argument may quote the end of a turn, so that end counts only after the last character of a call.
        choices.extend(self.ends.iter().map(|end| format!("{last}\\s*{}", escaped(end))));
        (!choices.is_empty()).then(|| Mark::Pattern(choices.join("|")))
    }

    /// A marker after the arguments of a call. Where it repeats the function's name, any name is accepted: a pattern cannot refer
    /// to what the pattern of another marker has matched.
    fn closer(&self, text: &str) -> Mark {
        mark::mark_with_name(text, &any_name())
    }

    /// Whether the marker after a call differs from other closing tags only in the function's name, as `</${name}>` does.
    fn closes_like_others(&self) -> bool {
        let tools = &self.spec.tools;
        let of_values =
            [&tools.arguments.value_suffix, &tools.arguments.close_prefix].map(|text| MarkerText::new(text).core);
        let close = MarkerText::new(&tools.function.close).core.split_once(REPEATED_NAME);
        close.is_some_and(|(close, _)| {
            !close.contains(char::is_alphanumeric) || of_values.iter().any(|text| text.starts_with(close))
        })
    }

    /// The loss where the marker after a call repeats the function's name.
    fn repeated_name(&self) -> Option<LossKind> {
        self.spec.tools.function.close.contains(REPEATED_NAME).then_some(LossKind::RepeatedName)
    }

    /// The pattern of a name and what follows it. Where nothing but the name announces a call, as in `<f>{}</f>`, the tag is not a
    /// closing one, and arguments follow, which begin with a match of `first`.
    fn announced(&self, start: &str, hole: String, first: &str) -> String {
        let close = self.spec.tools.function.close.split_once(REPEATED_NAME);
        let Some((close, _)) = close.filter(|_| !start.contains(char::is_alphanumeric)) else { return hole };
        let no_closer = MarkerText::new(close).core.strip_prefix(MarkerText::new(start).core).unwrap_or_default();
        let no_closer = if no_closer.is_empty() { String::new() } else { format!("(?!{})", escaped(no_closer)) };
        format!(r"{no_closer}{hole}(?=\s*{first})")
    }

    /// Name and arguments are members of one JSON object.
    fn native(&self) -> Calls {
        let tools = &self.spec.tools;
        if tools.fun_name_is_key {
            return self.name_as_key();
        }
        let inner = if tools.function_field.is_empty() { String::new() } else { format!("{}.", tools.function_field) };
        let (name, arguments) = (format!("{inner}{}", tools.name_field), format!("{inner}{}", tools.args_field));
        if tools.tools_array_wrapped {
            return self.array(&name, &arguments);
        }
        let mut losses = Vec::from_iter(tools.uses_python_dicts.then_some(LossKind::PythonValues));
        losses.extend(self.repeated_name());
        let is_plain = inner.is_empty() && tools.name_field == "name" && tools.args_field == "arguments";
        let has_ids = !tools.id_field.is_empty() || !tools.gen_id_field.is_empty();
        let transform = match is_plain && !has_ids {
            true => json!({"type": "function", "function": "{content}"}),
            false => function(&format!("{{content.{name}}}"), &format!("{{content.{arguments}}}")),
        };
        let before = format!("{}{}", tools.per_call_start, tools.function.name_prefix);
        let hole = match tools.function.name_prefix.is_empty() && tools.function.name_suffix.is_empty() {
            true => String::new(),
            // A name before the object as well as in it.
            false => {
                let suffix = mark::pattern_with_name(&tools.function.name_suffix, &any_name());
                format!("{NO_NAME}+?{suffix}")
            }
        };
        let close = format!("{}{}", tools.function.close, tools.per_call_end);
        let is_marked = !MarkerText::new(&before).is_layout() || !MarkerText::new(&tools.section_start).is_layout();
        let region = if is_marked {
            let marked_each = !MarkerText::new(&before).is_layout();
            if !marked_each && self.spec.capabilities.parallel_tool_calls {
                losses.push(LossKind::UnmarkedCalls);
            }
            match hole.is_empty() {
                // Text that only mentions the marker is no call.
                true => self.region(before.trim_end(), r"\s*(?=\{)", &close, r"(?<=\})"),
                false => self.region(&before, &hole, &close, r"(?<=\})"),
            }
        } else {
            // Only the JSON announces a call.
            losses.extend(self.spec.capabilities.parallel_tool_calls.then_some(LossKind::UnmarkedCalls));
            let first = tools.parameter_order.first().unwrap_or(&tools.name_field);
            let first = if inner.is_empty() { first } else { &tools.function_field };
            let open = Mark::Pattern(format!(r#"(?=\{{\s*"{}"\s*:)"#, escaped(first)));
            Region { open, close: self.close(&close, "", r"(?<=\})") }
        };
        let mut content = json!({"content": "json"});
        if tools.uses_python_dicts {
            // With other quotes, simple values of Python are JSON.
            content["content_args"] = json!({"string_delims": [["'", "'"]]});
        }
        content["repeats"] = Json::from(true);
        content["transform"] = transform;
        Calls { field: Some(region.field(content)), losses }
    }

    /// The calls are the items of one array.
    fn array(&self, name: &str, arguments: &str) -> Calls {
        let tools = &self.spec.tools;
        let transform = function(&format!("{{{name}}}"), &format!("{{{arguments}}}"));
        let content = json!({"content": "json", "transform": transform, "transform_each": true});
        let open = format!("{}{}", tools.section_start, tools.per_call_start);
        let close = tools.per_call_end.as_str();
        let region = if MarkerText::new(&open).is_layout() {
            let first = tools.parameter_order.first().unwrap_or(&tools.name_field);
            let open = Mark::Pattern(format!(r#"(?=\[\s*\{{\s*"{}"\s*:)"#, escaped(first)));
            Region { open, close: self.close(close, "", r"(?<=\])") }
        } else {
            let open = Mark::Pattern(format!(r"{}\s*(?=\[)", pattern_of(open.trim_end())));
            Region { open, close: self.close(close, "", r"(?<=\])") }
        };
        Calls { field: Some(region.field(content)), losses: Vec::new() }
    }

    /// The name of a call is the only key of its object.
    fn name_as_key(&self) -> Calls {
        let tools = &self.spec.tools;
        let array = if tools.tools_array_wrapped { ("\\[\\s*", "\\]\\s*") } else { ("", "") };
        let start = pattern_of(&format!("{}{}", tools.section_start, tools.per_call_start));
        let end = format!("{}{}", tools.per_call_end, tools.section_end);
        let end = if end.trim().is_empty() { "$".to_owned() } else { pattern_of(&end) };
        let name = r#"\{\s*"(?P<name>[^"\\]+)"\s*:\s*"#;
        // Where several calls share an array, the next one begins after a comma.
        let (next, or_next) = match tools.tools_array_wrapped && self.spec.capabilities.parallel_tool_calls {
            true => (r"|(?<=\}),\s*", r#"|\}\s*(?=,\s*\{\s*"[^"\\]+"\s*:\s*\{)"#),
            false => ("", ""),
        };
        let region = Region {
            open: Mark::Pattern(format!("(?:{start}{}{next}){name}", array.0)),
            close: Some(Mark::Pattern(format!(r"\}}\s*{}{end}{or_next}", array.1))),
        };
        let content = json!({"content": "json", "repeats": true, "transform": function("{name}", "{content}")});
        Calls { field: Some(region.field(content)), losses: vec![LossKind::NameAsKey] }
    }

    /// The text from a call's start to its name, and the pattern of the name with the text next to it.
    fn to_name(&self, after_name: &str) -> (String, String) {
        let tools = &self.spec.tools;
        let id = &tools.call_id;
        let mut start = format!("{}{}", tools.per_call_start, tools.function.name_prefix);
        let suffix = tools.function.name_suffix.as_str();
        let rest = |text: &str| mark::pattern_with_name(text, "(?P=name)");
        let mut hole = self.no_answer(&start);
        match id.position {
            CallIdPosition::InName => {
                start.push_str(&id.prefix);
                hole.push_str(&format!(r"(?P<name>{NO_NAME}+?){}\d+", escaped(&id.suffix)));
                hole.push_str(&rest(&format!("{suffix}{after_name}")));
            }
            CallIdPosition::BetweenFuncAndArgs => {
                hole.push_str(&self.name(&format!("{suffix}{}", id.prefix)));
                hole.push_str(&rest(&format!("{suffix}{}", id.prefix)));
                hole.push_str(ID);
                hole.push_str(&rest(&format!("{}{after_name}", id.suffix)));
            }
            CallIdPosition::PreFuncName => {
                // The id is between the call's start and the name.
                let before = format!("{}{}", tools.per_call_start, id.prefix);
                start = before;
                hole.push_str(ID);
                hole.push_str(&rest(&format!("{}{}", id.suffix, tools.function.name_prefix)));
                hole.push_str(&self.name(suffix));
                hole.push_str(&rest(&format!("{suffix}{after_name}")));
            }
            CallIdPosition::None | CallIdPosition::PostArgs => {
                let after = format!("{suffix}{after_name}");
                hole.push_str(&self.name(&after));
                hole.push_str(&rest(&after));
            }
        }
        (start, hole)
    }

    /// Where the marker of an answer begins as that of a call does, a condition that it is not the answer's.
    fn no_answer(&self, start: &str) -> String {
        let content = &self.spec.content;
        let answer = MarkerText::new(if content.mode == ContentMode::Plain { "" } else { &content.start });
        let call = MarkerText::new(start).core;
        match answer.core.strip_prefix(call).filter(|rest| !call.is_empty() && !rest.is_empty()) {
            Some(rest) => format!("(?!{}{})", escaped(rest), if answer.after.is_empty() { "" } else { "\\s" }),
            None => String::new(),
        }
    }

    /// The pattern of a name: as short as possible where what follows could belong to it.
    fn name(&self, after: &str) -> String {
        let next = MarkerText::new(after).core.chars().next().filter(|_| !after.starts_with(char::is_whitespace));
        let is_clear = next.is_none_or(|next| r#"<>"'{}()[]=|"#.contains(next));
        format!("(?P<name>{NO_NAME}+{})", if is_clear { "" } else { "?" })
    }

    /// The text after the arguments of a call.
    fn after_arguments(&self) -> String {
        let tools = &self.spec.tools;
        format!("{}{}{}", tools.arguments.end, tools.function.close, tools.per_call_end)
    }

    /// A name between markers, and the arguments as JSON.
    fn named_json(&self) -> Calls {
        let tools = &self.spec.tools;
        let content = json!({"content": "json", "repeats": true, "transform": function("{name}", "{content}")});
        let header = &self.spec.content.header;
        if !header.recipient.is_empty() {
            let region = self.by_header();
            return Calls { field: Some(region.field(content)), losses: Vec::from_iter(self.repeated_name()) };
        }
        let (start, hole) = self.to_name(&tools.arguments.start);
        let hole = self.announced(&start, hole, r"\{");
        let mut close = self.after_arguments();
        let mut region = self.region(&start, &hole, &close, r"(?<=\})");
        if tools.call_id.position == CallIdPosition::PostArgs {
            close = format!("{}{}", tools.function.close, tools.per_call_end);
            let id = format!("{}{ID}", pattern_of(&tools.call_id.prefix));
            let rest = self.closer(&format!("{}{close}", tools.call_id.suffix)).pattern();
            region.close = Some(Mark::Pattern(format!("{id}{rest}")));
        }
        let is_unmarked = MarkerText::new(&start).is_layout() && self.spec.capabilities.parallel_tool_calls;
        let losses = is_unmarked.then_some(LossKind::UnmarkedCalls).into_iter().chain(self.repeated_name()).collect();
        Calls { field: Some(region.field(content)), losses }
    }

    /// A call that is announced by the recipient in a message's header, whose parts come in several orders.
    fn by_header(&self) -> Region {
        let header = &self.spec.content.header;
        let channels: Vec<String> = header.calls.iter().map(|channel| escaped(channel)).collect();
        let channel = format!("{}(?:{})", escaped(&header.channel), channels.join("|"));
        let before = format!(r"(?:{channel}\s*)?{}", pattern_of(&header.recipient));
        let name = format!("(?P<name>{NO_NAME}+)");
        let types: Vec<String> = header.types.iter().map(|text| escaped(text)).collect();
        let types = if types.is_empty() { String::new() } else { format!(r"\s*(?:{})?\s*", types.join("|")) };
        let open = format!("{before}{name}(?:{channel})?{types}{}", escaped(&header.end));
        Region { open: Mark::Pattern(open), close: Some(self.closer(&self.after_arguments())) }
    }

    /// A name between markers, and a tag for each argument.
    fn tagged(&self) -> Calls {
        let tools = &self.spec.tools;
        let mut losses = Vec::new();
        losses.extend(tools.uses_python_dicts.then_some(LossKind::PythonValues));
        losses.extend(tools.arguments.nested.then_some(LossKind::NestedTags));
        losses.extend(self.repeated_name());
        let (start, hole) = self.to_name(&tools.arguments.start);
        let close = tools.function.close.split(REPEATED_NAME).next().unwrap_or_default();
        let first = [&tools.arguments.name_prefix, close].map(|text| escaped(MarkerText::new(text).core)).join("|");
        let hole = self.announced(&start, hole, &format!("(?:{first})"));
        // Where the closing tags of arguments are similar, that of the call follows a marker, and theirs follow values.
        let before = [
            format!("{}{}", tools.function.name_suffix, tools.arguments.start),
            format!("{}{}", tools.arguments.value_suffix, tools.arguments.close_suffix),
        ];
        let last = if self.closes_like_others() { ends_with(&[&before[0], &before[1]]) } else { String::new() };
        let region = self.region(&start, &hole, &self.after_arguments(), &last);
        let args = json!({"tag_pattern": self.tag(&tools.arguments)});
        let content = json!({
            "content": "xml-inline", "content_args": args, "repeats": true, "transform": function("{name}", "{content}"),
        });
        Calls { field: Some(region.field(content)), losses }
    }

    /// The pattern of one argument. It ends only where another argument or nothing may follow, so that a closing marker in a
    /// value does not end it.
    fn tag(&self, arguments: &Arguments) -> String {
        let prefix = MarkerText::new(&arguments.name_prefix);
        let mut out = pattern_of(&arguments.name_prefix).trim_start_matches("\\s*").to_owned();
        let suffixes: Vec<String> = [&arguments.name_suffix, &arguments.other_name_suffix]
            .into_iter()
            .filter(|suffix| !suffix.is_empty())
            .map(|suffix| pattern_of(suffix))
            .collect();
        out.push_str(r#"(?P<key>[^<>\n]+?)"#);
        match suffixes.as_slice() {
            [] => {}
            [one] => out.push_str(one),
            several => out.push_str(&format!("(?:{})", several.join("|"))),
        }
        if !arguments.type_prefix.is_empty() {
            let parts = [&arguments.type_prefix, &arguments.type_suffix].map(|text| pattern_of(text));
            out.push_str(&format!("{}\\w*{}", parts[0], parts[1]));
        }
        let value = MarkerText::new(&arguments.value_prefix);
        match value.is_layout() {
            true => out.push_str(&mark::limited(&arguments.value_prefix)),
            false => {
                loose(&mut out, value.before);
                out.push_str(&escaped(value.core));
                out.push_str(&mark::limited(value.after));
            }
        }
        let (cdata_open, cdata_close) = if arguments.cdata { (r"(?:<!\[CDATA\[)?", r"(?:\]\]>)?") } else { ("", "") };
        out.push_str(&format!("{cdata_open}(?P<value>.*?){cdata_close}"));
        let separator = pattern_of(arguments.separator.trim());
        // What follows a value: the next name's marker; without one the end of the line, or the next name itself.
        let next = match (prefix.core, separator.as_str()) {
            ("", "") if arguments.value_suffix.contains('\n') => "\\n".to_owned(),
            ("", "") => format!(r"\s*[^<>\n]+?{}", suffixes.first().map_or("", String::as_str)),
            (core, _) => format!(r"\s*{separator}{}", escaped(core)),
        };
        if !arguments.close_prefix.is_empty() {
            let before = MarkerText::new(&arguments.close_prefix);
            out.push_str(&mark::limited(before.before));
            let suffix = MarkerText::new(&arguments.close_suffix).core;
            out.push_str(&format!("{}(?P=key){}", escaped(before.core), escaped(suffix)));
        } else {
            let suffix = MarkerText::new(&arguments.value_suffix);
            out.push_str(&mark::limited(suffix.before));
            out.push_str(&escaped(suffix.core));
        }
        out.push_str(&format!("(?={next}|\\s*$)"));
        out
    }

    /// A name with arguments in brackets. With braces and colons they are JSON without quotes around its keys.
    fn expression(&self) -> Calls {
        let tools = &self.spec.tools;
        let is_object = tools.function.name_suffix.trim() == "{"
            && tools.function.close.trim() == "}"
            && tools.arguments.name_suffix.trim() == ":"
            && tools.arguments.separator.trim() == ",";
        if !is_object {
            return self.python_calls();
        }
        let start = format!("{}{}", tools.per_call_start, tools.function.name_prefix);
        let name = format!("(?P<name>{NO_NAME}+)");
        let region = self.region(&start, &name, &tools.per_call_end, r"(?<=\})");
        let mut args = Map::from_iter([("unquoted_keys".to_owned(), Json::from(true))]);
        if !tools.arguments.quote.is_empty() {
            let quote = tools.arguments.quote.as_str();
            args.insert("string_delims".to_owned(), json!([[quote, quote]]));
        }
        let content = json!({
            "content": "json", "content_args": args, "repeats": true, "transform": function("{name}", "{content}"),
        });
        Calls { field: Some(region.field(content)), losses: Vec::new() }
    }
}

impl Region {
    /// The field of this region, with what says how its text is read.
    pub fn field(self, content: Json) -> Map<String, Json> {
        let mut field = Map::new();
        self.open.put(&mut field, "open");
        if let Some(close) = self.close {
            close.put(&mut field, "close");
        }
        if let Json::Object(content) = content {
            field.extend(content);
        }
        field
    }
}

/// The markers after a call and after all calls, where they are made of tags. They close the answer, which is not open
/// there, and so are left out. Where nothing else closes a call, they do.
pub(crate) fn after_calls(spec: &FormatSpec) -> impl Iterator<Item = &str> {
    let tools = &spec.tools;
    let close = format!("{}{}{}", tools.arguments.end, tools.function.close, tools.per_call_end);
    let is_closed = !MarkerText::new(&close).is_layout();
    let texts = [tools.separator.as_str(), tools.section_end.as_str()];
    texts.into_iter().filter(move |text| is_closed && !MarkerText::new(text).tags().is_empty())
}

/// The pattern of what opens a field, without names.
pub(crate) fn opener(field: &Map<String, Json>) -> Option<String> {
    let text = |key: &str| field.get(key).and_then(Json::as_str);
    let unnamed = |pattern: &str| pattern.replace("(?P<name>", "(?:").replace("(?P=name)", &any_name());
    text("open_pattern").map(unnamed).or_else(|| text("open").map(escaped))
}

/// A marker that may be missing, with white space around it.
fn optional(text: &str) -> String {
    let marker = MarkerText::new(text);
    if marker.is_layout() {
        return String::new();
    }
    let mut inside = format!("\\s*{}", pattern_of(marker.core));
    loose(&mut inside, marker.after);
    format!("(?:{inside})?")
}

/// A condition that the text before ends with the last character of one of some markers, or with the white space after it.
fn ends_with(markers: &[&str]) -> String {
    let mut last: Vec<String> = Vec::new();
    for marker in markers.iter().map(|text| MarkerText::new(text)) {
        last.extend(marker.core.chars().next_back().map(|char| escaped(&char.to_string())));
        last.extend((!marker.after.is_empty()).then(|| "\\s".to_owned()));
    }
    last.sort();
    last.dedup();
    if last.is_empty() { String::new() } else { format!("(?<={})", last.join("|")) }
}

/// The transform of a call.
pub(super) fn function(name: &str, arguments: &str) -> Json {
    json!({"type": "function", "function": {"name": name, "arguments": arguments}})
}
