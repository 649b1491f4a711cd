//! The upstreams: one, or several of the same kind. A request goes to one that has its model and can be reached, and of these to the
//! one that writes the fewest answers. If it cannot be reached after all, the next one is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::time::sleep;

use super::piece::UNREACHABLE;
use super::{Answer, Ask, Trouble, Upstream};
use crate::http::config::{Config, UpstreamConfig, base};
use crate::http::guard::Trace;
use crate::http::log::{Log, LogLine};
use crate::http::metrics::Metrics;

/// All upstreams.
#[derive(Debug)]
pub(crate) struct Pool {
    members: Vec<Arc<Member>>,
    /// Which one is asked first of those that are equally good.
    turn: AtomicUsize,
    config: UpstreamConfig,
    check: Duration,
    metrics: Arc<Metrics>,
    log: Log,
}

/// An upstream, with what it does at the moment.
#[derive(Debug)]
struct Member {
    upstream: Upstream,
    is_up: AtomicBool,
    active: AtomicUsize,
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

impl Pool {
    pub(crate) fn new(config: &Config, metrics: Arc<Metrics>) -> Result<Self, reqwest::Error> {
        let addresses = std::iter::once(&config.upstream.url).chain(&config.upstream.others);
        let members = addresses.map(|url| {
            let upstream = Upstream::new(config, url.clone())?;
            metrics.upstream_is(base(url), true);
            Ok(Arc::new(Member { upstream, is_up: AtomicBool::new(true), active: AtomicUsize::new(0) }))
        });
        let (log, check) = (config.log.clone(), config.timeouts.check);
        let members = members.collect::<Result<_, reqwest::Error>>()?;
        Ok(Self { members, turn: AtomicUsize::new(0), config: config.upstream.clone(), check, metrics, log })
    }

    pub(crate) fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// The upstreams for a request to this model, the best first.
    async fn order(&self, model: &str, any_name: bool) -> Vec<Arc<Member>> {
        if let [only] = &self.members[..] {
            return vec![only.clone()];
        }
        let mut order = Vec::new();
        for member in &self.members {
            let is_up = member.is_up.load(Ordering::Relaxed);
            // One that cannot be reached is not asked for its models with every request.
            let models = if is_up { member.upstream.models().await } else { member.upstream.listed.get().0 };
            let lacks = !models.is_empty() && Upstream::named(&models, model, any_name).is_none();
            order.push((lacks, !is_up, member.active.load(Ordering::Relaxed), member.clone()));
        }
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % order.len();
        order.rotate_left(first);
        order.sort_by_key(|(lacks, is_down, active, _)| (*lacks, *is_down, *active));
        // If none has the model, the first one says so.
        let has = order.iter().filter(|(lacks, ..)| !lacks).count().max(1);
        order.truncate(has);
        order.into_iter().map(|(.., member)| member).collect()
    }

    /// Sends a prompt; `choice` says which of several answers to it this is. The answer begins to be read when its first piece is asked for.
    pub(crate) async fn send(&self, ask: &Ask, choice: usize) -> Result<Answer, Trouble> {
        let mut last = None;
        for member in self.order(&ask.model, ask.any_name).await {
            let in_use = InUse::of(&member);
            match member.upstream.send(ask, choice).await {
                Ok(answer) => return Ok(Answer { _in_use: Some(in_use), ..answer }),
                Err(trouble) if trouble.is_of_one() => last = Some(self.failed(&member, trouble)),
                Err(trouble) => return Err(trouble),
            }
        }
        Err(last.unwrap_or_else(nobody))
    }

    /// Sends a request as it is, but for the name of the model. Returns its answer, if that is no error.
    pub(crate) async fn forward(
        &self,
        path: &str,
        body: &mut Value,
        trace: &Trace,
        (model, any_name): (&str, bool),
    ) -> Result<(Response, InUse), Trouble> {
        let mut last = None;
        for member in self.order(model, any_name).await {
            let in_use = InUse::of(&member);
            let name = member.upstream.name_of(model, any_name).await;
            if !name.is_empty() {
                body["model"] = name.into();
            }
            match member.upstream.forward(path, body, trace).await {
                Ok(response) => return Ok((response, in_use)),
                Err(trouble) if trouble.is_of_one() => last = Some(self.failed(&member, trouble)),
                Err(trouble) => return Err(trouble),
            }
        }
        Err(last.unwrap_or_else(nobody))
    }

    /// Of how many tokens a text consists for this model; `None` if no upstream says so.
    pub(crate) async fn count(
        &self,
        (model, any_name): (&str, bool),
        text: &str,
        adds_bos: bool,
    ) -> Result<Option<u64>, Trouble> {
        let mut last = None;
        for member in self.order(model, any_name).await {
            let name = member.upstream.name_of(model, any_name).await;
            match member.upstream.count(&name, text, adds_bos).await {
                Ok(count) => return Ok(count),
                Err(trouble) => last = Some(self.failed(&member, trouble)),
            }
        }
        Err(last.unwrap_or_else(nobody))
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
        let reached = self.members.iter().find(|member| member.is_up.load(Ordering::Relaxed));
        // There is at least one.
        reached.unwrap_or(&self.members[0])
    }

    /// The status that each upstream answers with when it is asked for its health.
    pub(crate) async fn probe(&self) -> Vec<Result<u16, Trouble>> {
        let ask = |member: Arc<Member>| async move { member.upstream.probe().await };
        let asked: Vec<_> = self.members.iter().map(|member| tokio::spawn(ask(member.clone()))).collect();
        let mut found = Vec::new();
        for answer in asked {
            found.push(answer.await.unwrap_or_else(|_| Err(nobody())));
        }
        found
    }

    /// Checks again and again which of several upstreams can be reached.
    pub(crate) async fn watch(&self) {
        if self.members.len() < 2 {
            return std::future::pending().await;
        }
        loop {
            for (member, found) in self.members.iter().zip(self.probe().await) {
                self.note(member, found.is_ok_and(is_well));
            }
            sleep(self.check).await;
        }
    }

    fn failed(&self, member: &Member, trouble: Trouble) -> Trouble {
        if self.members.len() > 1 && trouble.kind == UNREACHABLE {
            self.note(member, false);
        }
        trouble
    }

    fn note(&self, member: &Member, is_up: bool) {
        if member.is_up.swap(is_up, Ordering::Relaxed) != is_up {
            let address = base(&member.upstream.url).to_owned();
            self.metrics.upstream_is(&address, is_up);
            self.log.write(LogLine::Upstream { address, is_up });
        }
    }
}

/// Whether an upstream that answers with this status can complete a text. Some servers have no `/health`.
pub(crate) fn is_well(status: u16) -> bool {
    status < 400 || status == 404
}

fn nobody() -> Trouble {
    Trouble::new(UNREACHABLE, 502, "no upstream can be reached; check that one runs")
}
