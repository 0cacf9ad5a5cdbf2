//! `RequestMeta`: the era, revision and capabilities in the `_meta` of a request
//! ([per-request metadata](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)).

use super::identity::{Identity, key};
use crate::capability::{CapabilitySet, ExtensionSet, Owner};
use crate::json::{MemberTexts, Object, Str, member};
use crate::model::LoggingLevel;
use crate::schema::{Misfit, Problem};
use crate::version::{Revision, RevisionSet};

/// The reserved members of a request's `_meta`, which decide its era.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestMeta<'a> {
    /// No protocol version: the request is of the legacy era and needs a session.
    Absent,
    /// Every required member, for a modern revision that this side speaks.
    Modern(ModernMeta),
    /// A protocol version that this side does not speak in the modern era.
    Unsupported(Str<'a>),
    /// A required member is missing, or a member has the wrong type.
    Malformed(Misfit),
}

/// The declarations in the `_meta` of a modern request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModernMeta {
    pub(crate) revision: Revision,
    pub(crate) capabilities: CapabilitySet,
    /// The extensions that this side has, too.
    pub(crate) extensions: ExtensionSet,
    /// The minimum level of log messages; `None` for no log messages.
    pub(crate) log_level: Option<LoggingLevel>,
}

/// The declared capabilities and extensions that this side knows.
struct Meaning {
    capabilities: CapabilitySet,
    extensions: ExtensionSet,
}

/// The reserved members of a `_meta`.
struct Members<'a> {
    capabilities: Option<&'a str>,
    level: Option<&'a str>,
}

impl<'a> RequestMeta<'a> {
    /// Reads the `_meta` of a request. A protocol version makes the request modern.
    ///
    /// The name of the client is not checked, because nothing here depends on it.
    pub(crate) fn read(meta: Option<&Object<'_, 'a>>, spoken: RevisionSet, own: &Identity) -> Self {
        let Some(meta) = meta else { return Self::Absent };
        let Some(version) = meta.get(key::VERSION) else { return Self::Absent };
        let (capabilities, level) = (meta.get(key::CAPABILITIES), meta.get(key::LEVEL));
        let members = Members { capabilities, level };
        match members.check(version, own) {
            Err(misfit) => Self::Malformed(misfit),
            Ok((name, meaning)) => match Revision::from_name(&name.to_str()) {
                Some(revision) if spoken.and(RevisionSet::MODERN).contains(revision) => {
                    match members.modern(revision, meaning) {
                        Ok(modern) => Self::Modern(modern),
                        Err(misfit) => Self::Malformed(misfit),
                    }
                }
                _ => Self::Unsupported(name),
            },
        }
    }
}

impl<'a> Members<'a> {
    /// Checks the required members. This check comes before the check of the version.
    fn check(&self, version: &'a str, own: &Identity) -> Result<(Str<'a>, Meaning), Misfit> {
        let Some(name) = Str::from_literal(version) else {
            return Err(Misfit::at(key::VERSION, Problem::WrongType));
        };
        let Some(text) = self.capabilities else {
            return Err(Misfit::at(key::CAPABILITIES, Problem::Missing));
        };
        let meaning =
            meaning(text, own).ok_or(Misfit::at(key::CAPABILITIES, Problem::WrongType))?;
        Ok((name, meaning))
    }

    /// Combines the members into the metadata of a request in this revision.
    fn modern(&self, revision: Revision, meaning: Meaning) -> Result<ModernMeta, Misfit> {
        let Meaning { capabilities, extensions } = meaning;
        let capabilities = capabilities.known_to(revision);
        let log_level = self.level.map(level).transpose()?;
        Ok(ModernMeta { revision, capabilities, extensions, log_level })
    }
}

fn level(literal: &str) -> Result<LoggingLevel, Misfit> {
    let Some(name) = Str::from_literal(literal) else {
        return Err(Misfit::at(key::LEVEL, Problem::WrongType));
    };
    LoggingLevel::from_name(&name.to_str()).ok_or(Misfit::at(key::LEVEL, Problem::NotAllowed))
}

/// Reads the capabilities of a client; `None` if they are malformed.
fn meaning(text: &str, own: &Identity) -> Option<Meaning> {
    let capabilities = CapabilitySet::read(Owner::Client, text)?;
    Some(Meaning { capabilities, extensions: common_extensions(text, own) })
}

/// Returns the extensions that both sides have. An extension whose settings are no object is not supported.
pub(crate) fn common_extensions(capabilities: &str, own: &Identity) -> ExtensionSet {
    let declared = member(capabilities, "extensions").filter(|text| is_object(text));
    MemberTexts::of(declared.unwrap_or("{}"))
        .filter(|(_, settings)| is_object(settings))
        .filter_map(|(name, _)| own.extension(&name.to_str()))
        .collect()
}

fn is_object(text: &str) -> bool {
    text.starts_with('{')
}
