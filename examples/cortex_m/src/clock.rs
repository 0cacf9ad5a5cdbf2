//! The time since the start, by the timer of the processor.

use core::cell::Cell;

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use critical_section::Mutex;
use mcp_sansio::Instant;

/// The cycles of a millisecond: the board runs at 25 MHz.
const CYCLES: u32 = 25_000;

/// The milliseconds since the start.
static MILLISECONDS: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// Starts the timer.
pub(crate) fn init(mut timer: SYST) {
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(CYCLES - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
}

/// Returns the time since the start. The board does not know the time of day.
pub(crate) fn now() -> Instant {
    Instant::from_millis(critical_section::with(|section| MILLISECONDS.borrow(section).get()))
}

/// Returns the cycles until the next millisecond.
pub(crate) fn cycles() -> u32 {
    SYST::get_current()
}

#[exception]
fn SysTick() {
    critical_section::with(|section| {
        let milliseconds = MILLISECONDS.borrow(section);
        milliseconds.set(milliseconds.get() + 1);
    });
}
