//! [`Sequence`], a sequence diagram of any number of participants.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::canvas::{CHARACTER, Canvas};

/// The distance of two lifelines, and of the outer ones from the edge, in pixels.
const DISTANCE: f64 = 320.0;
const EDGE: f64 = 130.0;
/// The height of a participant, of a message, and of a line of a note.
const PARTICIPANT: f64 = 28.0;
const MESSAGE: f64 = 40.0;
const LINE: f64 = 18.0;
/// The most characters in a line of a note.
const COLUMNS: usize = 30;

/// The participants of an exchange from left to right, and what happens between them from top to bottom.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    participants: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
enum Row {
    /// A message from one participant to another.
    Message { from: usize, to: usize, text: String, is_response: bool },
    /// A note about one participant.
    Note { at: usize, text: String },
    /// Time that passes.
    Pause(String),
}

impl Sequence {
    pub(crate) fn new(participants: &[&str]) -> Self {
        let participants = participants.iter().map(ToString::to_string).collect();
        Self { participants, rows: Vec::new() }
    }

    /// Adds a request or a notification: a solid arrow.
    pub(crate) fn message(&mut self, from: usize, to: usize, text: impl Into<String>) {
        self.rows.push(Row::Message { from, to, text: text.into(), is_response: false });
    }

    /// Adds a response: a dashed arrow.
    pub(crate) fn response(&mut self, from: usize, to: usize, text: impl Into<String>) {
        self.rows.push(Row::Message { from, to, text: text.into(), is_response: true });
    }

    pub(crate) fn note(&mut self, at: usize, text: impl Into<String>) {
        self.rows.push(Row::Note { at, text: text.into() });
    }

    pub(crate) fn pause(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Pause(text.into()));
    }

    /// Draws the sequence.
    pub(crate) fn svg(&self, title: &str) -> String {
        let mut canvas = Canvas::default();
        let x = |participant: usize| EDGE + DISTANCE * participant as f64;
        // The height down to which each lifeline is drawn.
        let mut drawn = Vec::new();
        for (participant, name) in self.participants.iter().enumerate() {
            let width = (name.chars().count() as f64 + 4.0) * CHARACTER;
            let left = x(participant) - width / 2.0;
            canvas.rectangle((left, 4.0), (width, PARTICIPANT));
            canvas.text((x(participant), 4.0 + PARTICIPANT / 2.0), name);
            drawn.push(4.0 + PARTICIPANT);
        }
        let mut y = 4.0 + PARTICIPANT;
        for row in &self.rows {
            match row {
                Row::Message { from, to, text, is_response } => {
                    y += MESSAGE;
                    let (start, end) = ((x(*from), y), (x(*to), y));
                    canvas.line(start, end, *is_response);
                    canvas.head(start, end);
                    canvas.text((f64::midpoint(start.0, end.0), y - 12.0), text);
                }
                Row::Note { at, text } => {
                    let lines = wrapped(text);
                    let longest = lines.iter().map(|line| line.chars().count()).max();
                    let width = (longest.unwrap_or_default() as f64 + 2.0) * CHARACTER;
                    let height = lines.len() as f64 * LINE + 8.0;
                    let top = y + 10.0;
                    if let Some(drawn) = drawn.get_mut(*at) {
                        canvas.line((x(*at), *drawn), (x(*at), top), false);
                        *drawn = top + height;
                    }
                    canvas.rectangle((x(*at) - width / 2.0, top), (width, height));
                    for (line, text) in lines.iter().enumerate() {
                        let middle = top + 4.0 + LINE * (line as f64 + 0.5);
                        canvas.text((x(*at), middle), text);
                    }
                    y = top + height;
                }
                Row::Pause(text) => {
                    y += MESSAGE;
                    let last = x(self.participants.len().saturating_sub(1));
                    let middle = f64::midpoint(x(0), last);
                    canvas.text((middle, y - 6.0), text);
                    y += 6.0;
                }
            }
        }
        y += 16.0;
        for (participant, drawn) in drawn.into_iter().enumerate() {
            canvas.line((x(participant), drawn), (x(participant), y), false);
            canvas.grow((x(participant) + EDGE, y), 0.0);
        }
        canvas.finish(title)
    }
}

/// Breaks a text into lines between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}
