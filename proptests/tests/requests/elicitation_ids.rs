//! The ids of visits to URLs that a server remembers.

use mcp_sansio::error::NotifyError;
use mcp_sansio::model::{ElicitParams, method};
use mcp_sansio::subscription::Delivery;
use mcp_sansio::{CallOptions, ErrorCode, Outcome, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};

const REVISION: Revision = Revision::V2025_11_25;

/// The server reports the completion of a visit.
fn complete(side: &mut ServerSide, id: &str) -> Result<Delivery, NotifyError> {
    side.server.notifications().elicitation_complete(id, &mut side.out)
}

/// Only a server requires visits: the ids in an error of a client mean nothing.
#[test]
fn an_error_of_a_client_opens_no_elicitation() {
    let mut side = ServerSide::ready(REVISION);
    let call = side.call("sampling/createMessage");
    _ = side.sent();
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","message":"m","url":"https://x/","elicitationId":"e"}]}}}"#;
    let event = side.receive(error);
    let Some(ServerEvent::CallEnded(ended)) = event else { panic!("{event:?}") };
    let Outcome::PeerError(error) = ended.outcome else { panic!("{:?}", ended.outcome) };
    assert_eq!((ended.call, error.code), (call, ErrorCode::URL_ELICITATION_REQUIRED));
    assert_eq!(complete(&mut side, "e"), Err(NotifyError::UnknownElicitation));
    assert_eq!(side.sent(), [""; 0]);
}

/// An elicitation is remembered if its id is not longer than the limit.
#[test]
fn an_elicitation_with_a_long_id_is_not_remembered() {
    let mut config = config::server();
    config.connection.limits.uri_bytes = 3;
    let mut side = ServerSide::ready_with(config, REVISION);
    let results = [
        ("ab", Ok(Delivery::Sent)),
        ("abc", Ok(Delivery::Sent)),
        ("abcd", Err(NotifyError::UnknownElicitation)),
    ];
    for (id, completed) in results {
        let params = ElicitParams::url("m", "https://x/", id);
        let (now, options) = (side.now, CallOptions::new());
        side.server.call::<method::Elicit>(&params, options, now, &mut side.out).unwrap();
        assert_eq!(complete(&mut side, id), completed, "{id}");
    }
}
