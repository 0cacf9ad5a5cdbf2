//! The first LED of the board.

use crate::registers::Register;

// SAFETY: it is the register of the LEDs.
const LEDS: Register = unsafe { Register::at(0x4002_8000) };

const FIRST: u32 = 1;

pub(crate) fn set(is_on: bool) {
    LEDS.write(if is_on { FIRST } else { 0 });
}

pub(crate) fn is_on() -> bool {
    LEDS.read() & FIRST != 0
}
