//! Serves one request: reads it, renders the prompt, and asks the upstream.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::Response;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use unjinja_dynamic::MissingKind;

use super::budget::{HeldBody, estimate};
use super::choices::Choices;
use super::config::{Config, MissingParts};
use super::deliver::{Begun, report, streamed, whole};
use super::encoded::encoded;
use super::fields::{self, Told};
use super::guarantees::{Constraint, constrain, refused as not_rendered};
use super::guard::{Guard, Trace};
use super::log::{LogLine, SPELLED, SPELLED_AS_TEXT};
use super::memory::Named;
use super::models::ServedModel;
use super::refusal::{Refusal, json_response, refused};
use super::reply::{Api, Reply, ReplyOptions, Responses};
use super::spelled;
use super::state::State;
use super::turn::TurnReader;
use super::upstream::{Ask, AskedIds};
use crate::anthropic::MessagesRequest;
use crate::error::ApiError;
use crate::openai::ChatRequest;
use crate::prepare::Prepared;
use crate::request::Request;
use crate::request_value::parse;
use crate::responses::{CalledTools, ResponsesRequest};

/// A request that was read.
struct Asked {
    served: ServedModel,
    prepared: Prepared,
    include_usage: bool,
    responses: Option<Responses>,
    custom: CalledTools,
    told: Told,
}

/// Answers a request. The response may be streamed after this returns; `guard` goes with it.
pub(crate) async fn answer(state: Arc<State>, api: Api, guard: Guard, trace: Trace, body: HeldBody) -> Response<Body> {
    match begin(&state, api, guard.began(), trace, body).await {
        Err(refusal) => refused(api, guard, &refusal),
        Ok(begun) => {
            let mut guard = guard;
            guard.model_is(&begun.model);
            match begun.stream {
                true => streamed(state, api, guard, begun),
                false => whole(&state, api, guard, begun, Ok).await,
            }
        }
    }
}

/// Says of how many tokens the prompt of a request consists.
pub(crate) async fn count(state: Arc<State>, api: Api, guard: Guard, body: HeldBody) -> Response<Body> {
    match counted(&state, api, body).await {
        Err(refusal) => refused(api, guard, &refusal),
        Ok(tokens) => {
            guard.end(200, None, Duration::ZERO);
            let mut count = json!({"input_tokens": tokens});
            if api == Api::Responses {
                count["object"] = "response.input_tokens".into();
            }
            json_response(count.to_string())
        }
    }
}

async fn counted(state: &Arc<State>, api: Api, body: HeldBody) -> Result<u64, Refusal> {
    let ((mut value, named), room) = parsed(state, api, body.bytes).await?;
    let shared = state.clone();
    let (Asked { served, prepared, .. }, room) = aside(room, move || {
        // A count has no such field, and an answer needs it.
        if let Some(fields) = value.as_object_mut().filter(|_| api == Api::Anthropic) {
            fields.insert("max_tokens".to_owned(), 1.into());
        }
        read(&shared, api, value, named)
    })
    .await?;
    let adds_bos = state.upstream.adds_bos().await;
    let (shared, model) = (state.clone(), served.clone());
    let ((_, ask, _), _room) = aside(room, move || render(prepared, &model, adds_bos, &shared.config)).await?;
    if let Some(asked) = &ask.ids {
        return Ok(asked.ids.len() as u64);
    }
    let name = state.upstream.name_of(&ask.model, ask.any_name).await;
    let counted = state.upstream.count(&name, &ask.prompt, ask.adds_bos).await?;
    let missing = || ApiError::new(501, "the upstream does not say of how many tokens a text consists");
    Ok(counted.ok_or_else(missing)?)
}

/// Does everything up to the first piece, or for a stream up to where a client has to hear something.
pub(crate) async fn begin(
    state: &Arc<State>,
    api: Api,
    since: Instant,
    trace: Trace,
    body: HeldBody,
) -> Result<Begun, Refusal> {
    let ((value, named), room) = parsed(state, api, body.bytes).await?;
    let shared = state.clone();
    let (Asked { served, prepared, include_usage, responses, custom, mut told }, room) =
        aside(room, move || read(&shared, api, value, named)).await?;
    let adds_bos = state.upstream.adds_bos().await;
    let (shared, served_model) = (state.clone(), served.clone());
    let rendered = aside(room, move || render(prepared, &served_model, adds_bos, &shared.config)).await?;
    let ((prepared, mut ask, of_prompt), room) = rendered;
    drop(room);
    if let Some(asked) = ask.ids.as_ref().filter(|asked| asked.spelled > 0) {
        report(state, served.name(), SPELLED_AS_TEXT.to_owned());
        state.metrics.spelled.inc_by(asked.spelled as u64);
    }
    ask.trace = trace;
    let stream = prepared.stream;
    let (diagnostics, sampling) = (state.config.diagnostics, prepared.sampling);
    let (count, logprobs) = (sampling.choices, sampling.logprobs.is_some());
    let options = ReplyOptions { api, stream, include_usage, diagnostics, responses, custom, count, logprobs };
    let parsing = prepared.options.cut_calls(state.config.cut_calls);
    let input = ask.ids.as_ref().map(|asked| asked.ids.len() as u64);
    let turn = |reply| {
        let (options, stops) = (parsing.clone(), sampling.stop.clone());
        Some(TurnReader::new(&served, options, reply, stops, prepared.begun.is_some()).prompt_tokens(input))
    };
    let turns = Reply::all(options, &prepared.model, &prepared.call_ids).into_iter().map(turn).collect();
    let asked = (ask.model.clone(), ask.any_name);
    let mut choices = Choices::ask(state, ask, count);
    // An error has a status of its own, unless it takes long: then a stream begins without a word of the model.
    let first = match stream {
        true => timeout(state.config.timeouts.silence, choices.next()).await.ok().flatten(),
        false => choices.next().await,
    };
    if let Some(Err(trouble)) = first {
        state.metrics.upstream_error(trouble.kind);
        return Err(trouble.into());
    }
    let (model, pace) = (served.name().to_owned(), state.metrics.pace(served.name(), since));
    (told.system, told.missing) = (of_prompt.system, of_prompt.missing);
    Ok(Begun { model, asked, turns, choices, first, pace, stream, told })
}

/// What a request needs to be read and rendered.
pub(crate) type Room = Vec<OwnedSemaphorePermit>;

/// Does work that takes long for a long conversation or a large grammar: other answers continue meanwhile.
pub(crate) async fn aside<T: Send + 'static>(
    room: Room,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<(T, Room), ApiError> {
    let done = tokio::task::spawn_blocking(move || work().map(|done| (done, room)));
    done.await.map_err(|_| ApiError::new(500, "the prompt could not be made"))?
}

/// A request, and what it names of the conversation that is kept, with the room that both take.
pub(super) async fn parsed(
    state: &Arc<State>,
    api: Api,
    bytes: Bytes,
) -> Result<((Value, Option<Named>), Room), ApiError> {
    let (shared, room) = (state.clone(), state.budget.work(&bytes).await?);
    let (found, room) = aside(room, move || {
        let value = parse(&bytes)?;
        let longest = shared.config.limits.body;
        let named = if api == Api::Responses { shared.memory.named(&value, longest)? } else { None };
        let more = named.as_ref().map_or(0, Named::estimate);
        let all = if more == 0 { 0 } else { more.saturating_add(estimate(&bytes)) };
        Ok((value, named, all))
    })
    .await?;
    let (value, named, all) = found;
    if all == 0 {
        return Ok(((value, named), room));
    }
    // Given back first: two requests that wait for each other would never end.
    drop(room);
    Ok(((value, named), state.budget.room(all).await?))
}

/// Reads a request.
fn read(state: &State, api: Api, mut value: Value, named: Option<Named>) -> Result<Asked, ApiError> {
    let ignored = fields::leave_out(&mut value, &state.config.ignore_fields);
    let name = value.get("model").and_then(|name| name.as_str()).unwrap_or_default();
    let served = state.now().models.get(name)?.clone();
    let spec = served.model.spec();
    let mut told = Told { ignored, ..Told::default() };
    let mut adapted = |request: &mut Request| {
        told.ignored.append(&mut request.left_out);
        told.ignored_tools.append(&mut request.ignored_tools);
        fields::check(&request.sampling.settings, &state.config.upstream.pass_fields)?;
        adapt(state, &served, request)
    };
    let looked_at = |prepared: Prepared, is_described: bool| {
        if !is_described {
            look_for_markers(state, &served, &prepared)?;
        }
        Ok::<_, ApiError>(prepared)
    };
    let mut custom = CalledTools::default();
    let (prepared, include_usage, responses) = match api {
        Api::OpenAi => {
            let mut request = ChatRequest::from_value(&value)?;
            let is_described = adapted(&mut request.request)?;
            custom = std::mem::take(&mut request.custom_tools);
            (looked_at(request.prepare(spec)?, is_described)?, request.include_usage, None)
        }
        Api::Responses => {
            let previous = value["previous_response_id"].clone();
            let keep = named.and_then(|named| named.put(&mut value)).map(|resolved| (state.memory.clone(), resolved));
            let mut request = ResponsesRequest::from_value(&value)?;
            request.repeated.insert("previous_response_id".to_owned(), previous);
            let is_described = adapted(&mut request.request)?;
            (looked_at(request.prepare(spec)?, is_described)?, true, Some(Responses { request, keep }))
        }
        Api::Anthropic => {
            let mut request = MessagesRequest::from_value(&value)?;
            let is_described = adapted(&mut request.request)?;
            (looked_at(request.prepare(spec)?, is_described)?, true, None)
        }
    };
    Ok(Asked { served, prepared, include_usage, responses, custom, told })
}

/// Does with a request what the operator wants: refuses too many tools and what is no text, switches thinking,
/// and describes tools. Returns whether it did.
fn adapt(state: &State, served: &ServedModel, request: &mut Request) -> Result<bool, ApiError> {
    let (tools, most) = (request.tools.len(), state.config.limits.tools);
    if tools > most {
        let cause = format!("{tools} tools are more than the {most} that are allowed");
        return Err(ApiError::invalid("tools", cause, "send fewer"));
    }
    if let Some(place) = request.replaced.first().filter(|_| state.config.refuse_media) {
        return Err(ApiError::unsupported(place, "only text can be read here", "send text only"));
    }
    if request.reasoning_effort.is_none() {
        request.thinking = request.thinking.or(state.config.thinking);
    }
    let describes = state.config.describe_tools && served.tools.describes(request);
    if describes {
        // The description has markers itself.
        look_for_markers(state, served, &request.prepare(served.model.spec())?)?;
        served.tools.describe(request);
    }
    Ok(describes)
}

/// Reports or refuses special tokens that a request spells.
fn look_for_markers(state: &State, served: &ServedModel, prepared: &Prepared) -> Result<(), ApiError> {
    if spelled::check(state, served, prepared)? {
        report(state, served.name(), SPELLED.to_owned());
    }
    Ok(())
}

/// Renders the prompt, and makes what the upstream is asked.
fn render(
    mut prepared: Prepared,
    served: &ServedModel,
    adds_bos: bool,
    config: &Config,
) -> Result<(Prepared, Ask, Told), ApiError> {
    let upstream = &config.upstream;
    // Requests to a single model may leave its name out.
    if prepared.model.is_empty() {
        prepared.model = served.name().to_owned();
    }
    let (prepared, prompt, ids, adds_bos, mut missing) = match &served.encoding {
        Some(encoding) => {
            let (prepared, prompt, made) = encoded(&served.model, encoding, prepared, config.markers)?;
            let (encoding, stops) = (encoding.clone(), served.stop_ids.clone());
            let ids = Some(AskedIds { ids: made.ids, spelled: made.spelled, encoding, stops });
            (prepared, prompt, ids, false, made.missing)
        }
        None => {
            let rendered = served.tokens.prompt(&served.model, prepared, adds_bos);
            let (prepared, prompt, adds_bos) = rendered.map_err(not_rendered)?;
            let labelled = served.tokens.labelled(&served.model, &prepared);
            let missing = labelled.map(|labelled| served.model.missing(&labelled)).unwrap_or_default();
            (prepared, prompt, None, adds_bos, missing)
        }
    };
    // Tools that the system message describes.
    missing.retain(|one| one.kind != MissingKind::Tool || !config.describe_tools || !served.tools.has_example());
    if config.missing == MissingParts::Refuse {
        served.tools.refused(&missing)?;
    }
    let missing = missing.iter().map(ToString::to_string).collect();
    let system = prepared.late_system.place(served.model.spec(), &prompt)?;
    let Constraint { grammar, unchecked } = constrain(&prepared, served, upstream, config.unenforced)?;
    if !unchecked.is_empty() {
        config.log.write(LogLine::Unchecked { model: served.name().to_owned(), keywords: unchecked });
    }
    let mut stops = prepared.sampling.stop.clone();
    let of_grammar = grammar.as_ref().map(|grammar| grammar.stops.as_slice()).unwrap_or_default();
    for stop in served.stops.iter().chain(of_grammar) {
        if !stops.contains(stop) {
            stops.push(stop.clone());
        }
    }
    let any_name = served.upstream_name().is_none();
    let model = served.upstream_name().unwrap_or(&prepared.model).to_owned();
    let (max_tokens, settings) = (prepared.sampling.max_tokens, prepared.sampling.settings.clone());
    let logprobs = prepared.sampling.logprobs;
    let (preserved, engine) = (served.preserved.clone(), upstream.engine);
    let ask = Ask {
        model,
        any_name,
        prompt,
        ids,
        adds_bos,
        stops,
        max_tokens,
        settings,
        logprobs,
        grammar,
        engine,
        preserved,
        trace: Trace::default(),
    };
    Ok((prepared, ask, Told { system, missing, ..Told::default() }))
}
