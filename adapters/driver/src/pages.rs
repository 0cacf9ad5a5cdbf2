//! [`Pages`] and [`PendingPages`]: lists that are requested page by page.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_sansio::pagination::PageStop;

use crate::block::block_on;
use crate::failure::CallFailure;
use crate::machine::Machine;
use crate::pending::{PendingCall, Reply};

/// The pages of a list.
#[non_exhaustive]
pub struct Pages<P> {
    /// The results, one per page, at least one.
    pub pages: Vec<Reply<P>>,
    /// Whether the list has changed since its first page was requested.
    pub stale: bool,
    /// Why the list is incomplete: it has more pages, which were not requested, for example because of
    /// [`Paging::limits`](mcp_sansio::call::Paging).
    pub cut: Option<PageStop>,
}

impl<P> fmt::Debug for Pages<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Pages");
        debug.field("pages", &self.pages).field("stale", &self.stale).field("cut", &self.cut);
        debug.finish()
    }
}

/// A list request in progress: `await` it, or block with [`wait`](Self::wait). Dropping it cancels the request for
/// the current page.
#[must_use = "a list that is dropped requests no further page"]
pub struct PendingPages<M: Machine, P> {
    call: PendingCall<M, P>,
}

impl<M: Machine, P> PendingPages<M, P> {
    pub(crate) const fn new(call: PendingCall<M, P>) -> Self {
        Self { call }
    }

    /// Blocks the current thread until the last page has arrived.
    ///
    /// # Errors
    ///
    /// [`CallFailure`] if there is no result.
    pub fn wait(self) -> Result<Pages<P>, CallFailure> {
        block_on(self)
    }
}

impl<M: Machine, P> Future for PendingPages<M, P> {
    type Output = Result<Pages<P>, CallFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.call.poll_end(context).map_ok(|ended| {
            let pages = ended.pages.into_iter().chain([ended.result]).map(Reply::new).collect();
            Pages { pages, stale: ended.stale, cut: ended.cut }
        })
    }
}

impl<M: Machine, P> fmt::Debug for PendingPages<M, P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PendingPages").field("call", &self.call).finish()
    }
}
