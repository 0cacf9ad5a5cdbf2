//! What more there is to say about a refusal: the `data` of its error
//! ([error codes](https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes)).

use alloc::string::String;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::capability::{Capability, CapabilitySet};
use crate::json::Str;
use crate::version::RevisionSet;

/// The `data` of an error that the machine sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Which versions there are, and which one was asked for.
    Versions { supported: RevisionSet, requested: String },
    /// What the request would have to declare.
    Capabilities(CapabilitySet),
    /// The same, and it is an extension.
    Extension(&'static str),
}

impl Detail {
    pub(crate) fn versions(supported: RevisionSet, requested: &Str<'_>) -> Self {
        // A version is a date; whatever is longer need not come back whole.
        const LONGEST: usize = 64;
        let requested = requested.chars().take(LONGEST).collect();
        Self::Versions { supported, requested }
    }

    pub(crate) const fn extension(name: &'static str) -> Self {
        Self::Extension(name)
    }
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_map(None)?;
        match self {
            Self::Versions { supported, requested } => {
                data.serialize_entry("supported", &Names(*supported))?;
                data.serialize_entry("requested", requested)?;
            }
            Self::Capabilities(set) => {
                data.serialize_entry("requiredCapabilities", &Declaration(*set))?;
            }
            Self::Extension(name) => {
                data.serialize_entry(
                    "requiredCapabilities",
                    &Single("extensions", Single(*name, Nothing)),
                )?;
            }
        }
        data.end()
    }
}

/// The names of revisions.
struct Names(RevisionSet);

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut names = serializer.serialize_seq(None)?;
        for revision in self.0.iter() {
            names.serialize_element(revision.name())?;
        }
        names.end()
    }
}

/// An object without members.
struct Nothing;

impl Serialize for Nothing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_map(Some(0))?.end()
    }
}

/// An object with one member.
struct Single<K, T>(K, T);

impl<K: Serialize, T: Serialize> Serialize for Single<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry(&self.0, &self.1)?;
        object.end()
    }
}

/// A set of capabilities as its owner would declare it: an object in an object.
pub(crate) struct Declaration(pub(crate) CapabilitySet);

/// The modes of one capability.
struct Modes(CapabilitySet, &'static str);

impl Serialize for Declaration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for outer in Capability::ALL.iter().filter(|one| !one.path().contains('.')) {
            let modes = Modes(self.0, outer.path());
            if self.0.contains(*outer) || modes.iter().next().is_some() {
                object.serialize_entry(outer.path(), &modes)?;
            }
        }
        object.end()
    }
}

impl Modes {
    fn iter(&self) -> impl Iterator<Item = &'static str> {
        let Self(set, outer) = *self;
        set.iter().filter_map(move |one| {
            let (parent, inner) = one.path().split_once('.')?;
            (parent == outer).then_some(inner)
        })
    }
}

impl Serialize for Modes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for mode in self.iter() {
            object.serialize_entry(mode, &Nothing)?;
        }
        object.end()
    }
}
