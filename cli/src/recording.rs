//! The file of a recorded conversation: one JSON object per line, with the time, the sender and the message.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use mcp_sansio::json::Raw;
use mcp_sansio::testing::Diagram;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::say::say;

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sender {
    Client,
    Server,
}

/// A recorded line: a message, or text that is no JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    /// The milliseconds since the start of the recording.
    pub(crate) at: u64,
    pub(crate) from: Sender,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// A recording that is being written. Every line is in the file at once, so a program that is killed loses none.
pub(crate) struct Recorder {
    file: Mutex<File>,
    start: Instant,
}

impl Recorder {
    /// Creates the file, which only its owner can read: messages may hold secrets.
    ///
    /// A recording is never overwritten, because hosts start a server again, or several times at once. If there is a file
    /// with this name, the name gets a number: `talk.jsonl.2`.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let (mut name, mut number) = (path.to_owned(), 2_u32);
        let file = loop {
            match options.open(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_file() => {
                    let mut numbered = path.as_os_str().to_owned();
                    numbered.push(format!(".{number}"));
                    (name, number) = (numbered.into(), number + 1);
                }
                opened => break opened?,
            }
        };
        if name != path {
            say!("inspect: recording in {}", name.display());
        }
        Ok(Self { file: Mutex::new(file), start: Instant::now() })
    }

    /// Adds a message: a line of a byte stream without its end, or the body of an HTTP message.
    pub(crate) fn line(&self, from: Sender, line: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() {
            return Ok(());
        }
        let message = serde_json::from_str::<Box<RawValue>>(&text).ok();
        // A recorded message is one line. A body may have more.
        let message =
            message.filter(|message| !message.get().contains(['\n', '\r'])).or_else(|| {
                let value: Value = serde_json::from_str(&text).ok()?;
                serde_json::value::to_raw_value(&value).ok()
            });
        let text = message.is_none().then(|| text.into_owned());
        let at = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut json = serde_json::to_string(&Line { at, from, message, text })?;
        json.push('\n');
        // A panic while the lock was held leaves at most half a line.
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(json.as_bytes())
    }
}

/// Reads a recording.
pub(crate) fn read(path: &Path) -> Result<Vec<Line>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty());
    let lines = lines.map(|(at, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{}: line {}: {error}", path.display(), at + 1))
    });
    lines.collect()
}

/// Draws a recording as a sequence diagram, without the contents of the messages.
pub(crate) fn diagram(lines: &[Line]) -> Diagram {
    let time = |line: &Line| mcp_sansio::Instant::EPOCH + Duration::from_millis(line.at);
    let start = lines.first().map_or(mcp_sansio::Instant::EPOCH, time);
    let mut diagram = Diagram::new("client", "server", start);
    for line in lines {
        let at = time(line);
        match (line.from, &line.message) {
            (Sender::Client, Some(message)) => diagram.to_the_right(at, message.get().as_bytes()),
            (Sender::Server, Some(message)) => diagram.to_the_left(at, message.get().as_bytes()),
            (Sender::Client, None) => diagram.left(at, "not JSON"),
            (Sender::Server, None) => diagram.right(at, "not JSON"),
        }
    }
    diagram
}

/// The identity of a message: a request or notification by its method, a response by its id.
pub(crate) fn identity(message: &Raw<'_>) -> String {
    let id = message.get("id").map(|id| format!(" #{id}")).unwrap_or_default();
    match message.get("method").and_then(Raw::into_str) {
        Some(method) => format!("{method}{id}"),
        None => format!("response{id}"),
    }
}
