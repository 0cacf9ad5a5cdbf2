//! Plots of the measurements, as SVG that can be embedded in the documentation.
//!
//! Text and axes inherit the colour of the surrounding text, so that they are readable on light and dark pages. A
//! plot has no empty line: in Markdown, an empty line would end it.

use std::fmt::Write;

use crate::growth::{Axis, Bound, Table, Work};

/// The series of the plot by requests in flight. More would be indistinguishable.
const IN_FLIGHT: &[&str] = &[
    "server: call and answer",
    "client: call and answer",
    "server: cancellation taken in",
    "client: progress taken in",
    "server: progress reported",
    "client: call cancelled",
    "client: timeout, all at once",
    "server: nothing due",
];

const COLOURS: &[&str] =
    &["#c9504a", "#3f86c8", "#b0812a", "#43995a", "#9a66bf", "#1f9c9c", "#c45a93", "#808080"];

const WIDTH: f64 = 790.0;
const HEIGHT: f64 = 380.0;
/// The position of the axes, and their ends. The names are to the right.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 515.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 330.0;
/// The distance between two names.
const LINE: f64 = 18.0;

/// Returns the plots whose series are all measured, with the names of their files.
pub fn all(table: &Table) -> Vec<(&'static str, String)> {
    let of_bytes = Work::all().filter(|work| work.axis() == Axis::Bytes);
    let in_flight = Plot {
        title: "Instructions per message, by requests in flight",
        description: "What each message costs while up to 100,000 requests wait for their answers.",
        across: "requests in flight",
        upwards: "instructions",
        series: Series::of(table, IN_FLIGHT.iter().filter_map(|name| Work::named(name))),
    };
    let of_bytes = Plot {
        title: "Instructions per byte, by the length of the message",
        description: "What each byte costs in messages of up to 10 MB, and in pieces of any size.",
        across: "bytes of the message",
        upwards: "instructions per byte",
        series: Series::of(table, of_bytes),
    };
    let plots = [("growth_in_flight.svg", in_flight), ("growth_size.svg", of_bytes)];
    let complete = plots.into_iter().filter(|(_, plot)| !plot.series.is_empty());
    complete.map(|(name, plot)| (name, plot.draw())).collect()
}

struct Plot {
    title: &'static str,
    description: &'static str,
    across: &'static str,
    upwards: &'static str,
    series: Vec<Series>,
}

struct Series {
    name: &'static str,
    colour: &'static str,
    /// Whether the bound of the work permits growth.
    dashed: bool,
    /// Sizes and costs.
    points: Vec<(f64, f64)>,
}

impl Series {
    /// Returns the series, or none if one of them has no measurements.
    fn of(table: &Table, works: impl Iterator<Item = Work>) -> Vec<Self> {
        let series: Vec<_> = works
            .zip(COLOURS)
            .map(|(work, colour)| Self {
                name: work.name(),
                colour,
                dashed: work.bound() == Bound::Logarithmic,
                points: table.of(work).map(|row| (row.size as f64, row.cost)).collect(),
            })
            .collect();
        if series.iter().any(|one| one.points.is_empty()) { Vec::new() } else { series }
    }

    /// Returns the cost at the largest size, which is the position of the name.
    fn last(&self) -> f64 {
        self.points.last().map_or(1.0, |point| point.1)
    }
}

/// A logarithmic axis.
struct Scale {
    /// The decades at the start and the end of the axis.
    decades: (i32, i32),
    ends: (f64, f64),
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Self {
        let logarithms: Vec<_> = values.map(f64::log10).collect();
        let least = logarithms.iter().copied().fold(f64::INFINITY, f64::min).floor() as i32;
        let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil() as i32;
        Self { decades: (least, most.max(least + 1)), ends }
    }

    fn at(&self, value: f64) -> f64 {
        let (least, most) = (f64::from(self.decades.0), f64::from(self.decades.1));
        let share = (value.log10() - least) / (most - least);
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// Returns the position and the label of each decade.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        (self.decades.0..=self.decades.1).map(|decade| {
            let value = 10.0_f64.powi(decade);
            (self.at(value), grouped(value))
        })
    }
}

/// Formats a power of ten with separators.
fn grouped(value: f64) -> String {
    if value < 1.0 {
        return value.to_string();
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index != 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl Plot {
    fn draw(&self) -> String {
        let points = || self.series.iter().flat_map(|one| &one.points);
        let across = Scale::of(points().map(|point| point.0), (LEFT, RIGHT));
        let upwards = Scale::of(points().map(|point| point.1), (BOTTOM, TOP));
        let mut svg = format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" width="100%" viewBox="0 0 {} {}" role="img" font-family="sans-serif" font-size="12" fill="currentColor">"#,
                "\n<title>{}</title>\n<desc>{}</desc>\n"
            ),
            WIDTH, HEIGHT, self.title, self.description
        );
        self.draw_axes(&mut svg, &across, &upwards);
        self.draw_lines(&mut svg, &across, &upwards);
        self.draw_names(&mut svg, &upwards);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_axes(&self, svg: &mut String, across: &Scale, upwards: &Scale) {
        for (y, name) in upwards.ticks() {
            _ = writeln!(
                svg,
                r#"<path d="M{LEFT} {y:.1}H{RIGHT}" stroke="currentColor" stroke-opacity="0.2"/><text x="{:.1}" y="{:.1}" text-anchor="end">{name}</text>"#,
                LEFT - 6.0,
                y + 4.0
            );
        }
        for (x, name) in across.ticks() {
            _ = writeln!(
                svg,
                r#"<path d="M{x:.1} {BOTTOM}v5" stroke="currentColor"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{name}</text>"#,
                BOTTOM + 18.0
            );
        }
        _ = writeln!(
            svg,
            r#"<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="currentColor"/>"#
        );
        _ = writeln!(svg, r#"<text x="4" y="{:.1}">{}</text>"#, TOP - 14.0, self.upwards);
        _ = writeln!(
            svg,
            r#"<text x="{RIGHT}" y="{:.1}" text-anchor="end">{}</text>"#,
            BOTTOM + 38.0,
            self.across
        );
    }

    fn draw_lines(&self, svg: &mut String, across: &Scale, upwards: &Scale) {
        for series in &self.series {
            let Series { colour, dashed, points, .. } = series;
            let place = |point: &(f64, f64)| (across.at(point.0), upwards.at(point.1));
            let path: Vec<_> =
                points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let dashes = if *dashed { r#" stroke-dasharray="6 4""# } else { "" };
            _ = writeln!(
                svg,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>"#,
                path.join(" ")
            );
            for (x, y) in points.iter().map(place) {
                _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#);
            }
        }
    }

    /// Draws each name beside the end of its line, or below the previous name if they would overlap.
    fn draw_names(&self, svg: &mut String, upwards: &Scale) {
        let mut series: Vec<_> = self.series.iter().collect();
        series.sort_by(|one, other| other.last().total_cmp(&one.last()));
        let lowest = BOTTOM - LINE * series.len() as f64;
        let mut free = TOP;
        for (index, one) in series.into_iter().enumerate() {
            let y = upwards.at(one.last()).max(free).min(lowest + LINE * (index + 1) as f64);
            free = y + LINE;
            let Series { name, colour, .. } = one;
            let (begin, end, text) = (RIGHT + 10.0, RIGHT + 28.0, RIGHT + 34.0);
            let dashes = if one.dashed { r#" stroke-dasharray="6 4""# } else { "" };
            _ = writeln!(
                svg,
                r#"<path d="M{begin} {y:.1}H{end}" stroke="{colour}" stroke-width="3"{dashes}/><text x="{text}" y="{:.1}">{name}</text>"#,
                y + 4.0
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::Row;

    /// In Markdown, one tag must open the first line, and no line may be empty.
    #[test]
    fn a_plot_can_stand_in_markdown() {
        let mut table = Table::default();
        for work in Work::all() {
            table.rows.extend(work.sizes().iter().map(|size| Row::new(work, *size, 1_000.0)));
        }
        let plots = all(&table);
        assert_eq!(plots.len(), 2);
        for (name, plot) in plots {
            let first = plot.lines().next().unwrap();
            assert!(first.starts_with("<svg ") && first.ends_with('>'), "{name}: {first}");
            assert_eq!(plot.matches("<svg").count(), 1);
            assert!(plot.ends_with("</svg>\n") && plot.lines().all(|line| !line.is_empty()));
        }
    }

    #[test]
    fn a_plot_without_measurements_is_not_drawn() {
        assert!(all(&Table::default()).is_empty());
    }
}
