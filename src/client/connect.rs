//! The handshake from the client's side
//! ([initialization](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization)).

use super::event::ClientEvent;
use super::{Client, ClientConfig};
use crate::capability::{CapabilitySet, Owner};
use crate::dialect::sayable;
use crate::error::ViolationKind;
use crate::frame::MessageBytes;
use crate::json::{EncodeError, MemberTexts, Raw, Str};
use crate::model::InitializeParams;
use crate::peer::{Cause, Lane, Outcome, Outlets};
use crate::rpc::{ErrorObject, write_notification};
use crate::session::{Phase, Step};
use crate::time::Instant;
use crate::version::{Revision, RevisionSet};

/// Why `initialize` could not be sent. Nothing was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It has been sent already, or the connection has ended. Every connection needs a client of
    /// its own.
    #[error("the connection is not at its start")]
    NotAtStart,
    /// The configuration offers a revision that it does not speak, or speaks none.
    #[error("the offered revision is not among those the client speaks")]
    NoRevision,
    /// It could not be written.
    #[error("initialize could not be written: {0}")]
    Encode(#[from] EncodeError),
}

/// A session with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connected<'a> {
    /// The revision it uses.
    pub revision: Revision,
    /// What the server offers, as far as the revision knows it.
    pub capabilities: CapabilitySet,
    /// Everything the server said: an [`InitializeResult`](crate::model::InitializeResult).
    pub result: Raw<'a>,
}

impl Connected<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> Connected<'static> {
        Connected { result: self.result.into_owned(), ..self }
    }
}

/// Why there is no session. The connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectFailure<'a> {
    /// The server refused.
    PeerError(ErrorObject<'a>),
    /// The server chose a revision that the client does not speak.
    UnsupportedRevision {
        /// What the server chose.
        theirs: Str<'a>,
        /// What the client speaks.
        ours: RevisionSet,
    },
    /// The server lacks what the client requires.
    MissingCapabilities(CapabilitySet),
    /// The server answered with something that is no result of `initialize`.
    Malformed {
        /// What is wrong with it.
        kind: ViolationKind,
        /// What it answered: the whole message, or the result if that is what does not fit.
        message: MessageBytes<'a>,
    },
    /// The server did not answer within [`Timeouts::handshake`](crate::Timeouts::handshake).
    TimedOut,
    /// The connection ended first.
    Closed(Cause),
}

impl ConnectFailure<'_> {
    /// The same with its own copy of the text.
    pub fn into_owned(self) -> ConnectFailure<'static> {
        match self {
            Self::PeerError(error) => ConnectFailure::PeerError(error.into_owned()),
            Self::UnsupportedRevision { theirs, ours } => {
                ConnectFailure::UnsupportedRevision { theirs: theirs.into_owned(), ours }
            }
            Self::MissingCapabilities(missing) => ConnectFailure::MissingCapabilities(missing),
            Self::Malformed { kind, message } => {
                ConnectFailure::Malformed { kind, message: message.into_owned() }
            }
            Self::TimedOut => ConnectFailure::TimedOut,
            Self::Closed(cause) => ConnectFailure::Closed(cause),
        }
    }
}

/// The result of `initialize`, as far as the machine needs it.
struct Answer<'a> {
    version: Str<'a>,
    capabilities: CapabilitySet,
}

impl<'a> Answer<'a> {
    fn read(result: &'a str) -> Result<Self, ViolationKind> {
        let (mut version, mut capabilities) = (None, None);
        for (key, value) in MemberTexts::of(result) {
            if key == "protocolVersion" {
                version = Str::from_literal(value);
            } else if key == "capabilities" {
                capabilities = Some(value);
            }
        }
        let (Some(version), Some(capabilities)) = (version, capabilities) else {
            return Err(ViolationKind::MalformedResponse);
        };
        let capabilities = CapabilitySet::read(Owner::Server, capabilities)
            .ok_or(ViolationKind::MalformedCapabilities)?;
        Ok(Self { version, capabilities })
    }
}

/// # Connecting
impl Client {
    /// Sends `initialize`. What comes of it is an event.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says why it was not sent.
    pub fn connect(&mut self, now: Instant, out: &mut impl Outlets) -> Result<(), ConnectError> {
        if self.phase() != Phase::Opening {
            return Err(ConnectError::NotAtStart);
        }
        let offer = self.config.offered().ok_or(ConnectError::NoRevision)?;
        let params = InitializeParams {
            protocol_version: offer.name().into(),
            capabilities: sayable(&self.config.capabilities, offer),
            client_info: self.config.info.clone(),
            meta: None,
        };
        self.peer.call_initialize(&self.config.connection, &params, offer, now, out)?;
        self.peer.step(Step::Begin);
        self.peer.observe_phase(out);
        Ok(())
    }

    pub(super) fn handshake_ended<'f>(
        &mut self,
        outcome: Outcome<'f>,
        out: &mut dyn Outlets,
    ) -> ClientEvent<'f> {
        let connected = match outcome {
            Outcome::Result(result) => self.open(result, out),
            Outcome::PeerError(error) => Err(ConnectFailure::PeerError(error)),
            Outcome::Malformed { kind, message } => {
                Err(ConnectFailure::Malformed { kind, message })
            }
            Outcome::TimedOut(_) => Err(ConnectFailure::TimedOut),
            Outcome::Closed(cause) => Err(ConnectFailure::Closed(cause)),
            // None of these is an answer, and `initialize` has no other outcomes.
            Outcome::Unsent | Outcome::Cut { .. } | Outcome::NotMade(_) => {
                Err(ConnectFailure::Closed(Cause::HandshakeFailed))
            }
        };
        match connected {
            Ok(connected) => ClientEvent::Connected(connected),
            Err(failure) => self.connect_failed(failure, out),
        }
    }

    /// There is no session, so the connection is given up.
    pub(super) fn connect_failed<'f>(
        &mut self,
        failure: ConnectFailure<'f>,
        out: &mut dyn Outlets,
    ) -> ClientEvent<'f> {
        self.peer.forget_initialize();
        self.peer.close(Cause::HandshakeFailed);
        self.peer.observe_phase(out);
        ClientEvent::ConnectFailed(failure)
    }

    fn open<'f>(
        &mut self,
        result: Raw<'f>,
        out: &mut dyn Outlets,
    ) -> Result<Connected<'f>, ConnectFailure<'f>> {
        let text = result.borrowed().unwrap_or_default();
        let malformed = |kind| ConnectFailure::Malformed { kind, message: text.as_bytes().into() };
        let answer = Answer::read(text).map_err(malformed)?;
        let spoken = Revision::from_name(&answer.version.to_str()).filter(|revision| {
            self.config.revisions.and(RevisionSet::HANDSHAKE).contains(*revision)
        });
        let Some(revision) = spoken else {
            let ours = self.config.revisions;
            return Err(ConnectFailure::UnsupportedRevision { theirs: answer.version, ours });
        };
        let missing = self.config.required.without(answer.capabilities.known_to(revision));
        if !missing.is_empty() {
            return Err(ConnectFailure::MissingCapabilities(missing));
        }
        if self.phase() != Phase::Handshake {
            return Err(ConnectFailure::Closed(Cause::ShutDown));
        }
        const METHOD: &str = "notifications/initialized";
        let sent = self.peer.send_own(Lane::Connection, Some(METHOD), out, |writer| {
            write_notification(writer, METHOD, &(), None)
        });
        if !sent {
            return Err(ConnectFailure::Closed(Cause::OutboxOverflow));
        }
        self.peer.step(Step::Complete);
        self.peer.open_session(revision, answer.capabilities);
        self.peer.flush_held(&self.config.connection, out);
        if self.config.connection.keep_handshake {
            self.server = Some(result.clone().into_owned());
        }
        Ok(Connected { revision, capabilities: self.peer_capabilities(), result })
    }
}

impl ClientConfig {
    /// The revision to ask for.
    fn offered(&self) -> Option<Revision> {
        self.offer
            .or_else(|| self.revisions.and(RevisionSet::HANDSHAKE).latest())
            .filter(|offer| self.revisions.and(RevisionSet::HANDSHAKE).contains(*offer))
    }
}
