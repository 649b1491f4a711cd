//! A format spec made of a response template, for repositories that have nothing else: it gives a streaming parser and a
//! grammar. It works where patterns match only a few texts with white space around them, and a name in between. Everything
//! else is a reason why not, never a guess.

use unjinja_spec::{
    Capabilities, ContentMode, FormatSpec, GenerationPrompt, MarkerKey, ReasoningMode, StartsIn, TemplateInfo,
    ToolFormat,
};

use super::pattern::{Expansion, Node, expansions};
use super::problem::{Problem, Problems};
use super::schema::{Anchor, Content, Field, ResponseTemplate, Transform};

/// The fields from which reasoning is taken.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

impl ResponseTemplate {
    /// The format spec that this template describes.
    ///
    /// # Errors
    ///
    /// The parts of the template that no spec can express, each with its place.
    ///
    /// ```
    /// use unjinja_export::response_template::ResponseTemplate;
    /// use unjinja_spec::TemplateInfo;
    ///
    /// let template = ResponseTemplate::from_json(&serde_json::json!({
    ///     "start_anchor": "<assistant>",
    ///     "fields": {
    ///         "thinking": {"open": "<think>", "close_pattern": "\\s*</think>\\s*"},
    ///         "content": {"close": "<end>"}
    ///     }
    /// }))?;
    /// let info = TemplateInfo { name: "t".into(), file: "t.json".into(), sha256: "0".repeat(64), ..Default::default() };
    /// let spec = template.to_spec(info)?;
    /// assert_eq!((spec.reasoning.end.as_str(), spec.turn.end.as_str()), ("</think>", "<end>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_spec(&self, template: TemplateInfo) -> Result<FormatSpec, Problems> {
        let mut import = Import { problems: Vec::new(), spec: FormatSpec::new(template) };
        import.anchor(&self.start_anchor);
        for field in &self.fields {
            let place = format!("fields.{}", field.name);
            match field.name.as_str() {
                name if REASONING.contains(&name) => import.reasoning(&place, field),
                "content" => import.content(&place, field),
                "tool_calls" => import.calls(&place, field),
                _ => import.wrong(&place, "messages have no such field", "remove it"),
            }
        }
        let Import { problems, mut spec } = import;
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        spec.tokens.preserved = spec.preserved_tokens();
        match spec.check() {
            Ok(()) => Ok(spec),
            Err(error) => Err(Problems(error.problems.into_iter().map(of_spec).collect())),
        }
    }
}

/// An imported format with what only a chat template says, from its analysis: its name, its prompts and its tokens.
#[must_use]
pub fn completed(imported: FormatSpec, analysed: FormatSpec) -> FormatSpec {
    let mut spec = imported;
    spec.template = analysed.template;
    spec.capabilities = Capabilities {
        tool_calls: spec.capabilities.tool_calls,
        parallel_tool_calls: spec.capabilities.parallel_tool_calls,
        reasoning: spec.capabilities.reasoning,
        ..analysed.capabilities
    };
    spec.messages = analysed.messages;
    spec.generation_prompt = analysed.generation_prompt;
    spec.tokens = analysed.tokens;
    // A response template closes its content with whatever is syntax; only the chat template says what ends a turn.
    let (tools, header) = (&analysed.tools, &analysed.content.header);
    let ends = spec.alternatives.get(&MarkerKey::TurnEnd).into_iter().flatten();
    let closes: Vec<String> = std::iter::once(&spec.turn.end).chain(ends).cloned().collect();
    let found =
        |text: &str| closes.iter().find(|close| !text.trim().is_empty() && close.trim() == text.trim()).cloned();
    for (own, analysed) in
        [(&mut spec.tools.section_end, &tools.section_end), (&mut spec.tools.separator, &tools.separator)]
    {
        if let Some(text) = found(analysed).filter(|_| own.trim().is_empty()) {
            *own = text;
        }
    }
    let is_syntax = |text: &String| {
        let wraps = [&analysed.content.start, &analysed.content.end, &analysed.reasoning.empty];
        let others = [&tools.section_end, &tools.separator, &header.start];
        let is_rest = analysed.turn.end.trim().strip_suffix(text.trim()).is_some();
        is_rest || wraps.into_iter().chain(others).any(|other| other.trim() == text.trim())
    };
    if let Some(ends) = spec.alternatives.get_mut(&MarkerKey::TurnEnd) {
        ends.retain(|text| !is_syntax(text));
        if ends.is_empty() {
            spec.alternatives.remove(&MarkerKey::TurnEnd);
        }
    }
    if spec.content.mode == ContentMode::Plain {
        spec.content = analysed.content;
    }
    spec.turn = analysed.turn;
    spec.reasoning.empty = analysed.reasoning.empty;
    spec.reasoning.field = analysed.reasoning.field;
    spec.reasoning.switch = analysed.reasoning.switch;
    spec.tokens.preserved = spec.preserved_tokens();
    spec
}

/// A problem of the spec that was made.
fn of_spec(problem: unjinja_spec::Problem) -> Problem {
    let cause = format!("the spec would not be valid: {}", problem.cause);
    Problem { place: String::new(), cause, next_step: problem.next_step }
}

struct Import {
    problems: Vec<Problem>,
    spec: FormatSpec,
}

impl Import {
    fn wrong(&mut self, place: &str, cause: impl Into<String>, next_step: &str) {
        self.problems.push(Problem { place: place.to_owned(), cause: cause.into(), next_step: next_step.to_owned() });
    }

    /// The texts of a marker, or nothing after a problem.
    fn texts(&mut self, place: &str, key: &str, anchor: &Anchor) -> Vec<Expansion> {
        if let Some(literals) = &anchor.literals {
            return literals.iter().map(|text| Expansion { before: text.clone(), ..Expansion::default() }).collect();
        }
        match expansions(anchor.pattern.node()) {
            Ok(texts) => texts,
            Err(cause) => {
                let place = format!("{place}.{key}_pattern");
                self.wrong(&place, format!("the pattern is no marker: {cause}"), "write the marker as a text");
                Vec::new()
            }
        }
    }

    /// The texts of a marker without a name in it.
    fn plain(&mut self, place: &str, key: &str, anchor: &Anchor) -> Vec<String> {
        let texts = self.texts(place, key, anchor);
        if texts.iter().any(|text| text.hole.is_some()) {
            self.wrong(&format!("{place}.{key}_pattern"), "there is a name in this marker", "remove the group");
        }
        texts.into_iter().map(|text| text.before).filter(|text| !text.is_empty()).collect()
    }

    /// Puts the first text of a marker into the spec, and the others among its alternatives.
    fn put(&mut self, key: MarkerKey, texts: Vec<String>, set: impl FnOnce(&mut FormatSpec, String)) {
        let mut texts = texts.into_iter();
        set(&mut self.spec, texts.next().unwrap_or_default());
        let others: Vec<String> = texts.collect();
        if !others.is_empty() {
            self.spec.alternatives.insert(key, others);
        }
    }

    fn anchor(&mut self, anchor: &Anchor) {
        // `$`: the output begins where the prompt ends.
        let texts: Vec<String> = match anchor.pattern.node() {
            Node::Assertion(_) | Node::Look { .. } => Vec::new(),
            _ => self.plain("", "start_anchor", anchor),
        };
        let start = texts.into_iter().next().unwrap_or_default();
        let prompt = GenerationPrompt { thinking: None, text: start.clone(), starts_in: StartsIn::Content };
        self.spec.generation_prompt = vec![prompt];
        self.spec.turn.assistant_start = start;
    }

    fn reasoning(&mut self, place: &str, field: &Field) {
        self.text_only(place, field);
        self.spec.reasoning.mode = ReasoningMode::TagBased;
        self.spec.capabilities.reasoning = true;
        match &field.open {
            // Reasoning that is open from the start, or as soon as its end is seen.
            None => {}
            Some(Anchor { pattern, .. })
                if matches!(pattern.node(), Node::Look { ahead: true, negative: false, .. }) => {}
            Some(open) => {
                let texts = self.plain(place, "open", open);
                self.put(MarkerKey::ReasoningStart, texts, |spec, text| spec.reasoning.start = text);
            }
        }
        match &field.close {
            Some(close) => {
                // What is only looked at is read by the next field: a call.
                let is_look = |part: &Node| matches!(part, Node::Look { ahead: true, negative: false, .. });
                self.spec.reasoning.ended_by_call =
                    matches!(close.pattern.node(), Node::Choice(parts) if parts.iter().any(is_look));
                let texts = self.plain(place, "close", close);
                self.put(MarkerKey::ReasoningEnd, texts, |spec, text| spec.reasoning.end = text);
            }
            None => self.wrong(place, "the reasoning has no end", "add `close`"),
        }
    }

    fn content(&mut self, place: &str, field: &Field) {
        self.text_only(place, field);
        let close = field.close.as_ref().map(|close| self.plain(place, "close", close)).unwrap_or_default();
        match &field.open {
            None => self.put(MarkerKey::TurnEnd, close, |spec, text| spec.turn.end = text),
            Some(open) => {
                let open = self.plain(place, "open", open);
                self.spec.content.mode = ContentMode::AlwaysWrapped;
                self.put(MarkerKey::ContentStart, open, |spec, text| spec.content.start = text);
                self.put(MarkerKey::ContentEnd, close, |spec, text| spec.content.end = text);
            }
        }
    }

    fn text_only(&mut self, place: &str, field: &Field) {
        if !matches!(field.content, Content::Text { .. }) || field.transform.is_some() {
            self.wrong(place, "this is no plain text", "use `text` without a transform");
        }
    }

    fn calls(&mut self, place: &str, field: &Field) {
        let can = &mut self.spec.capabilities;
        (can.tools, can.tool_calls, can.object_arguments) = (true, true, true);
        can.parallel_tool_calls = field.repeats || field.transform_each;
        let Some(open) = &field.open else {
            return self.wrong(place, "calls have no marker at their start", "add `open`");
        };
        let opens = self.texts(place, "open", open);
        let mut opens = opens;
        if opens.iter().any(|text| text.before.is_empty() && text.hole.is_none()) && !begins_json(open.pattern.node()) {
            let cause =
                "the pattern is no marker: it only looks at the text around it, which is not the beginning of JSON";
            return self.wrong(&format!("{place}.open_pattern"), cause, "write the marker as a text");
        }
        let mut closes = field.close.as_ref().map(|close| self.plain(place, "close", close)).unwrap_or_default();
        // A marker that may be missing before the first call, or after the last one, belongs to all of them.
        if let [first, second] = opens.as_slice() {
            let (long, short) =
                if first.before.len() > second.before.len() { (first, second) } else { (second, first) };
            if let (true, Some(section)) = (long.hole == short.hole, long.before.strip_suffix(short.before.as_str())) {
                section.clone_into(&mut self.spec.tools.section_start);
                opens = vec![short.clone()];
            }
        }
        if let [first, second] = closes.as_slice() {
            let (long, short) = if first.len() > second.len() { (first, second) } else { (second, first) };
            if let Some(section) =
                long.strip_prefix(short.as_str()).filter(|_| !self.spec.tools.section_start.is_empty())
            {
                section.clone_into(&mut self.spec.tools.section_end);
                closes = vec![short.clone()];
            }
        }
        let Some(first) = opens.first().cloned() else { return };
        let Some((name, arguments)) = field.transform.as_ref().and_then(members) else {
            let next = "write {\"function\": {\"name\": …, \"arguments\": …}} with placeholders";
            return self.wrong(&format!("{place}.transform"), "it does not make a call of a name and arguments", next);
        };
        match (&field.content, first.hole) {
            (Content::Json(json), None)
                if !json.unquoted_keys
                    && json.string_delims.is_empty()
                    && (field.transform_each || name.first().is_some_and(|first| first == "content")) =>
            {
                self.native(place, field, &name, &arguments);
                let (start, end) = if field.transform_each {
                    (MarkerKey::SectionStart, MarkerKey::SectionEnd)
                } else {
                    (MarkerKey::CallStart, MarkerKey::CallEnd)
                };
                let is_array = field.transform_each;
                let texts = opens.into_iter().map(|text| text.before).collect();
                self.put(start, texts, |spec, text| match is_array {
                    true => spec.tools.section_start = text,
                    false => spec.tools.per_call_start = text,
                });
                self.put(end, closes, |spec, text| match is_array {
                    true => spec.tools.section_end = text,
                    false => spec.tools.per_call_end = text,
                });
            }
            (content, Some((capture, after))) if name == [capture.clone()] && arguments == ["content"] => {
                self.spec.tools.per_call_start = first.before;
                self.spec.tools.function.name_suffix = after;
                if let Some(other) = opens.get(1) {
                    let cause = format!("the marker is also {:?}, and a spec has one around a name", other.before);
                    self.wrong(place, cause, "leave one of them out");
                }
                self.put(MarkerKey::CallEnd, closes, |spec, text| spec.tools.per_call_end = text);
                self.named(place, content);
            }
            _ => {
                let next = "take it from the JSON, or from a named group of `open_pattern`";
                self.wrong(place, "it is not clear where the name of a call is", next);
            }
        }
    }

    /// Calls that are JSON, with their name in it.
    fn native(&mut self, place: &str, field: &Field, name: &[String], arguments: &[String]) {
        let tools = &mut self.spec.tools;
        tools.format = ToolFormat::JsonNative;
        tools.tools_array_wrapped = field.transform_each;
        let inside = |path: &[String]| match field.transform_each {
            true => path.to_vec(),
            false => path.iter().skip(1).cloned().collect(),
        };
        match (inside(name).as_slice(), inside(arguments).as_slice()) {
            ([name], [arguments]) => {
                (tools.name_field, tools.args_field) = (name.clone(), arguments.clone());
            }
            ([outer, name], [other, arguments]) if outer == other => {
                tools.function_field.clone_from(outer);
                (tools.name_field, tools.args_field) = (name.clone(), arguments.clone());
            }
            _ => self.wrong(place, "name and arguments are in different objects", "no spec can say this"),
        }
        let tools = &mut self.spec.tools;
        tools.parameter_order = vec![tools.name_field.clone(), tools.args_field.clone()];
    }

    /// Calls whose name is in the marker before them.
    fn named(&mut self, place: &str, content: &Content) {
        let tools = &mut self.spec.tools;
        match content {
            Content::Json(json) if !json.unquoted_keys && json.string_delims.is_empty() => {
                tools.format = ToolFormat::TagWithJson;
            }
            Content::Json(json) if json.unquoted_keys => {
                tools.format = ToolFormat::CallExpression;
                tools.function.name_suffix.push('{');
                "}".clone_into(&mut tools.function.close);
                ":".clone_into(&mut tools.arguments.name_suffix);
                ",".clone_into(&mut tools.arguments.separator);
                match json.string_delims.as_slice() {
                    [] => {}
                    [(open, close, _)] if open == close => tools.arguments.quote.clone_from(open),
                    _ => self.wrong(place, "strings have different quotes", "no spec can say this"),
                }
            }
            Content::XmlInline(args) => match tag(args.tag_pattern.pattern.node()) {
                Ok(tag) => {
                    tools.format = ToolFormat::TagWithTagged;
                    tools.arguments.name_prefix = tag.before;
                    tools.arguments.name_suffix = tag.between;
                    tools.arguments.value_prefix = if tag.space_before { "\n".to_owned() } else { String::new() };
                    let space = if tag.space_after { "\n" } else { "" };
                    tools.arguments.value_suffix = format!("{space}{}", tag.after);
                }
                Err(cause) => {
                    let place = format!("{place}.content_args.tag_pattern");
                    self.wrong(&place, cause, "write it as texts around the groups `key` and `value`");
                }
            },
            other => {
                let cause = format!("no spec has arguments written as `{}`", other.name());
                self.wrong(place, cause, "no spec can say this");
            }
        }
    }
}

/// Whether a pattern without a text of its own looks ahead at the beginning of an object or a list.
fn begins_json(node: &Node) -> bool {
    let is_bracket = |node: &Node| matches!(node, Node::Char('{' | '['));
    let first = |node: &Node| match node {
        Node::Sequence(parts) => parts.first().is_some_and(is_bracket),
        other => is_bracket(other),
    };
    match node {
        Node::Look { ahead: true, negative: false, .. } => node.parts().iter().any(first),
        Node::Sequence(parts) => parts.iter().any(begins_json),
        Node::Choice(parts) => parts.iter().all(begins_json),
        _ => false,
    }
}

/// The placeholders of a transform's name and arguments.
fn members(transform: &Transform) -> Option<(Vec<String>, Vec<String>)> {
    let path = |name: &String, keys: &Vec<String>| [std::slice::from_ref(name), keys].concat();
    let member = |entries: &[(String, Transform)], key: &str| {
        entries.iter().find(|(name, _)| name == key).map(|(_, transform)| transform.clone())
    };
    let Transform::Dict(entries) = transform else { return None };
    match member(entries, "function")? {
        // The region is an object with both.
        Transform::Placeholder(name, keys) => {
            let with = |key: &str| [path(&name, &keys), vec![key.to_owned()]].concat();
            Some((with("name"), with("arguments")))
        }
        Transform::Dict(entries) => match (member(&entries, "name")?, member(&entries, "arguments")?) {
            (Transform::Placeholder(name, keys), Transform::Placeholder(arguments, more)) => {
                Some((path(&name, &keys), path(&arguments, &more)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The texts around the groups of a tag pattern.
#[derive(Default)]
struct Tag {
    before: String,
    between: String,
    after: String,
    space_before: bool,
    space_after: bool,
}

/// Takes a tag pattern apart. What is looked for after the tag only says where a value ends.
fn tag(node: &Node) -> Result<Tag, String> {
    let Node::Sequence(parts) = node else { return Err("it is no sequence of texts and groups".to_owned()) };
    let mut tag = Tag::default();
    let mut seen = 0;
    for (number, part) in parts.iter().enumerate() {
        match part {
            Node::Capture(Some(name), _) if name == "key" && seen == 0 => seen = 1,
            Node::Capture(Some(name), _) if name == "value" && seen == 1 => seen = 2,
            Node::Look { ahead: true, negative: false, .. } if seen == 2 && number + 1 == parts.len() => {}
            part => {
                let texts = expansions(part)?;
                let [text] = texts.as_slice() else { return Err("a part of it is one of several texts".to_owned()) };
                let is_space = text.before.is_empty() && text.has_optional_space
                    || !text.before.is_empty() && text.before.trim().is_empty();
                let beside_value =
                    |at: Option<&Node>| matches!(at, Some(Node::Capture(Some(name), _)) if name == "value");
                tag.space_before |= is_space && beside_value(parts.get(number + 1));
                tag.space_after |= is_space && number > 0 && beside_value(parts.get(number - 1));
                let segment = match seen {
                    0 => &mut tag.before,
                    1 => &mut tag.between,
                    _ => &mut tag.after,
                };
                let is_inside = matches!(parts.get(number + 1), Some(next) if !matches!(next, Node::Capture(..)));
                match is_space {
                    false => segment.push_str(&text.before),
                    true if is_inside && !segment.is_empty() => segment.push('\n'),
                    true => {}
                }
            }
        }
    }
    if seen < 2 || tag.after.is_empty() {
        return Err("it needs the groups `key` and `value`, and a text after the value".to_owned());
    }
    Ok(tag)
}
