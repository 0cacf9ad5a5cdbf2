//! Requests for input, in both directions between the eras.

use super::kit::*;

const FORM: &str = r#""params":{"message":"who?","requestedSchema":{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}}"#;
const FILLED_IN: &str = r#"{"action":"accept","content":{"username":"u","email":"a@b"}}"#;
const ANSWERED: &str =
    r#"User response: action=accept, content={\"username\":\"u\",\"email\":\"a@b\"}"#;

fn elicitation(server: &str) -> String {
    tool(&format!("{server}__test_elicitation"), r#"{"message":"who?"}"#)
}

fn needs(id: &str, requests: &str, state: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{{requests}}}{state},{GATEWAY}}}}}"#
    )
}

#[test]
fn a_session_is_asked() {
    let mut gateway = Gateway::of_both_eras();
    gateway.open(r#"{"elicitation":{}}"#);
    for (id, server) in [(1, "old"), (2, "new")] {
        let asked = gateway.ask(&in_session("5", "tools/call", &elicitation(server)));
        let expected =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create",{FORM}}}"#);
        assert_eq!(asked, expected, "{server}");
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{FILLED_IN}}}"#);
        let answer = gateway.ask(&answer);
        assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":5,"#) && answer.contains(ANSWERED));
    }
    gateway.end();
}

/// Returns the request state in a response.
fn state_in(response: &str) -> String {
    let response: serde_json::Value = serde_json::from_str(response).unwrap();
    response["result"]["requestState"].as_str().unwrap().to_owned()
}

/// For a legacy server the gateway creates a request state.
#[test]
fn a_stateless_client_gets_input_required_and_retries() {
    let mut gateway = Gateway::of_both_eras();
    let mut used = String::new();
    for (server, key) in [("old", "input-0"), ("new", "answer")] {
        let call = elicitation(server);
        let form = format!(r#""{key}":{{"method":"elicitation/create",{FORM}}}"#);
        let response = gateway.ask(&modern_gateway_request("1", "tools/call", &call));
        let state = match server {
            "old" => format!(r#","requestState":"{}""#, state_in(&response)),
            _ => String::new(),
        };
        assert_eq!(response, needs("1", &form, &state));
        let again = format!(r#"{call},"inputResponses":{{"{key}":{FILLED_IN}}}{state}"#);
        assert_eq!(
            gateway.ask(&modern_gateway_request("2", "tools/call", &again)),
            modern_tool_response("2", ANSWERED)
        );
        used.push_str(&state);
    }
    // A request state cannot be used twice, and an unknown one is refused.
    let again = format!("{}{used}", elicitation("old"));
    assert_eq!(
        gateway.ask(&modern_gateway_request("3", "tools/call", &again)),
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"this request has been answered, or its client has not come back in time"}}"#
    );
    for state in ["1", "x", ""] {
        let again = format!(r#"{},"requestState":"{state}""#, elicitation("old"));
        assert_eq!(
            gateway.ask(&modern_gateway_request("3", "tools/call", &again)),
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"requestState: it is not one of this request, or has expired"}}"#
        );
    }
    gateway.end();
}

/// Missing input is requested again, as often as needed.
#[test]
fn several_things_can_be_given_one_after_the_other() {
    let mut gateway = Gateway::of_both_eras();
    let call = r#""name":"old__test_input_required_result_multiple_inputs""#;
    let bodies = [
        r#"{"method":"elicitation/create","params":{"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Generate a greeting"}}],"maxTokens":50}}"#,
        r#"{"method":"roots/list"}"#,
    ];
    let response = gateway.ask(&modern_gateway_request("1", "tools/call", call));
    let state = format!(r#","requestState":"{}""#, state_in(&response));
    // The gateway serves the three requests of the server at the same time, and numbers them as it comes to them.
    let place = |body: &&str| response.find(*body).unwrap_or_else(|| panic!("{response}"));
    let mut order = bodies;
    order.sort_by_key(place);
    let key = |body: &str| order.iter().position(|one| *one == body).unwrap();
    let requests = |bodies: &[&str]| {
        let asked = order.iter().enumerate().filter(|(_, body)| bodies.contains(body));
        asked.map(|(key, body)| format!(r#""input-{key}":{body}"#)).collect::<Vec<_>>().join(",")
    };
    assert_eq!(response, needs("1", &requests(&bodies), &state));
    let [name, model, roots] = bodies;
    let given = format!(r#""inputResponses":{{"input-{}":{{"roots":[]}}}}"#, key(roots));
    let response =
        gateway.ask(&modern_gateway_request("2", "tools/call", &format!("{call},{given}{state}")));
    let state = format!(r#","requestState":"{}""#, state_in(&response));
    assert_eq!(response, needs("2", &requests(&[name, model]), &state));
    let given = format!(
        r#""inputResponses":{{"input-{}":{{"action":"accept","content":{{"name":"u"}}}},"input-{}":{{"role":"assistant","content":{{"type":"text","text":"hi"}},"model":"m"}}}}"#,
        key(name),
        key(model)
    );
    let done =
        gateway.ask(&modern_gateway_request("3", "tools/call", &format!("{call},{given}{state}")));
    assert_eq!(done, modern_tool_response("3", "hi, u! You have 0 roots."));
    gateway.end();
}

/// The request state of a modern server comes back to it, whatever the client sees.
#[test]
fn the_state_of_a_server_passes() {
    let mut gateway = Gateway::of_both_eras();
    let call = r#""name":"new__test_input_required_result_request_state""#;
    let response = gateway.ask(&modern_gateway_request("1", "tools/call", call));
    let response: serde_json::Value = serde_json::from_str(&response).unwrap();
    let key = response["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let state = &response["result"]["requestState"];
    let given = format!(
        r#"{call},"inputResponses":{{"{key}":{{"action":"accept","content":{{"ok":true}}}}}},"requestState":{state}"#
    );
    let done = gateway.ask(&modern_gateway_request("2", "tools/call", &given));
    assert_eq!(done, modern_tool_response("2", "state-ok"));
    gateway.open(r#"{"elicitation":{}}"#);
    let asked = gateway.ask(&in_session("3", "tools/call", call));
    let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
    let done = gateway.ask(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"ok":true}}}}}}"#,
        asked["id"]
    ));
    assert!(done.contains("state-ok"), "{done}");
    gateway.end();
}

/// A client that has declared no capability receives no request for input.
#[test]
fn undeclared_input_requests_are_not_sent_to_the_client() {
    let mut gateway = Gateway::of_both_eras();
    gateway.open("{}");
    let failed = gateway.ask(&in_session("1", "tools/call", &elicitation("new")));
    assert!(failed.contains(r#""id":1,"#) && failed.contains("elicitation"), "{failed}");
    // The gateway declares all capabilities to a legacy server, so the server has sent its request.
    let failed = gateway.ask(&in_session("2", "tools/call", &elicitation("old")));
    assert_eq!(
        failed,
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"the client did not give what was needed for this"}],"isError":true}}"#
    );
    gateway.end();
}
