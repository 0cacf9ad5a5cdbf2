//! The tasks of one owner, page by page.

use alloc::string::String;
use core::fmt::Write;
use core::ops::Bound;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::tasks::Tasks;
use super::view::InSession;
use crate::handle::Requestor;
use crate::json::Str;
use crate::pagination::{InvalidCursor, mix};

/// One page of the tasks of one owner, in the order they were begun.
///
/// A cursor names the last task of the page before, so that what is begun or forgotten meanwhile makes no
/// difference to the others, and holds a checksum over that, the owner and the key of the configuration.
pub(crate) struct ListOf<'t> {
    tasks: &'t Tasks,
    owner: Requestor,
    after: Option<u64>,
}

impl Tasks {
    /// The page at a cursor, or the first one.
    pub(crate) fn page(
        &self,
        owner: Requestor,
        cursor: Option<&Str<'_>>,
    ) -> Result<ListOf<'_>, InvalidCursor> {
        let after = match cursor {
            None => None,
            Some(cursor) => Some(self.read_cursor(owner, cursor).ok_or(InvalidCursor)?),
        };
        Ok(ListOf { tasks: self, owner, after })
    }

    fn cursor(&self, owner: Requestor, serial: u64) -> String {
        let mut checksum = mix(self.config.cursor_key ^ 0x7461_736b_7300_0001);
        checksum = match owner {
            Requestor::Principal(principal) => mix(checksum ^ principal.get()),
            Requestor::Session(number) => mix(mix(checksum ^ 1) ^ number),
            Requestor::Unknown(number) => mix(mix(checksum ^ 2) ^ number),
        };
        checksum = mix(checksum ^ serial);
        let mut cursor = String::new();
        // Writing into a string cannot fail.
        _ = write!(cursor, "{serial:x}-{checksum:016x}");
        cursor
    }

    fn read_cursor(&self, owner: Requestor, cursor: &Str<'_>) -> Option<u64> {
        let (serial, _) = cursor.as_plain()?.split_once('-')?;
        let serial = u64::from_str_radix(serial, 16).ok()?;
        (serial < self.next_serial && cursor.as_plain() == Some(&self.cursor(owner, serial)))
            .then_some(serial)
    }
}

impl ListOf<'_> {
    /// The serials and places of the tasks from where the page begins.
    fn tasks(&self) -> impl Iterator<Item = (u64, u32)> {
        let from = match self.after {
            Some(after) => Bound::Excluded((self.owner, after)),
            None => Bound::Included((self.owner, 0)),
        };
        let to = Bound::Included((self.owner, u64::MAX));
        let own = self.tasks.of_owner.range((from, to));
        // Requestors that cannot be told apart would see the tasks of each other.
        let listed = own.filter(|_| self.owner.is_known());
        listed.map(|((_, serial), index)| (*serial, *index))
    }
}

impl Serialize for ListOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let page = self.tasks.config.page_items.max(1);
        let mut result = serializer.serialize_map(None)?;
        result.serialize_entry("tasks", &Page(self))?;
        if self.tasks().nth(page).is_some()
            && let Some((last, _)) = self.tasks().nth(page - 1)
        {
            result.serialize_entry("nextCursor", &self.tasks.cursor(self.owner, last))?;
        }
        result.end()
    }
}

struct Page<'l, 't>(&'l ListOf<'t>);

impl Serialize for Page<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ListOf { tasks, .. } = self.0;
        let places = self.0.tasks().take(tasks.config.page_items.max(1));
        let records = places.filter_map(|(_, index)| tasks.table.get(tasks.table.place_of(index)?));
        serializer.collect_seq(records.map(InSession))
    }
}
