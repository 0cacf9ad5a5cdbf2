//! [`Machine`]: the interface between the driver and either role.

use std::fmt::Debug;
use std::ops::DerefMut;
use std::time::Duration;

use mcp_sansio::event::{CallEnded, Cancelled, ListPage, ListRestarted, TaskAnswer};
use mcp_sansio::json::{Raw, Str};
use mcp_sansio::progress::ProgressUpdate;
use mcp_sansio::schema::{EncodeError, WrittenResult};
use mcp_sansio::{
    Client, ClientEvent, Connection, Frame, IncomingId, Instant, Payload, Received, Request,
    RequestFromServer, Revision, Server, ServerEvent,
};

use crate::host::Host;
use crate::out::{Out, Watched};

/// The role of a connection: [`Server`] or [`Client`]. The trait is sealed. `mcp_sansio::testing::Machine` is another
/// trait: the operations of a machine in a simulation.
pub trait Machine: sealed::Role + Host {
    /// A request of the peer.
    type Request: Debug + Send + Sync + 'static;
    /// Any other event.
    type Event: Debug + Send + 'static;
}

/// The parts of a request that both roles have.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[allow(unnameable_types, reason = "only this crate has machines")]
#[cfg_attr(not(feature = "tracing"), allow(dead_code, reason = "only spans have them all"))]
pub struct RequestParts<'r> {
    /// The method.
    pub(crate) method: &'r Str<'static>,
    /// The complete params, an object.
    pub(crate) params: Option<&'r Raw<'static>>,
    /// The `_meta` of the params.
    pub(crate) meta: Option<&'r Raw<'static>>,
    /// The revision of the request.
    pub(crate) revision: Revision,
}

pub(crate) mod sealed {
    #![allow(unnameable_types, reason = "only this crate has machines")]

    use super::*;

    /// An event, by the part of the driver that handles it.
    #[derive(Debug)]
    pub enum DriverEvent<M: Machine> {
        /// A request of the peer.
        Request(M::Request),
        /// The peer has cancelled its request. It is an event for the application if no handler serves the request.
        Cancelled(Cancelled<'static>),
        /// Progress of a call.
        Progress(ProgressUpdate<'static>),
        /// A page of a list that is read page by page.
        Page(ListPage<'static>),
        /// Such a list is read from its beginning again.
        Restarted(ListRestarted),
        /// A call has ended.
        Ended(CallEnded<'static>),
        /// The response to a request of a task, or its failure.
        TaskAnswer(TaskAnswer<'static>),
        /// Opening the connection has succeeded or failed.
        Opening(M::Event),
        /// An event for the application.
        Event(M::Event),
    }

    /// The methods of a role that the driver uses, beside those of [`Connection`].
    pub trait Role: DerefMut<Target = Connection> + Sized + Send + 'static {
        /// Whether to keep reading and discarding input after the connection has ended. A server that shuts down
        /// may still be writing, and would die of a broken pipe instead of ending.
        const READS_TO_THE_END: bool;

        /// The total time limit for the last output of a connection, once nothing is in flight: a server may read
        /// the last messages of its client, but slowly.
        const LAST_WRITE: Option<Duration>;

        /// An event that borrows the message that caused it.
        type Lent<'f>: Debug + Watched;

        /// Returns the handle of a request.
        fn id(request: &Self::Request) -> IncomingId
        where
            Self: Machine;
        /// Returns the parts of a request that both roles have.
        fn parts(request: &Self::Request) -> RequestParts<'_>
        where
            Self: Machine;
        /// Whether the event reports the end of the connection.
        fn is_last_word(event: &Self::Event) -> bool
        where
            Self: Machine;
        /// Receives a message; see [`Server::receive`].
        fn take_in<'f>(
            &mut self,
            frame: Frame<'f>,
            received: Received,
            out: &mut Out,
        ) -> Option<Self::Lent<'f>>;
        /// Passes an owned copy of an event, if any, to one of two functions, with `to`. Requests are the most frequent event
        /// and large, so they are not moved into an enum first.
        fn pass_on<T>(
            event: Option<Self::Lent<'_>>,
            to: T,
            ask: impl FnOnce(T, Self::Request),
            deliver: impl FnOnce(T, DriverEvent<Self>),
        ) where
            Self: Machine;
        fn cancelled(cancelled: Cancelled<'static>) -> Self::Event
        where
            Self: Machine;
        fn handle_timeout(&mut self, now: Instant, out: &mut Out) -> Option<DriverEvent<Self>>
        where
            Self: Machine;
        fn write_result<'b, T: Payload + ?Sized>(
            request: &Self::Request,
            result: &T,
            buffer: &'b mut Vec<u8>,
        ) -> Result<WrittenResult<'b>, EncodeError>
        where
            Self: Machine;
    }
}

macro_rules! machine {
    (
        $Machine:ident, $Event:ident, $Request:ident,
        opening: $opening:pat, reads to the end: $reads_to_the_end:literal,
        last write: $last_write:expr
    ) => {
        impl Machine for $Machine {
            type Request = $Request<'static>;
            type Event = $Event<'static>;
        }

        impl From<$Event<'_>> for sealed::DriverEvent<$Machine> {
            #[inline(always)]
            fn from(event: $Event<'_>) -> Self {
                match event {
                    $Event::Request(request) => Self::Request(request.into_owned()),
                    $Event::Cancelled(cancelled) => Self::Cancelled(cancelled.into_owned()),
                    $Event::Progress(update) => Self::Progress(update.into_owned()),
                    $Event::Page(page) => Self::Page(page.into_owned()),
                    $Event::ListRestarted(restarted) => Self::Restarted(restarted),
                    $Event::CallEnded(ended) => Self::Ended(ended.into_owned()),
                    $Event::TaskAnswer(answer) => Self::TaskAnswer(answer.into_owned()),
                    event @ $opening => Self::Opening(event.into_owned()),
                    event => Self::Event(event.into_owned()),
                }
            }
        }

        impl sealed::Role for $Machine {
            const READS_TO_THE_END: bool = $reads_to_the_end;
            const LAST_WRITE: Option<Duration> = $last_write;

            type Lent<'f> = $Event<'f>;

            fn id(request: &$Request<'static>) -> IncomingId {
                request.id
            }

            fn parts<'r>(request: &'r $Request<'static>) -> RequestParts<'r> {
                RequestParts {
                    method: &request.method,
                    params: request.params.as_ref(),
                    meta: request.meta.as_ref(),
                    revision: request.context.revision,
                }
            }

            fn is_last_word(event: &$Event<'static>) -> bool {
                matches!(event, $Event::Draining { .. } | $Event::Closed { .. })
            }

            #[inline(always)]
            fn take_in<'f>(
                &mut self,
                frame: Frame<'f>,
                received: Received,
                out: &mut Out,
            ) -> Option<$Event<'f>> {
                self.receive(frame, received, out)
            }

            #[inline(always)]
            fn pass_on<T>(
                event: Option<$Event<'_>>,
                to: T,
                ask: impl FnOnce(T, $Request<'static>),
                deliver: impl FnOnce(T, sealed::DriverEvent<Self>),
            ) {
                match event {
                    None => {}
                    Some($Event::Request(request)) => ask(to, request.into_owned()),
                    Some(event) => deliver(to, event.into()),
                }
            }

            fn cancelled(cancelled: Cancelled<'static>) -> $Event<'static> {
                $Event::Cancelled(cancelled)
            }

            fn handle_timeout(
                &mut self,
                now: Instant,
                out: &mut Out,
            ) -> Option<sealed::DriverEvent<Self>> {
                let event = Self::handle_timeout(self, now, out);
                out.watch(event.as_ref());
                event.map(sealed::DriverEvent::from)
            }

            fn write_result<'b, T: Payload + ?Sized>(
                request: &$Request<'static>,
                result: &T,
                buffer: &'b mut Vec<u8>,
            ) -> Result<WrittenResult<'b>, EncodeError> {
                request.write_result(result, buffer)
            }
        }
    };
}

// A server does not wait for its peer: its application needs no notification that the connection is open.
machine!(
    Server, ServerEvent, Request,
    opening: ServerEvent::Ready, reads to the end: false, last write: None
);
machine!(
    Client,
    ClientEvent,
    RequestFromServer,
    opening: (ClientEvent::Connected(_) | ClientEvent::ConnectFailed(_)), reads to the end: true,
    last write: Some(Duration::from_secs(2))
);
