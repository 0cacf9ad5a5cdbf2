//! `initialize`: answered inside `receive`, so that pipelined requests find the session open.

use super::event::Opened;
use crate::capability::{CapabilitySet, Owner};
use crate::codes::{ErrorCode, ViolationKind};
use crate::config::ServerConfig;
use crate::connection::{Connection, Detail, IncomingRequest, Outboxes, SentMessage};
use crate::dialect::methods::RequestKind;
use crate::json::{Kind, MemberTexts, Raw, Str};
use crate::model::{InitializeResult, Text};
use crate::rpc::{Fault, ReplyTo, write_error, write_result};
use crate::schema::Additions;
use crate::session::Step;
use crate::version::{Revision, RevisionSet};

/// The params of `initialize`, as far as the machine needs them.
struct Params<'a> {
    requested: Str<'a>,
    capabilities: CapabilitySet,
}

impl<'a> Params<'a> {
    fn read(params: Option<&'a str>) -> Result<Self, ViolationKind> {
        let (mut version, mut capabilities, mut info) = (None, None, None);
        for (key, value) in MemberTexts::of(params.unwrap_or_default()) {
            if key == "protocolVersion" {
                version = Str::from_literal(value);
            } else if key == "capabilities" {
                capabilities = Some(value);
            } else if key == "clientInfo" {
                info = Some(Raw::trusted(value));
            }
        }
        let is_string = |raw: Option<Raw<'_>>| raw.is_some_and(|raw| raw.kind() == Kind::String);
        let identified =
            info.is_some_and(|info| is_string(info.get("name")) && is_string(info.get("version")));
        let (Some(requested), Some(capabilities), true) = (version, capabilities, identified)
        else {
            return Err(ViolationKind::InvalidParams);
        };
        let capabilities = CapabilitySet::read(Owner::Client, capabilities)
            .ok_or(ViolationKind::MalformedCapabilities)?;
        Ok(Self { requested, capabilities })
    }
}

impl ServerConfig {
    /// Returns the revision for a client that asks for `requested`: the same one if it is supported, otherwise the
    /// newest legacy one. Returns `None` if there is none, or if the configuration refuses other revisions.
    fn choose(&self, requested: &Str<'_>) -> Option<Revision> {
        let spoken = self.revisions.and(RevisionSet::LEGACY);
        let exact =
            Revision::from_name(&requested.to_str()).filter(|revision| spoken.contains(*revision));
        let other = || spoken.latest().filter(|_| !self.refuse_other_revisions);
        exact.or_else(other)
    }
}

/// Answers the request, and opens the session. Returns `None` if it opened none: the revision was refused, or the
/// connection has ended.
///
/// # Errors
///
/// The violation to refuse the request with.
pub(super) fn answer<'f>(
    connection: &mut Connection,
    config: &ServerConfig,
    request: &IncomingRequest<'_, 'f>,
    out: &mut dyn Outboxes,
) -> Result<Option<Opened<'f>>, ViolationKind> {
    let params = Params::read(request.params_text())?;
    let Some(revision) = config.choose(&params.requested) else {
        refuse_revision(connection, config, (request, &params), out);
        return Ok(None);
    };
    let result = InitializeResult {
        protocol_version: revision.name().into(),
        capabilities: config.capabilities.clone(),
        server_info: config.info.clone(),
        instructions: config.instructions.as_deref().map(Text::from),
        meta: None,
    };
    let form = RequestKind::Initialize.rule().result(revision);
    let (dispatcher, cx) = &mut connection.enter(None, out);
    let messages = dispatcher.messages_mut();
    let sent = messages.send_own(cx, request.received.route, SentMessage::Result, |writer| {
        write_result(writer, &request.id, &result, &Additions::NONE, Some(form))
    });
    if !sent {
        // The limits of this side are too small for its own `initialize` result.
        return Err(ViolationKind::AnswerTooLong);
    }
    // The dispatcher passes `initialize` only before a session is open, so the step is valid.
    if !messages.lifecycle.step(Step::Begin) {
        return Ok(None);
    }
    messages.session.open(revision, params.capabilities);
    let capabilities = connection.peer_capabilities();
    let params = request.params_text().map(Raw::trusted);
    Ok(params.map(|params| Opened { revision, capabilities, params }))
}

fn refuse_revision(
    connection: &mut Connection,
    config: &ServerConfig,
    (request, params): (&IncomingRequest<'_, '_>, &Params<'_>),
    out: &mut dyn Outboxes,
) {
    let supported = config.revisions.and(RevisionSet::LEGACY);
    let data = Detail::versions(supported, &params.requested);
    let message = "Unsupported protocol version";
    let code = ErrorCode::INVALID_PARAMS;
    let fault = Fault { code, message: &message, data: Some(&data) };
    let (dispatcher, cx) = &mut connection.enter(None, out);
    dispatcher.messages_mut().send_own(
        cx,
        request.received.route,
        SentMessage::Error(code),
        |writer| write_error(writer, ReplyTo::To(&request.id), fault, None),
    );
}
