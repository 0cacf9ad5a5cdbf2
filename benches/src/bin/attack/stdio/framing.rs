//! Lines that are no messages, or invalid ones.

use bytes::Bytes;

use crate::Failure;
use crate::messages;
use crate::noise::noise;
use crate::stdio::After;
use crate::stdio::pipe::Pipe;

/// Sends very long lines.
pub(super) async fn endless_line(pipe: &mut Pipe) -> Result<After, Failure> {
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    loop {
        for _ in 0..300 {
            pipe.write(chunk.clone()).await?;
        }
        pipe.send("").await?;
        pipe.ping().await?;
        if !pipe.goes_on() {
            return Ok(After::ALIVE);
        }
    }
}

/// Sends random bytes.
pub(super) async fn noise_instead(pipe: &mut Pipe) -> Result<After, Failure> {
    repeat(pipe, noise(8 << 20).into()).await
}

/// Sends messages that consist of nested arrays.
pub(super) async fn deep_nesting(pipe: &mut Pipe) -> Result<After, Failure> {
    repeat(pipe, messages::nesting(8_000_000)).await
}

/// Sends ids of the largest size that fits on a line.
pub(super) async fn huge_ids(pipe: &mut Pipe) -> Result<After, Failure> {
    repeat(pipe, messages::ping(&messages::text(15 << 20)).into()).await
}

/// Sends very many pings without waiting in between.
pub(super) async fn pipelining(pipe: &mut Pipe) -> Result<After, Failure> {
    let pings = format!("{}\n", messages::ping("pipelined")).repeat(20_000);
    repeat(pipe, pings.into()).await
}

/// Sends the same message repeatedly, with a ping of a good client after each.
async fn repeat(pipe: &mut Pipe, message: Bytes) -> Result<After, Failure> {
    loop {
        pipe.send(message.clone()).await?;
        pipe.ping().await?;
        if !pipe.goes_on() {
            return Ok(After::ALIVE);
        }
    }
}
