//! An MCP server in the loop of a desktop program: GLib's, which GTK runs.
//!
//! Everything happens on the thread of the user interface, and nothing on it waits: standard input and output are
//! sources of the loop, and so is one alarm for the next deadline. `tools` has the tools; one of them computes on a
//! thread of its own. The program restores the mode of standard input and output when it ends, also after Ctrl-C.
//!
//! Here the user interface is a counter that a source increments every 10 ms. The tool `status` returns the counter.
//!
//! ```sh
//! (cd examples/desktop && cargo build --locked)
//! cargo run --example inspect -- --call compute '{"milliseconds":200}' -- target/desktop/debug/desktop_server
//! ```

mod tools;

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::time::Duration;

use glib::{ControlFlow, IOCondition, MainContext, MainLoop, SourceId};
use mcp_sansio::{ByteStream, Cause, Instant, Server};
use mcp_sansio_driver::Clock;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::Signal;

use self::tools::Tools;

/// The interval at which the user interface moves.
const FRAME: Duration = Duration::from_millis(10);

/// The time that a client may take to read the last output.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server, and the sources of the loop that wait for it.
struct App {
    stream: ByteStream<Server>,
    tools: Tools,
    clock: Clock,
    main_loop: MainLoop,
    input: Option<SourceId>,
    output: Option<SourceId>,
    alarm: Option<SourceId>,
    /// Whether the input can have more bytes.
    has_input: bool,
    /// The time at which the program ends although the client has not read the last output. Set once the connection has
    /// ended.
    patience: Option<Instant>,
}

type Shared = Rc<RefCell<App>>;

/// A stream in non-blocking mode. Dropping it restores the mode, which other processes share: a shell, for example.
struct NonBlocking<S: AsFd> {
    stream: S,
    was_blocking: bool,
}

impl<S: AsFd> NonBlocking<S> {
    fn new(stream: S) -> io::Result<Self> {
        let flags = fcntl_getfl(&stream)?;
        fcntl_setfl(&stream, flags | OFlags::NONBLOCK)?;
        Ok(Self { stream, was_blocking: !flags.contains(OFlags::NONBLOCK) })
    }
}

impl<S: AsFd> Drop for NonBlocking<S> {
    fn drop(&mut self) {
        if self.was_blocking
            && let Ok(flags) = fcntl_getfl(&self.stream)
        {
            _ = fcntl_setfl(&self.stream, flags - OFlags::NONBLOCK);
        }
    }
}

fn main() -> io::Result<()> {
    let _streams = (NonBlocking::new(io::stdin())?, NonBlocking::new(io::stdout())?);
    let main_loop = MainLoop::new(None, false);
    for signal in [Signal::INT, Signal::TERM] {
        let main_loop = main_loop.clone();
        glib_unix::unix_signal_add_local_once(signal.as_raw(), move || main_loop.quit());
    }
    let app = Rc::new(RefCell::new(App {
        stream: ByteStream::lines(tools::server()),
        tools: Tools::default(),
        clock: Clock::new(),
        main_loop: main_loop.clone(),
        input: None,
        output: None,
        alarm: None,
        has_input: true,
        patience: None,
    }));
    let interface = Rc::clone(&app);
    glib::timeout_add_local(FRAME, move || {
        interface.borrow_mut().tools.frames += 1;
        ControlFlow::Continue
    });
    settle(&app);
    main_loop.run();
    Ok(())
}

/// Does everything that can be done without waiting, and sets the sources that wait for the rest.
fn settle(app: &Shared) {
    let mut this = app.borrow_mut();
    let now = this.clock.now();
    let App { stream, tools, .. } = &mut *this;
    tools.handle_steps(stream, now, |done| when_computed(app, done));
    tools.advance(stream, now);
    this.write();
    if this.is_over(now) {
        return this.main_loop.quit();
    }
    this.set_input(app);
    this.set_output(app);
    this.set_alarm(app);
}

/// Waits for the result of a thread, and hands it to the server.
fn when_computed(app: &Shared, done: tools::Computed) {
    let app = Rc::clone(app);
    MainContext::default().spawn_local(async move {
        let result = done.result.await;
        let mut this = app.borrow_mut();
        let App { stream, tools, .. } = &mut *this;
        tools.computed(done.request, result, stream);
        drop(this);
        settle(&app);
    });
}

impl App {
    /// Reads once, and handles the messages.
    fn read(&mut self) {
        let now = self.clock.now();
        match rustix::io::read(io::stdin(), self.stream.space()) {
            Ok(0) => {
                self.has_input = false;
                self.stream.finish();
            }
            Ok(bytes) => self.stream.filled(bytes),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => {
                self.has_input = false;
                self.stream.fail(Cause::ReadFailed, now);
            }
        }
    }

    /// Writes as much as the output accepts.
    fn write(&mut self) {
        while !self.stream.unsent().is_empty() {
            match rustix::io::write(io::stdout(), self.stream.unsent()) {
                Ok(bytes) => self.stream.sent(bytes),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.stream.fail(Cause::WriteFailed, self.clock.now());
                    // The client will not read it.
                    self.stream.sent(self.stream.unsent().len());
                }
            }
        }
    }

    /// Whether the connection has ended, and its last output is written, or the client does not read it.
    fn is_over(&mut self, now: Instant) -> bool {
        if !self.stream.is_closed() || self.stream.poll_timeout().is_some() {
            return false;
        }
        let patience = *self.patience.get_or_insert(now + PATIENCE);
        self.stream.unsent().is_empty() || patience <= now
    }

    /// Waits for input, unless the client does not read its responses: then the memory for them would have no bound.
    fn set_input(&mut self, app: &Shared) {
        let wanted = self.has_input && !self.stream.machine_and_outbox().1.is_congested();
        if wanted == self.input.is_some() {
            return;
        }
        if let Some(input) = self.input.take() {
            return input.remove();
        }
        let app = Rc::clone(app);
        let ready = IOCondition::IN | IOCondition::HUP | IOCondition::ERR;
        let read = move |_, _| {
            app.borrow_mut().read();
            settle(&app);
            ControlFlow::Continue
        };
        self.input = Some(glib_unix::unix_fd_add_local(io::stdin().as_raw_fd(), ready, read));
    }

    /// Waits for room in the output, while there is something to write.
    fn set_output(&mut self, app: &Shared) {
        let wanted = !self.stream.unsent().is_empty();
        if wanted == self.output.is_some() {
            return;
        }
        if let Some(output) = self.output.take() {
            return output.remove();
        }
        let app = Rc::clone(app);
        let ready = IOCondition::OUT | IOCondition::HUP | IOCondition::ERR;
        let write = move |_, _| {
            settle(&app);
            ControlFlow::Continue
        };
        self.output = Some(glib_unix::unix_fd_add_local(io::stdout().as_raw_fd(), ready, write));
    }

    /// Sets the alarm for the next deadline of the connection or of a tool.
    fn set_alarm(&mut self, app: &Shared) {
        if let Some(alarm) = self.alarm.take() {
            alarm.remove();
        }
        let deadlines = [self.stream.poll_timeout(), self.tools.deadline(), self.patience];
        let Some(deadline) = deadlines.into_iter().flatten().min() else { return };
        let app = Rc::clone(app);
        // GLib truncates to milliseconds. Without one more, the loop would wake up too early again and again.
        let wait = (deadline - self.clock.now()) + Duration::from_millis(1);
        self.alarm = Some(glib::timeout_add_local_once(wait, move || {
            // This source has fired, so it must not be removed.
            app.borrow_mut().alarm = None;
            settle(&app);
        }));
    }
}
