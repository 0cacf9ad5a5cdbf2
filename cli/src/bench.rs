//! `--bench`: many calls of one tool, their rate, and a plot of their latencies.

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::json::Raw;
use mcp_sansio::model::CallToolParams;
use serde::Serialize;

use crate::actions::Output;
use crate::session::Session;

/// The number of calls, and how many are in flight at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) calls: usize,
    pub(crate) at_once: usize,
}

/// The width of the longest bar of the plot, in characters.
const WIDTH: usize = 50;

/// The longest latency that is distinguished, in microseconds: twelve days.
const LONGEST: u64 = 1 << 40;

/// The measured latencies, and what failed.
#[derive(Default)]
struct Measured {
    latencies: Vec<Duration>,
    failures: usize,
    first_failure: Option<String>,
}

/// Calls a tool as often as wanted. The calls that are already made count if the session ends.
pub(crate) fn run(
    session: &Session,
    name: &str,
    arguments: &Raw<'static>,
    load: Load,
    json: bool,
) -> Result<Output, String> {
    let options = session.tool_options(name)?;
    let params = CallToolParams::with(name, arguments.clone());
    let (next, measured) = (AtomicUsize::new(0), Mutex::new(Measured::default()));
    let work = || {
        let mut own = Measured::default();
        while next.fetch_add(1, Ordering::Relaxed) < load.calls && !session.is_over() {
            let start = Instant::now();
            match session.call_tool_quietly(&params, options) {
                Ok(()) => own.latencies.push(start.elapsed()),
                Err(failure) => {
                    own.failures += 1;
                    own.first_failure.get_or_insert(failure);
                }
            }
        }
        // No thread panics while it holds the lock.
        let mut all = measured.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.latencies.append(&mut own.latencies);
        all.failures += own.failures;
        all.first_failure = all.first_failure.take().or(own.first_failure);
    };
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 1..load.at_once.min(load.calls) {
            // With fewer threads there are fewer calls at the same time, but no fewer calls.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let elapsed = start.elapsed();
    let measured = measured.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(failure) = &measured.first_failure {
        crate::say::say!("{name}: {} of {} calls failed: {failure}", measured.failures, load.calls);
    }
    let succeeded = measured.failures == 0 && measured.latencies.len() == load.calls;
    let summary = Summary::of(measured, elapsed);
    let text = if json {
        serde_json::to_string(&summary).map_err(|error| error.to_string())?
    } else {
        summary.text(name, load.at_once)
    };
    Ok(Output { text, succeeded })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    calls: usize,
    failures: usize,
    seconds: f64,
    calls_per_second: f64,
    /// Microseconds below which half, nine tenths and so on of the calls were.
    latency_micros: Latency,
    /// The upper end of each bucket in microseconds, and the calls in it.
    histogram: Vec<(u64, usize)>,
}

#[derive(Debug, Default, Serialize)]
struct Latency {
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
}

impl Summary {
    fn of(measured: Measured, elapsed: Duration) -> Self {
        let Measured { latencies, failures, .. } = measured;
        let micros = |latency: Duration| {
            u64::try_from(latency.as_micros()).map_or(LONGEST, |micros| micros.min(LONGEST))
        };
        let mut micros: Vec<u64> = latencies.into_iter().map(micros).collect();
        micros.sort_unstable();
        // The smallest latency that at least this many of 100 calls do not exceed.
        let percentile = |percent: usize| {
            let at = (micros.len() * percent).div_ceil(100).saturating_sub(1);
            micros.get(at).copied().unwrap_or_default()
        };
        let latency_micros = Latency {
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max: percentile(100),
        };
        let seconds = elapsed.as_secs_f64();
        Self {
            calls: micros.len(),
            failures,
            seconds,
            calls_per_second: if seconds > 0.0 { micros.len() as f64 / seconds } else { 0.0 },
            latency_micros,
            histogram: histogram(&micros),
        }
    }

    fn text(&self, name: &str, at_once: usize) -> String {
        let Self { calls, seconds, calls_per_second, latency_micros: latency, .. } = self;
        let mut text = format!(
            "{name}: {calls} calls in {seconds:.2} s, {at_once} at a time: {calls_per_second:.0} calls per second\n"
        );
        let Latency { p50, p90, p99, max } = latency;
        let line = [("50 %", p50), ("90 %", p90), ("99 %", p99), ("all", max)]
            .map(|(share, micros)| format!("{share} within {}", time(*micros)));
        // Writing to a string cannot fail.
        _ = writeln!(text, "latency: {}", line.join(", "));
        let most = self.histogram.iter().map(|(_, count)| *count).max().unwrap_or_default();
        for (end, count) in &self.histogram {
            // A bucket with any call has a bar.
            let length = (count * WIDTH).div_ceil(most.max(1));
            _ = writeln!(text, "{:>9} {} {count}", time(*end), "█".repeat(length));
        }
        text.trim_end().to_owned()
    }
}

/// Counts sorted latencies in buckets. The ends of the buckets double, and there is no empty bucket at either end.
fn histogram(micros: &[u64]) -> Vec<(u64, usize)> {
    let (Some(first), Some(last)) = (micros.first(), micros.last()) else { return Vec::new() };
    let mut end = (first + 1).next_power_of_two();
    let mut buckets = vec![(end, 0)];
    while end <= *last {
        end *= 2;
        buckets.push((end, 0));
    }
    for latency in micros {
        if let Some((_, count)) = buckets.iter_mut().find(|(end, _)| latency < end) {
            *count += 1;
        }
    }
    buckets
}

/// Returns a time for a person: `850 µs`, `12.3 ms`, `1.50 s`.
fn time(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_summed_up() {
        let latencies = (1..=100).map(|number| Duration::from_micros(number * 30)).collect();
        let measured = Measured { latencies, ..Measured::default() };
        let summary = Summary::of(measured, Duration::from_millis(500));
        let Latency { p50, p90, p99, max } = summary.latency_micros;
        assert_eq!((p50, p90, p99, max), (1_500, 2_700, 2_970, 3_000));
        assert_eq!(
            summary.histogram,
            [(32, 1), (64, 1), (128, 2), (256, 4), (512, 9), (1024, 17), (2048, 34), (4096, 32)]
        );
        let text = summary.text("t", 4);
        let expected = "t: 100 calls in 0.50 s, 4 at a time: 200 calls per second\n\
                        latency: 50 % within 1.5 ms, 90 % within 2.7 ms, 99 % within 3.0 ms, all within 3.0 ms\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with(&format!("{} 34\n   4.1 ms {} 32", "█".repeat(50), "█".repeat(48))));
    }

    #[test]
    fn no_call_and_one_call_have_a_summary() {
        let none = Summary::of(Measured::default(), Duration::ZERO);
        assert_eq!((none.calls, none.histogram.len(), none.latency_micros.max), (0, 0, 0));
        let latencies = vec![Duration::ZERO];
        let one = Summary::of(Measured { latencies, ..Measured::default() }, Duration::ZERO);
        assert_eq!((one.histogram, one.latency_micros.p50), (vec![(1, 1)], 0));
        let latencies = vec![Duration::MAX];
        let one = Summary::of(Measured { latencies, ..Measured::default() }, Duration::MAX);
        assert_eq!(one.latency_micros.p50, LONGEST);
    }
}
