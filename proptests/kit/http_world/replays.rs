//! Replayed and forged messages, which carry the identity of a client. All checks stay on after them.

use mcp_sansio::http::{HttpRequest, name};
use mcp_sansio::testing::Choices;
use serde_json::Value;

use super::HttpWorld;
use super::carrying::Carried;
use crate::world::hostile;

/// The number of requests of a client that are kept to be replayed.
const KEPT: usize = 6;

impl HttpWorld {
    /// Keeps a request with its token, to be replayed.
    pub(super) fn keep_sent(&mut self, client: usize, request: &HttpRequest) {
        let sent = &mut self.clients[client].sent;
        if request.method == "POST" && self.features.replays {
            if sent.len() == KEPT {
                sent.remove(0);
            }
            sent.push(request.clone());
        }
    }

    /// A request of a client arrives once more, as if a proxy had repeated it. The client never sees the response.
    pub(super) fn replay(&mut self, which: u64) {
        let (client, which) = self.client(which);
        let sent = &self.clients[client].sent;
        let Some(index) = which.checked_rem(sent.len() as u64) else { return };
        let request = sent[index as usize].clone();
        self.send_copy(client, request);
    }

    /// A forged message arrives in the session of a client, or in the modern era.
    pub(super) fn forge(&mut self, which: u64) {
        let (client, which) = self.client(which);
        let Some(mut request) = self.clients[client].sent.last().cloned() else { return };
        request.body = hostile::to_server(&mut Choices::seeded(which)).into_bytes();
        // The fields repeat the body, so that some of the messages are served.
        let is = |one: &str, other| one.eq_ignore_ascii_case(other);
        let is_modern = request.headers.iter().any(|(one, _)| is(one, name::METHOD));
        request.headers.retain(|(one, _)| !is(one, name::METHOD) && !is(one, name::NAME));
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if let Some(method) = body["method"].as_str().filter(|_| is_modern) {
            request.headers.push((name::METHOD.into(), method.into()));
            let about = [&body["params"]["name"], &body["params"]["taskId"]];
            let about = about.into_iter().find_map(Value::as_str);
            request.headers.extend(about.map(|about| (name::NAME.into(), about.into())));
        }
        self.send_copy(client, request);
    }

    fn send_copy(&mut self, client: usize, request: HttpRequest) {
        self.note(format_args!("> copy of {client}: {}", String::from_utf8_lossy(&request.body)));
        // A copy has the latest token of the client.
        let token = self.clients[client].token.clone();
        let mut copy = Carried::new(client, None, request);
        copy.token = token;
        self.carried.push(copy);
    }

    /// Drops the copies, whose responses nothing reads.
    pub(super) fn drop_copies(&mut self) -> Result<(), String> {
        while let Some(at) = self.carried.iter().position(Carried::is_copy) {
            self.drop_carried(at)?;
        }
        Ok(())
    }
}
