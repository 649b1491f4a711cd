//! The body of a response whose parts come from a task. If the task ends without saying that the body is complete, the connection is
//! broken off: a response that just ended would look complete.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures_core::Stream;
use tokio::sync::mpsc;

/// How many parts wait for a client that reads slowly.
const WAITING: usize = 16;

/// What the task sends.
pub(crate) enum BodyPart {
    Bytes(Bytes),
    Complete,
}

/// A body, and where its parts are sent to.
pub(crate) fn body_of_parts() -> (mpsc::Sender<BodyPart>, Body) {
    let (send, receive) = mpsc::channel(WAITING);
    (send, Body::from_stream(Parts { receive, is_complete: false }))
}

struct Parts {
    receive: mpsc::Receiver<BodyPart>,
    is_complete: bool,
}

impl Stream for Parts {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_complete {
            return Poll::Ready(None);
        }
        self.receive.poll_recv(context).map(|part| match part {
            Some(BodyPart::Bytes(bytes)) => Some(Ok(bytes)),
            Some(BodyPart::Complete) => {
                self.is_complete = true;
                None
            }
            None => {
                self.is_complete = true;
                Some(Err(io::Error::other("the answer was broken off")))
            }
        })
    }
}
