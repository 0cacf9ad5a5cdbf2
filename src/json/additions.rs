//! What the machine adds to an object that the application writes.

/// Members that the machine adds: names, and values as JSON text.
#[derive(Clone, Copy, Default)]
pub(crate) struct Additions<'x> {
    /// Members of the object itself, which win over those of the same name that the application wrote.
    pub(crate) members: &'x [(&'static str, &'x str)],
    /// Members of the object itself, of which the application may write others of the same name. At
    /// most eight.
    pub(crate) defaults: &'x [(&'static str, &'x str)],
    /// What goes into its `_meta`.
    pub(crate) meta: MetaAdditions<'x>,
}

/// What the machine adds to a `_meta`.
#[derive(Clone, Copy, Default)]
pub(crate) struct MetaAdditions<'x> {
    pub(crate) members: &'x [(&'static str, &'x str)],
    /// More members, as they stand between the braces.
    pub(crate) text: &'x str,
    /// Keys that are the machine's, whether it uses them or not: what the application wrote under them
    /// is left out.
    pub(crate) reserved: &'static [&'static str],
}

impl MetaAdditions<'_> {
    pub(super) const fn is_empty(&self) -> bool {
        self.members.is_empty() && self.text.is_empty() && self.reserved.is_empty()
    }
}

impl Additions<'_> {
    pub(super) const fn is_empty(&self) -> bool {
        self.members.is_empty() && self.defaults.is_empty() && self.meta.is_empty()
    }
}
