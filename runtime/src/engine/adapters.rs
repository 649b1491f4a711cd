//! Other ways to take the events of a stream: a sink that may fail, and an asynchronous stream.

use super::input::Chunk;
use super::machine::Machine;
use super::stream::Stream;
use crate::message::Event;

impl<M: Machine> Stream<M> {
    /// Like [`push`](Self::push), with a sink that may fail, such as one that writes to a connection. After its first error it
    /// gets no more events; those of this push are lost, so the turn is over for the caller: drop the stream or
    /// [`reset`](Self::reset) it.
    ///
    /// # Errors
    /// The error of the sink.
    pub fn try_push<'t, E>(
        &mut self,
        text: impl Into<Chunk<'t>>,
        mut sink: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = Ok(());
        self.push(text, |event| {
            if done.is_ok() {
                done = sink(event);
            }
        });
        done
    }

    /// Like [`finish`](Self::finish), with a sink that may fail.
    ///
    /// # Errors
    /// The error of the sink.
    pub fn try_finish<E>(&mut self, mut sink: impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let mut done = Ok(());
        self.finish(|event| {
            if done.is_ok() {
                done = sink(event);
            }
        });
        done
    }
}

#[cfg(feature = "futures")]
pub use futures::EventStream;

#[cfg(feature = "futures")]
mod futures {
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use futures_core::Stream as Pieces;

    use super::{Machine, Stream};
    use crate::message::OwnedEvent;

    /// The events of an output that arrives asynchronously: a `futures_core::Stream` over another one, which gives pieces of the
    /// output, or errors. Needs the feature `futures`.
    ///
    /// The output ends where the inner stream ends. An error is passed on; what comes after it is read as before.
    pub struct EventStream<M, S> {
        stream: Stream<M>,
        pieces: S,
        events: VecDeque<OwnedEvent>,
        over: bool,
    }

    impl<M: Machine, S> EventStream<M, S> {
        /// The events of these pieces. An inner stream that is not `Unpin` can be boxed and pinned.
        pub fn new(stream: Stream<M>, pieces: S) -> Self {
            Self { stream, pieces, events: VecDeque::new(), over: false }
        }
    }

    impl<M, S, T, E> Pieces for EventStream<M, S>
    where
        M: Machine + Unpin,
        S: Pieces<Item = Result<T, E>> + Unpin,
        T: AsRef<[u8]>,
    {
        type Item = Result<OwnedEvent, E>;

        fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let Self { stream, pieces, events, over } = self.get_mut();
            loop {
                if let Some(event) = events.pop_front() {
                    return Poll::Ready(Some(Ok(event)));
                }
                if *over {
                    return Poll::Ready(None);
                }
                match Pin::new(&mut *pieces).poll_next(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(piece))) => {
                        stream.push(piece.as_ref(), |event| events.push_back(event.into_owned()));
                    }
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready(None) => {
                        *over = true;
                        stream.finish(|event| events.push_back(event.into_owned()));
                    }
                }
            }
        }
    }
}

#[cfg(all(test, feature = "futures"))]
mod tests {
    use std::collections::VecDeque;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use futures_core::Stream as Pieces;

    use super::EventStream;
    use crate::engine::interpreter::Interpreter;
    use crate::engine::stream::Stream;
    use crate::message::{Channel, OwnedEvent};
    use crate::options::Options;
    use crate::program::{Hole, ModelInfo, Program, State, StateId};

    static PROGRAM: Program = Program::new(
        ModelInfo::named("plain"),
        const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
        StateId(0),
    );

    /// Pieces of an output; `None` is a time of waiting.
    struct Arriving(VecDeque<Option<Result<&'static str, &'static str>>>);

    impl Pieces for Arriving {
        type Item = Result<&'static str, &'static str>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            match self.0.pop_front() {
                Some(Some(piece)) => Poll::Ready(Some(piece)),
                Some(None) => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }

    #[test]
    fn events_come_as_the_pieces_do() {
        let pieces = [Some(Ok("Hel")), None, Some(Err("slow")), Some(Ok("lo"))];
        let stream = Stream::new(Interpreter::from_static(&PROGRAM), &Options::new());
        let mut events = EventStream::new(stream, Arriving(pieces.into()));
        let mut context = Context::from_waker(Waker::noop());
        let mut next = || Pin::new(&mut events).poll_next(&mut context);
        let content = |text: &str| Poll::Ready(Some(Ok(OwnedEvent::Content(text.to_owned()))));
        assert_eq!(next(), content("Hel"));
        assert_eq!(next(), Poll::Pending);
        assert_eq!(next(), Poll::Ready(Some(Err("slow"))));
        assert_eq!(next(), content("lo"));
        assert_eq!([next(), next()], [Poll::Ready(None), Poll::Ready(None)]);
    }

    #[test]
    fn a_sink_that_fails_gets_no_more_events() {
        let mut stream = Stream::new(Interpreter::from_static(&PROGRAM), &Options::new());
        let mut seen = 0;
        let mut fail = |_: crate::Event<'_>| {
            seen += 1;
            Err("closed")
        };
        assert_eq!(stream.try_push("a", &mut fail), Err("closed"));
        assert_eq!(stream.try_finish(|_| Ok::<(), &str>(())), Ok(()));
        assert_eq!(seen, 1);
    }
}
