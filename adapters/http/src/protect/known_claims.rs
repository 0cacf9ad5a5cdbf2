//! `KnownClaims`: the claims of recent requests, for handlers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_sansio::Principal;
use mcp_sansio::auth::resource_server::Claims;

/// The newest claims of each of the last [`MOST`] principals.
#[derive(Default)]
pub(super) struct KnownClaims {
    by_principal: BTreeMap<Principal, (u64, Arc<Claims>)>,
    /// The principals in the order of their latest request, oldest first.
    by_age: BTreeSet<(u64, Principal)>,
    seen: u64,
}

/// The maximum number of known principals.
const MOST: usize = 10_000;

impl KnownClaims {
    pub(super) fn see(&mut self, principal: Principal, claims: &Arc<Claims>) {
        self.seen += 1;
        let entry = (self.seen, Arc::clone(claims));
        if let Some((before, _)) = self.by_principal.insert(principal, entry) {
            self.by_age.remove(&(before, principal));
        }
        self.by_age.insert((self.seen, principal));
        if self.by_principal.len() > MOST
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_principal.remove(&oldest);
        }
    }

    pub(super) fn get(&self, principal: Principal) -> Option<Arc<Claims>> {
        self.by_principal.get(&principal).map(|(_, claims)| Arc::clone(claims))
    }
}
