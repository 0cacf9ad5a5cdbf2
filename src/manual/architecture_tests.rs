//! Draws the tables of `ARCHITECTURE.md`: the layers of the crate, and the paths of messages through them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::compare;
use crate::drawing::Canvas;

fn text_of(path: &str) -> String {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap().replace("\r\n", "\n")
}

/// The rows of the first table below a heading, cell by cell.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split(" |").map(|cell| cell.trim().to_string()).collect())
        .collect()
}

/// Adds a light and a dark colour: a page that shows the SVG as a file does not pass on its colours.
fn standalone_svg(svg: &str) -> String {
    let style =
        "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>\n";
    svg.replacen("</title>\n", &format!("</title>\n{style}"), 1)
}

/// The layers from top to bottom. A layer that another one owns is a box inside the box of its owner.
fn layers(page: &str) -> String {
    const HEIGHT: f64 = 34.0;
    const INDENT: f64 = 14.0;
    const WIDTH: f64 = 720.0;
    let rows = table(page, "Layers");
    let mut canvas = Canvas::default();
    let mut y = 4.0;
    let mut first = 0;
    while let Some(row) = rows.get(first) {
        // The layers that are inside this one.
        let mut depth = 0;
        let name = |row: &[String]| row[0].replace('`', "");
        let owns = |row: &[String], next: &[String]| row[1].replace('`', "") == name(next);
        while rows.get(first + depth + 1).is_some_and(|next| owns(&rows[first + depth], next)) {
            depth += 1;
        }
        let whole = HEIGHT * (depth as f64 + 1.0) + INDENT / 2.0 * depth as f64;
        for inside in 0..=depth {
            let row = &rows[first + inside];
            let indent = INDENT * inside as f64;
            let top = y + HEIGHT * inside as f64;
            let bottom = y + whole - INDENT / 2.0 * inside as f64;
            canvas.rectangle((4.0 + indent, top), (WIDTH - 2.0 * indent, bottom - top));
            let middle = top + HEIGHT / 2.0;
            canvas.text_from((16.0 + indent, middle), &name(row));
            canvas.text_from((240.0, middle), &row[2].replace('`', ""));
        }
        assert!(!row.is_empty());
        y += whole + 8.0;
        first += depth + 1;
    }
    canvas.finish("The layers of the crate, from top to bottom")
}

/// The lanes from left to right: the name, and the folder or the layer in the table of `src/connection/mod.rs`.
const LANES: [(&str, &str); 9] = [
    ("frame", "src/frame/"),
    ("json, schema", "src/json/"),
    ("rpc", "src/rpc/"),
    ("Messages", "`Messages`"),
    ("Calls", "`Calls`"),
    ("Serving", "`Serving`"),
    ("Dispatcher", "[`Dispatcher`]"),
    ("Connection", "[`Connection`]"),
    ("role", "src/server/"),
];

/// The lane of a file. A file of `src/connection` has the lane of its row in the table of `mod.rs`, or of the next row
/// that names a layer. `None` if the table has no such row.
fn lane(file: &str, modules: &str) -> Option<usize> {
    let named = |folder: &str| LANES.iter().position(|(_, lane)| *lane == folder);
    let folder = match file {
        _ if file.starts_with("src/schema/") => "src/json/",
        _ if file.starts_with("src/client/") => "src/server/",
        _ => &file[..=file.rfind('/').unwrap()],
    };
    let Some(module) = file.strip_prefix("src/connection/") else { return named(folder) };
    let module = format!("`{}`", module.trim_end_matches(".rs"));
    let rows = modules.lines().filter(|line| line.starts_with("//! | `"));
    let mut below = rows.skip_while(|row| !row.split(" | ").nth(1).unwrap().contains(&module));
    below.find_map(|row| {
        let what = row.split(" | ").nth(2).unwrap();
        LANES.iter().position(|(_, lane)| what.starts_with(&format!("{lane}:")))
    })
}

/// The steps of a table from top to bottom, each in the lane of its first file.
fn path(page: &str, heading: &str, title: &str) -> String {
    const LANE: f64 = 42.0;
    const STEP: f64 = 30.0;
    const TOP: f64 = 110.0;
    let modules = text_of("src/connection/mod.rs");
    let rows = table(page, heading);
    let mut canvas = Canvas::default();
    let x = |lane: usize| 20.0 + LANE * lane as f64;
    let bottom = TOP + STEP * rows.len() as f64;
    for (lane, (name, _)) in LANES.iter().enumerate() {
        // The names are vertical, because the lanes are narrow.
        canvas.upright((x(lane), TOP - 16.0), name);
        canvas.line((x(lane), TOP - 8.0), (x(lane), bottom), true);
    }
    let mut before = None;
    for (step, row) in rows.iter().enumerate() {
        let mut files = row[2].split(", ").map(|file| file.trim_matches('`'));
        // A module with plain types only is in no layer.
        let lane = files.find_map(|file| lane(file, &modules)).unwrap();
        let at = (x(lane), TOP + STEP * (step as f64 + 0.5));
        if let Some(before) = before {
            canvas.line(before, at, false);
        }
        canvas.dot(at);
        let text = row[0].trim_start_matches("… ").replace('`', "");
        let text = format!("{}. {text}", step + 1);
        canvas.text_from((x(LANES.len()), at.1), &text);
        before = Some(at);
    }
    canvas.finish(title)
}

/// The drawings show what the tables of the page say.
#[test]
fn the_drawings_of_the_architecture_show_its_tables() {
    let page = text_of("ARCHITECTURE.md");
    compare("architecture_layers.svg", &standalone_svg(&layers(&page)));
    compare("layers.svg", &layers(&page));
    for (file, heading, title) in [
        (
            "request",
            "A request arrives and is answered",
            "The path of a request through the layers",
        ),
        ("call", "The life of a call", "The life of a call in the layers"),
        ("task", "The life of a task of the peer", "The life of a task of the peer in the layers"),
    ] {
        let svg = standalone_svg(&path(&page, heading, title));
        compare(&format!("architecture_{file}.svg"), &svg);
    }
}
