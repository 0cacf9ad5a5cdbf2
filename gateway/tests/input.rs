//! Input of clients for servers, and tasks, between all eras.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::time::Duration;

use kit::*;
use mcp_sansio::Revision;
use serde_json::json;

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
    let params = mcp_sansio_tokio::Json(json!({"name": "old__ask", "arguments": {"label": "x"}}));
    let options = mcp_sansio::CallOptions::new().input_by_hand();
    let failure = client.handle().call_method("tools/call", &params, options).await.unwrap_err();
    let mcp_sansio_tokio::CallFailure::InputRequired(required) = failure else {
        panic!("{failure}")
    };
    let state: String = required.get("requestState").unwrap().parse().unwrap();
    assert_eq!(gateway.status().parked, 1);
    // It takes no place from other calls.
    assert_eq!(gateway.status().upstreams[0].calls, 0);

    // The state of another request, and a state that was changed.
    for (name, state) in [("old__echo", state.clone()), ("old__ask", changed(&state))] {
        let params = mcp_sansio_tokio::Json(json!({"name": name, "requestState": state}));
        let failure =
            client.handle().call_method("tools/call", &params, options).await.unwrap_err();
        assert!(failure.to_string().contains("is not one of this request"), "{failure}");
    }
    assert_eq!(gateway.status().parked, 1);

    tokio::time::sleep(Duration::from_secs(901)).await;
    assert_eq!(gateway.status().parked, 0);
    let params = mcp_sansio_tokio::Json(json!({"name": "old__ask", "requestState": state}));
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
        let options = mcp_sansio::CallOptions::new().task(mcp_sansio::call::TaskOptions::new());
        let call =
            client.handle().call_method("tools/call", &mcp_sansio_tokio::Json(params), options);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(fake.journal(), ["begun x"]);
        call.cancel_task().unwrap();
        assert_eq!(call.await.unwrap_err(), mcp_sansio_tokio::CallFailure::TaskCancelled);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(fake.journal(), ["begun x", "cancelled x"]);
        assert_eq!(gateway.status().upstreams[usize::from(name == "new")].calls, 0);
    }
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

/// While one client is asked, the time of other calls goes on, and they are not ended by the limit for persons.
#[tokio::test(start_paused = true)]
async fn an_open_question_does_not_touch_the_calls_of_others() {
    let old = Fake::legacy("old");
    let mut config = old.config();
    config.call_timeout = Duration::from_secs(3_000);
    let gateway = start_with(vec![config]).await;
    let (ann, bob) = (Peer::modern(&gateway, "ann").await, Peer::modern(&gateway, "bob").await);
    let params = mcp_sansio_tokio::Json(json!({"name": "old__ask", "arguments": {"label": "x"}}));
    let options = mcp_sansio::CallOptions::new().input_by_hand();
    ann.handle().call_method("tools/call", &params, options).await.unwrap_err();
    assert_eq!(gateway.status().parked, 1);
    let total = mcp_sansio::call::Timeout::Never;
    let options = mcp_sansio::CallOptions::new().idle(total).total(total);
    let call = |tool: &str, ms: u64| {
        let params = json!({"name": format!("old__{tool}"), "arguments": {"label": "b", "ms": ms}});
        bob.handle().call_method("tools/call", &mcp_sansio_tokio::Json(params), options)
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
