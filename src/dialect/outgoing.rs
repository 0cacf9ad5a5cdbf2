//! What may leave in a revision: the rest is taken out before it is written.

use super::features::Feature;
use crate::model::{
    ClientCapabilities, ElicitationCapability, Implementation, SamplingCapability,
    ServerCapabilities, Text,
};
use crate::version::{Revision, RevisionSet};

/// Who this side is, as far as the revision has words for it.
pub(crate) fn implementation<'i>(
    implementation: &'i Implementation<'_>,
    revision: Revision,
) -> Implementation<'i> {
    let mut outgoing =
        Implementation::new(implementation.name.as_str(), implementation.version.as_str());
    if Feature::ImplementationTitle.is_in(revision) {
        outgoing.title = implementation.title.as_ref().map(Text::borrow);
    }
    if Feature::ImplementationDetails.is_in(revision) {
        outgoing.description = implementation.description.as_ref().map(Text::borrow);
        outgoing.website_url = implementation.website_url.as_ref().map(Text::borrow);
        outgoing.icons.clone_from(&implementation.icons);
    }
    outgoing
}

/// What this server offers, as far as the revision has words for it.
pub(crate) fn server_capabilities<'c>(
    capabilities: &ServerCapabilities<'c>,
    revision: Revision,
) -> ServerCapabilities<'c> {
    let mut outgoing = capabilities.clone();
    if !RevisionSet::since(Revision::V2025_03_26).contains(revision) {
        outgoing.completions = None;
    }
    outgoing
}

/// What this client offers, as far as the revision has words for it.
pub(crate) fn client_capabilities<'c>(
    capabilities: &ClientCapabilities<'c>,
    revision: Revision,
) -> ClientCapabilities<'c> {
    let mut outgoing = capabilities.clone();
    if !RevisionSet::since(Revision::V2025_06_18).contains(revision) {
        outgoing.elicitation = None;
    }
    if !RevisionSet::since(Revision::V2025_11_25).contains(revision) {
        // There was only the form, so a client without it has no elicitation.
        let form = |modes: &ElicitationCapability| modes.form.is_some() || modes.url.is_none();
        outgoing.elicitation =
            outgoing.elicitation.filter(form).map(|_| ElicitationCapability::default());
        outgoing.sampling = outgoing.sampling.map(|_| SamplingCapability::default());
    }
    outgoing
}
