//! Tables of the measured numbers.

use std::fmt::Write;

use crate::measure::Costs;
use crate::{Case, Contender};

/// Rows of cells below a row of names. The first column also contains names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without numbers.
    fn new(names: &[&str]) -> Self {
        Self { rows: vec![names.iter().map(ToString::to_string).collect()] }
    }

    /// Returns the instructions of one round, and the ratios of other contenders.
    pub fn of_instructions(cases: &[Case], costs: &Costs) -> Self {
        let mut table = Self::new(&[
            "case",
            "mcp-sansio",
            "serde_json",
            "sonic-rs",
            "rmcp",
            "serde_json ÷",
            "rmcp ÷",
        ]);
        for &case in cases {
            let total = |contender| costs.get(&(case, contender)).map(|cost| cost.instructions);
            let times = |contender| {
                let (theirs, ours) = (total(contender)?, total(Contender::Core)?);
                Some(format!("{:.2}", theirs as f64 / ours as f64))
            };
            let mut row = vec![case.to_string()];
            row.extend(Contender::ALL.iter().map(|&contender| whole(total(contender))));
            row.extend([Contender::SerdeJson, Contender::Rmcp].map(times).map(or_nothing));
            table.rows.push(row);
        }
        table
    }

    /// Returns the instructions of one round by stage: of the machine, and of serde_json.
    pub fn of_stages(cases: &[Case], costs: &Costs) -> Self {
        let (ours, theirs) =
            (["framing", "receiving", "handling", "writing", "sending"], ["reading", "writing"]);
        let mut names = vec!["case"];
        names.extend(ours);
        names.extend(["serde_json reads", "serde_json writes"]);
        let mut table = Self::new(&names);
        for &case in cases {
            let stage =
                |contender, name| costs.get(&(case, contender)).map(|cost| cost.stage(name));
            // A scan alone has no stages.
            if ours.iter().all(|name| stage(Contender::Core, name).is_none_or(|cost| cost == 0)) {
                continue;
            }
            let mut row = vec![case.to_string()];
            row.extend(ours.map(|name| whole(stage(Contender::Core, name))));
            row.extend(theirs.map(|name| whole(stage(Contender::SerdeJson, name))));
            table.rows.push(row);
        }
        table
    }

    /// Returns the allocations of one round.
    pub fn of_allocations(cases: &[Case], costs: &Costs) -> Self {
        let mut names = vec!["case"];
        names.extend(Contender::ALL.iter().map(|contender| contender.name()));
        let mut table = Self::new(&names);
        for &case in cases {
            let mut row = vec![case.to_string()];
            row.extend(Contender::ALL.iter().map(|&contender| {
                let cost = costs.get(&(case, contender));
                or_nothing(cost.map(|cost| cost.allocations.to_string()))
            }));
            table.rows.push(row);
        }
        table
    }

    /// Returns the instructions and allocations of one call through an adapter, and the ratio of the official SDK.
    pub fn of_calls(cases: &[Case], costs: &Costs) -> Self {
        let mut table = Self::new(&[
            "case",
            "mcp-sansio",
            "rmcp",
            "rmcp ÷",
            "allocations of mcp-sansio",
            "of rmcp",
        ]);
        for &case in cases {
            let [ours, theirs] =
                [Contender::Core, Contender::Rmcp].map(|contender| costs.get(&(case, contender)));
            let times = ours
                .zip(theirs)
                .map(|(ours, theirs)| theirs.instructions as f64 / ours.instructions as f64);
            let mut row = vec![case.to_string()];
            row.extend([ours, theirs].map(|cost| whole(cost.map(|cost| cost.instructions))));
            row.push(or_nothing(times.map(|times| format!("{times:.2}"))));
            row.extend(
                [ours, theirs]
                    .map(|cost| or_nothing(cost.map(|cost| cost.allocations.to_string()))),
            );
            table.rows.push(row);
        }
        table
    }

    /// Formats the table in columns.
    pub fn plain(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(self.widths()).enumerate() {
                _ = match index {
                    0 => write!(line, "{cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// Formats the table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            _ = writeln!(text, "| {} |", row.join(" | "));
            if index == 0 {
                _ = writeln!(text, "|---|{}", "---:|".repeat(row.len() - 1));
            }
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        (0..columns).map(width).collect()
    }
}

fn whole(number: Option<u64>) -> String {
    or_nothing(number.map(|number| number.to_string()))
}

/// Returns the text, or a dash for a contender that does not take part.
fn or_nothing(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}
