//! Requests through a gateway: names, results, errors, progress, cancellation, lists, resources.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod kit;

use std::time::Duration;

use kit::*;
use mcp_sansio::model::LoggingLevel;
use mcp_sansio::{CallOptions, ErrorCode, Revision};
use mcp_sansio_tokio::{CallFailure, Json};
use serde_json::json;

/// Every combination of eras.
#[tokio::test(start_paused = true)]
async fn a_call_reaches_the_server_that_its_name_begins_with() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    for revision in Revision::ALL {
        let client = Peer::open(&gateway, revision, "c").await;
        for name in ["old", "new"] {
            let text = client.call(&format!("{name}__whoami"), json!({})).await.unwrap();
            assert_eq!(text, name, "{revision:?}");
        }
        let failure = client.call("other__whoami", json!({})).await.unwrap_err();
        assert!(failure.to_string().contains("no server here has this name"), "{failure}");
        let failure = client.call("old__fail", json!({})).await.unwrap_err();
        let CallFailure::PeerError(error) = failure else { panic!("{failure}") };
        assert_eq!((error.code.get(), error.message.to_string()), (-7, "it does not work".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn names_follow_the_rules_of_their_server() {
    let (one, two) = (Fake::legacy("one"), Fake::modern("two"));
    let (mut first, mut second) = (one.config(), two.config());
    first.names.prefix = String::new();
    first.names.allow = vec!["whoami".into(), "e*".into()];
    first.names.rename.insert("echo".into(), "say".into());
    second.names.prefix = String::new();
    second.names.deny = vec!["task*".into(), "ask*".into(), "hang".into()];
    let gateway = start_with(vec![first, second]).await;
    let client = Peer::legacy(&gateway, "c").await;
    let expected = ["whoami", "say", "echo", "slow", "fail", "progress"];
    assert_eq!(client.tools().await, expected);
    // The first server with a name has it.
    assert_eq!(client.call("whoami", json!({})).await.unwrap(), "one");
    assert_eq!(client.call("say", json!({"a": 1})).await.unwrap(), r#"{"a":1}"#);
    assert_eq!(client.call("slow", json!({"label": "x"})).await.unwrap(), "two x");
    for hidden in ["task", "hang", "ask"] {
        let failure = client.call(hidden, json!({})).await.unwrap_err();
        assert!(
            failure.to_string().contains("no server here has this name"),
            "{hidden}: {failure}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn progress_and_cancellation_pass() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    for client in [Peer::legacy(&gateway, "a").await, Peer::modern(&gateway, "b").await] {
        for fake in ["old", "new"] {
            let params = json!({"name": format!("{fake}__progress")});
            let params = Json(params);
            let options = CallOptions::new().progress();
            let mut call = client.handle().call_method("tools/call", &params, options);
            let mut updates = Vec::new();
            while let Some(update) = call.progress().next().await {
                updates.push((update.progress.to_string(), update.message.unwrap().to_string()));
            }
            call.await.unwrap();
            let expected = ["1", "2", "3"].map(|step| (step.to_owned(), "going".to_owned()));
            assert_eq!(updates, expected, "{fake}");
        }
    }
    let client = Peer::modern(&gateway, "c").await;
    for fake in [&old, &new] {
        let name = fake.uri()[7..10].to_owned();
        let tool = format!("{name}__hang");
        let call = client.call(&tool, json!({"label": "h"}));
        assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
        settle().await;
        assert_eq!(fake.journal(), ["begun h", "cancelled h"]);
    }
    let status = gateway.status();
    assert!(status.upstreams.iter().all(|upstream| upstream.calls == 0), "{status:?}");
}

/// A server of the legacy era has one level for all clients, and is asked for that of the most verbose one.
#[tokio::test(start_paused = true)]
async fn a_client_gets_the_log_messages_of_its_level() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    let (ann, bob) = (Peer::legacy(&gateway, "a").await, Peer::modern(&gateway, "b").await);
    ann.handle().set_log_level(LoggingLevel::Error).await.unwrap();
    settle().await;
    let log = |level: &str| format!(r#"{{"level":"{level}","data":"x"}}"#);
    for server in ["old", "new"] {
        let (tool, arguments) = (format!("{server}__log"), json!({"label": "x", "ms": 100}));
        for (level, expected) in [
            (None, vec![]),
            (Some(LoggingLevel::Debug), vec![log("debug"), log("error")]),
            (Some(LoggingLevel::Warning), vec![log("error")]),
        ] {
            let options = CallOptions::new();
            let options = level.map_or(options, |level| options.log_level(level));
            bob.call_with(&tool, arguments.clone(), options).await.unwrap();
            assert_eq!(bob.take_logs(), expected, "{server} {level:?}");
        }
        ann.call(&tool, arguments).await.unwrap();
        assert_eq!(ann.take_logs(), [log("error")], "{server}");
    }
    assert_eq!(old.journal(), ["level error", "level debug"]);
}

/// The gateway reads more messages at once than wait for the work on a call.
#[tokio::test(start_paused = true)]
async fn a_burst_of_log_messages_arrives_as_a_whole() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    let (ann, bob) = (Peer::legacy(&gateway, "a").await, Peer::modern(&gateway, "b").await);
    let before = tokio::time::Instant::now();
    for (tool, client) in [("old__log", &ann), ("old__log", &bob), ("new__log", &bob)] {
        let arguments = json!({"label": "x", "times": 300});
        let options = CallOptions::new().log_level(LoggingLevel::Debug);
        client.call_with(tool, arguments, options).await.unwrap();
        assert_eq!(client.take_logs().len(), 600, "{tool}");
    }
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_list_does_not_wait_for_a_slow_server_and_is_announced_later() {
    let (fast, slow) = (Fake::modern("fast"), Fake::modern("slow"));
    slow.set_list_delay(Duration::from_secs(20));
    let gateway = start(&[&fast, &slow]).await;
    let client = Peer::modern(&gateway, "c").await;
    let filter = mcp_sansio::model::SubscriptionFilter::new().with_tools();
    client.handle().subscribe(&filter).unwrap();
    settle().await;
    let before = tokio::time::Instant::now();
    let tools = client.tools().await;
    assert_eq!(before.elapsed().as_secs(), 10);
    assert!(tools.iter().all(|tool| tool.starts_with("fast__")) && tools.len() == TOOLS.len());
    assert_eq!(client.events(), Vec::<String>::new());
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(client.events(), ["notifications/tools/list_changed"]);
    assert_eq!(client.tools().await.len(), 2 * TOOLS.len());
    // A client that gets older items, because the new ones are being read, is notified as well.
    slow.set_tools(&["whoami"]);
    settle().await;
    assert_eq!(client.events().len(), 2);
    assert_eq!(client.tools().await.len(), 2 * TOOLS.len());
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(client.events().len(), 3);
    assert_eq!(client.tools().await.len(), TOOLS.len() + 1);
    // The same items again are no reason to read the list again.
    slow.set_tools(&["whoami"]);
    settle().await;
    client.tools().await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(client.events().len(), 4);
}

/// A list is read once for all clients, and again after a change.
#[tokio::test(start_paused = true)]
async fn changed_lists_are_read_again_and_announced() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    let clients = [Peer::legacy(&gateway, "a").await, Peer::modern(&gateway, "b").await];
    let filter = mcp_sansio::model::SubscriptionFilter::new().with_tools();
    for client in &clients {
        client.handle().subscribe(&filter).unwrap();
        assert_eq!(client.tools().await.len(), 2 * TOOLS.len());
    }
    settle().await;
    old.set_tools(&["whoami"]);
    settle().await;
    new.set_tools(&["echo"]);
    settle().await;
    for client in &clients {
        assert_eq!(client.events(), ["notifications/tools/list_changed"; 2]);
        assert_eq!(client.tools().await, ["old__whoami", "new__echo"]);
    }
}

#[tokio::test(start_paused = true)]
async fn resources_are_found_and_their_changes_announced() {
    let (old, new) = (Fake::legacy("old"), Fake::modern("new"));
    let gateway = start(&[&old, &new]).await;
    let clients = [Peer::legacy(&gateway, "a").await, Peer::modern(&gateway, "b").await];
    for client in &clients {
        for fake in [&old, &new] {
            assert!(client.read(&fake.uri()).await.unwrap().contains(&fake.uri()));
            let filter = mcp_sansio::model::SubscriptionFilter::new().with_resource(fake.uri());
            client.handle().subscribe(&filter).unwrap();
        }
        let failure = client.read("fake://nowhere").await.unwrap_err();
        let CallFailure::PeerError(error) = failure else { panic!("{failure}") };
        assert!(error.is_resource_not_found(), "{error}");
    }
    settle().await;
    old.update_resource();
    new.update_resource();
    settle().await;
    for client in &clients {
        let expected = ["fake://old/a", "fake://new/a"]
            .map(|uri| format!("notifications/resources/updated {uri}"));
        assert_eq!(client.events(), expected);
    }
    // The last subscription to a resource ends that of the gateway.
    assert_eq!(gateway.status().subscribers, 2);
    for client in clients {
        client.connection.close(Duration::ZERO).await.unwrap();
    }
    settle().await;
    assert_eq!(gateway.status().subscribers, 0);
}

/// A name belongs to the server with the longest prefix of it, in lists as well as in calls.
#[tokio::test(start_paused = true)]
async fn a_list_has_only_names_that_lead_to_their_servers() {
    let (one, two) = (Fake::modern("one"), Fake::modern("two"));
    one.set_tools(&["whoami", "two__echo", "two__nope"]);
    let mut first = one.config();
    first.names.prefix = String::new();
    let gateway = start_with(vec![first, two.config()]).await;
    let client = Peer::modern(&gateway, "c").await;
    let tools = client.tools().await;
    assert_eq!(tools.len(), 1 + TOOLS.len());
    assert_eq!(tools[0], "whoami");
    assert!(!tools.contains(&"two__nope".to_owned()), "{tools:?}");
}

/// A server without a prefix has a new tool, and a client calls it while its list is being read.
#[tokio::test(start_paused = true)]
async fn a_call_of_a_new_tool_waits_for_the_list() {
    let one = Fake::modern("one");
    one.set_tools(&["whoami"]);
    let mut config = one.config();
    config.names.prefix = String::new();
    let gateway = start_with(vec![config]).await;
    let client = Peer::modern(&gateway, "c").await;
    client.tools().await;
    settle().await;
    one.set_list_delay(Duration::from_secs(1));
    one.set_tools(&["whoami", "echo"]);
    settle().await;
    assert_eq!(client.call("echo", json!({})).await.unwrap(), "{}");
    let failure = client.call("nope", json!({})).await.unwrap_err().to_string();
    assert!(failure.contains("no server here has this name"), "{failure}");
}

/// While the list of a server without a prefix is not known, a name may be one of its names.
#[tokio::test(start_paused = true)]
async fn an_unknown_name_is_no_fault_of_the_client_while_a_list_is_missing() {
    let one = Fake::modern("one");
    one.crash(true);
    let mut config = one.config();
    config.names.prefix = String::new();
    let gateway = start_with(vec![config]).await;
    let client = Peer::modern(&gateway, "c").await;
    let failure = client.call("whoami", json!({})).await.unwrap_err().to_string();
    assert!(failure.contains("-32603"), "{failure}");
    assert!(failure.contains("the list of the server one is missing"), "{failure}");
}

/// A server is not asked for what it has not declared, which is no failed call.
#[tokio::test(start_paused = true)]
async fn a_method_that_a_server_does_not_have_is_refused() {
    for server in [Fake::legacy("one"), Fake::modern("one")] {
        let gateway = start(&[&server]).await;
        let client = Peer::modern(&gateway, "c").await;
        let argument = json!({"name": "a", "value": ""});
        for (method, params) in [
            ("prompts/get", json!({"name": "one__p"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "one__p"}, "argument": argument}),
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "a:{b}"}, "argument": argument}),
            ),
        ] {
            let call = client.handle().call_method(method, &Json(params), CallOptions::new());
            let failure = call.await.unwrap_err();
            let CallFailure::PeerError(error) = failure else { panic!("{method}: {failure}") };
            assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND, "{method}: {error}");
        }
        assert_eq!(gateway.status().upstreams[0].failed, 0);
    }
}

/// The first server with resources may have the template, and completes nothing.
#[tokio::test(start_paused = true)]
async fn a_completion_comes_from_a_server_that_completes() {
    for (one, two) in [
        (Fake::legacy("one"), Fake::modern("two").completing()),
        (Fake::modern("one"), Fake::legacy("two").completing()),
    ] {
        let gateway = start(&[&one, &two]).await;
        let client = Peer::modern(&gateway, "c").await;
        let params = json!({
            "ref": {"type": "ref/resource", "uri": "a:{b}"}, "argument": {"name": "b", "value": ""},
        });
        let options = CallOptions::new();
        let reply = client.handle().call_method("completion/complete", &Json(params), options);
        let completed: serde_json::Value = reply.await.unwrap().raw().parse().unwrap();
        assert_eq!(completed["completion"]["values"], json!(["two"]));
    }
}
