//! A server for many clients in one thread on `io_uring`. Only the clock is from an adapter. Linux only, on x86-64 and
//! ARM64.
//!
//! Shows a loop of completions instead of readiness: the kernel owns a buffer from the submission of an operation to
//! its completion, so neither the inbox nor the outbox is lent to it. Input goes to a buffer of the client, which is
//! fed to its `ByteStream`. Output is a copy of the unsent bytes; they count as sent when the kernel has taken them, so
//! that a call that waits behind them can still be withdrawn.
//!
//! Usage: `cargo run --example uring_server [ADDRESS]`. The default address, `127.0.0.1:0`, selects a free port, and the
//! program prints it. Its tools are those of the example `event_loop_server`.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn main() {
    eprintln!("this example of io_uring runs on Linux, on x86-64 and ARM64");
    std::process::exit(1);
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "event_loop/tools.rs"]
mod tools;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn main() -> std::io::Result<()> {
    server::run()
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod server {
    use std::collections::BTreeMap;
    use std::io::{self, ErrorKind};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::sync::Arc;
    use std::time::Duration;

    use io_uring::types::{Fd, SubmitArgs, Timespec};
    use io_uring::{IoUring, opcode, squeue};
    use mcp_sansio::{ByteStream, Cause, ConnectionNumber, Instant, Server, ServerConfig};
    use mcp_sansio_std::Clock;

    use crate::tools::{self, Later};

    /// The operations that may wait for submission. More are submitted in several steps.
    const ENTRIES: u32 = 256;

    const INPUT_BYTES: usize = 16 << 10;
    const OUTPUT_BYTES: usize = 64 << 10;

    /// The time that a client may take to read the last output.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// The pause after a failed accept: most likely there are too many open files.
    const BREATH: Duration = Duration::from_millis(50);

    /// The `user_data` of the operation on the listener. Those of a client are twice its number, and one more.
    const ACCEPT: u64 = 0;

    /// A connection: its socket, the server behind it, and the buffers that the kernel uses.
    struct Client {
        socket: TcpStream,
        stream: ByteStream<Server>,
        later: Later,
        input: Box<[u8]>,
        /// Whether the kernel owns `input`.
        is_receiving: bool,
        /// Whether no more input follows.
        has_ended: bool,
        /// Owned by the kernel unless it is empty.
        output: Vec<u8>,
        /// The time to give up on a client that does not read the last output.
        patience: Option<Instant>,
        is_shut_down: bool,
    }

    impl Client {
        fn new(socket: TcpStream, config: &Arc<ServerConfig>, number: u64) -> Self {
            // After four billion connections the numbers begin again.
            let number = ConnectionNumber::new(number as u32);
            let server = Server::with_connection_number(Arc::clone(config), number);
            Self {
                socket,
                stream: ByteStream::lines(server),
                later: Later::default(),
                input: vec![0; INPUT_BYTES].into(),
                is_receiving: false,
                has_ended: false,
                output: Vec::new(),
                patience: None,
                is_shut_down: false,
            }
        }

        /// Takes the input of a completed operation.
        fn received(&mut self, result: i32, now: Instant) {
            self.is_receiving = false;
            let Ok(bytes) = usize::try_from(result) else {
                self.has_ended = true;
                return self.stream.fail(Cause::ReadFailed, now);
            };
            if bytes == 0 {
                self.has_ended = true;
                return self.stream.finish();
            }
            let mut rest = self.input.get(..bytes).unwrap_or_default();
            while !rest.is_empty() {
                rest = rest.get(self.stream.feed(rest)..).unwrap_or_default();
                self.later.handle_steps(&mut self.stream, now);
            }
        }

        /// Notes the output that the kernel has taken.
        fn sent(&mut self, result: i32, now: Instant) {
            self.output.clear();
            match usize::try_from(result) {
                Ok(bytes) => self.stream.sent(bytes),
                Err(_) => {
                    self.stream.fail(Cause::WriteFailed, now);
                    // The peer reads no more. Sending the rest would fail at once, again and again.
                    let unsent = self.stream.unsent().len();
                    self.stream.sent(unsent);
                }
            }
        }

        /// Returns the next operations of this client.
        fn operations(&mut self, number: u64) -> impl Iterator<Item = squeue::Entry> + use<> {
            let socket = Fd(self.socket.as_raw_fd());
            let mut receive = None;
            // Otherwise the responses to a client that does not read them would exhaust the outbox, and the next
            // requests would stay without a response.
            let has_room = !self.stream.machine_and_outbox().1.is_congested();
            if has_room && !self.is_receiving && !self.has_ended {
                self.is_receiving = true;
                let (start, length) = (self.input.as_mut_ptr(), INPUT_BYTES as u32);
                receive =
                    Some(opcode::Recv::new(socket, start, length).build().user_data(2 * number));
            }
            let mut send = None;
            let unsent = self.stream.unsent();
            if self.output.is_empty() && !unsent.is_empty() && !self.is_shut_down {
                self.output.extend_from_slice(unsent.get(..OUTPUT_BYTES).unwrap_or(unsent));
                let (start, length) = (self.output.as_ptr(), self.output.len() as u32);
                send = Some(
                    opcode::Send::new(socket, start, length).build().user_data(2 * number + 1),
                );
            }
            receive.into_iter().chain(send)
        }

        fn deadline(&self) -> Option<Instant> {
            let stream = self.stream.poll_timeout();
            self.later.deadline().into_iter().chain(stream).chain(self.patience).min()
        }

        /// Whether the connection has ended, no output is left that the client would read, and the kernel owns no
        /// buffer.
        fn is_over(&mut self, now: Instant) -> bool {
            if !self.stream.is_closed() || self.stream.poll_timeout().is_some() {
                return false;
            }
            let patience = self.patience.get_or_insert(now + PATIENCE);
            let is_written = self.stream.unsent().is_empty() && self.output.is_empty();
            if (is_written || *patience <= now) && !self.is_shut_down {
                // Ends the operations that are pending.
                self.is_shut_down = true;
                _ = self.socket.shutdown(std::net::Shutdown::Both);
            }
            self.is_shut_down && !self.is_receiving && self.output.is_empty()
        }
    }

    pub(super) fn run() -> io::Result<()> {
        let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
        let address: SocketAddr = address.parse().map_err(io::Error::other)?;
        let mut ring = IoUring::new(ENTRIES)?;
        let listener = TcpListener::bind(address)?;
        eprintln!("listening on {}", listener.local_addr()?);
        let (config, clock) = (tools::config("uring_server"), Clock::new());
        // Never dropped: after an error, the kernel may still use the buffers.
        let clients: &mut BTreeMap<u64, Client> = Box::leak(Box::default());
        let (mut next, mut is_accepting) = (1, false);
        // The end of the pause after a failed accept.
        let mut pause = None::<Instant>;
        loop {
            if pause.is_none_or(|end| end <= clock.now()) && !is_accepting {
                (is_accepting, pause) = (true, None);
                let listener = Fd(listener.as_raw_fd());
                let accept =
                    opcode::Accept::new(listener, std::ptr::null_mut(), std::ptr::null_mut());
                push(&mut ring, &accept.build().user_data(ACCEPT))?;
            }
            for (number, client) in clients.iter_mut() {
                for operation in client.operations(*number) {
                    push(&mut ring, &operation)?;
                }
            }
            let deadline = clients.values().filter_map(Client::deadline).chain(pause).min();
            wait(&ring, deadline.map(|deadline| deadline - clock.now()))?;
            let now = clock.now();
            for completed in ring.completion() {
                let (data, result) = (completed.user_data(), completed.result());
                if data == ACCEPT {
                    is_accepting = false;
                    if result < 0 {
                        // Most likely there are too many open files. The connected clients are still served.
                        let error = io::Error::from_raw_os_error(-result);
                        tools::log(&format_args!("accept: {error}"));
                        pause = Some(now + BREATH);
                        continue;
                    }
                    // SAFETY: the kernel has just opened this socket for us, and nothing else owns it.
                    let socket = unsafe { TcpStream::from_raw_fd(result) };
                    clients.insert(next, Client::new(socket, &config, next));
                    next += 1;
                } else if let Some(client) = clients.get_mut(&(data / 2)) {
                    if data % 2 == 0 {
                        client.received(result, now)
                    } else {
                        client.sent(result, now)
                    }
                }
            }
            for client in clients.values_mut() {
                client.later.finish_work(&mut client.stream, now);
                client.later.handle_steps(&mut client.stream, now);
            }
            clients.retain(|_, client| !client.is_over(now));
        }
    }

    /// Queues an operation. A full queue is submitted first.
    fn push(ring: &mut IoUring, operation: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: the buffers of an operation belong to its client, at places that do not move. A client is dropped
            // only when the kernel owns none of them.
            if unsafe { ring.submission().push(operation) }.is_ok() {
                return Ok(());
            }
            ring.submit()?;
        }
    }

    /// Submits the queued operations, and waits until one is complete or the time has passed.
    fn wait(ring: &IoUring, time: Option<Duration>) -> io::Result<()> {
        let (mut arguments, timespec) = (SubmitArgs::new(), time.map(Timespec::from));
        if let Some(timespec) = &timespec {
            arguments = arguments.timespec(timespec);
        }
        match ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => Ok(()),
            // The time has passed, or a signal has interrupted the wait.
            Err(error) if error.raw_os_error() == Some(ETIME) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    const ETIME: i32 = 62;
}
