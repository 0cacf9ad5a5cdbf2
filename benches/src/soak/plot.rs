//! The memory of a run as a line, in SVG that inherits the colour of the text around it.

use std::fmt::Write;

use super::samples::Sample;

const WIDTH: u64 = 640;
const HEIGHT: u64 = 220;
const LEFT: u64 = 70;
const BOTTOM: u64 = 190;
const TOP: u64 = 20;

/// Draws the memory from 0 to its peak.
pub(super) fn draw(samples: &[Sample]) -> String {
    let peak = samples.iter().map(|sample| sample.memory).max().unwrap_or(1).max(1);
    let last = samples.last().map_or(1, |sample| sample.done).max(1);
    let mut points = String::new();
    for sample in samples {
        let x = LEFT + (WIDTH - LEFT - 20) * sample.done / last;
        let y = BOTTOM - (BOTTOM - TOP) * sample.memory / peak;
        _ = write!(points, "{x},{y} ");
    }
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" xmlns=\"http://www.w3.org/2000/svg\" fill=\"currentColor\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Resident memory of the server</title>\n\
         <path d=\"M{LEFT} {TOP}V{BOTTOM}H{right}\" fill=\"none\" stroke=\"currentColor\"/>\n\
         <polyline points=\"{points}\" fill=\"none\" stroke=\"#3f86c8\" stroke-width=\"2\"/>\n\
         <text x=\"{label}\" y=\"{TOP}\" text-anchor=\"end\">{peak} KiB</text>\n\
         <text x=\"{label}\" y=\"{BOTTOM}\" text-anchor=\"end\">0</text>\n\
         <text x=\"{right}\" y=\"{below}\" text-anchor=\"end\">{last}</text>\n\
         </svg>\n",
        right = WIDTH - 20,
        label = LEFT - 6,
        below = BOTTOM + 18,
    )
}
