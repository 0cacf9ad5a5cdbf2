//! [`Samples`]: the memory and the open files of a process over time.

use std::{fmt, fs, io};

/// The permitted growth in the second half of a run, in KiB: the allocator keeps some pages more or less.
const TOLERANCE: u64 = 512;

/// The memory and the open files of a process, at regular intervals.
#[derive(Debug)]
pub struct Samples {
    process: u32,
    total: u64,
    /// The number of intervals.
    count: u64,
    /// The permitted peak of the memory in KiB. Without it the memory must not grow.
    pub(super) most: Option<u64>,
    pub(super) samples: Vec<Sample>,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The number of messages or sessions before it.
    pub(super) done: u64,
    /// The resident memory in KiB.
    pub(super) memory: u64,
    pub(super) files: u64,
}

impl Samples {
    /// Creates a series without samples of this process. A run of `total` steps gets `count` samples.
    pub const fn new(process: u32, total: u64, count: u64) -> Self {
        Self { process, total, count, most: None, samples: Vec::new() }
    }

    /// Whether the next sample is due.
    pub(super) fn is_due(&self, done: u64) -> bool {
        self.samples.len() as u64 <= done * self.count / self.total.max(1)
    }

    /// Takes a sample if the next one is due.
    ///
    /// # Errors
    ///
    /// Fails if `/proc` does not contain the values.
    pub fn note(&mut self, done: u64) -> io::Result<()> {
        if !self.is_due(done) {
            return Ok(());
        }
        let status = fs::read_to_string(format!("/proc/{}/status", self.process))?;
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        let memory = memory.ok_or_else(|| io::Error::other("no VmRSS in /proc"))?;
        let files = fs::read_dir(format!("/proc/{}/fd", self.process))?.count() as u64;
        self.samples.push(Sample { done, memory, files });
        Ok(())
    }

    /// Returns the largest memory in KiB.
    pub fn peak(&self) -> u64 {
        self.samples.iter().map(|sample| sample.memory).max().unwrap_or_default()
    }

    /// Returns the plot of the memory, as SVG.
    pub fn plot(&self) -> String {
        super::plot::draw(&self.samples)
    }

    /// Returns a description of the growth, if there is any: the peak of the last half exceeds that of the quarter
    /// before it. If the memory has a permitted peak, only an excess over that peak counts as growth.
    pub fn growth(&self) -> Option<String> {
        let (quarter, half) = (self.samples.len() / 4, self.samples.len() / 2);
        let peak = |samples: &[Sample], of: fn(&Sample) -> u64| samples.iter().map(of).max();
        let (before, after) = (self.samples.get(quarter..half)?, self.samples.get(half..)?);
        let memory = |sample: &Sample| sample.memory;
        let (early, late) = (peak(before, memory)?, peak(after, memory)?);
        if let Some(most) = self.most {
            let peak = peak(&self.samples, memory)?;
            if most < peak {
                return Some(format!("memory grows to {peak} KiB, beyond {most} KiB"));
            }
        } else if early + TOLERANCE + early / 20 < late {
            return Some(format!("memory grows from {early} KiB to {late} KiB"));
        }
        let files = |sample: &Sample| sample.files;
        let (early, late) = (peak(before, files)?, peak(after, files)?);
        (early + 2 < late).then(|| format!("open files grow from {early} to {late}"))
    }
}

impl fmt::Display for Samples {
    /// A row for each tenth of the run.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:>12} {:>12} {:>8}", "done", "memory, KiB", "files")?;
        let step = (self.samples.len() / 10).max(1);
        for sample in self.samples.iter().step_by(step) {
            let Sample { done, memory, files } = sample;
            writeln!(formatter, "{done:>12} {memory:>12} {files:>8}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory: impl Fn(u64) -> u64, files: impl Fn(u64) -> u64) -> Samples {
        let sample = |done| Sample { done, memory: memory(done), files: files(done) };
        Samples {
            process: 0,
            total: 200,
            count: 200,
            most: None,
            samples: (0..200).map(sample).collect(),
        }
    }

    #[test]
    fn growth_is_detected_after_the_beginning_only() {
        assert_eq!(samples(|done| 4_000 + done.min(40) * 100, |_| 9).growth(), None);
        assert_eq!(samples(|done| 4_000 + done % 7, |done| 9 + done % 3).growth(), None);
        let leaks = samples(|done| 4_000 + done * 20, |_| 9).growth();
        assert_eq!(leaks.as_deref(), Some("memory grows from 5980 KiB to 7980 KiB"));
        let mut bounded = samples(|done| 4_000 + done * 20, |_| 9);
        bounded.most = Some(7_980);
        assert_eq!(bounded.growth(), None);
        bounded.most = Some(7_979);
        let leaks = bounded.growth();
        assert_eq!(leaks.as_deref(), Some("memory grows to 7980 KiB, beyond 7979 KiB"));
        let leaks = samples(|_| 4_000, |done| 9 + done / 20).growth();
        assert_eq!(leaks.as_deref(), Some("open files grow from 13 to 18"));
    }

    #[test]
    fn this_process_is_measured() {
        let mut samples = Samples::new(std::process::id(), 10, 200);
        (0..=10).for_each(|done| samples.note(done).unwrap());
        assert_eq!(samples.samples.len(), 11);
        assert!(samples.samples.iter().all(|sample| 500 < sample.memory && 2 < sample.files));
        assert!(samples.plot().starts_with("<svg"));
    }
}
