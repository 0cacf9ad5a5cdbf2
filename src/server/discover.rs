//! `server/discover`: the identity and the capabilities of a server, for modern clients
//! ([discovery](https://modelcontextprotocol.io/specification/2026-07-28/server/discover)).

use alloc::string::String;

use crate::capability::Extension;
use crate::codes::ViolationKind;
use crate::config::ServerConfig;
use crate::connection::{Connection, Identity, IncomingRequest, Outboxes};
use crate::dialect::MetaKey;
use crate::model::{DiscoverResult, ServerCapabilities};
use crate::schema::shape::Record;
use crate::schema::{EncodeError, Message, ModelWriter, Payload, PayloadWriter, Value, Written};
use crate::session::Phase;
use crate::version::RevisionSet;

/// The discovery result, borrowed from the configuration.
struct Discovery<'c> {
    supported: RevisionSet,
    capabilities: &'c ServerCapabilities<'static>,
    instructions: Option<&'c str>,
}

/// All its members exist in every modern revision.
impl Message for Discovery<'_> {
    fn record(&self) -> &'static Record {
        DiscoverResult::RECORD
    }

    fn write_members(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        out.piece(",\"supportedVersions\":")?;
        let start = out.position();
        for revision in self.supported.iter() {
            out.piece(",")?;
            out.string(revision.name())?;
        }
        out.enclose(start, b'[', "]")?;
        out.piece(",\"capabilities\":")?;
        Value::write(self.capabilities, out)?;
        if let Some(instructions) = self.instructions {
            out.piece(",\"instructions\":")?;
            out.string(instructions)?;
        }
        Ok(())
    }

    fn own_addable(&self) -> u8 {
        0
    }
}

impl Payload for Discovery<'_> {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        payload.message(self)
    }
}

impl ServerConfig {
    /// The identity that the server sends in every modern response. `None` if the server speaks only legacy
    /// revisions.
    pub(crate) fn identity(&self) -> Option<Identity> {
        if self.revisions.and(RevisionSet::MODERN).is_empty() {
            return None;
        }
        let info = self.identify.then_some(&self.info);
        let offered = (&self.capabilities).into();
        let extensions = self.extensions().map(String::from).collect();
        let identity = Identity::of_server(info, offered, self.cache, extensions);
        Some(identity.of_one_era(self.one_era))
    }

    /// The names of the server's extensions. An invalid name is skipped.
    fn extensions(&self) -> impl Iterator<Item = &str> {
        let declared = self.capabilities.extensions.iter().flat_map(|extensions| extensions.iter());
        declared
            .map(|(name, _)| name)
            .filter(|name| MetaKey::parse(name).is_ok_and(|key| key.prefix().is_some()))
    }

    /// Returns the extension of this name, if the configuration declares it. Look it up in
    /// [`RequestContext::extensions`](crate::RequestContext::extensions).
    pub fn extension(&self, name: &str) -> Option<Extension> {
        if self.revisions.and(RevisionSet::MODERN).is_empty() {
            return None;
        }
        Extension::at(self.extensions().position(|known| known == name)?)
    }
}

/// Answers the request.
///
/// # Errors
///
/// The violation to refuse the request with: the result could not be written, or the outbox has no room for it.
pub(super) fn answer(
    connection: &mut Connection,
    config: &ServerConfig,
    request: &IncomingRequest<'_, '_>,
    out: &mut dyn Outboxes,
) -> Result<(), ViolationKind> {
    let discovery = Discovery {
        supported: config.revisions.and(RevisionSet::MODERN),
        capabilities: &config.capabilities,
        instructions: config.instructions.as_deref(),
    };
    let (dispatcher, cx) = &mut connection.enter(None, out);
    let sent = dispatcher.messages_mut().answer_discovery(cx, request, &discovery);
    if sent || dispatcher.phase() == Phase::Closed {
        Ok(())
    } else {
        Err(ViolationKind::AnswerTooLong)
    }
}
