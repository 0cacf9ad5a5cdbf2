//! Recorded conversations: `--record`, `--replay` and `--diagram`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::arguments::ConversationOptions;
use crate::recording::{self, Recorder};
use crate::say::say;
use crate::target::{Program, Target};
use crate::{print, record, record_http, replay};

/// Records a conversation with a server, or replays one.
pub(crate) fn run(options: &ConversationOptions, target: &Target, patience: Duration) -> ExitCode {
    let done = match (&options.record, &options.replay, target) {
        (Some(file), _, Target::Program(program)) => record_in(file, program),
        (Some(file), _, Target::Url { url, headers }) => recorder(file).and_then(|recorder| {
            record_http::proxy(url, headers, options.listen, recorder)?;
            Ok(ExitCode::SUCCESS)
        }),
        (None, Some(file), Target::Program(program)) => replay_from(file, program, patience),
        _ => {
            say!("inspect: --record needs a server, and --replay a server to start");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        say!("inspect: {error}");
        ExitCode::FAILURE
    })
}

fn recorder(file: &Path) -> Result<Recorder, String> {
    Recorder::create(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Returns the exit code of the server, which its host expects.
fn record_in(file: &Path, program: &Program) -> Result<ExitCode, String> {
    let status = record::relay(program, recorder(file)?)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn replay_from(file: &Path, program: &Program, patience: Duration) -> Result<ExitCode, String> {
    let lines = recording::read(file)?;
    let differences = replay::replay(program, &lines, patience)?;
    if differences.is_empty() {
        print("The server sends the same.")?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&differences.join("\n"))?;
    Ok(ExitCode::FAILURE)
}

/// Draws a recording: as text on standard output, or as a picture in a file.
pub(crate) fn draw(file: &Path, svg: Option<&Path>) -> Result<(), String> {
    let diagram = recording::diagram(&recording::read(file)?);
    match svg {
        None => print(diagram.to_string().trim_end()),
        Some(svg)
            if svg
                .canonicalize()
                .is_ok_and(|svg| file.canonicalize().is_ok_and(|file| file == svg)) =>
        {
            Err(format!("{}: this is the recording", svg.display()))
        }
        Some(svg) => {
            let title = file.file_name().unwrap_or_default().to_string_lossy();
            fs::write(svg, diagram.svg(&title))
                .map_err(|error| format!("{}: {error}", svg.display()))
        }
    }
}
