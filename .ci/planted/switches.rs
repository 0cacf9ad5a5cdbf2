//! The switches of the mutants: `MUTANT` is the number of the one that is on, `MUTANTS_REACHED` a file for the numbers of
//! those that are reached.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

struct State {
    on: u32,
    reached: Option<(std::fs::File, std::vec::Vec<AtomicBool>)>,
}

static STATE: OnceLock<State> = OnceLock::new();

fn state() -> State {
    let reached = std::env::var_os("MUTANTS_REACHED").map(|path| {
        let file = std::fs::File::options().create(true).append(true).open(path);
        (file.expect("a file for numbers"), (0..COUNT).map(|_| AtomicBool::new(false)).collect())
    });
    State { on: std::env::var("MUTANT").map_or(u32::MAX, |on| on.parse().expect("a number")), reached }
}

/// Whether this mutant is on.
#[inline]
pub fn is_on(number: u32) -> bool {
    let state = STATE.get_or_init(state);
    if let Some((file, known)) = &state.reached {
        if !known[number as usize].swap(true, Relaxed) {
            let mut file: &std::fs::File = file;
            file.write_all(&number.to_le_bytes()).expect("a file for numbers");
        }
    }
    state.on == number
}

/// An iterator that a function returns, or that its mutant returns.
#[derive(Clone, Debug)]
pub enum Either<M, O> {
    Mutant(M),
    Original(O),
}

impl<M: Iterator, O: Iterator<Item = M::Item>> Iterator for Either<M, O> {
    type Item = M::Item;

    fn next(&mut self) -> Option<M::Item> {
        match self {
            Self::Mutant(items) => items.next(),
            Self::Original(items) => items.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Mutant(items) => items.size_hint(),
            Self::Original(items) => items.size_hint(),
        }
    }
}

impl<M: DoubleEndedIterator, O: DoubleEndedIterator<Item = M::Item>> DoubleEndedIterator for Either<M, O> {
    fn next_back(&mut self) -> Option<M::Item> {
        match self {
            Self::Mutant(items) => items.next_back(),
            Self::Original(items) => items.next_back(),
        }
    }
}

impl<M: ExactSizeIterator, O: ExactSizeIterator<Item = M::Item>> ExactSizeIterator for Either<M, O> {}
