//! The functions of the interface.

use std::ffi::c_char;
use std::time::Duration;

use mcp_sansio::call::Timeout;
use mcp_sansio::json::{Number, Raw};
use mcp_sansio::progress::Progress;
use mcp_sansio::schema::Payload;
use mcp_sansio::{CallOptions, ErrorCode, Instant};

use crate::config;
use crate::connection::McpConnection;
use crate::error::{Failure, McpStatus, guarded};
use crate::event::McpEvent;
use crate::text::{bytes, not_null, text};

/// Runs a function on a connection.
///
/// # Safety
///
/// `connection` is null or was returned by this library, is not freed, and is used by no other thread.
unsafe fn with(
    connection: *mut McpConnection,
    run: impl FnOnce(&mut McpConnection) -> Result<(), Failure>,
) -> McpStatus {
    // SAFETY: the caller promises it.
    let connection = unsafe { connection.as_mut() };
    let Some(connection) = connection else {
        return guarded(|| Err(Failure::new(McpStatus::InvalidArgument, "connection is null")));
    };
    if connection.is_broken {
        return guarded(|| {
            Err(Failure::new(McpStatus::Panicked, "the library has panicked before"))
        });
    }
    // Only a panic leaves the flag set.
    connection.is_broken = true;
    let status = guarded(|| run(connection));
    connection.is_broken = status == McpStatus::Panicked;
    status
}

/// Stores a new connection.
///
/// # Safety
///
/// `place` is null or points to memory for a pointer, which need not be initialised.
unsafe fn store(place: *mut *mut McpConnection, new: McpConnection) -> Result<(), Failure> {
    not_null(place, "connection")?;
    // SAFETY: the caller promises it.
    unsafe { place.write(Box::into_raw(Box::new(new))) };
    Ok(())
}

/// Creates a server, and stores it at `connection`. `config` is a JSON object with these members; the first two are
/// required:
///
/// - `name` and `version` of the server;
/// - `capabilities`, an object as in the specification: `{"tools":{}}`;
/// - `instructions` for the model;
/// - `revisions`, an array of the revisions that it speaks: `["2025-11-25","2026-07-28"]`, by default all;
/// - `drain_ms`: how long open requests may be answered after the end of the input, by default 1500;
/// - `call_ms`: how long a call may take in total, by default 600000. A call also ends after 60 s without a response or
///   progress.
///
/// # Safety
///
/// `config` points to `length` bytes, and `connection` to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_server_new(
    config: *const c_char,
    length: usize,
    connection: *mut *mut McpConnection,
) -> McpStatus {
    guarded(|| {
        // SAFETY: the caller promises it.
        let config = unsafe { text(config, length, "config") }?;
        let new = McpConnection::server(config::server(config)?);
        // SAFETY: the caller promises it.
        unsafe { store(connection, new) }
    })
}

/// Creates a client, which begins to connect: its first message is among the bytes to send. Calls are held until it is
/// connected. The configuration is that of [`mcp_server_new`], without `instructions`.
///
/// # Safety
///
/// As for [`mcp_server_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_client_new(
    config: *const c_char,
    length: usize,
    now: u64,
    connection: *mut *mut McpConnection,
) -> McpStatus {
    guarded(|| {
        // SAFETY: the caller promises it.
        let config = unsafe { text(config, length, "config") }?;
        let new = McpConnection::client(config::client(config)?, Instant::from_nanos(now))?;
        // SAFETY: the caller promises it.
        unsafe { store(connection, new) }
    })
}

/// Frees a connection. Null is ignored.
///
/// # Safety
///
/// `connection` was returned by this library and is not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_free(connection: *mut McpConnection) {
    if connection.is_null() {
        return;
    }
    guarded(|| {
        // SAFETY: the caller promises it.
        drop(unsafe { Box::from_raw(connection) });
        Ok(())
    });
}

/// Copies input in, and returns how many bytes were taken: fewer than `length` while events wait, and of a large input.
/// Call [`mcp_next_event`] until it returns `false`, and feed the rest. If it fails, it takes all input, so that no loop
/// waits for it: an argument is wrong, or [`mcp_is_closed`] is `true` after [`McpStatus::Panicked`].
///
/// # Safety
///
/// `input` points to `length` bytes. For every function, `connection` was returned by this library, is not freed, and is
/// used by no other thread meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_feed(
    connection: *mut McpConnection,
    input: *const u8,
    length: usize,
) -> usize {
    let mut taken = 0;
    // SAFETY: the caller promises it.
    let status = unsafe {
        with(connection, |connection| {
            taken = connection.feed(bytes(input, length, "input")?);
            Ok(())
        })
    };
    if status == McpStatus::Ok { taken } else { length }
}

/// Notes the end of the input. Do not read again. A server may still answer its open requests.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_finish(connection: *mut McpConnection) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            connection.finish();
            Ok(())
        })
    }
}

/// Notes that reading or writing has failed. The connection ends; its last events follow. Bytes to send stay, and these
/// events may add some: after a failed write, drop them with [`mcp_sent`] instead of waiting for the stream.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_fail(connection: *mut McpConnection, now: u64) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            connection.fail(Instant::from_nanos(now));
            Ok(())
        })
    }
}

/// Stores the next event. Returns `false` if there is none before more input, [`mcp_deadline`], or [`mcp_sent`]:
/// notifications may wait for room among the bytes to send. So call it after `mcp_sent`, before the program waits.
///
/// # Safety
///
/// As for [`mcp_feed`], and `event` points to an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_next_event(
    connection: *mut McpConnection,
    now: u64,
    event: *mut McpEvent,
) -> bool {
    let mut is_stored = false;
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            not_null(event, "event")?;
            if let Some(next) = connection.next_event(Instant::from_nanos(now)) {
                event.write(next);
                is_stored = true;
            }
            Ok(())
        });
    }
    is_stored
}

/// Returns the time at which to call [`mcp_next_event`] although no input has arrived; `UINT64_MAX` if there is none.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_deadline(connection: *mut McpConnection) -> u64 {
    let mut deadline = u64::MAX;
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            if let Some(next) = connection.deadline() {
                let nanoseconds = next.since_epoch().as_nanos();
                deadline = u64::try_from(nanoseconds).unwrap_or(u64::MAX);
            }
            Ok(())
        });
    }
    deadline
}

/// Returns the bytes to send, and stores their number at `length`, 0 if it fails. They are valid until the next call with
/// the connection.
///
/// # Safety
///
/// As for [`mcp_feed`], and `length` points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_unsent(
    connection: *mut McpConnection,
    length: *mut usize,
) -> *const u8 {
    let mut start = std::ptr::null();
    // SAFETY: the caller promises it.
    unsafe {
        if guarded(|| not_null(length, "length")) != McpStatus::Ok {
            return start;
        }
        length.write(0);
        with(connection, |connection| {
            let unsent = connection.unsent();
            length.write(unsent.len());
            start = unsent.as_ptr();
            Ok(())
        });
    }
    start
}

/// Removes bytes that were sent from the front of [`mcp_unsent`]; `SIZE_MAX` removes all.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_sent(connection: *mut McpConnection, length: usize) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            connection.sent(length);
            Ok(())
        })
    }
}

/// Responds to a request with a result, a JSON object; an empty text is an empty object.
///
/// # Safety
///
/// As for [`mcp_feed`], and `result` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_respond(
    connection: *mut McpConnection,
    request: u64,
    result: *const c_char,
    length: usize,
) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            let result = text(result, length, "result")?;
            let result = config::object(result, "result")?.unwrap_or(EMPTY);
            let id = connection.request(request)?;
            let (machine, outbox) = connection.parts();
            machine.respond(id, &result, outbox)?;
            connection.end_request(request);
            Ok(())
        })
    }
}

/// Responds to a request with an error. The message is one short sentence.
///
/// # Safety
///
/// As for [`mcp_feed`], and `message` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_reject(
    connection: *mut McpConnection,
    request: u64,
    code: i32,
    message: *const c_char,
    length: usize,
) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            let message = text(message, length, "message")?;
            let id = connection.request(request)?;
            let (machine, outbox) = connection.parts();
            machine.reject(id, ErrorCode::new(code.into()), message, outbox)?;
            connection.end_request(request);
            Ok(())
        })
    }
}

/// Reports the progress of a request, if the peer asked for it. Each report is greater than the one before; others are not
/// sent. `total` is not sent if it is not a number.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_progress(
    connection: *mut McpConnection,
    request: u64,
    progress: f64,
    total: f64,
    now: u64,
) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            let Ok(progress) = Number::try_from(progress) else {
                return Err(Failure::new(McpStatus::InvalidArgument, "progress is not finite"));
            };
            let mut report = Progress::new(progress);
            if let Ok(total) = Number::try_from(total) {
                report = report.total(total);
            }
            let id = connection.request(request)?;
            let (machine, outbox) = connection.parts();
            machine.progress(id, report, Instant::from_nanos(now), outbox)?;
            Ok(())
        })
    }
}

/// Sends a notification. `params` is a JSON object, or empty.
///
/// # Safety
///
/// As for [`mcp_feed`], and the texts point to as many bytes as their lengths say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_notify(
    connection: *mut McpConnection,
    method: *const c_char,
    method_length: usize,
    params: *const c_char,
    params_length: usize,
) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            let method = text(method, method_length, "method")?;
            let params = config::object(text(params, params_length, "params")?, "params")?;
            let (machine, outbox) = connection.parts();
            machine.notify_method(method, payload(params.as_ref()), None, outbox)?;
            Ok(())
        })
    }
}

/// Calls a method of the peer, and stores the number of the call at `call`. `params` is a JSON object, or empty. The
/// call asks for progress. It ends with one event, at the latest after `timeout_ms`, or after `call_ms` of the
/// configuration if that is 0. It also ends after 60 s without a response or progress.
///
/// # Safety
///
/// As for [`mcp_feed`], the texts point to as many bytes as their lengths say, and `call` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_call(
    connection: *mut McpConnection,
    method: *const c_char,
    method_length: usize,
    params: *const c_char,
    params_length: usize,
    timeout_ms: u64,
    now: u64,
    call: *mut u64,
) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            not_null(call, "call")?;
            let method = text(method, method_length, "method")?;
            let params = config::object(text(params, params_length, "params")?, "params")?;
            let mut options = CallOptions::new().progress();
            if timeout_ms != 0 {
                options = options.total(Timeout::After(Duration::from_millis(timeout_ms)));
            }
            let (machine, outbox) = connection.parts();
            let (params, now) = (payload(params.as_ref()), Instant::from_nanos(now));
            let id = machine.call_method(method, params, options, now, outbox)?;
            call.write(connection.begin_call(id));
            Ok(())
        })
    }
}

/// Cancels a call. It has ended, without an event. If the connection has ended before, the call is not cancelled
/// (`MCP_STATUS_CLOSED`): the event of its end waits.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_cancel(connection: *mut McpConnection, call: u64) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            let id = connection.call(call)?;
            let (machine, outbox) = connection.parts();
            machine.cancel(id, None, outbox)?;
            connection.end_call(call);
            Ok(())
        })
    }
}

/// Ends the connection when every open request has a response and no call is open, at the latest after `grace_ms`.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_shut_down(
    connection: *mut McpConnection,
    grace_ms: u64,
    now: u64,
) -> McpStatus {
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            let (machine, _) = connection.parts();
            machine.shut_down(Duration::from_millis(grace_ms), Instant::from_nanos(now));
            Ok(())
        })
    }
}

/// Whether the connection has ended. Events and bytes to send may still be left.
///
/// # Safety
///
/// As for [`mcp_feed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcp_is_closed(connection: *mut McpConnection) -> bool {
    let mut is_closed = true;
    // SAFETY: the caller promises it.
    unsafe {
        with(connection, |connection| {
            is_closed = connection.is_closed();
            Ok(())
        });
    }
    is_closed
}

const EMPTY: Raw<'static> = Raw::EMPTY_OBJECT;

/// Returns params as a payload.
fn payload<'p>(params: Option<&'p Raw<'p>>) -> &'p dyn Payload {
    match params {
        Some(params) => params,
        None => &(),
    }
}

#[cfg(test)]
#[path = "functions_tests.rs"]
mod tests;
