//! Reads the body of a request, within a size and a time.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;
use mcp_sansio::ErrorCode;
use mcp_sansio::http::Reply;
use tokio::time::Instant;

use crate::budget::{BYTES_PER_BODY_BYTE, Share};
use crate::endpoint::Inner;

/// The maximum pause within a body.
const PAUSE: Duration = Duration::from_secs(30);

impl Inner {
    /// Reads a body. Fails if the body is too long or arrives too slowly.
    pub(crate) async fn read<B>(&self, body: B, share: &mut Share) -> Result<Bytes, Reply>
    where
        B: Body<Data: Buf, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    {
        let limit = self.options.http.body_bytes;
        if (limit as u64) < body.size_hint().lower() {
            return Err(self.validator.too_large());
        }
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(limit);
        share.expect(BYTES_PER_BODY_BYTE * announced)?;
        let mut body = pin!(body);
        let mut read = BytesMut::new();
        // The deadline begins at the first wait; usually the body has already arrived.
        let mut deadline = None;
        loop {
            let frame = match next_now(body.as_mut()).await {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    let now = Instant::now();
                    let deadline = *deadline.get_or_insert(now + self.options.body_within);
                    let until = deadline.min(now + PAUSE);
                    let Ok(frame) = tokio::time::timeout_at(until, body.frame()).await else {
                        let text = "the body does not go on";
                        return Err(Reply::refusal(408, ErrorCode::PARSE_ERROR, text));
                    };
                    frame
                }
            };
            let Some(frame) = frame else { return Ok(read.freeze()) };
            let Ok(frame) = frame else {
                let text = "the body ended too early";
                return Err(Reply::refusal(400, ErrorCode::PARSE_ERROR, text));
            };
            let Ok(mut data) = frame.into_data() else { continue };
            if limit < read.len() + data.remaining() {
                return Err(self.validator.too_large());
            }
            share.grow(BYTES_PER_BODY_BYTE * data.remaining())?;
            if read.is_empty() && body.is_end_stream() {
                return Ok(data.copy_to_bytes(data.remaining()));
            }
            read.put(data);
        }
    }
}

/// Returns the next frame of a body without waiting.
async fn next_now<B: Body>(
    mut body: std::pin::Pin<&mut B>,
) -> Poll<Option<Result<hyper::body::Frame<B::Data>, B::Error>>> {
    poll_fn(|context| Poll::Ready(body.as_mut().poll_frame(context))).await
}
