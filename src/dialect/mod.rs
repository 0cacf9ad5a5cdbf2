//! The rules of each revision, as tables.
//!
//! Nothing outside this module asks which revision is newer. It asks the tables here: whether a
//! method exists in a direction and what opens it ([`methods`]), whether a feature of the wire exists
//! ([`features`]), what an era does ([`EraRules`]), what a set of capabilities means ([`capabilities`]). What params and results
//! look like is said in [`model`](crate::model), member by member. What no table can say, because it holds between values, is in
//! [`sampling`], [`forms`] and [`kept`]. What the application is told when it says something else is in
//! [`refusal`].

mod capabilities;
mod era_rules;
pub(crate) mod features;
mod formats;
pub(crate) mod forms;
mod inputs;
mod kept;
mod meta_key;
pub(crate) mod methods;
mod prepared;
mod refusal;
pub(crate) mod sampling;

pub use meta_key::{InvalidMetaKey, MetaKey};
pub use methods::name_in;
pub use refusal::{NotAllowed, RespondError};

pub(crate) use capabilities::declarable;
pub(crate) use era_rules::{EraRules, code_in};
pub(crate) use inputs::{Inputs, PreparedInput};
pub(crate) use kept::{Kept, check_params, elicitation_id};
pub(crate) use meta_key::RELATED;

#[cfg(test)]
mod tests;
