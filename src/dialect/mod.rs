//! What each revision allows, as tables.
//!
//! Nothing outside this module asks which revision is newer. It asks the tables here: whether a
//! method exists in a direction and what opens it ([`methods`]), whether a feature of the wire exists
//! ([`features`]), what a set of capabilities means ([`capabilities`]), and what params and results
//! look like ([`shapes`]). What no table can say, because it holds between values, is in
//! [`sampling`] and [`forms`].

mod capabilities;
pub(crate) mod features;
mod formats;
pub(crate) mod forms;
mod meta_key;
pub(crate) mod methods;
mod prepared;
pub(crate) mod sampling;
pub(crate) mod shapes;

pub use meta_key::{InvalidMetaKey, MetaKey};
pub use methods::{NotAllowed, name_in};

pub(crate) use capabilities::sayable;
pub(crate) use meta_key::RELATED;

#[cfg(test)]
mod tests;
