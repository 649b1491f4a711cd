//! Imports the field of calls: where the name of a call is, and which markers are around it.

use unjinja_spec::{CallIdPosition, MarkerKey, REPEATED_NAME, ToolFormat};

use super::super::pattern::{Expansion, Node, Piece, expansions, is_digits};
use super::super::schema::{Content, Field, JsonArgs, Transform};
use super::{Import, header, tag};

/// What closes a call.
#[derive(Default)]
struct Closes {
    /// The markers, without those of the turn's end.
    texts: Vec<String>,
    /// The text of an id before the marker.
    id: Option<String>,
}

/// The texts between which a call's name is, of all that opens it.
struct Opens {
    /// The text before the name, without what only the first call or the next one has.
    start: String,
    /// The text before the first call.
    section: String,
    /// The text before each call but the first.
    separator: Option<String>,
    /// The marker, with the name and what follows it.
    marker: Expansion,
}

impl Import {
    /// `content` is the field of the answer: what closes it ends the turn.
    pub(super) fn calls(&mut self, place: &str, field: &Field, content: Option<&Field>) {
        let can = &mut self.spec.capabilities;
        (can.tools, can.tool_calls, can.object_arguments) = (true, true, true);
        can.parallel_tool_calls = field.repeats || field.transform_each;
        let Some(open) = &field.open else {
            return self.wrong(place, "calls have no marker at their start", "add `open`");
        };
        let opens = self.texts(place, "open", open);
        let is_unmarked = opens.iter().any(|text| text.pieces.iter().all(|piece| *piece == Piece::Space));
        if is_unmarked && !begins_json(open.pattern.node()) {
            let cause =
                "the pattern is no marker: it only looks at the text around it, which is not the beginning of JSON";
            return self.wrong(&format!("{place}.open_pattern"), cause, "write the marker as a text");
        }
        if opens.is_empty() {
            return;
        }
        let Some((name, arguments)) = field.transform.as_ref().and_then(members) else {
            let next = "write {\"function\": {\"name\": …, \"arguments\": …}} with placeholders";
            return self.wrong(&format!("{place}.transform"), "it does not make a call of a name and arguments", next);
        };
        let letters = opens.iter().flat_map(|open| &open.pieces).find_map(|piece| match piece {
            Piece::Name(_, letters) => letters.clone(),
            _ => None,
        });
        let ends = content.map(|content| self.ends(content)).unwrap_or_default();
        let Some(mut closes) = self.closes(place, field, letters.as_ref(), &ends) else { return };
        if is_unmarked {
            closes.texts.retain(|text| !is_end(text, &ends));
        }
        let hole = opens.iter().find_map(|open| open.name().map(str::to_owned));
        match (&field.content, hole) {
            (Content::CallList, None) if field.transform_each && name == ["name"] && arguments == ["arguments"] => {
                self.call_list(&opens, &closes);
            }
            (Content::Json(json), None)
                if !json.unquoted_keys
                    && is_json(json)
                    && (field.transform_each || name.first().is_some_and(|first| first == "content")) =>
            {
                self.native(place, field, &name, &arguments);
                self.spec.tools.uses_python_dicts = !json.string_delims.is_empty();
                self.around_json(place, field, &opens, closes);
            }
            (content, Some(capture)) if name == [capture.clone()] && arguments == ["content"] => {
                let Some(opens) = self.around_name(place, &opens) else { return };
                match content {
                    Content::Json(json) if is_json(json) && is_key(&opens.marker) => {
                        self.name_as_key(place, &opens, &closes)
                    }
                    Content::XmlInline(args) if is_python(&opens.marker, args.tag_pattern.pattern.node()) => {
                        self.python_calls(place, &opens, &closes, args.tag_pattern.pattern.node());
                    }
                    content => self.named(place, opens, closes, content),
                }
            }
            _ => {
                let next = "take it from the JSON, or from a named group of `open_pattern`";
                self.wrong(place, "it is not clear where the name of a call is", next);
            }
        }
    }

    /// The texts that close the answer, which end the turn. Problems are reported with the field of the answer.
    fn ends(&self, content: &Field) -> Vec<String> {
        let Some(close) = &content.close else { return Vec::new() };
        match &close.literals {
            Some(literals) => literals.clone(),
            None => expansions(close.pattern.node()).unwrap_or_default().iter().map(Expansion::text).collect(),
        }
    }

    /// What closes a call: `None` after a problem. `letters` are those of names.
    fn closes(&mut self, place: &str, field: &Field, letters: Option<&Node>, ends: &[String]) -> Option<Closes> {
        let mut out = Closes::default();
        let Some(close) = &field.close else { return Some(out) };
        let (mut texts, mut looks_ahead) = (self.texts(place, "close", close), false);
        if let Some(letters) = letters {
            texts.iter_mut().for_each(|text| text.repeat_names(letters));
        }
        for text in &texts {
            match (text.holes().as_slice(), text.texts().as_slice()) {
                ([], [text_of]) if text_of.is_empty() => looks_ahead |= text.looks_ahead,
                ([], [text_of]) if !out.texts.contains(text_of) => out.texts.push(text_of.clone()),
                ([], _) => {}
                ([Piece::Any(_)], [before, after]) if texts.len() == 1 => {
                    out.id = Some(before.clone());
                    out.texts.extend((!after.is_empty()).then(|| after.clone()));
                }
                _ => {
                    let place = format!("{place}.close_pattern");
                    self.wrong(
                        &place,
                        "a part of it may be repeated, and is no white space",
                        "write the marker as a text",
                    );
                    return None;
                }
            }
        }
        // What ends the turn closes a call that nothing else closed.
        if looks_ahead || !out.texts.iter().all(|text| is_end(text, ends)) {
            out.texts.retain(|text| !is_end(text, ends));
        }
        Some(out)
    }

    /// The markers around a name. Several markers are one that follows a section's start, or a text between calls.
    fn around_name(&mut self, place: &str, opens: &[Expansion]) -> Option<Opens> {
        let head = |open: &Expansion| open.texts().into_iter().next().unwrap_or_default();
        let (next, first): (Vec<&Expansion>, Vec<&Expansion>) = opens.iter().partition(|open| open.looks_behind);
        let marker = (*first.iter().min_by_key(|open| (open.texts().len(), head(open).len()))?).clone();
        let start = head(&marker);
        let is_same = |open: &&&Expansion| open.texts()[1..] == marker.texts()[1..];
        if first.iter().all(|open| is_same(&open)) && next.iter().all(|open| is_same(&open)) {
            let others = first.iter().filter(|open| head(open) != start);
            let before: Option<Vec<String>> =
                others.map(|open| head(open).strip_suffix(start.as_str()).map(str::to_owned)).collect();
            // Where only the next calls are told by what is before them, the rest of their text is the start of each call.
            let after = next.first().map(|open| common_suffix(&head(open), &start));
            match (before.as_deref(), after) {
                (Some([]), Some(common)) => {
                    let separator = head(next[0]).strip_suffix(common.as_str()).unwrap_or_default().to_owned();
                    let section = start.strip_suffix(common.as_str()).unwrap_or_default().to_owned();
                    return Some(Opens { start: common, section, separator: Some(separator), marker });
                }
                (Some([]), None) => {
                    return Some(Opens { start, section: String::new(), separator: None, marker });
                }
                (Some([section, separator @ ..]), None) if separator.len() < 2 => {
                    let (section, separator) = (section.clone(), separator.first().cloned());
                    return Some(Opens { start, section, separator, marker });
                }
                _ => {}
            }
        } else if let Some((header, marker)) = header::of_calls(opens).filter(|_| next.is_empty()) {
            let start = header.recipient.clone();
            self.spec.tools.arguments.start =
                format!("{}{}", header.calls.first().cloned().unwrap_or_default(), header.end);
            self.spec.content.header = header;
            return Some(Opens { start, section: String::new(), separator: None, marker });
        }
        let other = opens.iter().map(head).find(|other| *other != start).unwrap_or(start);
        let cause = format!("the marker is also {other:?}, and a spec has one around a name");
        self.wrong(place, cause, "leave one of them out");
        None
    }

    /// The markers around calls that are JSON.
    fn around_json(&mut self, place: &str, field: &Field, opens: &[Expansion], closes: Closes) {
        let is_array = field.transform_each;
        let (start, end) = match is_array {
            true => (MarkerKey::SectionStart, MarkerKey::SectionEnd),
            false => (MarkerKey::CallStart, MarkerKey::CallEnd),
        };
        // The name is written before the JSON as well.
        if let [open] = opens
            && let ([Piece::Any(_)], [before, after]) = (open.holes().as_slice(), open.texts().as_slice())
        {
            let tools = &mut self.spec.tools;
            (tools.per_call_start, tools.function.name_suffix) = (before.clone(), after.clone());
        } else if opens.iter().any(|open| !open.is_text()) {
            let place = format!("{place}.open_pattern");
            return self.wrong(
                &place,
                "a part of it may be repeated, and is no white space",
                "write the marker as a text",
            );
        } else {
            let mut texts: Vec<String> = opens.iter().map(Expansion::text).collect();
            texts.sort_by_key(String::len);
            if let ([short, long], false) = (texts.as_slice(), is_array)
                && let Some(section) = long.strip_suffix(short.as_str()).filter(|_| !short.is_empty())
            {
                // A marker that may be missing before the first call belongs to all of them.
                section.clone_into(&mut self.spec.tools.section_start);
                texts.pop();
            }
            self.put(start, texts, |spec, text| match is_array {
                true => spec.tools.section_start = text,
                false => spec.tools.per_call_start = text,
            });
        }
        let texts = self.section_end(closes.texts);
        self.put(end, texts, |spec, text| match is_array {
            true => spec.tools.section_end = text,
            false => spec.tools.per_call_end = text,
        });
    }

    /// Takes the end of all calls from a marker that closes the last one as well.
    fn section_end(&mut self, mut texts: Vec<String>) -> Vec<String> {
        if let ([_, _], false) = (texts.as_slice(), self.spec.tools.section_start.is_empty()) {
            texts.sort_by_key(String::len);
            if let Some(section) = texts[1].strip_prefix(texts[0].as_str()) {
                section.clone_into(&mut self.spec.tools.section_end);
                texts.pop();
            }
        }
        texts
    }

    /// A list of calls as in Python, which the content parser reads.
    fn call_list(&mut self, opens: &[Expansion], closes: &Closes) {
        let open = opens.first().map(Expansion::text).unwrap_or_default();
        let close = closes.texts.first().cloned().unwrap_or_default();
        self.spec.tools.section_start = format!("{open}[");
        self.spec.tools.section_end = format!("]{close}");
        self.python(", ");
    }

    /// Calls as in Python, one by one.
    fn python_calls(&mut self, place: &str, opens: &Opens, closes: &Closes, tag: &Node) {
        let ends: Option<Vec<&str>> =
            closes.texts.iter().map(|text| text.trim_start().strip_prefix(')').map(str::trim_start)).collect();
        let Some(ends) = ends else {
            return self.wrong(&format!("{place}.close_pattern"), "`)` does not close the call", "begin it with `\\)`");
        };
        let end = ends.into_iter().find(|end| !end.is_empty()).unwrap_or_default().to_owned();
        let separator = match opens.separator.as_deref().map(str::trim) {
            Some("") => "\n".to_owned(),
            Some(separator) => format!("{separator} "),
            None => String::new(),
        };
        self.spec.tools.section_start = format!("{}{}", opens.section, opens.start);
        self.spec.tools.section_end = end;
        self.python(&separator);
        if !matches!(tag, Node::Sequence(parts) if parts.iter().any(|part| matches!(part, Node::Look { ahead: true, .. })))
        {
            self.wrong(
                &format!("{place}.content_args.tag_pattern"),
                "nothing says where a value ends",
                "look ahead at `,`",
            );
        }
    }

    fn python(&mut self, separator: &str) {
        let tools = &mut self.spec.tools;
        tools.format = ToolFormat::CallExpression;
        "(".clone_into(&mut tools.function.name_suffix);
        ")".clone_into(&mut tools.function.close);
        "=".clone_into(&mut tools.arguments.name_suffix);
        ", ".clone_into(&mut tools.arguments.separator);
        separator.clone_into(&mut tools.separator);
    }

    /// The name of a call is the only key of its object.
    fn name_as_key(&mut self, place: &str, opens: &Opens, closes: &Closes) {
        let before = format!("{}{}", opens.section, opens.start);
        let before = before.trim_end().trim_end_matches('"').trim_end().trim_end_matches('{').trim_end();
        let end = closes.texts.iter().map(|text| text.trim_start().strip_prefix('}').map(str::trim));
        let Some(ends) = end.collect::<Option<Vec<&str>>>() else {
            return self.wrong(
                &format!("{place}.close_pattern"),
                "`}` does not close the object",
                "begin it with `\\}`",
            );
        };
        let end = ends.into_iter().find(|end| !end.is_empty()).unwrap_or_default();
        let tools = &mut self.spec.tools;
        (tools.format, tools.fun_name_is_key) = (ToolFormat::JsonNative, true);
        match before.strip_suffix('[') {
            Some(start) => {
                tools.tools_array_wrapped = true;
                start.trim_end().clone_into(&mut tools.section_start);
                end.strip_prefix(']').unwrap_or(end).trim().clone_into(&mut tools.section_end);
            }
            None => {
                before.clone_into(&mut tools.per_call_start);
                end.clone_into(&mut tools.per_call_end);
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
    fn named(&mut self, place: &str, opens: Opens, closes: Closes, content: &Content) {
        let Opens { start, section, separator, marker } = opens;
        let tools = &mut self.spec.tools;
        tools.section_start = section;
        if let Some(separator) = separator {
            tools.separator = separator;
        }
        let (holes, texts) = (marker.holes(), marker.texts());
        let id = &mut tools.call_id;
        match (holes.as_slice(), texts.as_slice()) {
            ([Piece::Name(..)], [_, after]) => {
                // White space alone separates the name from the arguments.
                let is_space = after.is_empty() && marker.pieces.last() == Some(&Piece::Space);
                tools.function.name_suffix = if is_space { "\n".to_owned() } else { after.clone() };
                tools.per_call_start = start;
            }
            ([Piece::Name(..), Piece::Any(letters)], [_, between, after]) => {
                tools.per_call_start = start;
                id.prefix.clear();
                match is_digits(letters) {
                    true => {
                        id.position = CallIdPosition::InName;
                        id.suffix.clone_from(between);
                        tools.function.name_suffix.clone_from(after);
                    }
                    false => {
                        id.position = CallIdPosition::BetweenFuncAndArgs;
                        (id.prefix, id.suffix) = (between.clone(), after.clone());
                    }
                }
            }
            ([Piece::Any(_), Piece::Name(..)], [_, between, after]) => {
                id.position = CallIdPosition::PreFuncName;
                (tools.per_call_start, id.suffix) = (start, between.clone());
                tools.function.name_suffix.clone_from(after);
            }
            _ => return self.wrong(place, "the marker of a call has several ids", "leave one of them out"),
        }
        if let Some(prefix) = closes.id {
            (tools.call_id.position, tools.call_id.prefix) = (CallIdPosition::PostArgs, prefix);
        }
        let texts = self.section_end(closes.texts);
        match texts.first().filter(|text| text.contains(REPEATED_NAME)) {
            Some(text) => self.spec.tools.function.close.clone_from(text),
            None => self.put(MarkerKey::CallEnd, texts, |spec, text| spec.tools.per_call_end = text),
        }
        self.arguments(place, content);
    }

    fn arguments(&mut self, place: &str, content: &Content) {
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
            Content::XmlInline(args) => match tag::arguments(args.tag_pattern.pattern.node()) {
                Ok(arguments) => {
                    tools.format = ToolFormat::TagWithTagged;
                    tools.arguments = arguments;
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

/// Whether a text ends the turn.
fn is_end(text: &str, ends: &[String]) -> bool {
    ends.iter().any(|end| !end.trim().is_empty() && end.trim() == text.trim())
}

/// Whether strings have the quotes of JSON, or those of Python as well.
fn is_json(json: &JsonArgs) -> bool {
    json.string_delims.iter().all(|(open, close, _)| open == "'" && close == "'") && !json.unquoted_keys
}

/// Whether the name is a key of JSON: `{"NAME":`.
fn is_key(marker: &Expansion) -> bool {
    let texts = marker.texts();
    let [before, after] = texts.as_slice() else { return false };
    before.trim_end().strip_suffix('"').is_some_and(|before| before.trim_end().ends_with('{'))
        && after.trim_start().strip_prefix('"').is_some_and(|after| after.trim() == ":")
}

/// Whether a call is written as in Python, and a pattern reads its arguments.
fn is_python(marker: &Expansion, tag: &Node) -> bool {
    let Node::Sequence(parts) = tag else { return false };
    let is_group = |part: &Node, group: &str| matches!(part, Node::Capture(Some(name), _) if name == group);
    let between = |parts: &[Node]| {
        let value = parts.iter().position(|part| is_group(part, "value"))?;
        let texts = expansions(&Node::Sequence(parts[1..value].to_vec())).ok()?;
        texts.first().map(|text| text.text())
    };
    marker.texts().last().is_some_and(|after| after.trim() == "(")
        && parts.first().is_some_and(|part| is_group(part, "key"))
        && between(parts).is_some_and(|text| text.trim() == "=")
}

/// The longest text with which both end.
fn common_suffix(a: &str, b: &str) -> String {
    let pairs = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b);
    let mut suffix: Vec<char> = pairs.map(|(char, _)| char).collect();
    suffix.reverse();
    suffix.into_iter().collect()
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
