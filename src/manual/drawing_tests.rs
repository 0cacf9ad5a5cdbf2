//! Draws a chart of states as SVG: rectangles for states, arrows for steps. The layout is that of the crate `layout`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use layout::core::base::Orientation;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;

/// The height of a state, the width of a character, and the space around the text of a state, in pixels.
const HEIGHT: f64 = 32.0;
const CHARACTER: f64 = 7.2;
const PADDING: f64 = 20.0;

/// The states, the transitions between them with their labels, and the states that are ends.
pub(crate) fn drawing(title: &str, states: &[String], edges: &[(usize, usize, String)]) -> String {
    let down = Orientation::TopToBottom;
    let mut graph = VisualGraph::new(down);
    let nodes: Vec<_> = states
        .iter()
        .map(|state| {
            let width = state.chars().count() as f64 * CHARACTER + PADDING;
            let shape = ShapeKind::new_box(state);
            graph.add_node(Element::create(
                shape,
                StyleAttr::simple(),
                down,
                Point::new(width, HEIGHT),
            ))
        })
        .collect();
    // A step that leads back to its own state has no place in a drawing from top to bottom.
    for (from, to, label) in edges.iter().filter(|(from, to, _)| from != to) {
        graph.add_edge(Arrow::simple(label), nodes[*from], nodes[*to]);
    }
    let mut svg = Svg::default();
    graph.do_it(false, false, false, &mut svg);
    svg.finish(title)
}

/// An SVG in the colours of the page, whether it is light or dark.
#[derive(Default)]
struct Svg {
    lines: Vec<String>,
    /// The texts, which are in front of the lines.
    texts: Vec<String>,
    size: (f64, f64),
}

impl Svg {
    fn grow(&mut self, point: Point, margin: f64) {
        self.size.0 = self.size.0.max(point.x + margin);
        self.size.1 = self.size.1.max(point.y + margin);
    }

    /// A text with an edge in the colour of the page of rustdoc, so that a line behind it does not cross it out.
    fn text(&mut self, at: Point, text: &str) {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        let half = text.chars().count() as f64 * CHARACTER / 2.0;
        self.grow(Point::new(at.x + half, at.y), 8.0);
        self.texts.push(format!(
            "<text x=\"{:.0}\" y=\"{:.0}\">{escaped}</text>",
            at.x,
            at.y + 4.0
        ));
    }

    /// The head of an arrow that comes from one point to another.
    fn head(&mut self, from: Point, to: Point) {
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        let (dx, dy) = (dx / length * 9.0, dy / length * 9.0);
        let side = |sign: f64| (to.x - dx + sign * dy / 2.5, to.y - dy - sign * dx / 2.5);
        let ((x1, y1), (x2, y2)) = (side(1.0), side(-1.0));
        self.lines.push(format!(
            "<path d=\"M{:.0} {:.0}L{x1:.0} {y1:.0}L{x2:.0} {y2:.0}Z\" fill=\"currentColor\"/>",
            to.x, to.y
        ));
    }

    fn finish(self, title: &str) -> String {
        let (width, height) = (self.size.0.ceil(), self.size.1.ceil());
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             style=\"max-width:100%;height:auto\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\" \
             text-anchor=\"middle\">\n<title>{title}</title>\n\
             <g fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\">\n"
        );
        self.lines.iter().for_each(|line| text += &format!("{line}\n"));
        text += "</g>\n<g fill=\"currentColor\" stroke=\"var(--main-background-color, transparent)\" \
                 stroke-width=\"4\" paint-order=\"stroke\">\n";
        self.texts.iter().for_each(|line| text += &format!("{line}\n"));
        text + "</g>\n</svg>\n"
    }
}

impl RenderBackend for Svg {
    fn draw_rect(
        &mut self,
        at: Point,
        size: Point,
        _: &StyleAttr,
        _: Option<String>,
        _: Option<ClipHandle>,
    ) {
        self.grow(Point::new(at.x + size.x, at.y + size.y), 4.0);
        let Point { x, y } = at;
        self.lines.push(format!(
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"6\"/>",
            size.x, size.y
        ));
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_text(&mut self, at: Point, text: &str, _: &StyleAttr) {
        self.text(at, text);
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        _: bool,
        (at_start, at_end): (bool, bool),
        _: &StyleAttr,
        _: Option<String>,
        _: &str,
    ) {
        let [(start, leaving), (next, arriving), rest @ ..] = path else { return };
        let pair = |point: &Point| format!("{:.0} {:.0}", point.x, point.y);
        let mut line = format!(
            "<path d=\"M{}C{} {} {}",
            pair(start),
            pair(leaving),
            pair(next),
            pair(arriving)
        );
        for (control, end) in rest {
            line += &format!("S{} {}", pair(control), pair(end));
        }
        path.iter().for_each(|(one, other)| {
            self.grow(*one, 4.0);
            self.grow(*other, 4.0);
        });
        self.lines.push(line + "\"/>");
        // The layout turns some arrows round; their heads are at the start then.
        if at_start {
            self.head(*leaving, *start);
        }
        if at_end {
            let (from, to) = rest.last().copied().unwrap_or((*next, *arriving));
            self.head(from, to);
        }
    }

    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}

/// Numbers in a row as a range: `1, 3–5`.
pub(crate) fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first}–{last}"),
        })
        .collect();
    parts.join(", ")
}
