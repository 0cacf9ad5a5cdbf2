//! The rules of each revision, as tables.
//!
//! Code outside this module does not compare revisions. It asks the tables here: [`methods`] for the direction and
//! the capability of a method, [`features`] for features of the protocol, [`EraRules`] for the differences between
//! the eras, and [`capabilities`] for sets of capabilities. The shapes of params and results are declared in
//! [`model`](crate::model), member by member. Rules between values, which no table can express, are in [`sampling`],
//! [`forms`] and [`kept`]. The errors for the application are in [`refusal`].

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
