//! What changes while somebody watches.

use mcp_sansio::model::{UriParams, method};
use mcp_sansio::{Capability, Notification};

use crate::contents::Contents;
use crate::say::say;
use crate::session::Session;

/// Subscribes to every resource that the server lists.
pub(crate) fn subscribe(session: &Session) -> Result<(), String> {
    let offered = session.connected().capabilities;
    if !offered.contains(Capability::ResourcesSubscribe) {
        say!("the server has no subscriptions; changes of its lists are shown");
        return Ok(());
    }
    for resource in Contents::resources(session)? {
        let params = UriParams::new(resource.name.as_str());
        if let Err(error) = session.ask::<method::Subscribe>(&params) {
            // The others may be watched.
            say!("{}: {error}", resource.name);
        }
    }
    say!("watching");
    Ok(())
}

/// What a notification says has changed, if it is about that.
pub(crate) fn change(notification: &Notification<'_>) -> Option<String> {
    Some(if let Some(updated) = notification.parse::<method::ResourceUpdated>() {
        updated.map_or_else(|error| error.to_string(), |updated| format!("updated {}", updated.uri))
    } else if notification.is::<method::ToolsChanged>() {
        "tools changed".into()
    } else if notification.is::<method::ResourcesChanged>() {
        "resources changed".into()
    } else if notification.is::<method::PromptsChanged>() {
        "prompts changed".into()
    } else if let Some(done) = notification.parse::<method::ElicitationComplete>() {
        done.map_or_else(|error| error.to_string(), |done| format!("done {}", done.elicitation_id))
    } else {
        return None;
    })
}
