//! [`Wire`], which checks the messages on a wire against the protocol.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::promise::{Broken, Promise};

/// The requests received and the messages sent by one side. Ids are compared by their text, strings decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Wire {
    pub(super) serves_duplicates: bool,
    /// The number of open requests of each id.
    asked: BTreeMap<String, u32>,
    /// The ids of cancelled requests, which must not get a response.
    cancelled: BTreeSet<String>,
    /// The subscriptions that were acknowledged and have not ended.
    acknowledged: BTreeSet<String>,
    /// The number of messages whose ids this checker cannot read, but the machine may.
    unreadable: u32,
    /// The ids of the sent requests.
    requests: BTreeSet<String>,
}

/// The substrings of which at least one occurs in a text that can be rejected under its id: the name `id`, or an
/// escape that spells it.
const ID: [&[u8]; 2] = [b"\"id\"", b"\\u00"];

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/subscriptionId")]
    subscription: Option<&'a RawValue>,
}

impl Wire {
    pub(super) fn delivered(&mut self, text: &[u8]) {
        for message in messages(text) {
            let Some(message) = message else {
                // Noise has no id for a response.
                if ID.iter().any(|name| text.windows(name.len()).any(|window| window == *name)) {
                    self.unreadable += 1;
                }
                continue;
            };
            // Any message that is not a response is rejected under its id, whatever its defect.
            let is_response =
                message.method.is_none() && (message.result.is_some() || message.error.is_some());
            if let Some(id) = message.id.filter(|_| !is_response) {
                let id = name(id);
                self.cancelled.remove(&id);
                *self.asked.entry(id).or_default() += 1;
            }
        }
    }

    pub(super) fn cancelled(&mut self, text: &[u8]) {
        for message in messages(text).flatten() {
            let Some(id) = message.params().request_id else { continue };
            let id = name(id);
            self.acknowledged.remove(&id);
            let left = self.asked.entry(id.clone()).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.cancelled.insert(id);
            }
        }
    }

    pub(super) fn sent(&mut self, text: &[u8]) -> Result<(), Broken> {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        if line.contains(&b'\n') {
            return Err(broken(Promise::Order, "more than one line", text));
        }
        for message in messages(text) {
            let Some(message) = message else {
                return Err(broken(Promise::Order, "not one whole message", text));
            };
            if message.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
                return Err(broken(Promise::Order, "not JSON-RPC 2.0", text));
            }
            let response = (message.result.is_some(), message.error.is_some());
            match (message.id, message.method, response) {
                (Some(id), None, (true, false) | (false, true)) => self.answered(name(id), text)?,
                (Some(id), Some(_), (false, false)) => self.asks(name(id), text)?,
                (None, Some(_), (false, false)) => {
                    self.check_notification(&message.params(), message.method, text)?
                }
                // An error without an id, which some configurations send.
                (None, None, (false, true)) => {}
                _ => {
                    let kinds = "not a request, a notification or a response";
                    return Err(broken(Promise::Order, kinds, text));
                }
            }
        }
        Ok(())
    }

    /// Handles a sent response.
    fn answered(&mut self, id: String, text: &[u8]) -> Result<(), Broken> {
        self.acknowledged.remove(&id);
        if self.cancelled.contains(&id) && !self.serves_duplicates && self.unreadable == 0 {
            return Err(broken(Promise::OneAnswer, "answers what was cancelled", text));
        }
        match self.asked.get_mut(&id) {
            Some(left) if 0 < *left => *left -= 1,
            _ if 0 < self.unreadable => self.unreadable -= 1,
            _ => return Err(broken(Promise::OneAnswer, "answers once too often", text)),
        }
        Ok(())
    }

    /// Handles a sent request.
    fn asks(&mut self, id: String, text: &[u8]) -> Result<(), Broken> {
        if self.requests.insert(id) {
            return Ok(());
        }
        Err(broken(Promise::OneOutcome, "an id for the second time", text))
    }

    /// Handles a sent notification.
    fn check_notification(
        &mut self,
        params: &Params<'_>,
        method: Option<&RawValue>,
        text: &[u8],
    ) -> Result<(), Broken> {
        let method = method.map_or("", RawValue::get);
        if method == "\"notifications/cancelled\""
            && let Some(id) = params.request_id
            && !self.requests.contains(&name(id))
            && !self.acknowledged.contains(&name(id))
        {
            return Err(broken(Promise::NothingWaits, "cancels what was never sent", text));
        }
        let tag = params.meta.as_ref().and_then(|meta| meta.subscription);
        if let Some(tag) = tag.map(name).filter(|_| !self.serves_duplicates) {
            if self.cancelled.contains(&tag) {
                return Err(broken(Promise::OneAnswer, "tells a subscription that is over", text));
            }
            let is_first = method == "\"notifications/subscriptions/acknowledged\"";
            if self.acknowledged.insert(tag) != is_first {
                return Err(broken(Promise::Order, "tells before or after it may", text));
            }
        }
        Ok(())
    }
}

impl<'a> Message<'a> {
    fn params(&self) -> Params<'a> {
        let params = self.params.and_then(|params| serde_json::from_str(params.get()).ok());
        params.unwrap_or_default()
    }
}

/// Whether the text cancels a request.
pub(super) fn is_cancellation(text: &[u8]) -> bool {
    let takes_back = |message: Message<'_>| {
        message.method.is_some_and(|method| method.get() == "\"notifications/cancelled\"")
    };
    messages(text).flatten().any(takes_back)
}

/// Returns the messages of a text, which may be a batch; `None` for an unreadable one.
fn messages(text: &[u8]) -> impl Iterator<Item = Option<Message<'_>>> {
    let batch = serde_json::from_slice::<Vec<&RawValue>>(text).ok();
    let one = if batch.is_none() { Some(serde_json::from_slice(text).ok()) } else { None };
    let elements = batch.unwrap_or_default().into_iter();
    elements.map(|element| serde_json::from_str(element.get()).ok()).chain(one)
}

/// Returns the canonical form of an id: differently spelled strings with the same value are equal.
fn name(id: &RawValue) -> String {
    match serde_json::from_str::<String>(id.get()) {
        Ok(decoded) => format!("\"{decoded}\""),
        Err(_) => id.get().to_string(),
    }
}

fn broken(promise: Promise, what: &str, text: &[u8]) -> Broken {
    Broken::new(promise, format!("{what}: {}", String::from_utf8_lossy(text)))
}
