//! The dated revisions of the protocol, and sets of them.

use core::fmt;
use core::str::FromStr;

/// A revision of the Model Context Protocol that this crate speaks.
///
/// Revisions are compared by name only. A string that is not one of these names is not a revision, and is neither
/// newer nor older than one ([versioning](https://modelcontextprotocol.io/docs/2026-07-28/learn/versioning)).
///
/// ```
/// use mcp_sansio::{Era, Revision};
///
/// assert_eq!(Revision::from_name("2025-06-18"), Some(Revision::V2025_06_18));
/// assert_eq!(Revision::from_name("2025-06-18 "), None);
/// assert_eq!("2025-06-18".parse(), Ok(Revision::V2025_06_18));
/// assert!("2025".parse::<Revision>().is_err());
/// assert_eq!(Revision::LATEST_LEGACY.name(), "2025-11-25");
/// assert_eq!(Revision::V2026_07_28.era(), Era::Modern);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Revision {
    /// The first public revision.
    V2024_11_05,
    /// Adds batches, audio, tool annotations and the completions capability.
    V2025_03_26,
    /// Removes batches; adds elicitation, structured results and resource links.
    V2025_06_18,
    /// Adds icons, URL elicitation, sampling with tools and tasks.
    V2025_11_25,
    /// Has no handshake and no sessions: every request names its revision and the capabilities of its sender.
    V2026_07_28,
}

/// The two eras of the specification, which differ in how client and server agree on a revision
/// ([versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[non_exhaustive]
pub enum Era {
    /// The revisions up to 2025-11-25: `initialize` opens a session, and its result holds for the whole session.
    Legacy,
    /// The revisions from 2026-07-28 on: they have no sessions, and the `_meta` of every request names its
    /// revision.
    Modern,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The revisions of the legacy era, oldest first.
    pub const LEGACY: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// The newest revision of the legacy era.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision of an HTTP message of the legacy era that names neither its session nor its revision
    /// ([protocol version header](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header)).
    #[cfg(feature = "http")]
    pub(crate) const UNNAMED: Self = Self::V2025_03_26;

    /// The newest revision of the modern era.
    pub const LATEST_MODERN: Self = Self::V2026_07_28;

    /// Returns the revision with exactly this wire name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// Returns the wire name, a date.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the era of the revision.
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => {
                Era::Legacy
            }
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// Whether the revision belongs to the modern era.
    pub(crate) const fn is_modern(self) -> bool {
        matches!(self.era(), Era::Modern)
    }
}

/// The error for a name that is not a revision, or a revision that this crate does not know. The supplier of the name
/// is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("there is no revision of this name, or it is not known here")]
#[non_exhaustive]
pub struct UnknownRevision;

impl FromStr for Revision {
    type Err = UnknownRevision;

    /// Behaves as [`from_name`](Self::from_name), for command lines and configurations.
    fn from_str(name: &str) -> Result<Self, UnknownRevision> {
        Self::from_name(name).ok_or(UnknownRevision)
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A set of revisions, for example those that a server serves.
///
/// ```
/// use mcp_sansio::{Revision, RevisionSet};
///
/// let modern_enough = RevisionSet::since(Revision::V2025_03_26);
/// assert!(!modern_enough.contains(Revision::V2024_11_05));
/// assert_eq!(modern_enough.latest(), Some(Revision::V2026_07_28));
/// assert_eq!(RevisionSet::LEGACY.latest(), Some(Revision::V2025_11_25));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RevisionSet {
    bits: u8,
}

impl RevisionSet {
    /// Every revision.
    pub const ALL: Self = Self::since(Revision::V2024_11_05);

    /// Every revision of the legacy era.
    pub const LEGACY: Self = Self::before(Revision::V2026_07_28);

    /// Every revision of the modern era.
    pub const MODERN: Self = Self::since(Revision::V2026_07_28);

    /// No revision.
    pub const NONE: Self = Self { bits: 0 };

    /// Returns the set of this revision alone.
    pub const fn only(revision: Revision) -> Self {
        Self { bits: 1 << revision as u8 }
    }

    /// Returns the set of this revision and all later ones.
    pub const fn since(first: Revision) -> Self {
        let all = (1 << Revision::ALL.len()) - 1;
        Self { bits: all & !((1 << first as u8) - 1) }
    }

    /// Returns the set of all revisions before this one.
    pub const fn before(end: Revision) -> Self {
        Self { bits: (1 << end as u8) - 1 }
    }

    /// Returns the revisions that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { bits: self.bits & other.bits }
    }

    /// Returns the revisions that are in one of the sets, or in both.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self { bits: self.bits | other.bits }
    }

    /// Returns the revisions of this set that are missing in another one.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self { bits: self.bits & !other.bits }
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Returns this set with one more revision.
    #[must_use]
    pub const fn with(self, revision: Revision) -> Self {
        Self { bits: self.bits | Self::only(revision).bits }
    }

    /// Returns this set without one revision.
    #[must_use]
    pub const fn without(self, revision: Revision) -> Self {
        self.minus(Self::only(revision))
    }

    /// Whether the revision is in the set.
    pub const fn contains(self, revision: Revision) -> bool {
        self.bits & Self::only(revision).bits != 0
    }

    /// Returns the newest revision of the set, `None` if it is empty.
    pub fn latest(self) -> Option<Revision> {
        self.iter().next_back()
    }

    /// Returns the revisions of the set, oldest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Revision> {
        Revision::ALL.into_iter().filter(move |revision| self.contains(*revision))
    }
}

impl Default for RevisionSet {
    /// Every revision.
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Revision> for RevisionSet {
    fn from_iter<I: IntoIterator<Item = Revision>>(revisions: I) -> Self {
        revisions.into_iter().fold(Self::NONE, Self::with)
    }
}

impl Extend<Revision> for RevisionSet {
    fn extend<I: IntoIterator<Item = Revision>>(&mut self, revisions: I) {
        *self = self.or(revisions.into_iter().collect());
    }
}

impl fmt::Display for RevisionSet {
    /// Writes the names with commas between them, oldest first: `2025-06-18, 2025-11-25`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, member) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(formatter, "{separator}{member}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RevisionSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves L-VER-07: only exact names are revisions, and unknown strings have no order. Pain 35.
    #[test]
    fn names_are_matched_exactly() {
        for revision in Revision::ALL {
            assert_eq!(Revision::from_name(revision.name()), Some(revision));
        }
        for stranger in
            ["", "zzz", "2025-06-18 ", " 2025-06-18", "2024-10-07", "2099-01-01", "DRAFT-2026-v1"]
        {
            assert_eq!(Revision::from_name(stranger), None, "{stranger:?}");
        }
    }

    #[test]
    fn revision_sets_support_set_operations() {
        let set = RevisionSet::only(Revision::V2025_06_18).with(Revision::V2024_11_05);
        assert!(set.iter().eq([Revision::V2024_11_05, Revision::V2025_06_18]));
        assert_eq!(set.latest(), Some(Revision::V2025_06_18));
        assert_eq!(set.with(Revision::V2025_06_18), set);
        assert_eq!((set.or(set), set.or(RevisionSet::ALL)), (set, RevisionSet::ALL));
        assert_eq!(
            alloc::format!("{set}, {}", RevisionSet::MODERN),
            "2024-11-05, 2025-06-18, 2026-07-28"
        );
        assert_eq!(set.without(Revision::V2025_06_18).latest(), Some(Revision::V2024_11_05));
        assert_eq!(RevisionSet::NONE.latest(), None);
        assert!(RevisionSet::ALL.iter().eq(Revision::ALL));
        assert!(RevisionSet::LEGACY.iter().eq(Revision::LEGACY));
        assert!(RevisionSet::MODERN.iter().eq([Revision::V2026_07_28]));
        assert!(RevisionSet::MODERN.and(RevisionSet::LEGACY).is_empty());
        assert_eq!(RevisionSet::MODERN.or(RevisionSet::LEGACY), RevisionSet::ALL);
        assert_eq!(RevisionSet::ALL.minus(RevisionSet::LEGACY), RevisionSet::MODERN);
        let mut extended = RevisionSet::MODERN;
        extended.extend(Revision::LEGACY);
        assert_eq!(extended, RevisionSet::ALL);
        assert!(Revision::ALL.into_iter().collect::<RevisionSet>() == RevisionSet::ALL);
    }
}
