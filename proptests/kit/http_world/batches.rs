//! Batches of the clients, which sessions of 2025-03-26 have.

use mcp_sansio::CallOptions;
use mcp_sansio::error::BatchError;
use mcp_sansio::json::Raw;
use mcp_sansio::model::CallToolParams;
use serde_json::json;

use super::client_side::{Call, SimulatedClient};
use super::hosted_tasks::Work;
use super::{HttpWorld, secrets};

impl HttpWorld {
    /// A client sends a batch of up to three tool calls, perhaps with a notification.
    pub(super) fn send_batch(&mut self, client: usize, kind: u64) {
        let (now, first) = (self.now, self.works);
        let SimulatedClient { machine, transport, .. } = &mut self.clients[client];
        let secret = secrets::of_call(client, machine.connection_number());
        let mut made = Vec::new();
        let sent: Result<(), BatchError> = machine.batch(now, transport, |batch| {
            for number in first..first + kind % 4 {
                let work = Work { number, secret: secret.clone() };
                let arguments = json!({ "work": number, "secret": secret });
                let arguments = Raw::from_serialize(&arguments).unwrap();
                let params = CallToolParams::with("tool", arguments);
                let call = batch.call_method("tools/call", &params, CallOptions::new())?;
                made.push((call, Call::of(work, now)));
            }
            if (kind / 4).is_multiple_of(2) {
                batch.notify_method("notifications/x", &json!({ "secret": secret }))?;
            }
            Ok(())
        });
        // Other revisions have no batches.
        if sent.is_ok() {
            self.works += kind % 4;
            self.clients[client].add_calls(made);
        }
    }
}
