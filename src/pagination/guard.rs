//! `PageGuard`: the limits that stop a client from following cursors for ever.

use crate::json::Str;
use crate::ordered::OrderedSet;

/// How far a client follows the cursors of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PageLimits {
    /// Most pages. Default 1000. For each page of a list that is being read 24 bytes are kept.
    pub pages: u32,
    /// Most items on all pages together. Default 1,000,000.
    pub items: u64,
    /// Most bytes of all results together, as they came. Default 64 MiB.
    pub bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { pages: 1000, items: 1_000_000, bytes: 64 << 20 }
    }
}

/// Looks at each page of a list and says whether to go on.
///
/// For clients that page by hand; [`Client::list`](crate::Connection::list) has one inside. Cursors are
/// opaque: they are only sent back and compared.
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
    /// Hashes of the cursors so far. Two that collide end the list of a server that made them do so.
    cursors: OrderedSet<u64>,
}

/// What comes after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NextPage {
    /// Another page, at the cursor.
    Follows,
    /// Nothing: this was the last one.
    End,
    /// There would be more, but it is not followed.
    Stop(PageStop),
}

/// Why a list is not followed to its end. The server is at fault, unless it has that much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PageStop {
    /// A page has a cursor that an earlier one had: it would go on for ever.
    #[error("the server repeats a cursor")]
    RepeatedCursor,
    /// There are more pages than [`PageLimits::pages`].
    #[error("the list has too many pages")]
    TooManyPages,
    /// There are more items than [`PageLimits::items`].
    #[error("the list has too many items")]
    TooManyItems,
    /// There are more bytes than [`PageLimits::bytes`].
    #[error("the list has too many bytes")]
    TooManyBytes,
    /// The outbox has no room for the request for the next page.
    #[error("the next page could not be asked for")]
    NotSent,
}

impl PageGuard {
    /// A guard at the start of a list.
    pub const fn new(limits: PageLimits) -> Self {
        Self { limits, pages: 0, items: 0, bytes: 0, cursors: OrderedSet::new() }
    }

    /// A page has come, with so many items and this `nextCursor`, and its result has so many bytes.
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

    /// Begins anew, at the first page.
    pub fn restart(&mut self) {
        self.pages = 0;
        self.items = 0;
        self.bytes = 0;
        self.cursors.clear();
    }

    /// How many pages have come.
    pub const fn pages(&self) -> u32 {
        self.pages
    }
}

/// FNV-1a over what the cursor stands for.
fn hash(cursor: &Str<'_>) -> u64 {
    cursor.code_points().fold(0xcbf2_9ce4_8422_2325, |hash, point| {
        (hash ^ u64::from(point)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
