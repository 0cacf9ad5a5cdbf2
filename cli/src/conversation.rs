//! Recorded conversations: `--record`, `--replay` and `--diagram`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::arguments::ConversationOptions;
use crate::recording::{self, Recorder};
use crate::say::say;
use crate::target::{Program, Target};
use crate::{print, record, replay};

/// Records a conversation with a server, or replays one.
pub(crate) fn run(options: &ConversationOptions, target: &Target, patience: Duration) -> ExitCode {
    let Target::Program(program) = target else {
        say!("inspect: --record and --replay need a server to start");
        return ExitCode::from(2);
    };
    let done = match (&options.record, &options.replay) {
        (Some(file), _) => record_in(file, program),
        (None, Some(file)) => replay_from(file, program, patience),
        (None, None) => Ok(ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        say!("inspect: {error}");
        ExitCode::FAILURE
    })
}

/// Returns the exit code of the server, which its host expects.
fn record_in(file: &Path, program: &Program) -> Result<ExitCode, String> {
    let recorder =
        Recorder::create(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let status = record::relay(program, recorder)?;
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
        Some(svg) => {
            let title = file.file_name().unwrap_or_default().to_string_lossy();
            fs::write(svg, diagram.svg(&title))
                .map_err(|error| format!("{}: {error}", svg.display()))
        }
    }
}
