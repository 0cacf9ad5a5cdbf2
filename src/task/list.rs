//! The tasks of one owner, in pages.

use alloc::string::String;
use core::fmt::Write;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::key::TaskKey;
use super::tasks::Tasks;
use super::view::InSession;
use crate::handle::Requestor;
use crate::json::Str;
use crate::pagination::{InvalidCursor, mix};
use crate::schema::serialized;

/// One page of the tasks of one owner, in the order in which they were begun.
///
/// A cursor names the last task of the previous page, so tasks that are begun or forgotten meanwhile do not shift the
/// other tasks. It holds a checksum over that task, the owner and the key of the configuration.
pub(crate) struct ListOf<'t> {
    tasks: &'t Tasks,
    owner: Requestor,
    after: Option<u64>,
}

impl Tasks {
    /// Returns the page at a cursor, or the first page.
    pub(crate) fn page(
        &self,
        owner: Requestor,
        cursor: Option<&Str<'_>>,
    ) -> Result<ListOf<'_>, InvalidCursor> {
        let after = match cursor {
            None => None,
            Some(cursor) => Some(read_cursor(self, owner, cursor).ok_or(InvalidCursor)?),
        };
        Ok(ListOf { tasks: self, owner, after })
    }
}

fn cursor_at(tasks: &Tasks, owner: Requestor, serial: u64) -> String {
    let mut checksum = mix(tasks.config.cursor_key ^ 0x7461_736b_7300_0001);
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

fn read_cursor(tasks: &Tasks, owner: Requestor, cursor: &Str<'_>) -> Option<u64> {
    let (serial, _) = cursor.as_plain()?.split_once('-')?;
    let serial = u64::from_str_radix(serial, 16).ok()?;
    (serial < tasks.records.next_serial
        && cursor.as_plain() == Some(&cursor_at(tasks, owner, serial)))
    .then_some(serial)
}

impl ListOf<'_> {
    /// The tasks from the start of the page on, with their serial numbers.
    fn tasks(&self) -> impl Iterator<Item = (u64, TaskKey)> {
        // Cannot overflow: `restore` limits serial numbers.
        let from = self.after.map_or(0, |after| after + 1);
        // Unknown requestors get no list: they would see each other's tasks.
        let own = self.owner.is_known().then(|| self.tasks.records.of_owner(self.owner, from));
        own.into_iter().flatten()
    }
}

serialized! { ListOf<'_> }

impl Serialize for ListOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let page = self.tasks.config.page_items.max(1);
        let mut result = serializer.serialize_map(None)?;
        result.serialize_entry("tasks", &Page(self))?;
        if self.tasks().nth(page).is_some()
            && let Some((last, _)) = self.tasks().nth(page - 1)
        {
            result.serialize_entry("nextCursor", &cursor_at(self.tasks, self.owner, last))?;
        }
        result.end()
    }
}

struct Page<'l, 't>(&'l ListOf<'t>);

impl Serialize for Page<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ListOf { tasks, .. } = self.0;
        let places = self.0.tasks().take(tasks.config.page_items.max(1));
        let records = places.filter_map(|(_, key)| tasks.records.get(key));
        serializer.collect_seq(records.map(InSession))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::Principal;
    use crate::task::TasksConfig;

    /// Processes that share tasks read one another's cursors. SplitMix64 has given the numbers.
    #[test]
    fn the_text_of_a_cursor_stays() {
        let config = TasksConfig { cursor_key: 0x0123_4567_89ab_cdf1, ..TasksConfig::default() };
        let tasks = Tasks::new(config);
        let number = 0xfedc_ba98_7654_3210;
        let table = [
            (Requestor::Principal(Principal::new(number)), "12c-c630143e94f14ab3"),
            (Requestor::Session(number), "12c-f28451d6d3cf1356"),
            (Requestor::Unknown(number), "12c-312ff9cdf669c2ba"),
        ];
        for (owner, cursor) in table {
            assert_eq!(cursor_at(&tasks, owner, 300), cursor);
        }
    }
}
