//! A table of data for the handles of a machine.
//!
//! Handles are dense, so the data is in a `Vec`, indexed by the handle. Each entry stores its whole handle, so data
//! of an old handle is never found under a new one.

use mcp_sansio::{CallId, IncomingId};

/// A handle with an index into the table.
pub(crate) trait Handle: Copy + Eq {
    fn place(self) -> usize;
}

impl Handle for IncomingId {
    fn place(self) -> usize {
        self.index()
    }
}

impl Handle for CallId {
    fn place(self) -> usize {
        self.index()
    }
}

pub(crate) struct SideTable<H, T> {
    rows: Vec<Option<(H, T)>>,
}

impl<H, T> Default for SideTable<H, T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<H: Handle, T> SideTable<H, T> {
    /// Inserts a value. It replaces the value of an earlier handle with the same index.
    pub(crate) fn insert(&mut self, handle: H, value: T) {
        if self.rows.len() <= handle.place() {
            self.rows.resize_with(handle.place() + 1, || None);
        }
        if let Some(row) = self.rows.get_mut(handle.place()) {
            *row = Some((handle, value));
        }
    }

    pub(crate) fn get(&self, handle: H) -> Option<&T> {
        let (kept, value) = self.rows.get(handle.place())?.as_ref()?;
        (*kept == handle).then_some(value)
    }

    pub(crate) fn get_mut(&mut self, handle: H) -> Option<&mut T> {
        let (kept, value) = self.rows.get_mut(handle.place())?.as_mut()?;
        (*kept == handle).then_some(value)
    }

    pub(crate) fn take(&mut self, handle: H) -> Option<T> {
        let row = self.rows.get_mut(handle.place())?;
        row.take_if(|(kept, _)| *kept == handle).map(|(_, value)| value)
    }

    /// Returns the handle of the first value that matches.
    pub(crate) fn find(&self, mut fits: impl FnMut(&T) -> bool) -> Option<H> {
        self.rows.iter().flatten().find(|(_, value)| fits(value)).map(|(handle, _)| *handle)
    }
}
