//! Servers over HTTP, for a blocking program.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::HttpClientConfig;
use mcp_sansio::{Client, ClientConfig};
use mcp_sansio_http::{
    Authorization, Authorized, Exchange, Handle, Handler, OpenError, Transport, connect_with,
    plain, tls,
};
use mcp_sansio_std::{Connection, ConnectionOptions, Handler as Blocking, Waiting};
use tokio::runtime::{EnterGuard, Runtime};
use tokio::time::timeout;

use crate::answers::Answers;
use crate::ending::{Ending, MOMENT};
use crate::login;
use crate::patience::Patience;
use crate::say::say;

/// Runs the blocking handler on separate threads, because some of its responses wait for the user.
struct OnThreads(Arc<Answers>);

impl Handler<Client> for OnThreads {
    async fn serve(&self, exchange: Exchange<Client>) {
        let answers = Arc::clone(&self.0);
        // After a panic, the dropped exchange responds to the request with an error.
        _ = tokio::task::spawn_blocking(move || answers.serve(&exchange)).await;
    }

    fn begin(&self, handle: &Handle<Client>) {
        self.0.begin(handle);
    }

    async fn event(&self, handle: &Handle<Client>, event: mcp_sansio::ClientEvent<'static>) {
        self.0.event(handle, event);
    }
}

/// How long the end of the program waits for the tokens of a refresh.
const SETTLED_WITHIN: Duration = Duration::from_secs(30);

/// The runtime of a connection. Dropping it waits for nothing: the resolver of the system, for example, cannot be
/// interrupted, and may take half a minute for a host that does not exist.
pub(crate) struct Background(Option<Runtime>);

impl Background {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Some(Runtime::new()?)))
    }

    /// Runs a future to its end, and then waits for nothing else.
    pub(crate) fn block_on<T>(self, work: impl Future<Output = T> + Send) -> T {
        let _entered = self.enter();
        Waiting::new(work).wait()
    }

    fn enter(&self) -> Option<EnterGuard<'_>> {
        self.0.as_ref().map(Runtime::enter)
    }

    /// Waits until new tokens have arrived and are stored, at the end of the connection. Without them the next run
    /// would need a login: the server has replaced the old refresh token. An interrupt ends the wait.
    pub(crate) fn settle(&self, authorization: &Authorization, ending: &Ending) {
        // No request waits for a login any more.
        authorization.abandon();
        let _entered = self.enter();
        let _patience = Patience::with("the refresh of the login");
        let was_interrupted = ending.was_interrupted();
        let within = if was_interrupted { MOMENT } else { SETTLED_WITHIN };
        let settled = async { timeout(within, authorization.settled()).await.is_ok() };
        let is_settled = if was_interrupted {
            Waiting::new(settled).wait()
        } else {
            ending.unless_interrupted(|| settled).unwrap_or(false)
        };
        if !is_settled {
            say!("inspect: the login may not be remembered: its refresh has not ended");
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// A connection to a server at a URL.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    /// The login, if the server may require one.
    pub(crate) authorization: Option<Authorization>,
    /// The connection lives as long as the runtime.
    pub(crate) runtime: Background,
}

/// Connects to a server at a URL, with a login if the server requires one.
pub(crate) fn connect(
    config: ClientConfig,
    (url, headers): (&str, &[(String, String)]),
    authorization: Option<Authorization>,
    ending: &Ending,
    answers: Answers,
) -> Result<Opened, String> {
    let mut http = HttpClientConfig::new(url);
    for (name, value) in headers {
        http.header(name, value).map_err(|error| format!("{name}: {error}"))?;
    }
    let runtime = Background::new().map_err(|error| error.to_string())?;
    let answers = OnThreads(Arc::new(answers));
    // Loaded before the first request: a login may lead to `https` servers from any URL.
    let tls = match tls() {
        Err(error) if url.starts_with("https://") => {
            let url = without_secrets(url);
            return Err(format!("{url}: no certificate can be checked: {error}"));
        }
        tls => tls.ok(),
    };
    let login = authorization.clone();
    let connecting = async {
        match tls {
            Some(tls) => open(config, http, tls, login, answers).await,
            None => open(config, http, plain(), login, answers).await,
        }
    };
    let entered = runtime.enter();
    // A login takes as long as the user takes, so a Ctrl-C ends it at once.
    let connected = ending.unless_interrupted(|| connecting);
    drop(entered);
    if let (None | Some(Err(_)), Some(authorization)) = (&connected, &authorization) {
        runtime.settle(authorization, ending);
    }
    let connected = connected.ok_or("interrupted")?;
    let connection = connected.map_err(|error| explain(url, &error))?;
    Ok(Opened { connection, authorization, runtime })
}

/// Opens a connection over a transport, which carries the requests of the authorization as well.
async fn open(
    config: ClientConfig,
    http: HttpClientConfig,
    transport: impl Transport,
    authorization: Option<Authorization>,
    answers: OnThreads,
) -> Result<Connection, OpenError> {
    let options = ConnectionOptions::new();
    match authorization {
        Some(authorization) => {
            let transport = Authorized::new(transport, authorization);
            connect_with(config, http, &options, transport, answers).await
        }
        None => connect_with(config, http, &options, transport, answers).await,
    }
}

/// Describes why there is no session, with the chain of causes.
fn explain(url: &str, error: &OpenError) -> String {
    if let Some(why) = login::explain(error) {
        return format!("{}: {why}", without_secrets(url));
    }
    let mut text = format!("{}: {error}", without_secrets(url));
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!("\n  caused by: {cause}");
        source = cause.source();
    }
    text
}

/// Removes the parts of a URL that may contain passwords and tokens: the user name before the host, and the query.
pub(crate) fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let (authority, path) = rest.find('/').map_or((rest, ""), |path| rest.split_at(path));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_program_does_not_wait_for_the_resolver() {
        let runtime = Background::new().unwrap();
        let entered = runtime.enter();
        // As the resolver of the system blocks.
        tokio::task::spawn_blocking(|| thread::sleep(Duration::from_secs(3600)));
        drop(entered);
        let began = Instant::now();
        drop(runtime);
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_proxy_does_not_wait_for_the_resolver() {
        let (done, ended) = channel();
        thread::spawn(move || {
            let runtime = Background::new().unwrap();
            runtime.block_on(async {
                tokio::task::spawn_blocking(|| thread::sleep(Duration::from_secs(3600)));
            });
            done.send(()).unwrap();
        });
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}
