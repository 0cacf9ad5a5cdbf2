//! The hostile server on standard input and output.

use std::io::{self, BufRead, Write};

use crate::hostile::pages;

/// Serves until the input ends.
///
/// # Errors
///
/// The errors of the pipes.
pub(crate) fn serve() -> io::Result<()> {
    let (stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    let mut pages = 0;
    for line in stdin.split(b'\n') {
        if let Some(answer) = pages::answer(&line?, &mut pages) {
            stdout.write_all(answer.as_bytes())?;
            stdout.write_all(b"\n")?;
            stdout.flush()?;
        }
    }
    Ok(())
}
