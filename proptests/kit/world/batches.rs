//! Batches of the applications, which sessions of 2025-03-26 have.

use mcp_sansio::error::BatchError;
use mcp_sansio::testing::{Broken, Promise};
use mcp_sansio::{CallId, CallOptions, Revision};
use serde_json::json;

use super::{SECRET, World, unchanged};

/// The content of a batch.
#[derive(Clone, Copy, Debug)]
struct Content {
    calls: u8,
    with_notification: bool,
    /// Whether the application gives up before the batch is complete. Nothing is sent then.
    is_given_up: bool,
}

impl Content {
    const fn new(what: u8) -> Self {
        Self { calls: what % 4, with_notification: what & 4 != 0, is_given_up: what & 24 == 24 }
    }
}

impl World {
    /// The client sends a batch.
    pub(super) fn batch_by_client(&mut self, what: u8) -> Result<(), Broken> {
        let content = Content::new(what);
        let Self { client, client_out: out, ours, now, .. } = self;
        let before = (client.in_flight().counts(), out.len());
        let first = self.made + 1;
        let (mut serial, mut calls) = (self.made, Vec::new());
        let sent: Result<(), BatchError> = client.batch(*now, out, |batch| {
            for _ in 0..content.calls {
                serial += 1;
                let params = json!({"name": "t", "arguments": {"serial": serial, "text": SECRET}});
                let options = CallOptions::new().progress();
                calls.push(batch.call_method("tools/call", &params, options)?);
            }
            if content.with_notification {
                batch.notify_method("notifications/x", &json!({"data": SECRET}))?;
            }
            if content.is_given_up { Err(BatchError::NotReady) } else { Ok(()) }
        });
        self.made = serial;
        if let Err(error) = sent {
            return unchanged(before, (client, out), error);
        }
        check_revision(client.revision())?;
        for (call, serial) in calls.into_iter().zip(first..) {
            self.serials.insert(call, serial);
            self.in_batches.insert(serial);
            self.progress.made(call, true);
            ours.time.made(call, &self.setup.client.connection.timeouts, *now);
            ours.made::<BatchError>(Ok(call))?;
        }
        Ok(())
    }

    /// The server sends a batch.
    pub(super) fn batch_by_server(&mut self, what: u8) -> Result<(), Broken> {
        let content = Content::new(what);
        let Self { server, server_out: out, theirs, now, .. } = self;
        let before = (server.in_flight().counts(), out.len());
        let mut calls: Vec<CallId> = Vec::new();
        let sent: Result<(), BatchError> = server.batch(*now, out, |batch| {
            for number in 0..content.calls {
                let method = if number == 0 { "roots/list" } else { "ping" };
                calls.push(batch.call_method(method, &(), CallOptions::new())?);
            }
            if content.with_notification {
                batch.notify_method("notifications/x", &json!({"data": SECRET}))?;
            }
            if content.is_given_up { Err(BatchError::NotReady) } else { Ok(()) }
        });
        if let Err(error) = sent {
            return unchanged(before, (server, out), error);
        }
        check_revision(server.revision())?;
        for call in calls {
            theirs.time.made(call, &self.setup.server.connection.timeouts, *now);
            theirs.made::<BatchError>(Ok(call))?;
        }
        Ok(())
    }
}

/// Checks that a batch is sent in the only revision that has batches (L-BATCH-13, L-BATCH-14).
fn check_revision(revision: Option<Revision>) -> Result<(), Broken> {
    if revision == Some(Revision::V2025_03_26) {
        return Ok(());
    }
    Err(Broken::new(Promise::Order, format!("a batch is sent in {revision:?}")))
}
