//! Reads a response template from JSON and reports everything that is wrong with it, each with its place.
//!
//! Whatever transformers refuses when it loads a template is refused here. Some mistakes that it notices only when a region is
//! read, or never, are refused too: unknown arguments of a content parser, values of a wrong type, a tag pattern without its
//! groups.

use serde_json::{Map, Value as Json};

use super::pattern::{Pattern, SyntaxError};
use super::problem::{Problem, Problems};
use super::schema::{Anchor, Content, Field, JsonArgs, KvArgs, ResponseTemplate, XmlArgs};
use super::transform;
use super::value::Dict;

/// The names of the content parsers.
const CONTENTS: [&str; 8] = ["text", "int", "float", "bool", "json", "xml-inline", "kv-lines", "python-call-list"];

const FIELD_KEYS: [&str; 11] = [
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

impl ResponseTemplate {
    /// Reads a template, and checks that nothing in it is unknown or contradicts itself.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its place.
    ///
    /// ```
    /// use unjinja_export::response_template::ResponseTemplate;
    ///
    /// let json = serde_json::json!({"start_anchor": "<a>", "fields": {"content": {"clsoe": "<e>"}}});
    /// let problems = ResponseTemplate::from_json(&json).unwrap_err();
    /// assert_eq!(
    ///     problems.to_string(),
    ///     "fields.content.clsoe: this key is not known; the keys here are open, open_pattern, close, close_pattern, \
    ///      content, content_args, repeats, join, optional, transform, transform_each"
    /// );
    /// ```
    pub fn from_json(json: &Json) -> Result<Self, Problems> {
        let mut load = Load::default();
        match (load.template(json), load.problems.is_empty()) {
            (Some(template), true) => Ok(template),
            _ => Err(Problems(load.problems)),
        }
    }
}

#[derive(Default)]
struct Load {
    problems: Vec<Problem>,
}

/// The path of a key in a table.
fn join(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

fn type_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

impl Load {
    fn wrong<T>(
        &mut self,
        place: impl Into<String>,
        cause: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Option<T> {
        self.problems.push(Problem { place: place.into(), cause: cause.into(), next_step: next_step.into() });
        None
    }

    fn object<'j>(&mut self, place: &str, json: &'j Json) -> Option<&'j Map<String, Json>> {
        match json {
            Json::Object(map) => Some(map),
            other => self.wrong(place, format!("this is {}", type_of(other)), "it must be an object"),
        }
    }

    fn known(&mut self, place: &str, map: &Map<String, Json>, known: &[&str]) {
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let next = match known {
                [] => "nothing may be here".to_owned(),
                known => format!("the keys here are {}", known.join(", ")),
            };
            self.wrong::<()>(join(place, key), "this key is not known", next);
        }
    }

    fn bool(&mut self, place: &str, map: &Map<String, Json>, key: &str, default: bool) -> bool {
        match map.get(key) {
            None => default,
            Some(Json::Bool(value)) => *value,
            Some(other) => {
                self.wrong::<()>(join(place, key), format!("this is {}", type_of(other)), "it must be true or false");
                default
            }
        }
    }

    fn string(&mut self, place: &str, map: &Map<String, Json>, key: &str) -> Option<String> {
        match map.get(key)? {
            Json::String(text) => Some(text.clone()),
            other => self.wrong(join(place, key), format!("this is {}", type_of(other)), "it must be a string"),
        }
    }

    fn template(&mut self, json: &Json) -> Option<ResponseTemplate> {
        let map = self.object("", json)?;
        self.known("", map, &["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"]);
        if let Some(version) = map.get("version").filter(|version| version.as_f64() != Some(1.0)) {
            self.wrong::<()>("version", format!("version {version} is not known"), "the only version is 1");
        }
        let defaults = match map.get("defaults") {
            Some(json) => self.object("defaults", json).map(Dict::from).unwrap_or_default(),
            None => Dict::default(),
        };
        let start_anchor = self.anchor("", map, "start_anchor", "start_anchor_pattern");
        if start_anchor.is_none() && !map.contains_key("start_anchor") && !map.contains_key("start_anchor_pattern") {
            let next = "add the text that begins the assistant's turn in the prompt";
            self.wrong::<()>("", "`start_anchor` and `start_anchor_pattern` are both missing", next);
        }
        let fields = match map.get("fields") {
            Some(json) => self.object("fields", json)?,
            None => return self.wrong("fields", "there are no fields", "add at least one"),
        };
        if fields.is_empty() {
            return self.wrong("fields", "there are no fields", "add at least one");
        }
        let fields: Vec<Field> = fields.iter().filter_map(|(name, json)| self.field(name, json)).collect();
        let without: Vec<usize> = (0..fields.len()).filter(|at| fields[*at].open.is_none()).collect();
        if without.len() > 1 && self.problems.is_empty() {
            let names: Vec<&str> = without.iter().map(|at| fields[*at].name.as_str()).collect();
            let cause = format!(
                "{} have no marker at their start, so it is not clear which takes the rest",
                names.join(" and ")
            );
            self.wrong::<()>("fields", cause, "give all but one of them `open` or `open_pattern`");
        }
        Some(ResponseTemplate { defaults, start_anchor: start_anchor?, fields, implicit: without.first().copied() })
    }

    /// A marker; `None` if it is absent, or wrong, which is then reported.
    fn anchor(&mut self, place: &str, map: &Map<String, Json>, literal: &str, pattern: &str) -> Option<Anchor> {
        match (map.get(literal), map.get(pattern)) {
            (Some(_), Some(_)) => {
                self.wrong(join(place, pattern), format!("`{literal}` is there too"), "remove one of them")
            }
            (Some(json), None) => self.literals(&join(place, literal), json),
            (None, Some(_)) => {
                let text = self.string(place, map, pattern)?;
                let compiled = Pattern::of_marker(&text);
                self.pattern(&join(place, pattern), &text, compiled)
            }
            (None, None) => None,
        }
    }

    fn literals(&mut self, place: &str, json: &Json) -> Option<Anchor> {
        let items = match json {
            Json::String(_) => std::slice::from_ref(json),
            Json::Array(items) if items.is_empty() => return self.wrong(place, "the list is empty", "add a text"),
            Json::Array(items) => items,
            other => {
                return self.wrong(
                    place,
                    format!("this is {}", type_of(other)),
                    "it must be a string or a list of strings",
                );
            }
        };
        let mut literals: Vec<String> = Vec::new();
        for item in items {
            match item {
                Json::String(text) if text.is_empty() => {
                    return self.wrong(place, "a text is empty", "write the marker");
                }
                Json::String(text) if literals.contains(text) => {}
                Json::String(text) => literals.push(text.clone()),
                other => return self.wrong(place, format!("an item is {}", type_of(other)), "it must be a string"),
            }
        }
        let can_extend = literals.iter().any(|a| literals.iter().any(|b| a != b && a.starts_with(b.as_str())));
        match Pattern::of_literals(&literals) {
            Ok(pattern) => Some(Anchor { literals: Some(literals), pattern, can_extend }),
            Err(error) => self.wrong(place, error.cause, "shorten the texts"),
        }
    }

    fn pattern(&mut self, place: &str, text: &str, compiled: Result<Pattern, SyntaxError>) -> Option<Anchor> {
        match compiled {
            Ok(pattern) => Some(Anchor { literals: None, pattern, can_extend: false }),
            Err(error) => {
                let cause = format!("{} (character {} of the pattern)", error.cause, error.column);
                self.wrong(place, cause, format!("correct the pattern {text:?}"))
            }
        }
    }

    fn field(&mut self, name: &str, json: &Json) -> Option<Field> {
        let place = &join("fields", name);
        let map = self.object(place, json)?;
        let before = self.problems.len();
        self.known(place, map, &FIELD_KEYS);
        let open = self.anchor(place, map, "open", "open_pattern");
        let close = self.anchor(place, map, "close", "close_pattern");
        let parser = map.get("content").cloned().unwrap_or_else(|| Json::from("text"));
        let empty = Map::new();
        let args = match map.get("content_args") {
            Some(json) => self.object(&join(place, "content_args"), json),
            None => Some(&empty),
        };
        let content = args.and_then(|args| self.content((place, "content", "content_args"), &parser, args));
        let repeats = self.bool(place, map, "repeats", false);
        let join_text = self.string(place, map, "join");
        if join_text.is_some() && !repeats {
            self.wrong::<()>(join(place, "join"), "only what repeats is joined", "add `\"repeats\": true`");
        }
        let transform = map.get("transform").filter(|json| !json.is_null());
        let transform_each = self.bool(place, map, "transform_each", false);
        if transform_each && transform.is_none() {
            self.wrong::<()>(join(place, "transform_each"), "there is no `transform`", "add one");
        }
        let transform = transform.and_then(|json| match transform::from_json(json) {
            Ok(transform) => Some(transform),
            Err(text) => self.wrong(
                join(place, "transform"),
                format!("{text:?} has text next to its placeholder"),
                "a string must be one placeholder, or have none",
            ),
        });
        let names: Vec<&str> = [&open, &close]
            .into_iter()
            .flatten()
            .flat_map(|anchor| anchor.pattern.names())
            .map(String::as_str)
            .collect();
        if transform.is_none() && !names.is_empty() {
            let cause = format!(
                "the named groups of its markers ({}) reach the message only by a `transform`",
                names.join(", ")
            );
            self.wrong::<()>(place, cause, "add one, or remove the names");
        }
        if self.problems.len() > before {
            return None;
        }
        Some(Field {
            name: name.to_owned(),
            open,
            close,
            content: content?,
            repeats,
            join: join_text,
            optional: self.bool(place, map, "optional", true),
            transform,
            transform_each,
        })
    }

    /// A content parser. `keys` are the place of its table and the keys of its name and its arguments there.
    fn content(&mut self, keys: (&str, &str, &str), name: &Json, args: &Map<String, Json>) -> Option<Content> {
        let (table, name_key, args_key) = keys;
        let name_place = join(table, name_key);
        let place = &join(table, args_key);
        let next = format!("there are {}", CONTENTS.join(", "));
        let Json::String(name) = name else {
            return self.wrong(name_place, format!("this is {}", type_of(name)), next);
        };
        let strip = |load: &mut Self| load.bool(place, args, "strip", true);
        let content = match name.as_str() {
            "text" | "int" | "float" | "bool" => {
                self.known(place, args, &["strip"]);
                let strip = strip(self);
                match name.as_str() {
                    "text" => Content::Text { strip },
                    "int" => Content::Int { strip },
                    "float" => Content::Float { strip },
                    _ => Content::Bool { strip },
                }
            }
            "json" => {
                self.known(place, args, &["unquoted_keys", "string_delims", "allow_non_json", "strip"]);
                Content::Json(JsonArgs {
                    unquoted_keys: self.bool(place, args, "unquoted_keys", false),
                    string_delims: self.string_delims(place, args)?,
                    allow_non_json: self.bool(place, args, "allow_non_json", false),
                    strip: strip(self),
                })
            }
            "xml-inline" => {
                self.known(place, args, &["tag_pattern", "value_parser", "merge_duplicates"]);
                if !args.contains_key("tag_pattern") {
                    return self.wrong(place.as_str(), "`tag_pattern` is missing", "add it");
                }
                let text = self.string(place, args, "tag_pattern")?;
                let compiled = Pattern::new(&text);
                let tag_pattern = self.pattern(&join(place, "tag_pattern"), &text, compiled)?;
                for group in ["key", "value"] {
                    if !tag_pattern.pattern.names().iter().any(|name| name == group) {
                        let cause = format!("there is no group called `{group}`");
                        self.wrong::<()>(join(place, "tag_pattern"), cause, format!("add `(?P<{group}>…)`"));
                    }
                }
                Content::XmlInline(Box::new(XmlArgs {
                    tag_pattern,
                    value_parser: self.value_parser(place, args)?,
                    merge_duplicates: self.bool(place, args, "merge_duplicates", false),
                }))
            }
            "kv-lines" => {
                self.known(place, args, &["line_sep", "kv_sep", "value_parser", "strip"]);
                let separator = |load: &mut Self, key: &str, default: &str| {
                    let text = load.string(place, args, key).unwrap_or_else(|| default.to_owned());
                    if text.is_empty() {
                        load.wrong::<()>(join(place, key), "the separator is empty", "write it");
                    }
                    text
                };
                Content::KvLines(Box::new(KvArgs {
                    line_sep: separator(self, "line_sep", "\n"),
                    kv_sep: separator(self, "kv_sep", ":"),
                    value_parser: self.value_parser(place, args)?,
                    strip: strip(self),
                }))
            }
            "python-call-list" => {
                self.known(place, args, &[]);
                Content::CallList
            }
            other => return self.wrong(name_place, format!("there is no content parser called {other:?}"), next),
        };
        Some(content)
    }

    fn string_delims(&mut self, place: &str, args: &Map<String, Json>) -> Option<Vec<(String, String, Pattern)>> {
        let Some(json) = args.get("string_delims") else { return Some(Vec::new()) };
        let place = &join(place, "string_delims");
        let next = "it must be a list of pairs: what opens and what closes a string";
        let Json::Array(pairs) = json else { return self.wrong(place, format!("this is {}", type_of(json)), next) };
        let mut delims = Vec::new();
        for pair in pairs {
            let pair: Option<Vec<&str>> = pair.as_array().and_then(|pair| pair.iter().map(Json::as_str).collect());
            let Some([open, close]) = pair.as_deref() else {
                return self.wrong(place, "an item is no pair of texts", next);
            };
            if open.is_empty() || close.is_empty() {
                return self.wrong(place, "a text is empty", next);
            }
            match Pattern::between(open, close) {
                Ok(pattern) => delims.push(((*open).to_owned(), (*close).to_owned(), pattern)),
                Err(error) => return self.wrong(place, error.cause, next),
            }
        }
        Some(delims)
    }

    /// `Some(None)` if it is absent; `None` if it is wrong.
    fn value_parser(&mut self, place: &str, args: &Map<String, Json>) -> Option<Option<Content>> {
        let place = &join(place, "value_parser");
        let Some(json) = args.get("value_parser").filter(|json| !json.is_null()) else { return Some(None) };
        let map = self.object(place, json)?;
        self.known(place, map, &["name", "args"]);
        let name = map.get("name").cloned().unwrap_or_else(|| Json::from("text"));
        let empty = Map::new();
        let args = match map.get("args") {
            Some(json) => self.object(&join(place, "args"), json)?,
            None => &empty,
        };
        self.content((place, "name", "args"), &name, args).map(Some)
    }
}
