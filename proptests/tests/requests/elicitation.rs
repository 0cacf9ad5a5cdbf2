//! Elicitation: forms for users, and URLs for users to visit.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::ErrorObject;
use mcp_sansio::error::{NotAllowed, ViolationKind};
use mcp_sansio::json::{Number, Raw};
use mcp_sansio::model::{
    ElicitAction, ElicitParams, ElicitResult, ElicitationMode, ElicitationRequired, NumberSchema,
    ObjectSchema, PrimitiveSchema, StringSchema, method,
};
use mcp_sansio::schema::{EncodeError, Problem};
use mcp_sansio::{
    CallError, CallId, CallOptions, ClientEvent, Outcome, RespondError, Revision, ServerEvent,
    ServerRequest,
};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

const WITH_FORMS: Revision = Revision::V2025_06_18;
const WITH_URLS: Revision = Revision::V2025_11_25;

/// Elicits from the user with these params.
fn ask(side: &mut ServerSide, params: &str) -> Result<CallId, CallError> {
    let params = Raw::new(params).unwrap();
    let (now, options) = (side.now, CallOptions::new());
    side.server.call_method("elicitation/create", &params, options, now, &mut side.out)
}

/// The misfit in params that could not be sent.
#[track_caller]
fn misfit(asked: Result<CallId, CallError>) -> (&'static str, Problem) {
    match asked {
        Err(CallError::Encode(EncodeError::Misfit(misfit))) => (misfit.field, misfit.problem),
        other => panic!("not a misfit: {other:?}"),
    }
}

fn elicit(params: &str) -> String {
    elicit_as(1, params)
}

fn elicit_as(id: usize, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{params}}}"#)
}

/// A form with one field of this schema.
fn form(field: &str) -> String {
    format!(
        r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{"f":{field}}}}}}}"#
    )
}

/// The kind of the violation in a request, and the messages sent in response.
#[track_caller]
fn refused(side: &mut ClientSide, frame: &str) -> (ViolationKind, Vec<String>) {
    match side.receive(frame) {
        Some(ClientEvent::Violation(violation)) => (violation.kind, side.sent()),
        other => panic!("{frame} is served: {other:?}"),
    }
}

#[track_caller]
fn outcome(event: Option<ServerEvent<'static>>) -> Outcome<'static> {
    match event {
        Some(ServerEvent::CallEnded(ended)) => ended.outcome,
        other => panic!("no outcome: {other:?}"),
    }
}

/// A server in a session with a client that declares exactly this elicitation capability.
fn server_for(declared: &str) -> ServerSide {
    let mut side = ServerSide::fresh();
    let opened = side.receive(&format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"elicitation":{declared}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    ));
    assert!(matches!(opened, Some(ServerEvent::Opened(_))), "{opened:?}");
    let ready = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!((ready, side.sent().len()), (Some(ServerEvent::Ready), 1));
    side
}

/// Proves L-ELIC-03.
#[test]
fn a_form_has_no_depth() {
    let nested = form(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    let list = form(r#"{"type":"array","items":{"type":"object"}}"#);
    let untyped = form(r#"{"title":"t"}"#);
    let cases = [
        (WITH_FORMS, &nested, ("type", Problem::NotAllowed)),
        (WITH_URLS, &nested, ("type", Problem::NotAllowed)),
        (WITH_FORMS, &list, ("type", Problem::NotInRevision)),
        (WITH_URLS, &list, ("type", Problem::NotAllowed)),
        (WITH_URLS, &untyped, ("type", Problem::Missing)),
    ];
    for (revision, params, expected) in cases {
        let mut server = ServerSide::ready(revision);
        assert_eq!(misfit(ask(&mut server, params)), expected, "{revision} {params}");
        assert_eq!(server.sent(), [""; 0]);
        assert_eq!(server.server.in_flight().counts().outbound, 0);
        let mut client = ClientSide::ready(revision);
        let (kind, sent) = refused(&mut client, &elicit(params));
        assert_eq!(kind, ViolationKind::InvalidParams, "{revision} {params}");
        assert!(sent[0].contains(r#""id":1,"error":{"code":-32602,"#), "{sent:?}");
        assert_eq!((sent.len(), client.client.in_flight().counts().inbound), (1, 0));
    }
    for kind in ["string", "number", "integer", "boolean"] {
        let params = form(&format!(r#"{{"type":"{kind}"}}"#));
        ask(&mut ServerSide::ready(WITH_FORMS), &params).unwrap();
        ClientSide::ready(WITH_FORMS).request(&elicit(&params));
    }
}

/// Proves L-ELIC-11: members that the kind of a field does not have are unknown members, before and after the `type`.
#[test]
fn members_of_other_kinds_of_fields_mean_nothing() {
    let fields = [
        r#"{"type":"integer","enum":[1,2,3]}"#,
        r#"{"enum":[1,2,3],"type":"integer"}"#,
        r#"{"type":"boolean","enum":[true]}"#,
        r#"{"type":"number","oneOf":[{"const":1,"title":"One"}]}"#,
        r#"{"format":"double","type":"number","items":1}"#,
        r#"{"type":"string","minimum":"x","items":[]}"#,
    ];
    for (revision, field) in [WITH_FORMS, WITH_URLS]
        .into_iter()
        .flat_map(|revision| fields.map(|field| (revision, field)))
    {
        let params = form(field);
        ClientSide::ready(revision).request(&elicit(&params));
        let mut server = ServerSide::ready(revision);
        ask(&mut server, &params).unwrap();
        let sent = server.sent();
        assert!(sent[0].ends_with(&format!(r#""properties":{{"f":{field}}}}}}}}}"#)), "{sent:?}");
    }
    let own = form(r#"{"enum":[1],"type":"string"}"#);
    let (kind, _) = refused(&mut ClientSide::ready(WITH_URLS), &elicit(&own));
    assert_eq!(kind, ViolationKind::InvalidParams);
}

/// A field that the user left empty can be `null`, as the official Python SDK has it.
#[test]
fn an_empty_field_counts_as_absent() {
    let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}}"#;
    for (content, is_result) in [(r#"{"a":"x","b":null}"#, true), (r#"{"a":null,"b":1}"#, false)] {
        let mut server = ServerSide::ready(WITH_FORMS);
        ask(&mut server, form).unwrap();
        server.sent();
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"action":"accept","content":{content}}}}}"#
        );
        match outcome(server.receive(&result)) {
            Outcome::Result(got) => {
                assert!(is_result, "{content}");
                let got = got.parse::<ElicitResult<'_>>().unwrap();
                assert_eq!(got.filled_in().unwrap().as_json(), content);
            }
            other => assert!(!is_result, "{content}: {other:?}"),
        }
    }
}

/// Proves L-ELIC-04: the three actions of the schema, and no other, on both sides.
#[test]
fn a_user_accepts_declines_or_cancels() {
    for revision in [WITH_FORMS, WITH_URLS] {
        for action in ["accept", "decline", "cancel"] {
            let result = format!(r#"{{"action":"{action}"}}"#);
            let mut client = ClientSide::ready(revision);
            let id = client.request(&elicit(&form(r#"{"type":"string"}"#)));
            client.respond(id, &result);
            let sent = client.sent();
            assert_eq!(sent, [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)]);
            let mut server = ServerSide::ready(revision);
            ask(&mut server, &form(r#"{"type":"string"}"#)).unwrap();
            let Outcome::Result(got) = outcome(server.receive(&sent[0])) else { panic!() };
            let got = got.parse::<ElicitResult<'_>>().unwrap();
            assert_eq!(got.action.as_str(), action);
            assert!(!matches!(got.action, ElicitAction::Other(_)));
        }
        for result in [r#"{"action":"maybe"}"#, r#"{"action":1}"#, r#"{}"#] {
            let mut client = ClientSide::ready(revision);
            let id = client.request(&elicit(&form(r#"{"type":"string"}"#)));
            let result_text = Raw::new(result).unwrap();
            let answered = client.client.respond(id, &result_text, &mut client.out);
            let Err(RespondError::Encode(EncodeError::Misfit(misfit))) = answered else {
                panic!("{result}: {answered:?}");
            };
            assert_eq!((misfit.field, client.sent().len()), ("action", 0), "{result}");
            let mut server = ServerSide::ready(revision);
            ask(&mut server, &form(r#"{"type":"string"}"#)).unwrap();
            let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            let expected = Outcome::Malformed {
                kind: ViolationKind::InvalidResult,
                message: frame.as_bytes().into(),
            };
            assert_eq!(outcome(server.receive(&frame)), expected.into_owned());
        }
    }
}

/// A user who has refused has given nothing, whatever else the result has.
#[test]
fn a_refusal_is_not_compared_with_the_form() {
    for action in ["decline", "cancel"] {
        let mut side = ServerSide::ready(WITH_FORMS);
        ask(&mut side, &form(r#"{"type":"string"}"#)).unwrap();
        let result = format!(r#"{{"action":"{action}","content":7}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let expected = Raw::new(&result).unwrap().into_owned();
        assert_eq!(outcome(side.receive(&answer)), Outcome::Result(expected), "{action}");
    }
}

/// Proves L-ELIC-12.
#[test]
fn without_a_mode_it_is_a_form() {
    let mut side = ClientSide::ready(WITH_URLS);
    let cases = [
        (r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#, true),
        (
            r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}"#,
            true,
        ),
        // A `url` beside the form does not change the mode.
        (
            r#"{"message":"m","requestedSchema":{"type":"object","properties":{}},"url":"x:y","elicitationId":"e"}"#,
            true,
        ),
        (r#"{"mode":"url","message":"m","url":"https://x/","elicitationId":"f"}"#, false),
    ];
    for (number, (params, is_form)) in cases.into_iter().enumerate() {
        let frame = elicit_as(number, params);
        let Some(ClientEvent::Request(request)) = side.receive(&frame) else { panic!("{params}") };
        let ServerRequest::Elicit(raw) = request.kind else { panic!("{params}") };
        let asked = raw.parse::<ElicitParams<'_>>().unwrap();
        let expected = if is_form { ElicitationMode::Form } else { ElicitationMode::Url };
        assert_eq!(*asked.mode(), expected, "{params}");
    }
    // A malformed form is not a URL elicitation either.
    let (kind, _) =
        refused(&mut side, &elicit_as(8, r#"{"message":"m","url":"x:y","elicitationId":"e"}"#));
    assert_eq!(kind, ViolationKind::InvalidParams);
    // The content of the answer is compared with the form, also if the form has an id.
    let params = r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"f":{"type":"string"}},"required":["f"]},"url":"x:y","elicitationId":"e"}"#;
    let id = side.request(&elicit_as(10, params));
    let answered = side.client.respond(id, &ElicitResult::accept_url(), &mut side.out);
    assert!(matches!(answered, Err(RespondError::Encode(EncodeError::Misfit(_)))), "{answered:?}");
    let params = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"f":{"type":"string"}},"required":["f"]}}"#;
    let id = side.request(&elicit_as(9, params));
    let answered = side.client.respond(id, &ElicitResult::accept_url(), &mut side.out);
    assert!(matches!(answered, Err(RespondError::Encode(EncodeError::Misfit(_)))), "{answered:?}");
}

/// A form is kept, so that the answer is compared with it, up to the limit.
#[test]
fn a_form_as_long_as_the_limit_is_compared() {
    let schema = r#"{"type":"object","properties":{"f":{"type":"string"}},"required":["f"]}"#;
    for (most, is_compared) in [(schema.len(), true), (schema.len() - 1, false)] {
        let mut config = config::client();
        config.connection.limits.kept_bytes = most;
        let mut side = ClientSide::ready_with(config, WITH_URLS);
        let params = format!(r#"{{"message":"m","requestedSchema":{schema}}}"#);
        let id = side.request(&elicit(&params));
        let answered = side.client.respond(id, &ElicitResult::accept_url(), &mut side.out);
        assert_eq!(answered.is_err(), is_compared, "{most}: {answered:?}");
    }
}

/// Proves L-ELIC-13: a revision with modes permits a form without `mode`, and an earlier revision never sends it.
#[test]
fn the_mode_of_a_form_may_be_left_out() {
    let bare = ElicitParams::form("m", ObjectSchema::default());
    let mut explicit = bare.clone();
    explicit.mode = Some(ElicitationMode::Form);
    let schema = r#""message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    let head = r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"#;
    let cases = [
        (WITH_URLS, &bare, ""),
        (WITH_URLS, &explicit, r#""mode":"form","#),
        (WITH_FORMS, &bare, ""),
        (WITH_FORMS, &explicit, ""),
    ];
    for (revision, params, mode) in cases {
        let mut side = ServerSide::ready(revision);
        let (now, options) = (side.now, CallOptions::new());
        side.server.call::<method::Elicit>(params, options, now, &mut side.out).unwrap();
        assert_eq!(side.sent(), [format!("{head}{mode}{schema}")], "{revision}");
    }
}

/// Proves L-ELIC-16.
#[test]
fn a_url_comes_with_all_that_belongs_to_it() {
    let mut server = ServerSide::ready(WITH_URLS);
    let (now, options) = (server.now, CallOptions::new());
    let params = ElicitParams::url("m", "https://example.com/a?b=c", "e-1");
    server.server.call::<method::Elicit>(&params, options, now, &mut server.out).unwrap();
    assert_eq!(
        server.sent(),
        [
            r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/a?b=c","elicitationId":"e-1"}}"#
        ]
    );
    let missing = [
        (r#"{"mode":"url","url":"https://x/","elicitationId":"e"}"#, "message"),
        (r#"{"mode":"url","message":"m","elicitationId":"e"}"#, "url"),
        (r#"{"mode":"url","message":"m","url":"https://x/"}"#, "elicitationId"),
        (r#"{"mode":"url","message":"m","url":null,"elicitationId":"e"}"#, "url"),
    ];
    for (params, field) in missing {
        assert_eq!(misfit(ask(&mut server, params)).0, field, "{params}");
        let mut client = ClientSide::ready(WITH_URLS);
        let (kind, sent) = refused(&mut client, &elicit(params));
        assert_eq!(kind, ViolationKind::InvalidParams, "{params}");
        assert!(sent[0].contains(r#""id":1,"error":{"code":-32602,"#), "{sent:?}");
    }
    for url in ["", "not a url", "/relative", "//host/path"] {
        let params = format!(r#"{{"mode":"url","message":"m","url":"{url}","elicitationId":"e"}}"#);
        assert_eq!(misfit(ask(&mut server, &params)), ("url", Problem::NotAllowed), "{url}");
    }
    assert_eq!((server.sent(), server.server.in_flight().counts().outbound), (vec![], 1));
}

/// Proves L-ELIC-17: a server uses an id once, and to a client an id is any string.
#[test]
fn elicitations_have_ids_of_their_own() {
    let url = |id: &str| {
        format!(r#"{{"mode":"url","message":"m","url":"https://x/","elicitationId":"{id}"}}"#)
    };
    let twice = ("elicitationId", Problem::NotAllowed);
    let mut server = ServerSide::ready(WITH_URLS);
    ask(&mut server, &url("e")).unwrap();
    assert_eq!(misfit(ask(&mut server, &url("e"))), twice);
    assert_eq!(misfit(ask(&mut server, &url(r"\u0065"))), twice, "escapes make no other id");
    ask(&mut server, &url("E")).unwrap();
    // The id of a request is independent.
    ask(&mut server, &url("1")).unwrap();
    // The answer of the user does not release the id: the elicitation is not completed.
    let declined =
        outcome(server.receive(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#));
    assert!(matches!(declined, Outcome::Result(_)));
    assert_eq!(misfit(ask(&mut server, &url("e"))), twice);
    // An id that was named in an error is not free either.
    let work = server.request(r#"{"jsonrpc":"2.0","id":5,"method":"x/work"}"#);
    let required = ElicitationRequired::new([ElicitParams::url("m", "https://x/", "f")]);
    let code = mcp_sansio::ErrorCode::URL_ELICITATION_REQUIRED;
    server
        .server
        .reject_with(work, &ErrorObject::with(code, "m", &required).unwrap(), &mut server.out)
        .unwrap();
    assert_eq!(misfit(ask(&mut server, &url("f"))), twice);
    // Every server has its own ids.
    ask(&mut ServerSide::ready(WITH_URLS), &url("e")).unwrap();

    let mut client = ClientSide::ready(WITH_URLS);
    for (number, id) in ["", "1", " e ", "null", r"\ud83d\ude00"].into_iter().enumerate() {
        let frame = elicit_as(number, &url(id));
        client.request(&frame);
        let done = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{{"elicitationId":"{id}"}}}}"#
        );
        assert!(matches!(client.receive(&done), Some(ClientEvent::Notification(_))), "{id}");
    }
}

/// Proves L-AMB-34: a capability without modes means forms, and a mode that is not named is not supported.
#[test]
fn a_client_that_names_no_mode_shows_forms() {
    let forms = CallError::NotAllowed(NotAllowed::Capability(Capability::ElicitationForm));
    let urls = CallError::NotAllowed(NotAllowed::Capability(Capability::ElicitationUrl));
    let cases = [
        ("{}", None, Some(&urls)),
        (r#"{"form":{}}"#, None, Some(&urls)),
        (r#"{"url":{}}"#, Some(&forms), None),
        (r#"{"form":{},"url":{}}"#, None, None),
    ];
    let by_form = form(r#"{"type":"string"}"#);
    let by_url = r#"{"mode":"url","message":"m","url":"https://x/","elicitationId":"e"}"#;
    for (declared, form_error, url_error) in cases {
        for (params, expected) in [(&*by_form, form_error), (by_url, url_error)] {
            let mut server = server_for(declared);
            let asked = ask(&mut server, params);
            assert_eq!(asked.as_ref().err(), expected, "{declared} {params}");
            assert_eq!(server.sent().len(), usize::from(expected.is_none()), "{declared} {params}");
            let mut config = config::client();
            config.capabilities.elicitation =
                Some(Raw::new(declared).unwrap().parse_lossy().unwrap());
            let mut client = ClientSide::ready_with(config, WITH_URLS);
            let event = client.receive(&elicit(params));
            match (&event, expected) {
                (Some(ClientEvent::Request(_)), None) => assert_eq!(client.sent(), [""; 0]),
                (Some(ClientEvent::Violation(violation)), Some(_)) => {
                    assert_eq!(violation.kind, ViolationKind::NotOffered);
                    assert!(client.sent()[0].contains("-32602"), "{declared} {params}");
                }
                _ => panic!("{declared} {params}: {event:?}"),
            }
        }
    }
}

/// Proves L-AMB-35: a pattern is passed on unchanged and is optional. It informs people and is not enforced.
#[test]
fn a_pattern_is_kept_and_not_asked_for() {
    let mut field = StringSchema::default();
    field.pattern = Some(r"^[a-z]{2}$".into());
    let with = PrimitiveSchema::String(field);
    let without = PrimitiveSchema::String(StringSchema::default());
    for revision in [WITH_FORMS, WITH_URLS] {
        for (schema, text) in [
            (&with, r#"{"type":"string","pattern":"^[a-z]{2}$"}"#),
            (&without, r#"{"type":"string"}"#),
        ] {
            let params =
                ElicitParams::form("m", ObjectSchema::new([("f".into(), schema.clone())].into()));
            let mut server = ServerSide::ready(revision);
            let (now, options) = (server.now, CallOptions::new());
            server.server.call::<method::Elicit>(&params, options, now, &mut server.out).unwrap();
            let sent = server.sent();
            assert_eq!(sent, [elicit(&form(text))]);

            let mut client = ClientSide::ready(revision);
            let Some(ClientEvent::Request(request)) = client.receive(&sent[0]) else { panic!() };
            let ServerRequest::Elicit(raw) = request.kind else { panic!() };
            let got = raw.parse::<ElicitParams<'_>>().unwrap();
            let fields = got.requested_schema.unwrap().properties;
            assert_eq!(fields.get("f").unwrap(), schema);
            client.respond(request.id, r#"{"action":"accept","content":{"f":"not two letters"}}"#);
            let answered = outcome(server.receive(&client.sent()[0]));
            assert!(matches!(answered, Outcome::Result(_)), "{answered:?}");
        }
    }
}

/// Proves L-AMB-36, L-ELIC-10 on both sides of a session.
#[test]
fn a_number_need_not_be_whole() {
    let number = PrimitiveSchema::Number(NumberSchema::number());
    let whole = PrimitiveSchema::Number(NumberSchema::integer());
    let cases = [
        (&number, "1.5", true),
        (&number, "-0.25e1", true),
        (&number, "7", true),
        (&whole, "7", true),
        (&whole, "7.0", true),
        (&whole, "1.5", false),
        (&number, "\"1.5\"", false),
    ];
    for revision in [WITH_FORMS, WITH_URLS] {
        for (schema, value, fits) in cases {
            let params =
                ElicitParams::form("m", ObjectSchema::new([("f".into(), schema.clone())].into()));
            let mut server = ServerSide::ready(revision);
            let (now, options) = (server.now, CallOptions::new());
            server.server.call::<method::Elicit>(&params, options, now, &mut server.out).unwrap();
            let mut client = ClientSide::ready(revision);
            let id = client.request(&server.sent()[0]);
            let text = format!(r#"{{"action":"accept","content":{{"f":{value}}}}}"#);
            let result = Raw::new(&text).unwrap();
            let answered = client.client.respond(id, &result, &mut client.out);
            assert_eq!(answered.is_ok(), fits, "{revision} {value}");
            let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#);
            let got = outcome(server.receive(&frame));
            let malformed =
                matches!(got, Outcome::Malformed { kind: ViolationKind::InvalidResult, .. });
            assert_eq!(malformed, !fits, "{revision} {value}: {got:?}");
        }
    }
    let mut schema = NumberSchema::number();
    schema.minimum = Some(Number::try_from(0.5).unwrap());
    let params = ElicitParams::form(
        "m",
        ObjectSchema::new([("f".into(), PrimitiveSchema::Number(schema))].into()),
    );
    let mut server = ServerSide::ready(WITH_URLS);
    let (now, options) = (server.now, CallOptions::new());
    server.server.call::<method::Elicit>(&params, options, now, &mut server.out).unwrap();
    assert_eq!(server.sent(), [elicit(&form(r#"{"type":"number","minimum":0.5}"#))]);
}
