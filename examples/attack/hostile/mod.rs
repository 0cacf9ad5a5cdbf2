//! A hostile server, and its victim: the client of the example `inspect`.

mod http;
mod pages;
mod stdio;

use std::ffi::OsString;
use std::time::Duration;

use tokio::time::Instant;

use crate::Failure;
use crate::bounds::Measured;
use crate::programs;
use crate::victim::Victim;
pub(crate) use stdio::serve as serve_stdio;

/// The name of the attack, and its description.
pub(crate) const NAME: &str = "endless-pages";
pub(crate) const DOES: &str = "a hostile server whose lists have no end, against a client";

/// Runs a client on pipes that lists the contents of the hostile server.
pub(crate) async fn run_stdio(share: Duration) -> Result<Measured, Failure> {
    let mut arguments = vec!["--".into()];
    arguments.extend(programs::own("hostile")?);
    measure(arguments, share).await
}

/// Runs such a client over HTTP.
pub(crate) async fn run_http(share: Duration) -> Result<Measured, Failure> {
    let server = http::start().await?;
    measure(vec![server.url.clone().into()], share).await
}

/// Measures the client. Its time does not matter: it must not crash, and only its memory counts.
async fn measure(arguments: Vec<OsString>, share: Duration) -> Result<Measured, Failure> {
    let mut command = programs::example("inspect")?;
    command.extend(arguments);
    let mut victim = Victim::without_clients(&command)?;
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
