//! Checks that a fuzz target, a property and the simulation share: each takes bytes or steps and panics where the
//! code under test differs from a slow, obviously right answer.

pub mod challenges;
pub mod frames;
pub mod http;
pub mod json;
pub mod model;
pub mod owners;
pub mod repeated;
pub mod replay;
pub mod scanned;
pub mod sse;
pub mod tasks;
