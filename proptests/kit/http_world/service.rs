//! The service at the end of a run: whatever has happened before, a client that is connected gets a result.

use std::time::Duration;

use mcp_sansio::model::method;
use mcp_sansio::{CallOptions, Phase};

use super::client_side::{Call, SimulatedClient};
use super::{HttpWorld, Step};

/// The attempts of a client: the session may have expired, or two clients may displace the sessions of each other.
const ATTEMPTS: usize = 4;

/// The time between two attempts. A client whose new token was refused sends nothing for a minute.
const PAUSE: Duration = Duration::from_secs(61);

impl HttpWorld {
    /// Checks that each connected client is served.
    pub(super) fn check_service(&mut self) -> Result<(), String> {
        // A login that fails leaves a client without a token.
        if self.features.failing_logins {
            return Ok(());
        }
        self.settle()?;
        for client in 0..self.clients.len() {
            let mut is_served = false;
            for _ in 0..ATTEMPTS {
                if self.lists_tools(client)? {
                    is_served = true;
                    break;
                }
                self.now = self.now + PAUSE;
                self.elapse()?;
                self.settle()?;
            }
            if !is_served {
                return Err(format!("service: client {client} gets no result"));
            }
        }
        Ok(())
    }

    /// Lists the tools. Returns whether there is a result, or the client is not connected.
    fn lists_tools(&mut self, client: usize) -> Result<bool, String> {
        let now = self.now;
        let SimulatedClient { machine, transport, .. } = &mut self.clients[client];
        if machine.phase() != Phase::Ready {
            return Ok(true);
        }
        let (params, options) = (Default::default(), CallOptions::new());
        let made = machine.call::<method::ListTools>(&params, options, now, transport);
        let call = made.map_err(|error| format!("service: {error}"))?;
        self.clients[client].add_calls([(call, Call::default())]);
        self.settle()?;
        let is_list = |one: &super::OpenRequest| &*one.request.method.to_str() == "tools/list";
        while let Some(at) = self.open.iter().position(is_list) {
            let before = self.open.len();
            self.by_server(Step::Answer(at as u64))?;
            if self.open.len() == before {
                return Err("service: a list cannot be answered".into());
            }
        }
        self.settle()?;
        Ok(self.clients[client].has_result(call))
    }
}
