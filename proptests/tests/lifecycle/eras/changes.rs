//! Change notifications of a server, in every mix of eras.

use mcp_sansio::model::LoggingLevel;
use mcp_sansio::subscription::ChangedList;
use mcp_sansio::{CallOptions, Cause, ConnectionNumber};

use super::world::{BOTH, LEGACY, MODERN, World, client, lists, server};

/// Proves M-ERA-28, M-SUB-34, M-SUB-14: with one configuration, the application gets each list change once, in both
/// eras.
#[test]
fn list_changes_are_delivered_once_in_both_eras() {
    for (of_client, of_server) in
        [(LEGACY, BOTH), (BOTH, LEGACY), (MODERN, BOTH), (BOTH, MODERN), (BOTH, BOTH)]
    {
        let mut config = client(of_client);
        config.listen = Some(lists());
        let mut world = World::new(config, server(of_server));
        let changes = [ChangedList::Tools, ChangedList::Prompts, ChangedList::Resources];
        for list in changes {
            let (server, out) = (&mut world.pair.server, &mut world.pair.server_out);
            server.notifications().list_changed(list, out).unwrap();
            world.run();
        }
        let methods = ["tools", "prompts", "resources"]
            .map(|list| format!("notifications/{list}/list_changed"));
        assert_eq!(world.known.notifications, methods, "{of_client:?} {of_server:?}");
        world.is_clean();
    }
}

/// Proves M-SUB-34: a modern client without a subscription gets no notification.
#[test]
fn a_modern_client_without_subscription_gets_no_changes() {
    let mut world = World::new(client(BOTH), server(BOTH));
    world
        .pair
        .server
        .notifications()
        .list_changed(ChangedList::Tools, &mut world.pair.server_out)
        .unwrap();
    world.run();
    assert_eq!(world.known.notifications, [""; 0]);
    world.is_clean();
}

/// Proves M-ERA-28, M-LOG-08: progress and log messages of a call, with the same options.
#[test]
fn a_call_gets_progress_and_log_messages_in_both_eras() {
    for (of_client, of_server) in [(LEGACY, BOTH), (BOTH, LEGACY), (MODERN, BOTH), (BOTH, BOTH)] {
        let mut world = World::new(client(of_client), server(of_server));
        let options = CallOptions::new().progress().log_level(LoggingLevel::Info);
        let call = world.call("tools/call", r#"{"name":"watched"}"#, options);
        world.run();
        assert_eq!(world.text(call), "watched  ");
        assert_eq!(world.known.notifications, ["progress", "notifications/message"]);
        world.is_clean();
    }
}

/// Proves M-SUB-22, M-STDIO-10: subscriptions are renewed on the next connection, and their events are delivered.
#[test]
fn a_lost_subscription_goes_on_over_the_next_connection() {
    let mut world = World::new(client(BOTH), server(BOTH));
    let (pair, filter) = (&mut world.pair, lists().with_resource("a:b"));
    pair.client.subscribe(&filter, pair.now, &mut pair.client_out).unwrap();
    world.run();
    world.pair.client.disconnected(Cause::EndOfInput, world.pair.now);
    world.run();
    let mut next = World::new(client(BOTH), server(BOTH));
    next.pair = mcp_sansio_proptests::Pair::new(client(BOTH), server(BOTH));
    next.pair.client = world.pair.client.reconnect(ConnectionNumber::new(1));
    next.pair.client.connect(next.pair.now, &mut next.pair.client_out).unwrap();
    next.run();
    assert_eq!(next.pair.client.in_flight().subscriptions().count(), 1);
    next.pair.server.notifications().resource_updated("a:b", &mut next.pair.server_out).unwrap();
    next.pair
        .server
        .notifications()
        .list_changed(ChangedList::Prompts, &mut next.pair.server_out)
        .unwrap();
    next.run();
    let mut delivered = next.known.notifications.clone();
    delivered.sort();
    assert_eq!(
        delivered,
        ["notifications/prompts/list_changed", "notifications/resources/updated"]
    );
}
