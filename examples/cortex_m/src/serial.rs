//! The serial port: UART 0 at 115200 baud.
//!
//! An interrupt moves received bytes into a queue. While the queue is full the interrupt is off, and bytes wait in the
//! device. The sender must not exceed the rate of the main loop by more than the queue: this port has no flow control.

use core::cell::RefCell;
use core::fmt;

use cortex_m::asm::wfi;
use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use critical_section::Mutex;
use heapless::Deque;

use crate::registers::Register;

/// The number of the interrupt for received bytes.
pub(crate) const INTERRUPT: i16 = 0;

/// The maximum number of received bytes that wait for the main loop.
const QUEUE: usize = 1 << 10;

static RECEIVED: Mutex<RefCell<Deque<u8, QUEUE>>> = Mutex::new(RefCell::new(Deque::new()));

// SAFETY: the addresses are those of the registers of UART 0.
const DATA: Register = unsafe { Register::at(0x4000_4000) };
const STATE: Register = unsafe { Register::at(0x4000_4004) };
const CONTROL: Register = unsafe { Register::at(0x4000_4008) };
const INTERRUPT_STATUS: Register = unsafe { Register::at(0x4000_400C) };
const DIVISOR: Register = unsafe { Register::at(0x4000_4010) };

/// In [`STATE`]: the device can send no byte, and it has received one.
const CANNOT_SEND: u32 = 1;
const HAS_BYTE: u32 = 1 << 1;
/// In [`CONTROL`]: the sender, the receiver, and its interrupt.
const ENABLED: u32 = 1 | 1 << 1;
const INTERRUPTS: u32 = 1 << 3;
/// In [`INTERRUPT_STATUS`]: clears the interrupt.
const CLEAR: u32 = 1 << 1;

#[derive(Clone, Copy)]
struct Uart0;

// SAFETY: it is the number of UART 0, and it never changes.
unsafe impl InterruptNumber for Uart0 {
    fn number(self) -> u16 {
        INTERRUPT as u16
    }
}

pub(crate) fn init() {
    // 25 MHz / 115200
    DIVISOR.write(217);
    CONTROL.write(ENABLED | INTERRUPTS);
    // SAFETY: no critical section depends on this interrupt being off.
    unsafe { NVIC::unmask(Uart0) };
}

/// Handles the interrupt for received bytes.
pub(crate) fn on_interrupt() {
    critical_section::with(|section| queue_received(&mut RECEIVED.borrow_ref_mut(section)));
}

/// Moves received bytes from the device into the queue, and turns the interrupt off if the queue is full.
fn queue_received(received: &mut Deque<u8, QUEUE>) {
    INTERRUPT_STATUS.write(CLEAR);
    while !received.is_full() && STATE.read() & HAS_BYTE != 0 {
        // The queue has room.
        _ = received.push_back(DATA.read() as u8);
    }
    CONTROL.write(if received.is_full() { ENABLED } else { ENABLED | INTERRUPTS });
}

/// Takes received bytes. Returns their number.
pub(crate) fn read(into: &mut [u8]) -> usize {
    critical_section::with(|section| {
        let mut received = RECEIVED.borrow_ref_mut(section);
        let mut count = 0;
        for (to, byte) in into.iter_mut().zip(core::iter::from_fn(|| received.pop_front())) {
            *to = byte;
            count += 1;
        }
        queue_received(&mut received);
        count
    })
}

/// Sends bytes until the device accepts no more. Returns their number.
pub(crate) fn write(bytes: &[u8]) -> usize {
    let accepted = bytes.iter().take_while(|_| STATE.read() & CANNOT_SEND == 0);
    accepted.map(|byte| DATA.write(u32::from(*byte))).count()
}

/// Sends everything, and waits for the device meanwhile.
pub(crate) struct Blocking;

impl fmt::Write for Blocking {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while let Some(unsent) = rest.get(write(rest)..).filter(|rest| !rest.is_empty()) {
            rest = unsent;
        }
        Ok(())
    }
}

/// Sleeps until the next interrupt, at most for the millisecond of the clock. Returns at once if bytes wait.
pub(crate) fn sleep_until_interrupt() {
    // An interrupt ends the sleep also while interrupts are off, so none is missed after the check.
    critical_section::with(|section| {
        if RECEIVED.borrow_ref(section).is_empty() {
            wfi();
        }
    });
}
