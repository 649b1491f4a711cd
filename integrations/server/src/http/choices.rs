//! The answers to one request, of which a client may want several (`n`): their pieces, as they arrive.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::state::State;
use super::upstream::{Answer, Ask, Piece, Trouble};
use crate::error::ApiError;

/// An answer with its next piece; nothing at its end.
type Next = Result<(Answer, Option<Piece>), Trouble>;

/// The answers to one request. Dropping them closes their connections.
pub(crate) struct Choices {
    waits: Vec<Option<Wait>>,
    logprobs: Logprobs,
}

/// The wait for the next piece of an answer.
type Wait = Pin<Box<dyn Future<Output = Next> + Send>>;

/// What is asked for of the probabilities of tokens.
enum Logprobs {
    Unwanted,
    /// They are wanted, with this many likely alternatives. Whether the upstream has any is not known yet.
    Wanted(usize),
    /// They are wanted, and the upstream has some.
    Given(usize),
}

impl Logprobs {
    /// Cuts what a piece has of them to what the client wants.
    fn fit(&mut self, piece: &mut Piece) -> Result<(), Trouble> {
        let top = match self {
            Self::Unwanted => return Ok(()),
            Self::Wanted(_) if piece.text.is_empty() && piece.logprobs.is_empty() => return Ok(()),
            Self::Wanted(_) if piece.logprobs.is_empty() => {
                let error = ApiError::unsupported("logprobs", "the upstream gives none", "leave it out");
                return Err(Trouble::refused(error));
            }
            Self::Wanted(top) | Self::Given(top) => *top,
        };
        *self = Self::Given(top);
        for token in &mut piece.logprobs {
            if let Some(likely) = token["top_logprobs"].as_array_mut() {
                likely.truncate(top);
            }
        }
        Ok(())
    }
}

/// What arrived: of which answer, and its piece, or nothing at its end.
pub(crate) type Arrived = Result<(usize, Option<Piece>), Trouble>;

impl Choices {
    /// Asks for `count` answers. The upstream is asked when the first piece is waited for.
    pub(crate) fn ask(state: &Arc<State>, ask: Ask, count: usize) -> Self {
        let logprobs = match ask.logprobs {
            None => Logprobs::Unwanted,
            Some(top) => Logprobs::Wanted(usize::try_from(top).unwrap_or(usize::MAX)),
        };
        let ask = Arc::new(ask);
        let one = |choice: usize| {
            let (state, ask) = (state.clone(), ask.clone());
            let opened = async move {
                let mut answer = state.upstream.send(&ask, choice).await?;
                let first = answer.next().await?;
                Ok((answer, first))
            };
            let wait: Wait = Box::pin(opened);
            Some(wait)
        };
        Self { waits: (0..count).map(one).collect(), logprobs }
    }

    /// What arrives next; `None` after the end of all answers. If this future is dropped, nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Arrived> {
        let (choice, next) = poll_fn(|context| self.poll(context)).await?;
        Some(next.and_then(|(mut answer, mut piece)| {
            if let Some(piece) = &mut piece {
                self.logprobs.fit(piece)?;
                self.waits[choice] = Some(Box::pin(async move {
                    let next = answer.next().await?;
                    Ok((answer, next))
                }));
            }
            Ok((choice, piece))
        }))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, Next)>> {
        let mut is_open = false;
        for (choice, wait) in self.waits.iter_mut().enumerate() {
            let Some(waited) = wait else { continue };
            is_open = true;
            if let Poll::Ready(next) = waited.as_mut().poll(context) {
                *wait = None;
                return Poll::Ready(Some((choice, next)));
            }
        }
        if is_open { Poll::Pending } else { Poll::Ready(None) }
    }
}
