//! `Pager`: pages of a slice, with cursors that the server can verify.

use alloc::string::String;
use core::fmt::Write;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::json::Str;
use crate::model::method::PagedMethod;
use crate::schema::{EncodeError, ItemList, Payload, PayloadWriter};

/// Divides a list of a server into pages.
///
/// A cursor holds the start of the next page, and a checksum over that start, the version of the list and the key of
/// the pager. So the pager needs no state to detect a cursor that is invented, of another list, or of an old version.
/// A cursor is neither secret nor signed: a determined client can forge one, and gets a page that it could have read
/// anyway.
///
/// ```
/// use mcp_sansio::json::Str;
/// use mcp_sansio::pagination::Pager;
///
/// let tools = ["a", "b", "c"];
/// let pager = Pager::new(2).key(0x5eed).version(1);
/// let first = pager.page(&tools, None)?;
/// assert_eq!(first.items, ["a", "b"]);
/// let cursor = Str::from(&*first.next_cursor.expect("there is more"));
/// let second = pager.page(&tools, Some(&cursor))?;
/// assert_eq!((second.items, second.next_cursor), (&["c"][..], None));
/// assert!(pager.version(2).page(&tools, Some(&cursor)).is_err(), "the list has changed");
/// # Ok::<(), mcp_sansio::pagination::InvalidCursor>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Pager {
    page_items: usize,
    key: u64,
    version: u64,
}

/// One page of a slice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Slice<'s, T> {
    /// The items of the page.
    pub items: &'s [T],
    /// The start of the next page, if there is one: the `nextCursor` of the result.
    pub next_cursor: Option<String>,
}

/// The result of a request for a page. See [`Slice::result`].
#[doc(alias = "PaginatedResult")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageResult<'p, T> {
    items: (&'static str, &'p [T]),
    next_cursor: Option<&'p str>,
}

impl<T> Slice<'_, T> {
    /// Returns the result of a request for this page, without copying the items.
    ///
    /// ```
    /// use mcp_sansio::json::Raw;
    /// use mcp_sansio::model::method::ListTools;
    /// use mcp_sansio::pagination::Pager;
    ///
    /// let page = Pager::new(10).page(&["a tool"], None)?;
    /// let result = Raw::from_serialize(&page.result::<ListTools>())?;
    /// assert_eq!(result.as_json(), r#"{"tools":["a tool"]}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn result<M: PagedMethod>(&self) -> PageResult<'_, T> {
        PageResult { items: (M::ITEMS, self.items), next_cursor: self.next_cursor.as_deref() }
    }
}

impl<T: Payload> Payload for PageResult<'_, T> {
    fn write(&self, payload: PayloadWriter<'_, '_, '_>) -> Result<(), EncodeError> {
        let (name, items) = self.items;
        payload.items(&ItemList {
            name,
            items: &|write| items.iter().try_for_each(|item| write(item)),
            next_cursor: self.next_cursor,
        })
    }
}

impl<T: Serialize> Serialize for PageResult<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, items) = self.items;
        let mut result = serializer.serialize_struct("PageResult", 2)?;
        result.serialize_field(name, items)?;
        if let Some(cursor) = self.next_cursor {
            result.serialize_field("nextCursor", cursor)?;
        }
        result.end()
    }
}

/// The error for a cursor that does not belong to the current list. The client is at fault, or the list has changed.
///
/// Answer with [`INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("invalid cursor")]
#[non_exhaustive]
pub struct InvalidCursor;

impl Pager {
    /// Returns a pager with at most `page_items` items on a page, and at least one.
    pub const fn new(page_items: usize) -> Self {
        Self { page_items: if page_items == 0 { 1 } else { page_items }, key: 0, version: 0 }
    }

    /// Sets a number that goes into every cursor. It should differ between lists, and between processes that must not
    /// accept each other's cursors. Default 0.
    pub const fn key(mut self, key: u64) -> Self {
        self.key = key;
        self
    }

    /// Sets the version of the list. Increment it whenever the list changes: cursors of the old list are then refused
    /// instead of skipping or repeating items. Default 0.
    pub const fn version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// Returns the page at a cursor, or the first page. The same cursor gives the same page.
    ///
    /// # Errors
    ///
    /// [`InvalidCursor`] if the cursor was not made by this pager for this list.
    pub fn page<'s, T>(
        &self,
        items: &'s [T],
        cursor: Option<&Str<'_>>,
    ) -> Result<Slice<'s, T>, InvalidCursor> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                self.read(cursor).filter(|start| *start < items.len()).ok_or(InvalidCursor)?
            }
        };
        let end = start.saturating_add(self.page_items).min(items.len());
        let next_cursor = (end < items.len()).then(|| self.write(end));
        Ok(Slice { items: items.get(start..end).unwrap_or_default(), next_cursor })
    }

    fn write(&self, start: usize) -> String {
        let mut cursor = String::new();
        // Writing into a string cannot fail.
        _ = write!(cursor, "{start:x}-{:016x}", self.checksum(start));
        cursor
    }

    fn read(&self, cursor: &Str<'_>) -> Option<usize> {
        let (start, checksum) = cursor.as_plain()?.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let is_ours = u64::from_str_radix(checksum, 16) == Ok(self.checksum(start));
        // A number can be written in several ways, and the pager writes only one of them.
        (is_ours && cursor.as_plain() == Some(&self.write(start))).then_some(start)
    }

    /// Returns the checksum over all inputs of a cursor.
    const fn checksum(&self, start: usize) -> u64 {
        let mut hash = mix(self.key ^ 0x9e37_79b9_7f4a_7c15);
        hash = mix(hash ^ self.version);
        hash = mix(hash ^ self.page_items as u64);
        mix(hash ^ start as u64)
    }
}

/// The finalizer of SplitMix64: every bit of the input changes half the bits of the output.
pub(crate) const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
