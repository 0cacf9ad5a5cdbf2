//! Random operations of an application and a client: a small model checks the order of messages about each request.

use std::collections::BTreeMap;

use mcp_sansio::config::Listening;
use mcp_sansio::model::{InputRequired, LoggingLevel};
use mcp_sansio::progress::Progress;
use mcp_sansio::subscription::{ChangedList, Log};
use mcp_sansio::{ErrorCode, IncomingId, Request, ServerEvent};
use mcp_sansio_proptests::ServerSide;
use proptest::prelude::*;
use serde_json::Value;

use crate::modern::kit::*;

/// An operation. Requests have ids 0 to 3; handles are chosen among all handles so far.
#[derive(Clone, Debug)]
enum Step {
    Request(u8),
    Listen { id: u8, topics: u8 },
    Cancel(u8),
    Noise(u8),
    Respond(usize),
    Reject(usize),
    RequireInput(usize),
    Grant(usize),
    Report(usize, u8),
    Log(usize),
    Change(u8),
    Time(u16),
    ShutDown,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..4_u8;
    let handle = 0..8_usize;
    prop_oneof![
        3 => id.clone().prop_map(Step::Request),
        3 => (id.clone(), 0..16_u8).prop_map(|(id, topics)| Step::Listen { id, topics }),
        2 => id.prop_map(Step::Cancel),
        1 => (0..5_u8).prop_map(Step::Noise),
        2 => handle.clone().prop_map(Step::Respond),
        1 => handle.clone().prop_map(Step::Reject),
        1 => handle.clone().prop_map(Step::RequireInput),
        2 => handle.clone().prop_map(Step::Grant),
        2 => (handle.clone(), 0..9_u8).prop_map(|(handle, so_far)| Step::Report(handle, so_far)),
        1 => handle.prop_map(Step::Log),
        4 => (0..4_u8).prop_map(Step::Change),
        1 => any::<u16>().prop_map(Step::Time),
    ]
}

const TOPICS: [&str; 4] = [
    r#""toolsListChanged":true"#,
    r#""promptsListChanged":true"#,
    r#""resourcesListChanged":true"#,
    r#""resourceSubscriptions":["x:y"]"#,
];
const NOTIFICATIONS: [&str; 4] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
];

/// The state of an open request.
#[derive(Clone, Debug)]
enum Open {
    Call { progress: Option<u64> },
    Subscription { topics: u8, acknowledged: bool },
}

/// A server, and the knowledge of an observer of the wire.
struct World {
    side: ServerSide,
    handles: Vec<IncomingId>,
    requests: Vec<Request<'static>>,
    open: BTreeMap<u64, Open>,
    log: Vec<String>,
}

impl World {
    fn new(listening: Listening) -> Self {
        let side = server_with(|config| config.listening = listening);
        let (handles, requests, log) = (Vec::new(), Vec::new(), Vec::new());
        let mut world = Self { side, handles, requests, open: BTreeMap::new(), log };
        lives(&mut world.side);
        world
    }

    fn receive(&mut self, frame: &str) {
        match self.side.receive(frame) {
            Some(ServerEvent::Request(request)) => {
                self.handles.push(request.id);
                self.requests.push(request);
            }
            Some(ServerEvent::Subscribed(subscribed)) => self.handles.push(subscribed.id),
            _ => {}
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Request(_) | Step::Listen { .. } | Step::Cancel(_) | Step::Noise(_) => {
                self.of_client(step);
            }
            Step::Time(passed) => _ = self.side.elapse(u64::from(*passed)),
            Step::ShutDown => {
                self.side.server.shut_down(std::time::Duration::ZERO, self.side.now);
                _ = self.side.outcomes();
            }
            _ => self.of_application(step),
        }
        for message in self.side.sent() {
            self.watch(&message);
            self.log.push(message);
        }
    }

    fn of_client(&mut self, step: &Step) {
        match step {
            Step::Request(id) => {
                self.open.entry(u64::from(*id)).or_insert(Open::Call { progress: None });
                let more =
                    format!(r#""progressToken":{id},"io.modelcontextprotocol/logLevel":"debug""#);
                self.receive(&with_more(&id.to_string(), "tools/call", &more, r#""name":"t""#));
            }
            Step::Listen { id, topics } => {
                let open = Open::Subscription { topics: *topics, acknowledged: false };
                self.open.entry(u64::from(*id)).or_insert(open);
                let chosen = (0..4).filter(|bit| topics & 1 << bit != 0).map(|bit| TOPICS[bit]);
                self.receive(&listen(&id.to_string(), &chosen.collect::<Vec<_>>().join(",")));
            }
            Step::Cancel(id) => {
                self.open.remove(&u64::from(*id));
                self.receive(&cancel(&id.to_string()));
            }
            Step::Noise(kind) => {
                let frames = [
                    "hello".to_owned(),
                    plain("1", ""),
                    of_session(r#""other""#, "tools/list", ""),
                    modern_request(r#""other""#, "server/discover", ""),
                    cancel("{}"),
                ];
                self.receive(&frames[usize::from(*kind)]);
            }
            other => panic!("not of the client: {other:?}"),
        }
    }

    fn of_application(&mut self, step: &Step) {
        let (handles, requests) = (self.handles.len().max(1), self.requests.len().max(1));
        let handle = |at: &usize| self.handles.get(at % handles).copied();
        let (now, level) = (self.side.now, LoggingLevel::Error);
        let ServerSide { server, out, .. } = &mut self.side;
        match step {
            Step::Change(3) => _ = server.notifications().resource_updated("x:y", out),
            Step::Change(list) => {
                let lists = [ChangedList::Tools, ChangedList::Prompts, ChangedList::Resources];
                _ = server.notifications().list_changed(lists[usize::from(*list)], out);
            }
            Step::RequireInput(at) => {
                if let Some(request) = self.requests.get(at % requests) {
                    _ = server.require_input(request, &InputRequired::new().state("s"), now, out);
                }
            }
            Step::Respond(at) => {
                let content = mcp_sansio::json::Raw::new(r#"{"content":[]}"#).unwrap();
                _ = handle(at).map(|id| server.respond(id, &content, out));
            }
            Step::Reject(at) => {
                _ = handle(at).map(|id| server.reject(id, ErrorCode::new(1), "no", out));
            }
            Step::Grant(at) => _ = handle(at).map(|id| server.grant(id, None, out)),
            Step::Report(at, so_far) => {
                let so_far = Progress::new(u32::from(*so_far));
                _ = handle(at).map(|id| server.progress(id, so_far, now, out));
            }
            Step::Log(at) => {
                _ = handle(at)
                    .map(|id| server.notifications().log(&Log::new(level, "d").about(id), out));
            }
            other => panic!("not of the application: {other:?}"),
        }
    }

    /// Checks a message against all earlier ones.
    #[track_caller]
    fn watch(&mut self, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
        match message["method"].as_str() {
            Some(method) => {
                assert!(message.get("id").is_none(), "a server never asks: {text}");
                self.watch_notification(method, &message["params"], text);
            }
            None => self.watch_answer(&message, text),
        }
    }

    fn watch_notification(&mut self, method: &str, params: &Value, text: &str) {
        if method == "notifications/message" {
            let mut calls = self.open.values().filter(|open| matches!(open, Open::Call { .. }));
            assert!(calls.next().is_some(), "about nothing: {text}");
            return;
        }
        let tag = match method {
            "notifications/progress" => &params["progressToken"],
            _ => &params["_meta"]["io.modelcontextprotocol/subscriptionId"],
        };
        let open = self.open.get_mut(&tag.as_u64().unwrap());
        match (method, open.unwrap_or_else(|| panic!("about nothing: {text}"))) {
            ("notifications/progress", Open::Call { progress }) => {
                let now = params["progress"].as_u64();
                assert!(*progress < now, "it grows: {text}");
                *progress = now;
            }
            (
                "notifications/subscriptions/acknowledged",
                Open::Subscription { acknowledged, .. },
            ) => {
                assert!(!*acknowledged, "once: {text}");
                *acknowledged = true;
            }
            (_, Open::Subscription { topics, acknowledged }) => {
                assert!(*acknowledged, "not before it is acknowledged: {text}");
                let topic =
                    NOTIFICATIONS.iter().position(|delivered| *delivered == method).unwrap();
                assert!(*topics & 1 << topic != 0, "not asked for: {text}");
            }
            other => panic!("{other:?}: {text}"),
        }
    }

    fn watch_answer(&mut self, message: &Value, text: &str) {
        if message["id"] == "other" {
            return;
        }
        let open = self.open.remove(&message["id"].as_u64().unwrap());
        assert!(open.is_some(), "nobody has asked, or not any more: {text}");
        if let Some(result) = message.get("result") {
            assert!(result["resultType"].is_string(), "{text}");
            let tag = &result["_meta"]["io.modelcontextprotocol/subscriptionId"];
            let is_subscription = matches!(open, Some(Open::Subscription { .. }));
            assert_eq!(*tag == message["id"], is_subscription, "{text}");
        }
    }
}

proptest! {
    /// Proves M-ARCH-08, M-SECL-02, M-SECL-03, M-SECL-06, M-SUB-05, M-SUB-08, M-SUB-17, M-CANC-06, M-PROG-03,
    /// M-PROG-04: for any operations in any order.
    #[test]
    fn messages_of_each_request_are_sent_in_order(
        steps in prop::collection::vec(step(), 1..60),
        asked in any::<bool>(),
    ) {
        let listening = if asked { Listening::Asked } else { Listening::Granted };
        let mut worlds = [World::new(listening), World::new(listening)];
        for step in steps.iter().chain([&Step::ShutDown]) {
            for world in &mut worlds {
                world.step(step);
            }
        }
        let [world, again] = worlds;
        prop_assert_eq!(&world.log, &again.log);
        prop_assert_eq!(&world.side.server, &again.side.server);
        prop_assert_eq!(world.side.server.in_flight().counts().inbound, 0);
        prop_assert_eq!(world.side.server.in_flight().counts().outbound, 0);
        for (id, open) in world.open {
            prop_assert!(matches!(open, Open::Call { .. }), "{id} was never ended");
        }
    }
}
