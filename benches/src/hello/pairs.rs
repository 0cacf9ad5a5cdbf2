//! Compares servers that run in turns, so that whatever else the machine does falls upon all of them.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::HelloServer;
use super::client::{Driven, Pace, Transport};

/// How a server has done in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Round {
    /// Calls in a second.
    pub calls_per_second: f64,
    /// Microseconds of the server's processor time for each call.
    pub processor_micros: f64,
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// How calls reach the servers.
    pub transport: Transport,
    /// How many are in flight; over HTTP, the number of connections.
    pub in_flight: usize,
    /// In turns. The last one is what the others are compared with.
    pub servers: &'static [HelloServer],
}

impl Comparison {
    /// Everything that is compared.
    pub fn all() -> impl Iterator<Item = Self> {
        const STDIO: &[HelloServer] = &[HelloServer::Std, HelloServer::Tokio, HelloServer::Rmcp];
        const HTTP: &[HelloServer] =
            &[HelloServer::Http, HelloServer::Hyper, HelloServer::RmcpHttp];
        let of = |transport, servers| move |in_flight| Self { transport, in_flight, servers };
        let pipes = [1, 16, 64].map(of(Transport::Stdio, STDIO));
        let stateless = [1, 16].map(of(Transport::HttpStateless, HTTP));
        let sessions = [1, 16].map(of(Transport::HttpSession, HTTP));
        pipes.into_iter().chain(stateless).chain(sessions)
    }

    /// Runs the servers in turns. Gives the rounds of each, in their order.
    ///
    /// # Errors
    ///
    /// That a server does not start, or does not answer as it should.
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
        /// So many that the ends, where fewer are in flight, do not count.
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

/// The median, of at least one number. Of an even number of them, the mean of the two in the middle.
pub fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let (lower, upper) = (numbers.len().saturating_sub(1) / 2, numbers.len() / 2);
    (numbers[lower] + numbers[upper]) / 2.0
}

/// The median of what a quantity of a round is, divided by the same of the other server in the same turn.
pub fn ratio(ours: &[Round], theirs: &[Round], of: impl Fn(&Round) -> f64) -> f64 {
    median(ours.iter().zip(theirs).map(|(ours, theirs)| of(ours) / of(theirs)))
}
