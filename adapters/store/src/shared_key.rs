//! [`shared_key`]: a secret that all nodes have in common.

use mcp_sansio_http::random_bytes;

use crate::store::{Change, Store, StoreError, Write, Written};

/// Returns the key of this name, which the first node that asks for it creates: 32 random bytes that all nodes share, and
/// that never change. For [`request_state`](mcp_sansio::request_state), so that a client may go on with its input at
/// another node.
///
/// The name has letters, digits and `-`.
///
/// # Errors
///
/// [`StoreError`], also if the value in the store is no key or the system has no random bytes.
pub async fn shared_key(store: &dyn Store, name: &str) -> Result<[u8; 32], StoreError> {
    let key = format!("key/{name}");
    loop {
        if let Some(stored) = store.read(&key).await? {
            return stored.value.try_into().map_err(|_| StoreError::new("the value is no key"));
        }
        let value = random_bytes::<32>().map_err(StoreError::new)?;
        let change = Change::Put { value: value.to_vec(), lifetime: None };
        let write = Write { key: key.clone(), expected: Some(0), change };
        if store.write(&[write]).await?.first() == Some(&Written::Done) {
            return Ok(value);
        }
        // Another node was faster: the next read finds its key.
    }
}
