//! The functions that JavaScript calls.
//!
//! A text from JavaScript is written to [`space`] before the function that reads it is called. A text for JavaScript is
//! at [`text`], with the length that the function returned. Times are milliseconds of `performance.now()`.

use std::cell::RefCell;
use std::time::Duration;

use mcp_sansio::Instant;

use crate::client::PageClient;
use crate::server::WorkerServer;

/// The machine of this instance of the module.
enum Machine {
    None,
    Server(WorkerServer),
    Client(PageClient),
}

struct Instance {
    machine: Machine,
    /// The text last passed between JavaScript and the module.
    text: Vec<u8>,
}

thread_local! {
    static INSTANCE: RefCell<Instance> =
        const { RefCell::new(Instance { machine: Machine::None, text: Vec::new() }) };
}

fn with<T>(run: impl FnOnce(&mut Instance) -> T) -> T {
    INSTANCE.with_borrow_mut(run)
}

fn instant(milliseconds: f64) -> Instant {
    // Never negative, and far below the largest duration.
    Instant::default() + Duration::from_secs_f64(milliseconds.max(0.0) / 1000.0)
}

/// Makes this instance a server.
#[unsafe(no_mangle)]
extern "C" fn start_server() {
    with(|instance| instance.machine = Machine::Server(WorkerServer::new()));
}

/// Makes this instance a client, which begins to connect.
#[unsafe(no_mangle)]
extern "C" fn start_client(now: f64) {
    with(|instance| instance.machine = Machine::Client(PageClient::new(instant(now))));
}

/// Returns the address for a text of this length in UTF-8.
#[unsafe(no_mangle)]
extern "C" fn space(length: usize) -> *mut u8 {
    with(|instance| {
        instance.text.clear();
        instance.text.resize(length, 0);
        instance.text.as_mut_ptr()
    })
}

/// Returns the address of the text of this instance.
#[unsafe(no_mangle)]
extern "C" fn text() -> *const u8 {
    with(|instance| instance.text.as_ptr())
}

/// Receives a message, which is the text.
#[unsafe(no_mangle)]
extern "C" fn receive(now: f64) {
    let now = instant(now);
    with(|instance| match &mut instance.machine {
        Machine::None => {}
        Machine::Server(server) => server.receive(&instance.text, now),
        Machine::Client(client) => client.receive(&instance.text, now),
    });
}

/// Handles the due timeouts.
#[unsafe(no_mangle)]
extern "C" fn handle_timeout(now: f64) {
    let now = instant(now);
    with(|instance| match &mut instance.machine {
        Machine::None => {}
        Machine::Server(server) => server.handle_timeout(now),
        Machine::Client(client) => client.handle_timeout(now),
    });
}

/// Returns the time of the next timeout; infinite if there is none.
#[unsafe(no_mangle)]
extern "C" fn poll_timeout() -> f64 {
    let next = with(|instance| match &instance.machine {
        Machine::None => None,
        Machine::Server(server) => server.poll_timeout(),
        Machine::Client(client) => client.poll_timeout(),
    });
    next.map_or(f64::INFINITY, |next| next.since_epoch().as_secs_f64() * 1000.0)
}

/// Takes the next message to send as the text. Returns its length, or -1 if there is none.
#[unsafe(no_mangle)]
extern "C" fn next_message() -> isize {
    take(|machine| match machine {
        Machine::None => None,
        Machine::Server(server) => server.next_message(),
        Machine::Client(client) => client.next_message(),
    })
}

/// Takes the next event of the client, an object in JSON, as the text. Returns its length, or -1 if there is none.
#[unsafe(no_mangle)]
extern "C" fn next_event() -> isize {
    take(|machine| match machine {
        Machine::Client(client) => client.next_event(),
        Machine::None | Machine::Server(_) => None,
    })
}

/// Makes a call that the text describes: an object with `method` and `params`. Returns the number of the call, or -1 if
/// the client cannot make it. An event has the reason.
#[unsafe(no_mangle)]
extern "C" fn call(now: f64) -> i32 {
    let now = instant(now);
    with(|instance| match &mut instance.machine {
        Machine::Client(client) => client.call(&instance.text, now).map_or(-1, u32::cast_signed),
        Machine::None | Machine::Server(_) => -1,
    })
}

/// Cancels the call with this number.
#[unsafe(no_mangle)]
extern "C" fn cancel(number: u32) {
    with(|instance| {
        if let Machine::Client(client) = &mut instance.machine {
            client.cancel(number);
        }
    });
}

fn take(next: impl FnOnce(&mut Machine) -> Option<Vec<u8>>) -> isize {
    with(|instance| match next(&mut instance.machine) {
        Some(text) => {
            instance.text = text;
            instance.text.len().cast_signed()
        }
        None => -1,
    })
}
