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

use crate::drawing::{CHARACTER, Canvas};

/// The height of a state, and the space around its text, in pixels.
const HEIGHT: f64 = 32.0;
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
    svg.0.finish(title)
}

/// The canvas as the layout draws on it.
#[derive(Default)]
struct Svg(Canvas);

impl RenderBackend for Svg {
    fn draw_rect(
        &mut self,
        at: Point,
        size: Point,
        _: &StyleAttr,
        _: Option<String>,
        _: Option<ClipHandle>,
    ) {
        self.0.rectangle(pair(at), pair(size));
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_text(&mut self, at: Point, text: &str, _: &StyleAttr) {
        self.0.text(pair(at), text);
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
        let text = |point: &Point| format!("{:.0} {:.0}", point.x, point.y);
        let mut line =
            format!("M{}C{} {} {}", text(start), text(leaving), text(next), text(arriving));
        for (control, end) in rest {
            line += &format!("S{} {}", text(control), text(end));
        }
        path.iter().for_each(|(one, other)| {
            self.0.grow(pair(*one), 4.0);
            self.0.grow(pair(*other), 4.0);
        });
        self.0.path(&line);
        // The layout turns some arrows round; their heads are at the start then.
        if at_start {
            self.0.head(pair(*leaving), pair(*start));
        }
        if at_end {
            let (from, to) = rest.last().copied().unwrap_or((*next, *arriving));
            self.0.head(pair(from), pair(to));
        }
    }

    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}

const fn pair(point: Point) -> (f64, f64) {
    (point.x, point.y)
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
