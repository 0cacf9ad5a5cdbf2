//! Pictures as SVG: the canvas, and sequence diagrams.

mod canvas;
#[cfg(feature = "testing")]
mod sequence;

#[cfg(test)]
pub(crate) use canvas::{CHARACTER, Canvas};
#[cfg(feature = "testing")]
pub(crate) use sequence::Sequence;
