//! A parser of callgrind profiles.
//!
//! Besides the total, it reads three kinds of lines. `fn=` names the function that the following lines describe;
//! `cfn=` names a function that it calls. The line after `calls=` ends with the inclusive cost of these calls. A name
//! is written out once, as `(12) name`, and later abbreviated to `(12)`.

use std::collections::{BTreeMap, BTreeSet};

/// The costs of one run of a program, per function.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    total: u64,
    names: BTreeMap<u32, String>,
    calls: Vec<Call>,
}

/// The inclusive cost of one function's calls of another.
#[derive(Debug)]
struct Call {
    by: u32,
    of: u32,
    cost: u64,
}

impl Profile {
    /// Reads a profile that counts one kind of event.
    ///
    /// # Errors
    ///
    /// Fails with the first malformed line, or if the profile has no total.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut profile = Self::default();
        let (mut total, mut by, mut of) = (None, None, None);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let wrong = || format!("a line in the profile of callgrind is malformed: {line}");
            if let Some(sum) = line.strip_prefix("totals:") {
                total = Some(sum.trim().parse().map_err(|_| wrong())?);
            } else if let Some(name) = line.strip_prefix("fn=") {
                by = Some(profile.function(name).ok_or_else(wrong)?);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                of = Some(profile.function(name).ok_or_else(wrong)?);
            } else if line.starts_with("calls=") {
                let cost = lines.next().and_then(|line| line.split(' ').next_back()?.parse().ok());
                let (Some(by), Some(of), Some(cost)) = (by, of, cost) else { return Err(wrong()) };
                profile.calls.push(Call { by, of, cost });
            }
        }
        profile.total = total.ok_or("the profile of callgrind has no line with `totals:`")?;
        Ok(profile)
    }

    /// Returns the number of a function, from `(12) name` or `(12)`.
    fn function(&mut self, name: &str) -> Option<u32> {
        let (number, name) = name.strip_prefix('(')?.split_once(')')?;
        let number = number.parse().ok()?;
        if !name.is_empty() {
            self.names.insert(number, name.trim_start().to_owned());
        }
        self.names.contains_key(&number).then_some(number)
    }

    /// Returns the total cost of the run.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the inclusive cost of all functions whose names contain `name`. These functions must not call one
    /// another.
    pub fn inclusive(&self, name: &str) -> u64 {
        self.cost(name, |_| true)
    }

    /// Returns the inclusive cost of the functions named `inner`, as far as their callers are reachable from `outer`.
    pub fn inside(&self, outer: &str, inner: &str) -> u64 {
        let mut reached = BTreeSet::new();
        let mut new: Vec<u32> = self.named(outer).collect();
        while let Some(function) = new.pop() {
            if reached.insert(function) {
                let called = self.calls.iter().filter(|call| call.by == function);
                new.extend(called.map(|call| call.of));
            }
        }
        self.cost(inner, |call| reached.contains(&call.by))
    }

    fn named(&self, part: &str) -> impl Iterator<Item = u32> {
        self.names.iter().filter(move |(_, name)| name.contains(part)).map(|(number, _)| *number)
    }

    fn cost(&self, name: &str, counts: impl Fn(&Call) -> bool) -> u64 {
        let named: BTreeSet<u32> = self.named(name).collect();
        let calls = self.calls.iter().filter(|call| named.contains(&call.of) && counts(call));
        calls.map(|call| call.cost).sum()
    }
}
