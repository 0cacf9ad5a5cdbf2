//! [`Canvas`], an SVG in the colours of the page that shows it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// The width of a character of the text, in pixels.
pub(crate) const CHARACTER: f64 = 7.2;

/// An SVG that is drawn with `currentColor`, so that it is readable on a light and on a dark page. Its size grows with
/// what is drawn.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    lines: Vec<String>,
    /// The texts, which are in front of the lines.
    texts: Vec<String>,
    size: (f64, f64),
}

impl Canvas {
    /// Enlarges the canvas, so that the point lies inside it by this margin.
    pub(crate) fn grow(&mut self, (x, y): (f64, f64), margin: f64) {
        self.size.0 = self.size.0.max(x + margin);
        self.size.1 = self.size.1.max(y + margin);
    }

    /// Draws a rectangle with round corners.
    pub(crate) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.grow((x + width, y + height), 4.0);
        self.lines.push(format!(
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\"/>"
        ));
    }

    /// Draws a straight line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), is_dashed: bool) {
        self.grow(from, 4.0);
        self.grow(to, 4.0);
        let dashes = if is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let ((x1, y1), (x2, y2)) = (from, to);
        self.lines.push(format!("<path d=\"M{x1:.0} {y1:.0}L{x2:.0} {y2:.0}\"{dashes}/>"));
    }

    /// Draws the head of an arrow that comes from one point to another.
    pub(crate) fn head(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1.0);
        let (dx, dy) = (dx / length * 9.0, dy / length * 9.0);
        let side = |sign: f64| (to.0 - dx + sign * dy / 2.5, to.1 - dy - sign * dx / 2.5);
        let ((x1, y1), (x2, y2)) = (side(1.0), side(-1.0));
        self.lines.push(format!(
            "<path d=\"M{:.0} {:.0}L{x1:.0} {y1:.0}L{x2:.0} {y2:.0}Z\" fill=\"currentColor\"/>",
            to.0, to.1
        ));
    }

    /// Draws a text around its middle. It has an edge in the colour of the page of rustdoc, so that a line behind it
    /// does not cross it out.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str) {
        let half = text.chars().count() as f64 * CHARACTER / 2.0;
        self.put((x, y), text, half, "");
    }

    fn put(&mut self, (x, y): (f64, f64), text: &str, right: f64, attribute: &str) {
        self.grow((x + right, y), 8.0);
        let (escaped, y) = (escaped(text), y + 4.0);
        self.texts.push(format!("<text x=\"{x:.0}\" y=\"{y:.0}\"{attribute}>{escaped}</text>"));
    }

    /// Returns the SVG. The title describes it to readers who do not see it.
    pub(crate) fn finish(self, title: &str) -> String {
        let (width, height) = (self.size.0.ceil(), self.size.1.ceil());
        let title = escaped(title);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" style=\"max-width:100%;height:auto\" role=\"img\" \
             font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\">\n\
             <title>{title}</title>\n\
             <g fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\">\n"
        );
        // Writing to a string cannot fail.
        self.lines.iter().for_each(|line| _ = writeln!(text, "{line}"));
        text += "</g>\n<g fill=\"currentColor\" stroke-width=\"4\" paint-order=\"stroke\" \
                 stroke=\"var(--main-background-color, transparent)\">\n";
        self.texts.iter().for_each(|line| _ = writeln!(text, "{line}"));
        text + "</g>\n</svg>\n"
    }
}

/// Escapes a text for the content of an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// For the charts of the manual.
#[cfg(test)]
impl Canvas {
    /// Draws a path from SVG commands. The caller enlarges the canvas.
    pub(crate) fn path(&mut self, commands: &str) {
        self.lines.push(format!("<path d=\"{commands}\"/>"));
    }

    /// Draws a filled circle.
    pub(crate) fn dot(&mut self, (x, y): (f64, f64)) {
        self.grow((x, y), 8.0);
        self.lines
            .push(format!("<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"4\" fill=\"currentColor\"/>"));
    }

    /// Draws a text from its start.
    pub(crate) fn text_from(&mut self, at: (f64, f64), text: &str) {
        let width = text.chars().count() as f64 * CHARACTER;
        self.put(at, text, width, " text-anchor=\"start\"");
    }

    /// Draws a text from bottom to top, from its start.
    pub(crate) fn upright(&mut self, (x, y): (f64, f64), text: &str) {
        let place = (x + 4.0, y - 4.0);
        let turned =
            format!(" text-anchor=\"start\" transform=\"rotate(-90 {:.0} {y:.0})\"", place.0);
        self.put(place, text, 0.0, &turned);
    }
}
