//! An MCP server on a microcontroller without an operating system: a Cortex-M3 with 64 KiB of RAM, on Arm's board
//! MPS2. The messages are lines on the serial port.
//!
//! - `heap`, `stack`: the memory. All that the program allocates is in one static block.
//! - `serial`, `clock`, `led`: the devices of the board.
//! - `server`: the limits that keep a connection within the heap, the tools, and the calls that take time.
//!
//! To try it without the board, install QEMU and the target `thumbv7m-none-eabi`. Standard input and output of QEMU are
//! the serial port, so a client starts QEMU as its server:
//!
//! ```sh
//! (cd examples/cortex_m && cargo build --locked --release)
//! cargo run --example inspect -- --call blink '{"times":3,"milliseconds":200}' -- qemu-system-arm -M mps2-an385 -display none -monitor none -serial stdio -kernel target/cortex_m/thumbv7m-none-eabi/release/cortex_m_server
//! ```
//!
//! The main loop moves bytes between the serial port and the server, and sleeps until the next interrupt.
#![no_std]
#![no_main]

extern crate alloc;

mod clock;
mod heap;
mod led;
mod registers;
mod serial;
mod server;
mod stack;

use core::fmt::Write;
use core::panic::PanicInfo;

use cortex_m::peripheral::SCB;
use cortex_m_rt::{ExceptionFrame, entry, exception};

use crate::server::BoardServer;

#[entry]
fn main() -> ! {
    // SAFETY: nothing is allocated yet, and `main` runs once.
    unsafe { heap::init() };
    serial::init();
    if let Some(core) = cortex_m::Peripherals::take() {
        clock::init(core.SYST);
    }
    let mut server = BoardServer::new();
    loop {
        let received = if server.is_congested() { 0 } else { serial::read(server.space()) };
        server.filled(received, clock::now());
        let sent = serial::write(server.unsent());
        server.sent(sent);
        if server.is_closed() {
            // The session has ended. The next client gets a new server.
            server = BoardServer::new();
        }
        if received == 0 && server.unsent().is_empty() {
            serial::sleep_until_interrupt();
        }
    }
}

/// Handles the interrupts of devices, and the exceptions of the processor except for faults.
#[exception]
unsafe fn DefaultHandler(interrupt: i16) {
    if interrupt == serial::INTERRUPT {
        serial::on_interrupt();
    } else {
        SCB::sys_reset();
    }
}

/// A fault is a defect of the program, as a panic is.
#[exception]
unsafe fn HardFault(_: &ExceptionFrame) -> ! {
    SCB::sys_reset()
}

/// A panic is a defect of the program. The handler prints it as a line that is not JSON, and resets the board.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    _ = writeln!(serial::Blocking, "\n{info}");
    SCB::sys_reset()
}
