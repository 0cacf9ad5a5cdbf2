//! Oracles that fuzz targets, properties and the simulation share. Each takes bytes or steps, and panics if the code
//! under test differs from a slow and simple reference.

pub mod calls;
pub mod challenges;
pub mod frames;
pub mod http;
pub mod json;
pub mod model;
pub mod owners;
pub mod repeated;
pub mod replay;
pub mod scanned;
pub mod sessions;
pub mod sse;
pub mod tasks;
pub mod texts;
