//! Measures the memory and the processor time of a process, from `/proc` of Linux.

use std::fs;
use std::time::Duration;

/// The unit of times in `/proc/PID/stat`: Linux reports 100 ticks per second to every program.
const TICK: Duration = Duration::from_millis(10);

/// Whether this system supports the measurements.
pub(crate) fn is_measured() -> bool {
    peak_memory(std::process::id()).is_some()
}

/// The peak resident memory of a process in bytes, since its start or since [`reset_peak`].
pub(crate) fn peak_memory(pid: u32) -> Option<u64> {
    field(pid, "VmHWM:")
}

/// A field of `/proc/PID/status` in KiB, converted to bytes.
fn field(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// Resets the peak to the current resident memory.
pub(crate) fn reset_peak(pid: u32) {
    // Only the owner of the process may do this; an outdated peak is better than none.
    _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// The current resident memory of a process in bytes.
pub(crate) fn memory(pid: u32) -> Option<u64> {
    field(pid, "VmRSS:")
}

/// The slowdown of a process by waits for a processor: 1 on an idle computer. Threads that have ended do not count.
pub(crate) fn slowdown(pid: u32) -> Option<f64> {
    let mut together = (0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // A thread may end in the meantime.
        let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
        let (ran, waited) = times_of(&text)?;
        together = (together.0 + ran, together.1 + waited);
    }
    let (ran, waited) = together;
    (ran != 0).then(|| (ran + waited) as f64 / ran as f64)
}

/// The first two fields of `/proc/PID/task/TID/schedstat`: the nanoseconds that a thread ran, and those that it
/// waited for a processor.
fn times_of(schedstat: &str) -> Option<(u64, u64)> {
    let mut times = schedstat.split_whitespace().map(str::parse);
    Some((times.next()?.ok()?, times.next()?.ok()?))
}

/// The processor time of a process with all its threads.
pub(crate) fn processor_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    processor_time_of(&stat)
}

/// Fields 14 and 15 of `/proc/PID/stat`. The second field is the name of the program, in parentheses, and may
/// contain spaces.
fn processor_time_of(stat: &str) -> Option<Duration> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut times = after_name.split_whitespace().skip(11);
    let mut next = || times.next()?.parse::<u32>().ok();
    Some(TICK * (next()? + next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_times_parse_with_any_program_name() {
        let stat = "7 (a) b (c)) S 1 1 1 0 -1 4194560 1 0 0 0 25 17 9 9 20 0 1 0 1 1 1";
        assert_eq!(processor_time_of(stat), Some(Duration::from_millis(420)));
        assert_eq!(processor_time_of("7 (a) S 1"), None);
        assert_eq!(times_of("453878565 242223465 164\n"), Some((453_878_565, 242_223_465)));
        assert_eq!(times_of("453878565"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_something() {
        let pid = std::process::id();
        assert!(peak_memory(pid).is_some_and(|bytes| 1 << 20 < bytes));
        assert!(processor_time(pid).is_some() && memory(pid) <= peak_memory(pid));
        // Some systems do not count the waits of threads for a processor.
        assert!(slowdown(pid).is_none_or(|times| 1.0 <= times));
        assert!(is_measured());
    }
}
