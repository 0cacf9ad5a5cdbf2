//! Notifications of changed lists.

use mcp_sansio::capability::Capability;
use mcp_sansio::error::{NotAllowed, NotifyError};
use mcp_sansio::model::method::{PromptsChanged, ResourcesChanged, ToolsChanged};
use mcp_sansio::model::{ListChanged, ResourcesCapability};
use mcp_sansio::subscription::{ChangedList, Delivery};
use mcp_sansio::{ClientEvent, Revision, ServerConfig, ServerEvent};
use mcp_sansio_proptests::{ClientSide, ServerSide, config};

fn changed(list: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#)
}

/// A server with every list, and this value of `listChanged`.
fn server(list_changed: Option<bool>) -> ServerConfig {
    let mut list = ListChanged::default();
    list.list_changed = list_changed;
    let mut resources = ResourcesCapability::default();
    resources.list_changed = list_changed;
    let mut config = config::bare_server();
    config.capabilities.tools = Some(list);
    config.capabilities.prompts = Some(list);
    config.capabilities.resources = Some(resources);
    config
}

/// Proves L-TOOL-03, L-RES-14, L-PROMPT-05, L-CAP-04: a server that declares `listChanged` sends notifications, without
/// params and without a subscription.
#[test]
fn a_server_that_declares_list_changed_sends_notifications() {
    let lists = [
        (ChangedList::Tools, "tools"),
        (ChangedList::Resources, "resources"),
        (ChangedList::Prompts, "prompts"),
    ];
    for revision in Revision::LEGACY {
        let mut side = ServerSide::ready_with(server(Some(true)), revision);
        for (list, name) in lists {
            assert_eq!(
                side.server.notifications().list_changed(list, &mut side.out),
                Ok(Delivery::Sent)
            );
            assert_eq!(side.sent(), [changed(name)], "{revision}");
        }
    }
}

/// Proves L-TOOL-03, L-RES-14, L-PROMPT-05: a server that does not declare `listChanged` cannot send them.
#[test]
fn list_changed_notifications_require_their_capability() {
    let lists = [
        (ChangedList::Tools, "tools", Capability::ToolsListChanged),
        (ChangedList::Resources, "resources", Capability::ResourcesListChanged),
        (ChangedList::Prompts, "prompts", Capability::PromptsListChanged),
    ];
    let nothing = config::bare_server();
    for config in [server(None), server(Some(false)), nothing] {
        for revision in Revision::LEGACY {
            let mut side = ServerSide::ready_with(config.clone(), revision);
            for (list, name, capability) in lists {
                let refused = NotifyError::NotAllowed(NotAllowed::Capability(capability));
                assert_eq!(
                    side.server.notifications().list_changed(list, &mut side.out),
                    Err(refused)
                );
                let method = format!("notifications/{name}/list_changed");
                let delivered = side.server.notify_method(&method, &(), None, &mut side.out);
                assert_eq!(delivered, Err(refused));
            }
            assert_eq!(side.sent(), [""; 0]);
        }
    }
}

/// Proves L-TOOL-03, L-PROMPT-05: every repeated notification reaches the application, and the results of earlier
/// requests are marked as stale.
#[test]
fn a_client_receives_every_change_and_trusts_no_older_response() {
    for revision in Revision::LEGACY {
        let mut side = ClientSide::ready(revision);
        for (id, list) in [(2, "tools"), (3, "prompts"), (4, "resources")] {
            let call = side.call(&format!("{list}/list"));
            for _ in 0..2 {
                let Some(ClientEvent::Notification(received)) = side.receive(&changed(list)) else {
                    panic!("{list}");
                };
                let is = (
                    received.is::<ToolsChanged>(),
                    received.is::<PromptsChanged>(),
                    received.is::<ResourcesChanged>(),
                );
                assert_eq!(is, (list == "tools", list == "prompts", list == "resources"));
                assert_eq!(received.params, None);
            }
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{list}":[]}}}}"#);
            let Some(ClientEvent::CallEnded(ended)) = side.receive(&answer) else { panic!() };
            assert_eq!((ended.call, ended.stale), (call, true));
        }
        assert_eq!(side.sent().len(), 3, "nothing is asked for by itself");
    }
}

/// Proves L-TOOL-03, L-RACE-24: changes before the session is open are held and sent as one.
#[test]
fn list_changes_before_initialized_are_sent_once() {
    let mut side = ServerSide::with(server(Some(true)));
    let change =
        |side: &mut ServerSide, list| side.server.notifications().list_changed(list, &mut side.out);
    assert_eq!(change(&mut side, ChangedList::Tools), Ok(Delivery::Held));
    assert_eq!(change(&mut side, ChangedList::Tools), Ok(Delivery::Repeated));
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(matches!(side.receive(initialize), Some(ServerEvent::Opened(_))));
    assert_eq!(change(&mut side, ChangedList::Tools), Ok(Delivery::Repeated));
    assert_eq!(change(&mut side, ChangedList::Prompts), Ok(Delivery::Held));
    assert_eq!(side.sent().len(), 1);
    let ready = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(ready, Some(ServerEvent::Ready));
    assert_eq!(side.sent(), [changed("tools"), changed("prompts")]);
}

/// Other equal notifications are all sent: each log message counts.
#[test]
fn other_notifications_before_initialized_are_all_sent() {
    let mut side = ServerSide::with(server(Some(true)));
    for _ in 0..2 {
        let held = side.server.notify_method("notifications/x", &(), None, &mut side.out);
        assert_eq!(held, Ok(Delivery::Held));
    }
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(matches!(side.receive(initialize), Some(ServerEvent::Opened(_))));
    assert_eq!(side.sent().len(), 1);
    let ready = side.receive(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(ready, Some(ServerEvent::Ready));
    assert_eq!(side.sent(), [r#"{"jsonrpc":"2.0","method":"notifications/x"}"#; 2]);
}
