//! Results that are written before the response: they are sent like the result itself.

use mcp_sansio::json::Raw;
use mcp_sansio::model::{CallToolResult, Content, InputRequired, ListToolsResult, Tool};
use mcp_sansio::schema::{EncodeError, Payload};
use mcp_sansio::{ClientEvent, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config, payload};

/// A request of a client in a session, and the same in the modern era.
fn requests(method: &str, params: &str) -> Vec<(ServerSide, String)> {
    let frame = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}}}}}"#)
    };
    let comma = if params.is_empty() { "" } else { "," };
    let claim = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let modern = ServerSide::with(config::server_of_both_eras());
    let in_sessions = Revision::LEGACY.map(|revision| (ServerSide::ready(revision), frame(params)));
    let modern = (modern, frame(&format!("{params}{comma}{claim}")));
    in_sessions.into_iter().chain([modern]).collect()
}

/// Responds with a result, and with the same result in a written form. Expects the same message or error.
#[track_caller]
fn is_sent_alike(
    method: &str,
    params: &str,
    result: &dyn Payload,
) -> Vec<Result<String, RespondError>> {
    let mut all = Vec::new();
    for (mut side, frame) in requests(method, params) {
        let Some(ServerEvent::Request(request)) = side.receive(&frame) else { panic!("{frame}") };
        let mut same = side.clone();
        let answered = side.server.respond(request.id, result, &mut side.out);
        let answered = answered.map(|()| side.sent().remove(0));
        // The old content of the buffer is discarded.
        let mut buffer = b"old".to_vec();
        let again = match request.write_result(result, &mut buffer) {
            Ok(written) => {
                let shown = format!("WrittenResult({} bytes)", written.as_json().len());
                assert_eq!(format!("{written:?}"), shown);
                let raw = Raw::from_serialize(&written).unwrap();
                assert_eq!(raw.as_json(), written.as_json());
                same.server.respond(request.id, &written, &mut same.out)
            }
            Err(error) => Err(RespondError::Encode(error)),
        };
        assert_eq!(
            again.map(|()| same.sent().remove(0)),
            answered,
            "{:?}",
            request.context.revision
        );
        all.push(answered);
    }
    all
}

#[test]
fn a_written_result_is_sent_like_the_result() {
    let call = r#""name":"t""#;
    let sent = is_sent_alike("tools/call", call, &CallToolResult::text("done"));
    let plain = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"done"}]}}"#;
    assert_eq!(sent[0].as_deref(), Ok(plain));
    // The members that the connection adds are not in the written text.
    assert!(sent[4].as_ref().unwrap().contains(r#""resultType":"complete""#), "{sent:?}");
    let tool = Tool::new("t", Raw::EMPTY_OBJECT).title("T");
    is_sent_alike("tools/list", "", &ListToolsResult::new([tool]));
    is_sent_alike("x/own", "", &Raw::new(r#"{"any":[1, 2]}"#).unwrap());
    // A kind of content that older revisions do not have, an object that is no result, and a value that is no object.
    let audio = Content::Audio(mcp_sansio::model::AudioContent::new("AAA=", "audio/wav"));
    let sent = is_sent_alike("tools/call", call, &CallToolResult::new([audio]));
    assert_eq!(sent.iter().filter(|sent| sent.is_err()).count(), 1, "{sent:?}");
    for wrong in ["{}", "7", r#"{"content":7}"#] {
        let sent = is_sent_alike("tools/call", call, &Raw::new(wrong).unwrap());
        assert!(sent.iter().all(Result::is_err), "{wrong}: {sent:?}");
    }
}

/// A result that was written for one revision is compared again for another.
#[test]
fn a_result_that_was_written_for_another_request_is_compared_again() {
    let mut sides = requests("tools/list", "");
    let (mut newer, frame) = sides.remove(3);
    let Some(ServerEvent::Request(request)) = newer.receive(&frame) else { panic!("{frame}") };
    let tool = Tool::new("t", Raw::new(r#"{"type":"object"}"#).unwrap()).title("T");
    let mut buffer = Vec::new();
    let written = request.write_result(&ListToolsResult::new([tool]), &mut buffer).unwrap();
    assert!(written.as_json().contains(r#""title":"T""#));
    let (mut older, frame) = sides.remove(0);
    let id = older.request(&frame);
    older.server.respond(id, &written, &mut older.out).unwrap();
    assert_eq!(
        older.sent(),
        [
            r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}"#
        ]
    );
    let call = older.request(&requests("tools/call", r#""name":"t""#)[0].1);
    let refused = older.server.respond(call, &written, &mut older.out);
    assert!(matches!(refused, Err(RespondError::Encode(EncodeError::Misfit(_)))), "{refused:?}");
}

/// A client writes its results in the same way.
#[test]
fn a_written_result_of_a_client_is_sent_like_the_result() {
    for method in ["roots/list", "sampling/createMessage", "x/own"] {
        let mut side = ClientSide::ready(Revision::V2025_11_25);
        let params = payload::params(method);
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{}}}"#,
            params.as_json().replace("null", r#"{"_meta":{"k":1,"progressToken":3}}"#)
        );
        let Some(ClientEvent::Request(request)) = side.receive(&frame) else { panic!("{frame}") };
        let meta = request.meta_to_pass_on();
        let has_meta = method != "sampling/createMessage";
        assert_eq!(meta.as_ref().map(Raw::as_json), has_meta.then_some(r#"{"k":1}"#));
        let result = payload::result(method);
        let mut buffer = Vec::new();
        let written = request.write_result(&result, &mut buffer).unwrap();
        side.client.respond(request.id, &written, &mut side.out).unwrap();
        let expected = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, result.as_json());
        assert_eq!(side.sent(), [expected]);
    }
}

/// The metadata of required input is sent with what the connection adds.
#[test]
fn required_input_carries_its_metadata() {
    let (mut side, frame) = requests("tools/call", r#""name":"t""#).remove(4);
    let Some(ServerEvent::Request(request)) = side.receive(&frame) else { panic!("{frame}") };
    let mut need = InputRequired::new().state("s");
    need.meta = Some(Raw::new(r#"{"k":1}"#).unwrap());
    side.server.require_input(&request, &need, side.now, &mut side.out).unwrap();
    let server = r#""io.modelcontextprotocol/serverInfo":{"name":"server","version":"1"}"#;
    assert_eq!(
        side.sent(),
        [format!(
            r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"input_required","requestState":"s","_meta":{{{server},"k":1}}}}}}"#
        )]
    );
}
