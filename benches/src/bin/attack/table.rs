//! The printed table: one row per attack.

use std::fmt::Write;
use std::time::Duration;

use crate::bounds::{Bounds, Measured};

/// Returns the heading, with the bounds.
pub(crate) fn heading(bounds: &Bounds) -> String {
    let memory = format!("MiB < {}", bounds.memory >> 20);
    let wait = format!("wait < {} ms", bounds.wait.as_millis());
    let work = format!("work <= {}", bounds.work);
    row([
        "attack",
        &memory,
        "after",
        "processor",
        "slowed",
        &wait,
        &work,
        "served",
        "refused",
        "outcome",
    ])
}

/// Returns the row of an attack.
pub(crate) fn measured(measured: &Measured, bounds: &Bounds) -> String {
    let number = |text: Option<String>| text.unwrap_or_else(|| "not measured".into());
    let mebibytes = |bytes: u64| (bytes >> 20).to_string();
    let memory = number(measured.memory.map(mebibytes));
    let after = measured.memory_after.map_or_else(|| "-".into(), mebibytes);
    let processor = number(measured.processor.map(seconds));
    let slowed = measured.slowdown.map_or_else(|| "-".into(), |times| format!("{times:.1}"));
    let wait = measured.wait.map_or_else(|| "-".into(), |wait| format!("{} ms", wait.as_millis()));
    let work = measured.work.map_or_else(|| "-".into(), |work| format!("{work:.1}"));
    let broken = bounds.broken_by(measured);
    let outcome =
        if broken.is_empty() { "ok".into() } else { format!("BROKEN: {}", broken.join(", ")) };
    let (served, refused) = (measured.served.to_string(), measured.refused.to_string());
    let name = measured.name;
    let mut text = row([
        name, &memory, &after, &processor, &slowed, &wait, &work, &served, &refused, &outcome,
    ]);
    if let Some(failure) = &measured.failure {
        _ = write!(text, "\n    {failure}");
    }
    text
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn row(cells: [&str; 10]) -> String {
    let [name, memory, after, processor, slowed, wait, work, served, refused, outcome] = cells;
    format!(
        "{name:<16} {memory:>12} {after:>5} {processor:>12} {slowed:>6} {wait:>14} {work:>9} {served:>6} {refused:>7}  {outcome}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_which_bounds_are_broken() {
        let row = measured(
            &Measured {
                name: "noise",
                memory: Some(900 << 20),
                memory_after: Some(30 << 20),
                processor: Some(Duration::from_millis(1250)),
                slowdown: Some(1.5),
                wait: Some(Duration::from_millis(40)),
                work: Some(1.26),
                served: 3,
                refused: 4,
                failure: None,
            },
            &Bounds::HTTP,
        );
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words.join(" "), "noise 900 30 1.25 s 1.5 40 ms 1.3 3 4 BROKEN: memory");
        assert_eq!(heading(&Bounds::HTTP).find("MiB < 768"), row.find("900").map(|at| at - 6));
    }

    #[test]
    fn a_missing_measurement_is_reported() {
        let mut nothing = Measured::default();
        let row = measured(&nothing, &Bounds::HTTP);
        assert_eq!((row.matches("not measured").count(), row.ends_with("ok")), (2, true));
        nothing.failure = Some("the server has died".into());
        let row = measured(&nothing, &Bounds::HTTP);
        assert!(row.ends_with("BROKEN: failed\n    the server has died"), "{row}");
    }
}
