//! A hostile server, and the client that is its victim: the example `inspect`.

mod http;
mod pages;
mod stdio;

use std::env;
use std::ffi::OsString;
use std::time::Duration;

use tokio::time::Instant;

use crate::Failure;
use crate::bounds::Measured;
use crate::programs;
use crate::victim::Victim;
pub(crate) use stdio::serve as serve_stdio;

/// The name of the attack, and what it does.
pub(crate) const NAME: &str = "endless-pages";
pub(crate) const DOES: &str = "a hostile server whose lists have no end, against a client";

/// Has a client of standard input and output list what the hostile server has.
pub(crate) async fn run_stdio(share: Duration) -> Result<Measured, Failure> {
    let own: OsString = env::current_exe()?.into();
    let arguments = ["--".into(), own, "hostile".into()];
    measure(arguments.into(), share).await
}

/// Has a client of HTTP do so.
pub(crate) async fn run_http(share: Duration) -> Result<Measured, Failure> {
    let server = http::start().await?;
    measure(vec![server.url.clone().into()], share).await
}

/// The client may take as long as it likes: only its memory counts, and that it does not crash.
async fn measure(arguments: Vec<OsString>, share: Duration) -> Result<Measured, Failure> {
    let mut command = programs::example("inspect")?;
    command.extend(arguments);
    let mut victim = Victim::alone(&command)?;
    let until = Instant::now() + share.max(Duration::from_secs(2));
    let mut measured = Measured::default();
    measured.name = NAME;
    // A process that has ended has no memory to look at.
    while Instant::now() < until && !victim.ends_within(Duration::from_millis(20)).await {
        measured.memory = victim.memory().or(measured.memory);
        measured.processor = victim.processor_time().or(measured.processor);
    }
    measured.failure = victim.end().filter(|end| end.contains("signal"));
    Ok(measured)
}
