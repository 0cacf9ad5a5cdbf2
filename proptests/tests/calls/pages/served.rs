//! Lists in pages at a server, fed by hand and read by a walking client.

use mcp_sansio::call::Paging;
use mcp_sansio::event::RestartCause;
use mcp_sansio::json::{Raw, Str};
use mcp_sansio::model::ListToolsResult;
use mcp_sansio::model::method::{
    ListPrompts, ListResourceTemplates, ListResources, ListTools, PagedMethod,
};
use mcp_sansio::pagination::Pager;
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{
    CallOptions, ClientEvent, ClientRequest, ErrorCode, IncomingId, Outcome, Revision, ServerEvent,
};
use mcp_sansio_proptests::{ClientSide, Pair, Seen, ServerSide, config, ready};

const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The method and the cursor of a request for a list.
#[track_caller]
fn cursor<'a>(call: &'a ClientRequest<'_>) -> (&'static str, Option<&'a Str<'a>>) {
    match call {
        ClientRequest::ListTools(page) => ("tools/list", page.cursor.as_ref()),
        ClientRequest::ListResources(page) => ("resources/list", page.cursor.as_ref()),
        ClientRequest::ListResourceTemplates(page) => {
            ("resources/templates/list", page.cursor.as_ref())
        }
        ClientRequest::ListPrompts(page) => ("prompts/list", page.cursor.as_ref()),
        other => panic!("not for a list: {other:?}"),
    }
}

fn tools(names: &[&str]) -> Vec<Raw<'static>> {
    let tool = |name: &&str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    names.iter().map(|name| Raw::new(&tool(name)).unwrap().into_owned()).collect()
}

/// Proves L-PAGE-03, L-AMB-26: each of the four lists has pages, in every revision.
#[test]
fn a_server_cuts_each_of_its_lists_into_pages() {
    for revision in Revision::LEGACY {
        let tool = r#"{"name":"n","inputSchema":{"type":"object"}}"#;
        served_in_pages::<ListTools>(revision, tool);
        served_in_pages::<ListResources>(revision, r#"{"uri":"x:y","name":"n"}"#);
        served_in_pages::<ListResourceTemplates>(revision, r#"{"uriTemplate":"x:{y}","name":"n"}"#);
        served_in_pages::<ListPrompts>(revision, r#"{"name":"n"}"#);
    }
}

#[track_caller]
fn served_in_pages<M: PagedMethod>(revision: Revision, item: &str) {
    let mut side = ServerSide::ready(revision);
    let pager = Pager::new(1).key(7);
    let items = [Raw::new(item).unwrap(), Raw::new(item).unwrap()];
    let next = pager.page(&items, None).unwrap().next_cursor.unwrap();
    let (method, name) = (M::NAME, M::ITEMS);
    let exchanges = [
        (String::new(), format!(r#"{{"{name}":[{item}],"nextCursor":"{next}"}}"#)),
        (format!(r#","params":{{"cursor":"{next}"}}"#), format!(r#"{{"{name}":[{item}]}}"#)),
    ];
    for (params, result) in exchanges {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#);
        let Some(ServerEvent::Request(request)) = side.receive(&frame) else { panic!("{frame}") };
        let (asked, cursor) = cursor(&request.kind);
        assert_eq!(asked, method);
        let page = pager.page(&items, cursor).unwrap();
        side.server.respond(request.id, &page.result::<M>(), &mut side.out).unwrap();
        assert_eq!(side.sent(), [format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)]);
    }
}

/// Proves L-AMB-49: no cursor is sent as `null`, in a result or in params.
#[test]
fn no_cursor_is_never_sent_as_null() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
        let id = side.request(list);
        side.respond(id, r#"{"tools":[],"nextCursor":null}"#);
        assert_eq!(side.sent(), [expected]);
        let id = side.request(list);
        side.server.respond(id, &ListToolsResult::default(), &mut side.out).unwrap();
        assert_eq!(side.sent(), [expected]);
        let id = side.request(list);
        side.respond(id, r#"{"tools":[],"nextCursor":""}"#);
        assert_eq!(
            side.sent(),
            [r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":""}}"#]
        );

        let mut side = ClientSide::ready(revision);
        let params = Raw::new(r#"{"cursor":null}"#).unwrap();
        let options = CallOptions::new();
        side.client.call_method("tools/list", &params, options, side.now, &mut side.out).unwrap();
        let sent = side.sent();
        assert_eq!(sent, [r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#]);
    }
}

/// Proves L-RACE-24: unsent changes of a list are merged into one notification.
#[test]
fn a_burst_of_changes_is_one_notification() {
    let mut side = ServerSide::ready(Revision::V2025_11_25);
    let change = |side: &mut ServerSide| {
        side.server.notifications().list_changed(ChangedList::Tools, &mut side.out).unwrap()
    };
    assert_eq!(change(&mut side), Delivery::Sent);
    for _ in 0..5 {
        assert_eq!(change(&mut side), Delivery::Repeated);
    }
    assert_eq!(side.sent(), [TOOLS_CHANGED]);
    // A notification that has left does not absorb the next change.
    assert_eq!(change(&mut side), Delivery::Sent);
    assert_eq!(side.sent(), [TOOLS_CHANGED]);
    // A response between two changes keeps its place.
    let id = side.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(change(&mut side), Delivery::Sent);
    side.respond(id, r#"{"tools":[]}"#);
    assert_eq!(change(&mut side), Delivery::Sent);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
    assert_eq!(side.sent(), [TOOLS_CHANGED, answer, TOOLS_CHANGED]);
}

/// A server whose tools change, and a client that walks them.
struct Shop {
    pair: Pair,
    tools: Vec<Raw<'static>>,
    pager: Pager,
    /// The names of the tools that the client has received.
    known: Vec<String>,
}

impl Shop {
    fn open(names: &[&str]) -> Self {
        let mut pair = ready(config::client(), config::server());
        let options = CallOptions::new();
        let out = &mut pair.client_out;
        pair.client.list::<ListTools>(Paging::default(), options, pair.now, out).unwrap();
        Self { pair, tools: tools(names), pager: Pager::new(2).version(1), known: Vec::new() }
    }

    /// Changes the list and invalidates its cursors, then notifies the client.
    fn change(&mut self, names: &[&str]) {
        self.tools = tools(names);
        self.pager = self.pager.version(2);
        let out = &mut self.pair.server_out;
        assert_eq!(
            self.pair.server.notifications().list_changed(ChangedList::Tools, out),
            Ok(Delivery::Sent)
        );
    }

    /// Serves exactly one request.
    #[track_caller]
    fn serve(&mut self) {
        let seen = self.pair.to_server(usize::MAX);
        let [Seen::Server(ServerEvent::Request(request))] = &seen[..] else { panic!("{seen:?}") };
        let (_, cursor) = cursor(&request.kind);
        let (server, out) = (&mut self.pair.server, &mut self.pair.server_out);
        match self.pager.page(&self.tools, cursor) {
            Ok(page) => server.respond(request.id, &page.result::<ListTools>(), out),
            Err(invalid) => {
                server.reject(request.id, ErrorCode::INVALID_PARAMS, &invalid.to_string(), out)
            }
        }
        .unwrap();
    }

    /// Delivers the output of the server. Returns a short name of each event of the client.
    #[track_caller]
    fn shop(&mut self) -> Vec<&'static str> {
        let seen = self.pair.to_client(usize::MAX);
        seen.into_iter().map(|seen| self.noticed(seen)).collect()
    }

    #[track_caller]
    fn noticed(&mut self, seen: Seen) -> &'static str {
        match seen {
            Seen::Client(ClientEvent::Notification(_)) => "changed",
            Seen::Client(ClientEvent::Page(page)) if !page.stale => {
                self.learn(&page.result);
                "page"
            }
            Seen::Client(ClientEvent::ListRestarted(restarted)) => {
                self.known.clear();
                match restarted.cause {
                    RestartCause::Changed => "begun anew",
                    _ => "begun anew for a cursor",
                }
            }
            Seen::Client(ClientEvent::CallEnded(ended)) if !ended.stale => {
                let Outcome::Result(result) = ended.outcome else { panic!("{:?}", ended.outcome) };
                self.learn(&result);
                "over"
            }
            other => panic!("{other:?}"),
        }
    }

    fn learn(&mut self, page: &Raw<'_>) {
        let page: ListToolsResult<'_> = page.parse().unwrap();
        self.known.extend(page.tools.iter().map(|tool| tool.name.to_string()));
    }
}

/// Proves L-PAGE-11, L-PAGE-12, L-RACE-21: the client ends with the current list, not with a mixture of two lists.
#[test]
fn a_walk_over_a_change_gives_the_list_as_it_is_now() {
    let old = ["a", "b", "c", "d", "e"];
    let new = ["a", "c", "d"];
    // The requested page arrives before the notification.
    let mut shop = Shop::open(&old);
    shop.serve();
    assert_eq!(shop.shop(), ["page"]);
    shop.serve();
    shop.change(&new);
    assert_eq!(shop.shop(), ["page", "changed"]);
    shop.serve();
    assert_eq!(shop.shop(), ["begun anew for a cursor"]);
    for expected in [["page"], ["over"]] {
        shop.serve();
        assert_eq!(shop.shop(), expected);
    }
    assert_eq!(shop.known, new);
    // The notification arrives before the page.
    let mut shop = Shop::open(&old);
    shop.serve();
    assert_eq!(shop.shop(), ["page"]);
    let out = &mut shop.pair.server_out;
    _ = shop.pair.server.notifications().list_changed(ChangedList::Tools, out);
    shop.serve();
    assert_eq!(shop.shop(), ["changed", "begun anew"]);
    for expected in [["page"], ["page"], ["over"]] {
        shop.serve();
        assert_eq!(shop.shop(), expected);
    }
    assert_eq!(shop.known, old);
}

/// Proves L-RACE-25: a call of a tool that was removed meanwhile fails, and both sides continue.
#[test]
fn calling_a_removed_tool_fails_only_that_call() {
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready(revision);
        let frame = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gone"}}"#;
        let id = unknown_tool(&mut side, frame);
        let message = "unknown tool: gone";
        side.server.reject(id, ErrorCode::INVALID_PARAMS, message, &mut side.out).unwrap();
        let refusal =
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool: gone"}}"#;
        assert_eq!(side.sent(), [refusal]);
        side.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);

        let mut config = config::client();
        config.connection.first_call_id = 0;
        // The check of results does not affect errors.
        config.connection.check_results = true;
        let mut side = ClientSide::ready_with(config, revision);
        let call = side.call("tools/call");
        _ = side.sent();
        assert!(matches!(side.receive(TOOLS_CHANGED), Some(ClientEvent::Notification(_))));
        let Some(ClientEvent::CallEnded(ended)) = side.receive(refusal) else { panic!("over") };
        let Outcome::PeerError(error) = ended.outcome else { panic!("{:?}", ended.outcome) };
        assert_eq!((ended.call, ended.stale), (call, false));
        assert_eq!((error.code, &*error.message.to_str()), (ErrorCode::INVALID_PARAMS, message));
        assert_eq!(side.sent(), [""; 0]);
        side.call("tools/list");
        assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#]);
    }
}

/// A tool call that reaches the application; only the application knows its tools.
#[track_caller]
fn unknown_tool(side: &mut ServerSide, frame: &str) -> IncomingId {
    match side.receive(frame) {
        Some(ServerEvent::Request(request)) => {
            assert!(matches!(&request.kind, ClientRequest::CallTool(tool) if tool.name == "gone"));
            request.id
        }
        other => panic!("{other:?}"),
    }
}
