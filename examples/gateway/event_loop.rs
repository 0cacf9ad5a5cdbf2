//! The event loop: waits for bytes or deadlines, and passes them to the machines.
//!
//! It owns everything except the pipes. A line connects the gateway with a peer: an inbox, a reading thread, a
//! writing thread, and the process at the other end if that is a child process.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_sansio::{Cause, ConnectionNumber, Inbox, Instant, Outbox};
use mcp_sansio_std::{Clock, Process, ProcessOptions, Sleeps, Waiting};

use crate::arguments::StartOf;
use crate::gateway::{Gateway, Party};
use crate::pipes::{self, News, Writer};
use crate::say::say;

/// How long the client may take to read the last output.
const PATIENCE: Duration = Duration::from_secs(5);

struct Line {
    party: Party,
    inbox: Inbox,
    /// `None` once the line is closed.
    writer: Option<Writer>,
    process: Option<Process>,
}

/// The reason why the loop has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    ClientGone,
    Interrupted,
}

pub(crate) struct EventLoop {
    gateway: Gateway,
    starts: Vec<StartOf>,
    lines: Vec<Line>,
    news: Receiver<News>,
    sender: SyncSender<News>,
    clock: Clock,
    /// The threads that end processes.
    ends: Vec<JoinHandle<()>>,
}

impl EventLoop {
    pub(crate) fn new(gateway: Gateway, starts: Vec<StartOf>, clock: Clock) -> Self {
        let (sender, news) = mpsc::sync_channel(pipes::WAITING);
        Self { gateway, starts, lines: Vec::new(), news, sender, clock, ends: Vec::new() }
    }

    /// Returns a sender for other sources of news.
    pub(crate) fn sender(&self) -> SyncSender<News> {
        self.sender.clone()
    }

    /// Starts every upstream and connects to it, all concurrently.
    pub(crate) fn start_upstreams(&mut self) -> Result<(), String> {
        for upstream in 0..self.starts.len() {
            self.start(upstream)?;
            let name = &self.starts[upstream].name;
            let connected = self.gateway.upstreams[upstream].connect(self.clock.now());
            connected.map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    fn start(&mut self, upstream: usize) -> Result<(), String> {
        let start = &self.starts[upstream];
        let cannot = |error: io::Error| {
            format!("{}: {} cannot be started: {error}", start.name, start.program())
        };
        let spawned = Process::spawn(&mut start.command(), ProcessOptions::default());
        let (process, stdin, stdout) = spawned.map_err(cannot)?;
        let line = self.lines.len();
        pipes::read(line, stdout, self.sender.clone()).map_err(cannot)?;
        let writer = Writer::start(line, stdin, self.sender.clone()).map_err(cannot)?;
        let limits = &self.gateway.upstreams[upstream].client.config().connection.limits;
        self.lines.push(Line {
            party: Party::Upstream(upstream),
            inbox: Inbox::new(limits),
            writer: Some(writer),
            process: Some(process),
        });
        Ok(())
    }

    /// Starts to read from the client.
    pub(crate) fn listen(&mut self) -> io::Result<()> {
        let line = self.lines.len();
        pipes::read(line, io::stdin(), self.sender.clone())?;
        let writer = Writer::start(line, io::stdout(), self.sender.clone())?;
        let inbox = Inbox::new(&self.gateway.server.config().connection.limits);
        self.lines.push(Line { party: Party::Client, inbox, writer: Some(writer), process: None });
        Ok(())
    }

    /// Runs until the client has disconnected.
    pub(crate) fn run(mut self) -> Ending {
        let mut ending = Ending::ClientGone;
        while !self.gateway.is_over() {
            self.write();
            let news = self.wait(self.gateway.deadline());
            let now = self.clock.now();
            if matches!(news, Some(News::Interrupted)) {
                self.gateway.server.close();
                ending = Ending::Interrupted;
            }
            self.on_news(news, now);
            self.gateway.keep_time(now);
            self.restart_upstreams(now);
            self.end_lines();
        }
        self.finish();
        ending
    }

    /// Waits for news until the deadline.
    fn wait(&self, deadline: Option<Instant>) -> Option<News> {
        match deadline {
            None => self.news.recv().ok(),
            Some(deadline) => self.news.recv_timeout(deadline - self.clock.now()).ok(),
        }
    }

    fn on_news(&mut self, news: Option<News>, now: Instant) {
        match news {
            Some(News::Bytes(line, bytes)) => self.take(line, &bytes, now),
            Some(News::Ended(line)) => {
                self.lines[line].inbox.finish();
                self.take(line, &[], now);
                self.disconnect(line, Cause::EndOfInput, now);
            }
            Some(News::Written(line)) => {
                if let Some(writer) = &mut self.lines[line].writer {
                    writer.written();
                }
            }
            Some(News::Broken(line)) if self.lines[line].writer.take().is_some() => {
                self.disconnect(line, Cause::WriteFailed, now);
            }
            _ => {}
        }
    }

    fn disconnect(&mut self, line: usize, cause: Cause, now: Instant) {
        let party = self.lines[line].party;
        // A newer line to the same upstream may exist.
        if self.lines.iter().rposition(|other| other.party == party) == Some(line) {
            self.gateway.disconnected(party, cause, now);
        }
    }

    /// Passes bytes to their machine, frame by frame.
    fn take(&mut self, line: usize, mut bytes: &[u8], now: Instant) {
        let Self { lines, gateway, .. } = self;
        let Line { party, inbox, .. } = &mut lines[line];
        loop {
            let (_, rest) = bytes.split_at(inbox.feed(bytes));
            while let Some(frame) = inbox.next() {
                gateway.receive(*party, frame, now);
            }
            if rest.is_empty() {
                return;
            }
            bytes = rest;
        }
    }

    /// Restarts upstreams that support only `initialize`: their machines begin with that request.
    fn restart_upstreams(&mut self, now: Instant) {
        for upstream in 0..self.starts.len() {
            let is_over = !self.gateway.upstreams[upstream].is_alive();
            if !(is_over && self.gateway.upstreams[upstream].wants_restart) {
                continue;
            }
            self.end_line_of(upstream);
            let number = ConnectionNumber::new(u32::try_from(self.lines.len()).unwrap_or(u32::MAX));
            let again = self.gateway.upstreams[upstream].restart(number);
            if let Err(error) = self.start(upstream) {
                say!("gateway: {error}");
                self.gateway.disconnected(Party::Upstream(upstream), Cause::ReadFailed, now);
            }
            // Without a process, this and all following calls fail.
            _ = self.gateway.upstreams[upstream].connect(now);
            for purpose in again {
                self.gateway.do_again(upstream, purpose);
            }
        }
    }

    fn write(&mut self) {
        let Self { lines, gateway, .. } = self;
        for line in lines {
            if let Some(writer) = &mut line.writer {
                writer.write(outbox(gateway, line.party));
            }
        }
    }

    /// Ends the processes of upstreams whose connections have ended.
    fn end_lines(&mut self) {
        for upstream in 0..self.starts.len() {
            if !self.gateway.upstreams[upstream].is_alive() {
                self.end_line_of(upstream);
            }
        }
    }

    /// Closes the input of an upstream, and waits for its end on another thread.
    fn end_line_of(&mut self, upstream: usize) {
        for line in self.lines.iter_mut().filter(|line| line.party == Party::Upstream(upstream)) {
            if let Some(mut writer) = line.writer.take() {
                writer.write(&mut self.gateway.upstreams[upstream].outbox);
            }
            if let Some(mut process) = line.process.take() {
                let end = move || _ = Waiting::new(process.end(&Sleeps::new())).wait();
                self.ends.push(thread::spawn(end));
            }
        }
    }

    /// Ends the upstreams after the client has disconnected, and waits until the last response is written.
    fn finish(mut self) {
        let patience = self.clock.now() + PATIENCE;
        for upstream in &mut self.gateway.upstreams {
            upstream.client.close();
        }
        self.write();
        self.end_lines();
        while self.is_writing() && self.clock.now() < patience {
            let news = self.wait(Some(patience));
            if matches!(news, Some(News::Written(_) | News::Broken(_))) {
                self.on_news(news, self.clock.now());
            }
            self.write();
        }
        for end in self.ends {
            // It panics only if the process has already ended.
            _ = end.join();
        }
    }

    /// Whether the client has not read all output.
    fn is_writing(&self) -> bool {
        let line = self.lines.iter().find(|line| line.party == Party::Client);
        let writer = line.and_then(|line| line.writer.as_ref());
        writer.is_some_and(|writer| writer.is_busy() || !self.gateway.outbox.is_empty())
    }
}

fn outbox(gateway: &mut Gateway, party: Party) -> &mut Outbox {
    match party {
        Party::Client => &mut gateway.outbox,
        Party::Upstream(upstream) => &mut gateway.upstreams[upstream].outbox,
    }
}
