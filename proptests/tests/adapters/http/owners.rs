//! Isolation between clients with and without principals.

use std::time::Duration;

use mcp_sansio::http::Reply;
use mcp_sansio::model::CallToolResult;
use mcp_sansio::{Principal, ServerConfig};
use mcp_sansio_http::{
    ConnectionOptions, EndpointOptions, OneStreamPaths, PeerAddress, SharedTasks,
};
use serde_json::{Value, json};

use super::kit::{Served, server_config, soon};
use super::raw::{Answer, Raw, field, legacy, listen, post};

/// The users of the server; their numbers begin at 1.
const USERS: [&str; 2] = ["ann", "bob"];

/// Returns options that identify users by their tokens; a client without a token is anonymous.
fn options() -> EndpointOptions {
    let mut options = EndpointOptions::new().identify(|head| {
        assert!(head.extensions.get::<PeerAddress>().is_some());
        let Some(field) = head.headers.get("authorization") else {
            return Ok(Principal::default());
        };
        let token = field.to_str().ok().and_then(|field| field.strip_prefix("Bearer "));
        let user = USERS.iter().position(|user| token == Some(user));
        let user = user.ok_or_else(|| Reply::unauthorized(r#"Bearer error="invalid_token""#))?;
        Ok(Principal::new(user as u64 + 1))
    });
    options.connection = ConnectionOptions::new().tasks(SharedTasks::default());
    options
}

async fn serve(options: EndpointOptions) -> Served {
    serve_with(server_config(), options).await
}

async fn serve_with(mut config: ServerConfig, options: EndpointOptions) -> Served {
    config.capabilities = config.capabilities.with_tasks();
    config.capabilities.tasks = config.capabilities.tasks.map(|tasks| tasks.listed());
    Served::with(config, options, Duration::ZERO).await
}

fn token(user: &str) -> String {
    if user.is_empty() { String::new() } else { format!("Authorization: Bearer {user}\r\n") }
}

/// A client that sends requests about tasks.
struct Client {
    raw: Raw,
    /// The header fields that identify the client: its token, and its session if it has one.
    fields: String,
    session: Option<String>,
}

impl Client {
    async fn connect_stateless(served: &Served, user: &str) -> Self {
        Self { raw: Raw::connect(served.address).await, fields: token(user), session: None }
    }

    async fn in_session(served: &Served, user: &str) -> Self {
        let mut client = Self::connect_stateless(served, user).await;
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let answer = client.send("initialize", &params).await;
        let session = answer.field("mcp-session-id").unwrap().to_owned();
        client.fields += &format!("Mcp-Session-Id: {session}\r\n");
        client.session = Some(session);
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        client.raw.send(post(&client.fields, body)).await;
        assert_eq!(client.raw.answer().await.status(), "202");
        client
    }

    async fn send(&mut self, method: &str, params: &Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.raw.send(post(&self.fields, &body.to_string())).await;
        self.raw.answer().await
    }

    /// Returns the text of a request, in the session or modern.
    fn request(&self, method: &str, mut params: Value, name: &str) -> String {
        let mut fields = self.fields.clone();
        if self.session.is_none() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
            });
            fields += &format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
            if !name.is_empty() {
                fields += &format!("Mcp-Name: {name}\r\n");
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        post(&fields, &body.to_string())
    }

    async fn ask(&mut self, method: &str, params: Value, name: &str) -> Answer {
        let request = self.request(method, params, name);
        self.raw.send(request).await;
        self.raw.answer().await
    }

    /// Begins a task, and returns its id.
    async fn begin(&mut self, served: &mut Served) -> String {
        let mut params = json!({"name": "task", "arguments": {}});
        if self.session.is_some() {
            params["task"] = json!({});
        }
        let answer = self.ask("tools/call", params, "task").await;
        assert_eq!(served.log.next().await, "a task", "{answer:?}");
        let (_, id) = answer.body.split_once(r#""taskId":""#).expect("a task");
        id.split('"').next().unwrap().to_owned()
    }

    async fn get(&mut self, task: &str) -> Answer {
        self.ask("tasks/get", json!({"taskId": task}), task).await
    }

    /// Returns the responses to all requests about a task.
    async fn try_all(&mut self, served: &Served, task: &str) -> Vec<Answer> {
        let of_task = json!({"taskId": task});
        let mut answers =
            vec![self.get(task).await, self.ask("tasks/cancel", of_task.clone(), task).await];
        if self.session.is_some() {
            answers.push(self.ask("tasks/result", of_task, "").await);
            answers.push(self.ask("tasks/list", json!({}), "").await);
            return answers;
        }
        let update = json!({"taskId": task, "inputResponses": {}});
        answers.push(self.ask("tasks/update", update, task).await);
        let filter = json!({"notifications": {"taskIds": [task], "toolsListChanged": true}});
        let mut raw = Raw::connect(served.address).await;
        raw.send(self.request("subscriptions/listen", filter, "")).await;
        answers.push(Answer { head: raw.head().await, body: raw.chunk().await });
        answers
    }
}

/// A client that names the task of another client gets the same responses as for a missing task, and changes nothing.
///
/// Proves L-TASK-62, L-TASK-63, M-TASKX-19
#[tokio::test]
async fn a_foreign_task_is_a_missing_one() {
    let mut served = serve(options()).await;
    // Two principals and anonymous clients, with and without sessions; each anonymous session is a client of its own.
    let mut clients = Vec::new();
    for (whose, user, is_session) in [
        ("ann", "ann", true),
        ("ann", "ann", false),
        ("ann", "ann", true),
        ("bob", "bob", true),
        ("bob", "bob", false),
        ("one", "", true),
        ("other", "", true),
        ("anybody", "", false),
        ("anybody", "", false),
    ] {
        let client = if is_session {
            Client::in_session(&served, user).await
        } else {
            Client::connect_stateless(&served, user).await
        };
        clients.push((whose, client));
    }
    let mut tasks = Vec::new();
    for owner in 0..clients.len() {
        let task = clients[owner].1.begin(&mut served).await;
        let whose = clients[owner].0;
        let missing: String = task.chars().rev().collect();
        for (who, client) in &mut clients {
            if *who == whose {
                let answer = client.get(&task).await;
                assert!(answer.body.contains(r#""status":"working""#), "{who}: {answer:?}");
                continue;
            }
            let of_foreign = client.try_all(&served, &task).await;
            let of_missing = client.try_all(&served, &missing).await;
            assert_eq!(of_foreign, of_missing, "{who} asks for a task of {whose}");
            assert!(of_foreign.iter().all(|answer| !answer.body.contains(&task)));
        }
        tasks.push((owner, task));
    }
    // A session lists only the tasks that it can reach.
    for ((_, client), count) in clients.iter_mut().zip([3, 0, 3, 2, 0, 1, 1, 0, 0]) {
        if client.session.is_some() {
            let answer = client.ask("tasks/list", json!({}), "").await;
            assert_eq!(answer.json()["result"]["tasks"].as_array().unwrap().len(), count);
        }
    }
    for (owner, task) in &tasks {
        let answer = clients[*owner].1.get(task).await;
        assert!(
            answer.body.contains(r#""status":"working""#),
            "nobody has cancelled it: {answer:?}"
        );
    }
    served.script.gate.add_permits(tasks.len());
    for (owner, task) in tasks {
        let client = &mut clients[owner].1;
        if client.session.is_some() {
            let result = client.ask("tasks/result", json!({"taskId": task}), "").await;
            assert!(result.body.contains("done"), "{result:?}");
        }
    }
}

/// The limit on tasks applies to each owner.
///
/// Proves L-TASK-75
#[tokio::test]
async fn the_tasks_of_one_client_take_no_room_of_another() {
    let mut of_tasks = mcp_sansio::task::TasksConfig::default();
    of_tasks.tasks_of_owner = 2;
    let mut options = options();
    options.connection = ConnectionOptions::new().tasks(SharedTasks::new(of_tasks));
    let mut served = serve(options).await;
    for (user, is_session) in [("", true), ("", true), ("ann", true), ("bob", false), ("", false)] {
        let mut client = if is_session {
            Client::in_session(&served, user).await
        } else {
            Client::connect_stateless(&served, user).await
        };
        for _ in 0..2 {
            client.begin(&mut served).await;
        }
    }
}

/// An anonymous session ends with its tasks, because no client could name them again.
///
/// Proves L-TASK-75
#[tokio::test]
async fn the_tasks_of_a_session_end_with_it() {
    let all = SharedTasks::default();
    let mut options = options();
    options.connection = ConnectionOptions::new().tasks(all.clone());
    let mut served = serve(options).await;
    for (user, left) in [("", 0), ("ann", 2)] {
        let mut client = Client::in_session(&served, user).await;
        client.begin(&mut served).await;
        client.begin(&mut served).await;
        assert_eq!(all.with(|tasks, _| tasks.len()), 2);
        let session = client.session.as_deref().unwrap();
        client.raw.send(listen(session, &token(user)).replace("GET", "DELETE")).await;
        assert_eq!(client.raw.answer().await.status(), "200");
        assert_eq!(all.with(|tasks, _| tasks.len()), left, "{user}");
    }
}

/// A result that never fits is refused at once, whatever waits on the other streams of its session.
#[tokio::test]
async fn a_result_without_room_holds_up_no_other_request() {
    let all = SharedTasks::default();
    let mut options = options();
    options.connection = ConnectionOptions::new().tasks(all.clone());
    let mut config = server_config();
    config.connection.limits.outbox_bytes = 20_000;
    let mut served = serve_with(config, options).await;
    let mut client = Client::in_session(&served, "ann").await;
    let task = client.begin(&mut served).await;
    let long = CallToolResult::text("x".repeat(30_000));
    all.with(|tasks, now| {
        let key = tasks.find(&task).unwrap();
        // The notification about it waits for an event stream that the client has not opened.
        tasks.set_message(key, Some("soon"), now).unwrap();
        tasks.complete(key, &long, now).unwrap();
    });
    let result = client.ask("tasks/result", json!({"taskId": task}), "").await;
    assert_eq!(result.json()["error"]["code"], -32603, "{result:?}");
    assert_eq!(client.get(&task).await.json()["result"]["status"], "completed");
}

/// A session accepts no message, event stream or termination of another client.
///
/// Proves H-HTTP-174
#[tokio::test]
async fn a_foreign_session_is_a_missing_one() {
    let mut options = options();
    options.http.responses = mcp_sansio::http::ResponseMode::EventStream;
    let mut served = serve(options).await;
    let mut raw = Raw::connect(served.address).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    raw.send(post(&token("ann"), &body.to_string())).await;
    let head = raw.head().await;
    let session = field(&head, "mcp-session-id").unwrap().to_owned();
    while !raw.chunk().await.is_empty() {}
    let call = |user: &str, session: &str| {
        legacy(session, 1, "gate", "1").replace("Host:", &format!("{}Host:", token(user)))
    };
    raw.send(call("ann", &session)).await;
    raw.head().await;
    let primed = raw.chunk().await;
    let id = primed.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    assert_eq!(served.log.next().await, "at the gate 1");
    drop(raw);
    let missing = "0".repeat(32);
    let asks = |user: &str, session: &str| {
        let resume = format!("{}Last-Event-ID: {id}\r\n", token(user));
        [
            call(user, session),
            listen(session, &resume),
            listen(session, &token(user)),
            listen(session, &token(user)).replace("GET", "DELETE"),
        ]
    };
    for stranger in ["bob", ""] {
        for (foreign, none) in asks(stranger, &session).into_iter().zip(asks(stranger, &missing)) {
            let mut raw = Raw::connect(served.address).await;
            raw.send(&foreign).await;
            let answer = raw.answer().await;
            assert_eq!(answer.status(), "404");
            raw.send(&none).await;
            assert_eq!(answer, raw.answer().await, "{stranger}: {foreign}");
        }
    }
    // An anonymous session cannot resume with an event id that its own streams have not sent.
    let mut other = Raw::connect(served.address).await;
    let own = other.initialize_streaming("2025-11-25").await;
    other.send(listen(&own, &format!("Last-Event-ID: {}\r\n", id.replace('1', "2")))).await;
    assert_eq!(other.answer().await.status(), "400");
    served.script.gate.add_permits(1);
    assert_eq!(served.log.next().await, "through 1");
    let mut raw = Raw::connect(served.address).await;
    raw.send(listen(&session, &format!("{}Last-Event-ID: {id}\r\n", token("ann")))).await;
    raw.head().await;
    assert!(raw.chunk().await.contains("through 1"));
}

/// A client with a wrong token gets only a challenge, and its body is not read.
#[tokio::test]
async fn a_wrong_token_is_challenged() {
    let served = serve(options()).await;
    let mut raw = Raw::connect(served.address).await;
    let text = legacy(&"0".repeat(32), 1, "echo", "")
        .replace("Host:", "Authorization: Bearer eve\r\nHost:");
    let head = text.split_inclusive("\r\n\r\n").next().unwrap();
    raw.send(head).await;
    let answer = raw.answer().await;
    assert_eq!(answer.status(), "401");
    assert_eq!(answer.field("www-authenticate"), Some(r#"Bearer error="invalid_token""#));
}

/// The transport of 2024-11-05 distinguishes owners as well.
///
/// Proves H-HTTP-174
#[tokio::test]
async fn a_session_on_one_stream_is_its_owners() {
    let mut options = options();
    options.one_stream = Some(OneStreamPaths::default());
    options.http.ready_within = Duration::from_millis(200);
    let served = serve(options).await;
    let mut events = Raw::connect(served.address).await;
    let get = format!(
        "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{}\r\n",
        token("ann")
    );
    events.send(&get).await;
    events.head().await;
    let place = events.chunk().await;
    let place = place.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (user, status) in [("bob", "404"), ("", "404"), ("eve", "401"), ("ann", "202")] {
        let mut raw = Raw::connect(served.address).await;
        raw.send(post(&token(user), ping).replace("/mcp", place)).await;
        assert_eq!(raw.answer().await.status(), status, "{user}");
    }
    assert!(events.chunk().await.contains(r#""id":1"#));
    // An unused stream ends soon.
    let mut idle = Raw::connect(served.address).await;
    idle.send(&get).await;
    idle.head().await;
    idle.chunk().await;
    assert_eq!(idle.chunk().await, "");
    assert_eq!(served.endpoint.sessions(), 1);
}

/// Sessions that are opened and abandoned do not lock other clients out, and end soon.
///
/// Proves H-HTTP-175
#[tokio::test]
async fn abandoned_sessions_do_not_lock_out_other_clients() {
    let mut options = EndpointOptions::new();
    options.http.most_sessions = 50;
    options.http.ready_within = Duration::from_millis(500);
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let mut flood = Raw::connect(served.address).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let mut good = Vec::new();
    for number in 0..300 {
        flood.send(post("", body)).await;
        assert_eq!(flood.answer().await.status(), "200");
        if number % 60 == 0 {
            let mut raw = Raw::connect(served.address).await;
            let session = raw.initialize("2025-11-25").await;
            good.push((raw, session));
        }
        assert!(served.endpoint.sessions() <= 50);
    }
    for (raw, session) in &mut good {
        raw.send(legacy(session, 1, "echo", "here")).await;
        assert!(raw.answer().await.body.contains("here"));
    }
    let until = async |sessions| {
        while served.endpoint.sessions() != sessions {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon(until(good.len())).await;
    // This holds even if all existing sessions are long-lived.
    flood.send(post("", body)).await;
    assert_eq!(flood.answer().await.status(), "200");
    assert_eq!(served.endpoint.sessions(), good.len() + 1);
    soon(until(good.len())).await;
}

/// If the host names the address of each client, each address has its share of the sessions.
#[tokio::test]
async fn an_address_has_its_share_of_the_sessions() {
    let mut options = EndpointOptions::new().identify(|head| {
        let address = head.headers["x-forwarded-for"].to_str().unwrap();
        let address: std::net::IpAddr = address.parse().unwrap();
        Ok(mcp_sansio::http::RequestSource::default().address(address))
    });
    options.http.sessions_of_client = 3;
    let served = Served::with(server_config(), options, Duration::ZERO).await;
    let open = async |address: &str| {
        let mut client = Client::connect_stateless(&served, "").await;
        client.fields = format!("X-Forwarded-For: {address}\r\n");
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let answer = client.send("initialize", &params).await;
        let session = answer.field("mcp-session-id").unwrap_or_default().to_owned();
        client.fields += &format!("Mcp-Session-Id: {session}\r\n");
        (client, answer.status().to_owned())
    };
    let (mut good, _) = open("192.0.2.1").await;
    for _ in 0..10 {
        assert_eq!(open("2001:db8::1").await.1, "200");
        assert!(served.endpoint.sessions() <= 4);
    }
    assert_eq!(good.send("ping", &json!({})).await.status(), "200");
    // Ready sessions are not displaced.
    for _ in 0..3 {
        let (mut client, _) = open("2001:db8::2").await;
        assert_eq!(client.send("ping", &json!({})).await.status(), "200");
    }
    assert_eq!(open("2001:db8::3").await.1, "503");
    assert_eq!(open("192.0.2.1").await.1, "200");
}

/// A session that has been idle for long enough makes room for another one. A session with an open event stream is
/// not idle.
#[tokio::test]
async fn an_idle_session_makes_room() {
    let mut options = options();
    options.http.most_sessions = 1;
    options.http.displaced_after = Duration::from_millis(100);
    let served = serve(options).await;
    let idle = Duration::from_millis(150);
    let mut first = Client::in_session(&served, "ann").await;
    let mut events = Raw::connect(served.address).await;
    events.send(listen(first.session.as_ref().unwrap(), &token("ann"))).await;
    events.head().await;
    tokio::time::sleep(idle).await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let mut second = Client::connect_stateless(&served, "bob").await;
    assert_eq!(second.send("initialize", &params).await.status(), "503");
    drop(events);
    let opened = async {
        while second.send("initialize", &params).await.status() != "200" {
            tokio::time::sleep(idle).await;
        }
    };
    soon(opened).await;
    assert_eq!(served.endpoint.sessions(), 1);
    assert_eq!(first.send("ping", &json!({})).await.status(), "404");
}
