//! Which fields of a request are passed on to the upstream: those that say how to sample, and those that the operator names. A server has
//! fields that do more, such as reading from a host of the client's choice.

use axum::body::Body;
use axum::http::{HeaderValue, Response};
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::request::names;
use crate::request_value::shortened;

/// Settings of samplers, by the names that vLLM, SGLang, TGI and llama.cpp have for them.
const KNOWN: &str = "temperature top_p top_k min_p top_a top_n_sigma typical typical_p tfs_z epsilon_cutoff eta_cutoff seed \
    presence_penalty frequency_penalty repetition_penalty repeat_penalty repeat_last_n no_repeat_ngram_size \
    length_penalty penalize_nl logit_bias bad_words allowed_token_ids stop_token_ids ignore_eos min_tokens \
    min_new_tokens dynatemp_range dynatemp_exponent dry_multiplier dry_base dry_allowed_length \
    dry_penalty_last_n dry_sequence_breakers xtc_probability xtc_threshold mirostat mirostat_tau mirostat_eta \
    samplers thinking_token_budget";

/// Refuses settings that are neither known nor named by the operator: one that is dropped may change what the request means.
pub(crate) fn check(settings: &Map<String, Value>, named: &[String]) -> Result<(), ApiError> {
    let is_unknown = |field: &&str| !names(KNOWN, field) && !named.iter().any(|name| name == field);
    let mut unknown = settings.keys().map(String::as_str).filter(is_unknown).peekable();
    let Some(first) = unknown.peek().map(|first| shortened(first)) else { return Ok(()) };
    let shown = listed(unknown);
    let cause = format!("not known here, and the answer may depend on it ({shown})");
    let next = "leave it out, or ask the operator for --pass-field or --ignore-field";
    Err(ApiError::unsupported(first, cause, next))
}

/// Takes out of a request what the operator wants to be left out: fields, or members of them (`output_config.task_budget`). Returns what
/// there was.
pub(crate) fn leave_out(request: &mut Value, named: &[String]) -> Vec<String> {
    let mut is_there = |name: &&String| {
        let (parents, last) = name.rsplit_once('.').unwrap_or(("", name));
        let mut parents = parents.split('.').filter(|parent| !parent.is_empty());
        let holder = parents.try_fold(&mut *request, |holder, key| holder.get_mut(key));
        holder.and_then(Value::as_object_mut).is_some_and(|holder| holder.shift_remove(last).is_some())
    };
    named.iter().filter(|name| is_there(name)).cloned().collect()
}

/// Takes out of the settings what is neither known nor named by the operator. Returns the names of what was taken out.
pub(crate) fn keep(settings: &mut Map<String, Value>, named: &[String]) -> Vec<String> {
    let goes_on = |field: &str| names(KNOWN, field) || named.iter().any(|name| name == field);
    let dropped: Vec<String> = settings.keys().filter(|field| !goes_on(field)).cloned().collect();
    settings.retain(|field, _| goes_on(field));
    dropped
}

/// How many names a header or an error has.
const NAMED: usize = 16;

/// Names in one line, each without its end if it is long. `...` says that there are more.
pub(crate) fn listed(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut names = names.into_iter();
    let mut some: Vec<String> = names.by_ref().take(NAMED).map(|name| shortened(name.as_ref()).to_owned()).collect();
    some.extend(names.next().map(|_| "...".to_owned()));
    some.join(", ")
}

/// Names something in a header of a response.
pub(crate) fn tell(response: &mut Response<Body>, header: &'static str, names: &[String]) {
    let in_header = |c: char| if c.is_ascii_alphanumeric() || "_-.:".contains(c) { c } else { '_' };
    let named = listed(names.iter().map(|name| shortened(name).chars().map(in_header).collect::<String>()));
    if let Ok(value) = HeaderValue::from_str(&named)
        && !names.is_empty()
    {
        response.headers_mut().insert(header, value);
    }
}

/// What the headers of a response tell about the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// The fields that were left out.
    pub ignored: Vec<String>,
    /// The types of tools that the model was not told of.
    pub ignored_tools: Vec<String>,
    /// What the conversation hands over and the prompt lacks.
    pub missing: Vec<String>,
    /// Where system messages in the middle of the conversation are in the prompt.
    pub system: Option<&'static str>,
    /// An answer has no call, and the request demands one. A stream knows it only at its end.
    pub missing_call: bool,
}

impl Told {
    pub(crate) fn write(&self, response: &mut Response<Body>) {
        tell(response, "x-unjinja-ignored-fields", &self.ignored);
        tell(response, "x-unjinja-ignored-tools", &self.ignored_tools);
        tell(response, "x-unjinja-missing", &self.missing);
        if let Some(place) = self.system {
            response.headers_mut().insert("x-unjinja-system-messages", HeaderValue::from_static(place));
        }
        if self.missing_call {
            response.headers_mut().insert("x-unjinja-missing-call", HeaderValue::from_static("true"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_known_and_named_fields_go_on() {
        let fields = json!({"temperature": 0.5, "kv_transfer_params": {"host": "x"}, "own_field": 1});
        let mut settings = fields.as_object().cloned().unwrap_or_default();
        assert_eq!(keep(&mut settings, &["own_field".to_owned()]), ["kv_transfer_params"]);
        assert_eq!(Value::Object(settings), json!({"temperature": 0.5, "own_field": 1}));
    }

    #[test]
    fn a_header_has_any_name_and_says_that_there_are_more() {
        let mut response = Response::new(Body::empty());
        let names: Vec<String> =
            std::iter::once("tool:é, b".to_owned()).chain((0..16).map(|_| "x".repeat(99))).collect();
        tell(&mut response, "x-names", &names);
        let expected = format!("tool:___b, {}...", format!("{}, ", "x".repeat(80)).repeat(15));
        assert_eq!(response.headers()["x-names"], expected);
        let long = Map::from_iter([("é".repeat(99), Value::Null)]);
        let error = check(&long, &[]).unwrap_err();
        assert_eq!(error.param(), Some(&*"é".repeat(80)));
        assert_eq!(error.message().matches('é').count(), 160);
    }

    #[test]
    fn the_operator_names_what_is_left_out() {
        let mut request = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": 4});
        let named = ["a", "b.c", "b.x", "e.f", "g"].map(str::to_owned);
        assert_eq!(leave_out(&mut request, &named), ["a", "b.c"]);
        assert_eq!(request, json!({"b": {"d": 3}, "e": 4}));
    }
}
