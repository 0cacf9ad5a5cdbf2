//! The re-entry of a request with the input that it required
//! ([MRTR](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)).

use super::ClientRequest;
use super::event::{Request, ServerEvent};
use crate::connection::{Connection, Resumed};
use crate::json::{Object, Raw, Str};

/// Returns the event that hands a request to its handler again.
pub(super) fn resumed(connection: &Connection, resumed: Resumed) -> Option<ServerEvent<'static>> {
    let Resumed { id, kind, params, inputs, state } = resumed;
    let context = connection.in_flight().context(id)?;
    let method = Str::from(kind?.rule().name);
    let object = params.as_deref().map(Object::of);
    let kind = ClientRequest::read(kind, object.as_ref(), context.revision)?.into_owned();
    let params = params.map(|params| Raw::trusted(&params).into_owned());
    let meta = params.as_ref().and_then(|params| params.get("_meta")).map(Raw::into_owned);
    let inputs = Some(Raw::trusted(&inputs).into_owned());
    let state = state.map(|state| Str::from(&*state).into_owned());
    let request = Request { id, context, kind, method, params, meta, inputs, state };
    Some(ServerEvent::Request(request))
}
