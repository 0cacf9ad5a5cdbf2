//! `PageGuard`: the limits that stop a client from following cursors without end.

use crate::json::Str;
use crate::ordered::OrderedSet;

/// The limits on the pages that a client reads of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PageLimits {
    /// The maximum number of pages. Default 1000. Each page of a list in progress takes 24 bytes of memory.
    pub pages: u32,
    /// The maximum number of items on all pages together. Default 1,000,000.
    pub items: u64,
    /// The maximum bytes of all results together, as received. Default 64 MiB.
    pub bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { pages: 1000, items: 1_000_000, bytes: 64 << 20 }
    }
}

/// Checks each page of a list, and decides whether the client reads the next one.
///
/// For clients that page by hand; [`Client::list`](crate::Connection::list) contains a guard. Cursors are opaque: the
/// guard only compares them.
///
/// ```
/// use mcp_sansio::json::Str;
/// use mcp_sansio::pagination::{NextPage, PageGuard, PageLimits, PageStop};
///
/// let mut guard = PageGuard::new(PageLimits::default());
/// let page = |guard: &mut PageGuard, cursor: &str| guard.page(Some(&Str::from(cursor)), 10, 2_000);
/// assert_eq!(page(&mut guard, "a"), NextPage::Follows);
/// assert_eq!(page(&mut guard, ""), NextPage::Follows, "an empty cursor is one");
/// assert_eq!(page(&mut guard, "a"), NextPage::Stop(PageStop::RepeatedCursor));
/// assert_eq!(guard.page(None, 3, 600), NextPage::End);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageGuard {
    limits: PageLimits,
    pages: u32,
    items: u64,
    bytes: usize,
    /// The hashes of the cursors so far. A server can cause a collision, which ends only its own list.
    cursors: OrderedSet<u64>,
}

/// The decision after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NextPage {
    /// The list continues at the cursor.
    Follows,
    /// This was the last page.
    End,
    /// The list continues, but the client must not read on.
    Stop(PageStop),
}

/// The reason why a list is not read to its end. The server is at fault, unless the list is legitimately that large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PageStop {
    /// A cursor repeats an earlier one: the list would continue without end.
    #[error("the server repeats a cursor")]
    RepeatedCursor,
    /// The list has more pages than [`PageLimits::pages`].
    #[error("the list has too many pages")]
    TooManyPages,
    /// The list has more items than [`PageLimits::items`].
    #[error("the list has too many items")]
    TooManyItems,
    /// The list has more bytes than [`PageLimits::bytes`].
    #[error("the list has too many bytes")]
    TooManyBytes,
    /// The outbox has no room for the request for the next page, or the request is not allowed: the client negotiates
    /// anew because a known revision was wrong, or has negotiated anew and the session does not allow the method.
    #[error("the next page could not be asked for")]
    NotSent,
}

impl PageGuard {
    /// Returns a guard at the start of a list.
    pub const fn new(limits: PageLimits) -> Self {
        Self { limits, pages: 0, items: 0, bytes: 0, cursors: OrderedSet::new() }
    }

    /// Checks a page with so many items, this `nextCursor`, and a result of so many bytes.
    pub fn page(&mut self, next_cursor: Option<&Str<'_>>, items: usize, bytes: usize) -> NextPage {
        self.pages = self.pages.saturating_add(1);
        self.items = self.items.saturating_add(items as u64);
        self.bytes = self.bytes.saturating_add(bytes);
        let Some(cursor) = next_cursor else { return NextPage::End };
        let hash = hash(cursor);
        if self.cursors.contains_key(&hash) {
            return NextPage::Stop(PageStop::RepeatedCursor);
        }
        if self.limits.pages <= self.pages {
            return NextPage::Stop(PageStop::TooManyPages);
        }
        if self.limits.items <= self.items {
            return NextPage::Stop(PageStop::TooManyItems);
        }
        if self.limits.bytes <= self.bytes {
            return NextPage::Stop(PageStop::TooManyBytes);
        }
        self.cursors.insert(hash, ());
        NextPage::Follows
    }

    /// Starts again at the first page.
    pub fn restart(&mut self) {
        self.pages = 0;
        self.items = 0;
        self.bytes = 0;
        self.cursors.clear();
    }

    /// The number of pages so far.
    pub const fn pages(&self) -> u32 {
        self.pages
    }
}

/// Returns the FNV-1a hash of the cursor's code points.
fn hash(cursor: &Str<'_>) -> u64 {
    cursor.code_points().fold(0xcbf2_9ce4_8422_2325, |hash, point| {
        (hash ^ u64::from(point)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
