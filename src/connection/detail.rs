//! `Detail`: the `data` of the error of a refused request
//! ([error codes](https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes)).

use alloc::string::String;
use alloc::vec::Vec;

use crate::capability::{Capability, CapabilitySet};
use crate::json::Str;
use crate::rpc::ErrorData;
use crate::schema::shape::Form;
use crate::schema::{EncodeError, ModelWriter, Writer, Written};
use crate::version::RevisionSet;

/// The `data` of an error that the machine sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The supported versions, and the requested one.
    Versions { supported: RevisionSet, requested: String },
    /// The capabilities that the request would have to declare.
    Capabilities(CapabilitySet),
    /// The extension that the request would have to declare.
    Extension(&'static str),
}

impl Detail {
    pub(crate) fn versions(supported: RevisionSet, requested: &Str<'_>) -> Self {
        // A version is a date. A longer text is not returned in full.
        const LONGEST: usize = 64;
        let requested = requested.chars().take(LONGEST).collect();
        Self::Versions { supported, requested }
    }

    pub(crate) const fn extension(name: &'static str) -> Self {
        Self::Extension(name)
    }

    fn write_members(&self, out: &mut ModelWriter<'_, '_>) -> Written {
        match self {
            Self::Versions { supported, requested } => {
                out.piece(",\"supported\":")?;
                let start = out.position();
                for revision in supported.iter() {
                    out.piece(",")?;
                    out.string(revision.name())?;
                }
                out.enclose(start, b'[', "]")?;
                out.piece(",\"requested\":")?;
                out.string(requested)
            }
            Self::Capabilities(set) => {
                out.piece(",\"requiredCapabilities\":")?;
                write_declaration(*set, out)
            }
            Self::Extension(name) => {
                out.piece(",\"requiredCapabilities\":{\"extensions\":{")?;
                out.string(name)?;
                out.piece(":{}}}")
            }
        }
    }
}

impl ErrorData for Detail {
    fn write(&self, writer: &mut Writer<'_>, _form: Option<Form>) -> Result<(), EncodeError> {
        let out = &mut ModelWriter::of_all(writer);
        let start = out.position();
        let written = self.write_members(out).and_then(|()| out.enclose(start, b'{', "}"));
        // The content is always valid, but there may be no room.
        written.map_err(|_| EncodeError::Full)
    }
}

/// Returns the text of a capability set as its owner would declare it: an object of objects.
pub(crate) fn declaration(set: CapabilitySet) -> String {
    let mut buffer = Vec::new();
    let mut writer = Writer::new(&mut buffer, usize::MAX);
    // The buffer has no limit.
    _ = write_declaration(set, &mut ModelWriter::of_all(&mut writer));
    String::from_utf8(buffer).unwrap_or_default()
}

fn write_declaration(set: CapabilitySet, out: &mut ModelWriter<'_, '_>) -> Written {
    let start = out.position();
    for outer in Capability::ALL.iter().filter(|one| !one.path().contains('.')) {
        let modes = || modes(set, outer.path());
        if set.contains(*outer) || modes().next().is_some() {
            write_member(outer.path(), out)?;
            let start = out.position();
            for mode in modes() {
                write_member(mode, out)?;
                out.piece("{}")?;
            }
            out.enclose(start, b'{', "}")?;
        }
    }
    out.enclose(start, b'{', "}")
}

/// Returns the modes of one capability.
fn modes(set: CapabilitySet, outer: &str) -> impl Iterator<Item = &'static str> {
    set.iter().filter_map(move |one| {
        let (parent, inner) = one.path().split_once('.')?;
        (parent == outer).then_some(inner)
    })
}

/// Writes the name of a member with a comma in front. The name is a constant of this crate and needs no escaping.
fn write_member(name: &'static str, out: &mut ModelWriter<'_, '_>) -> Written {
    out.piece(",\"")?;
    out.piece(name)?;
    out.piece("\":")
}
