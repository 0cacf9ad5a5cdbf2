//! A hostile server, and its victim: the client of the example `inspect`.

mod http;
mod pages;
mod stdio;

use std::time::Duration;

use tokio::time::Instant;

use crate::Failure;
use crate::bounds::Measured;
use crate::programs::{self, CommandLine};
use crate::victim::Victim;
pub(crate) use stdio::serve as serve_stdio;

/// The name of the attack, and its description.
pub(crate) const NAME: &str = "endless-pages";
pub(crate) const DOES: &str = "a hostile server whose lists have no end, against a client";

/// Runs a client on pipes that lists the contents of the hostile server.
pub(crate) async fn run_stdio(client: CommandLine, share: Duration) -> Result<Measured, Failure> {
    let mut command = client;
    command.push("--".into());
    command.extend(programs::own("hostile")?);
    measure(&command, share).await
}

/// Runs such a client over HTTP.
pub(crate) async fn run_http(client: CommandLine, share: Duration) -> Result<Measured, Failure> {
    let server = http::start().await?;
    let mut command = client;
    command.push(server.url.clone().into());
    measure(&command, share).await
}

/// Measures the client. Its time does not matter: it must not crash, and only its memory counts.
async fn measure(command: &CommandLine, share: Duration) -> Result<Measured, Failure> {
    let mut victim = Victim::without_clients(command)?;
    let until = Instant::now() + share.max(Duration::from_secs(2));
    let mut measured = Measured::default();
    measured.name = NAME;
    // The memory of a process that has ended cannot be measured.
    while Instant::now() < until && !victim.ends_within(Duration::from_millis(20)).await {
        measured.memory = victim.memory().or(measured.memory);
        measured.processor = victim.processor_time().or(measured.processor);
    }
    measured.failure = victim.end().filter(|end| end.contains("signal"));
    Ok(measured)
}
