//! Subscriptions to changes, for `--watch`.

use std::io::ErrorKind;
use std::time::Duration;

use mcp_sansio::capability::Capability;
use mcp_sansio::event::{Notification, SubscriptionEnd, SubscriptionNews};
use mcp_sansio::model::{SubscriptionFilter, UriParams, method};

use crate::contents::{Contents, Listing};
use crate::ending::Ending;
use crate::say::say;
use crate::session::Session;

/// Subscribes to every resource that the server lists. Returns whether the server has accepted all subscriptions; the
/// response to a modern one comes later.
pub(crate) fn subscribe(session: &Session, ending: &Ending) -> Result<bool, String> {
    let offered = session.connected().capabilities;
    if session.is_modern() {
        return subscribe_without_session(session);
    }
    if !offered.contains(Capability::ResourcesSubscribe) {
        say!("the server has no subscriptions; changes of its lists are shown");
        return Ok(true);
    }
    let resources = Contents::resources(session)?;
    let mut succeeded = is_whole(&resources);
    for resource in resources.entries {
        let params = UriParams::new(resource.name.as_str());
        match session.ask::<method::Subscribe>(&params) {
            Err(error) if session.is_over() || ending.was_interrupted() => return Err(error),
            // The other resources can still be watched.
            Err(error) => {
                say!("{}: {error}", resource.name);
                succeeded = false;
            }
            Ok(_) => {}
        }
    }
    say!("watching");
    Ok(succeeded)
}

/// Waits until the user, the time, or the reader of standard output ends the watching. Returns whether the server has
/// kept all subscriptions.
pub(crate) fn wait(
    session: &Session,
    ending: &Ending,
    time: Option<Duration>,
) -> Result<bool, String> {
    session.wait(time);
    // A reader that closes the pipe has read enough, as for other results.
    if let Some(error) = ending.unprinted().filter(|error| error.kind() != ErrorKind::BrokenPipe) {
        return Err(format!("cannot print: {error}"));
    }
    if session.is_over() && !ending.was_interrupted() {
        return Err("the session has ended, and nothing is watched any more".into());
    }
    if ending.is_replaced() {
        return Err("the server has replaced the session, and nothing is watched any more".into());
    }
    Ok(!ending.has_ended_subscription())
}

/// Whether all resources are known. The others cannot be watched.
fn is_whole(resources: &Listing) -> bool {
    resources.cut.iter().for_each(|cut| say!("{cut}"));
    resources.cut.is_none()
}

/// As [`subscribe`], in the modern era: one subscription to everything.
fn subscribe_without_session(session: &Session) -> Result<bool, String> {
    let offered = session.connected().capabilities;
    let mut filter = SubscriptionFilter::new().with_tools().with_prompts().with_resources();
    let mut succeeded = true;
    if offered.contains(Capability::ResourcesSubscribe) {
        let resources = Contents::resources(session)?;
        succeeded = is_whole(&resources);
        for resource in resources.entries {
            filter = filter.with_resource(resource.name);
        }
    }
    session.subscribe(&filter).map(|()| succeeded)
}

/// Describes an event of a subscription. Changes are shown like those of a legacy session.
pub(crate) fn news(news: &SubscriptionNews<'_>) -> Option<String> {
    Some(match news {
        SubscriptionNews::Granted { refused, .. } if refused.as_json() == "{}" => "watching".into(),
        SubscriptionNews::Granted { refused, .. } => {
            format!("watching, but the server does not tell of {refused}")
        }
        SubscriptionNews::Lagged { lost } => format!("{lost} changes were missed"),
        SubscriptionNews::Ended(SubscriptionEnd::Lost(_)) => return None,
        SubscriptionNews::Ended(end) => format!("the server tells no more: {}", reason(end)),
        _ => return None,
    })
}

fn reason(end: &SubscriptionEnd<'_>) -> String {
    match end {
        SubscriptionEnd::Rejected(error) | SubscriptionEnd::Failed(error) => {
            error.message.to_string()
        }
        SubscriptionEnd::Finished => "it has finished".into(),
        SubscriptionEnd::TimedOut => "it did not say that it does".into(),
        end => format!("{end:?}"),
    }
}

/// Describes the change that a notification reports, if it reports one.
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
