//! Requests for input in their wire form, each checked and written by the rules of its method.

use alloc::string::String;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::kept::check_params;
use super::methods::{RequestKind, Sender};
use super::refusal::{NotAllowed, RespondError};
use crate::capability::CapabilitySet;
use crate::json::Raw;
use crate::model::{ElicitationMode, InputRequest, InputRequired};
use crate::schema::{
    Additions, Empty, EncodeError, Misfit, Payload, PayloadWriter, Problem, Writer,
};
use crate::version::Revision;

/// A request for input under one key.
pub(crate) struct PreparedInput<'m> {
    pub(crate) key: &'m str,
    pub(crate) kind: RequestKind,
    /// The params in the form of the revision. Empty if there are none.
    pub(crate) params: String,
}

/// All requests for input of a result, and the capabilities that the client must have declared for them.
pub(crate) struct Inputs<'m> {
    pub(crate) requests: SmallVec<[PreparedInput<'m>; 1]>,
    pub(crate) needs: CapabilitySet,
}

impl<'m> Inputs<'m> {
    /// Writes the requests for input in the form of a revision. `url_id` returns the id of a URL elicitation by its
    /// index, where the revision requires ids.
    pub(crate) fn prepare(
        required: &'m InputRequired<'_>,
        revision: Revision,
        url_id: impl Fn(usize) -> Option<String>,
    ) -> Result<Self, RespondError> {
        let mut inputs = Self { requests: SmallVec::new(), needs: CapabilitySet::NONE };
        let asked = required.requests.iter().flat_map(|requests| requests.iter());
        for (index, (key, request)) in asked.enumerate() {
            let (kind, written) = match request {
                InputRequest::Elicit(params) => {
                    let id = url_id(index).filter(|_| *params.mode() == ElicitationMode::Url);
                    (RequestKind::Elicit, write(RequestKind::Elicit, params, revision, id))
                }
                InputRequest::CreateMessage(params) => {
                    let kind = RequestKind::CreateMessage;
                    (kind, write(kind, params, revision, None))
                }
                InputRequest::ListRoots => (RequestKind::ListRoots, Ok(Written::default())),
                InputRequest::Unknown(request) => {
                    let kind = kind_of(request)?;
                    (kind, write_as_it_is(kind, request, revision, url_id(index)))
                }
            };
            let (params, needs) =
                written.map_err(|error| error.in_entry(key).inside("inputRequests"))?;
            let gate = kind.rule().gate(Sender::Server);
            inputs.needs =
                gate.into_iter().chain(needs.iter()).fold(inputs.needs, CapabilitySet::with);
            inputs.requests.push(PreparedInput { key, kind, params });
        }
        inputs.needs = inputs.needs.known_to(revision);
        Ok(inputs)
    }
}

/// The params in the form of a revision, and the capabilities that they need.
type Written = (String, CapabilitySet);

fn write(
    kind: RequestKind,
    params: &dyn Payload,
    revision: Revision,
    url_id: Option<String>,
) -> Result<Written, EncodeError> {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, usize::MAX);
    let form = Some(kind.rule().params(revision));
    let named = [("elicitationId", url_id.as_deref().unwrap_or_default())];
    let defaults: &[_] = if url_id.is_some() { &named } else { &[] };
    let additions = Additions { defaults, ..Additions::NONE };
    params
        .write(PayloadWriter::new(&mut writer, "", Empty::Braces, &additions, form))
        .map_err(|error| error.inside("params"))?;
    let needs = writer.needs();
    let text = String::from_utf8(buffer).map_err(|_| EncodeError::Payload)?;
    check_params(kind, &text).map_err(|misfit| misfit.inside("params"))?;
    Ok((text, needs))
}

/// Returns the method of a request for input that has not been decoded, if the method may be used for input.
fn kind_of(request: &Raw<'_>) -> Result<RequestKind, NotAllowed> {
    let method = request.get("method").and_then(Raw::into_str).ok_or(NotAllowed::Method)?;
    let kind = RequestKind::of(&method).filter(|kind| kind.rule().is_input_request());
    kind.ok_or(NotAllowed::Method)
}

/// Writes the params of an undecoded request for input, with all their members.
fn write_as_it_is(
    kind: RequestKind,
    request: &Raw<'_>,
    revision: Revision,
    url_id: Option<String>,
) -> Result<Written, EncodeError> {
    match request.get("params") {
        Some(params) => {
            let mode = params.get("mode").and_then(Raw::into_str);
            let is_visit = mode.is_some_and(|mode| mode == "url");
            write(kind, &params, revision, url_id.filter(|_| is_visit))
        }
        None if kind == RequestKind::ListRoots => Ok(Written::default()),
        None => Err(Misfit::at("params", Problem::Missing).into()),
    }
}
