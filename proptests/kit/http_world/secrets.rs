//! The secrets of the clients. Every payload carries one, and no client receives a secret of another.

use mcp_sansio::{ConnectionNumber, Principal};

use super::HttpWorld;

/// The beginning of every secret. A dot ends it.
const BEGINNING: &str = "secret-";

/// The bytes that a client has received on an exchange, as far as they may contain the beginning of a secret.
#[derive(Default)]
pub(super) struct Received(Vec<u8>);

/// Returns the secret of a call of a client, which only this connection may receive.
pub(super) fn of_call(client: usize, connection: ConnectionNumber) -> String {
    format!("{BEGINNING}call-{client}-{}.", connection.get())
}

/// Returns the secret of the task that a call with this secret becomes. All sessions of its principal may receive it.
pub(super) fn of_task(secret: &str) -> String {
    secret.replacen("call", "task", 1)
}

/// Returns the client whose secret a text contains.
pub(super) fn client_in(text: &str) -> Option<usize> {
    let (_, secret) = text.split_once(BEGINNING)?;
    secret.split('-').nth(1)?.parse().ok()
}

impl Received {
    /// Adds bytes, and returns the complete secrets in them.
    fn add(&mut self, bytes: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(bytes);
        let text = String::from_utf8_lossy(&self.0);
        let (mut secrets, mut rest) = (Vec::new(), &*text);
        while let Some(at) = rest.find(BEGINNING) {
            rest = &rest[at..];
            let Some(length) = rest.find('.') else { break };
            secrets.push(rest[..length].to_owned());
            rest = &rest[length..];
        }
        // The rest contains at most the beginning of a secret.
        let kept = if rest.starts_with(BEGINNING) { rest.len() } else { BEGINNING.len() };
        let kept = rest.as_bytes()[rest.len().saturating_sub(kept)..].to_vec();
        self.0 = kept;
        secrets
    }
}

impl HttpWorld {
    /// Checks that a client may receive these bytes.
    pub(super) fn check_secrets(
        &self,
        client: usize,
        received: &mut Received,
        bytes: &[u8],
    ) -> Result<(), String> {
        let secrets = received.add(bytes);
        match secrets.iter().find(|secret| !self.may_receive(client, secret)) {
            Some(secret) => Err(format!("secret: client {client} receives {secret}")),
            None => Ok(()),
        }
    }

    /// Checks that a text of a client at the server contains only its own secrets.
    pub(super) fn check_sent(&self, client: usize, text: &str) -> Result<(), String> {
        self.check_secrets(client, &mut Received::default(), text.as_bytes())
    }

    fn may_receive(&self, client: usize, secret: &str) -> bool {
        let mut parts = secret.split('-').skip(1);
        let is_task = parts.next() == Some("task");
        let owner = parts.next().and_then(|part| part.parse::<usize>().ok());
        let connection = parts.next().and_then(|part| part.parse::<u32>().ok());
        let (Some(owner), Some(connection)) = (owner, connection) else { return false };
        let (own, of) = (&self.clients[client], &self.clients[owner]);
        if own.principal != Principal::default() {
            return owner == client || (is_task && own.principal == of.principal);
        }
        // Without a principal a session owns its tasks, and the next session does not reach them.
        owner == client && connection == own.machine.connection_number().get()
    }

    /// Checks that the id of a session reaches only the client that has opened it.
    pub(super) fn check_session(&mut self, client: usize, id: &str) -> Result<(), String> {
        match self.session_owners.insert(id.to_owned(), client) {
            Some(owner) if owner != client => {
                Err(format!("secret: client {client} receives the session of {owner}"))
            }
            _ => Ok(()),
        }
    }
}
