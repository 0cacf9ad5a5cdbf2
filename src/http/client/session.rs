//! [`Session`], the session of a connection: its id, the negotiated revision, and whether the session has worked.

use alloc::string::String;
use core::time::Duration;

use super::request::{HttpRequest, session_version};
use crate::http::{Field, Headers, name};
use crate::time::Instant;
use crate::version::Revision;

/// The session of one connection. In the modern era there is no id, but a revision once the server has responded.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Session {
    id: Option<String>,
    /// Whether the server has answered a request in the session, or the session has lasted.
    has_worked: bool,
    /// The time at which the server opened the session.
    opened: Instant,
    /// The negotiated revision.
    revision: Option<Revision>,
}

impl Session {
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub(super) const fn has_worked(&self) -> bool {
        self.has_worked
    }

    pub(super) const fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Sets the negotiated revision; `None` while another one is being negotiated.
    pub(super) const fn set_revision(&mut self, revision: Option<Revision>) {
        self.revision = revision;
    }

    pub(super) fn forget_id(&mut self) {
        self.id = None;
    }

    /// Reads the id from the head of the response to `initialize`; an invalid one is ignored.
    pub(super) fn open(&mut self, headers: Headers<'_>, now: Instant) {
        self.opened = now;
        self.id = match headers.get(name::SESSION_ID) {
            Field::Once(id) if is_session_id(id) => Some(String::from(id)),
            _ => None,
        };
    }

    /// Records that a request in the session is answered.
    pub(super) const fn note_success(&mut self) {
        self.has_worked = true;
    }

    /// Records that the server has ended the session. A session that has lasted for `long` has worked, although no
    /// request may have been made in it: it can be replaced without a loop.
    pub(super) fn note_lost(&mut self, now: Instant, long: Duration) {
        self.has_worked |= self.opened + long <= now;
    }

    /// Adds the header fields of the session to a request. Returns whether the id is one of them.
    pub(super) fn label(&self, request: &mut HttpRequest) -> bool {
        if let Some(id) = &self.id {
            request.add(name::SESSION_ID, id);
        }
        if let Some(version) = self.revision.and_then(session_version) {
            request.add(name::PROTOCOL_VERSION, version);
        }
        self.id.is_some()
    }
}

/// Whether this text is a valid session id.
fn is_session_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| matches!(byte, b'!'..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(id: &[u8]) -> Session {
        let mut session = Session::default();
        let fields = [("Mcp-Session-Id", id)];
        session.open(Headers::from(&fields[..]), Instant::EPOCH);
        session
    }

    #[test]
    fn only_visible_ascii_is_an_id() {
        assert_eq!(opened(b"a-1").id(), Some("a-1"));
        assert_eq!(opened(b"a 1").id(), None);
        assert_eq!(opened(b"").id(), None);
    }

    #[test]
    fn a_session_that_lasts_has_worked() {
        for (after, has_worked) in [(999, false), (1000, true)] {
            let mut session = opened(b"a-1");
            session.note_lost(Instant::from_millis(after), Duration::from_secs(1));
            assert_eq!(session.has_worked(), has_worked);
        }
    }

    #[test]
    fn the_id_stands_before_the_version() {
        let mut session = opened(b"a-1");
        session.set_revision(Some(Revision::V2025_06_18));
        let mut request = HttpRequest::delete("https://a.example");
        assert!(session.label(&mut request));
        let names: alloc::vec::Vec<_> = request.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, [name::SESSION_ID, name::PROTOCOL_VERSION]);
    }
}
