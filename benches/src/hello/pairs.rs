//! Compares servers that run in turns, so that other load on the computer affects all of them.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::HelloServer;
use super::client::{Driven, Pace, Transport};

/// The results of a server in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Round {
    /// The calls per second.
    pub calls_per_second: f64,
    /// The server's processor time per call, in microseconds.
    pub processor_micros: f64,
}

/// Servers that are compared with each other.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The transport of the calls.
    pub transport: Transport,
    /// The number of calls in flight; over HTTP, the number of connections.
    pub in_flight: usize,
    /// The servers, in the order of their turns. The last one is the reference.
    pub servers: &'static [HelloServer],
}

impl Comparison {
    /// Returns all comparisons.
    pub fn all() -> impl Iterator<Item = Self> {
        const STDIO: &[HelloServer] =
            &[HelloServer::Std, HelloServer::Tokio, HelloServer::TokioFloor, HelloServer::Rmcp];
        const HTTP: &[HelloServer] = &[
            HelloServer::Http,
            HelloServer::HttpInline,
            HelloServer::Hyper,
            HelloServer::RmcpHttp,
        ];
        let of = |transport, servers| move |in_flight| Self { transport, in_flight, servers };
        let pipes = [1, 16, 64].map(of(Transport::Stdio, STDIO));
        let stateless = [1, 16].map(of(Transport::HttpStateless, HTTP));
        let sessions = [1, 16].map(of(Transport::HttpSession, HTTP));
        pipes.into_iter().chain(stateless).chain(sessions)
    }

    /// Runs the servers in turns. Returns the rounds of each server, in the order of the servers.
    ///
    /// # Errors
    ///
    /// Fails if a server does not start, or does not respond as expected.
    pub fn run(
        &self,
        program: &Path,
        rounds: usize,
        at_least: Duration,
    ) -> io::Result<Vec<Vec<Round>>> {
        let mut results = vec![Vec::new(); self.servers.len()];
        for _ in 0..rounds {
            for (server, results) in self.servers.iter().zip(&mut results) {
                results.push(self.round(program, *server, at_least)?);
            }
        }
        Ok(results)
    }

    fn round(&self, program: &Path, server: HelloServer, at_least: Duration) -> io::Result<Round> {
        /// Large enough that the start and the end, with fewer calls in flight, are negligible.
        const CALLS: usize = 2_048;
        let mut command = Command::new(program);
        command.arg(server.name());
        let mut driven = Driven::start(&mut command, self.transport, self.in_flight)?;
        driven.call(CALLS, Pace::Sliding)?;
        let (start, processor) = (Instant::now(), driven.processor_time()?);
        let mut calls = 0;
        while start.elapsed() < at_least {
            driven.call(CALLS, Pace::Sliding)?;
            calls += CALLS;
        }
        let (elapsed, processor) = (start.elapsed(), driven.processor_time()? - processor);
        driven.end()?;
        Ok(Round {
            calls_per_second: calls as f64 / elapsed.as_secs_f64(),
            processor_micros: processor.as_secs_f64() * 1e6 / calls as f64,
        })
    }
}

/// Returns the median of at least one number. For an even count, it is the mean of the two middle numbers.
pub fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let (lower, upper) = (numbers.len().saturating_sub(1) / 2, numbers.len() / 2);
    (numbers[lower] + numbers[upper]) / 2.0
}

/// Returns the median of the ratios of a quantity, each between the rounds of the two servers in the same turn.
pub fn ratio(ours: &[Round], theirs: &[Round], of: impl Fn(&Round) -> f64) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| of(ours) / of(theirs)))
}
