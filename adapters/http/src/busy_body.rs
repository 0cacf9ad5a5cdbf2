//! `BusyBody`: a body that notes how far its client has read it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::idle::{Busy, Unwritten};

pin_project! {
    /// A body that marks its connection as busy until its last byte is written.
    ///
    /// hyper drops a body when it has all bytes of it. Over HTTP/2 the bytes then wait for the client to open its window,
    /// which may take long.
    pub(crate) struct BusyBody<B> {
        #[pin]
        body: B,
        // Until the body has ended.
        busy: Option<Busy>,
    }
}

impl<B> BusyBody<B> {
    pub(crate) const fn new(body: B, busy: Option<Busy>) -> Self {
        Self { body, busy }
    }
}

impl<B: Body<Data = Bytes>> Body for BusyBody<B> {
    type Data = Chunk;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, B::Error>>> {
        let mut this = self.project();
        let frame = match ready!(this.body.as_mut().poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => {
                *this.busy = None;
                return Poll::Ready(None);
            }
        };
        let busy = this.busy.as_ref();
        let frame = frame.map_data(|bytes| Chunk { bytes, unwritten: busy.map(Busy::chunk) });
        // hyper may keep an ended body until it can send a byte of the last chunk.
        if this.body.is_end_stream() {
            *this.busy = None;
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A chunk of a body. hyper advances it by the bytes that it has written.
pub(crate) struct Chunk {
    bytes: Bytes,
    /// Until all bytes are written.
    unwritten: Option<Unwritten>,
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        if let Some(unwritten) = &self.unwritten {
            unwritten.note_written();
        }
        if self.bytes.is_empty() {
            self.unwritten = None;
        }
    }
}
