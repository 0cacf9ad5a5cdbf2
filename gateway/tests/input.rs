//! Input of clients for servers, and tasks, between all eras.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::time::Duration;

use kit::*;
use mcp_sansio::call::TaskOptions;
use mcp_sansio::{CallOptions, Revision};
use mcp_sansio_gateway::Gateway;
use mcp_sansio_gateway::config::GatewayConfig;
use mcp_sansio_tokio::{CallFailure, Json};
use serde_json::{Value, json};

/// A server of either era asks a client of either era.
#[tokio::test(start_paused = true)]
async fn a_server_gets_its_input_from_the_client_of_the_call() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    for (name, client) in
        [("ann", Peer::legacy(&gateway, "ann").await), ("bob", Peer::modern(&gateway, "bob").await)]
    {
        for (server, tool) in [("old", "ask"), ("new", "ask"), ("old", "ask_loose")] {
            let text =
                client.call(&format!("{server}__{tool}"), json!({"label": tool})).await.unwrap();
            assert_eq!(text, format!("{server} {tool} {name:?}"));
        }
        assert_eq!(client.questions(), ["who is ask?", "who is ask?", "who is ask_loose?"]);
    }
    assert_eq!(gateway.status().parked, 0);
}

/// Two calls of one client: the server does not say for which of them it asks.
#[tokio::test(start_paused = true)]
async fn a_question_goes_to_a_call_that_is_followed() {
    let old = Fake::legacy("old");
    let gateway = start(&[&old]).await;
    let ann = Peer::modern(&gateway, "ann").await;
    let call = |tool: &str, ms: u64, options: CallOptions| {
        let (name, label) = (format!("old__{tool}"), format!("{tool} {ms}"));
        let params = json!({"name": name, "arguments": {"label": label, "ms": ms}});
        ann.handle().call_method("tools/call", &Json(params), options)
    };
    let answer = r#"old ask_loose 1000 \"ann\""#;
    // The newer call has ended when the client would be asked.
    let asking = call("ask_loose", 1_000, CallOptions::new());
    settle().await;
    let ending = call("slow", 810, CallOptions::new());
    let (asked, ended) = tokio::join!(asking, ending);
    assert!(asked.unwrap().raw().as_json().contains(answer));
    assert!(ended.unwrap().raw().as_json().contains("old slow 810"));
    assert_eq!(ann.questions(), ["who is ask_loose 1000?"]);

    // The newer call waits for the client to repeat its request.
    let asking = call("ask_loose", 1_000, CallOptions::new());
    settle().await;
    let parked = call("ask", 0, CallOptions::new().input_by_hand());
    let failure = parked.await.unwrap_err();
    assert!(matches!(failure, CallFailure::InputRequired(_)), "{failure}");
    assert!(asking.await.unwrap().raw().as_json().contains(answer));
    assert_eq!(ann.questions(), ["who is ask_loose 1000?"; 2]);
    assert_eq!(gateway.status().parked, 1);
}

/// The client has not declared the capability, or its request is none that may need input. The server does without.
#[tokio::test(start_paused = true)]
async fn a_call_goes_on_without_input_that_its_client_cannot_give() {
    let old = Fake::legacy("old").completing();
    let gateway = start(&[&old]).await;
    let ann = Peer::unasked(&gateway, Revision::V2026_07_28, "ann").await;
    let bob = Peer::modern(&gateway, "bob").await;
    let refused = |missing: &str| {
        let reason = "the client cannot be asked: the client has not declared the capability";
        format!("the peer answered with error -32603: {reason} {missing}")
    };
    let text = ann.call("old__ask_loose", json!({"label": "x"})).await.unwrap();
    assert_eq!(text, refused("elicitation.form"));
    assert_eq!(ann.questions(), Vec::<String>::new());

    // Of two questions, one is answered.
    let text = bob.call("old__ask_both", json!({"label": "y"})).await.unwrap();
    let answer = r#"{"action":"accept","content":{"name":"bob"}}"#;
    assert_eq!(text, format!("{}; {answer}", refused("roots")));
    assert_eq!(bob.questions(), ["who is y?"]);

    let reference = json!({"type": "ref/prompt", "name": "old__p"});
    let params = json!({"ref": reference, "argument": {"name": "a", "value": "ask"}});
    let call = bob.handle().call_method("completion/complete", &Json(params), CallOptions::new());
    let completed: Value = call.await.unwrap().raw().parse().unwrap();
    let reason = "the peer answered with error -32603: the client cannot be asked: \
        the answer may not be given: this method cannot be answered with a request for input";
    assert_eq!(completed["completion"], json!({"values": [reason]}));
    assert_eq!(bob.questions(), ["who is y?"]);
    let status = gateway.status();
    assert_eq!((status.parked, status.upstreams[0].calls), (0, 0));
}

/// Returns a state with another tag.
fn changed(state: &str) -> String {
    let (rest, last) = state.split_at(state.len() - 1);
    format!("{rest}{}", if last == "A" { "B" } else { "A" })
}

#[tokio::test(start_paused = true)]
async fn a_parked_call_is_cancelled_if_its_client_does_not_come_back() {
    let old = Fake::legacy("old");
    let gateway = start(&[&old]).await;
    let client = Peer::modern(&gateway, "c").await;
    let params = Json(json!({"name": "old__ask", "arguments": {"label": "x"}}));
    let options = CallOptions::new().input_by_hand();
    let failure = client.handle().call_method("tools/call", &params, options).await.unwrap_err();
    let CallFailure::InputRequired(required) = failure else { panic!("{failure}") };
    let state: String = required.get("requestState").unwrap().parse().unwrap();
    assert_eq!(gateway.status().parked, 1);
    // It takes no place from other calls.
    assert_eq!(gateway.status().upstreams[0].calls, 0);

    // The state of another request, and a state that was changed.
    for (name, state) in [("old__echo", state.clone()), ("old__ask", changed(&state))] {
        let params = Json(json!({"name": name, "requestState": state}));
        let failure =
            client.handle().call_method("tools/call", &params, options).await.unwrap_err();
        assert!(failure.to_string().contains("is not one of this request"), "{failure}");
    }
    assert_eq!(gateway.status().parked, 1);

    tokio::time::sleep(Duration::from_secs(901)).await;
    assert_eq!(gateway.status().parked, 0);
    let params = Json(json!({"name": "old__ask", "requestState": state}));
    let failure = client.handle().call_method("tools/call", &params, options).await.unwrap_err();
    assert!(failure.to_string().contains("has been answered"), "{failure}");
}

/// Clients and servers with and without tasks, of both eras.
#[tokio::test(start_paused = true)]
async fn tasks_of_servers_are_tasks_of_the_gateway() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    // The gateway has to know which tools are tasks.
    let ann = Peer::legacy(&gateway, "ann").await;
    ann.tools().await;
    let bob = Peer::modern(&gateway, "bob").await;
    let eve = Peer::open(&gateway, Revision::V2025_06_18, "eve").await;
    for server in ["old", "new"] {
        let work = |label: &str| json!({"label": label, "ms": 3_000});
        let task = format!("{server}__task");
        let ended = ann.call(&task, work("a")).await;
        match server {
            // A call that waits for the end of the task of the server.
            "new" => assert_eq!(ended.unwrap(), "new a"),
            _ => assert!(ended.unwrap_err().to_string().contains("runs only as a task")),
        }
        // A session without tasks waits, too.
        assert_eq!(eve.call(&task, work("a")).await.unwrap(), format!("{server} a"));
        assert_eq!(ann.call_as_task(&task, work("b")).await.unwrap(), format!("{server} b"));
        assert_eq!(bob.call_as_task(&task, work("c")).await.unwrap(), format!("{server} c"));
        // A modern server decides which calls become tasks, so a session may ask for any.
        let slow = format!("{server}__slow");
        let asked = ann.call_as_task(&slow, work("d")).await;
        match server {
            "new" => assert_eq!(asked.unwrap(), "new d"),
            _ => assert!(asked.unwrap_err().to_string().contains("cannot run as a task")),
        }
        assert_eq!(bob.call_as_task(&slow, work("e")).await.unwrap(), format!("{server} e"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_task_of_a_modern_server_gets_its_input() {
    let new = Fake::modern("new");
    let gateway = start(&[&new]).await;
    let bob = Peer::modern(&gateway, "bob").await;
    let text = bob.call_as_task("new__task_ask", json!({"label": "x", "ms": 500})).await.unwrap();
    assert_eq!(text, "new x \"bob\"");
    assert_eq!(bob.questions(), ["who is x?"]);
}

/// The id of a task at its server is a secret of the gateway.
#[tokio::test(start_paused = true)]
async fn a_client_without_the_task_does_not_see_that_of_the_server() {
    let old = Fake::legacy("old");
    let gateway = start(&[&old]).await;
    let arguments = json!({"label": "x", "ms": 1_000, "logs": true});
    let params = Json(json!({"name": "old__task", "arguments": arguments}));
    for revision in [Revision::V2025_03_26, Revision::V2025_06_18] {
        let client = Peer::open(&gateway, revision, "c").await;
        let call = client.handle().call_method("tools/call", &params, CallOptions::new());
        let expected = r#"{"content":[{"type":"text","text":"old x"}]}"#;
        assert_eq!(call.await.unwrap().raw().as_json(), expected);
        assert_eq!(client.take_logs(), [r#"{"level":"debug","data":"x"}"#]);
    }
}

/// Nor does a modern client that follows the task of the gateway see it in the result.
#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_does_not_name_that_of_the_server() {
    let old = Fake::legacy("old");
    let gateway = start(&[&old]).await;
    let bob = Peer::modern(&gateway, "bob").await;
    bob.tools().await;
    let params = Json(json!({"name": "old__task", "arguments": {"label": "x", "ms": 1_000}}));
    let options = CallOptions::new().task(TaskOptions::new());
    let reply = bob.handle().call_method("tools/call", &params, options).await.unwrap();
    let text = reply.raw().as_json();
    assert!(text.contains("old x") && !text.contains("related-task"), "{text}");
}

/// In a session, log messages need no request in progress.
#[tokio::test(start_paused = true)]
async fn the_client_of_a_task_gets_the_notifications_of_its_server() {
    let old = Fake::legacy("old");
    let gateway = start(&[&old]).await;
    let ann = Peer::legacy(&gateway, "ann").await;
    ann.tools().await;
    let arguments = json!({"label": "x", "ms": 1_000, "logs": true});
    assert_eq!(ann.call_as_task("old__task", arguments).await.unwrap(), "old x");
    let listed = ann.handle().call_method("tasks/list", &Json(json!({})), CallOptions::new());
    let listed: Value = listed.await.unwrap().raw().parse().unwrap();
    let related = json!({"taskId": listed["tasks"][0]["taskId"]});
    let meta = json!({"io.modelcontextprotocol/related-task": related});
    let expected = format!(r#"{{"level":"debug","data":"x","_meta":{meta}}}"#);
    assert_eq!(ann.take_logs(), [expected]);
}

/// The modern era reserves codes that servers of sessions use for their own errors.
#[tokio::test(start_paused = true)]
async fn a_failed_task_has_the_error_of_its_server() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    let (ann, bob) = (Peer::legacy(&gateway, "ann").await, Peer::modern(&gateway, "bob").await);
    ann.tools().await;
    for (client, code, expected) in
        [(&ann, -7, -7), (&bob, -7, -7), (&ann, -32_000, -32_000), (&bob, -32_000, -32_603)]
    {
        let arguments = json!({"label": "x", "code": code});
        let failure = client.call_as_task("old__task", arguments).await.unwrap_err();
        let CallFailure::PeerError(error) = failure else { panic!("{failure}") };
        assert_eq!((error.code.get(), &*error.message.to_str()), (expected, "it does not work"));
        assert_eq!(error.data.unwrap().as_json(), r#"{"label":"x"}"#);
    }

    // A session does not know the code for missing capabilities, with a task or without one.
    let eve = Peer::unasked(&gateway, Revision::V2025_11_25, "eve").await;
    let text = "Missing required client capability: elicitation";
    assert_eq!(eve.call("new__ask", json!({"label": "x"})).await.unwrap(), text);
    assert_eq!(eve.call_as_task("new__ask", json!({"label": "x"})).await.unwrap(), text);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_is_cancelled_at_its_server() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    for (fake, client) in
        [(&new, Peer::modern(&gateway, "b").await), (&old, Peer::legacy(&gateway, "a").await)]
    {
        client.tools().await;
        let name = &fake.uri()[7..10];
        let params =
            json!({"name": format!("{name}__task"), "arguments": {"label": "x", "ms": 60_000}});
        let options = CallOptions::new().task(TaskOptions::new());
        let call = client.handle().call_method("tools/call", &Json(params), options);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(fake.journal(), ["begun x"]);
        call.cancel_task().unwrap();
        assert_eq!(call.await.unwrap_err(), CallFailure::TaskCancelled);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(fake.journal(), ["begun x", "cancelled x"]);
        assert_eq!(gateway.status().upstreams[usize::from(name == "new")].calls, 0);
    }
}

/// The server withdraws a question of a task. The client is no longer asked, and the task works on.
#[tokio::test(start_paused = true)]
async fn a_task_goes_on_without_a_withdrawn_question() {
    let old = Fake::legacy("old");
    let gateway = start(&[&old]).await;
    let ann = Peer::legacy(&gateway, "ann").await;
    *ann.seen.patience.lock().unwrap() = Duration::from_secs(3_600);
    ann.tools().await;
    let status = async || {
        let listed = ann.handle().call_method("tasks/list", &(), CallOptions::new()).await;
        let listed: Value = listed.unwrap().raw().parse().unwrap();
        listed["tasks"][0]["status"].as_str().map(str::to_owned)
    };
    // The task asks for two seconds, and works for as long after that.
    let arguments = json!({"label": "x", "ms": 2_000, "briefly": true});
    let (text, (asking, working)) = tokio::join!(ann.call_as_task("old__task", arguments), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asking = status().await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        (asking, status().await)
    });
    assert_eq!(ann.questions(), ["who is x?"]);
    assert_eq!((asking.as_deref(), working.as_deref()), (Some("input_required"), Some("working")));
    assert_eq!(text.unwrap(), "old x");
}

/// A resource that no server lists is asked of each server in turn. The answer goes to the one that has asked for it.
#[tokio::test(start_paused = true)]
async fn a_repeated_request_goes_to_the_server_that_asked() {
    let (one, two) = (Fake::modern("one"), Fake::modern("two"));
    let gateway = start(&[&one, &two]).await;
    for client in [Peer::modern(&gateway, "ann").await, Peer::legacy(&gateway, "ann").await] {
        let text = client.read("ask://two").await.unwrap();
        assert!(text.contains("accept") && text.contains("ann"), "{text}");
    }
}

/// A session asks for a task, and the modern server needs input before it goes on.
#[tokio::test(start_paused = true)]
async fn the_task_of_a_session_gives_input_to_a_modern_server() {
    let new = Fake::modern("new");
    let gateway = start(&[&new]).await;
    let ann = Peer::legacy(&gateway, "ann").await;
    let text = ann.call_as_task("new__ask", json!({"label": "x"})).await.unwrap();
    assert_eq!(text, "new x \"ann\"");
    assert_eq!(ann.questions(), ["who is x?"]);
}

/// A server may be connected again, and may be down, while a person is asked.
#[tokio::test(start_paused = true)]
async fn input_is_given_on_the_connection_that_a_server_has_then() {
    let new = Fake::modern("new");
    let gateway = start(&[&new]).await;
    let ann = Peer::legacy(&gateway, "ann").await;
    *ann.seen.patience.lock().unwrap() = Duration::from_secs(60);
    for stays_down in [false, true] {
        let (asked, ()) =
            tokio::join!(ann.call_as_task("new__ask", json!({"label": "x"})), async {
                tokio::time::sleep(Duration::from_secs(30)).await;
                new.crash(stays_down);
            });
        if stays_down {
            let failure = asked.unwrap_err().to_string();
            assert!(failure.contains("the server new: it is not connected"), "{failure}");
        } else {
            assert_eq!(asked.unwrap(), "new x \"ann\"");
            assert_eq!(new.attempts(), 2);
        }
    }
}

/// The server is connected again shortly before the answer, or shortly after it.
#[tokio::test(start_paused = true)]
async fn input_is_given_whenever_a_server_is_connected_again() {
    for ms in (3_000..6_000).step_by(100) {
        let new = Fake::modern("new");
        // The only place is given back between two attempts.
        let mut config = new.config();
        config.most_calls = 1;
        let gateway = start_with(vec![config]).await;
        let ann = Peer::legacy(&gateway, "ann").await;
        *ann.seen.patience.lock().unwrap() = Duration::from_secs(4);
        let (asked, ()) =
            tokio::join!(ann.call_as_task("new__ask", json!({"label": "x"})), async {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                new.crash(false);
            });
        assert_eq!(asked.unwrap(), "new x \"ann\"", "{ms}");
    }
}

/// A reload replaces the server while a person is asked, and the old connection ends.
#[tokio::test(start_paused = true)]
async fn input_is_given_to_the_server_of_a_reload() {
    for ends_by_itself in [false, true] {
        let new = Fake::modern("new");
        let mut config = new.config();
        config.drain = Duration::from_secs(if ends_by_itself { 600 } else { 10 });
        let gateway = start_with(vec![config.clone()]).await;
        let ann = Peer::legacy(&gateway, "ann").await;
        *ann.seen.patience.lock().unwrap() = Duration::from_secs(60);
        let (asked, ()) =
            tokio::join!(ann.call_as_task("new__ask", json!({"label": "x"})), async {
                tokio::time::sleep(Duration::from_secs(20)).await;
                config.most_calls = 7;
                gateway.reload(vec![config.clone()]).await.unwrap();
                if ends_by_itself {
                    new.crash(false);
                }
            });
        assert_eq!(asked.unwrap(), "new x \"ann\"", "{ends_by_itself}");
    }
}

/// A reload denies the tool while a person is asked. The call is not made again.
#[tokio::test(start_paused = true)]
async fn input_is_not_given_against_the_rules_of_a_reload() {
    for denied in ["ask", "echo"] {
        let new = Fake::modern("new");
        let mut config = new.config();
        let gateway = start_with(vec![config.clone()]).await;
        let ann = Peer::legacy(&gateway, "ann").await;
        *ann.seen.patience.lock().unwrap() = Duration::from_secs(60);
        let (asked, ()) =
            tokio::join!(ann.call_as_task("new__ask", json!({"label": "x"})), async {
                tokio::time::sleep(Duration::from_secs(20)).await;
                config.names.deny = vec![denied.into()];
                gateway.reload(vec![config.clone()]).await.unwrap();
                new.crash(false);
            });
        if denied == "ask" {
            let failure = asked.unwrap_err().to_string();
            assert!(failure.contains("it has been removed from the gateway"), "{failure}");
        } else {
            assert_eq!(asked.unwrap(), "new x \"ann\"");
        }
    }
}

/// The gateway has to keep such a request, and keeps no more than its configuration permits.
#[tokio::test(start_paused = true)]
async fn requests_are_kept_within_the_limit() {
    let new = Fake::modern("new");
    let mut config = GatewayConfig::new("gateway", vec![new.config()]);
    // A client gets a half.
    config.kept_bytes = 200;
    let gateway = Gateway::start(config).unwrap();
    gateway.connected(Duration::from_secs(60)).await;
    let ann = Peer::legacy(&gateway, "ann").await;
    let (slow, refused) = tokio::join!(
        ann.call_as_task(
            "new__slow",
            json!({"label": "s", "ms": 10_000, "ballast": "x".repeat(20)})
        ),
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            ann.call_as_task("new__ask", json!({"label": "x"})).await
        }
    );
    assert_eq!(slow.unwrap(), "new s");
    let message =
        "the server new has required input, and the gateway keeps too many requests for that";
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains(message), "{refused}");
    assert_eq!(ann.questions(), Vec::<String>::new());
    assert_eq!(ann.call_as_task("new__ask", json!({"label": "y"})).await.unwrap(), "new y \"ann\"");
}

/// A call gives its place back while its client is asked. When it waits for a place again, it can be cancelled.
#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_a_place_again_can_be_cancelled() {
    let new = Fake::modern("new");
    let mut config = new.config();
    config.most_calls = 1;
    let gateway = start_with(vec![config]).await;
    let ann = Peer::legacy(&gateway, "ann").await;
    let bob = Peer::legacy(&gateway, "bob").await;
    let eve = Peer::legacy(&gateway, "eve").await;
    let slow = |peer: &Peer, ms: u64| {
        let params = Json(json!({"name": "new__slow", "arguments": {"label": "s", "ms": ms}}));
        peer.handle().call_method("tools/call", &params, CallOptions::new())
    };
    // Ann gets her place after the call of Bob, and Eve gets it when Ann is asked.
    let first = slow(&bob, 1_000);
    settle().await;
    let params = Json(json!({"name": "new__ask", "arguments": {"label": "x"}}));
    let asking = ann.handle().call_method(
        "tools/call",
        &params,
        CallOptions::new().task(TaskOptions::new()),
    );
    settle().await;
    let second = slow(&eve, 40_000);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(ann.questions(), ["who is x?"]);
    let before = tokio::time::Instant::now();
    asking.cancel_task().unwrap();
    assert_eq!(asking.await.unwrap_err(), CallFailure::TaskCancelled);
    assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
    for call in [first, second] {
        call.await.unwrap();
    }
    settle().await;
    // The call of Ann is not made again.
    let status = gateway.status();
    assert_eq!((status.upstreams[0].calls, status.upstreams[0].answered), (0, 2));
}

/// While one client is asked, the time of other calls goes on, and they are not ended by the limit for persons.
#[tokio::test(start_paused = true)]
async fn an_open_question_does_not_touch_the_calls_of_others() {
    let old = Fake::legacy("old");
    let mut config = old.config();
    config.call_timeout = Duration::from_secs(3_000);
    let gateway = start_with(vec![config]).await;
    let (ann, bob) = (Peer::modern(&gateway, "ann").await, Peer::modern(&gateway, "bob").await);
    let params = Json(json!({"name": "old__ask", "arguments": {"label": "x"}}));
    let options = CallOptions::new().input_by_hand();
    ann.handle().call_method("tools/call", &params, options).await.unwrap_err();
    assert_eq!(gateway.status().parked, 1);
    let total = mcp_sansio::call::Timeout::Never;
    let options = CallOptions::new().idle(total).total(total);
    let call = |tool: &str, ms: u64| {
        let params = json!({"name": format!("old__{tool}"), "arguments": {"label": "b", "ms": ms}});
        bob.handle().call_method("tools/call", &Json(params), options)
    };
    let before = tokio::time::Instant::now();
    let (slow, hanging) = tokio::join!(call("slow", 2_000_000), call("hang", 0));
    assert!(slow.unwrap().raw().as_json().contains("old b"));
    let failure = hanging.unwrap_err().to_string();
    assert!(failure.contains("the server old: "), "{failure}");
    assert_eq!(before.elapsed().as_secs(), 3_000);
    settle().await;
    assert!(old.journal().contains(&"cancelled b".to_owned()));
}
