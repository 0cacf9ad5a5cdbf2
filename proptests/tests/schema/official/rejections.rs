//! Errors that a modern server sends on behalf of its application.

use mcp_sansio::capability::{Capability, CapabilitySet};
use mcp_sansio::error::ErrorObject;
use mcp_sansio::error::NotAllowed;
use mcp_sansio::{ErrorCode, RespondError, Revision, ServerEvent};
use mcp_sansio_proptests::{ServerSide, config};
use serde_json::json;

use crate::official::closed::Schemas;
use crate::official::parse;
use crate::official::refusals::check;
use crate::official::stateless::{ALL, REVISION, asked_by, claim_with, frame, only, side};

/// The declared, the required and the missing capabilities.
const MISSING: &[(&str, &[Capability], &str)] = {
    use Capability::*;
    &[
        ("{}", &[Roots], r#"{"roots":{}}"#),
        ("{}", &[Sampling], r#"{"sampling":{}}"#),
        ("{}", &[Sampling, SamplingTools], r#"{"sampling":{"tools":{}}}"#),
        ("{}", &[SamplingTools], r#"{"sampling":{"tools":{}}}"#),
        (r#"{"sampling":{}}"#, &[Sampling, SamplingTools], r#"{"sampling":{"tools":{}}}"#),
        (
            r#"{"sampling":{"tools":{}}}"#,
            &[SamplingTools, SamplingContext],
            r#"{"sampling":{"context":{}}}"#,
        ),
        ("{}", &[Elicitation], r#"{"elicitation":{}}"#),
        ("{}", &[ElicitationForm], r#"{"elicitation":{"form":{}}}"#),
        (
            r#"{"elicitation":{}}"#,
            &[ElicitationForm, ElicitationUrl],
            r#"{"elicitation":{"url":{}}}"#,
        ),
        (
            r#"{"elicitation":{"url":{}}}"#,
            &[ElicitationForm, ElicitationUrl],
            r#"{"elicitation":{"form":{}}}"#,
        ),
        (
            "{}",
            &[Roots, Sampling, ElicitationUrl],
            r#"{"roots":{},"sampling":{},"elicitation":{"url":{}}}"#,
        ),
        (r#"{"roots":{"listChanged":true}}"#, &[Roots, Sampling], r#"{"sampling":{}}"#),
    ]
};

fn set(capabilities: &[Capability]) -> CapabilitySet {
    capabilities.iter().fold(CapabilitySet::NONE, |set, one| set.with(*one))
}

/// Proves M-ERR-11, M-ERR-12, M-CAP-04, M-STATE-01, and M-CAP-02 for reading and naming servers: the missing
/// capabilities contain no `listChanged`, for any declaration.
#[test]
fn missing_capabilities_have_the_form_of_declarations() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for (declared, needed, missing) in MISSING {
        for method in ["tools/call", "prompts/get", "resources/read"] {
            let (mut side, request) = asked_by(declared, method);
            side.server.reject_missing(request.id, set(needed), &mut side.out).unwrap();
            let sent = side.sent();
            let expected = format!(
                r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32021,"message":"Missing required client capability","data":{{"requiredCapabilities":{missing}}}}}}}"#
            );
            assert_eq!(sent, [expected]);
            check(schemas, "MissingRequiredClientCapabilityError", &parse(&sent));
        }
    }
    // The capabilities of one request do not apply to the next one.
    let mut side = side();
    for (declared, is_declared) in [(ALL, true), ("{}", false), (ALL, true)] {
        let text = frame(7, "tools/call", r#"{"name":"n"}"#, &claim_with(declared, ""));
        let Some(ServerEvent::Request(request)) = side.receive(&text) else { panic!("{text}") };
        assert_eq!(request.context.capabilities.contains(Capability::Sampling), is_declared);
        side.respond(request.id, r#"{"content":[]}"#);
    }
}

/// Capabilities that clients cannot declare, at all or in this revision, are not named as missing.
#[test]
fn only_client_capabilities_are_reported_missing() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    for other in [Capability::RootsListChanged, Capability::Tools] {
        let (mut side, request) = asked_by("{}", "tools/call");
        let needed = set(&[Capability::Roots, other]);
        side.server.reject_missing(request.id, needed, &mut side.out).unwrap();
        let answer = only(&mut side);
        check(schemas, "MissingRequiredClientCapabilityError", &answer);
        assert_eq!(answer["error"]["data"], json!({ "requiredCapabilities": { "roots": {} } }));
    }
}

/// Proves M-ERR-02, M-ERR-03, M-ERR-05, M-RSRC-01, M-RPC-23 for errors of applications: codes of the protocol are
/// refused, and the request stays open.
#[test]
fn an_application_has_codes_of_its_own_only() {
    let Some(schemas) = Schemas::of(REVISION) else { return };
    let names = [
        (-32700, "ParseError"),
        (-32600, "InvalidRequestError"),
        (-32601, "MethodNotFoundError"),
        (-32602, "InvalidParamsError"),
        (-32603, "InternalError"),
        (-32768, "Error"),
        (-32100, "Error"),
        (-31999, "Error"),
        (0, "Error"),
        (7, "Error"),
        (i64::MAX, "Error"),
    ];
    for (code, name) in names {
        for (data, text) in [(json!(null), "null"), (json!([1.5, "a"]), r#"[1.5,"a"]"#)] {
            let (mut side, request) = asked_by("{}", "tools/call");
            let out = &mut side.out;
            side.server
                .reject_with(
                    request.id,
                    &ErrorObject::with(ErrorCode::new(code), "m", &data).unwrap(),
                    out,
                )
                .unwrap();
            let sent = side.sent();
            let error = format!(r#"{{"code":{code},"message":"m","data":{text}}}"#);
            assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#)]);
            check(schemas, name, &parse(&sent));
        }
    }
    let reserved = [-32000, -32001, -32019, -32020, -32021, -32022, -32023, -32042, -32050, -32099];
    for code in reserved.map(ErrorCode::new) {
        let (mut side, request) = asked_by("{}", "resources/read");
        let refused = side.server.reject(request.id, code, "m", &mut side.out);
        let reason = match code.get() {
            -32042 => NotAllowed::Revision,
            _ => NotAllowed::Code,
        };
        assert_eq!(refused, Err(RespondError::NotAllowed(reason)), "{code}");
        assert_eq!(side.sent(), [""; 0]);
        let (not_found, data) = (ErrorCode::RESOURCE_NOT_FOUND, json!({ "uri": "x:y" }));
        side.server
            .reject_with(
                request.id,
                &ErrorObject::with(not_found, "m", &data).unwrap(),
                &mut side.out,
            )
            .unwrap();
        assert_eq!(
            side.sent(),
            [
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"m","data":{"uri":"x:y"}}}"#
            ]
        );
    }
    // In a session these codes are allowed as before.
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready_with(config::server_of_both_eras(), revision);
        let id = side.request(
            r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"x:y"}}"#,
        );
        side.server.reject(id, ErrorCode::RESOURCE_NOT_FOUND, "m", &mut side.out).unwrap();
        assert_eq!(
            side.sent(),
            [r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"m"}}"#],
            "{revision}"
        );
    }
}
