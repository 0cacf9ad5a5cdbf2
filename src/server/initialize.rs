//! `initialize`, answered on the spot so that what is pipelined behind it finds the session open.

use super::Server;
use super::event::{Opened, ServerEvent};
use crate::capability::{CapabilitySet, Owner};
use crate::config::ServerConfig;
use crate::dialect::methods::RequestKind;
use crate::error::{ErrorCode, ViolationKind};
use crate::json::{Additions, Kind, MemberTexts, Raw, Str};
use crate::model::{InitializeResult, Text};
use crate::peer::{Detail, IncomingRequest, Outlets, Said};
use crate::rpc::{Answer, Fault, write_error, write_result};
use crate::session::Step;
use crate::version::{Revision, RevisionSet};
use alloc::boxed::Box;

/// The params, as far as the machine needs them.
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
    /// The revision for a client that asks for this one: the same if it is spoken, else the newest.
    fn choose(&self, requested: &Str<'_>) -> Option<Revision> {
        let spoken = self.revisions.and(RevisionSet::HANDSHAKE);
        let exact =
            Revision::from_name(&requested.to_str()).filter(|revision| spoken.contains(*revision));
        let other = || spoken.latest().filter(|_| !self.refuse_other_revisions);
        exact.or_else(other)
    }
}

impl Server {
    pub(super) fn initialize<'f>(
        &mut self,
        request: IncomingRequest<'_, 'f>,
        out: &mut dyn Outlets,
    ) -> Option<ServerEvent<'f>> {
        let params = match Params::read(request.params_text()) {
            Ok(params) => params,
            Err(kind) => return self.refuse(kind, request, out),
        };
        let Some(revision) = self.config.choose(&params.requested) else {
            return self.refuse_revision(&params, request, out);
        };
        let result = InitializeResult {
            protocol_version: revision.name().into(),
            capabilities: self.config.capabilities.clone(),
            server_info: self.config.info.clone(),
            instructions: self.config.instructions.as_deref().map(Text::from),
            meta: None,
        };
        let form = RequestKind::Initialize.rule().result(revision);
        let (peer, cx) = &mut self.connection.enter(None, out);
        let sent = peer.messages_mut().send_own(cx, request.arrival.lane, Said::Result, |writer| {
            write_result(writer, &request.id, &result, &Additions::NONE, Some(form))
        });
        if !sent {
            // The limits of this side leave no room for what this side has to say.
            return self.refuse(ViolationKind::AnswerTooLong, request, out);
        }
        // The route leads here only while there is no session, so the step makes sense.
        if !self.connection.peer.messages_mut().lifecycle.step(Step::Begin) {
            return None;
        }
        self.connection.peer.messages_mut().session.open(revision, params.capabilities);
        let raw = Raw::trusted(request.params_text()?);
        if self.config.connection.keep_handshake {
            self.client = Some(Box::new(raw.clone().into_owned()));
        }
        let capabilities = self.peer_capabilities();
        Some(ServerEvent::Opened(Opened { revision, capabilities, params: raw }))
    }

    fn refuse_revision<'f>(
        &mut self,
        params: &Params<'_>,
        request: IncomingRequest<'_, 'f>,
        out: &mut dyn Outlets,
    ) -> Option<ServerEvent<'f>> {
        let supported = self.config.revisions.and(RevisionSet::HANDSHAKE);
        let data = Detail::versions(supported, &params.requested);
        let message = "Unsupported protocol version";
        let code = ErrorCode::INVALID_PARAMS;
        let fault = Fault { code, message: &message, data: Some(&data) };
        let (peer, cx) = &mut self.connection.enter(None, out);
        peer.messages_mut().send_own(cx, request.arrival.lane, Said::Error(code), |writer| {
            write_error(writer, Answer::To(&request.id), fault, None)
        });
        None
    }
}
