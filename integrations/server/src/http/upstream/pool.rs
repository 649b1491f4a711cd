//! The upstreams: one, or several of the same kind. A request goes to one that has its model and can be reached, and of these to the
//! one that writes the fewest answers. If it cannot be reached after all, the next one is asked. One that was started anew with another
//! model is not asked: that model does not read the prompts of this one's template.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::time::sleep;

use super::piece::UNREACHABLE;
use super::{Answer, Ask, Trouble, Upstream, VOCABULARY};
use crate::http::config::{Config, UpstreamConfig, base};
use crate::http::discover::UpstreamModel;
use crate::http::encoding::Encoding;
use crate::http::guard::Trace;
use crate::http::log::{Log, LogLine};
use crate::http::metrics::Metrics;

/// The name of a model, and whether the upstream may know it under another.
type Wanted<'a> = (&'a str, bool);

/// What a client is told if the upstream was started anew with another model.
const OTHER_MODEL: &str =
    "the upstream has another model now than the one that is served here; ask again when that is back";

/// All upstreams.
#[derive(Debug)]
pub(crate) struct Pool {
    members: Vec<Arc<Member>>,
    /// Which one is asked first of those that are equally good.
    turn: AtomicUsize,
    /// Names of served models that an upstream has listed. Another name says nothing: some servers answer to any.
    seen: Mutex<BTreeSet<String>>,
    config: UpstreamConfig,
    check: Duration,
    metrics: Arc<Metrics>,
    log: Log,
}

/// An upstream, with what it does at the moment.
#[derive(Debug)]
struct Member {
    upstream: Upstream,
    standing: Mutex<Standing>,
    active: AtomicUsize,
}

/// Whether an upstream can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Up,
    /// It cannot be reached, or says that it is not well.
    Down,
    /// It was started anew with other models than those that are served here.
    OtherModel,
}

/// What a check of an upstream found.
pub(crate) struct Checked {
    pub standing: Standing,
    /// The status with which it answered.
    pub status: Option<u16>,
}

impl Member {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_up(&self) -> bool {
        *self.standing() == Standing::Up
    }
}

/// An answer that an upstream writes.
#[derive(Debug)]
pub(crate) struct InUse(Arc<Member>);

impl InUse {
    fn of(member: &Arc<Member>) -> Self {
        member.active.fetch_add(1, Ordering::Relaxed);
        Self(member.clone())
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The upstreams for a request, which are asked one after the other, the best first.
struct Tries<'p> {
    pool: &'p Pool,
    order: std::vec::IntoIter<Arc<Member>>,
    last: Option<Trouble>,
}

impl Tries<'_> {
    /// The upstream to ask now, or why the last one did not answer.
    fn next(&mut self) -> Result<InUse, Trouble> {
        let none = || Trouble::new(UNREACHABLE, 502, OTHER_MODEL);
        self.order.next().map(|member| InUse::of(&member)).ok_or_else(|| self.last.take().unwrap_or_else(none))
    }

    /// This one did not answer: the next one may, unless the trouble is of them all.
    fn failed(&mut self, InUse(member): &InUse, trouble: Trouble) -> Result<(), Trouble> {
        if trouble.kind == UNREACHABLE {
            self.pool.note(member, Standing::Down);
        }
        if !trouble.is_of_one() {
            return Err(trouble);
        }
        if trouble.is_missing() {
            // It may have been started anew since it listed the model.
            member.upstream.listed.expire();
        }
        self.last = Some(trouble);
        Ok(())
    }
}

impl Pool {
    pub(crate) fn new(config: &Config, metrics: Arc<Metrics>) -> Result<Self, reqwest::Error> {
        let addresses = std::iter::once(&config.upstream.url).chain(&config.upstream.others);
        let members = addresses.map(|url| {
            let upstream = Upstream::new(config, url.clone())?;
            metrics.upstream_is(base(url), true);
            let standing = Mutex::new(Standing::Up);
            Ok(Arc::new(Member { upstream, standing, active: AtomicUsize::new(0) }))
        });
        let (log, check) = (config.log.clone(), config.timeouts.check);
        let members = members.collect::<Result<_, reqwest::Error>>()?;
        let (turn, seen, config) = (AtomicUsize::new(0), Mutex::default(), config.upstream.clone());
        Ok(Self { members, turn, seen, config, check, metrics, log })
    }

    pub(crate) fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// The upstreams for a request to this model, the best first; none if the model was there once and is no more. Of equal ones, the
    /// one at `turn` is the first.
    async fn order(&self, (model, any_name): Wanted<'_>, turn: usize) -> Vec<Arc<Member>> {
        let mut order = Vec::new();
        for member in &self.members {
            let is_up = member.is_up();
            // The checks ask a single one for its models, and one that cannot be reached is not asked with every request.
            let models = match is_up && self.members.len() > 1 {
                true => member.upstream.models().await,
                false => member.upstream.listed.get().0,
            };
            let lacks = !models.is_empty() && Upstream::named(&models, model, any_name).is_none();
            order.push((lacks, !is_up, member.active.load(Ordering::Relaxed), member.clone()));
        }
        let first = turn % order.len();
        order.rotate_left(first);
        order.sort_by_key(|(lacks, is_down, active, _)| (*lacks, *is_down, *active));
        let has = order.iter().filter(|(lacks, ..)| !lacks).count();
        // If none has the model, the first one says so. One that looks at no name would answer with another model.
        let is_gone = !any_name && self.was_seen(model);
        order.truncate(if is_gone { has } else { has.max(1) });
        order.into_iter().map(|(.., member)| member).collect()
    }

    fn was_seen(&self, model: &str) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).contains(model)
    }

    async fn tries(&self, wanted: Wanted<'_>, turn: usize) -> Tries<'_> {
        Tries { pool: self, order: self.order(wanted, turn).await.into_iter(), last: None }
    }

    /// The upstreams take turns. A count takes none: after each answer with one, the next request would come to the same upstream again.
    fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a prompt; `choice` says which of several answers to it this is. The answer begins to be read when its first piece is asked for.
    pub(crate) async fn send(&self, ask: &Ask, choice: usize) -> Result<Answer, Trouble> {
        let mut tries = self.tries((&ask.model, ask.any_name), self.next_turn()).await;
        loop {
            let member = tries.next()?;
            match member.0.upstream.send(ask, choice).await {
                Ok(answer) => return Ok(Answer { _in_use: Some(member), ..answer }),
                Err(trouble) => tries.failed(&member, trouble)?,
            }
        }
    }

    /// Sends a request as it is, but for the name of the model. Returns its answer, if that is no error.
    pub(crate) async fn forward(
        &self,
        path: &str,
        body: &mut Value,
        trace: &Trace,
        (model, any_name): Wanted<'_>,
    ) -> Result<(Response, InUse), Trouble> {
        let mut tries = self.tries((model, any_name), self.next_turn()).await;
        loop {
            let member = tries.next()?;
            let name = member.0.upstream.name_of(model, any_name).await;
            if !name.is_empty() {
                body["model"] = name.into();
            }
            match member.0.upstream.forward(path, body, trace).await {
                Ok(response) => return Ok((response, member)),
                Err(trouble) => tries.failed(&member, trouble)?,
            }
        }
    }

    /// Of how many tokens a text consists for this model; `None` if no upstream says so.
    pub(crate) async fn count(
        &self,
        (model, any_name): Wanted<'_>,
        text: &str,
        adds_bos: bool,
    ) -> Result<Option<u64>, Trouble> {
        let mut tries = self.tries((model, any_name), self.turn.load(Ordering::Relaxed)).await;
        loop {
            let member = tries.next()?;
            let name = member.0.upstream.name_of(model, any_name).await;
            match member.0.upstream.count(&name, text, adds_bos).await {
                Ok(count) => return Ok(count),
                Err(trouble) => tries.failed(&member, trouble)?,
            }
        }
    }

    /// Why ids of a model's tokenizer cannot go to one of the upstreams that can be reached: another vocabulary, or it takes no ids.
    pub(crate) async fn disagrees(&self, encoding: &Encoding, (model, any_name): Wanted<'_>) -> Option<String> {
        for member in self.members.iter().filter(|member| member.is_up()) {
            let upstream = &member.upstream;
            let models = upstream.models().await;
            // One that has other models does not get this one's requests.
            if !models.is_empty() && Upstream::named(&models, model, any_name).is_none() {
                continue;
            }
            let name = upstream.name_of(model, any_name).await;
            match upstream.agree(encoding, &name).await {
                Err(trouble) if trouble.kind == VOCABULARY => {
                    return Some(format!("{}: {}", base(&upstream.url), trouble.error.message()));
                }
                // One that cannot be reached is asked before its first prompt.
                Ok(_) | Err(_) => {}
            }
        }
        None
    }

    /// Whether the upstreams put BOS before a prompt. They are of one kind, so the first one that can be reached says so for all.
    pub(crate) async fn adds_bos(&self) -> bool {
        self.reached().upstream.adds_bos().await
    }

    /// The same, if it says so itself.
    pub(crate) async fn says_bos(&self) -> Option<bool> {
        self.reached().upstream.says_bos().await
    }

    fn reached(&self) -> &Member {
        // There is at least one.
        self.members.iter().find(|member| member.is_up()).unwrap_or(&self.members[0])
    }

    /// The status that each upstream answers with when it is asked for its health. One that is well is asked for its models too.
    pub(crate) async fn probe(&self) -> Vec<Result<u16, Trouble>> {
        let ask = |member: Arc<Member>| async move {
            let found = member.upstream.probe().await;
            if found.as_ref().is_ok_and(|status| is_well(*status)) {
                member.upstream.list().await;
            }
            found
        };
        let asked: Vec<_> = self.members.iter().map(|member| tokio::spawn(ask(member.clone()))).collect();
        let mut found = Vec::new();
        for answer in asked {
            found.push(answer.await.unwrap_or_else(|_| Err(Trouble::new(UNREACHABLE, 502, "no answer"))));
        }
        found
    }

    /// Checks again and again which upstreams can be reached, and whether they have the models of `served`.
    pub(crate) async fn watch(&self, served: impl Fn() -> Vec<Option<String>>) {
        loop {
            self.check(&served()).await;
            sleep(self.check).await;
        }
    }

    /// Finds out whether each upstream can be asked. `served` has the names by which upstreams know the served models, and `None` for one that
    /// goes by any name.
    pub(crate) async fn check(&self, served: &[Option<String>]) -> Vec<Checked> {
        let found = self.probe().await;
        let lists: Vec<_> = self.members.iter().map(|member| member.upstream.listed.get().0).collect();
        let lists_it = |models: &[UpstreamModel], name: &str| Upstream::named(models, name, false).is_some();
        let names: Vec<&str> = served.iter().flatten().map(String::as_str).collect();
        let listed = names.iter().filter(|name| lists.iter().any(|models| lists_it(models, name)));
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).extend(listed.map(|name| (*name).to_owned()));
        let is_gone = |models: &[UpstreamModel], name: &str| self.was_seen(name) && !lists_it(models, name);
        let judge = |status: Option<u16>, models: &Arc<[UpstreamModel]>| match status {
            Some(status) if is_well(status) => {
                let is_any = models.is_empty() || names.len() < served.len();
                let is_other = !is_any && names.iter().all(|name| is_gone(models, name));
                if is_other { Standing::OtherModel } else { Standing::Up }
            }
            _ => Standing::Down,
        };
        let mut checked = Vec::new();
        for ((member, found), models) in self.members.iter().zip(found).zip(&lists) {
            let status = found.ok();
            let standing = judge(status, models);
            self.note(member, standing);
            checked.push(Checked { standing, status });
        }
        checked
    }

    fn note(&self, member: &Member, standing: Standing) {
        if std::mem::replace(&mut *member.standing(), standing) == standing {
            return;
        }
        let (url, is_up) = (base(&member.upstream.url), standing == Standing::Up);
        let address = url.to_owned();
        self.log.write(match standing {
            Standing::OtherModel => {
                let listed = member.upstream.listed.get().0;
                LogLine::OtherModel { address, models: listed.iter().map(|model| model.name.clone()).collect() }
            }
            _ => LogLine::Upstream { address, is_up },
        });
        self.metrics.upstream_is(url, is_up);
    }
}

/// Whether an upstream that answers with this status can complete a text. Some servers have no `/health`.
pub(crate) fn is_well(status: u16) -> bool {
    status < 400 || status == 404
}
