//! What each revision allows, as tables.
//!
//! Nothing outside this module asks which revision is newer. It asks the tables here: whether a
//! method exists in a direction and what opens it ([`methods`]), whether a feature of the wire exists
//! ([`features`]), what a set of capabilities means ([`capabilities`]), and what may leave
//! ([`outgoing`]).

pub(crate) mod capabilities;
pub(crate) mod features;
pub(crate) mod methods;
pub(crate) mod outgoing;

pub use capabilities::{Capability, CapabilitySet};

#[cfg(test)]
mod tests;
