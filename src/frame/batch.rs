//! [`Batch`], a cursor over a JSON-RPC batch whose elements are yielded one by one.
//!
//! The whole array is checked before its first element is yielded.

use core::ops::Range;

use super::message::{Element, Origin};
use crate::json::{JsonError, Scanner};

/// The start of the next element of a checked batch. It holds offsets, no bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Batch {
    at: usize,
    index: u32,
    count: u32,
}

impl Batch {
    /// Checks the whole array and counts its elements.
    ///
    /// # Errors
    ///
    /// The frame origin to report instead, if the array is not a valid batch.
    pub(super) fn open(bytes: &[u8], depth: u8, most: u32) -> Result<Self, Origin> {
        match count(bytes, depth) {
            Ok(0) => Err(Origin::EmptyBatch),
            Ok(count) if most < count => Err(Origin::LongBatch),
            Ok(count) => Ok(Self { at: 1, index: 0, count }),
            Err(error) => Err(Origin::BrokenBatch(error)),
        }
    }

    /// Returns the next element and its range in the bytes that the batch was opened with.
    pub(super) fn next(&mut self, bytes: &[u8]) -> Option<(Range<usize>, Element)> {
        if self.index == self.count {
            return None;
        }
        // Brackets are only counted: the check has read everything that is not too deep.
        let mut scanner = Scanner::new(bytes, 0);
        let (start, _) = scanner.next(self.at);
        let end = scanner.value(start, 0).ok()?;
        // Skips the separator or the closing bracket, with the white space in front of it.
        self.at = scanner.next(end).0 + 1;
        let element = Element { index: self.index, count: self.count };
        self.index += 1;
        Some((start..end, element))
    }
}

/// Counts the elements. A defect inside one element that does not hide its end is left to the consumer of that
/// element and does not affect the other elements.
fn count(bytes: &[u8], depth: u8) -> Result<u32, JsonError> {
    let mut count = 0_u32;
    let mut scanner = Scanner::new(bytes, depth);
    let (start, _) = scanner.next(0);
    let walked = scanner.array(start, |scanner, at| {
        count = count.saturating_add(1);
        scanner.value(at, 0)
    });
    let end = walked.map_err(|broken| scanner.error(broken))?;
    scanner.end(end)?;
    Ok(count)
}
