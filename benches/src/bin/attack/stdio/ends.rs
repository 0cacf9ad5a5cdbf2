//! Ends of the input.

use serde_json::json;

use crate::Failure;
use crate::messages;
use crate::stdio::After;
use crate::stdio::pipe::Pipe;

/// Ends the input during calls and in the middle of a line. The server has to end by itself.
pub(super) async fn half_closed(pipe: &mut Pipe) -> Result<After, Failure> {
    pipe.initialize("2025-11-25").await?;
    for number in 0..500 {
        let call = messages::call(&format!("half-{number}"), "slow", &json!({"ms": 600_000}));
        pipe.send(call).await?;
    }
    pipe.ping().await?;
    pipe.write(r#"{"jsonrpc":"2.0","id":"#.into()).await?;
    pipe.close();
    Ok(After::Ends)
}
