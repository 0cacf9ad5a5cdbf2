//! Where bytes go that are sent: nowhere, unless somebody listens.

use std::cell::{Cell, RefCell};
use std::hint::black_box;

thread_local! {
    // Apart from what is kept, because looking at it has to cost next to nothing.
    static LISTENING: Cell<bool> = const { Cell::new(false) };
    static KEPT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Sends bytes. Gives how many there are.
#[inline(always)]
pub(crate) fn send(bytes: &[u8]) -> usize {
    let bytes = black_box(bytes);
    if LISTENING.get() {
        keep(bytes);
    }
    bytes.len()
}

#[cold]
fn keep(bytes: &[u8]) {
    KEPT.with_borrow_mut(|kept| kept.extend_from_slice(bytes));
}

/// Gives what is sent on this thread while something runs.
pub(crate) fn listen(run: impl FnOnce()) -> Vec<u8> {
    LISTENING.set(true);
    run();
    LISTENING.set(false);
    KEPT.take()
}
