//! The results of the measurements.

use std::fmt;
use std::str::FromStr;

use super::{Axis, Work};

/// The cost of one piece of work at one size.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The work.
    pub work: Work,
    /// The size.
    pub size: usize,
    /// The instructions per message, timeout or byte.
    pub cost: f64,
}

/// The costs of all work at every size. The text form is separated by tabs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Table {
    /// The rows, ordered by work and then by size.
    pub rows: Vec<Row>,
}

const HEAD: &str = "work\tgrows with\tat\tinstructions\ttimes the first\tat most";

impl Row {
    /// Creates a row of the table.
    pub const fn new(work: Work, size: usize, cost: f64) -> Self {
        Self { work, size, cost }
    }
}

impl Table {
    /// Returns the rows of one piece of work.
    pub fn of(&self, work: Work) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.work.name() == work.name())
    }

    /// Returns the cost of the row's work at the smallest size.
    fn first(&self, row: &Row) -> f64 {
        self.of(row.work).next().map_or(row.cost, |first| first.cost)
    }

    /// Returns the maximum cost of a row.
    ///
    /// The fixed cost of a message weighs heavily on each byte of a small one. So a byte of a larger message is
    /// compared with the cheapest byte of the smaller ones.
    fn most(&self, row: &Row) -> f64 {
        let smaller = self.of(row.work).filter(|other| other.size <= row.size);
        let cost = match row.work.axis() {
            Axis::InFlight => self.first(row),
            Axis::Bytes => smaller.map(|other| other.cost).fold(f64::INFINITY, f64::min),
        };
        row.work.bound().most(cost, row.size)
    }

    /// Returns a description of each row that exceeds its maximum.
    pub fn excesses(&self) -> impl Iterator<Item = String> {
        self.rows.iter().filter(|row| self.most(row) < row.cost).map(|row| {
            format!(
                "{} at {}: {:.2} instructions, at most {:.2}",
                row.work.name(),
                row.size,
                row.cost,
                self.most(row)
            )
        })
    }
}

/// Costs have two decimals, because a byte costs less than one instruction.
impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{HEAD}")?;
        for row in &self.rows {
            let (name, axis, most) = (row.work.name(), row.work.axis().name(), self.most(row));
            let times = row.cost / self.first(row);
            let cost = row.cost;
            writeln!(formatter, "{name}\t{axis}\t{}\t{cost:.2}\t{times:.2}\t{most:.2}", row.size)?;
        }
        Ok(())
    }
}

impl FromStr for Table {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let row = |line: &str| {
            let mut columns = line.split('\t');
            let work = Work::named(columns.next()?)?;
            let size = columns.nth(1)?.parse().ok()?;
            let cost = columns.next()?.parse().ok()?;
            Some(Row { work, size, cost })
        };
        let rows = text.lines().filter(|line| *line != HEAD);
        let rows = rows.map(|line| row(line).ok_or_else(|| format!("no row: {line}")));
        Ok(Self { rows: rows.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(costs: &[f64], work: Work) -> Table {
        let rows = work.sizes().iter().zip(costs);
        Table { rows: rows.map(|(size, cost)| Row::new(work, *size, *cost)).collect() }
    }

    fn excesses(costs: &[f64], name: &str) -> usize {
        table(costs, Work::named(name).unwrap()).excesses().count()
    }

    #[test]
    fn excessive_cost_growth_is_detected() {
        let flat = "server: call and answer";
        assert_eq!(excesses(&[1_000.0, 1_100.0, 1_200.0, 1_299.0], flat), 0);
        assert_eq!(excesses(&[1_000.0, 1_100.0, 1_301.0, 1_302.0], flat), 2);
        let large = "server: call with a large argument";
        assert_eq!(excesses(&[5.0, 1.0, 1.0, 1.2, 1.3], large), 0);
        assert_eq!(excesses(&[5.0, 1.0, 1.0, 1.2, 1.4], large), 1);
        let timeouts = "client: timeout, all at once";
        assert_eq!(Work::named(timeouts).unwrap().bound(), super::super::Bound::Logarithmic);
        assert_eq!(excesses(&[1_000.0, 1_500.0, 1_700.0, 1_850.0], timeouts), 0);
        assert_eq!(excesses(&[1_000.0, 1_500.0, 1_700.0, 1_870.0], timeouts), 1);
        let taken_back = "client: call taken back, nothing has been sent";
        assert_eq!(excesses(&[1_000.0, 2_000.0, 1e6, 1e9], taken_back), 0);
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let text = table(&[1.25, 2.5], Work::named("framing: whole").unwrap()).to_string();
        assert_eq!(text.parse::<Table>().unwrap().to_string(), text);
    }
}
